"""One source, brought to this disk as a `Pack`."""

from dataclasses import replace
from pathlib import Path

from course.data.errors import Absent, Unavailable
from course.data.fetch import Listener, Segment, fetch
from course.data.remote import RemoteFile
from course.data.sources import Dataset, Source
from course.data.unpack import Member, Pack, find_member


def local_pack(dataset: Dataset, source: Source) -> Pack:
    """A local mirror's file, where it lies."""
    path = Path(source.url)
    if not path.is_file():
        raise Absent("there is no such file")
    if source.kind in ("zip", "member"):
        return _whole_zip(path, dataset, _known_member(source))
    return Pack(path, source.kind)


def fetched_pack(dataset: Dataset, source: Source, part: Path, listener: Listener) -> Pack:
    """What the server has, fetched to `part` as far as it is not there yet."""
    if source.kind == "member":
        return _fetched_member(dataset, source, part, listener)
    room = 0 if source.kind == "text" else dataset.size  # text is moved, not unpacked
    whole = Segment(source.url, length=source.size, file_size=source.size)
    fetch(whole, part, listener, dataset.file, reserve=room)
    return _whole_zip(part, dataset) if source.kind == "zip" else Pack(part, source.kind)


def _fetched_member(dataset: Dataset, source: Source, part: Path, listener: Listener) -> Pack:
    member, zip_size = _known_member(source), source.size
    if member is None:
        file = RemoteFile(source.url, listener)
        if source.size not in (None, file.size):
            raise Unavailable(f"the server's zip has {file.size:,} bytes, not {source.size:,}")
        member, zip_size = find_member(file, dataset.file), file.size
    segment = Segment(source.url, member.offset, member.length, source.size)
    fetch(segment, part, listener, dataset.file, reserve=dataset.size)
    return Pack(part, "member", replace(member, offset=0), zip_size)


def _known_member(source: Source) -> Member | None:
    if source.offset is None or source.deflated is None:
        return None
    return Member(source.offset, source.deflated, source.crc32)


def _whole_zip(path: Path, dataset: Dataset, member: Member | None = None) -> Pack:
    if member is None:
        with open(path, "rb") as file:
            member = find_member(file, dataset.file)
    return Pack(path, "zip", member, zip_size=path.stat().st_size)
