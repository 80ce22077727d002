"""Which mistake is named: the one that was made, also among others, and none that was not."""

import ast
import math
import re
import time
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from click.testing import CliRunner
from examining import cases_of, findings

from course.core.syllabus import Status, find_exercises, find_lesson
from course.mistakes import diagnosis as diagnoses
from course.mistakes import mistakes, trial, variant
from course.mistakes.diagnosis import (
    Diagnosis,
    KnownMistake,
    KnownMistakes,
    diagnose,
    same_values,
)
from course.mistakes.likeness import likeness
from course.mistakes.variant import EditError, reference_text
from course.testing.door import Names
from course.testing.examine import Finding
from course.testing.loading import load_module
from course.testing.outcomes import StudentError


@pytest.fixture
def diagnosis_of(tmp_path):
    """The message for an exercise whose definition in the solution is replaced."""

    def examine(exercise: str, definition: str) -> Diagnosis | None:
        [found] = find_exercises(exercise)
        solution = find_lesson(found.lesson).module("solutions").read_text(encoding="utf-8")
        tree = ast.parse(solution.replace("from solutions.", "from exercises."))
        tree.body = [node for node in tree.body if getattr(node, "name", "") != found.name]
        source = f"{ast.unparse(tree)}\n\n{definition}"
        path = tmp_path / f"{found.lesson}.py"
        path.write_text(source, encoding="utf-8")
        cases = cases_of(found.lesson, found.name)
        seen = findings(load_module(path), cases, source)
        return diagnose(seen, KnownMistakes(cases, seed=0), seconds=(30, 30))  # on a busy machine

    return examine


def solution(exercise: str, *edits: str) -> str:
    """The definition in the solution with some edits, `old => new`."""
    [found] = find_exercises(exercise)
    text = reference_text(found.lesson, found.name)
    for edit in edits:
        old, new = edit.split(" => ")
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.int8])
def test_the_width_of_whole_numbers_does_not_count(dtype):
    assert same_values(torch.tensor([2, 0, 1]), torch.tensor([2, 0, 1], dtype=dtype))
    assert not same_values(torch.tensor([2, 0, 1], dtype=dtype), torch.tensor([2, 1, 0]))


@pytest.mark.parametrize(
    ("dtype", "rounding"),
    [(torch.float32, 1e-3), (torch.float64, 1e-3), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)],
)
def test_numbers_are_the_same_up_to_rounding_and_no_further(dtype, rounding):
    ours = torch.tensor([1.0, -2.0, 0.0])
    for off, same in ((rounding / 2, True), (4 * rounding, False)):
        assert same_values(ours, (ours * (1 + off)).to(dtype)) is same
        near_zero = off / 10 if rounding == 1e-3 else off / 2
        assert same_values(ours, (ours + torch.tensor([0, 0, near_zero])).to(dtype)) is same
    for off, same in ((0.0005, True), (0.004, False)):
        assert [same_values(number, number + off) for number in (0.0, -1.0)] == [same, same]


def test_infinity_is_no_number_in_another_precision():
    assert same_values(math.inf, math.inf)
    assert not same_values(math.inf, 3.0)
    assert not same_values(3.0, math.inf)


def test_names_count_in_what_a_function_returns_and_not_in_a_module():
    ours, theirs = {"blocks.1.norm": torch.ones(2)}, {"blocks.10.norm": torch.ones(2)}
    assert same_values(ours, dict(ours))
    assert not same_values(ours, theirs)
    assert same_values(Names(ours), Names(theirs))
    assert not same_values(Names(ours), Names({"norm": torch.ones(2)}))


BACKWARDS = solution("rotate_half", "(-x2, x1) => (x2, -x1)")
SCORES = "queries @ keys.transpose(-2, -1) / math.sqrt(x.shape[-1])"
PE = "SinusoidalPositionalEmbedding"
RATES = "inverse_frequencies(n_embd, base)"
DOUBLED = "base ** (-torch.arange(0, n_embd, 2).double() / n_embd * 2)"
NO_MINUS = "base ** (torch.arange(0, n_embd, 2).double() / n_embd)"
SWAPPED = "(angles.sin(), angles.cos()) => (angles.cos(), angles.sin())"

