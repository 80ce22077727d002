"""A file that both the student and the course changed."""

import ast
import codecs
import json
import warnings
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher


def plain(data: bytes | None) -> bytes | None:
    """Return what stands in a file, whatever its line ends: a checkout may have turned them."""
    return None if data is None else data.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n")


def merge_module(base: bytes, theirs: bytes, mine: bytes) -> bytes | None:
    """Return the student's module with the lines that changed from base to theirs.

    Returns:
        None if both changed the same lines, or if what came out would not be valid Python.
    """
    old, new, own = (plain(version).split(b"\n") for version in (base, theirs, mine))
    if _holds_changes(old, new, own):
        return mine
    lines = merged(old, new, own)
    if lines is None:
        return None
    text = b"\n".join(lines)
    try:
        with warnings.catch_warnings():  # of the student's code, not of ours
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    mark = codecs.BOM_UTF8 if mine.startswith(codecs.BOM_UTF8) else b""
    end = b"\r\n" if mine.count(b"\r\n") * 2 > mine.count(b"\n") else b"\n"
    return mark + text.replace(b"\n", end)


def _holds_changes(base: Sequence, theirs: Sequence, mine: Sequence) -> bool:
    """Return whether mine has what came from base to theirs already, as after a merge."""
    old, new, own = (Counter(filter(bytes.strip, version)) for version in (base, theirs, mine))
    came, went = new - old, old - new
    return all(own[line] >= new[line] for line in came) and all(
        own[line] <= new[line] for line in went
    )


def merged(base: Sequence, theirs: Sequence, mine: Sequence) -> list | None:
    """Return mine with what changed from base to theirs, or None if both changed the same place.

    What mine has already does not come twice. Unlike in other merges, changes may touch.

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
        elif any(line is not None for line in old) or not _has(mine, new):
            return None
    return result


def _has(mine: Sequence, new: list) -> bool:
    return any(list(mine[at : at + len(new)]) == new for at in range(len(mine) + 1))


def is_same_notebook(base: bytes, mine: bytes) -> bool:
    """Return whether two notebooks have the same cells; one that ran has the same as before."""
    return _sources(mine) is not None and _sources(base) == _sources(mine)


def _sources(notebook: bytes) -> list[tuple[str, str]] | None:
    try:
        cells = json.loads(plain(notebook))["cells"]
        return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None  # no notebook that can be read
