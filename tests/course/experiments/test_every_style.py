"""What passes does not crash: experiments, notebooks and figures on right modules in any style."""

import contextlib
import dataclasses
import inspect
import io
import math
import types
from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest
from toy_model import write_toy

from course.core.schemes import SCHEMES, ModelSize, schemes_for
from course.core.syllabus import find_lesson, lessons
from course.data.corpus import Corpus
from course.data.kingdom import kingdom_text
from course.data.published import FILE, open_smollm2
from course.experiments import (
    gpt,
    llama,
    llama_mine,
    positions,
    tasks,
    training,
)
from course.experiments.character_gpt import ALWAYS
from course.experiments.training import QUICK, TrainingSettings
from course.lessons.llama.breaks import BREAKS
from course.lessons.longer import measure as far
from course.mistakes import alternatives
from course.mistakes.variant import reference_text
from course.publishing.building.notebooks import LAB, SHOOT_OUT, notebook_from, source_of
from course.student import exercises
from course.student.exercises import passing_exercises, reference_exercises, written_exercises
from course.student.instrument.scene import own_scenes
from course.student.progress import PASSED
from course.testing.loading import load_module

pytestmark = pytest.mark.slow

TINY = TrainingSettings(
    ModelSize(n_layers=2, n_embd=16, n_heads=2), steps=2, batch_size=2, lr=0.01, context=24
)
TEXT = kingdom_text()[:8000]

ODD = {
    "lookup.py": """
class TokenEmbedding(nn.Embedding):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd, sparse=True)
        nn.init.normal_(self.weight, std=0.02)
        self.register_buffer("n_rows", torch.tensor(vocab_size))

    def forward(self, ids):
        return super().forward(ids.long())
""",
    "learned.py": """
class LearnedPositionalEmbedding(nn.Embedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd, sparse=True)
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, seq_len):
        return super().forward(torch.arange(seq_len, device=self.weight.device))
""",
    "sinusoidal.py": """
class SinusoidalPositionalEmbedding(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.n_embd, self.base = n_embd, base
        self.register_buffer("rows", sinusoidal_encoding(1, n_embd, base))

    def forward(self, seq_len):
        if seq_len > len(self.rows):  # it grows, so two of them have different shapes
            self.rows = sinusoidal_encoding(seq_len, self.n_embd, self.base).to(self.rows)
        return self.rows[:seq_len]
""",
    "rope.py": """
_tables = rope_tables


def rope_tables(seq_len, head_dim, base=10000.0):
    return [*_tables(seq_len, head_dim, base)]


class Tables(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.register_buffer("both", torch.stack(rope_tables(*sizes)))


class RotaryEmbedding(nn.Module):
    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__()
        self.register_module("of_all_positions", Tables(max_seq_len, head_dim, base))
        self.register_buffer("seen", torch.zeros(0))

    def forward(self, x, offset=0):
        self.seen = torch.zeros(offset + x.shape[-2])
        cos, sin = self.of_all_positions.both[:, offset : offset + x.shape[-2]].to(x.dtype)
        return apply_rope(x, cos, sin)
""",
    "skipgram.py": """
class Rows(nn.Embedding):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        nn.init.normal_(self.weight, std=0.1)
        self.register_buffer("n_rows", torch.tensor(vocab_size))


class SkipGram(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.center, self.context = (Rows(vocab_size, n_embd) for _ in range(2))

    def forward(self, centers, contexts):
        rows = self.center(centers.long()), self.context(contexts.long())
        return torch.einsum("pc,p...c->p...", *rows)


_nearest, _analogy = nearest_by_cosine, analogy


def nearest_by_cosine(*arguments, **options):
    return [*_nearest(*arguments, **options)]


def analogy(*arguments, **options):
    return [*_analogy(*arguments, **options)]
""",
    "longer.py": """
class Turned(RotaryEmbedding):
    pass


class PartialRotary(nn.Module):
    def __init__(self, max_seq_len, head_dim, rotary_dim, base=10000.0):
        super().__init__()
        self.parts = nn.ModuleDict({"turned": Turned(max_seq_len, rotary_dim, base)})
        self.register_buffer("rotary_dim", torch.tensor(rotary_dim))

    def forward(self, x, offset=0):
        n = int(self.rotary_dim)
        return torch.cat((self.parts["turned"](x[..., :n], offset), x[..., n:]), dim=-1)


class RelativeBias(nn.Embedding):
    def __init__(self, n_heads, n_buckets=32, max_distance=128):
        super().__init__(n_buckets, n_heads, sparse=True)
        nn.init.normal_(self.weight, std=0.02)
        self.register_buffer("distances", torch.zeros(0))
        self.sizes = n_buckets, max_distance

    def forward(self, q_len, k_len):
        self.distances = torch.arange(k_len - q_len, k_len)[:, None] - torch.arange(k_len)
        return super().forward(relative_buckets(self.distances, *self.sizes)).permute(2, 0, 1)
""",
    "gpt.py": """
class Bare(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_embd, n_embd) * n_embd**-0.5)


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_heads, max_seq_len, turn: RotaryEmbedding | None = None):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (Bare(n_embd) for _ in range(4))
        self.turn = turn or RotaryEmbedding(max_seq_len, n_embd // n_heads)

    def forward(self, x, cache=None):
        cache = {} if cache is None else cache
        q, k, v = (
            split_heads(x @ one.weight.T, self.n_heads)
            for one in (self.q_proj, self.k_proj, self.v_proj)
        )
        n_read = cache.get("n", 0)
        q, k = self.turn(q, n_read), self.turn(k, n_read)
        read = (*cache.get("read", ()), (k, v))
        cache.update(n=n_read + x.shape[1], read=read)
        k, v = (torch.cat(parts, dim=2) for parts in zip(*read))
        return merge_heads(causal_attention(q, k, v)) @ self.out_proj.weight.T


class Blocks(nn.ModuleList):
    pass


class GPT(nn.Module):
    def __init__(self, vocab_size, n_embd, n_heads, n_layers, max_seq_len):
        super().__init__()
        self.register_buffer("limit", torch.tensor(max_seq_len))
        self.tokens, self.norm = TokenEmbedding(vocab_size, n_embd), nn.LayerNorm(n_embd)
        self.layers = Blocks(Block(n_embd, n_heads, max_seq_len) for _ in range(n_layers))

    @property
    def max_seq_len(self):
        return int(self.limit)

    @property
    def blocks(self):
        return tuple(self.layers)

    def forward(self, ids, caches=None):
        x = self.tokens(ids)
        for i, block in enumerate(self.layers):
            x = block(x, caches[i] if caches else None)
        return tied_logits(self.norm(x), self.tokens.weight)
""",
    "llama.py": """
class Turned(RotaryEmbedding):
    pass


class Attention(GroupedQueryAttention):
    def __init__(
        self, n_embd, n_heads, n_keys, max_seq_len, base=1e4, turn: RotaryEmbedding | None = None
    ):
        super().__init__(n_embd, n_heads, n_keys, max_seq_len, base)
        self.rotary = turn or Turned(max_seq_len, n_embd // n_heads, base)
        self.register_buffer("n_read", torch.tensor(0))


GroupedQueryAttention = Attention
""",
}
"""What is written at the end of a lesson's file: persistent buffers, some of which grow, sparse
gradients, submodules, properties, subclasses, lists for tuples, and caches under other keys."""


