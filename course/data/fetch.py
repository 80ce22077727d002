"""Bytes of a file on a server, brought to a file on this disk, going on where a run stopped."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from course.data.errors import DataError, Transient, Unavailable, Unreachable
from course.data.request import ask, body_of, total_size, translated

WAITS = (1, 2, 4, 8)  # seconds between one try and the next
SKIP = 1 << 20  # without Range, at most so many unwanted bytes are read to reach the wanted ones

T = TypeVar("T")


class Listener:
    """Who hears how it goes. This one ignores it; the command line has one that prints."""

    def say(self, sentence: str) -> None:
        """Hear one line."""

    def progress(
        self, label: str, done: int, total: int
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Show a bar; what the `with` gives is called with the count of each few new bytes."""
        return nullcontext(lambda count: None)


@dataclass(frozen=True)
class Segment:
    """`length` bytes from `start` of the file at `url`; without `length`, all from `start`.

    `file_size` is how large the whole file must be, where that is known.
    """

    url: str
    start: int = 0
    length: int | None = None
    file_size: int | None = None

    def range_from(self, have: int) -> dict[str, str]:
        """The HTTP header that asks for what is missing when `have` bytes are there.

        >>> Segment("http://a/b", start=74, length=10).range_from(4)
        {'Range': 'bytes=78-83'}
        """
        if self.start + have == 0 and self.length in (None, self.file_size):
            return {}
        last = "" if self.length is None else self.start + self.length - 1
        return {"Range": f"bytes={self.start + have}-{last}"}


def size_of(path: Path) -> int:
    """The size of a file in bytes, 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


def ensure_space(folder: Path, need: int) -> None:
    """Raise DataError unless the disk that holds `folder` has `need` bytes to spare."""
    free = shutil.disk_usage(folder).free
    if free < need:
        raise DataError(
            f"the disk that holds {folder} is too full: "
            f"{need / 1e6:,.0f} MB are needed (unpacking included), {free / 1e6:,.0f} MB are free"
        )


# --- one segment -----------------------------------------------------------------------------


def fetch(segment: Segment, part: Path, listener: Listener, label: str, reserve: int = 0) -> None:
    """Bring `segment` to the file `part`, or what is missing of it.

    Args:
        label: what the progress bar is called.
        reserve: bytes that the disk must be able to hold besides, for unpacking.

    Raises:
        Unavailable: this URL does not give the segment.
        DataError: the disk is too full.
    """
    patiently(
        lambda: _go_on(segment, part, listener, label, reserve), listener, lambda: size_of(part)
    )


def _go_on(segment: Segment, part: Path, listener: Listener, label: str, reserve: int) -> None:
    have = _usable(segment, part)
    if have == segment.length:
        return
    with ask(segment.url, segment.range_from(have) | _only_if_unchanged(part, have)) as reply:
        total = total_size(reply)
        if reply.status_code == 416:
            return _past_the_end(segment, part, have, total)
        whole = reply.status_code == 200  # whatever was asked for: then begin at the beginning
        have, skip = (0, segment.start) if whole else (have, 0)
        _check_skip(skip)
        body = body_of(reply)
        _check_total(segment, total)
        length = _length(segment, total)
        missing = None if length is None else length - have
        ensure_space(part.parent, (missing or 0) + reserve)
        _note_validator(part, reply, have)
        with listener.progress(label, have, length or 0) as advance:
            _write(_slice(body, skip, missing), part, have, advance)
    if length is not None and size_of(part) < length:
        raise Transient(f"the connection broke off after {size_of(part):,} of {length:,} bytes")


def _usable(segment: Segment, part: Path) -> int:
    """How many bytes an earlier run left; a partial file that is too long is thrown away."""
    if segment.length is not None and size_of(part) > segment.length:
        forget(part)
    return size_of(part)


def _length(segment: Segment, total: int | None) -> int | None:
    if segment.length is not None or total is None:
        return segment.length
    return total - segment.start


def _slice(body: Iterator[bytes], skip: int, length: int | None) -> Iterator[bytes]:
    """The body's bytes from `skip` on, `length` of them; what follows is never read."""
    for chunk in body:
        wanted = chunk[skip:]
        skip = max(0, skip - len(chunk))
        if length is None:
            yield wanted
            continue
        yield wanted[:length]
        length -= len(wanted[:length])
        if length == 0:
            return


def _write(chunks: Iterator[bytes], part: Path, have: int, advance: Callable[[int], None]) -> None:
    # Without a buffer, so that what has come is kept even if the process is killed.
    with translated(), open(part, "ab" if have else "wb", buffering=0) as file:
        for chunk in chunks:
            file.write(chunk)
            advance(len(chunk))


def _past_the_end(segment: Segment, part: Path, have: int, total: int | None) -> None:
    """The server has nothing from here on: all is there already, or the partial file is wrong."""
    if have and segment.length is None and total == segment.start + have:
        return
    if not have:
        raise Unavailable(f"the server's file is cut short{_of_size(total)}")
    forget(part)
    raise Transient("what an earlier run left does not fit the server's file")


def _check_total(segment: Segment, total: int | None) -> None:
    if total is None:
        return
    if segment.file_size is not None and total != segment.file_size:
        kind = "cut short" if total < segment.file_size else "another one"
        raise Unavailable(
            f"the server's file is {kind}: {total:,} bytes, not {segment.file_size:,}"
        )
    need = segment.start + (segment.length or 0)
    if total < need:
        raise Unavailable(f"the server's file is cut short: {total:,} bytes of at least {need:,}")


def _check_skip(skip: int) -> None:
    if skip > SKIP:
        raise Unavailable("the server cannot send a part of a file (it ignores Range)")


def _of_size(total: int | None) -> str:
    return "" if total is None else f": {total:,} bytes"


def _validator_file(part: Path) -> Path:
    return part.with_suffix(".etag")


def _only_if_unchanged(part: Path, have: int) -> dict[str, str]:
    """The header that makes a server send the whole file if it is no longer what we began with."""
    noted = _validator_file(part)
    return (
        {"If-Range": noted.read_text("ascii", errors="ignore")} if have and noted.exists() else {}
    )


def _note_validator(part: Path, reply, have: int) -> None:
    if have:
        return
    etag = reply.headers.get("ETag", "")
    strong = etag if etag.startswith('"') else ""  # a weak one, W/"...", is not allowed in If-Range
    validator = strong or reply.headers.get("Last-Modified", "")
    if validator:
        _validator_file(part).write_text(validator, "ascii", errors="ignore")
    else:
        _validator_file(part).unlink(missing_ok=True)


def forget(part: Path) -> None:
    """Throw a partial file away."""
    part.unlink(missing_ok=True)
    _validator_file(part).unlink(missing_ok=True)


# --- patience --------------------------------------------------------------------------------


def patiently(
    attempt: Callable[[], T], listener: Listener, progress: Callable[[], int] = lambda: 0
) -> T:
    """What `attempt` returns; after a Transient failure, wait a little longer each time and repeat.

    A failure that came after more bytes than ever before (`progress`) is counted as the first one:
    a long download may be interrupted often.
    """
    best, failures = progress(), 0
    while True:
        try:
            return attempt()
        except Transient as trouble:
            reached = progress()
            failures = 0 if reached > best else failures
            best = max(best, reached)
            if failures == len(WAITS):
                raise Unreachable(f"{trouble}; gave up after {failures + 1} tries") from None
            listener.say(f"  {trouble}; trying again in {WAITS[failures]:g} s")
            time.sleep(WAITS[failures])
            failures += 1