NAMED = {  # exercise, definition, and what is said about it
    "its parameter may have any name": (
        PE,
        solution(
            PE,
            'register_buffer("table", table, persist => weight = nn.Parameter(table, requires_grad',
            "requires_gradent => requires_grad",
            "self.table => self.weight",
        ),
        "parameter instead of a buffer",
    ),
    "there may be harmless differences": (
        "rotate_half",
        """
class Sum:
    answer = 42

def rotate_half(x):
    wide = x.double()
    first, second = wide[..., : x.shape[-1] // 2], wide[..., x.shape[-1] // 2 :]
    Sum.latest = torch.cat((second, -first), dim=-1) + 1e-9
    return Sum.latest.to(x.dtype)
""",
        "rotates backwards",
    ),
    "it may be in what the exercise would call": (
        "sinusoidal_encoding",
        solution("sinusoidal_encoding", f"{RATES} => {DOUBLED}"),
        "^sinusoidal_encoding doubles the exponent's step",
    ),
    "tables without a module": (
        "GPTEmbedding",
        solution(
            "GPTEmbedding",
            "= nn.Embedding( => = nn.Parameter(torch.randn(",
            "n_embd)\n        self => n_embd))\n        self",
            "_emb.weight => _emb",
            "_emb(ids) => _emb[ids]",
            "_emb(positions) => _emb[positions]",
            "seq_len = ids.shape[1] => seq_len = ids.shape[1] + 0 * len(self.tok_emb.weight)",
        ),
        "names other than",
    ),
    "tables under other names": (
        "GPTEmbedding",
        solution("GPTEmbedding", "self.tok_emb => self.words", "self.pos_emb => self.places"),
        "names other than",
    ),
    "a table under another name, not a transposed one": (
        "LearnedPositionalEmbedding",
        """
class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_seq_len, n_embd):
        super().__init__()
        self.rows = nn.Parameter(0.02 * torch.randn(max_seq_len, n_embd))

    def forward(self, seq_len):
        return self.rows[:seq_len]
""",
        "a name other than",
    ),
    "weights may start in another way": (
        "GPT",
        solution(
            "GPT",
            "self.norm(x), => self.norm(x)[:, -1:],",
            "self.norm = nn.LayerNorm(n_embd) => self.norm = nn.LayerNorm(n_embd)\n"
            "        for weight in self.blocks.parameters():\n"
            "            nn.init.normal_(weight, std=0.02)",
        ),
        "the last position only",
    ),
    "a refusal may name no number": (
        "LearnedPositionalEmbedding",
        re.sub('f"the table.*"', "'?'", solution("LearnedPositionalEmbedding", "n > => n >=")),
        "refuses a length",
    ),
    "nothing came back but that no gradient flows": (
        "rotate_half",
        solution("rotate_half", "x1), dim=-1) => x1), dim=-1).detach()"),
        "cuts its result off",
    ),
    "a default of one's own": (
        "inverse_frequencies",
        solution("inverse_frequencies", "base: float = 10000.0 => base: float = 1000.0"),
        "another default for `base` than 10000.0",
    ),
    "of two mistakes the one that explains more": (
        "inverse_frequencies",
        """
def inverse_frequencies(n_embd, base=10000.0):
    if n_embd <= 0 or n_embd % 2:
        raise ValueError("wrong")
    return 10000.0 ** (-torch.arange(0, n_embd, 2).float() / n_embd)
""",
        "ignores its argument `base`",
    ),
}


@pytest.mark.parametrize(("exercise", "definition", "words"), NAMED.values(), ids=NAMED)
def test_a_mistake_is_named(diagnosis_of, exercise, definition, words):
    diagnosis = diagnosis_of(exercise, definition)
    assert re.search(words, diagnosis.says)
    assert not any("error" in name for name in diagnosis.explains)


