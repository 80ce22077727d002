"""Which modules may share a worker with other lessons of their student.

Most of what a worker costs is its beginning. But what a module leaves behind in a worker could
change what another one does there; so only those share one whose text shows that they keep to
themselves. All their words are known ones, and they store nothing but on objects of their own:
no name leads from there to what others use. Any other module has a worker to itself. That costs
time and nothing else, so whatever is unusual is refused here without a thought.
"""

import ast
import builtins
import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from course.testing.examine import statements_in

MODULES = {
    *("__future__", "cmath", "collections", "collections.abc", "functools", "itertools", "math"),
    *("numpy", "operator", "random", "re", "torch", "torch.nn", "torch.nn.functional"),
    *("torch.nn.init", "torch.utils.data", "typing"),
}
_BUILTINS = """
    ArithmeticError AssertionError Exception IndexError KeyError NotImplementedError OverflowError
    RuntimeError StopIteration TypeError ValueError ZeroDivisionError __name__ abs all any bool
    bytes callable chr complex dict divmod enumerate filter float format frozenset hasattr hash id
    int isinstance iter len list map max min next object ord pow print property range repr reversed
    round set slice sorted str sum super tuple zip
"""
BUILTINS = frozenset(_BUILTINS.split())


_LINES = Path(__file__).with_name("harmless_words.txt").read_text(encoding="utf-8").splitlines()
WORDS = frozenset(word for line in _LINES if not line.startswith("#") for word in line.split())
"""By these what is imported, or any object, may be asked for a part of it."""
_FOREIGN = frozenset(dir(builtins)) - BUILTINS


@functools.lru_cache(maxsize=16)
def keeps_to_itself(source: bytes) -> bool:
    """Whether the text of a module shows that it changes nothing which another one uses."""
    nodes: dict[type, list] = defaultdict(list)
    for statement in statements_in(source):
        for node in ast.walk(statement):
            nodes[type(node)].append(node)
    return (
        bool(nodes)
        and _KINDS.issuperset(nodes)
        and all(all(map(is_harmless, nodes[kind])) for kind, is_harmless in _LOOKED_AT.items())
        and _has_plain_classes(nodes)
    )


def _imports(node: ast.Import) -> bool:
    return all(one.name in MODULES and one.asname != "self" for one in node.names)


def _imports_from(node: ast.ImportFrom) -> bool:
    known = node.level == 0 and node.module in MODULES
    return known and all(one.name in WORDS and one.asname != "self" for one in node.names)


def _name(node: ast.Name) -> bool:
    if node.id == "self":
        return isinstance(node.ctx, ast.Load)
    return node.id not in _FOREIGN and not (node.id.startswith("__") and node.id != "__name__")


def _attribute(node: ast.Attribute) -> bool:
    if isinstance(node.ctx, ast.Load) and node.attr in WORDS:
        return True
    match node.value:
        case ast.Name("self"):
            return not (node.attr.startswith("__") or isinstance(node.ctx, ast.Del))
        case ast.Call(ast.Name("super")):
            return node.attr == "__init__" or not node.attr.startswith("__")
    return False


def _call(node: ast.Call) -> bool:
    return not (isinstance(node.func, ast.Name) and node.func.id == "super" and node.args)


def _definition(node: ast.FunctionDef | ast.ClassDef | ast.ExceptHandler) -> bool:
    name = node.name or ""
    return name == "__init__" or not (name.startswith("__") or name == "self")


_LOOKED_AT = {
    ast.Import: _imports,
    ast.ImportFrom: _imports_from,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.FunctionDef: _definition,
    ast.ClassDef: _definition,
    ast.ExceptHandler: _definition,
}
_KINDS = {
    *_LOOKED_AT,
    *(ast.Lambda, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr),
    *(ast.Delete, ast.Expr, ast.Pass, ast.For, ast.While, ast.If, ast.Break, ast.Continue),
    *(ast.With, ast.Try, ast.Raise, ast.Assert, ast.Global, ast.Nonlocal, ast.Yield),
    *(ast.YieldFrom, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Set, ast.List),
    *(ast.Tuple, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Compare),
    *(ast.JoinedStr, ast.FormattedValue, ast.Constant, ast.Subscript, ast.Starred, ast.Slice),
    *(ast.comprehension, ast.arguments, ast.arg, ast.keyword, ast.alias, ast.withitem),
    *(ast.Load, ast.Store, ast.Del, *ast.boolop.__subclasses__(), *ast.operator.__subclasses__()),
    *(*ast.unaryop.__subclasses__(), *ast.cmpop.__subclasses__()),
}
"""What else there is, such as `match`, which takes objects apart, is not looked at: unusual."""


def _has_plain_classes(nodes: dict[type, list]) -> bool:
    """Whether `self` is always an object of the module's own, and stored to only as it is made.

    A method that somebody called as a function could have any object for `self`. So nothing leads
    to a class but calling it, deriving from it and giving it another name, and only methods and
    constants stand in it.
    """
    classes = nodes[ast.ClassDef]
    methods = [part for one in classes for part in one.body if isinstance(part, ast.FunctionDef)]
    selves = {id(one.args.args[0]) for one in methods if one.args.args}
    makers = [one for one in methods if one.name == "__init__"]
    made = {id(part) for one in makers for part in ast.walk(one)}
    return (
        all(map(_is_plain, classes))
        and all(id(one) in selves for one in nodes[ast.arg] if one.arg == "self")
        and all(id(one) in made for one in nodes[ast.Attribute] if isinstance(one.ctx, ast.Store))
        and _are_only_called({one.name for one in classes}, nodes)
    )


def _is_plain(node: ast.ClassDef) -> bool:
    """Whether a class holds methods and constants alone, and calls nothing as it is defined."""
    for part in node.body:
        match part:
            case ast.FunctionDef(decorator_list=[]):
                if not all(map(_calls_nothing, [part.args, *filter(None, [part.returns])])):
                    return False
            case ast.Expr(ast.Constant()) | ast.Pass() | ast.Assign(value=ast.Constant()):
                pass
            case ast.AnnAssign(value=None | ast.Constant()):
                pass
            case _:
                return False
    return not (node.keywords or node.decorator_list)


def _are_only_called(classes: set[str], nodes: dict[type, list]) -> bool:
    """Whether every use of a class's name calls it, derives from it, renames it or annotates."""
    fine = {id(one.func) for one in nodes[ast.Call]}
    fine |= {id(base) for one in nodes[ast.ClassDef] for base in one.bases}
    for one in nodes[ast.Assign]:
        named = all(isinstance(target, ast.Name) for target in one.targets)
        if named and isinstance(one.value, ast.Name) and one.value.id in classes:
            fine.add(id(one.value))
            classes |= {target.id for target in one.targets}
    others = [one for one in nodes[ast.Name] if one.id in classes and id(one) not in fine]
    others = {id(one) for one in others if not isinstance(one.ctx, ast.Store)}
    if others:
        for annotation in _annotations(nodes):
            if _calls_nothing(annotation):
                others -= {id(part) for part in ast.walk(annotation)}
    return not others


def _annotations(nodes: dict[type, list]) -> Iterator[ast.expr]:
    yield from (one.annotation for one in nodes[ast.arg] if one.annotation)
    yield from (one.annotation for one in nodes[ast.AnnAssign])
    yield from (one.returns for one in nodes[ast.FunctionDef] if one.returns)


def _calls_nothing(tree: ast.AST) -> bool:
    return not any(isinstance(part, ast.Call) for part in ast.walk(tree))
