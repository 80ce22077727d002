"""Definitions that the merges of modules and of notebooks share."""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


class Unreadable(Exception):
    """The reason why a file cannot be merged, as the rest of a sentence."""


@dataclass(frozen=True)
class Merged:
    """A student's file after the merge.

    Attributes:
        data: what it is to hold.
        notes: what came in, a few words each.
        conflicts: what could not be merged, and stays as the student has it.
        warnings: what was merged and may not fit.
    """

    data: bytes
    notes: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def decode(data: bytes) -> tuple[str, Callable[[str], bytes]]:
    """Return the text of a file, its lines ending in "\\n", and what makes such a file of a text.

    Raises:
        Unreadable: it is not UTF-8.
    """
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        text = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8 text") from None
    end = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"

    def encode(text: str) -> bytes:
        try:
            return mark + text.replace("\n", end).encode("utf-8")
        except UnicodeEncodeError:
            raise Unreadable("holds half a character") from None

    return text.replace("\r\n", "\n"), encode


def merged(base: Sequence, theirs: Sequence, mine: Sequence) -> list | None:
    """Return mine with what changed from base to theirs, or None if both changed the same place.

    What mine has already does not come twice. Unlike in a merge of lines, changes may touch.

    >>> merged(["a", "?", "b"], ["A", "?", "b"], ["a", "my answer", "b"])
    ['A', 'my answer', 'b']
    >>> merged(["check", "to do"], ["check", "new check", "to do"], ["check", "my own"])
    ['check', 'new check', 'my own']
    >>> merged(["check", "to do"], ["new check", "to do"], ["my check", "my own"]) is None
    True
    """
    place = {}  # of the elements of base in mine
    for block in SequenceMatcher(None, base, mine, False).get_matching_blocks():
        place |= {block.a + step: block.b + step for step in range(block.size)}
    result = list(mine)
    for tag, i, i_end, j, j_end in reversed(
        SequenceMatcher(None, base, theirs, False).get_opcodes()
    ):
        new = list(theirs[j:j_end])
        old = [place.get(index) for index in range(i, i_end)]
        if tag == "equal":
            continue
        if tag == "insert":
            first = place[i - 1] + 1 if i - 1 in place else place.get(i) if i else 0
            if first is None:
                return None
            if list(mine[first : first + len(new)]) != new:
                result[first:first] = new
        elif None not in old and old == list(range(old[0], old[0] + len(old))):
            result[old[0] : old[-1] + 1] = new
        elif old.count(None) < len(old) or not _has(mine, new):
            return None
    return result


def _has(mine: Sequence, new: list) -> bool:
    return any(list(mine[at : at + len(new)]) == new for at in range(len(mine) + 1))