def test_a_mistake_explains_all_tests_that_were_run(diagnosis_of, monkeypatch):
    diagnosis = diagnosis_of("rotate_half", BACKWARDS)
    assert "rotates backwards" in diagnosis.says and not diagnosis.another
    assert len(diagnosis.explains) > 3
    monkeypatch.setattr("course.testing.examine.SECONDS_ONCE_WRONG", 0)
    diagnosis = diagnosis_of("rotate_half", BACKWARDS)
    assert "rotates backwards" in diagnosis.says and len(diagnosis.explains) == 1


def test_a_mistake_explains_a_test_of_changed_arguments_too(diagnosis_of):
    divided = solution("tied_logits", "weight.T => weight.T / len(weight)")
    diagnosis = diagnosis_of("tied_logits", divided)
    assert not diagnosis.another
    assert "test_changed_arguments_are_seen" in diagnosis.explains


ONE_OF_TWO = {  # exercise, definition, what is said about it, the first test that it explains
    "tests on one pair tell only the sign": (
        "rotate_half",
        solution("rotate_half", "(-x2, x1), dim=-1) => (x2, -x1), dim=-1).detach()"),
        "",
        "",
    ),
    "they explain as much: the one that an earlier test refuses": (
        "projected_attention",
        solution("projected_attention", ".T => ", "math.sqrt(x.shape[-1]) => 8"),
        "√C",
        "test_two_tokens_by_hand",
    ),
    "the first test that refuses it is shown, where the other changes that one's values too": (
        "projected_attention",
        solution("projected_attention", f"{SCORES} => keys @ queries.mT"),
        "",
        "test_queries_ask_and_keys_answer",
    ),
    "one changes the shape": (
        "lookup_backward",
        """
def lookup_backward(grad_output, ids, vocab_size):
    grad = grad_output.new_zeros(vocab_size + 1, grad_output.shape[-1])
    grad[ids.long().flatten()] += grad_output.reshape(-1, grad_output.shape[-1])
    return grad
""",
        "keeps only one|one more row",
        "",
    ),
    "one raises an error": (
        PE,
        solution(
            PE,
            "table, persistent => table / n_embd**0.5, persistent",
            "        if seq_len <= len(self.table):\n     => ",
        ),
        "scales|no more rows",
        "",
    ),
    "one raises nothing where a test wants a refusal": (
        "LearnedPositionalEmbedding",
        solution("LearnedPositionalEmbedding", "0.02 * => 0.2 *", "if seq_len > => if 0 >"),
        "raises nothing|other than 0.02",
        "",
    ),
    "one is in what the exercise would call": (
        "sinusoidal_encoding",
        solution(
            "sinusoidal_encoding",
            f"{RATES} => {DOUBLED}",
            SWAPPED,
        ),
        "cosine before|doubles the exponent",
        "",
    ),
    "both are in what the exercise would call": (
        PE,
        solution(
            "sinusoidal_encoding",
            "def sinusoidal_encoding => def rows",
            f"{RATES} => {NO_MINUS}",
            SWAPPED,
        )
        + f"\n\n{solution(PE, 'sinusoidal_encoding => rows')}",
        "cosine before|minus sign",
        "",
    ),
}


@pytest.mark.parametrize(
    ("exercise", "definition", "words", "first"), ONE_OF_TWO.values(), ids=ONE_OF_TWO
)
def test_of_two_mistakes_one_is_named_as_the_first_to_fix(
    diagnosis_of, exercise, definition, words, first
):
    diagnosis = diagnosis_of(exercise, definition)
    assert diagnosis.another
    assert re.search(words, diagnosis.says)
    assert first in ("", diagnosis.explains[0])


NOT_BLAMED = {  # exercise, definition, and what is not said about it
    "an error of PyTorch in all tests: sentences that attend to each other raise it, too": (
        "toy_attention",
        """
def toy_attention(x):
    mean = x.mean(dim=0)
    scores = mean @ mean.permute(2, 1, 0) / math.sqrt(x.shape[-1])
    return scores.softmax(dim=1) @ mean
""",
        ".",
    ),
    "right for C = 4, where division by C would be wrong": (
        "toy_attention",
        solution("toy_attention", "x.shape[-1] => 4"),
        "by C",
    ),
    "a length is asked for, and positions are given: no id is refused wrongly": (
        "GPTEmbedding",
        """
class GPTEmbedding(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, n_embd)
        nn.init.normal_(self.tok_emb.weight, std=0.02)
        self.pos_emb = LearnedPositionalEmbedding(block_size, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        positions = torch.arange(ids.shape[1])
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))
""",
        "every bad",
    ),
}


