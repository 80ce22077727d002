"""The small models of the figures to play with, trained on the toy kingdom's words.

They are the shoot-out's, a layer each, made of the reference's parts alone.
"""

from functools import cache

import torch

from course.core.schemes import ModelSize
from course.core.syllabus import find_lesson
from course.data.kingdom import kingdom_text
from course.data.tokenizers import WordTokenizer
from course.experiments.character_gpt import CharacterGPT
from course.experiments.training import Training, TrainingSettings
from course.student.exercises import LessonExercises, reference_exercises

SIZE = ModelSize(n_layers=1, n_embd=32, n_heads=4)
READ = 16
"""Words that a model reads at once while it trains."""


def tokenizer_of_words() -> WordTokenizer:
    """Return a tokenizer of the kingdom's words and full stops."""
    return WordTokenizer.from_text(kingdom_text(), pattern=r"[a-z]+|\.")


@cache
def reference_parts(stem: str) -> LessonExercises:
    """Return the exercises of a lesson, all of them the reference's."""
    return reference_exercises(find_lesson(stem))


class _WordTraining(Training):
    """The training of a model that is made of the reference's parts, on words."""

    def new_tokenizer(self, text: str) -> WordTokenizer:
        return tokenizer_of_words()

    def new_model(self, scheme: str) -> CharacterGPT:
        size = self.settings.size
        return CharacterGPT(self.tokenizer.vocab_size, size, scheme, reference_parts)


def trained(scheme: str, quick: bool) -> CharacterGPT:
    """Return a scheme's model at the end of its training; the same code gives the same numbers."""
    torch.set_num_threads(1)  # batches this small share no more
    steps = 10 if quick else 1000
    settings = TrainingSettings(SIZE, steps=steps, batch_size=32, lr=1e-2, context=READ)
    training = _WordTraining(scheme, settings, kingdom_text())
    training.run()
    return training.model.requires_grad_(False)
