"""Google's word analogies, thousands at once: the rule of `analogy` as products of matrices.

Shapes: V words, C features, Q questions "a is to b as c is to d".
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from course.data.glove import WordVectors
from course.data.reading import DataError, read_text

Analogy = Callable[..., tuple[Tensor, Tensor]]
"""The exercise of lesson 6."""

QUESTIONS_AT_ONCE, ROWS_AT_ONCE = 1024, 1024  # their scores, 4 MiB, stay close to the processor


@dataclass(frozen=True)
class Answers:
    """The answers to the questions of a section.

    Attributes:
        questions: (Q, 4), the rows of a, b, c and d.
        best: (Q,), the answers if a, b and c are left out.
        unruly: (Q,), the answers if nothing is left out.
        n_left_out: how many more questions hold a word that has no vector.
    """

    questions: Tensor
    best: Tensor
    unruly: Tensor
    n_left_out: int

    def n_equal(self, answers: Tensor, place: int = 3) -> int:
        """Return how often an answer is d, or the word at another place of its question."""
        return int((answers == self.questions[:, place]).sum())


def read_questions(path: Path) -> dict[str, list[list[str]]]:
    """Return the questions of a file, by section, in small letters, as GloVe 6B has them.

    The format is Google's: `: name` begins a section; every other line holds four words.

    Raises:
        DataError: it cannot be used; the message names the line and what is wrong with it.

    Source: Mikolov et al. (2013), arXiv:1301.3781, section 4.1.
    """
    sections: dict[str, list[list[str]]] = {}
    text = read_text(path, "get Google's questions-words.txt again").lower()
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        words = line.split()
        if words[:1] == [":"] and len(words) > 1:
            questions = sections.setdefault(" ".join(words[1:]), [])
        elif len(words) != 4:
            raise DataError(
                f"{path.name}, line {number}: must be four words, or a colon and the name of a "
                f"section; got {line[:60]!r}"
            )
        elif not sections:
            raise DataError(
                f"{path.name}, line {number}: a question before the first section; put a line "
                "such as `: family` above it"
            )
        else:
            questions.append(words)
    if not any(sections.values()):
        raise DataError(f"{path.name} has no question, only sections")
    return sections


def answer_all(sections: dict[str, list[list[str]]], vectors: WordVectors) -> dict[str, Answers]:
    """Return the answers to all questions whose four words have vectors, by section.

    Raises:
        ValueError: there is no such question, or no word that could answer one.
    """
    if len(vectors) < 4:
        raise ValueError(f"there must be four words or more to choose from; got {len(vectors)}")
    index = vectors.index
    known = {name: [q for q in asked if index.keys() >= {*q}] for name, asked in sections.items()}
    flat = [[index[word] for word in q] for questions in known.values() for q in questions]
    if not flat:
        raise ValueError("none of the questions has all its four words among the vectors")
    questions, units = torch.tensor(flat), F.normalize(vectors.tensor(), dim=-1)
    torch.set_num_threads(1)  # one for each block of questions; to share a block costs more
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        blocks = pool.map(lambda block: _answer(block, units), questions.split(QUESTIONS_AT_ONCE))
        best, unruly = (torch.cat(parts) for parts in zip(*blocks, strict=True))
    sizes = [len(questions) for questions in known.values()]
    by_section = (tensor.split(sizes) for tensor in (questions, best, unruly))
    return {
        name: Answers(*parts, n_left_out=len(sections[name]) - len(known[name]))
        for name, *parts in zip(known, *by_section, strict=True)
    }


def n_agreed(answers: dict[str, Answers], vectors: WordVectors, analogy: Analogy) -> int:
    """Return for how many sections `analogy` gives the same answer to the first question."""
    table = vectors.tensor()
    asked = [(one.questions[0], one.best[0]) for one in answers.values() if len(one.best)]
    return sum(int(analogy(*q[:3].tolist(), table, top_k=1)[0][0] == best) for q, best in asked)


def most_frequent(vectors: WordVectors, n_words: int) -> WordVectors:
    """Return the first rows only: those of the most frequent words."""
    words = "".join(f"{word}\n" for word in vectors.words[:n_words])
    return WordVectors(words.encode("utf-8"), vectors.tensor()[:n_words].numpy())


def _answer(questions: Tensor, units: Tensor) -> tuple[Tensor, Tensor]:
    """Return the answers without the inputs, and with nothing left out, (Q,) each."""
    inputs = questions[:, :3]  # (Q, 3)
    a, b, c = units[inputs].unbind(1)
    asked = b - a + c  # (Q, C); its length changes no order
    best, highest = (
        torch.zeros(len(asked), dtype=torch.int64),
        torch.full((len(asked),), -torch.inf),
    )
    for start in range(0, len(units), ROWS_AT_ONCE):
        scores = asked @ units[start : start + ROWS_AT_ONCE].T
        question, which = ((inputs >= start) & (inputs < start + ROWS_AT_ONCE)).nonzero().T
        scores[question, inputs[question, which] - start] = -torch.inf
        # amax is many times as fast as argmax, which is asked only where the best has changed.
        better = scores.amax(1) > highest
        highest[better], there = scores[better].max(1)
        best[better] = start + there
    of_inputs = (units[inputs] @ asked[:, :, None])[..., 0]  # (Q, 3)
    highest_input, which = of_inputs.max(1)
    unruly = torch.where(highest_input > highest, inputs.gather(1, which[:, None])[:, 0], best)
    return best, unruly
