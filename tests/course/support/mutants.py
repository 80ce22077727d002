"""Small faults, made on purpose: which of them do the graded tests notice?

A mutant is an exercise of `solutions/` with one change in what a student writes, between
`### BEGIN SOLUTION` and `### END SOLUTION`. The libraries for this, mutmut and cosmic-ray, start
a test process for every mutant; here one process tries them all, in a minute, not an hour.
"""

import ast
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

ARITHMETIC = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div, ast.Add],
    ast.Div: [ast.Mult, ast.FloorDiv],
    ast.FloorDiv: [ast.Div],
    ast.Mod: [ast.FloorDiv],
    ast.Pow: [ast.Mult],
    ast.MatMult: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
}

COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)

COMPARISONS = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}


def both_ways(*pairs: str) -> dict[str, str]:
    """Each name of a pair, with the other one."""
    named = [pair.split() for pair in pairs]
    return {one: other for a, b in named for one, other in ((a, b), (b, a))}


NAMES = both_ways("cos sin", "max min") | {"ValueError": "TypeError", "float": "int"}
"""Names that are easily taken for one another."""

ATTRIBUTES = (
    NAMES
    | both_ways("argmax argmin", "cat stack", "exp log", "float32 float64", "indices values")
    | both_ways("mean sum", "ones zeros", "tril triu")
    | {
        "Adam": "SGD",
        "double": "float",
        "float": "half",
        "index_add": "index_copy",
        "inf": "nan",
        "logsigmoid": "sigmoid",
        "new_zeros": "new_ones",
        "randn": "rand",
        "removesuffix": "removeprefix",
        "rsplit": "split",
        "softmax": "log_softmax",
        "zeros_": "ones_",
    }
)
"""The same for attributes, after a dot."""

FREE = {"annotation", "persistent", "strict"}
"""What no test can see: an annotation, whether a table is saved, a check of equal lengths."""

SYMMETRIC = {"max", "min", "transpose"}
"""Functions that give the same for their arguments in any order."""

NOT_VALUES = {"torch", "nn", "F", "math", "self"}
"""Names of which nothing is computed: in `torch.cat(parts)` the parts are."""


@dataclass(frozen=True)
class Mutant:
    """One exercise with one fault.

    Attributes:
        exercise: its name.
        before, after: the line with the fault, as it was and as it is now.
        source: the whole definition of the exercise.
    """

    exercise: str
    before: str
    after: str
    source: str

    def is_made_by(self, edit: tuple[str, str, str]) -> bool:
        """Whether it is this edit of an exercise: an old text in the line, and the new one."""
        exercise, old, new = edit
        pieces = self.before.split(old)
        return exercise == self.exercise and any(
            self.after == f"{old.join(pieces[:place])}{new}{old.join(pieces[place:])}"
            for place in range(1, len(pieces))
        )

    def among(self, reference: types.ModuleType) -> types.ModuleType:
        """A copy of the reference module in which the exercise is this mutant."""
        module = types.ModuleType(reference.__name__)
        module.__dict__.update(vars(reference))
        exec(compile(self.source, reference.__file__, "exec"), module.__dict__)
        return module


def mutants(solution: str) -> list[Mutant]:
    r"""Every mutant of a solution's text, in the order of its lines, none twice.

    >>> found = mutants(
    ...     "def f(a, b):\n    ### BEGIN SOLUTION\n    return a - b\n    ### END SOLUTION\n"
    ... )
    >>> found[0].before, [mutant.after for mutant in found]
    ('return a - b', ['pass', 'return -(a - b)', 'return a', 'return b', 'return b - a',
                      'return a + b'])
    """
    lines = _lines_of_solution(solution)
    found: dict[str, Mutant] = {}
    for definition in ast.parse(solution).body:
        if not isinstance(definition, ast.FunctionDef | ast.ClassDef):
            continue
        original = ast.unparse(definition)
        for node, field, put in list(_places(definition)):
            if getattr(node, "lineno", None) not in lines:
                continue
            for other in _others(node, field):
                put(other)
                source = ast.unparse(definition)
                if source != original and source not in found and _is_python(source):
                    found[source] = Mutant(definition.name, *_difference(original, source), source)
            put(node)
    return list(found.values())


def _lines_of_solution(text: str) -> set[int]:
    """The numbers of the lines between the markers."""
    numbers: set[int] = set()
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() in ("### BEGIN SOLUTION", "### END SOLUTION"):
            inside = not inside
        elif inside:
            numbers.add(number)
    return numbers


def _places(parent: ast.AST) -> Iterator[tuple[ast.AST, str, Callable[[ast.AST], None]]]:
    """Every node below another: itself, its field, and how to replace it."""
    if isinstance(parent, ast.JoinedStr):  # the wording of a message is free
        return
    for field, value in ast.iter_fields(parent):
        if field in FREE or getattr(parent, "arg", None) in FREE:
            continue
        if isinstance(value, ast.AST):
            yield value, field, partial(setattr, parent, field)
            yield from _places(value)
        elif isinstance(value, list):
            is_alone = isinstance(parent, ast.If) and not parent.orelse and value == parent.body[:1]
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield item, "alone" if is_alone else field, partial(value.__setitem__, index)
                    yield from _places(item)


