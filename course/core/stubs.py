"""The stub of a lesson, made of its solution."""

import ast
import re
from functools import cache

from course.core.syllabus import Lesson, find_lesson

_BLOCK = re.compile(
    r"^(?P<indent> *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION\n", re.MULTILINE | re.DOTALL
)


def stub_from(solution: str, stem: str) -> str:
    r"""Return the stub of a solution's text.

    >>> solution = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"
    >>> print(stub_from(solution, "rope"))
    def f():
        raise NotImplementedError("TODO rope.f")
    <BLANKLINE>
    """
    owners = [
        (node.lineno, node.end_lineno, node.name)
        for node in ast.parse(solution).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]

    def replace(block: re.Match) -> str:
        line = solution.count("\n", 0, block.start()) + 1
        name = next(name for first, last, name in owners if first <= line <= last)
        return f'{block["indent"]}raise NotImplementedError("TODO {stem}.{name}")\n'

    return importing_exercises(_BLOCK.sub(replace, solution))


@cache
def solution_of(stem: str) -> str:
    """Return the module of a lesson as somebody hands it in who has done everything."""
    return importing_exercises(find_lesson(stem).solution)


def importing_exercises(solution: str) -> str:
    """Return a solution's text, importing what is of earlier lessons as its stub does."""
    return re.sub(r"^from solutions\.", "from exercises.", solution, flags=re.MULTILINE)


@cache
def stub_of(stem: str) -> bytes:
    """Return the module of a lesson as it is given out."""
    solution = find_lesson(stem).solution
    return stub_from(solution, stem).encode("utf-8")


def stubs_in(source: bytes, lesson: Lesson) -> set[str]:
    """Return the exercises of a lesson that are still to do in the text of a module."""
    text = source.decode("utf-8", errors="replace")
    return set(
        re.findall(rf"""^ *raise NotImplementedError\("TODO {lesson.stem}\.(\w+)"\)""", text, re.M)
    )
