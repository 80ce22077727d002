"""Which mistake is named: the one that was made, also among others, and none that was not."""

import ast
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from click.testing import CliRunner

from course.core.syllabus import Status, find_lesson
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
from course.testing.case import by_exercise, collect
from course.testing.door import Names
from course.testing.examine import Examination
from course.testing.executor import Executor
from course.testing.loading import load_module
from course.testing.outcomes import StudentError


@pytest.fixture(scope="module")
def cases():
    stems = ("lookup", "permutation", "learned", "rope", "sinusoidal", "gpt")
    return {stem: collect([find_lesson(stem).tests]) for stem in stems}


@pytest.fixture
def diagnosis_of(cases, tmp_path: Path):
    """The message for an exercise whose definition in the solution is replaced."""

    def examine(stem: str, exercise: str, definition: str) -> Diagnosis | None:
        solution = find_lesson(stem).module("solutions").read_text(encoding="utf-8")
        tree = ast.parse(solution.replace("from solutions.", "from exercises."))
        tree.body = [node for node in tree.body if getattr(node, "name", "") != exercise]
        path = tmp_path / f"{stem}.py"
        path.write_text(f"{ast.unparse(tree)}\n\n{definition}", encoding="utf-8")
        module = load_module(path)
        mine = [case for case in cases[stem] if case.exercise == exercise]
        examination = Examination(Executor(module), path.read_bytes())
        findings = [examination.run(case) for case in mine]
        known = KnownMistakes(mine, seed=0)
        return diagnose(findings, known, seconds=(30, 30))  # also on a busy machine

    return examine


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


def test_what_is_right_is_not_diagnosed(diagnosis_of):
    definition = """
def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)
"""
    assert diagnosis_of("rope", "rotate_half", definition) is None


TURNED_BACKWARDS = """
def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((second, -first), dim=-1)
"""


def test_a_mistake_is_named_with_all_that_it_explains(diagnosis_of):
    diagnosis = diagnosis_of("rope", "rotate_half", TURNED_BACKWARDS)
    assert "rotates backwards" in diagnosis.says
    assert len(diagnosis.explains) > 3


def test_an_error_that_several_mistakes_raise_is_still_explained(diagnosis_of):
    definition = """
def projected_attention(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q.T, x @ w_k.T, x @ w_v.T
    return (queries @ keys / math.sqrt(x.shape[-1])).softmax(dim=-1) @ values
"""
    diagnosis = diagnosis_of("permutation", "projected_attention", definition)
    assert diagnosis.says == ""
    assert "axes 1 and 2" in diagnosis.look


def test_a_mistake_explains_a_test_of_changed_arguments_too(diagnosis_of):
    definition = "def tied_logits(x, weight):\n    return x @ weight.T / len(weight)"
    diagnosis = diagnosis_of("learned", "tied_logits", definition)
    assert not diagnosis.another
    assert "test_changed_arguments_are_seen" in diagnosis.explains


def test_a_mistake_is_named_whatever_its_parameter_is_called(diagnosis_of):
    definition = """
class SinusoidalPositionalEmbedding(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.n_embd, self.base = n_embd, base
        rows = sinusoidal_encoding(max_seq_len, n_embd, base)
        self.weight = nn.Parameter(rows, requires_grad=False)

    def forward(self, seq_len):
        if seq_len <= len(self.weight):
            return self.weight[:seq_len]
        return sinusoidal_encoding(seq_len, self.n_embd, self.base).to(self.weight)
"""
    diagnosis = diagnosis_of("sinusoidal", "SinusoidalPositionalEmbedding", definition)
    assert "parameter instead of a buffer" in diagnosis.says


def test_a_mistake_is_named_though_some_tests_were_not_run(diagnosis_of, monkeypatch):
    monkeypatch.setattr("course.testing.examine.SECONDS_ONCE_WRONG", 0)
    diagnosis = diagnosis_of("rope", "rotate_half", TURNED_BACKWARDS)
    assert "rotates backwards" in diagnosis.says
    assert len(diagnosis.explains) == 1


