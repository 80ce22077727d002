"""A notebook, merged cell by cell.

A cell that the student edited stays, with its outputs; one that they did not touch becomes the new
version; new ones are inserted. Which cell is which is seen by what stands in them, then by their
ids: the course numbers its cells, so an id alone means another cell after one was inserted.
"""

import copy
import hashlib
import json
from collections.abc import Iterator
from difflib import SequenceMatcher

from course.student.update.merged import Merged
from course.student.update.python_text import Unreadable, decode
from course.student.update.sequences import merged
from course.student.update.version import plain

ALIKE = 0.6
"""How much of two cells must be the same for one to be the other, edited; from 0 to 1."""

MERGED = "course_merged"
"""What a notebook's metadata say about the version that was merged into it: never do it twice."""

Cell = dict


def merge_notebook(base: bytes, theirs: bytes, mine: bytes) -> Merged:
    """The student's notebook with what changed from base to theirs.

    Raises:
        Unreadable: the student's file is no notebook.
    """
    (old, _), (new, _), (own, layout) = map(_read, (base, theirs, mine))
    version = hashlib.sha256(plain(theirs)).hexdigest()
    if base == theirs or own["metadata"].get(MERGED) == version:
        return Merged(mine)
    notes, conflicts = [], []
    cells = _merge_cells(old["cells"], new["cells"], own["cells"], notes, conflicts)
    _give_ids(cells)
    own["cells"] = [cell for cell, _ in cells]
    own["nbformat_minor"] = max(own.get("nbformat_minor", 0), new.get("nbformat_minor", 0))
    own["metadata"] = {**own["metadata"], MERGED: version}
    text = json.dumps(own, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    try:
        data = layout.encode(text.replace("\n", layout.end))
    except UnicodeEncodeError:
        raise Unreadable("holds half a character") from None
    return Merged(data, tuple(notes), tuple(conflicts))


def _read(data: bytes):
    text, layout = decode(data)
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("is not valid JSON") from None
    is_one = isinstance(notebook, dict) and notebook.get("nbformat") == 4
    cells = notebook.get("cells") if is_one else None
    if not isinstance(cells, list) or not all(map(_is_cell, cells)):
        raise Unreadable("is no notebook that can be read")
    if not isinstance(notebook.setdefault("metadata", {}), dict):
        raise Unreadable("is no notebook that can be read")
    return notebook, layout


def _is_cell(cell: object) -> bool:
    if not isinstance(cell, dict) or not isinstance(cell.get("metadata", {}), dict):
        return False
    source = cell.get("source")
    lines = source if isinstance(source, list) else [source]
    return isinstance(cell.get("cell_type"), str) and all(isinstance(line, str) for line in lines)


def _merge_cells(
    old: list[Cell], new: list[Cell], own: list[Cell], notes: list[str], conflicts: list[str]
) -> list[tuple[Cell, str | None]]:
    """The merged cells, each with the id that it has in the course's new version."""
    theirs_of = _pairs(old, new)
    base_of = {mine: base for base, mine in _pairs(old, own).items()}
    fresh = [index for index in range(len(new)) if index not in theirs_of.values()]
    result: list[tuple[Cell, int | None]] = []
    for index, cell in enumerate(own):
        base = base_of.get(index)
        theirs = theirs_of.get(base)
        if base is None:
            result.append((cell, None))
        elif theirs is None:
            if _is_edited(old[base], cell):
                result.append((cell, None))
            else:
                notes.append(f"{_shown(old[base])} is gone")
        else:
            result.append((_merge_cell(old[base], new[theirs], cell, notes, conflicts), theirs))
    for index in fresh:
        notes.append(f"{_shown(new[index])} is new")
        result.insert(_place(index, result), (copy.deepcopy(new[index]), index))
    return [(cell, None if theirs is None else new[theirs].get("id")) for cell, theirs in result]


def _merge_cell(old: Cell, new: Cell, own: Cell, notes: list[str], conflicts: list[str]) -> Cell:
    """One cell of the student's with what changed in the course's."""
    cell = copy.deepcopy(own)
    cell["metadata"] = _merged_metadata(old, new, own)
    if _source(new) in (_source(old), _source(own)):
        return cell
    if not _is_edited(old, own):
        cell = {**copy.deepcopy(new), "metadata": cell["metadata"], "id": own.get("id")}
        notes.append(f"a new version of {_shown(new)}")
        return cell
    lines = (
        merged(*(_source(one).split("\n") for one in (old, new, own)))
        if own["cell_type"] == "markdown"
        else None
    )
    if lines is None:
        conflicts.append(f"you and the course both changed {_shown(own)}")
        return cell
    if (text := "\n".join(lines)) != _source(own):
        cell["source"] = text.splitlines(keepends=True)
        notes.append(f"a new text in {_shown(new)}, around yours")
    return cell


def _merged_metadata(old: Cell, new: Cell, own: Cell) -> dict:
    before, after, mine = (one.get("metadata", {}) for one in (old, new, own))
    gone = {key for key in before if key not in after and mine.get(key) == before[key]}
    came = {key: after[key] for key in after if after[key] != before.get(key)}
    return {**{key: mine[key] for key in mine if key not in gone}, **came}


def _place(index: int, result: list[tuple[Cell, int | None]]) -> int:
    """Where a new cell goes: behind the nearest that stands before it in the course's version."""
    known = [(theirs, at) for at, (_, theirs) in enumerate(result) if theirs is not None]
    before = [at for theirs, at in known if theirs < index]
    return max(before) + 1 if before else 0


def _give_ids(cells: list[tuple[Cell, str | None]]) -> None:
    """The ids of the course for its cells; a student's own cell keeps its own if it is free."""
    taken = {wanted for _, wanted in cells if wanted}
    for cell, wanted in cells:
        if wanted:
            cell["id"] = wanted
        elif cell.get("id") is None or cell["id"] in taken:
            name = f"mine-{hashlib.sha256(_source(cell).encode()).hexdigest()[:8]}"
            while name in taken:
                name += "0"
            cell["id"] = name
            taken.add(name)
        else:
            taken.add(cell["id"])


# --- which cell is which --------------------------------------------------------------------


def _pairs(these: list[Cell], those: list[Cell]) -> dict[int, int]:
    """Of each cell in one version its index in the other, if it is there."""
    pairs: dict[int, int] = {}

    def add(i: int, j: int) -> None:
        if i not in pairs and j not in pairs.values():
            pairs[i] = j

    graded = {_grade_id(cell): j for j, cell in enumerate(those) if _grade_id(cell)}
    for i, cell in enumerate(these):
        if _grade_id(cell) in graded:
            add(i, graded[_grade_id(cell)])
    keys = [[_key(cell) for cell in cells] for cells in (these, those)]
    for block in SequenceMatcher(None, *keys, False).get_matching_blocks():
        for step in range(block.size):
            add(block.a + step, block.b + step)
    for i, j in _left(keys, pairs):  # moved
        if keys[0][i] == keys[1][j]:
            add(i, j)
    for i, j in list(_left(keys, pairs)):
        if these[i].get("id") == those[j].get("id") and _same_gap(i, j, pairs):
            add(i, j)
    alike = [(_likeness(keys[0][i], keys[1][j]), i, j) for i, j in _left(keys, pairs)]
    for likeness, i, j in sorted(alike, key=lambda one: -one[0]):
        if likeness >= ALIKE and _same_gap(i, j, pairs):
            add(i, j)
    return pairs


def _left(keys: list[list[tuple]], pairs: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Pairs of cells of the same type that have no partner yet."""
    for i, (kind, _) in enumerate(keys[0]):
        for j, (other, _) in enumerate(keys[1]):
            if kind == other and i not in pairs and j not in pairs.values():
                yield i, j


def _same_gap(i: int, j: int, pairs: dict[int, int]) -> bool:
    """Whether two cells stand between the same partners."""
    before = [(a, b) for a, b in pairs.items() if a < i]
    after = [(a, b) for a, b in pairs.items() if a > i]
    return (not before or max(before)[1] < j) and (not after or j < min(after)[1])


def _likeness(one: tuple, other: tuple) -> float:
    return SequenceMatcher(None, one[1].split(), other[1].split(), False).ratio()


def _grade_id(cell: Cell) -> str | None:
    graded = cell.get("metadata", {}).get("nbgrader")
    return graded.get("grade_id") if isinstance(graded, dict) else None


def _key(cell: Cell) -> tuple[str, str]:
    return cell["cell_type"], _source(cell)


def _source(cell: Cell) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _is_edited(base: Cell, mine: Cell) -> bool:
    same = [line.rstrip() for line in _source(base).strip().split("\n")]
    own = [line.rstrip() for line in _source(mine).strip().split("\n")]
    return same != own or bool(mine.get("attachments"))


def _shown(cell: Cell) -> str:
    """A cell for a sentence: by how it begins, in ASCII."""
    text = " ".join(_source(cell).split()).encode("ascii", "replace").decode()
    short = text if len(text) <= 30 else f"{text[:27]}..."
    return f'the cell "{short}"'