PARTS = {"CausalSelfAttention", "Block", "RMSNorm", "GroupedQueryAttention", "GatedMLP"}


def styles_of_the_catalogue() -> dict[str, dict]:
    """Return styles that have every alternative between them, by a name for the test.

    A model and its parts may share the keys of a cache, so they are in different styles: a style
    of parts has a model that does not count what it has read.
    """
    styles: dict[str, dict] = {}
    for lesson in lessons():
        counts: dict[str, int] = {}
        for one in alternatives(lesson.stem):
            number = counts[one.exercise] = counts.get(one.exercise, 0) + 1
            kind = "parts" if one.exercise in PARTS else "catalogue"
            style = styles.setdefault(f"{kind} {number}", {})
            style[one.exercise] = vars(one.variant.module())[one.exercise]
    return styles


COUNTS = 'n_read = caches[0]["k"].shape[-2] if caches and caches[0] else 0'


def module_in(style: dict, stem: str, earlier: dict | None) -> types.ModuleType:
    """Return a lesson's file in a style: the reference's, with what the style has instead."""
    module = load_module(find_lesson(stem).module("solutions"), earlier)
    if style["kind"].startswith("parts"):
        for model in {"GPT", "Llama"} & vars(module).keys():
            exec(reference_text(stem, model).replace(COUNTS, "n_read = 0"), vars(module))
    exec(style.get(f"{stem}.py", ""), vars(module))
    names = [one.name for one in find_lesson(stem).exercises]
    vars(module).update({name: style[name] for name in names if name in style})
    return module


STYLES = {"odd": ODD, **styles_of_the_catalogue()}


@pytest.fixture(params=STYLES)
def style(request, monkeypatch, tmp_path):
    """Every exercise is the student's, in a style; what experiments keep goes elsewhere."""
    style = {**STYLES[request.param], "kind": request.param}

    def load(path: Path, earlier: dict | None = None) -> types.ModuleType:
        return module_in(style, path.stem, earlier)

    names = [one.name for lesson in lessons() for one in lesson.exercises]
    monkeypatch.setattr(exercises, "load_in_time", load)
    monkeypatch.setattr(exercises, "stubs_in", lambda *_: set())
    monkeypatch.setattr(exercises, "status_of_all", lambda: dict.fromkeys(names, PASSED))
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    for module in (training, positions, gpt):
        monkeypatch.setattr(module, "kept_in", lambda experiment: tmp_path / experiment)
    monkeypatch.setattr(training, "N_EVALUATED", 256)
    monkeypatch.setattr(gpt, "N_TEXTS", 1)
    for kind in (training.Training, gpt.GPTTraining):  # few characters, but beyond the context
        monkeypatch.setattr(inspect.unwrap(kind.sample), "__defaults__", (70,))
    monkeypatch.setattr(gpt, "SECONDS_BETWEEN_SAMPLES", 0.0)
    kept = (passing_exercises, exercises.all_written_exercises, gpt.exercises_of)
    for function in kept:
        function.cache_clear()
    yield request.param
    for function in kept:
        function.cache_clear()