def test_a_mistake_is_named_in_spite_of_harmless_differences(diagnosis_of):
    definition = """
class Sum:
    answer = 42

def rotate_half(x):
    wide = x.double()
    first, second = wide[..., : x.shape[-1] // 2], wide[..., x.shape[-1] // 2 :]
    Sum.latest = torch.cat((second, -first), dim=-1) + 1e-9
    return Sum.latest.to(x.dtype)
"""
    diagnosis = diagnosis_of("rope", "rotate_half", definition)
    assert "rotates backwards" in diagnosis.says


def test_of_two_mistakes_the_one_that_explains_more_is_named(diagnosis_of):
    definition = """
def inverse_frequencies(n_embd, base=10000.0):
    if n_embd <= 0 or n_embd % 2:
        raise ValueError("wrong")
    return 10000.0 ** (-torch.arange(0, n_embd, 2).float() / n_embd)
"""
    diagnosis = diagnosis_of("sinusoidal", "inverse_frequencies", definition)
    assert "ignores its argument `base`" in diagnosis.says
    assert not any("error" in name for name in diagnosis.explains)


def test_of_two_mistakes_that_explain_as_much_the_one_that_an_earlier_test_refuses_is_named(
    diagnosis_of,
):
    definition = """
def projected_attention(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    return (queries @ keys.mT / 8).softmax(dim=-1) @ values
"""
    diagnosis = diagnosis_of("permutation", "projected_attention", definition)
    assert diagnosis.another
    assert "√C" in diagnosis.says
    assert diagnosis.explains[0] == "test_two_tokens_by_hand"


def test_of_two_mistakes_the_one_named_is_shown_in_the_first_test_that_refuses_it(diagnosis_of):
    """Also where the other one changes the values of that test."""
    definition = """
def projected_attention(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q.T, x @ w_k.T, x @ w_v.T
    return (keys @ queries.mT).softmax(dim=-1) @ values
"""
    diagnosis = diagnosis_of("permutation", "projected_attention", definition)
    assert diagnosis.another
    assert diagnosis.explains[0] == "test_queries_ask_and_keys_answer"


GPT_EMBEDDING = """
class GPTEmbedding(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        {tables}
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        {check}
        return self.dropout({sum})
"""
BARE = {
    "tables": "self.tok_emb = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd)); "
    "self.pos_emb = nn.Parameter(0.02 * torch.randn(block_size, n_embd))",
    "sum": "self.tok_emb[ids.long()] + self.pos_emb[: ids.shape[1]]",
}
RENAMED = {
    "tables": "self.words = nn.Embedding(vocab_size, n_embd); "
    "self.places = nn.Embedding(block_size, n_embd); "
    "[nn.init.normal_(one, std=0.02) for one in self.parameters()]",
    "sum": "self.words(ids.long()) + self.places(torch.arange(ids.shape[1], device=ids.device))",
}


@pytest.mark.parametrize("check", ["pass", "len(self.tok_emb.weight)"])
@pytest.mark.parametrize("texts", [BARE, RENAMED], ids=["bare", "names"])
def test_tables_under_other_names_are_told(diagnosis_of, texts, check):
    definition = GPT_EMBEDDING.format(check=check, **texts)
    assert "names other than" in diagnosis_of("learned", "GPTEmbedding", definition).says


def test_a_table_under_another_name_is_not_taken_for_a_transposed_one(diagnosis_of):
    definition = """
class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_seq_len, n_embd):
        super().__init__()
        self.rows = nn.Parameter(0.02 * torch.randn(max_seq_len, n_embd))

    def forward(self, seq_len):
        return self.rows[:seq_len]
"""
    diagnosis = diagnosis_of("learned", "LearnedPositionalEmbedding", definition)
    assert "a name other than" in diagnosis.says


