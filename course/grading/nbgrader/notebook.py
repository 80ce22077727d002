"""The notebook that a grader and the student's feedback show, made new for each submission.

It is the released one: its tests with what the judge found, its answers with the student's text
as it was typed, and the module at its end. Nothing else of the student's notebook is kept. So
there is nothing in it that a page could run, load or follow.
"""

import copy
import re
from collections.abc import Mapping, Sequence

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.utils import is_grade, is_solution

from course.core.syllabus import Status
from course.grading.judge.unit import GradedResult
from course.grading.names import printable
from course.testing.messages.message import plain_message

MAX_TEXT = 20_000
"""Characters of one cell."""
NOT_FOUND = (
    "[This answer's cell was not found in the submission. Look for the answer in the "
    "student's own files, in submitted/.]"
)

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_ACTIVE = re.compile(
    r"\\(?=href|style|class|cssId|bbox|mmlToken|require|[gex]?def|let(?![a-z])"
    r"|(?:re)?new(?:command|environment)|Declare)"
)
"""Commands by which a formula could become a link, look like another part of the page, or change
the formulas of others."""


def find_answers(cells: Sequence[Mapping], released: Sequence[NotebookNode]) -> dict[str, str]:
    """Return the answers of a student's notebook, by the names of their cells.

    nbgrader gives 0 by itself to an answer as it was released, and others to a human to grade: so
    NOT_FOUND stands for one that has no cell. Several cells of one name, as JupyterLab makes of one
    that is split, are one answer.

    Args:
        cells: those of the student's notebook, as they came.
        released: those of the notebook that students got.
    """
    answers = {}
    for asked in filter(is_solution, released):
        name = name_of(asked)
        texts = [text for cell in cells if name_of(cell) == name for text in _text_of(cell)]
        given = [text for text in texts if text.strip() not in ("", asked.source.strip())]
        if given:
            answers[name] = "\n\n".join(dict.fromkeys(given))
        else:
            answers[name] = asked.source if texts else NOT_FOUND
    return answers


def count_own_words(cells: Sequence[Mapping], released: Sequence[NotebookNode]) -> int:
    """Return how many cells of words a student added or changed, beside those for answers."""
    known = {cell.source.strip() for cell in released} | {""}
    words = [cell for cell in cells if cell.get("cell_type") == "markdown" and not name_of(cell)]
    return sum(text.strip() not in known for cell in words for text in _text_of(cell))


def judged_notebook(
    released: NotebookNode,
    answers: Mapping[str, str],
    result: GradedResult,
    remarks: Sequence[str],
    module: str,
) -> NotebookNode:
    """Return the notebook of a submission.

    Args:
        released: the notebook that students got.
        answers: see `find_answers`.
        result: the judge's.
        remarks: sentences about what is odd in the submission.
        module: the text of the module that was graded.
    """
    cells = copy.deepcopy(released.cells)
    for cell in cells:
        if is_test(cell):
            cell.outputs = _findings(name_of(cell), cell.metadata.nbgrader.points, result)
        elif is_solution(cell) and answers[name_of(cell)] != cell.source:
            shown = cut if cell.cell_type == "code" else _in_a_box
            cell.source = shown(answers[name_of(cell)])
    if remarks:
        cells.insert(0, new_markdown_cell(as_typed("\n\n".join(remarks))))
    if module:
        cells.append(new_code_cell(cut(f"# {result.lesson}.py, as it was handed in\n\n{module}")))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # a name of chance would make every notebook a new one
    return new_notebook(cells=cells, metadata=released.metadata)


def as_typed(text: str) -> str:
    r"""Return Markdown that shows a text as it was typed: no tag, no link, no picture.

    Every sign that means something in Markdown or HTML is written as its number. A formula still
    becomes one, for MathJax reads the finished page, but one that does nothing.

    >>> as_typed("<b>\n  *so*")
    '&#60;b&#62;  \n\xa0\xa0&#42;so&#42;'
    """
    lines = []
    for line in _ACTIVE.sub(r"\\ ", cut(text)).split("\n"):
        words = line.lstrip(" ")
        indent = "\N{NO-BREAK SPACE}" * (len(line) - len(words)) if words else ""
        lines.append(indent + _PUNCTUATION.sub(lambda sign: f"&#{ord(sign[0])};", words))
    return "  \n".join(lines)


def _in_a_box(text: str) -> str:
    """Return Markdown that shows a text as it was typed, and draws its formulas nowhere else.

    A formula can move what it draws, for example over the score next to the answer.
    """
    return f'<div style="overflow: auto">\n\n{as_typed(text)}\n\n</div>'


def cut(text: str) -> str:
    """Return a text that can be shown: as far as it fits, without control characters."""
    lines = text.replace("\r\n", "\n").expandtabs(4)
    return printable(lines if len(lines) <= MAX_TEXT else f"{lines[:MAX_TEXT]}\n[cut off here]")


def is_test(cell: NotebookNode) -> bool:
    """Return whether the points of a cell come from tests."""
    return is_grade(cell) and not is_solution(cell)


def name_of(cell: Mapping) -> str:
    """Return the name of a cell in nbgrader, or an empty text."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return name if isinstance(name, str) else ""


def _text_of(cell: Mapping) -> list[str]:
    """Return the text of a cell, which may come in lines; none if it has no text."""
    source = cell.get("source")
    lines = source if isinstance(source, list) else [source]
    return ["".join(lines)] if all(isinstance(line, str) for line in lines) else []


def _findings(name: str, points: float, result: GradedResult) -> list[NotebookNode]:
    """Return what the judge says, and, for nbgrader, what is earned of the cell's points."""
    exercise = next(one for one in result.exercises if one.name == name)
    earned = points if exercise.status == Status.PASSED else 0
    message = printable(plain_message(result, exercise)) or f"{name} passed."
    return [
        new_output("stream", name="stdout", text=f"{message}\n"),
        new_output("execute_result", {"text/plain": f"{earned:g}"}, execution_count=None),
    ]
