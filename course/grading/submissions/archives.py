"""Archives that students hand in: listed and read within limits, never unpacked to the disk.

This is the one place that opens them. Another kind of archive is a function that yields its
members, and a line in `_opener_of`.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import BinaryIO

from course.core.files import MANIFEST
from course.grading.submissions.limits import (
    Counted,
    OverLimit,
    SubmissionLimits,
    Unreadable,
    is_of_this_machine,
    reason,
)


@dataclass(frozen=True, slots=True)  # an archive may have very many
class Member:
    """Something in an archive.

    Attributes:
        name: its path, as the archive has it; "/" at its end says that it is a folder.
        open: opens it; None if nobody does.
        modified: when it was changed last, in seconds, to compare within one archive; or None.
        trouble: why not to open it, as the rest of a sentence.
    """

    name: str
    open: Callable[[], BinaryIO] | None = None
    modified: float | None = None
    trouble: str = ""


def members_of(
    file: BinaryIO, limits: SubmissionLimits, stack: contextlib.ExitStack
) -> Iterator[Member]:
    """Yield what is in an archive, which is open until the stack is closed.

    Args:
        file: its bytes, which tell the kind; it can seek.
        limits: what may be read of it, now and when its members are read.

    Raises:
        Unreadable: it is an archive of another kind, damaged, or none, or must not be read.
        OSError: the disk cannot be read.
    """
    try:
        yield from _opener_of(file)(file, limits, stack)
    except Exception as error:
        cause = error.__context__ or error  # `zipfile` takes what cannot be read for no zip
        if is_of_this_machine(cause) or isinstance(cause, OverLimit | MemoryError):
            raise cause from None
        if isinstance(error, Unreadable):
            raise
        is_none = isinstance(error, zipfile.BadZipFile)
        raise Unreadable("is damaged, or is not a zip" if is_none else reason(error)) from None


def _opener_of(file: BinaryIO) -> Callable[..., Iterator[Member]]:
    """Return what lists an archive, by its first bytes: some are called .zip and are none."""
    start = file.read(512)
    file.seek(0)
    for magic, kind in _OTHER_KINDS.items():
        if start.startswith(magic):
            raise Unreadable(f"is {kind}, not a zip: unpack it, and delete it")
    if start[257:262] == b"ustar" or start.startswith(tuple(_COMPRESSED)):
        return _members_of_tar
    return _members_of_zip


_OTHER_KINDS = {b"Rar!\x1a\x07": "a RAR archive", b"7z\xbc\xaf\x27\x1c": "a 7z archive"}
_COMPRESSED = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open, b"BZh": bz2.open}
_ENDINGS = (".zip", ".rar", ".7z", ".tar", ".tgz", ".tbz2", ".txz", ".gz", ".bz2", ".xz")
_ENDINGS += (".zst", ".lzma", ".zipx", ".jar", ".001", ".part", ".crdownload")  # for a note
_ENDINGS += tuple(f".tar{ending}" for ending in (".gz", ".bz2", ".xz", ".zst", ".lzma"))


def without_ending(name: str) -> str:
    """Return the name of an archive without its ending, and any other name as it is.

    >>> without_ending("jane.ZIP"), without_ending("rope.py")
    ('jane', 'rope.py')
    """
    endings = [ending for ending in _ENDINGS if name.lower().endswith(ending)]
    return name[: -len(max(endings, key=len))] if endings else name


def is_archive(name: str) -> bool:
    """Tell whether a file is called like an archive that can be opened."""
    return name.lower().endswith(_ENDINGS)


# --- zips -------------------------------------------------------------------------------------

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Python unpacks the others without any limit on what comes out."""


class _FileOfZip(Counted):
    """The file of a zip; `zipfile` reads the directory in one go."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > self.limits.directory_bytes:
            raise Unreadable("contains too many files")
        return super().read(size)


def _members_of_zip(
    file: BinaryIO, limits: SubmissionLimits, stack: contextlib.ExitStack
) -> Iterator[Member]:
    opened = stack.enter_context(zipfile.ZipFile(_FileOfZip(file, limits)))
    for info in opened.infolist():
        yield _member(opened, info)


def _member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name = info.filename
    if not info.flag_bits & 0x800:  # some programs write UTF-8 without the flag for it
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    trouble = ""
    if name.endswith("/"):
        return Member(name)
    if stat.S_ISLNK(info.external_attr >> 16):
        trouble = "is a link, and was not read"
    elif info.flag_bits & 0x1:
        trouble = "is encrypted: ask for it without a password"
    elif info.compress_type not in _METHODS:
        trouble = "is compressed in an unusual way"
    modified = None
    if info.date_time[0] > 1980:  # the year of an unknown time
        with contextlib.suppress(ValueError):  # the 31st of February
            modified = (datetime(*info.date_time) - datetime(1980, 1, 1)).total_seconds()
    return Member(name, partial(opened.open, info), modified, trouble)


# --- tars -------------------------------------------------------------------------------------

MAX_TAR_MEMBER = 64 << 20
"""Bytes of one file in a tar, which is read from its beginning to its end and kept in memory."""
MAX_KEPT = 512 << 20
"""Bytes of a tar that are kept as they are; what comes after them is packed again."""
_KEPT = (".py", ".ipynb", ".txt", MANIFEST, *_ENDINGS)
"""What is in the names of files that may be opened; of a tar, the others are not kept."""


def _members_of_tar(
    file: BinaryIO, limits: SubmissionLimits, stack: contextlib.ExitStack
) -> Iterator[Member]:
    start = file.read(8)
    file.seek(0)
    unpack = next((one for magic, one in _COMPRESSED.items() if start.startswith(magic)), None)
    counted = stack.enter_context(Counted(unpack(file) if unpack else file, limits))
    try:
        opened = stack.enter_context(
            tarfile.TarFile.open(fileobj=counted, mode="r|", tarinfo=_Header)
        )
    except tarfile.ReadError:
        raise Unreadable("is compressed, and not a tar: unpack it, and delete it") from None
    n_kept = 0
    for info in opened:
        if info.isdir():
            yield Member(f"{info.name}/")
        elif info.islnk():
            yield Member(info.name, trouble="is a hard link: unpack its archive")
        elif not info.isreg() or info.issparse():  # of holes a small file can have terabytes
            yield Member(info.name, trouble="is a link or a device, and was not read")
        elif info.size > MAX_TAR_MEMBER:
            yield Member(info.name, trouble=f"is larger than {MAX_TAR_MEMBER >> 20} MB")
        elif not any(part in info.name.lower() for part in _KEPT):
            yield Member(info.name)
        else:
            data = opened.extractfile(info).read()
            n_kept += len(data)
            opener = partial(io.BytesIO, data)
            if n_kept > MAX_KEPT:
                opener = partial(_unpacked, gzip.compress(data, compresslevel=1))
            yield Member(info.name, opener, float(info.mtime))


class _Header(tarfile.TarInfo):
    """The header of an entry, where a damaged one is an error; `tarfile` takes it for the end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "_Header":
        try:
            return super().fromtarfile(tarfile_)
        except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError):
            if tarfile_.offset == 0:  # it is no tar
                raise
            raise Unreadable("is damaged") from None


def _unpacked(data: bytes) -> BinaryIO:
    return gzip.open(io.BytesIO(data))
