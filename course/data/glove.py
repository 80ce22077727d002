"""GloVe vectors that open at once: parsed the first time, memory-mapped ever after.

The first `open_glove` of a text writes an `.npy` file next to it: the array, and behind it a line
that says which text it was made from, and the vocabulary, a word a line.

What people's files have and does no harm is read: a byte order mark, the line ends of Windows, tabs
and a space at the end of a line, and word2vec's first line, "400000 50".
"""

import codecs
import os
import re
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
from course.data.reading import DataError, expect_text
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
        """Return the row of each word; of a word that is there twice the first, as in gensim."""
        rows = range(len(self.words) - 1, -1, -1)
        return dict(zip(reversed(self.words), rows, strict=True))

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

    A last line without a line end is read with a warning, because its last number may be cut off.

    Raises:
        FileNotFoundError: there is no such text; the message names the command that fetches it.
        DataError: it is damaged; the message names the line, what is there and what to do.
    """
    text = Path(folder or data_folder()) / f"glove.6B.{dim}d.txt"
    if not text.exists():
        raise FileNotFoundError(f"{text} is missing; {_fetch(dim)}")
    _warn_if_cut(text, dim)
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
        f"because nothing could be stored next to it: {failure}",
        stacklevel=2,
    )
    vocabularies, vectors = zip(*read_chunks(text, dim), strict=True)
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
        for vocabulary, vectors in read_chunks(text, dim):
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


def _fetch(dim: int) -> str:
    return f"fetch it with: {typed(f'course data glove --dim {dim}')}"


def _warn_if_cut(text: Path, dim: int) -> None:
    """Warn if the last line has no line end, as when a download or a copy was cut off."""
    with open(text, "rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return  # which has its own error
        file.seek(-1, os.SEEK_END)
        if file.read() != b"\n":
            warnings.warn(
                f"the last line of {text.name} has no line end: the file may be cut off, and its "
                f"last number with it; {_fetch(dim)}, or add a line end",
                stacklevel=3,
            )


def read_chunks(text: Path, dim: int) -> Iterator[tuple[bytes, np.ndarray]]:
    """Give about a megabyte at a time: words (a newline after each) and vectors `(n, C)`."""
    n_lines = 0
    with open(text, "rb") as file:
        chunk = file.read(_CHUNK_BYTES) + file.readline()
        expect_text(text.name, chunk[:1024], _fetch(dim))
        chunk = chunk.removeprefix(codecs.BOM_UTF8)
        if header := re.match(rb"\d+ (\d+) *\r?\n", chunk):
            _expect_width(text, int(header[1]), dim)
            n_lines, chunk = 1, chunk[header.end() :]
        while chunk or (chunk := file.read(_CHUNK_BYTES) + file.readline()):
            parsed = _parse(chunk.removesuffix(b"\n") + b"\n", dim)
            if parsed is None:
                lines = _uniform(chunk)
                parsed = _parse(lines, dim) or _parse_each(text, lines, dim, n_lines)
            yield parsed
            n_lines, chunk = n_lines + len(parsed[1]), b""


def _expect_width(text: Path, width: int, dim: int) -> None:
    if width != dim:
        raise DataError(
            f"{text.name}, line 1: its vectors have {width} numbers, not {dim}; {_fetch(dim)}"
        )


def _uniform(chunk: bytes) -> bytes:
    """Return whole lines with a space between fields and a newline after each line."""
    lines = chunk.removesuffix(b"\n") + b"\n"
    for old, new in ((b"\r\n", b"\n"), (b"\t", b" "), (b" \n", b"\n")):
        lines = lines.replace(old, new)
    return lines


def _parse(lines: bytes, dim: int) -> tuple[bytes, np.ndarray] | None:
    """Return the words and vectors of some lines; None if one is damaged, or a word has spaces."""
    characters = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero((characters == _SPACE) | (characters == _NEWLINE))
    if len(ends) % (dim + 1):
        return None
    # Where each field ends, a row per line: `dim` spaces and then the newline, or it is damaged.
    ends = ends.reshape(-1, dim + 1)
    if ((characters[ends] == _NEWLINE) != (np.arange(dim + 1) == dim)).any():
        return None
    vectors = parse_decimals(lines, ends[:, :-1].ravel() + 1, ends[:, 1:].ravel())
    starts = [0, *(ends[:-1, -1] + 1).tolist()]
    words = [lines[start:end] for start, end in zip(starts, ends[:, 0].tolist(), strict=True)]
    vocabulary = b"\n".join(words) + b"\n"
    if not (np.isfinite(vectors).all() and all(words) and _is_utf8(vocabulary)):
        return None
    return vocabulary, vectors.reshape(-1, dim)


def _parse_each(text: Path, lines: bytes, dim: int, lines_before: int) -> tuple[bytes, np.ndarray]:
    """Return what `_parse` does, line by line: where words have spaces, such as ". . .".

    Raises:
        DataError: a line is damaged.
    """
    words, rows = [], []
    for number, line in enumerate(lines.removesuffix(b"\n").split(b"\n"), lines_before + 1):
        word, *numbers = line.rsplit(b" ", dim)
        if problem := _problem(line, word, numbers, dim):
            raise DataError(f"{text.name}, line {number}: {problem}; correct it, or {_fetch(dim)}")
        words.append(word + b"\n")
        rows.append([float(field) for field in numbers])
    return b"".join(words), np.array(rows, dtype=np.float32)


def _problem(line: bytes, word: bytes, numbers: list[bytes], dim: int) -> str:
    """Return what is wrong with a line that was split into a word and numbers, or nothing."""
    if b"  " in line:
        return f"two spaces in a row after {_shown(line.partition(b'  ')[0])}; put one"
    if len(numbers) < dim:
        return f"{_shown(word)} must be followed by {dim} numbers; got {len(numbers)}"
    for field in numbers:
        if not abs(to_float(field)) <= _LARGEST:  # NaN too
            if re.fullmatch(rb"[-+]?\d*,\d+", field):
                return f"a number must have a decimal point, not a comma; got {_shown(field)}"
            return f"every number must be finite; got {_shown(field)}"
    if not word or not _is_utf8(word):
        return f"the word must be UTF-8 and not empty; got {_shown(word)}"
    *_, last = word.split(b" ")
    if last != word and to_float(last) == to_float(last):
        return f"more than {dim} numbers; they begin in {_shown(word)}"
    return ""


def _shown(text: bytes) -> str:
    """Return the beginning of some bytes, quoted, for any console."""
    return ascii(text[:40].decode("utf-8", "backslashreplace"))


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
