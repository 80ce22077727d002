"""Three ways to cut a text into tokens: characters, words, and byte pairs.

Each tokenizer has `encode(text) -> list[int]`, `decode(ids) -> str` and `vocab_size`; ids run
from 0 to vocab_size - 1. `decode` takes any sequence of integers, a tensor of ids too.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

BPE_FILE = Path(__file__).with_name("bpe4096.json")
"""As `tokenizers` has it; its test learns it again from TinyShakespeare."""


class CharTokenizer:
    """A tokenizer: one token a character, in the order of their code points.

    >>> tokenizer = CharTokenizer.from_text("abba cab")
    >>> tokenizer.encode("cab"), tokenizer.decode([3, 1, 2])
    ([3, 1, 2], 'cab')
    """

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = list(characters)
        self.id_of = {character: i for i, character in enumerate(self.characters)}

    @classmethod
    def from_text(cls, text: str) -> "CharTokenizer":
        """Return the tokenizer whose vocabulary is every character of `text`."""
        return cls(sorted(set(text)))

    @property
    def vocab_size(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> list[int]:
        """Return the id of every character; KeyError names one that is not in the vocabulary."""
        return [self.id_of[character] for character in text]

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(_look_up(self.characters, ids))


class WordTokenizer:
    """A tokenizer: one token a word, from frequent to rare; equal ones by first appearance.

    A word is what `pattern` finds in the lower-cased text. Words that the vocabulary lacks are
    dropped by `encode`, as word2vec does: their neighbours move together.

    >>> tokenizer = WordTokenizer.from_text("The dog bites the man. The man runs.", min_count=2)
    >>> tokenizer.words, tokenizer.counts
    (['the', 'man'], [3, 2])
    >>> tokenizer.encode("The man bites the dog."), tokenizer.decode([1, 0])
    ([0, 1, 0], 'man the')
    """

    def __init__(self, words: Iterable[str], counts: Iterable[int], pattern: str) -> None:
        self.words = list(words)
        self.counts = list(counts)
        self.pattern = pattern
        self.id_of = {word: i for i, word in enumerate(self.words)}

    @classmethod
    def from_text(cls, text: str, min_count: int = 1, pattern: str = "[a-z']+") -> "WordTokenizer":
        """Return the tokenizer of all words that occur in `text` at least `min_count` times."""
        # most_common keeps equal counts in the order in which they first came.
        ranked = Counter(re.findall(pattern, text.lower())).most_common()
        kept = [(word, count) for word, count in ranked if count >= min_count]
        return cls([word for word, _ in kept], [count for _, count in kept], pattern)

    @property
    def vocab_size(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Return the id of every known word, in order; unknown words are left out."""
        found = re.findall(self.pattern, text.lower())
        return [self.id_of[word] for word in found if word in self.id_of]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words with single spaces between them: capitals and punctuation are lost."""
        return " ".join(_look_up(self.words, ids))


class BytePairTokenizer:
    """A tokenizer of frequent strings of bytes; each byte is a token, so any text round-trips."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer  # here, so that who needs no byte pairs does not wait

        self._tokenizer = Tokenizer.from_file(str(path))

    @property
    def vocab_size(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids

    def decode(self, ids: Iterable[int]) -> str:
        return self._tokenizer.decode(_as_list(ids))

    def tokens(self, text: str) -> list[str]:
        """Return the pieces that `encode` numbers; half a character is shown as U+FFFD.

        >>> bpe_tokenizer().tokens("the king's daughters")
        ['the', ' king', "'s", ' daughters']
        """
        return [self.decode([i]) for i in self.encode(text)]


def bpe_tokenizer() -> BytePairTokenizer:
    """Return the tokenizer of 4,096 byte pairs that were learned from TinyShakespeare."""
    return BytePairTokenizer(BPE_FILE)


def _as_list(ids: Iterable[int]) -> list[int]:
    """Return plain integers. A tensor's `tolist` is much faster than walking through it."""
    return ids.tolist() if hasattr(ids, "tolist") else list(ids)


def _look_up(vocabulary: list[str], ids: Iterable[int]) -> list[str]:
    ids = _as_list(ids)
    for i in ids:
        if not 0 <= i < len(vocabulary):  # a negative one would quietly count from the end
            raise ValueError(f"ids must be 0 to {len(vocabulary) - 1}; got {i}")
    return [vocabulary[i] for i in ids]
