"""A notebook, merged cell by cell.

A cell that the student edited stays, with its outputs; one that they did not touch becomes the new
version; new ones are inserted. Cells are paired by what stands in them, for the course numbers its
cells: an id means another cell as soon as one was inserted above.
"""

import hashlib
import json
from difflib import SequenceMatcher

from course.student.update.merging import Merged, Unreadable, decode, merged

ALIKE = 0.6
"""The share of two cells that must be the same for one to be the other, edited."""

MERGED = "course_merged"
"""The key of a notebook's metadata for the version that was merged into it: never do it twice."""

Cell = dict


def merge_notebook(base: bytes, theirs: bytes, mine: bytes) -> Merged:
    """Return the student's notebook with what changed from base to theirs.

    Raises:
        Unreadable: the student's file is no notebook.
    """
    (old, _), (new, _), (own, encode) = map(_read, (base, theirs, mine))
    version = hashlib.sha256(decode(theirs)[0].encode()).hexdigest()
    if base == theirs or own["metadata"].get(MERGED) == version:
        return Merged(mine)
    notes, conflicts = [], []
    own["cells"] = _merge_cells(old["cells"], new["cells"], own["cells"], notes, conflicts)
    own["nbformat_minor"] = max(own.get("nbformat_minor", 0), new.get("nbformat_minor", 0))
    own["metadata"] = {**own["metadata"], MERGED: version}
    text = json.dumps(own, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return Merged(encode(text), tuple(notes), tuple(conflicts))


def _read(data: bytes):
    text, encode = decode(data)
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("is not valid JSON") from None
    is_one = isinstance(notebook, dict) and notebook.get("nbformat") == 4
    cells = notebook.get("cells") if is_one else None
    if (
        not isinstance(cells, list)
        or not all(map(_is_cell, cells))
        or not isinstance(notebook.setdefault("metadata", {}), dict)
    ):
        raise Unreadable("is no notebook that can be read")
    return notebook, encode


def _is_cell(cell: object) -> bool:
    if not isinstance(cell, dict) or not isinstance(cell.setdefault("metadata", {}), dict):
        return False
    source = cell.get("source")
    lines = source if isinstance(source, list) else [source]
    return isinstance(cell.get("cell_type"), str) and all(isinstance(line, str) for line in lines)


def _merge_cells(
    old: list[Cell], new: list[Cell], own: list[Cell], notes: list[str], conflicts: list[str]
) -> list[Cell]:
    theirs_of = _pairs(old, new)
    base_of = {mine: base for base, mine in _pairs(old, own).items()}
    result: list[tuple[Cell, int | None]] = []  # each with its index in the new version
    for index, cell in enumerate(own):
        base = base_of.get(index)
        theirs = theirs_of.get(base)
        if theirs is not None:
            result.append((_merge_cell(old[base], new[theirs], cell, notes, conflicts), theirs))
        elif base is None or _is_edited(old[base], cell):
            result.append((cell, None))
        else:
            notes.append(f"{_shown(cell)} is gone")
    for index in sorted(set(range(len(new))) - set(theirs_of.values())):
        notes.append(f"{_shown(new[index])} is new")
        above = [
            at for at, (_, theirs) in enumerate(result) if theirs is not None and theirs < index
        ]
        result.insert(max(above, default=-1) + 1, (new[index], index))
    taken = {new[theirs].get("id") for _, theirs in result if theirs is not None}
    for cell, theirs in result:
        wanted = str(cell.get("id", "mine")) if theirs is None else new[theirs].get("id")
        while theirs is None and wanted in taken:
            wanted = f"{wanted}-mine"
        taken.add(wanted)
        cell["id"] = wanted
    return [cell for cell, _ in result]


def _merge_cell(old: Cell, new: Cell, own: Cell, notes: list[str], conflicts: list[str]) -> Cell:
    """Return a cell of the student's with what changed in the course's."""
    before, after, mine = (one["metadata"] for one in (old, new, own))
    gone = {key for key in before if key not in after and mine.get(key) == before[key]}
    came = {key: after[key] for key in after if after[key] != before.get(key)}
    metadata = {**{key: mine[key] for key in mine if key not in gone}, **came}
    cell = {**own, "metadata": metadata}
    if _source(new) in (_source(old), _source(own)):
        return cell
    if not _is_edited(old, own):
        notes.append(f"a new version of {_shown(new)}")
        return {**new, "metadata": metadata}
    lines = None
    if own["cell_type"] == "markdown":
        lines = merged(*(_source(one).split("\n") for one in (old, new, own)))
    if lines is None:
        conflicts.append(f"you and the course both changed {_shown(own)}")
    elif (text := "\n".join(lines)) != _source(own):
        cell["source"] = text.splitlines(keepends=True)
        notes.append(f"a new text in {_shown(new)}, around yours")
    return cell


# --- which cell is which --------------------------------------------------------------------


def _pairs(these: list[Cell], those: list[Cell]) -> dict[int, int]:
    """Return the index in one version of each cell in another, if it is there.

    Equal cells are pairs, then, between two pairs, those with the same id, then similar ones.
    """
    keys = [[_key(cell) for cell in cells] for cells in (these, those)]
    pairs: dict[int, int] = {}
    for block in SequenceMatcher(None, *keys, False).get_matching_blocks():
        pairs |= {block.a + step: block.b + step for step in range(block.size)}
    alike = [
        (_likeness(one, other), i, j)
        for i, one in enumerate(these)
        for j, other in enumerate(those)
        if i not in pairs and j not in pairs.values() and one["cell_type"] == other["cell_type"]
    ]
    for likeness, i, j in sorted(alike, key=lambda pair: -pair[0]):
        between = all((a < i and b < j) or (a > i and b > j) for a, b in pairs.items())
        if likeness >= ALIKE and between:
            pairs[i] = j
    return pairs


def _key(cell: Cell) -> tuple[str, str]:
    """Return what a cell is: a question that a person grades has a name, whatever the answer."""
    graded = cell["metadata"].get("nbgrader")
    name = graded.get("grade_id") if isinstance(graded, dict) else None
    return ("graded", name) if isinstance(name, str) else (cell["cell_type"], _source(cell))


def _likeness(one: Cell, other: Cell) -> float:
    if one.get("id") is not None and one.get("id") == other.get("id"):
        return 2
    return SequenceMatcher(None, _source(one).split(), _source(other).split(), False).ratio()


def _source(cell: Cell) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _is_edited(base: Cell, mine: Cell) -> bool:
    versions = [
        [line.rstrip() for line in _source(one).strip().split("\n")] for one in (base, mine)
    ]
    return versions[0] != versions[1] or bool(mine.get("attachments"))


def _shown(cell: Cell) -> str:
    """Return a cell for a sentence: how it begins, in ASCII."""
    text = " ".join(_source(cell).split()).encode("ascii", "replace").decode()
    short = text if len(text) <= 30 else f"{text[:27]}..."
    return f'the cell "{short}"'
