"""Characters, words and byte pairs."""

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from course.data.kingdom import kingdom_text
from course.data.tokenizers import BPE_FILE, CharTokenizer, WordTokenizer, bpe_tokenizer


def test_characters_are_numbered_by_code_point_and_round_trip():
    text = kingdom_text(200)
    tokenizer = CharTokenizer.from_text(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert CharTokenizer.from_text("banana\n").encode("\nabn") == [0, 1, 2, 3]
    assert CharTokenizer.from_text("abc").decode(torch.tensor([2, 0, 1])) == "cab"


def test_words_run_from_frequent_to_rare_in_lower_case_and_rare_ones_are_dropped():
    tokenizer = WordTokenizer.from_text("z y x y x x w")  # ties by first appearance
    assert (tokenizer.words, tokenizer.counts) == (["x", "y", "z", "w"], [3, 2, 1, 1])
    assert WordTokenizer.from_text("Th' offence, 'TIS").words == ["th'", "offence", "'tis"]
    assert WordTokenizer.from_text("dog.", pattern=r"[a-z]+|\.").words == ["dog", "."]
    frequent = WordTokenizer.from_text("a b a c b a", min_count=2)
    assert frequent.words == ["a", "b"] and frequent.encode("a c never b") == [0, 1]


@pytest.mark.parametrize("wrong", [3, -1])
def test_an_id_that_is_not_in_a_vocabulary_is_named(wrong):
    with pytest.raises(ValueError, match=f"0 to 2; got {wrong}"):
        CharTokenizer.from_text("abc").decode([0, wrong])


EVERY = "".join(chr(i) for i in range(0, 0x110000, 23) if not 0xD800 <= i < 0xE000)


@pytest.mark.parametrize(
    "text", ["", "  two  spaces \n\n\ttab ", "naïve e\u0301 日本語 👩‍👩‍👧", EVERY, kingdom_text()]
)
def test_byte_pairs_round_trip_any_text(text):
    tokenizer = bpe_tokenizer()
    assert tokenizer.vocab_size == 4096
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == tokenizer.decode(torch.tensor(ids)) == text
    assert text != kingdom_text() or len(ids) < len(text) / 2
    assert tokenizer.tokens("the king's crown") == ["the", " king", "'s", " crown"]


@pytest.fixture(scope="module")
def text(real_data):
    """The real TinyShakespeare, which is too large for the repository."""
    return (real_data / "tinyshakespeare.txt").read_bytes().decode("utf-8")


def test_tinyshakespeare_has_65_characters_and_204062_words_of_12631_kinds(text):
    characters, words = CharTokenizer.from_text(text), WordTokenizer.from_text(text)
    assert characters.vocab_size == 65
    assert characters.decode(characters.encode(text)) == text
    assert len(words.encode(text)) == sum(words.counts) == 204_062
    assert words.vocab_size == 12_631
    assert WordTokenizer.from_text(text, min_count=5).vocab_size == 3_330


@pytest.mark.slow
def test_the_byte_pairs_in_the_repository_were_learned_from_tinyshakespeare(text):
    tokenizer = bpe_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert learned_from(text).encode("utf-8") == BPE_FILE.read_bytes()


def learned_from(text):
    """Byte pairs: the 256 bytes, and the most frequent neighbors, joined until there are 4,096."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=4096,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer.to_str()
