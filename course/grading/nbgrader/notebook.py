"""The notebook that a grader and the student's feedback show, made anew for each submission.

Nothing of the student's notebook is kept as it came. The cells that earn points are the released
ones, once each, whatever became of them: tests with what the judge found, answers with the
student's text. The rest is shown as it was typed; of outputs, text and PNG pictures stay. So there
is nothing in it that a page could run, load or follow.
"""

import base64
import binascii
import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nbconvert.filters import strip_ansi
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.utils import is_grade, is_solution

from course.grading.names import printable
from course.grading.nbgrader.release import is_test
from course.grading.reports.message import plain_message
from course.syllabus import Status
from course.testing.result import LessonResult

MAX_TEXT = 20_000
"""Characters of one cell or one output."""
MAX_NOTEBOOK_TEXT = 500_000
"""Characters of all cells and outputs, as they are shown; a cell counts as a thousand more."""
MAX_OUTPUTS = 20
"""Of one cell."""
MAX_WIDTH = 700
"""Pixels of a picture on a page."""
NOT_SHOWN = "[neither text nor a PNG picture, so it is not shown]"
NOT_FOUND = (
    "[The cell of this answer was not found in the notebook that was handed in. "
    "Look for the answer in its other cells, and in the file itself.]"
)
TOO_LONG = "*The notebook is too long: the rest of it is not shown.*"

_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_IN_PAGE = re.compile('<img src="data:image/png;base64,([^"]*)"')
_PNG = b"\x89PNG\r\n\x1a\n"


def missing_answers(cells: Sequence[Mapping] | None, released: Sequence[NotebookNode]) -> list[str]:
    """Return the names of the answers that earn points and have no cell in a student's notebook.

    Args:
        cells: those of the student's notebook, as they came; None if there is none.
        released: those of the notebook that students got.
    """
    if cells is None:
        return []
    found = {name_of(cell) for cell in cells if _text(cell) or cell.get("source") in ("", [], [""])}
    answers = [name_of(cell) for cell in released if is_grade(cell) and is_solution(cell)]
    return [name for name in answers if name not in found]


def judged_notebook(
    cells: Sequence[Mapping] | None,
    released: Sequence[NotebookNode],
    result: LessonResult,
    remarks: Sequence[str],
    module: str,
) -> NotebookNode:
    """Return the notebook of a submission.

    Args:
        cells: those of the student's notebook, as they came; None if there is none.
        released: those of the notebook that students got, and its texts are the instructor's own.
        result: the judge's.
        remarks: sentences about what is odd in the submission.
        module: the text of the module that was graded.
    """
    # nbgrader gives 0 by itself to an answer as it was released, and others to a human to grade
    answers = dict.fromkeys(missing_answers(cells, released), NOT_FOUND)
    left = {name_of(cell): cell for cell in released if name_of(cell)}
    own = {
        cell.source: cell
        for cell in released
        if cell.cell_type == "markdown" and "nbgrader" not in cell.metadata
    }
    answers |= _answers(cells or [], left)
    shown = [new_markdown_cell(as_typed("\n\n".join(remarks)))] if remarks else []
    room, is_whole = MAX_NOTEBOOK_TEXT, True
    for cell in cells or []:
        known = left.pop(name_of(cell), None)
        if known is not None:
            shown.append(_graded(known, answers, cell, result))
        elif room > 0:
            instructors = own.get(_text(cell))
            shown.append(copy.deepcopy(instructors) if instructors else _harmless(cell))
            room -= _length(shown[-1])
        else:
            is_whole = False
    shown += [] if is_whole else [new_markdown_cell(TOO_LONG)]
    shown += [_graded(known, answers, {}, result) for known in left.values()]
    if module:
        shown.append(new_code_cell(_cut(f"# {result.lesson}.py, as it was handed in\n\n{module}")))
    for number, cell in enumerate(shown):
        cell["id"] = f"cell-{number}"  # a name of chance would make every notebook a new one
    return new_notebook(cells=shown, metadata={"kernelspec": _KERNEL})


def as_typed(text: str) -> str:
    r"""Return Markdown that shows a text as it was typed: no tag, no link, no picture.

    Every sign that means something in Markdown or HTML is written as its number. A formula still
    becomes one, for MathJax reads the finished page.

    >>> as_typed("<b>\n  *so*")
    '&#60;b&#62;  \n\xa0\xa0&#42;so&#42;'
    """
    lines = []
    for line in _cut(text).split("\n"):
        words = line.lstrip(" ")
        indent = "\N{NO-BREAK SPACE}" * (len(line) - len(words)) if words else ""
        lines.append(indent + _PUNCTUATION.sub(lambda sign: f"&#{ord(sign[0])};", words))
    return "  \n".join(lines)


