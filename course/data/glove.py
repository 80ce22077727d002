"""GloVe vectors that open at once: parsed the first time, memory-mapped ever after.

The first `open_glove` of a text writes two files beside it: the array (`.npy`) and the
vocabulary (`.words`, one word a line below a line that says which text they were made from).
"""

import os
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from course.data import data_folder
from course.data.decimals import parse_decimals, to_float

if TYPE_CHECKING:
    import torch

_CHUNK_BYTES = 1 << 20
_SPACE, _NEWLINE = b" \n"
_LARGEST = float(np.finfo(np.float32).max)


class WordVectors:
    """Words and their vectors, row by row.

    >>> vectors = WordVectors(b"king\\nqueen\\n", np.array([[1, 2], [3, 4]], dtype=np.float32))
    >>> len(vectors), "queen" in vectors, vectors.index["queen"], vectors["queen"]
    (2, True, 1, array([3., 4.], dtype=float32))
    """

    def __init__(self, vocabulary: bytes, vectors: np.ndarray) -> None:
        """`vocabulary`: UTF-8, a newline after each word; `vectors`: `(V, C)` float32."""
        self._vocabulary = vocabulary
        self._pages = vectors
        self.vectors = vectors.view()
        self.vectors.flags.writeable = False

    @cached_property
    def words(self) -> list[str]:
        """The word of each row."""
        # Not splitlines: it would also split at the rarer line ends of Unicode.
        return self._vocabulary.decode("utf-8").split("\n")[:-1]

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def tensor(self) -> "torch.Tensor":
        """All vectors as a `(V, C)` float32 tensor that shares their memory.

        Writing into it changes `vectors` too, in this process only: never the file.
        """
        import torch

        return torch.from_numpy(self._pages)

    def nearest(self, vector: np.ndarray, top_k: int = 10) -> list[tuple[str, float]]:
        """The words whose vectors point most nearly the same way as `vector` `(C,)`.

        The first call makes unit rows, as large as the vectors, and keeps them: with 400,000 rows
        it takes a quarter of a second, and every later one milliseconds.

        Returns:
            `top_k` words with their cosines, the nearest first; a row of zeros has the cosine 0.

        >>> vectors = WordVectors(b"up\\nright\\n", np.array([[0, 2], [3, 0]], dtype=np.float32))
        >>> vectors.nearest(vectors["up"])
        [('up', 1.0), ('right', 0.0)]
        """
        import torch
        from torch.nn.functional import normalize

        direction = normalize(torch.from_numpy(np.array(vector, dtype=np.float32)), dim=0)
        cosines, rows = (self._units @ direction).topk(min(top_k, len(self)))
        found = zip(rows.tolist(), cosines.tolist(), strict=True)
        return [(self.words[row], cosine) for row, cosine in found]

    @cached_property
    def _units(self) -> "torch.Tensor":
        from torch.nn.functional import normalize

        return normalize(self.tensor(), dim=1)

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector `(C,)` of `word`, read-only; KeyError when there is none."""
        return self.vectors[self.index[word]]

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __len__(self) -> int:
        return len(self.vectors)


def open_glove(dim: int = 50, folder: str | os.PathLike | None = None) -> WordVectors:
    """The vectors of `glove.6B.{dim}d.txt` in `folder` (default: the data folder).

    Raises:
        FileNotFoundError: there is no such text; the message names the command that fetches it.
        ValueError: a line of it is damaged; the message names the line and what is wrong with it.
    """
    text = Path(folder or data_folder()) / f"glove.6B.{dim}d.txt"
    if not text.exists():
        raise FileNotFoundError(f"{text} is missing; fetch it with: course data glove --dim {dim}")
    if stored := _stored(text, dim):
        return stored
    failure = "the text changes while it is read"
    try:
        _store(text, dim)
    except OSError as error:  # a read-only folder, a full disk
        failure = str(error)
    # Asked even after a failure: another process may have stored the same text meanwhile, and
    # Windows lets nobody replace a file that is mapped.
    if stored := _stored(text, dim):
        return stored
    warnings.warn(
        f"{text.name} was read into memory and will be parsed again next time, "
        f"because nothing could be stored beside it: {failure}",
        stacklevel=2,
    )
    return _in_memory(text, dim)


def _store_paths(text: Path) -> tuple[Path, Path]:
    return text.with_suffix(".npy"), text.with_suffix(".words")


def _origin(text: Path) -> bytes:
    """The first line of the vocabulary file: it differs as soon as the text has changed."""
    facts = text.stat()
    return f"{text.name} {facts.st_size} bytes, modified {facts.st_mtime_ns}\n".encode()


def _stored(text: Path, dim: int) -> WordVectors | None:
    """What an earlier call stored, or None if it is missing, incomplete or of another text."""
    array_path, words_path = _store_paths(text)
    try:
        with open(words_path, "rb") as file:
            origin, vocabulary = file.readline(), file.read()
        # "c", copy on write: a stray write stays in this process, where "r" would crash it.
        vectors = np.lib.format.open_memmap(array_path, mode="c")
    except (OSError, ValueError):
        return None
    if origin != _origin(text) or vectors.shape != (vocabulary.count(b"\n"), dim):
        return None
    return WordVectors(vocabulary, np.asarray(vectors))


def _store(text: Path, dim: int) -> None:
    array_path, words_path = _store_paths(text)
    # The vocabulary is renamed last: only its first line makes the array beside it valid.
    with _replacing(words_path) as words_file, _replacing(array_path) as array_file:
        words_file.write(_origin(text))
        _write_header(array_file, 0, dim)
        n_rows = 0
        for vocabulary, vectors in _chunks(text, dim):
            words_file.write(vocabulary)
            array_file.write(vectors.astype("<f4", copy=False).data)
            n_rows += len(vectors)
        array_file.seek(0)
        _write_header(array_file, n_rows, dim)


def _write_header(file: BinaryIO, n_rows: int, dim: int) -> None:
    """The head of an .npy file; numpy pads it, so that its length does not depend on `n_rows`."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, dim)}
    np.lib.format.write_array_header_1_0(file, header)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the name `path` once it is complete, and vanishes if it never is."""
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with open(unfinished, "xb") as file:
            yield file
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _in_memory(text: Path, dim: int) -> WordVectors:
    vocabularies, vectors = zip(*_chunks(text, dim), strict=True)
    return WordVectors(b"".join(vocabularies), np.concatenate(vectors))


def _chunks(text: Path, dim: int) -> Iterator[tuple[bytes, np.ndarray]]:
    """The text, about a megabyte at a time: words (a newline after each) and vectors `(n, C)`."""
    n_lines = 0
    with open(text, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES) + file.readline():
            if not chunk.endswith(b"\n"):
                chunk += b"\n"
            parsed = _parse(chunk, dim)
            if parsed is None:
                raise ValueError(f"{text.name}, {_first_complaint(chunk, dim, n_lines + 1)}")
            yield parsed
            n_lines += len(parsed[1])
    if n_lines == 0:
        raise ValueError(f"{text.name} must hold a word and {dim} numbers a line; it is empty")


def _parse(chunk: bytes, dim: int) -> tuple[bytes, np.ndarray] | None:
    """The words and vectors of some whole lines; None if any of the lines is damaged."""
    characters = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero((characters == _SPACE) | (characters == _NEWLINE))
    if len(ends) % (dim + 1):
        return None
    # Where each field ends, a row per line: `dim` spaces and then the newline, or it is damaged.
    ends = ends.reshape(-1, dim + 1)
    is_newline = characters[ends] == _NEWLINE
    if is_newline[:, :-1].any() or not is_newline[:, -1].all():
        return None
    vectors = parse_decimals(chunk, ends[:, :-1].ravel() + 1, ends[:, 1:].ravel())
    line_starts = [0, *(ends[:-1, -1] + 1).tolist()]
    words = [chunk[start:end] for start, end in zip(line_starts, ends[:, 0].tolist(), strict=True)]
    vocabulary = b"\n".join(words) + b"\n"
    if not (np.isfinite(vectors).all() and all(words) and _is_utf8(vocabulary)):
        return None
    return vocabulary, vectors.reshape(-1, dim)


def _first_complaint(chunk: bytes, dim: int, first_line: int) -> str:
    """Where and how `chunk` is damaged: `_parse` only sees that it is."""
    lines = chunk.removesuffix(b"\n").split(b"\n")
    complaints = ((number, _complaint(line, dim)) for number, line in enumerate(lines, first_line))
    number, complaint = next((number, what) for number, what in complaints if what)
    return f"line {number}: {complaint}"


def _complaint(line: bytes, dim: int) -> str | None:
    word, *numbers = line.split(b" ")
    if len(numbers) != dim:
        return f"{word[:40]!r} must be followed by {dim} numbers; got {len(numbers)}"
    if not word or not _is_utf8(word):
        return f"the word must be UTF-8 and not empty; got {word!r}"
    bad = [number for number in numbers if not abs(to_float(number)) <= _LARGEST]  # NaN too
    return f"every number must be finite; got {bad[0]!r}" if bad else None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
