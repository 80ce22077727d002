"""GloVe vectors that open at once: parsed the first time, memory-mapped ever after.

The first `open_glove` of a text writes an `.npy` file beside it: the array, and behind it a line
that says which text it was made from, and the vocabulary, a word a line.
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
from course.system.console import typed

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
        """Return the row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def tensor(self) -> "torch.Tensor":
        """Return all vectors as a `(V, C)` float32 tensor that shares their memory.

        Writing into it changes `vectors` too, in this process only: never the file.
        """
        import torch

        return torch.from_numpy(self._pages)

    def nearest(self, vector: np.ndarray, top_k: int = 10) -> list[tuple[str, float]]:
        """Return the words whose vectors point most nearly the same way as `vector` `(C,)`.

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
        """Return the vector `(C,)` of `word`, read-only; KeyError when there is none."""
        return self.vectors[self.index[word]]

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __len__(self) -> int:
        return len(self.vectors)


def open_glove(dim: int = 50, folder: str | os.PathLike | None = None) -> WordVectors:
    """Return the vectors of `glove.6B.{dim}d.txt` in `folder` (default: the data folder).

    Raises:
        FileNotFoundError: there is no such text; the message names the command that fetches it.
        ValueError: a line of it is damaged; the message names the line and what is wrong with it.
    """
    text = Path(folder or data_folder()) / f"glove.6B.{dim}d.txt"
    if not text.exists():
        fetch = typed(f"course data glove --dim {dim}")
        raise FileNotFoundError(f"{text} is missing; fetch it with: {fetch}")
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
    vocabularies, vectors = zip(*_chunks(text, dim), strict=True)
    return WordVectors(b"".join(vocabularies), np.concatenate(vectors))


def _stored(text: Path, dim: int) -> WordVectors | None:
    """Return what an earlier call stored; None if it is missing, incomplete or of another text."""
    try:
        with open(text.with_suffix(".npy"), "rb") as file:
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            # "c", copy on write: a stray write stays in this process, where "r" would crash it.
            vectors = np.memmap(file, dtype, mode="c", offset=file.tell(), shape=shape)
            file.seek(vectors.offset + vectors.nbytes)
            origin, vocabulary = file.readline(), file.read()
    except (OSError, ValueError):
        return None
    if origin != _origin(text) or vectors.shape != (vocabulary.count(b"\n"), dim):
        return None
    return WordVectors(vocabulary, np.asarray(vectors))


def _store(text: Path, dim: int) -> None:
    vocabularies, n_rows = [_origin(text)], 0
    with _replacing(text.with_suffix(".npy")) as file:
        _write_header(file, (n_rows, dim))
        for vocabulary, vectors in _chunks(text, dim):
            vocabularies.append(vocabulary)
            file.write(vectors.astype("<f4", copy=False).data)
            n_rows += len(vectors)
        file.writelines(vocabularies)
        file.seek(0)
        _write_header(file, (n_rows, dim))  # as long as before: numpy pads it


def _origin(text: Path) -> bytes:
    """Return a line that changes with the text."""
    facts = text.stat()
    return f"{text.name} {facts.st_size} bytes, modified {facts.st_mtime_ns}\n".encode()


def _write_header(file: BinaryIO, shape: tuple[int, int]) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a new file that takes the name `path` once it is complete, or else vanishes."""
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with open(unfinished, "xb") as file:
            yield file
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _chunks(text: Path, dim: int) -> Iterator[tuple[bytes, np.ndarray]]:
    """Give about a megabyte at a time: words (a newline after each) and vectors `(n, C)`."""
    n_lines = 0
    with open(text, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES) + file.readline():
            chunk = chunk.removesuffix(b"\n") + b"\n"
            if (parsed := _parse(chunk, dim)) is None:
                raise ValueError(f"{text.name}, {_complaint(chunk, dim, n_lines)}")
            yield parsed
            n_lines += len(parsed[1])
    if n_lines == 0:
        raise ValueError(f"{text.name} must hold a word and {dim} numbers a line; it is empty")


def _parse(chunk: bytes, dim: int) -> tuple[bytes, np.ndarray] | None:
    """Return the words and vectors of some whole lines; None if any of the lines is damaged."""
    characters = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero((characters == _SPACE) | (characters == _NEWLINE))
    if len(ends) % (dim + 1):
        return None
    # Where each field ends, a row per line: `dim` spaces and then the newline, or it is damaged.
    ends = ends.reshape(-1, dim + 1)
    if ((characters[ends] == _NEWLINE) != (np.arange(dim + 1) == dim)).any():
        return None
    vectors = parse_decimals(chunk, ends[:, :-1].ravel() + 1, ends[:, 1:].ravel())
    line_starts = [0, *(ends[:-1, -1] + 1).tolist()]
    words = [chunk[start:end] for start, end in zip(line_starts, ends[:, 0].tolist(), strict=True)]
    vocabulary = b"\n".join(words) + b"\n"
    if not (np.isfinite(vectors).all() and all(words) and _is_utf8(vocabulary)):
        return None
    return vocabulary, vectors.reshape(-1, dim)


def _complaint(chunk: bytes, dim: int, lines_before: int) -> str:
    """Tell which line of `chunk` is damaged and how: `_parse` only sees that one is."""
    for number, line in enumerate(chunk.removesuffix(b"\n").split(b"\n"), lines_before + 1):
        word, *numbers = line.split(b" ")
        if len(numbers) != dim:
            what = f"{word[:40]!r} must be followed by {dim} numbers; got {len(numbers)}"
            return f"line {number}: {what}"
        if not word or not _is_utf8(word):
            return f"line {number}: the word must be UTF-8 and not empty; got {word!r}"
        for field in numbers:
            if not abs(to_float(field)) <= _LARGEST:  # NaN too
                return f"line {number}: every number must be finite; got {field!r}"


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