def name_of(cell: Mapping) -> str:
    """Return what nbgrader calls a cell, if it says so."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return name if isinstance(name, str) else ""


# --- cells that earn points -----------------------------------------------------------------


def _answers(cells: Sequence[Mapping], known: Mapping[str, NotebookNode]) -> dict[str, str]:
    """Return the answers: of several cells of one name, the text of the first that says a thing."""
    answers: dict[str, str] = {}
    for cell in cells:
        name, text = name_of(cell), _text(cell)
        if name in known and text.strip() not in ("", known[name].source.strip()):
            answers.setdefault(name, text)
    return answers


def _graded(
    known: NotebookNode, answers: Mapping[str, str], handed_in: Mapping, result: LessonResult
) -> NotebookNode:
    cell, name = copy.deepcopy(known), name_of(known)
    if is_test(cell):
        cell.outputs = _findings(name, cell.metadata.nbgrader.points, result)
        return cell
    if cell.cell_type == "code":
        cell.outputs = _outputs(handed_in)
    if is_solution(cell) and name in answers:
        cell.source = (_cut if cell.cell_type == "code" else as_typed)(answers[name])
    return cell


def _findings(name: str, points: float, result: LessonResult) -> list[NotebookNode]:
    """Return what the judge says, and, for nbgrader, what is earned of the cell's points."""
    exercise = next(one for one in result.exercises if one.name == name)
    earned = points if exercise.status == Status.PASSED else 0
    message = plain_message(result, exercise) or f"{name} passed."
    return [
        new_output("stream", name="stdout", text=f"{message}\n"),
        new_output("execute_result", {"text/plain": f"{earned:g}"}, execution_count=None),
    ]


# --- everything else ------------------------------------------------------------------------


def _harmless(cell: Mapping) -> NotebookNode:
    if cell.get("cell_type") == "code":
        return new_code_cell(_cut(_text(cell)), outputs=_outputs(cell))
    return new_markdown_cell(as_typed(_text(cell)))


def _length(cell: NotebookNode) -> int:
    """Return how much room a cell takes; pictures cost a page little."""
    outputs = cell.get("outputs", [])
    texts = [output.get("text") or output.data["text/plain"] for output in outputs]
    return 1000 + sum(map(len, [cell.source, *texts]))


def _outputs(cell: Mapping) -> list[NotebookNode]:
    """Return the text and the pictures of a cell."""
    outputs = cell.get("outputs")
    found = []
    for output in outputs[:MAX_OUTPUTS] if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        data = output.get("data") if isinstance(output.get("data"), dict) else {}
        kinds = (output.get("text"), data.get("text/plain"), output.get("traceback"))
        text = _cut(strip_ansi("\n".join(filter(None, map(_joined, kinds)))))
        picture = _picture(data, text)
        found.append(picture or new_output("stream", name="stdout", text=text or NOT_SHOWN))
    return found


def _picture(data: Mapping, text: str) -> NotebookNode | None:
    """Return the PNG picture of an output, by itself or as the course's own figures hold it.

    It is decoded and encoded again, so that it is a picture and nothing that a page could run.
    """
    in_page = _IN_PAGE.match(_joined(data.get("text/html")))
    letters = _joined(data.get("image/png")) or (in_page[1] if in_page else "")
    try:
        picture = base64.b64decode("".join(letters.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not picture.startswith(_PNG):
        return None
    width = int.from_bytes(picture[16:20])  # the first number in it
    return new_output(
        "display_data",
        {"image/png": base64.b64encode(picture).decode("ascii"), "text/plain": text},
        metadata={"image/png": {"width": min(width, MAX_WIDTH)}},
    )


def _text(cell: Mapping) -> str:
    return _joined(cell.get("source"))


def _joined(text: Any) -> str:
    """Return a text of a notebook, which may come in lines."""
    if isinstance(text, list):
        return "".join(part for part in text if isinstance(part, str))
    return text if isinstance(text, str) else ""


def _cut(text: str) -> str:
    lines = text.replace("\r\n", "\n").expandtabs(4)
    return printable(lines if len(lines) <= MAX_TEXT else f"{lines[:MAX_TEXT]}\n[cut off here]")