def _others(node: ast.AST, field: str) -> Iterator[ast.AST]:
    """What could replace a node by mistake."""
    if isinstance(node, ast.stmt) and field != "alone":  # without that, the whole `if` is tried
        yield ast.Pass()
    if field == "ifs":
        yield from (ast.Constant(True), ast.Constant(False))
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from map(ast.Constant, (value + 1, value - 1, 0))
        case ast.Constant(value=float(value)):
            yield from map(ast.Constant, (2 * value, value / 2, 0.0))
        case ast.JoinedStr(values):
            yield from map(ast.JoinedStr, _dropped(values, ast.FormattedValue))
        case ast.Name(name) if name in NAMES:
            yield ast.Name(NAMES[name])
        case ast.Attribute(value, "T"):
            yield value
        case ast.Attribute(value, name) if name in ATTRIBUTES:
            yield ast.Attribute(value, ATTRIBUTES[name])
        case ast.UnaryOp(ast.USub(), ast.Constant(value=int())):
            pass  # an axis counted from the end: that number is changed for itself
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.BinOp(left, operator, right):
            yield from (left, right)
            if not isinstance(operator, COMMUTATIVE):
                yield ast.BinOp(right, operator, left)
            for other in ARITHMETIC.get(type(operator), []):
                yield ast.BinOp(left, other(), right)
        case ast.AugAssign(target, operator, value):
            yield ast.Assign([target], value, lineno=node.lineno)
            for other in ARITHMETIC.get(type(operator), []):
                yield ast.AugAssign(target, other(), value)
        case ast.BoolOp(operator, values):
            yield from values
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.Compare(left, operators, comparators):
            for index, operator in enumerate(operators):
                for other in COMPARISONS[type(operator)]:
                    others = [*operators[:index], other(), *operators[index + 1 :]]
                    yield ast.Compare(left, others, comparators)
        case ast.IfExp(_, body, orelse):
            yield from (body, orelse)
        case ast.If(_, body, orelse):
            yield ast.If(ast.Constant(True), body, orelse)
            if orelse:
                yield ast.If(ast.Constant(False), body, orelse)
        case ast.Subscript(value, index):
            yield value
            if isinstance(index, ast.Slice):
                for other in _shifted(index):
                    yield ast.Subscript(value, other)
        case ast.Call(function, arguments, keywords):
            yield from _worked_on(node)
            for others in _dropped(arguments):
                yield ast.Call(function, others, keywords)
            if ast.unparse(function).rpartition(".")[2] not in SYMMETRIC:
                for others in _swapped(arguments):
                    yield ast.Call(function, others, keywords)
            for keyword in keywords:
                if keyword.arg not in FREE:
                    yield ast.Call(function, arguments, [one for one in keywords if one != keyword])
        case ast.Tuple(elements) | ast.List(elements):
            for others in (*_dropped(elements), *_swapped(elements), *_negated(elements)):
                yield type(node)(others)
        case ast.Return(value) if not isinstance(value, None | ast.Tuple):
            yield ast.Return(ast.UnaryOp(ast.USub(), value))
        case ast.With(_, body):
            yield ast.If(ast.Constant(True), body, [])


def _shifted(index: ast.Slice) -> Iterator[ast.Slice]:
    """The slices with one end moved by a place, or left open, or no longer open."""
    for lower in _moved(index.lower, if_open=ast.Constant(1)):
        yield ast.Slice(lower, index.upper)
    for upper in _moved(index.upper, if_open=ast.Constant(-1)):
        yield ast.Slice(index.lower, upper)


def _moved(end: ast.expr | None, if_open: ast.expr) -> Iterator[ast.expr | None]:
    if end is None:
        yield if_open
        return
    yield None
    if not isinstance(end, ast.Constant):  # that is changed for itself
        yield ast.BinOp(end, ast.Add(), ast.Constant(1))
        yield ast.BinOp(end, ast.Sub(), ast.Constant(1))


def _worked_on(call: ast.Call) -> Iterator[ast.expr]:
    """What a call works on: the tensor of a method, else the first argument."""
    match call.func:
        case ast.Attribute(value) if ast.unparse(value).partition(".")[0] not in NOT_VALUES:
            yield value
        case _ if call.args:
            yield call.args[0]


def _dropped(items: list, kind: type = ast.AST) -> Iterator[list]:
    """The lists with one item of this kind less."""
    for index, item in enumerate(items):
        if isinstance(item, kind):
            yield items[:index] + items[index + 1 :]


def _swapped(items: list) -> Iterator[list]:
    """The lists with two neighbours swapped."""
    for index in range(len(items) - 1):
        yield [*items[:index], items[index + 1], items[index], *items[index + 2 :]]


def _negated(items: list) -> Iterator[list]:
    """The lists with a minus before one item."""
    for index, item in enumerate(items):
        if not isinstance(item, ast.Constant | ast.UnaryOp | ast.Slice | ast.Starred):
            yield [*items[:index], ast.UnaryOp(ast.USub(), item), *items[index + 1 :]]


def _is_python(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _difference(original: str, source: str) -> tuple[str, str]:
    """The lines that differ in two texts, those of each in one line."""
    before, after = original.splitlines(), source.splitlines()
    while before[0] == after[0]:
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    return _in_one_line(before), _in_one_line(after)


def _in_one_line(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines[:1]) + (" ..." if len(lines) > 1 else "")
