"""Characters, words and byte pairs."""

import os
from pathlib import Path

import pytest
import torch

from course.data.kingdom import kingdom_text
from course.data.tokenizers import (
    BPE_FILE,
    CharTokenizer,
    WordTokenizer,
    bpe_tokenizer,
    train_bpe,
)


def test_characters_are_numbered_by_code_point():
    assert CharTokenizer.from_text("banana\n").encode("\nabn") == [0, 1, 2, 3]


def test_characters_round_trip():
    text = kingdom_text(200)
    tokenizer = CharTokenizer.from_text(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_ids_may_be_a_tensor():
    tokenizer = CharTokenizer.from_text("abc")
    assert tokenizer.decode(torch.tensor([2, 0, 1])) == "cab"


def test_an_unknown_character_is_named():
    with pytest.raises(ValueError, match=r"in the vocabulary.*got 'é'"):
        CharTokenizer.from_text("cafe").encode("café")


@pytest.mark.parametrize("bad", [3, -1])
def test_an_id_outside_the_vocabulary_is_named(bad):
    with pytest.raises(ValueError, match=f"0 to 2; got {bad}"):
        CharTokenizer.from_text("abc").decode([0, bad])


def test_an_empty_text_is_fine():
    assert CharTokenizer.from_text("").vocab_size == 0
    assert CharTokenizer.from_text("abc").encode("") == []
    assert WordTokenizer.from_text("").words == []


def test_words_run_from_frequent_to_rare_and_ties_by_first_appearance():
    tokenizer = WordTokenizer.from_text("z y x y x x w")
    assert tokenizer.words == ["x", "y", "z", "w"]
    assert tokenizer.counts == [3, 2, 1, 1]


def test_words_are_lower_case_and_keep_apostrophes():
    assert WordTokenizer.from_text("Th' offence, 'TIS").words == ["th'", "offence", "'tis"]


def test_rare_words_are_left_out_and_dropped():
    tokenizer = WordTokenizer.from_text("a b a c b a", min_count=2)
    assert tokenizer.words == ["a", "b"]
    assert tokenizer.encode("a c never b") == [0, 1]


def test_a_min_count_of_zero_is_refused():
    with pytest.raises(ValueError, match="1 or more; got 0"):
        WordTokenizer.from_text("a", min_count=0)


def test_another_pattern_may_be_chosen():
    assert WordTokenizer.from_text("dog bites.", pattern=r"[a-z]+|\.").words == [
        "dog",
        "bites",
        ".",
    ]


def test_the_byte_pairs_number_4096():
    assert bpe_tokenizer().vocab_size == 4096


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "  two  spaces \n\n\ttab ",
        "naïve café",
        "日本語",
        "👩‍👩‍👧 🇫🇷",
        "\0\x7f\x85\u2028\ufeff",
        "e\u0301",
    ],
)
def test_byte_pairs_round_trip_any_text(text):
    tokenizer = bpe_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_byte_pairs_round_trip_characters_from_all_of_unicode():
    every = "".join(chr(i) for i in range(0, 0x110000, 23) if not 0xD800 <= i < 0xE000)
    tokenizer = bpe_tokenizer()
    assert tokenizer.decode(tokenizer.encode(every)) == every


def test_byte_pairs_round_trip_the_kingdom():
    tokenizer, text = bpe_tokenizer(), kingdom_text()
    ids = tokenizer.encode(text)
    assert tokenizer.decode(torch.tensor(ids)) == text
    assert len(ids) < len(text) / 2


def test_the_pieces_of_a_text_join_to_the_text():
    assert bpe_tokenizer().tokens("the king's crown") == ["the", " king", "'s", " crown"]


def test_training_byte_pairs_twice_gives_the_same_file():
    text = kingdom_text(300)
    assert train_bpe(text, vocab_size=400) == train_bpe(text, vocab_size=400)


@pytest.fixture(scope="module")
def real_data():
    """The folder of real data, which is too large for the repository."""
    folder = os.environ.get("COURSE_REAL_DATA")
    if not folder:
        pytest.skip("$COURSE_REAL_DATA does not name a folder with the real data")
    return Path(folder)


@pytest.fixture
def text(real_data):
    return (real_data / "tinyshakespeare.txt").read_bytes().decode("utf-8")


class TestTinyShakespeare:
    def test_it_has_65_characters(self, text):
        tokenizer = CharTokenizer.from_text(text)
        assert tokenizer.vocab_size == 65
        assert tokenizer.decode(tokenizer.encode(text)) == text

    def test_it_has_204062_words_of_12631_kinds(self, text):
        tokenizer = WordTokenizer.from_text(text)
        assert len(tokenizer.encode(text)) == sum(tokenizer.counts) == 204_062
        assert tokenizer.vocab_size == 12_631

    def test_it_has_3330_words_with_five_or_more_occurrences(self, text):
        assert WordTokenizer.from_text(text, min_count=5).vocab_size == 3_330

    def test_byte_pairs_round_trip_it(self, text):
        tokenizer = bpe_tokenizer()
        assert tokenizer.decode(tokenizer.encode(text)) == text

    def test_the_byte_pairs_in_the_repository_were_learned_from_it(self, text):
        assert train_bpe(text).encode("utf-8") == BPE_FILE.read_bytes()
