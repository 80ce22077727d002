"""Copies are found whatever was renamed, and independent work does not stand above them."""

import ast
import random
import re
import time
import types

import pytest

from course import ROOT
from course.building import reference
from course.grading.similarity import copies
from course.grading.similarity.answers import find_known
from course.grading.similarity.source import read_source
from course.mistakes import alternatives, mistakes
from course.syllabus import find_lesson, lessons

STEMS = [lesson.stem for lesson in lessons()]


def find_resemblances(stem, modules, **how):
    read = ((student, read_source(module)) for student, module in modules)
    return copies.find_resemblances(stem, read, **how)


# --- a class of students, made of the catalogue ---------------------------------------------


def definitions(path):
    """The functions and classes of a file."""
    kinds = ast.FunctionDef | ast.ClassDef
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node for node in body if isinstance(node, kinds)]


def approaches(stem):
    """For each exercise, every way to write it that is known: reference, alternatives, mistakes."""
    known = {node.name: [node] for node in definitions(find_lesson(stem).module("solutions"))}
    for entry in (*alternatives(stem), *mistakes(stem)):
        (node,) = ast.parse(entry.variant.text).body
        node.name = entry.exercise
        known[node.name].append(node)
    return known


class Style(ast.NodeTransformer):
    """What two people who work alone do differently: they compute parts in steps of their own."""

    def __init__(self, draw):
        self.draw = draw

    def steps(self, statement):
        """A statement, with some of its parts computed before."""
        before = []
        if isinstance(statement, ast.Assign | ast.Return) and statement.value:
            for part in ast.walk(statement.value):
                for field, value in ast.iter_fields(part):
                    fits = isinstance(value, ast.Call | ast.BinOp) and not isinstance(
                        part, ast.comprehension | ast.ListComp | ast.GeneratorExp | ast.Lambda
                    )
                    if fits and self.draw.random() < 0.3:
                        name = f"t{self.draw.randrange(1000)}"
                        setattr(part, field, ast.Name(name, ast.Load()))
                        before.insert(0, ast.Assign([ast.Name(name, ast.Store())], value))
        return [*before, statement]

    def visit_FunctionDef(self, node):
        node.body = [step for statement in node.body for step in self.steps(statement)]
        return node


def write(definitions_, head="import torch\nfrom torch import nn\n"):
    module = ast.Module([*ast.parse(head).body, *definitions_], [])
    return ast.unparse(ast.fix_missing_locations(module))


def independent(stem, known, draw):
    """What a student may write alone: half of the exercises the reference's way, in own style."""
    chosen = [
        ways[0] if len(ways) == 1 or draw.random() < 0.5 else draw.choice(ways[1:])
        for ways in known.values()
    ]
    style = Style(draw)
    return write([style.visit(ast.parse(ast.unparse(way)).body[0]) for way in chosen])


