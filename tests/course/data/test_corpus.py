"""The toy kingdom, and the choice between it and TinyShakespeare."""

import random
import re

import pytest

from course.data.corpus import load_corpus
from course.data.kingdom import ANALOGIES, NOUNS, kingdom_text, language
from course.data.tokenizers import WordTokenizer
from course.lessons.skipgram import real_words


def test_the_seed_alone_decides_about_the_text():
    random.seed(1)
    before = random.getstate()
    first = kingdom_text(50, seed=3)
    assert random.getstate() == before
    random.seed(2)
    assert kingdom_text(50, seed=3) == first != kingdom_text(50, seed=4)


def test_every_line_is_lower_case_words_and_a_full_stop():
    text = kingdom_text()
    assert len(text) > 60_000  # enough for windows of 256 characters
    assert {"dog bites man.", "man bites dog."} <= set(text.splitlines())
    for line in text.splitlines():
        assert re.fullmatch(r"[a-z]+( [a-z]+)+\.", line), line
    assert [kingdom_text(n).count("\n") for n in (0, 1, 100)] == [0, 1, 100]


def test_the_language_is_all_that_a_text_has_sooner_or_later():
    assert set(kingdom_text(100_000).splitlines()) == language()


def test_an_analogy_trades_the_same_trait_twice_in_every_family_and_its_words_occur_often():
    often = WordTokenizer.from_text(kingdom_text(), min_count=50).words
    for a, b, c, d in ANALOGIES:
        traits = {word: set(NOUNS[word].split()) for word in (a, b, c, d)}
        assert traits[b] - traits[a] == traits[d] - traits[c]
        assert traits[a] - traits[b] == traits[c] - traits[d]
        assert len({a, b, c, d}) == 4 and {a, b, c, d} <= {*often}
    families = "man king woman queen, king prince queen princess, dog dogs cat cats"
    families += ", man boy dog puppy, france paris greece athens, day sun night moon"
    assert {tuple(one.split()) for one in families.split(", ")} <= {*ANALOGIES}


@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_skip_gram_learns_the_analogies(seed):
    words = real_words.words_of(kingdom_text(seed=seed))
    rows = real_words.trained(words, (10,), seed, n_embd=16)[10].center
    right, asked = real_words.n_right(rows, words.words, [*map(list, ANALOGIES)])
    assert asked == len(ANALOGIES) and right > 0.9 * asked
    queen = real_words.n_right(rows, words.words, [["man", "king", "woman", "queen"]])
    assert queen == (1, 1)


def test_without_any_data_the_corpus_is_the_kingdom_and_else_what_was_fetched(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert (load_corpus().name, load_corpus().text) == ("kingdom", kingdom_text())
    (tmp_path / "tinyshakespeare.txt").write_bytes("Première\nCitizen:\n".encode())
    assert (load_corpus().name, load_corpus().text) == ("tinyshakespeare", "Première\nCitizen:\n")