@pytest.mark.parametrize(("exercise", "definition", "words"), NOT_BLAMED.values(), ids=NOT_BLAMED)
def test_a_mistake_that_was_not_made_is_not_named(diagnosis_of, exercise, definition, words):
    diagnosis = diagnosis_of(exercise, definition)
    assert diagnosis is None or not re.search(words, diagnosis.says)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)",  # is right
        "x * 0.1234",
        "torch.cos(x)",
        "x.flip(-1).cumsum(-1)",
        "x.mean(-1, keepdim=True) + 0 * x",
        "torch.cat((x.chunk(2, -1)[1], -x.chunk(2, -1)[0]), -1) * 1.02",  # nearly backwards
    ],
)
def test_what_is_right_or_nobody_has_seen_before_has_no_name(diagnosis_of, body):
    assert diagnosis_of("rotate_half", f"def rotate_half(x):\n    return {body}\n") is None


@pytest.mark.parametrize(
    ("exercise", "edit", "words"),
    [
        ("projected_attention", f"{SCORES} => queries @ keys", "axes 1 and 2"),
        ("rope_tables", "torch.cat((angles, angles), dim=-1) => torch.cat(angles, angles)", "cat"),
    ],
)
def test_an_error_that_many_meet_is_explained_without_a_claim(diagnosis_of, exercise, edit, words):
    diagnosis = diagnosis_of(exercise, solution(exercise, edit))
    assert diagnosis.says == "" and words in diagnosis.look
    assert diagnosis.explains


@pytest.mark.parametrize(
    "head", ["lookup(weight, *, numbers)", "lookup(weight, ids, dim)", "lookup()", "look_up(w, i)"]
)
def test_no_mistake_is_run_where_name_or_arguments_do_not_fit(diagnosis_of, monkeypatch, head):
    """None of lookup's has another head, and two hundred would wait for their turn."""
    ran = []
    monkeypatch.setattr(KnownMistake, "explains", lambda self, _: ran.append(self) or False)
    diagnosis_of("lookup.lookup", f"def {head}:\n    return weight[ids]")
    assert ran == []


def test_a_long_line_that_raises_takes_no_time():
    """What isn't linear takes a tenth of a second for each of thousands of comparisons."""
    error = StudentError(
        ("RuntimeError",), "no", f"exercises/rope.py:5: raise E('{'.py:1' * 900}')"
    )
    start = time.process_time()
    assert diagnoses._by_hand(error)  # noqa: SLF001
    assert time.process_time() - start < 0.05


# --- how the search goes -------------------------------------------------------------------------


def wrong_ones(number: int) -> list[Finding]:
    cases = [
        SimpleNamespace(lesson="rope", name="test", exercise="rotate_half", number=n)
        for n in range(number)
    ]
    return [Finding(case, Status.WRONG, None, "", [0.0], seconds=case.number) for case in cases]


def known_that(explains: range, others: Status) -> Mock:
    """A mistake that explains some of these, and what becomes of the others with it."""
    return Mock(
        mistake=SimpleNamespace(says="It turns backwards.", look="Which sign?", family=""),
        explains=lambda seen, exactly=False: seen.case.number in explains,
        passes=lambda cases: True,
        likeness=lambda looks_alike: 0.0,
        finding=lambda case: SimpleNamespace(
            status=Status.WRONG if case.number in explains else others, trace=[]
        ),
    )


@pytest.mark.parametrize(("n_wrong", "is_named"), [(6, True), (7, False)])
def test_what_explains_less_than_half_is_not_named(n_wrong, is_named):
    known = Mock(
        singles=[known_that(range(3), Status.PASSED)],
        symptoms=lambda seen: {"values"},
        of_families_that_show=lambda symptoms: [],
    )
    known.pair.return_value = None
    diagnosis = diagnose(wrong_ones(n_wrong), known, seconds=(30, 30))
    assert bool(diagnosis) == is_named


