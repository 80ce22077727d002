"""The one reader of the text files that people bring: corpora, word vectors, questions.

It accepts what does no harm (a byte order mark, the line ends of Windows) and refuses the rest
in one sentence: the file, the line, what is there, and what to do.
"""

import codecs
import re
from pathlib import Path

_BEGINNING = 1024
"""Bytes that are enough to recognize what a file is."""


class DataError(ValueError):
    """A data file that is missing or cannot be used; the message is one sentence."""


def read_text(path: Path, replace_by: str) -> str:
    r"""Return the text of a file without a byte order mark, each line ending in "\n".

    Args:
        replace_by: what to do about a damaged file, such as "fetch it with: course data ...".

    Raises:
        DataError: it is missing, empty or not text in UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); {replace_by}") from None
    expect_text(path.name, data[:_BEGINNING], replace_by)
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise DataError(f"{path.name}, line {line}: a null byte, which no text has; {replace_by}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path.name}, line {line}: the byte {data[error.start]:#04x} is not UTF-8; save "
            f"the file as UTF-8, or {replace_by}"
        ) from None
    return text.replace("\r\n", "\n")


def expect_text(name: str, beginning: bytes, replace_by: str) -> None:
    """Raise DataError if a file that begins like this is empty, or is another file.

    >>> expect_text("glove.6B.50d.txt", b"<!DOCTYPE html><title>404</title>", "fetch it again")
    Traceback (most recent call last):
    course.data.reading.DataError: glove.6B.50d.txt is a web page; fetch it again
    """
    start = beginning.removeprefix(codecs.BOM_UTF8).lstrip()
    if not start:
        raise DataError(f"{name} is empty; {replace_by}")
    if is_web_page(start):
        raise DataError(f"{name} is a web page; {replace_by}")
    if start.startswith(b"version https://git-lfs"):
        raise DataError(f"{name} is only a pointer of Git LFS to a file; {replace_by}")


def is_web_page(beginning: bytes) -> bool:
    """Return whether a file begins like HTML."""
    start = beginning.lstrip()
    return bool(re.match(rb"<(!doctype\s+html|html|\?xml)\b", start, re.IGNORECASE))
