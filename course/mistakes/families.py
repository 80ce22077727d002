"""Families of mistakes that can be made in any exercise.

Each family edits the reference of an exercise wherever it applies: an argument ignored, an axis too
many, a factor left out. They are tried after the mistakes of the lesson's own catalogue, and
they cover exercises that have none.
"""

import ast
import functools
import itertools
import re
from collections.abc import Callable, Iterator

from course.mistakes import Mistake, mistakes
from course.mistakes.variant import Edits, Variant, reference_text
from course.testing.source import with_called

Place = tuple[int, int]
"""Where a piece of the reference's text begins and ends."""

Changes = list[tuple[Place, str]]
"""What is written in place of which pieces."""

Family = Callable[["Definition"], Iterator[tuple[str, str, Changes]]]
"""Yields what a mistake does (the sentence after the exercise's name), where to look, and edits."""


def families(lesson: str, exercise: str) -> Iterator[Mistake]:
    """Yield the mistakes that the families find room for in an exercise, likelier ones first."""
    definition = Definition(reference_text(lesson, exercise))
    for family in _FAMILIES:
        place = f"course/mistakes/families.py:{family.__name__}"
        for says, look, changes in family(definition):
            edits = definition.edits(changes)
            if edits:
                variant = Variant(lesson, exercise, place, edits)
                yield Mistake(exercise, f"{exercise} {says}", look, variant, family=family.__name__)


def in_called(lesson: str, exercise: str) -> Iterator[Mistake]:
    """Yield the mistakes of what an exercise calls, made in it, by those who write that out."""
    _, *called = with_called(lesson, (exercise,))
    for one in mistakes(lesson):
        if one.exercise in called and one.variant.edits and not one.forget:
            variant = Variant(lesson, exercise, one.variant.place, calls=one.variant)
            says = re.sub(rf"\b{one.exercise}\b", exercise, one.says)
            yield Mistake(exercise, says, one.look, variant, family=in_called.__name__)


class Definition:
    """The reference's definition of an exercise, as text and as a tree.

    Attributes:
        functions: the function, or the methods of the class.
        main: the function, or the class's `forward`.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines()
        self._starts = list(itertools.accumulate(map(len, text.splitlines(True)), initial=0))
        node = ast.parse(text).body[0]
        self.is_class = isinstance(node, ast.ClassDef)
        body = node.body if self.is_class else [node]
        self.functions = [one for one in body if isinstance(one, ast.FunctionDef)]
        self.main = self.functions[-1]

    def span(self, node: ast.AST) -> Place:
        """Return where a node's text begins and ends."""
        lines = self._lines

        def place(line: int, column: int) -> int:  # Python counts columns in bytes
            return self._starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

        return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)

    def source(self, node: ast.AST) -> str:
        """Return a node's text."""
        start, end = self.span(node)
        return self.text[start:end]

    def edits(self, changes: Changes) -> Edits | None:
        """Return changes as edits of text that occurs once each; None if they overlap."""
        found: dict[str, str] = {}
        end_of_last = 0
        for (start, end), new in sorted(changes):
            left, right = start, end
            while left == right or self.text.count(self.text[left:right]) > 1:
                if right < len(self.text) and self.text[right] != "\n":
                    right += 1
                elif left > 0:
                    left -= 1
                else:
                    right += 1
            if left < end_of_last:
                return None
            end_of_last = right
            found[self.text[left:right]] = self.text[left:start] + new + self.text[end:right]
        return found

    def solution(self) -> Iterator[ast.AST]:
        """Yield all nodes in what a student writes: neither checks nor signatures."""
        for function in self.functions:
            for statement in function.body:
                if not _refuses(statement):
                    yield from ast.walk(statement)

    def expressions(self, *kinds: type) -> list[ast.expr]:
        """Return the expressions of some kinds in what a student writes."""
        return [one for one in self._nodes if isinstance(one, kinds)]

    @functools.cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(self.solution())

    @functools.cached_property
    def returns(self) -> list[ast.expr]:
        """Return the values that the function or `forward` returns."""
        return [
            one.value
            for one in ast.walk(self.main)
            if isinstance(one, ast.Return) and one.value is not None
        ]

    def replaced_results(self, template: str) -> Changes:
        """Return changes that put a template, with {} for the value, in place of each result."""
        return [(self.span(one), template.format(self.source(one))) for one in self.returns]

    def parameters(self, function: ast.FunctionDef) -> list[tuple[str, str, ast.expr | None]]:
        """Return name, annotation and default of a function's parameters."""
        given = function.args.args
        defaults = [None] * (len(given) - len(function.args.defaults)) + function.args.defaults
        given, defaults = given + function.args.kwonlyargs, defaults + function.args.kw_defaults
        return [
            (one.arg, ast.unparse(one.annotation) if one.annotation else "", default)
            for one, default in zip(given, defaults, strict=True)
            if one.arg != "self"
        ]

    def inserted(self, statement: str, before: ast.stmt) -> Changes:
        """Return changes that put a statement on a line before another one."""
        start, _ = self.span(before)
        return [((start, start), f"{statement}\n{' ' * before.col_offset}")]


