"""What changed from one list to another, and the same change made to a third."""

from collections.abc import Sequence
from difflib import SequenceMatcher


def changes_for(
    base: Sequence, theirs: Sequence, mine: Sequence
) -> list[tuple[int, int, int, int]] | None:
    """What turns base into theirs, as changes of mine.

    Returns:
        (first, end, their_first, their_end) of each: mine[first:end] is to become
        theirs[their_first:their_end]. None if mine changed the same places. What mine has already
        is not among them, so that a change made once is not made twice.

    >>> changes_for(["check", "to do"], ["check", "new check", "to do"], ["check", "my own"])
    [(1, 1, 1, 2)]
    >>> changes_for(["check", "to do"], ["new check", "to do"], ["my check", "my own"]) is None
    True
    """
    place = _places(base, mine)
    changes = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, base, theirs, False).get_opcodes():
        new = list(theirs[j:j_end])
        if tag == "equal":
            continue
        if tag == "insert":
            first = _place_between(i, len(base), place)
            if first is None:
                return None
            if list(mine[first : first + len(new)]) != new:
                changes.append((first, first, j, j_end))
            continue
        places = [place.get(index) for index in range(i, i_end)]
        if None not in places and places == list(range(places[0], places[0] + len(places))):
            changes.append((places[0], places[-1] + 1, j, j_end))
        elif any(where is not None for where in places) or not _has(mine, new):
            return None
    return changes


def merged(base: Sequence, theirs: Sequence, mine: Sequence) -> list | None:
    """Mine with what changed from base to theirs, or None if both changed the same.

    >>> merged(["a", "?", "b"], ["A", "?", "b"], ["a", "my answer", "b"])
    ['A', 'my answer', 'b']
    """
    changes = changes_for(base, theirs, mine)
    if changes is None:
        return None
    result = list(mine)
    for first, end, their_first, their_end in reversed(changes):
        result[first:end] = theirs[their_first:their_end]
    return result


def _places(base: Sequence, mine: Sequence) -> dict[int, int]:
    """Where in mine the elements of base still stand."""
    blocks = SequenceMatcher(None, base, mine, False).get_matching_blocks()
    return {b.a + step: b.b + step for b in blocks for step in range(b.size)}


def _place_between(i: int, n: int, place: dict[int, int]) -> int | None:
    """Where in mine something new goes that stands before base[i] and after base[i - 1]."""
    if i == 0:
        return 0
    if i - 1 in place:
        return place[i - 1] + 1
    return place.get(i) if i < n else None


def _has(mine: Sequence, new: list) -> bool:
    mine = list(mine)
    return any(mine[at : at + len(new)] == new for at in range(len(mine) - len(new) + 1))