@pytest.mark.parametrize(("n_explained", "n_spoiled", "is_enough"), [(6, 2, True), (5, 2, False)])
def test_a_mistake_that_explains_a_part_spoils_one_test_in_four_at_most(
    n_explained, n_spoiled, is_enough
):
    wrong = wrong_ones(n_explained + n_spoiled)
    known = known_that(range(n_explained), Status.WRONG)
    explained = diagnoses._explained(known, wrong, [])  # noqa: SLF001
    assert explained == (wrong[:n_explained] if is_enough else [])


def test_an_edit_that_no_longer_applies_is_no_known_mistake(monkeypatch):
    """A student may have changed the reference."""
    mine = cases_of("rope", "rotate_half")
    n_known = len(KnownMistakes(mine, seed=0).singles)
    text = reference_text("rope", "rotate_half").replace("-x2", "x2.neg()")
    monkeypatch.setattr(variant, "reference_text", lambda *_: text)
    assert 0 < len(KnownMistakes(mine, seed=0).singles) < n_known
    one = next(one for one in mistakes("rope") if "-x2" in str(one.variant.edits))
    with pytest.raises(EditError, match=r"^course/lessons/rope/mistakes.txt:\d+: .* nowhere"):
        _ = one.variant.text


def test_two_edits_that_overlap_are_no_pair():
    def edited(edits):
        return variant.Variant("rope", "rotate_half", "here", edits)

    sign, swapped, whole = ({"(-x2, x1)": "(x2, x1)"}, {"x1, x2 = x": "x2, x1 = x"}, {"-x2": "x1"})
    assert "(x2, x1)" in edited(sign).and_also(edited(swapped)).text
    assert edited(sign).and_also(edited(whole)) is None
    assert edited(sign).and_also(edited({"(2, dim=-1)": "(2, dim=-1"})) is None  # no Python


def test_two_edits_of_one_line_are_made_word_by_word():
    root, smoothed, squared, cubed = (
        variant.Variant("skipgram", "noise_distribution", "here", {"counts**power": new})
        for new in ("counts ** (1 / power)", "(counts + 1) ** power", "counts ** 2", "counts ** 3")
    )
    both = root.and_also(smoothed).module().noise_distribution(torch.tensor([3.0, 0.0]), 0.5)
    assert torch.allclose(both, torch.tensor([16 / 17, 1 / 17]))
    assert squared.and_also(cubed) is None
    turned, unscaled = (
        variant.Variant("skipgram", "analogy", "here", {"unit[b] - unit[a]": new})
        for new in ("unit[a] - unit[b]", "vectors[b] - vectors[a]")
    )
    assert "vectors[a] - vectors[b] + unit[c]" in turned.and_also(unscaled).text


@pytest.mark.parametrize("arguments", [["rop"], ["longer", "ntk_base"], ["rope", "Rope"]])
def test_a_trial_of_what_is_not_there_is_refused(arguments):
    ran = CliRunner().invoke(trial.main, arguments)
    assert ran.exit_code == 2 and arguments[-1] in ran.output


def test_of_two_mistakes_those_that_leave_each_other_alone_are_tried_first():
    """Where one fails a test just as the student, the other passes it."""
    passes, _, like, agrees = range(4)  # as _evidence says it
    swapped, disturbs, base = (Mock(mistake=SimpleNamespace(says=n, family="")) for n in "abc")
    evidence = {
        swapped: [agrees, agrees, like],
        disturbs: [like, like, like],
        base: [passes, passes, like],
    }
    alike = dict.fromkeys(evidence, 0.0)
    first, *_, last = diagnoses._pairs(evidence, alike, lambda: True)  # noqa: SLF001
    assert first == (swapped, base)
    assert last == (disturbs, base)  # none of the two fails a test just as the student


