"""From packed bytes on this disk to text: plain, xz, or the member of a zip."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from course.data.errors import Damaged, Unavailable
from course.data.sources import Kind

CHUNK = 1 << 18


@dataclass(frozen=True)
class Member:
    """Where the deflated bytes of a zip's member lie, and the CRC-32 of what they inflate to."""

    offset: int
    length: int
    crc32: int | None = None


@dataclass(frozen=True)
class Pack:
    """A packed dataset on this disk; `zip_size` is that of the zip that it is, or is a part of."""

    path: Path
    kind: Kind
    member: Member | None = None
    zip_size: int | None = None


def find_member(file: BinaryIO, name: str) -> Member:
    """Where in a zip the member `name` is, or the only member whatever it is called.

    Raises:
        Damaged: it is no zip, or the directory at its end is missing.
        Unavailable: it is a zip without that member.
    """
    try:
        members = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, struct.error, NotImplementedError):
        raise Damaged("the zip is cut short or is no zip: its directory is missing") from None
    found = [m for m in members if m.filename.rsplit("/", 1)[-1] == name] or members
    if len(found) != 1:
        raise Unavailable(f"the zip holds {len(members)} files, none of them {name}")
    if found[0].compress_type != zipfile.ZIP_DEFLATED:
        raise Unavailable("the zip is compressed in another way than by deflate")
    return Member(_data_offset(file, found[0].header_offset), found[0].compress_size, found[0].CRC)


def _data_offset(file: BinaryIO, header: int) -> int:
    """Behind the member's own header, whose last two numbers are its name's and extra's lengths."""
    file.seek(header)
    fixed = file.read(30)
    if len(fixed) < 30 or fixed[:4] != b"PK\x03\x04":
        raise Damaged("the zip is damaged: its directory points to nothing")
    name_length, extra_length = struct.unpack("<HH", fixed[26:])
    return header + 30 + name_length + extra_length


def text_of(pack: Pack) -> Iterator[bytes]:
    """The unpacked bytes, a few at a time, so that memory stays small.

    Raises:
        Damaged: they cannot be unpacked, or not to what the zip's CRC-32 says.
    """
    if pack.kind == "text":
        return _read(pack.path)
    if pack.kind == "xz":
        return _unxz(pack.path)
    return _inflate(pack.path, pack.member)


def _read(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _unxz(path: Path) -> Iterator[bytes]:
    try:
        with lzma.open(path) as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except EOFError:
        raise Damaged("the .xz file is cut short") from None
    except lzma.LZMAError:
        raise Damaged("the .xz file is damaged, or is no .xz file") from None


def _inflate(path: Path, member: Member) -> Iterator[bytes]:
    inflater = zlib.decompressobj(wbits=-15)  # -15: deflate alone, without a zlib header
    crc, left = 0, member.length
    with open(path, "rb") as file:
        file.seek(member.offset)
        while left and (packed := file.read(min(CHUNK, left))):
            left -= len(packed)
            try:
                text = inflater.decompress(packed)
            except zlib.error:
                raise Damaged("the zip is damaged: its bytes do not inflate") from None
            crc = zlib.crc32(text, crc)
            yield text
    if left or not inflater.eof:
        raise Damaged("the zip is cut short: its member ends too early")
    if member.crc32 not in (None, crc):
        raise Damaged("the zip is damaged: its CRC-32 does not fit")
