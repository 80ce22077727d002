"""The reference and its alternatives as text: read with `ast`, never run, so at once.

The code comes from `solutions/` and from the catalogue of alternatives, without the marks
around a solution and without what a student has read already, the docstring.
"""

import ast
import re
from functools import cache

from course.core import answers as packed
from course.core.stubs import stub_of
from course.core.syllabus import Exercise, find_lesson

_Definition = ast.FunctionDef | ast.ClassDef
_Import = ast.Import | ast.ImportFrom
_MARK = re.compile(r" *### (BEGIN|END) SOLUTION *")
_ANSWER = re.compile(r"### BEGIN SOLUTION\n(.*?) *### END SOLUTION", re.DOTALL)


def contract(exercise: Exercise) -> str:
    """Return an exercise's signature and docstring; of a class, also its methods' signatures."""
    text, node = _reference(exercise)
    lines = text.splitlines()
    shown = lines[node.lineno - 1 : node.body[0].end_lineno]
    for method in node.body:
        if isinstance(node, ast.ClassDef) and isinstance(method, ast.FunctionDef):
            head = lines[method.lineno - 1 : method.body[0].lineno - 1]
            end = next(number for number, line in enumerate(head) if line.rstrip().endswith(":"))
            shown += ["", *head[:end], f"{head[end]} ..."]
    return "\n".join(shown)


def question(exercise: Exercise) -> str:
    """Return what an exercise is to give, in a sentence: the first of its docstring."""
    _, node = _reference(exercise)
    return " ".join(ast.get_docstring(node).partition("\n\n")[0].split())


def solution(exercise: Exercise) -> str:
    """Return the reference's code of an exercise, with its comments."""
    code = _without_docstring(*_reference(exercise))
    return "\n".join(line for line in code.splitlines() if not _MARK.fullmatch(line))


def answers(exercise: Exercise) -> list[str]:
    """Return what the reference has where the stub says that something is to do."""
    text, node = _reference(exercise)
    within = range(node.lineno, node.end_lineno + 1)
    blocks = _ANSWER.finditer(text)
    return [one[1] for one in blocks if text.count("\n", 0, one.start()) + 1 in within]


def another_style(exercise: Exercise) -> tuple[str, str] | None:
    """Return a correct variant of an exercise in another style, if the catalogue has one.

    Returns:
        Its name in a few words, and its code with the helpers that it uses, below the imports that
        the stub lacks.
    """
    room = find_lesson(exercise.lesson).room
    table = packed.text(room / "mistakes.txt")
    _, _, below = f"\n{table}".partition(f"\n== {exercise.name}\n")
    named = re.search(r"^\+ (\w+)$", below.partition("\n== ")[0], re.MULTILINE)
    if named is None:
        return None
    text = packed.text(room / "styles.py")
    definitions = _definitions(text)
    node = definitions[named[1]]
    helpers, to_read = {}, [node]
    while to_read:
        for used in ast.walk(to_read.pop()):
            name = getattr(used, "id", "")
            if name.startswith("_") and name in definitions and name not in helpers:
                helpers[name] = definitions[name]
                to_read.append(definitions[name])
    in_order = sorted(helpers.values(), key=lambda one: one.lineno)
    code = [_without_docstring(text, one) for one in (*in_order, node)]
    code[-1] = re.sub(rf"(?<![.\w]){node.name}\b", exercise.name, code[-1])
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", node.name).lower().replace("_", " ")
    imports = _missing_imports(text, code, stub_of(exercise.lesson).decode("utf-8"))
    return words, "\n\n\n".join([imports, *code] if imports else code)


def _missing_imports(catalogue: str, code: list[str], stub: str) -> str:
    """Return the imports of the catalogue that provide names for this code that a stub lacks."""
    tree = ast.parse("\n".join(code))
    missing = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.parse(stub).body:
        names = node.names if isinstance(node, _Import) else [node]
        missing -= {getattr(one, "asname", None) or getattr(one, "name", "") for one in names}
    lines = []
    for node in ast.parse(catalogue).body:
        if isinstance(node, _Import):
            node.names = [one for one in node.names if (one.asname or one.name) in missing]
            lines += [ast.unparse(node)] if node.names else []
    return "\n".join(lines)


def _reference(exercise: Exercise) -> tuple[str, _Definition]:
    """Return the text of a solution, and where in it an exercise is defined."""
    text = find_lesson(exercise.lesson).solution
    return text, _definitions(text)[exercise.name]


def _without_docstring(text: str, node: _Definition) -> str:
    """Return a definition's text from `def` or `class` on, without its docstring."""
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
    if ast.get_docstring(node) is not None:
        start, end = (n - node.lineno for n in (node.body[0].lineno, node.body[0].end_lineno))
        below = end + 1
        if isinstance(node, ast.ClassDef) and not lines[below]:  # the empty line below it
            below += 1
        del lines[start:below]
    return "\n".join(lines)


@cache
def _definitions(text: str) -> dict[str, _Definition]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, _Definition)}