class Renamed(ast.NodeTransformer):
    """Every variable that is assigned gets another name."""

    def visit_FunctionDef(self, node):
        mine = {
            one.id
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and one.id in mine:
                one.id = f"my_{one.id}_{len(mine)}"
        return node


def disguised(text, draw):
    """A copy: variables renamed, functions reordered, comments changed, strings too, CRLF."""
    tree = Renamed().visit(ast.parse(text))
    imports, rest = tree.body[:2], tree.body[2:]
    draw.shuffle(rest)
    lines = []
    for line in ast.unparse(ast.Module([*imports, *rest], [])).splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines += [f"{indent}# {draw.choice(['now', 'my idea', 'see the text'])}", ""]
        lines += [f"{line}  # {draw.random()}"]
    return "\r\n".join(lines)


def a_class(stem, n_students, n_copies, seed=0):
    """Students with their modules; the first ones were copied under the name "copy of ..."."""
    draw = random.Random(seed)
    known = approaches(stem)
    written = [(f"student {i:04}", independent(stem, known, draw)) for i in range(n_students)]
    copied = written[:n_copies]
    copies = [(f"copy of {student}", disguised(text, draw)) for student, text in copied]
    modules = [(student, text.encode()) for student, text in written + copies]
    draw.shuffle(modules)
    return modules


def is_copy(pair):
    return f"copy of {pair.first}" == pair.second or pair.first == f"copy of {pair.second}"


# --- what is found, and what is not ---------------------------------------------------------


def is_long_enough(stem):
    """Whether a lesson's bodies have a few lines: little code proves little."""
    solution = (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
    bodies = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", solution, re.DOTALL)
    return sum(body.count("\n") for body in bodies) >= 9


def test_disguised_copies_stand_at_the_top_and_independent_work_does_not():
    """All lessons, three copies in a class of thirty each."""
    at_the_top = others = 0
    stems = [*filter(is_long_enough, STEMS)]
    for stem in stems:
        found = find_resemblances(stem, a_class(stem, n_students=30, n_copies=3))
        assert found == sorted(found, key=lambda pair: -pair.score)
        at_the_top += sum(map(is_copy, found[:3]))
        others += sum(not is_copy(pair) for pair in found)
    assert at_the_top >= 0.8 * 3 * len(stems)  # nearly all ways to write it are the reference's
    assert others <= 12  # of 3,150 pairs


OWN = """
def rotate_half(x):
    width = x.shape[-1] // 2
    flipped = x.roll(width, dims=-1)
    signs = torch.ones_like(x).index_fill(-1, torch.arange(width), -1.0)
    for _ in range(1):
        flipped = flipped.mul(signs).add(0.0)
    swapped = flipped.view(*x.shape[:-1], 2, width).flatten(start_dim=-2)
    return swapped.clone(memory_format=torch.contiguous_format)
"""
"""A way to write it that nobody else has."""

PARTS = [
    OWN,
    """
def ntk_base(base, factor, head_dim):
    assert head_dim > 2, "one pair alone never slows"
    exponent = math.fsum([head_dim]) / math.fsum([head_dim, -2])
    return math.exp(math.log(base) + exponent * math.log(factor))
""",
    """
class RotaryEmbedding(nn.Module):
    def turn(self, x, offset=0):
        self.start, self.stop = offset, offset + x.size(-2)
        self.kind = "half" if self.stop > self.start else "none"
        return torch.addcmul(x * self.cos[self.start:self.stop], rotate_half(x), self.sin)
""",
]
PADDING = "def padding(a):\n" + "".join(f"    a = a.f{i}(a, {i})[a:{i}]\n" for i in range(100))


def others(n):
    """Students without anything uncommon: they have the reference."""
    reference = find_lesson("rope").module("solutions").read_bytes()
    return [(f"student {i}", reference) for i in range(n)]


def with_own(text=OWN, before="", after=""):
    stub = find_lesson("rope").module().read_text(encoding="utf-8")
    return f"{stub}\n{before}\n{text}\n{after}\n".encode()


def test_the_shared_lines_are_named_on_both_sides():
    here, there = with_own(before="# a\n" * 5), with_own(OWN.replace("flipped", "f"))
    (pair,) = find_resemblances("rope", [*others(20), ("ann", here), ("bob", there)])
    assert (pair.first, pair.second) == ("ann", "bob")
    (fragment,) = pair.fragments
    for (first, last), text in ((fragment.first, here), (fragment.second, there)):
        lines = text.decode().split("\n")
        start = lines.index("def rotate_half(x):") + 1
        assert start <= first <= start + 1
        assert start + 7 <= last <= start + 8


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace("flipped", "result").replace("signs", "factors"),
        lambda text: text.replace("self.start", "self.first").replace("self.stop", "self.last"),
        lambda text: text.replace('"half"', "'h'").replace(
            '"one pair alone never slows"', "f'{2}'"
        ),
        lambda text: text.replace("\n    ", "\n\n    # why not\n\t"),
        lambda text: text.replace("\n", "  # so\n"),
        lambda text: text.replace("def rotate_half(x):", 'def rotate_half(x):\n    """Mine."""'),
        lambda text: text.replace(" = ", "=").replace(", ", ","),
        lambda text: text.replace("(", "(\n        "),
        lambda text: text + PADDING,
        lambda text: "".join(reversed(PARTS)),
    ],
    ids=[
        *("names", "attributes", "strings", "layout", "comments"),
        *("docstring", "spaces", "line breaks", "padding", "order"),
    ],
)
def test_a_disguise_hides_nothing(disguise):
    def score(text):
        class_ = [*others(20), ("ann", with_own("".join(PARTS))), ("bob", with_own(text))]
        (pair,) = find_resemblances("rope", class_)
        assert (pair.first, pair.second) == ("ann", "bob")
        return pair.score

    undisguised = "".join(PARTS)
    assert disguise(undisguised) != undisguised
    assert score(disguise(undisguised)) > 0.96 * score(undisguised) > 0.7


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode() + b"\n\xff\x00 = (((",
    ],
    ids=["CRLF", "UTF-16", "BOM", "does not parse"],
)
def test_no_encoding_hides_anything(encode):
    class_ = [*others(20), ("ann", with_own()), ("bob", encode(with_own().decode()))]
    (pair,) = find_resemblances("rope", class_)
    assert [one.first for one in pair.fragments] == [one.second for one in pair.fragments]


