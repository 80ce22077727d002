"""Packed bytes on this disk, read as text: xz, a zip, or the part of a zip with one member."""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from course.data.fetch import Damaged, Unavailable

_UNREADABLE = (
    *(EOFError, RuntimeError, ValueError, struct.error),
    *(lzma.LZMAError, zipfile.BadZipFile, zlib.error),
)


@contextmanager
def unpacked(path: Path, form: str, name: str) -> Iterator[BinaryIO]:
    """Open what is packed in a file in one of the forms of a `Source`.

    Args:
        name: which member of a zip is wanted, unless it has only one.

    Raises:
        Damaged: it cannot be unpacked, or not to what the zip's CRC-32 says.
        Unavailable: it is a zip without that member.
    """
    with _explained(f".{form} file" if form == "xz" else "zip"), open(path, "rb") as file:
        if form == "text":
            yield file
        elif form == "xz":
            with lzma.open(file) as text:
                yield text
        elif form == "zip":
            with zipfile.ZipFile(file) as archive, archive.open(_find(archive, name)) as text:
                yield text
        else:
            yield _open_member(file)


def member_span(tail: bytes, total: int, name: str) -> tuple[int, int]:
    """Return where in a zip the member `name` and its header begin, and how long they are.

    Args:
        tail: the end of the zip, with its directory.
        total: the size of the whole zip.
    """
    with _explained("zip"), zipfile.ZipFile(io.BytesIO(tail)) as archive:
        # Offsets count from the beginning of `tail`: those of the members are negative.
        found = _find(archive, name).header_offset
        ends = [*(member.header_offset for member in archive.infolist()), archive.start_dir]
        return total - len(tail) + found, min(end for end in ends if end > found) - found


def _find(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the member `name`, or the only member whatever it is called."""
    members = archive.infolist()
    found = [m for m in members if m.filename.rsplit("/", 1)[-1] == name] or members
    if len(found) != 1:
        raise Unavailable(f"the zip holds {len(members)} files, none of them {name}")
    return found[0]


def _open_member(piece: BinaryIO) -> BinaryIO:
    """Open the member that a piece of a zip begins with."""
    header = piece.read(30)
    magic, _, flags, method, _, crc, packed, size, *lengths = struct.unpack("<4sHHHLLLLHH", header)
    if magic != b"PK\x03\x04":
        raise Damaged("the zip is damaged: no member begins where one should")
    if flags & 8:
        raise Unavailable("the zip tells the length of its member only behind it")
    piece.seek(sum(lengths), io.SEEK_CUR)  # the member's name and extra fields
    info = zipfile.ZipInfo()
    info.compress_type, info.CRC, info.compress_size, info.file_size = method, crc, packed, size
    return zipfile.ZipExtFile(piece, "r", info)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE:
        raise Damaged(f"the {what} is cut short or damaged, or is no {what}") from None