# rotate_half with two mistakes, of which tests on one pair tell only the sign
TWO_MISTAKES = """
def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((second, -first), dim=-1).detach()
"""


def test_of_two_mistakes_at_once_one_is_named_as_the_first_to_fix(diagnosis_of):
    diagnosis = diagnosis_of("rope", "rotate_half", TWO_MISTAKES)
    assert diagnosis.another
    assert not diagnosis_of("rope", "rotate_half", TURNED_BACKWARDS).another


@pytest.mark.parametrize(
    "body",
    [
        *(
            "x * 0.1234",
            "torch.cos(x)",
            "x.flip(-1).cumsum(-1)",
            "x.mean(-1, keepdim=True) + 0 * x",
        ),
        "torch.cat((x.chunk(2, -1)[1], -x.chunk(2, -1)[0]), -1) * 1.02",  # nearly backwards
    ],
)
def test_what_nobody_has_seen_before_has_no_name(diagnosis_of, body):
    assert diagnosis_of("rope", "rotate_half", f"def rotate_half(x):\n    return {body}\n") is None


@pytest.mark.parametrize(("n_wrong", "is_named"), [(6, True), (7, False)])
def test_what_explains_less_than_half_is_not_named(n_wrong, is_named):
    """A mistake that fails three of the tests just as the code does, and passes the others."""
    wrong = [
        SimpleNamespace(
            case=SimpleNamespace(lesson="rope", name=f"test_{n}", exercise="rotate_half"),
            status=Status.WRONG,
            text="",
            seconds=n,
            failure=None,
            trace=[],
            mismatches=[],
            calls=[],
            source=b"",
        )
        for n in range(n_wrong)
    ]
    fails = [one.case for one in wrong[:3]]
    known = Mock(
        mistake=SimpleNamespace(says="It turns backwards.", look="Which sign?", family=""),
        explains=lambda seen, exactly=False: seen.case in fails,
        passes=lambda cases: True,
        likeness=lambda looks_alike: 0.0,
        finding=lambda case: SimpleNamespace(
            status=Status.WRONG if case in fails else Status.PASSED, trace=[]
        ),
    )
    all_known = SimpleNamespace(
        singles=[known],
        symptoms=lambda seen: {"values"},
        of_families_that_show=lambda symptoms: [],
    )
    diagnosis = diagnose(wrong, all_known, seconds=(30, 30))
    assert bool(diagnosis) == is_named


def test_an_error_that_many_meet_is_explained_without_a_claim(diagnosis_of):
    definition = """
def rope_tables(seq_len, head_dim, base=10000.0):
    rates = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    angles = torch.outer(torch.arange(seq_len), rates)
    angles = torch.cat(angles, angles)
    return angles.cos(), angles.sin()
"""
    diagnosis = diagnosis_of("rope", "rope_tables", definition)
    assert diagnosis.says == ""
    assert "torch.cat" in diagnosis.look
    assert diagnosis.explains == ("test_position_zero_is_not_rotated",)


def test_an_edit_that_no_longer_applies_is_no_known_mistake(cases, monkeypatch):
    """A student may have changed the reference."""
    mine = [case for case in cases["rope"] if case.exercise == "rotate_half"]
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


@pytest.mark.parametrize("arguments", [["rop"], ["longer", "ntk_base"], ["rope", "nosuch"]])
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
        case = by_exercise(collect([find_lesson(lesson).tests]))
        named([SimpleNamespace(case=next(iter(case.values()))[0])])
    assert [round(one, 3) for one, _ in given] == [0.6, 0.4, 0.2, 0.6]


@pytest.mark.parametrize(("n_explained", "n_spoiled", "is_enough"), [(6, 2, True), (5, 2, False)])
def test_a_mistake_that_explains_a_part_spoils_one_test_in_four_at_most(
    n_explained, n_spoiled, is_enough
):
    wrong = [SimpleNamespace(case=n, failure=None) for n in range(n_explained + n_spoiled)]
    known = Mock(
        explains=lambda seen: seen.case < n_explained,
        passes=lambda cases: True,
        finding=lambda case: SimpleNamespace(status=Status.WRONG),
    )
    explained = diagnoses._explained(known, wrong, [])  # noqa: SLF001
    assert explained == (wrong[:n_explained] if is_enough else [])