@pytest.mark.parametrize("stem", STEMS)
def test_stub_and_reference_are_common_ground_even_for_two(stem):
    for folder in ("exercises", "solutions"):
        module = find_lesson(stem).module(folder).read_bytes()
        assert find_resemblances(stem, [("ann", module), ("bob", module)]) == []


def test_a_few_copies_in_a_small_class_are_found():
    class_ = [*others(5), *((f"same {i}", with_own()) for i in range(3))]
    pairs = {(one.first, one.second) for one in find_resemblances("rope", class_)}
    assert pairs == {("same 0", "same 1"), ("same 0", "same 2"), ("same 1", "same 2")}


def test_what_a_quarter_of_the_class_wrote_is_common_ground():
    def found(n_with_own):
        same = [(f"same {i}", with_own()) for i in range(n_with_own)]
        return len(find_resemblances("rope", [*others(40 - n_with_own), *same]))

    assert (found(2), found(10), found(11)) == (1, 45, 0)


def test_a_few_lines_in_common_are_no_reason_to_look():
    short = "def rotate_half(x):\n    return torch.stack((x[3:], x[:3])).neg().flatten(2)\n"
    modules = [("ann", with_own(short)), ("bob", with_own(short))]
    assert find_resemblances("rope", [*others(20), *modules]) == []


@pytest.mark.filterwarnings("error")
def test_a_class_of_two_can_be_compared_and_one_of_none():
    pair = [("ann", with_own()), ("bob", with_own())]
    assert len(find_resemblances("rope", pair)) == 1
    assert find_resemblances("rope", [("ann", b"")]) == find_resemblances("rope", []) == []


HOSTILE = {
    "one line": b"x = " + b"1 + " * 250_000,
    "brackets": b"(" * 1_000_000,
    "quotes": b"'" * 1_000_000,
    "escapes": b"'\\" * 500_000,
    "triple quotes": b'"""' * 333_333,
    "open docstring": b'"""' + b"\\'''" * 250_000 + b"\\",
    "two kinds": b"'''\n\"\"\"\\\n" * 100_000,
    "lines": b"\n" * 1_000_000,
    "returns": b"\r" * 1_000_000,
    "names": b"a." * 500_000,
    "zeros": bytes(1_000_000),
    "noise": random.Random(0).randbytes(1_000_000),
    "half of UTF-16": b"\xff\xfe" + b"\xd8" * 999_999,
    "nothing": b"",
    "numbers": b"1," * 500_000,
    "digits": b"1" * 1_000_000,
    "a word": b"x" * 1_000_000,
}