def skip_unless_it_differs_in(lessons_used: Sequence[str], style: str) -> None:
    """Skip a test of a style that is the reference's in these lessons."""
    named = [one.name for stem in lessons_used for one in find_lesson(stem).exercises]
    if style != "odd" and not STYLES[style].keys() & set(named):
        pytest.skip("there is nothing of this style in it")


EARLIER = ("lookup", "learned", "sinusoidal", "rope", "longer")
"""The lessons of which the schemes' models are made."""


def test_schemes_are_trained_compared_and_kept(style, tmp_path):
    skip_unless_it_differs_in(EARLIER, style)
    for scheme, about in SCHEMES.items():
        if style == "odd" or STYLES[style].keys() & in_lessons_of({*ALWAYS, *about.exercises}):
            positions.result_of(scheme, TINY, tmp_path)


def in_lessons_of(exercises: set[str]) -> set[str]:
    """Return all exercises of these exercises' lessons: some are called by others."""
    each = [{one.name for one in lesson.exercises} for lesson in lessons()]
    return set().union(*(names for names in each if names & exercises))


def test_tasks_are_trained_and_asked(style, monkeypatch, tmp_path):
    skip_unless_it_differs_in(EARLIER, style)
    back = dataclasses.replace(tasks.TASKS["back"], steps=1)
    monkeypatch.setitem(tasks.TASKS, "back", back)
    monkeypatch.setattr(tasks, "LENGTHS", (tasks.TRAINED,))
    for scheme in tasks.COMPARED:
        tasks.result_of(tasks.Job("back", scheme, 0), tmp_path)


def test_a_gpt_is_trained_kept_and_writes(style):
    skip_unless_it_differs_in(("lookup", "learned", "rope", "gpt"), style)
    corpus = Corpus("kingdom", TEXT)
    for way in (gpt.WITH, gpt.WITHOUT):
        gpt.result_of(way, TINY, corpus)
    kept = gpt.trained(TINY, corpus)
    (text, _), (other, _) = gpt.write_on(kept, [1, 2, 3], 30, lambda token: None).values()
    assert text == other


def test_a_published_model_reads_writes_and_breaks(style, tmp_path):
    skip_unless_it_differs_in(("lookup", "learned", "rope", "gpt", "llama"), style)
    published = open_smollm2(write_toy(tmp_path / FILE))
    _, ids = llama.sample_ids(published, 40)
    losses = [llama.measure(published, broken, ids)[0] for broken in BREAKS]
    _, ids = llama.sample_ids(published, 60)
    losses += [far.losses_far(published, way, ids)[0] for way in far.ways(published)]
    assert all(map(math.isfinite, losses))
    if style == "odd":  # only there the model calls what the breaks replace
        assert losses[1] == pytest.approx(losses[0], abs=1e-3) and len(set(losses)) > 6
    assert set(llama_mine.measured_here().sources.values()) == {"yours"}


def test_the_figures_draw_it_as_the_reference(style):
    skip_unless_it_differs_in([*EARLIER, "longer"], style)
    for stem, scene in own_scenes().values():
        lesson = find_lesson(stem)
        own = scene.numbers(written_exercises(lesson.module(), lesson))
        right = scene.numbers(reference_exercises(lesson))
        assert not any(broken for _, broken in scene.claims(own, right))


NOTEBOOKS = [*(lesson.notebook.stem for lesson in lessons()), LAB, SHOOT_OUT]
SHORTER = {"epochs=10": "epochs=1", "(20,)": "(1,)", "[20]": "[1]", "steps=300": "steps=2"}
"""What makes a notebook's training short."""


@pytest.mark.parametrize("stem", NOTEBOOKS)
def test_notebooks_run(style, stem, monkeypatch, tmp_path):
    # some train for seconds, so in the oddest style alone
    trains = stem in (LAB, SHOOT_OUT, "3_learned", "8_gpt")
    skip_unless_it_differs_in([] if trains else [stem.partition("_")[2]], style)
    monkeypatch.chdir(tmp_path)
    text = notebook_from(source_of(stem).read_text(encoding="utf-8"), stem)
    if stem == SHOOT_OUT:  # in this process, which has the style
        short = dataclasses.replace(QUICK, steps=2)
        schemes = schemes_for(QUICK.size.n_layers)
        results = [positions.result_of(scheme, short, tmp_path) for scheme in schemes]
        monkeypatch.setattr(training, "QUICK", short)
        monkeypatch.setattr(positions, "shoot_out", lambda: results)
    if stem in (SHOOT_OUT, "6_skipgram"):
        for long, short in SHORTER.items():
            text = text.replace(long, short)
    names = {"__name__": stem}
    for cell in nbformat.reads(text, 4).cells:
        if cell.cell_type == "code" and cell.id != "colab" and not cell.source.startswith("check("):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(cell.source, names)