def test_a_mistake_that_looks_like_what_is_written_is_tried_first():
    definition = """
def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((x2, -x1), dim=-1)  # (-x1, -x2)
"""
    looks_alike = likeness(definition.encode(), "rotate_half")
    known = [one for one in mistakes("rope") if one.exercise == "rotate_half" and not one.forget]
    assert "first half" in max(known, key=lambda one: looks_alike(one.variant)).says


def test_exercises_of_a_lesson_share_the_time_that_a_student_waits_for(monkeypatch):
    given, now = [], iter(range(100))
    monkeypatch.setattr(diagnoses, "diagnose", lambda found, known, seconds: given.append(seconds))
    monkeypatch.setattr(diagnoses.time, "process_time", lambda: 0.2 * next(now))
    named = diagnoses.diagnoser(seed=0)
    for lesson in ("rope", "rope", "rope", "lookup"):
        named([SimpleNamespace(case=cases_of(lesson)[0])])
    assert [round(one, 3) for one, _ in given] == [0.6, 0.4, 0.2, 0.6]


@pytest.mark.parametrize(
    ("edits", "symptom"),
    [
        ({"return torch.cat((-x2, x1), dim=-1)": "return torch.cat((x2, x1), dim=-1)"}, "values"),
        ({"return torch.cat((-x2, x1), dim=-1)": "return torch.cat((-x2, x1), -1)[None]"}, "form"),
    ],
)
def test_what_shows_in_something_else_is_not_tried(edits, symptom):
    mine = cases_of("rope", "rotate_half")
    known = KnownMistakes(mine, seed=0)
    [seen] = findings(variant.Variant("rope", "rotate_half", "", edits).module(), mine[:1])
    symptoms = known.symptoms(seen)
    assert symptom in symptoms
    tried = {one.mistake.family for one in known.of_families_that_show(symptoms)}
    assert ("_values" in tried) == (symptom == "values")
    assert ("_forms" in tried) == (symptom == "form")
    assert "_arithmetic" in tried


def test_a_test_that_ended_early_is_compared_as_far_as_it_went():
    """A student's error ends a test, so a mistake may show more there than the student's code."""
    mine = cases_of("rope", "RotaryEmbedding")
    known = KnownMistakes(mine, seed=0)
    seen = next(found for found in map(known._right.run, mine) if len(found.trace) > 1)  # noqa: SLF001
    early = replace(seen, status=Status.WRONG, trace=seen.trace[:-1])
    assert "form" not in known.symptoms(early)
    backwards = next(one for one in known.singles if "rotates backwards" in one.mistake.says)
    assert diagnoses._evidence(backwards, [early]) == [diagnoses._LIKE]  # noqa: SLF001


def test_a_mistake_is_run_no_further_than_it_goes_as_the_students_code_went():
    mine = cases_of("rope", "RotaryEmbedding")
    known = KnownMistakes(mine, seed=0)
    seen = next(found for found in map(known._right.run, mine) if len(found.trace) > 1)  # noqa: SLF001
    error = StudentError(("RuntimeError",), "another size", "rope.py:1: x")
    seen = replace(seen, status=Status.WRONG, trace=[seen.trace[0], error])
    one = next(one for one in known.singles if "rotates backwards" in one.mistake.says)
    assert not one.may_explain(seen) and one._others[seen.case][0] == 1  # noqa: SLF001
    one.__dict__["examination"] = None  # it is not run once more
    assert not one.may_explain(seen)


@pytest.mark.parametrize(
    "edits",
    [
        {"self.norm1(x), cache)": "x, cache)"},
        {"return x + self.mlp(self.norm2(x))": "return self.mlp(self.norm2(x))"},
    ],
    ids=["no norm", "no residual"],
)
def test_a_mistake_is_named_beside_another_choice_that_its_test_allows(diagnosis_of, edits):
    """GPT-2 has the GELU by tanh; the tests of a block hold both for the same."""
    text = reference_text("gpt", "Block").replace("nn.GELU()", 'nn.GELU(approximate="tanh")')
    for old, new in edits.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    exact = diagnosis_of("Block", text.replace('approximate="tanh"', ""))
    assert diagnosis_of("Block", text).says == exact.says