@pytest.mark.parametrize("module", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_sources_take_no_time(module):
    class_ = [("ann", with_own()), ("bob", with_own()), ("eve", module), ("mal", module)]
    start = time.process_time()
    found = find_resemblances("rope", class_)
    assert ("ann", "bob") in [(pair.first, pair.second) for pair in found]
    read = [("eve", read_source(module))]
    assert list(find_known("rope", read)) == []
    assert time.process_time() - start < 15  # what is not linear takes minutes


# --- published answers ----------------------------------------------------------------------


def source_of(lesson, folder="solutions"):
    return lesson.module(folder).read_text(encoding="utf-8")


def known_in(stem, modules):
    """The published answers in some modules, by their names; "all" if all are the reference's."""
    read = [(name, read_source(text.encode())) for name, text in modules.items()]
    found = list(find_known(stem, read))
    assert all(one.lesson == stem for one in found)
    return {one.student: list(one.answers or ("all",)) for one in found}


def known(stem, text):
    """Those in one module."""
    return known_in(stem, {"ann": text}).get("ann", [])


@pytest.mark.parametrize("stem", STEMS)
def test_the_reference_word_for_word_is_known_and_the_stub_is_not(stem):
    lesson = find_lesson(stem)
    assert known(stem, source_of(lesson)) == ["all"]
    assert known(stem, source_of(lesson).replace("\n", "\r\n") + "\nmine = 1\n") == ["all"]
    assert known(stem, source_of(lesson, "exercises")) == []


LONG = {
    "permutation": ["`causal_toy_attention`"],
    "learned": ["`GPTEmbedding`"],
    "sinusoidal": ["`offset_rotation`"],
    "rope": ["`rope_tables`"],
    "skipgram": ["`skipgram_pairs`", "`SkipGram`", "`train_skipgram`", "`analogy`"],
    "longer": ["`yarn_frequencies`", "`relative_buckets`", "`RelativeBias`", "`rope_2d`"],
    "gpt": ["`causal_attention`", "`CausalSelfAttention`", "`Block`", "`generate`"],
}
"""Of the reference: what is long enough to say something. Those of lesson 1 are all short."""


@pytest.mark.parametrize("stem", STEMS)
def test_the_reference_is_known_with_other_names_comments_and_layout(stem):
    text = disguised(source_of(find_lesson(stem)), random.Random(0))
    assert known(stem, text) == LONG.get(stem, [])


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace(
            "= torch.cat((angles, angles), dim=-1)", "= ((torch.cat((angles, angles), dim=(-1))))"
        ),
        lambda text: text.replace("\n    angles", "; angles"),
        lambda text: text.replace("even_numbers", "k").replace("angles", "a"),
        lambda text: text.replace("    ###", "    torch.manual_seed(0)\n    ###"),
    ],
    ids=["brackets", "one line", "names", "more around it"],
)
def test_a_disguise_of_the_reference_hides_nothing(disguise):
    text = re.sub("  # .*", "", source_of(find_lesson("rope")))
    assert disguise(text) != text
    assert known("rope", disguise(text)) == ["`rope_tables`"]


def test_the_other_style_that_is_shown_is_known():
    """Each exercise is handed in as `course show --solution` prints it, and checked in the stub."""
    found = []
    for lesson in lessons():
        styles = {one.name: reference.another_style(one) for one in lesson.exercises}
        codes = {name: style[1] for name, style in styles.items() if style}
        checked = {
            name: re.sub(r"\n +_\w+\(.*\)(?=\n)", "\n    assert True", code)
            for name, code in codes.items()
        }
        of_lesson = known_in(lesson.stem, codes)
        assert known_in(lesson.stem, checked) == of_lesson
        found += [answer for answers in of_lesson.values() for answer in answers]
    assert len(found) >= 10
    assert all(one.endswith("`, the other style") for one in found)


def test_no_other_right_answer_of_the_catalogue_is_known():
    n_others = 0
    for stem in STEMS:
        written = (types.FunctionType, type)  # and not the reference with a cache around it
        own = [one for one in alternatives(stem) if isinstance(one.variant.definition, written)]
        shown = {one.exercise: one for one in reversed(own)}  # the first one of each
        others = [one.variant for one in own if one not in shown.values()]
        n_others += len(others)
        assert known_in(stem, {one.place: one.text for one in others}) == {}
    assert n_others > 30


@pytest.mark.slow
def test_two_thousand_students_take_seconds():
    modules = a_class("skipgram", n_students=200, n_copies=0)
    class_ = [(f"{i} {student}", text) for i in range(10) for student, text in modules]
    start = time.process_time()
    find_resemblances("skipgram", class_)
    assert time.process_time() - start < 10