def test_an_error_of_pytorch_in_all_tests_is_no_evidence_for_two_mistakes(diagnosis_of):
    """It raises before anything can be seen: sentences that attend to each other raise it, too."""
    definition = """
def toy_attention(x):
    mean = x.mean(dim=0)
    scores = mean @ mean.permute(2, 1, 0) / math.sqrt(x.shape[-1])
    return scores.softmax(dim=1) @ mean
"""
    found = diagnosis_of("permutation", "toy_attention", definition)
    assert found is None or not found.says


@pytest.mark.parametrize(
    ("stem", "exercise", "definition", "words"),
    [
        (
            "lookup",
            "lookup_backward",
            """
def lookup_backward(grad_output, ids, vocab_size):
    grad = grad_output.new_zeros(vocab_size + 1, grad_output.shape[-1])
    grad[ids.long().flatten()] += grad_output.reshape(-1, grad_output.shape[-1])
    return grad
""",
            ("keeps only one", "one more row"),
        ),
        (
            "sinusoidal",
            "SinusoidalPositionalEmbedding",
            """
class SinusoidalPositionalEmbedding(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        check_width(n_embd)
        table = sinusoidal_encoding(max_seq_len, n_embd, base)
        self.register_buffer("pe", table / n_embd**0.5, persistent=False)

    def forward(self, seq_len):
        return self.pe[:seq_len]
""",
            ("scales", "no more rows"),
        ),
        pytest.param(
            "sinusoidal",
            "sinusoidal_encoding",
            """
import math

def sinusoidal_encoding(length, n_embd, base=10000.0):
    check_width(n_embd)
    rows = [
        [
            turn(pos / base ** (2 * i / n_embd))
            for i in range(0, n_embd, 2)
            for turn in (math.cos, math.sin)
        ]
        for pos in range(length)
    ]
    return torch.tensor(rows, dtype=torch.float32).reshape(length, n_embd)
""",
            ("cosine before", "doubles the exponent"),
            id="one of them in what it would call",
        ),
        pytest.param(
            "sinusoidal",
            "SinusoidalPositionalEmbedding",
            """
class SinusoidalPositionalEmbedding(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        check_width(n_embd)
        self.n_embd, self.base = n_embd, base
        self.register_buffer("pe", self.rows(max_seq_len), persistent=False)

    def rows(self, length):
        rates = self.base ** (torch.arange(0, self.n_embd, 2).double() / self.n_embd)
        angles = torch.arange(length).double().outer(rates)
        return torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(-2).float()

    def forward(self, seq_len):
        if seq_len <= len(self.pe):
            return self.pe[:seq_len]
        return self.rows(seq_len).to(self.pe)
""",
            ("cosine before", "minus sign"),
            id="both in what it would call",
        ),
    ],
)
def test_either_of_two_mistakes_is_named(diagnosis_of, stem, exercise, definition, words):
    found = diagnosis_of(stem, exercise, definition)
    assert found.another
    assert any(word in found.says for word in words)


def test_two_mistakes_that_together_look_like_a_third_are_not_blamed(diagnosis_of):
    """Divided by 2 whatever C is: right for C = 4, where division by C would be wrong."""
    told = diagnosis_of(
        "permutation",
        "toy_attention",
        "def toy_attention(x):\n"
        "    return (x @ x.transpose(-2, -1) / math.sqrt(4)).softmax(dim=-1) @ x\n",
    )
    assert told is None or "by C" not in told.says


