"""Published answers are found whatever was renamed, and other right answers are not."""

import ast
import random
import re
import time
import types

import pytest

from course.core.syllabus import find_lesson, lessons
from course.grading.published import find_published
from course.mistakes import alternatives

STEMS = [lesson.stem for lesson in lessons()]


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


HOSTILE = {
    "one line": b"x = " + b"1 + " * 250_000,
    "brackets": b"(" * 1_000_000,
    "quotes": b"'" * 1_000_000,
    "escapes": b"'\\" * 500_000,
    "triple quotes": b'"""' * 333_333,
    "open docstring": b'"""' + b"\\'''" * 250_000 + b"\\",
    "two kinds": b"'''\n\"\"\"\\\n" * 100_000,
    "lines": b"\n" * 1_000_000,
    "names": b"a." * 500_000,
    "zeros": bytes(1_000_000),
    "noise": random.Random(0).randbytes(1_000_000),
    "half of UTF-16": b"\xff\xfe" + b"\xd8" * 999_999,
    "nothing": b"",
    "a word": b"x" * 1_000_000,
}


@pytest.mark.parametrize("module", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_sources_take_no_time(module):
    start = time.process_time()
    assert list(find_published("rope", {"eve": module})) == []
    assert time.process_time() - start < 5  # what is not linear takes minutes


def source_of(lesson, folder="solutions"):
    return lesson.module(folder).read_text(encoding="utf-8")


def published_in(stem, modules):
    """The published answers in some modules, by their names; "all" if all are the reference's."""
    found = find_published(stem, {name: text.encode() for name, text in modules.items()})
    every = f"`{stem}.py` contains every answer of the reference, word for word"
    return {
        student: ["all"] if sentence == every else sentence.partition(": ")[2].split(", ")
        for student, sentence in found
    }


def published(stem, text):
    """Those in one module."""
    return published_in(stem, {"ann": text}).get("ann", [])


@pytest.mark.parametrize("stem", STEMS)
def test_the_reference_word_for_word_is_known_and_the_stub_is_not(stem):
    lesson = find_lesson(stem)
    assert published(stem, source_of(lesson)) == ["all"]
    assert published(stem, source_of(lesson).replace("\n", "\r\n") + "\nmine = 1\n") == ["all"]
    assert published(stem, source_of(lesson, "exercises")) == []


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: f"# coding: latin-1\n# \xe9\n{text}".encode("latin-1"),
        lambda text: text.encode("utf-8-sig"),
    ],
    ids=["Latin-1", "BOM"],
)
def test_the_reference_is_known_in_other_encodings(encode):
    module = encode(source_of(find_lesson("rope")))
    compile(module, "rope.py", "exec")  # Python reads it
    ((_, sentence),) = find_published("rope", {"ann": module})
    assert "every answer" in sentence


LONG = {
    "permutation": ["`causal_toy_attention`"],
    "learned": ["`GPTEmbedding`"],
    "sinusoidal": ["`offset_rotation`"],
    "rope": ["`rope_tables`"],
    "skipgram": ["`SkipGram`", "`train_skipgram`", "`analogy`"],
    "longer": ["`relative_buckets`", "`RelativeBias`", "`rope_2d`"],
    "gpt": ["`causal_attention`", "`CausalSelfAttention`", "`Block`", "`GPT`", "`generate`"],
    "llama": ["`GroupedQueryAttention`", "`Llama`", "`weights_from_gguf`"],
}
"""Of the reference: what is long enough to say something. Those of lesson 1 are all short."""


@pytest.mark.parametrize("stem", STEMS)
def test_the_reference_is_known_with_other_names_comments_and_layout(stem):
    text = disguised(source_of(find_lesson(stem)), random.Random(0))
    assert published(stem, text) == LONG.get(stem, [])


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
    assert published("rope", disguise(text)) == ["`rope_tables`"]


def test_no_other_right_answer_of_the_catalogue_is_known():
    n_others = 0
    for stem in STEMS:
        written = (types.FunctionType, type)  # and not the reference with a cache around it
        others = [one for one in alternatives(stem) if isinstance(one.variant.definition, written)]
        n_others += len(others)
        assert published_in(stem, {one.variant.place: one.variant.text for one in others}) == {}
    assert n_others > 30
