"""GloVe vectors that open at once: parsed the first time, memory-mapped ever after.

The first `open_glove` of a text writes an `.npy` file next to it: the array, and behind it a line
that says which text it was made from, and the vocabulary, a word a line.

What people's files have and does no harm is read: a byte order mark, the line ends of Windows, tabs
and a space at the end of a line, and word2vec's first line, "400000 50".
"""

import io
import os
import re
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from course.core.console import typed
from course.core.files import write_bytes_atomically
from course.data import data_folder
from course.data.reading import DataError, expect_text

if TYPE_CHECKING:
    import torch

_PIECE_BYTES = 1 << 21
_LARGEST = float(np.finfo(np.float32).max)


class WordVectors:
    """Words and their vectors, row by row.

    >>> vectors = WordVectors(b"king\\nqueen\\n", np.array([[1, 2], [3, 4]], dtype=np.float32))
    >>> len(vectors), "queen" in vectors, vectors.index["queen"], vectors["queen"]
    (2, True, 1, array([3., 4.], dtype=float32))
    """

    def __init__(self, vocabulary: bytes, vectors: np.ndarray) -> None:
        """Take the words (UTF-8, a newline after each) and their vectors `(V, C)`, float32."""
        self._vocabulary = vocabulary
        self._pages = vectors
        self.vectors = vectors.view()
        self.vectors.flags.writeable = False

    @cached_property
    def words(self) -> list[str]:
        """Return the word of each row."""
        # Not splitlines: it would also split at the rarer line ends of Unicode.
        return self._vocabulary.decode("utf-8").split("\n")[:-1]

    @cached_property
    def index(self) -> dict[str, int]:
        """Return the row of each word; of a word that is there twice the first, as in gensim."""
        rows = range(len(self.words) - 1, -1, -1)
        return dict(zip(reversed(self.words), rows, strict=True))

    def tensor(self) -> "torch.Tensor":
        """Return all vectors as a `(V, C)` float32 tensor that shares their memory.

        Writing into it changes `vectors` too, in this process only: never the file.
        """
        import torch

        return torch.from_numpy(self._pages)

    def __getitem__(self, word: str) -> np.ndarray:
        """Return the vector `(C,)` of `word`, read-only; KeyError when there is none."""
        return self.vectors[self.index[word]]

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __len__(self) -> int:
        return len(self.vectors)


def open_glove(dim: int = 50, folder: str | os.PathLike | None = None) -> WordVectors:
    """Return the vectors of `glove.6B.{dim}d.txt` in `folder` (default: the data folder).

    `course data glove` fetches those of 50 numbers.

    A last line without a line end is read with a warning, because its last number may be cut off.

    Raises:
        FileNotFoundError: there is no such text; the message names the command that fetches it.
        DataError: it is damaged; the message names the line, what is there and what to do.
    """
    text = Path(folder or data_folder()) / f"glove.6B.{dim}d.txt"
    if not text.exists():
        raise FileNotFoundError(f"{text} is missing; {_fetch()}")
    facts = text.stat()
    origin = f"{text.name} {facts.st_size} bytes, modified {facts.st_mtime_ns}\n".encode()
    store = text.with_suffix(".npy")
    if stored := _stored(store, origin, dim):
        return stored
    vocabulary, vectors = _read(text, dim)
    saved = io.BytesIO()
    np.save(saved, vectors)
    saved.write(origin + vocabulary)
    try:
        write_bytes_atomically(store, saved.getbuffer())
    except OSError as error:  # a read-only folder, a full disk
        warnings.warn(
            f"{text.name} will be parsed again next time, because nothing could be stored next to "
            f"it: {error}",
            stacklevel=2,
        )
    return WordVectors(vocabulary, vectors)