def test_no_check_is_blamed_for_an_error_of_pytorch(diagnosis_of):
    """A length is asked for, and positions are given: no id is refused or accepted wrongly."""
    told = diagnosis_of(
        "learned",
        "GPTEmbedding",
        "class GPTEmbedding(nn.Module):\n"
        "    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):\n"
        "        super().__init__()\n"
        "        self.tok_emb = nn.Embedding(vocab_size, n_embd)\n"
        "        nn.init.normal_(self.tok_emb.weight, std=0.02)\n"
        "        self.pos_emb = LearnedPositionalEmbedding(block_size, n_embd)\n"
        "        self.dropout = nn.Dropout(dropout)\n\n"
        "    def forward(self, ids):\n"
        "        positions = torch.arange(ids.shape[1])\n"
        "        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))\n",
    )
    assert told is None or "every bad" not in told.says


@pytest.mark.parametrize(
    ("edits", "symptom"),
    [
        ({"return torch.cat((-x2, x1), dim=-1)": "return torch.cat((x2, x1), dim=-1)"}, "values"),
        ({"return torch.cat((-x2, x1), dim=-1)": "return torch.cat((-x2, x1), -1)[None]"}, "form"),
    ],
)
def test_what_shows_in_something_else_is_not_tried(cases, edits, symptom):
    mine = [case for case in cases["rope"] if case.exercise == "rotate_half"]
    known = KnownMistakes(mine, seed=0)
    module = variant.Variant("rope", "rotate_half", "", edits).module()
    seen = Examination(Executor(module)).run(mine[0])
    symptoms = known.symptoms(seen)
    assert symptom in symptoms
    tried = {one.mistake.family for one in known.of_families_that_show(symptoms)}
    assert ("_values" in tried) == (symptom == "values")
    assert ("_forms" in tried) == (symptom == "form")
    assert "_arithmetic" in tried


def test_a_test_that_ended_early_is_compared_as_far_as_it_went(cases):
    """A student's error ends a test, so a mistake may show more there than the student's code."""
    mine = [case for case in cases["rope"] if case.exercise == "RotaryEmbedding"]
    known = KnownMistakes(mine, seed=0)
    seen = next(found for found in map(known._right.run, mine) if len(found.trace) > 1)  # noqa: SLF001
    early = replace(seen, status=Status.WRONG, trace=seen.trace[:-1])
    assert "form" not in known.symptoms(early)
    backwards = next(one for one in known.singles if "rotates backwards" in one.mistake.says)
    assert diagnoses._evidence(backwards, [early]) == [diagnoses._LIKE]  # noqa: SLF001


def test_what_an_exercise_calls_may_be_wrong_in_it_and_is_named_as_its_own(diagnosis_of):
    told = diagnosis_of(
        "sinusoidal",
        "sinusoidal_encoding",
        """
def sinusoidal_encoding(length, n_embd, base=10000.0):
    check_width(n_embd)
    rates = base ** (-torch.arange(0, n_embd, 2).double() / n_embd * 2)
    angles = torch.arange(length).double().outer(rates)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()
""",
    )
    assert told.says.startswith("sinusoidal_encoding doubles the exponent's step")


@pytest.mark.parametrize("head", ["weight, *, numbers", "weight, ids, dim", ""])
def test_no_mistake_is_run_where_the_arguments_do_not_fit(diagnosis_of, monkeypatch, head):
    """None of lookup's has another head, and two hundred would wait for their turn."""
    ran = []
    monkeypatch.setattr(KnownMistake, "explains", lambda self, _: ran.append(self) or False)
    diagnosis_of("lookup", "lookup", f"def lookup({head}):\n    return weight[ids]")
    assert ran == []


def test_a_mistake_is_run_no_further_than_it_goes_as_the_students_code_went(cases):
    mine = [case for case in cases["rope"] if case.exercise == "RotaryEmbedding"]
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
    exact = diagnosis_of("gpt", "Block", text.replace('approximate="tanh"', ""))
    assert diagnosis_of("gpt", "Block", text).says == exact.says
