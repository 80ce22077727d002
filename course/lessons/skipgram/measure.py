"""Measure what word vectors know: analogies, and scores that converge to PMI - log K.

    python course/lessons/skipgram/measure.py --to course/lessons/skipgram/figures

writes two_tables.json, scores_and_pmi.json and to_play_with.json, of figures, and analogies.json,
of tables in lesson 6 and its notebook, in two minutes. `course data all` and `course data smollm2`
fetch the data.

Shapes: V words, C features, Q questions "a is to b as c is to d".
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course.data import data_folder
from course.data.glove import open_glove
from course.data.kingdom import NOUNS, kingdom_text
from course.data.published import open_smollm2
from course.data.reading import read_text
from course.data.tokenizers import WordTokenizer
from course.lessons.skipgram.real_words import against_pmi, every_way, n_right, trained, words_of
from course.lessons.skipgram.shifted_pmi import fits
from course.publishing.figures.measured import measure, packed, reference

QUESTIONS = (
    ("man", "king", "woman", "queen"),
    ("France", "Paris", "Italy", "Rome"),
    ("big", "bigger", "small", "smaller"),
    ("walk", "walked", "play", "played"),
    ("Germany", "German", "Spain", "Spanish"),
    ("good", "better", "bad", "worse"),
    ("dog", "dogs", "cat", "cats"),
    ("brother", "sister", "uncle", "aunt"),
)
AT_LEAST = (0, 1, 2, 5, 10, 20, 50, 100)


def two_tables(quick: bool) -> dict[str, Any]:
    """Return the answers of a language model's table and of GloVe to some analogies."""
    smol, glove = open_smollm2(), open_glove()
    analogy, answers = reference("skipgram").analogy, []
    for *asked, right in QUESTIONS:
        ids = [smol.tokenizer.encode(f" {word}").ids[0] for word in asked]
        best, cosines = analogy(*ids, smol.tensors["token_embd.weight"], top_k=3)
        of_smol = [smol.tokenizer.decode([i]) for i in best.tolist()], cosines.tolist()
        best, cosines = analogy(*(glove.index[w.lower()] for w in asked), glove.tensor(), top_k=3)
        of_glove = [glove.words[i] for i in best.tolist()], cosines.tolist()
        answers.append({"asked": asked, "right": right})
        for name, (words, numbers) in {"SmolLM2": of_smol, "GloVe": of_glove}.items():
            pairs = zip(words, numbers, strict=True)
            answers[-1][name] = [[word, round(cosine, 2)] for word, cosine in pairs]
    return {"glove": len(glove), "answers": answers}


def scores_and_pmi(quick: bool) -> dict[str, Any]:
    """Return how far scores are from PMI - log 5, in nats, by how often two words meet."""
    kingdom, real, found = words_of(kingdom_text()), words_of(shakespeare()), {}
    for name, text, n_embd, epochs, blocks_per_step in (
        ("kingdom, 171", kingdom, 171, 100, 8),
        ("Shakespeare, 64", real, 64, 10, 32),
        ("Shakespeare, 16", real, 16, 10, 32),
    ):
        epochs = 1 if quick else epochs
        tables = trained(text, (epochs,), 0, n_embd, blocks_per_step)[epochs]
        pairs = against_pmi(text, tables.center, tables.context)
        found[name] = [round(fit.distance, 2) for fit in fits(*pairs, edges=AT_LEAST[1:])]
    return {"at_least": AT_LEAST, **found}


def analogies(quick: bool) -> dict[str, Any]:
    """Return how many of Google's questions GloVe answers, and vectors trained on Shakespeare."""
    sections = google_s_questions()
    glove, real = open_glove(), words_of(shakespeare())
    units = F.normalize(glove.tensor(), dim=-1)
    everything = [words for asked in sections.values() for words in asked]
    ways = every_way(real).items()
    return {
        "rules": ["asked", "inputs left out", "nothing left out", "c alone", "it is b", "it is c"],
        "400,000 words": {
            name: n_right_by_rule(units, glove.index, asked) for name, asked in sections.items()
        },
        "20,000 words": n_right_by_rule(units[:20_000], glove.index, everything),
        "words of Shakespeare": {
            way: n_right(rows, real.words, everything) for way, (rows, _) in ways
        },
    }


def google_s_questions() -> dict[str, list[list[str]]]:
    """Return the questions "a is to b as c is to d" of each section, in small letters.

    Raises:
        DataError: they were not fetched.
    """
    path, sections = data_folder() / "questions-words.txt", {}
    text = read_text(path, "fetch it with: course data analogies").lower()
    for line in text.splitlines():
        first, *rest = line.split()
        if first == ":":
            section = sections[rest[0]] = []
        else:
            section.append([first, *rest])
    return sections


def n_right_by_rule(units: Tensor, index: dict[str, int], asked: list[list[str]]) -> list[int]:
    """Return how many questions have only words of unit rows (V, C), and how many a rule answers.

    The last two numbers are how often the answer is b or c itself, with nothing left out.
    """
    rows = [[index.get(word, len(units)) for word in words] for words in asked]
    questions = torch.tensor([row for row in rows if max(row) < len(units)])  # (Q, 4)
    counts = torch.zeros(5, dtype=torch.int64)
    for block in questions.split(64):
        inputs, right = block[:, :3], block[:, 3:]
        a, b, c = units[inputs].unbind(1)
        scores = (b - a + c) @ units.T  # (64, V)
        is_highest = scores.gather(1, block[:, [3, 1, 2]]) == scores.amax(1, keepdim=True)
        counts[[1, 3, 4]] += is_highest.sum(0)
        scores.scatter_(1, inputs, -torch.inf)
        counts[0] += (scores.gather(1, right) == scores.amax(1, keepdim=True)).sum()
    c, which = questions[:, 2].unique(return_inverse=True)  # many questions have the same c
    near = torch.cat([(units[some] @ units.T).topk(4).indices for some in c.split(64)])[which]
    is_input = (near[:, :, None] == questions[:, None, :3]).any(-1)  # (Q, 4), three at most
    nearest = near.gather(1, is_input.int().argmin(1, keepdim=True))
    counts[2] = (nearest == questions[:, 3:]).sum()
    return [len(questions), *counts.tolist()]


def to_play_with(quick: bool) -> dict[str, Any]:
    """Return the kingdom's nouns and their rows, of length 1, trained as in the notebook."""
    skipgram, tokenizer = reference("skipgram"), WordTokenizer.from_text(kingdom_text())
    ids, counts = torch.tensor(tokenizer.encode(kingdom_text())), torch.tensor(tokenizer.counts)
    torch.manual_seed(0)
    model = skipgram.SkipGram(len(counts), 16)
    noise = skipgram.noise_distribution(counts, 0.75)
    generator = torch.Generator().manual_seed(0)
    pairs = skipgram.skipgram_pairs(ids, 2)
    skipgram.train_skipgram(model, *pairs, noise, epochs=1 if quick else 10, generator=generator)
    nouns = list(NOUNS)
    rows = F.normalize(model.center.weight.detach(), dim=-1)
    return {"words": nouns, "rows": packed(rows[[tokenizer.id_of[noun] for noun in nouns]])}


def shakespeare() -> str:
    """Return TinyShakespeare.

    Raises:
        DataError: it was not fetched.
    """
    path = data_folder() / "tinyshakespeare.txt"
    return read_text(path, "fetch it with: course data tinyshakespeare")


if __name__ == "__main__":
    torch.set_num_threads(1)  # products this small are not worth sharing
    measure(__doc__, two_tables, scores_and_pmi, analogies, to_play_with)