def _refuses(statement: ast.stmt) -> bool:
    """Return whether a statement only refuses arguments."""
    if isinstance(statement, ast.If):
        return isinstance(statement.body[-1], ast.Raise)
    called = getattr(getattr(statement, "value", None), "func", None)
    return isinstance(statement, ast.Expr) and getattr(called, "id", "").startswith("check_")


# --- arguments ----------------------------------------------------------------------------------


def _ignored(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """An argument that is ignored: its default is used whatever is given."""
    for function in definition.functions:
        body = [one for one in function.body if "super()" not in definition.source(one)]
        starts = [body[0], next((one for one in body if not _refuses(one)), body[0])]
        for name, _, default in definition.parameters(function):
            for start in dict.fromkeys(starts) if default is not None else ():
                constant = ast.unparse(default)
                yield (
                    f"ignores `{name}`: it computes with {constant} whatever it is given.",
                    f"Where in your code do you use the argument `{name}`?",
                    definition.inserted(f"{name} = {constant}", start),
                )


def _defaults(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """Another default than the stub's."""
    for function in definition.functions:
        for name, kind, default in definition.parameters(function):
            if default is None or kind not in ("int", "float") or ast.unparse(default) == "None":
                continue
            for other in (0.1, 0.2, 0.5, 1, 1000.0, 100000.0, 500000.0):
                yield (
                    f"has another default for `{name}` than {ast.unparse(default)}.",
                    "Compare the head of your function with the stub's.",
                    [(definition.span(default), str(other))],
                )


# --- results ------------------------------------------------------------------------------------

_SHAPE = "Print the shape of your result next to the one in the docstring."
_GRADIENT = "What do detach(), .data, .item() and no_grad do to a gradient?"

_FORMS = {
    "returns whole numbers.": (
        "Which dtype does your result have, and which should it have?",
        ["one.long()", "one.int()", "one.round()"],
    ),
    "returns its numbers in another dtype.": (
        "Which dtype does your result have, and which should it have?",
        ["one.double()", "one.half()", "one.bfloat16()"],
    ),
    "has an axis too many in its result.": (
        _SHAPE,
        ["one.unsqueeze(0)", "one.unsqueeze(-1)", "one.unsqueeze(1)"],
    ),
    "drops axes of length 1 from its result.": (
        _SHAPE,
        ["one.squeeze()", "one.squeeze(0)", "one.squeeze(-1)", "one.squeeze(1)"],
    ),
    "returns only the first or the last entry along an axis.": (
        _SHAPE,
        ["one[0]", "one[-1]", "one[:, 0]", "one[:, -1]", "one[..., 0]", "one[..., -1]"],
    ),
    "flattens its result.": (_SHAPE, ["one.flatten()", "one.flatten(0, 1)", "one.flatten(-2)"]),
    "returns one entry too few along an axis.": (
        _SHAPE,
        ["one[1:]", "one[:-1]", "one[:, 1:]", "one[:, :-1]", "one[..., 1:]", "one[..., :-1]"],
    ),
    "returns a list or an array instead of a tensor.": (
        "What is the type of your result?",
        ["one.tolist()", "one.detach().numpy()"],
    ),
    "returns a number that is no tensor any more, so no gradient flows back.": (
        _GRADIENT,
        ["one.item()"],
    ),
}
"""What shows in the shape, dtype, device or type of a result."""

_VALUES = {
    "returns its numbers in another order: two axes are swapped in the order of memory only.": (
        "What does reshape do to the order of the numbers, and what does transpose do?",
        ["one.mT.reshape(one.shape)", "one.transpose(0, 1).reshape(one.shape)"],
    ),
    "leaves the first or the last entry along an axis at 0.": (
        "Which entries do your loops and slices reach? Look at the first and the last one.",
        [f"zeroed(one, {axis}, {at})" for axis in (0, 1, -1, -2) for at in (0, -1)],
    ),
    "returns its result in reverse order along an axis.": (
        "Which entry comes first in your result?",
        ["one.flip(0)", "one.flip(-1)", "one.flip(1)", "one.flip(-2)"],
    ),
    "shifts its result by one along an axis, and wraps it around.": (
        "Which entry comes first in your result, and which one last? What does roll do there?",
        [f"one.roll({step}, {axis})" for step in (1, -1) for axis in (0, 1, -1, -2)]
        + ["one.roll(1)", "one.roll(-1)"],
    ),
    "returns its result with the wrong sign.": ("Which sign should it have?", ["-one"]),
    "scales each row of its result to length 1.": (
        "What is the length of a row of your result?",
        ["torch.nn.functional.normalize(one, dim=-1)"],
    ),
    "returns each of its numbers plus 1, or minus 1.": (
        "Where do you count from?",
        ["one + 1", "one - 1"],
    ),
}
"""What shows in the numbers of a result alone."""

_OF_TENSORS = {
    "cuts its result off from its input: no gradient flows back.": (_GRADIENT, ["one.detach()"]),
    "swaps two axes of its result.": (
        _SHAPE,
        ["one.mT", "one.transpose(0, 1)", "one.transpose(0, -1)", "one.transpose(1, 2)"],
    ),
}

_OF_NUMBERS = {
    "rounds its result to a whole number.": ("What is the type?", ["int(one)", "round(one)"]),
    "counts one too many or too few.": ("Where do you count from?", ["one + 1", "one - 1"]),
    "returns a text instead of a number.": ("What is the type?", ["str(one)"]),
}


def _results(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """A result of another dtype, shape, order or type, or none."""
    annotation = ast.unparse(definition.main.returns) if definition.main.returns else ""
    yield (
        "returns nothing.",
        "What does the last line of the function do with the result?",
        definition.replaced_results("None"),
    )
    if "tuple" in annotation:
        yield (
            "returns its two results in the wrong order.",
            "What is the order in the docstring?",
            definition.replaced_results("({})[::-1]"),
        )
        yield (
            "returns one tensor instead of two.",
            "How many values does the docstring return?",
            definition.replaced_results("torch.stack(({}))"),
        )
        yield (
            "returns only one of its two results.",
            "How many values does the docstring return?",
            definition.replaced_results("({})[0]"),
        )
    yield from _of_each_result(definition, _OF_TENSORS if "Tensor" in annotation else _OF_NUMBERS)


def _forms(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """A result of another shape, dtype, device or type."""
    if "Tensor" in ast.unparse(definition.main.returns or ast.Constant("")):
        yield from _of_each_result(definition, _FORMS)


def _values(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """A result with other numbers in the right form."""
    if "Tensor" in ast.unparse(definition.main.returns or ast.Constant("")):
        yield from _of_each_result(definition, _VALUES)


def _of_each_result(
    definition: Definition, known: dict[str, tuple[str, list[str]]]
) -> Iterator[tuple[str, str, Changes]]:
    for says, (look, templates) in known.items():
        for template in templates:
            changes = definition.replaced_results(f"each(lambda one: {template}, ({{}}))")
            yield says, look, changes


def _inputs(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """An argument that is cut off, cast or rounded before it is used."""
    function = definition.main
    start = next((one for one in function.body if not _refuses(one)), function.body[0])
    for name, kind, _ in definition.parameters(function):
        if "Tensor" not in kind or "|" in kind:
            continue
        yield (
            f"cuts `{name}` off, so that no gradient reaches it.",
            _GRADIENT,
            definition.inserted(f"{name} = {name}.detach()", start),
        )
        for written in (definition.replaced_results(f"{name}.copy_({{}})"), None):
            yield (
                f"writes into `{name}`, which the caller still needs.",
                f"Which line changes `{name}` itself?",
                written or definition.inserted(f"{name}.mul_(2)", start),
            )
        for n_axes in (1, 2, 3, 4):
            yield (
                f"works only if `{name}` has one certain number of axes.",
                f"Which shapes may `{name}` have?",
                definition.inserted(f"{', '.join('_' * n_axes)}, = {name}.shape", start),
            )
        names = definition.expressions(ast.Name)
        uses = [one for one in names if one.id == name and isinstance(one.ctx, ast.Load)]
        for use in uses if len(uses) > 1 else ():
            yield (
                f"cuts `{name}` off in one of its uses: a part of its gradient is missing.",
                _GRADIENT,
                [(definition.span(use), f"{name}.detach()")],
            )


# --- within the computation ---------------------------------------------------------------------


_KEYWORDS = {
    "generator": (
        "draws without the generator that it is given.",
        "Which of your draws use `generator`?",
    ),
    "keepdim": ("loses an axis that a later step needs.", "What does keepdim=True keep?"),
    "bias": ("has layers with a bias.", "What does nn.Linear add if you don't forbid it?"),
    "replacement": (
        "draws without replacement.",
        "Can a number be drawn twice? How many are there to draw?",
    ),
}

_ALONG = {
    "softmax": "takes its softmax",
    "mean": "takes its mean",
    "sum": "adds up",
    "normalize": "scales to length 1",
    "chunk": "splits",
    "unflatten": "splits",
    "cat": "joins its parts",
    "stack": "stacks its parts",
    "repeat_interleave": "repeats",
    "transpose": "swaps axes",
    "flatten": "joins axes",
}


def _another_axis(step: str) -> tuple[str, str]:
    """Return what a step along the wrong axis does, and where to look."""
    if step in ("transpose", "flatten"):
        return (
            f"{_ALONG[step].replace('axes', 'other axes')} than it should.",
            "Name the axes before each step and after it. Which of them should it change?",
        )
    return (
        f"{_ALONG.get(step, 'works')} along another axis than it should.",
        "Along which axis does each step work? Which axis is which?",
    )


def _without_axis(step: str) -> tuple[str, str]:
    """Return what a step without an axis does, and where to look."""
    return (
        f"{_ALONG.get(step, 'works')} without `dim`.",
        "Along which axis should it work? What happens if `dim` is left out?",
    )


def _keywords(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """A keyword left out, in one place or in all, or another axis."""
    without: dict[str, Changes] = {}
    for call in definition.expressions(ast.Call):
        step = getattr(call.func, "attr", "")
        axis = _another_axis(step)
        for keyword in call.keywords:
            start, end = definition.span(keyword)
            before = definition.text[:start].rstrip()
            if before.endswith(","):
                start = len(before) - 1
            elif definition.text[end] == ",":
                end += 1
            if keyword.arg in _KEYWORDS:
                without.setdefault(keyword.arg, []).append(((start, end), ""))
                yield *_KEYWORDS[keyword.arg], [((start, end), "")]
            if keyword.arg in ("dim", "diagonal"):
                yield *(_without_axis(step) if keyword.arg == "dim" else axis), [((start, end), "")]
                others = ("0", "1", "-1", "-2") if keyword.arg == "dim" else ()
                for other in others:
                    if other != definition.source(keyword.value):
                        yield *axis, [(definition.span(keyword.value), other)]
        if step in ("transpose", "chunk", "unflatten", "flatten"):
            for one in call.args:
                for other in ("0", "1", "-1", "-2", "2"):
                    if other != definition.source(one):
                        yield *axis, [(definition.span(one), other)]
    for name, changes in without.items():
        if len(changes) > 1:
            yield *_KEYWORDS[name], changes


_STEPS = {
    "softmax": ("takes no softmax.", "Do your weights add up to 1?"),
    "sum": ("does not add up.", "Which axis should be gone after the sum?"),
    "mean": ("takes no mean.", "Which axis should be gone after the mean?"),
    "abs": ("does not drop the sign.", "What happens to a negative number?"),
    "clamp": ("sets no limit to its numbers.", "How large or small may the numbers become?"),
    "masked_fill": ("masks nothing.", "What does a token see that comes after it?"),
    "sign": ("ignores a sign.", "What happens to a negative number?"),
    "zero_grad": ("adds the gradients of all steps up.", "What does backward() do to .grad?"),
    "eval": ("does not switch to evaluation mode.", "What do train() and eval() change?"),
}


def _left_out(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """A step left out."""
    for call in definition.expressions(ast.Call):
        if not isinstance(call.func, ast.Attribute):
            continue
        name, source = call.func.attr, definition.source(call.func.value)
        if name in _STEPS and source not in ("torch", "F"):
            yield *_STEPS[name], [(definition.span(call), source)]
        if name == "register_buffer":
            key, value = call.args[0].value, definition.source(call.args[1])
            yield (
                f"keeps `{key}` as a plain attribute, which `.to(...)` leaves behind.",
                "Which tensors of a module does `.to(...)` move?",
                [(definition.span(call), f"self.{key} = {value}")],
            )
            yield (
                f"makes `{key}` a parameter, although nothing in it is to be learned.",
                "Which tensors of a module does an optimizer change?",
                [(definition.span(call), f"self.{key} = nn.Parameter({value})")],
            )
        if name == "Parameter":
            value = definition.source(call.args[0])
            yield (
                "keeps its table as a tensor that no optimizer finds.",
                "What makes a tensor of a module a parameter?",
                [(definition.span(call), f"({value})")],
            )
            yield (
                "has a table that is frozen.",
                "Which parameters require a gradient?",
                [(definition.span(call), f"nn.Parameter({value}, requires_grad=False)")],
            )
        if name == "ModuleList" and call.args:
            yield (
                "keeps its parts in a plain list, where PyTorch does not see them.",
                "Which parts does `parameters()` find?",
                [(definition.span(call), f"list({definition.source(call.args[0])})")],
            )


_ARITHMETIC = {
    ast.Div: {
        "leaves out the division by {1}.": ["{0}"],
        "divides twice by {1}.": ["({0} / {1} / {1})"],
        "multiplies by {1} where it should divide.": ["({0} * {1})"],
        "divides whole numbers, which cuts the fraction off.": ["({0} // {1})"],
        "divides the wrong way round.": ["({1} / {0})"],
    },
    ast.FloorDiv: {"leaves a fraction where a whole number is needed.": ["({0} / {1})"]},
    ast.Mult: {
        "leaves out the factor {0}.": ["{1}"],
        "leaves out the factor {1}.": ["{0}"],
        "multiplies twice by {0}.": ["({0} * {0} * {1})"],
        "multiplies twice by {1}.": ["({0} * {1} * {1})"],
        "adds where it should multiply.": ["({0} + {1})"],
        "divides by {1} where it should multiply.": ["({0} / {1})"],
    },
    ast.Sub: {
        "subtracts the wrong way round.": ["({1} - {0})"],
        "adds where it should subtract.": ["({0} + {1})"],
        "does not subtract {1}.": ["{0}"],
    },
    ast.Add: {
        "does not add {0}.": ["{1}"],
        "does not add {1}.": ["{0}"],
        "subtracts where it should add.": ["({0} - {1})"],
        "adds {0} twice.": ["({0} + {0} + {1})"],
        "adds {1} twice.": ["({0} + {1} + {1})"],
    },
    ast.Pow: {
        "leaves out an exponent.": ["{0}"],
        "multiplies where it should take a power.": ["({0} * {1})"],
        "swaps base and exponent.": ["(({1}) ** ({0}))"],
        "has an exponent with the wrong sign.": ["({0} ** -({1}))"],
        "takes the square of what it should take to a power.": ["(({0}) ** 2 ** {1})"],
    },
    ast.MatMult: {
        "multiplies two matrices in the wrong order.": ["({1} @ {0})"],
        "multiplies number by number, which adds nothing up.": ["({0} * {1})", "({0} * {2})"],
    },
}
"""What goes wrong, and how it is written; it names an operand only if that is an argument.

{2} is the right operand without its transposition.
"""


def _arithmetic(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """A sign, a factor, a division or a sum gone wrong."""
    arguments = {name for name, _, _ in definition.parameters(definition.main)}
    for one in definition.expressions(ast.BinOp):
        sides = ((side, definition.source(side)) for side in (one.left, one.right))
        operands = [f"({said})" if isinstance(side, ast.BinOp) else said for side, said in sides]
        operands.append(re.sub(r"\.(m?T|(transpose|swapaxes)\([^()]*\))$", "", operands[1]))
        for says, templates in _ARITHMETIC.get(type(one.op), {}).items():
            named = [operand for at, operand in enumerate(operands) if f"{{{at}}}" in says]
            if not arguments.issuperset(named):
                continue
            for template in templates:
                changes = [(definition.span(one), template.format(*operands))]
                yield (
                    says.format(*(f"`{operand}`" for operand in operands)),
                    "Compute one entry on paper, step by step, next to your code.",
                    changes,
                )
    for one in definition.expressions(ast.UnaryOp):
        if isinstance(one.op, ast.USub) and not isinstance(one.operand, ast.Constant):
            yield (
                "has lost a minus sign.",
                "Where in the formula is there a minus sign?",
                [(definition.span(one), definition.source(one.operand))],
            )


def _counting(definition: Definition) -> Iterator[tuple[str, str, Changes]]:
    """A range or a slice that begins or ends one too early or too late."""
    ends = [
        (verb, one)
        for piece in definition.expressions(ast.Slice)
        for verb, one in (("begins", piece.lower), ("ends", piece.upper))
        if one is not None
    ]
    for call in definition.expressions(ast.Call):
        if definition.source(call.func) in ("torch.arange", "range"):
            verbs = ("ends",) if len(call.args) == 1 else ("begins", "ends")
            ends += zip(verbs, call.args, strict=False)  # the third argument is a step
    for (verb, one), (step, when) in itertools.product(ends, (("+ 1", "late"), ("- 1", "early"))):
        moved = f"({definition.source(one)} {step})"
        if moved not in ("(0 - 1)", "(-1 + 1)"):  # these count from the other end
            yield (
                f"{verb} one too {when}.",
                "Which entry comes first, and which one last? Write both down for a small case.",
                [(definition.span(one), moved)],
            )
    for call in definition.expressions(ast.Call):
        if definition.source(call.func) == "torch.arange" and call.args:
            yield (
                "counts from 1 instead of 0.",
                "What is the first number?",
                [(definition.span(call), f"({definition.source(call)} + 1)")],
            )


_FAMILIES: list[Family] = [
    _ignored,
    _defaults,
    _inputs,
    _results,
    _forms,
    _values,
    _left_out,
    _keywords,
    _counting,
    _arithmetic,
]

SHOWS = {
    "_forms": "form",
    "_values": "values",
}
"""In what the mistakes of a family show: forms, or numbers."""

CAUSES = frozenset(
    family.__name__ for family in (_inputs, _left_out, _keywords, _counting, _arithmetic)
)
"""The families that name a step within a body; the others say what is seen from outside."""
