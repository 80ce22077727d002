"""The one reader of the text files that people bring: corpora, word vectors, questions.

It accepts what does no harm (a byte order mark, the line ends of Windows) and refuses the rest
in one sentence: the file, the line, what is there, and what to do.
"""

import codecs
import re
from pathlib import Path

_BEGINNING = 1024
"""Bytes that are enough to recognize what a file is."""

_PACKED = {b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip", b"\xfd7zXZ\0": "xz"}


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
    """Raise DataError if a file that begins like this is empty, or is not text in UTF-8.

    >>> expect_text("glove.6B.50d.txt", b"<!DOCTYPE html><title>404</title>", "fetch it again")
    Traceback (most recent call last):
    course.data.reading.DataError: glove.6B.50d.txt is a web page; fetch it again
    """
    start = beginning.removeprefix(codecs.BOM_UTF8).lstrip()
    is_what = {
        "is empty": not start,
        "is a web page": is_web_page(start),
        "is only a pointer of Git LFS to a file": start.startswith(b"version https://git-lfs"),
        "is text in UTF-16, not in UTF-8": is_utf16(beginning),
        **{f"is packed ({kind})": beginning.startswith(magic) for magic, kind in _PACKED.items()},
    }
    for what, it_is in is_what.items():
        if it_is:
            raise DataError(f"{name} {what}; {replace_by}")


def is_web_page(beginning: bytes) -> bool:
    """Return whether a file begins like HTML."""
    start = beginning.lstrip()
    return bool(re.match(rb"<(!doctype\s+html|html|\?xml)\b", start, re.IGNORECASE))


def is_utf16(beginning: bytes) -> bool:
    """Return whether a text begins like UTF-16: by its mark, or by a null in every other byte.

    >>> is_utf16("First".encode("utf-16")), is_utf16("First".encode("utf-16-le")), is_utf16(b"Hi")
    (True, True, False)
    """
    has_mark = beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    halves = beginning[:64:2], beginning[1:64:2]
    return has_mark or any(len(half) > 1 and not half.strip(b"\0") for half in halves)