def _stored(store: Path, origin: bytes, dim: int) -> WordVectors | None:
    """Return what an earlier call stored; None if it is missing, incomplete or of another text."""
    try:
        # "c", copy on write: a stray write stays in this process, where "r" would crash it.
        vectors = np.load(store, mmap_mode="c")
        with open(store, "rb") as file:
            file.seek(vectors.offset + vectors.nbytes)
            found, vocabulary = file.readline(), file.read()
    except (OSError, EOFError, ValueError):
        return None
    if found != origin or vectors.shape != (vocabulary.count(b"\n"), dim):
        return None
    return WordVectors(vocabulary, np.asarray(vectors))


def _fetch() -> str:
    return f"fetch it with: {typed('course data glove')}"


def _read(text: Path, dim: int) -> tuple[bytes, np.ndarray]:
    """Return all words (a newline after each) and vectors `(V, C)` of a text."""
    words, vectors, last = [], [np.empty((0, dim), np.float32)], b"\n"
    with open(text, "rb") as file:
        beginning = file.read(1024)
        expect_text(text.name, beginning, _fetch())
        skipped = re.match(rb"(\xef\xbb\xbf)?(\d+ %d\s*\n)?" % dim, beginning)
        file.seek(skipped.end())
        n_lines = skipped[0].count(b"\n")
        while lines := file.readlines(_PIECE_BYTES):
            parsed = _parse(lines, dim) or _parse_each(text, lines, dim, n_lines)
            words.append(parsed[0])
            vectors.append(parsed[1])
            n_lines += len(lines)
            last = lines[-1]
    if not last.endswith(b"\n"):
        warnings.warn(
            f"the last line of {text.name} has no line end: the file may be cut off, and its "
            f"last number with it; {_fetch()}, or add a line end",
            stacklevel=3,
        )
    return b"".join(words), np.concatenate(vectors)


def _parse(lines: list[bytes], dim: int) -> tuple[bytes, np.ndarray] | None:
    """Return the words and vectors of some lines, or None if a line is damaged or unusual.

    NumPy reads the numbers of all lines at once, so only their total is known. But each line has
    `dim` fields, none of them is empty, and each gives at least one number or ends the reading: if
    the total is right, each gives one.
    """
    words, _, rest = zip(*(line.partition(b" ") for line in lines), strict=True)
    vocabulary, numbers = b"\n".join(words) + b"\n", b"".join(rest)
    characters = np.frombuffer(numbers, np.uint8)
    ends = np.flatnonzero(characters <= ord(" "))  # of fields
    last = characters[ends[dim - 1 :: dim]]
    if len(ends) != dim * len(lines) or (last != ord("\n")).any():
        return None
    if np.diff(ends, prepend=-1).min() < 2:  # two spaces in a row
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how NumPy says "this is no number"
        try:
            vocabulary.decode("utf-8")
            vectors = np.fromstring(numbers, np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    good = all(words) and len(vectors) == dim * len(lines) and np.isfinite(vectors).all()
    return (vocabulary, vectors.reshape(-1, dim)) if good else None


def _parse_each(
    text: Path, lines: list[bytes], dim: int, lines_before: int
) -> tuple[bytes, np.ndarray]:
    """Return what `_parse` does, line by line: where words have spaces, such as ". . .".

    Raises:
        DataError: a line is damaged.
    """
    words, rows = [], []
    for number, line in enumerate(lines, lines_before + 1):
        word, *fields = line.rsplit(None, dim) or [b""]
        try:
            word.decode("utf-8")
            row = [float(field) for field in fields]
        except ValueError:
            row = []
        has_more = re.search(rb"\s[-+]?\d*\.?\d+$", word)
        if has_more or len(row) < dim or not all(abs(one) <= _LARGEST for one in row):
            shown = ascii(line[:60].decode("utf-8", "backslashreplace").strip())  # for any console
            raise DataError(
                f"{text.name}, line {number}: it must be a word and {dim} finite numbers, in "
                f"UTF-8; got {shown}; correct it, or {_fetch()}"
            )
        words.append(word + b"\n")
        rows.append(row)
    return b"".join(words), np.array(rows, dtype=np.float32)
