"""Bytes of a file on a server, brought to a file on this disk, going on where a run stopped."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

WAITS = (1, 2, 4, 8)  # seconds between one try and the next
TIMEOUT = (10, 30)  # seconds to connect, seconds of silence
CHUNK = 1 << 16
PAGE_BEGINNINGS = (b"<!doctype html", b"<html")
IGNORES_RANGE = "the server cannot send a part of a file (it ignores Range)"


class DataError(Exception):
    """A failure to have a dataset; the message is one sentence for the person at the keyboard."""


class Unavailable(DataError):
    """A source that does not give the bytes in this form: another form or source may."""


class Unreachable(Unavailable):
    """A URL at which nothing can be had, in whatever form."""


class Damaged(Unavailable):
    """A reply with bytes that are not the right ones."""


class Transient(DataError):
    """A failure of the server or the line that often passes: worth another try."""


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


def ensure_space(folder: Path, need: int) -> None:
    """Raise DataError unless the disk that holds `folder` has `need` bytes to spare."""
    free = shutil.disk_usage(folder).free
    if free < need:
        raise DataError(
            f"the disk that holds {folder} is too full: "
            f"{need / 1e6:,.0f} MB are needed (unpacking included), {free / 1e6:,.0f} MB are free"
        )


def forget(part: Path) -> None:
    """Throw a partial file away."""
    part.unlink(missing_ok=True)
    _validator(part).unlink(missing_ok=True)


def _validator(part: Path) -> Path:
    """Return the file that notes which state of the server's file a partial file is of."""
    return part.with_suffix(".etag")


# --- what to fetch ---------------------------------------------------------------------------


def fetch(
    url: str, part: Path, label: str, reserve: int, start: int = 0, length: int | None = None
) -> None:
    """Bring a file, or `length` bytes of it from `start`, to `part`, as far as they are missing.

    Args:
        label: what the progress bar is called.
        reserve: bytes that the disk must be able to hold besides, for unpacking.

    Raises:
        Unavailable: this URL does not give them.
        DataError: the disk is too full.
    """
    _patiently(
        partial(_go_on, url, part, label, reserve, start, length), progress=lambda: size_of(part)
    )


def fetch_tail(url: str, length: int) -> tuple[bytes, int]:
    """Return the last bytes of a file on a server, and how large the whole file is."""

    def attempt() -> tuple[bytes, int]:
        with _ask(url, {"Range": f"bytes=-{length}"}) as reply, _translated():
            total = _total_size(reply)
            if reply.status_code != 206 or total is None:
                raise Unavailable(IGNORES_RANGE)
            return reply.content, total

    return _patiently(attempt)


def _patiently(attempt: Callable[[], Any], progress: Callable[[], int] = lambda: 0) -> Any:
    """Return what `attempt` gives; after a Transient failure, wait longer each time and repeat.

    A failure that came after more bytes than ever before (`progress`) is counted as the first one:
    a long download may be interrupted often.
    """
    best, failures = progress(), 0
    while True:
        try:
            return attempt()
        except Transient as trouble:
            if progress() > best:
                best, failures = progress(), 0
            if failures == len(WAITS):
                raise Unreachable(f"{trouble}; gave up after {failures + 1} tries") from None
            click.echo(f"  {trouble}; trying again in {WAITS[failures]:g} s")
            time.sleep(WAITS[failures])
            failures += 1


def _go_on(url: str, part: Path, label: str, reserve: int, start: int, length: int | None) -> None:
    if length is not None and size_of(part) > length:
        forget(part)
    have = size_of(part)
    if have == length:
        return
    with _ask(url, _headers(part, have, start, length)) as reply:
        total = _total_size(reply)
        if reply.status_code == 416 and have and length is None and total == have:
            return
        if reply.status_code == 416 or (total is not None and total < start + (length or 0)):
            _start_again(part, "what an earlier run left does not fit the server's file")
            raise Unavailable("the server's file is cut short")
        if reply.status_code == 200 and start:
            _start_again(part, "the server's file has changed")
            raise Unavailable(IGNORES_RANGE)
        if reply.status_code == 200:
            have = 0
        body = _body(reply)
        length = total if length is None else length
        ensure_space(part.parent, (length or have) - have + reserve)
        if not have:
            _note_validator(part, reply)
        _write(body, part, have, length, label)
    if length is not None and size_of(part) < length:
        raise Transient(f"the connection broke off after {size_of(part):,} of {length:,} bytes")


def _headers(part: Path, have: int, start: int, length: int | None) -> dict[str, str]:
    """Return the HTTP headers that ask for what is missing."""
    headers = {}
    if have or length is not None:
        last = "" if length is None else start + length - 1
        headers["Range"] = f"bytes={start + have}-{last}"
    if have and _validator(part).exists():  # a server sends all of a file that has changed
        headers["If-Range"] = _validator(part).read_text("ascii", errors="ignore")
    return headers


def _start_again(part: Path, why: str) -> None:
    """Forget what an earlier run left and have another try, if it left anything."""
    if size_of(part):
        forget(part)
        raise Transient(why)


def _note_validator(part: Path, reply) -> None:
    etag = reply.headers.get("ETag", "")
    strong = etag if etag.startswith('"') else ""  # a weak one, W/"...", is not allowed in If-Range
    if validator := strong or reply.headers.get("Last-Modified", ""):
        _validator(part).write_text(validator, "ascii", errors="ignore")
    else:
        _validator(part).unlink(missing_ok=True)


def _write(body: Iterator[bytes], part: Path, have: int, length: int | None, label: str) -> None:
    """Write the body behind the bytes that are there, and no more than `length` in all."""
    # Without a buffer, so that what has come is kept even if the process is killed.
    with (
        _translated(),
        open(part, "ab" if have else "wb", buffering=0) as file,
        _bar(label, have, length) as advance,
    ):
        for chunk in body:
            wanted = chunk if length is None else chunk[: length - have]
            file.write(wanted)
            have += len(wanted)
            advance(len(wanted))
            if have == length:
                return


@contextmanager
def _bar(label: str, done: int, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar where somebody is looking; give what to call with the count of new bytes."""
    if not total or not sys.stdout.isatty():
        yield lambda count: None
        return
    with click.progressbar(length=total, label=f"{label}, {total / 1e6:,.0f} MB") as bar:
        bar.update(done)
        yield bar.update


# --- one HTTP request ------------------------------------------------------------------------


@contextmanager
def _ask(url: str, headers: dict[str, str]):
    """Give a reply to GET that can be read: status 200, 206 or 416, and not a web page."""
    import requests  # here, because `course --help` need not wait for it

    # `identity`: a body compressed on the way has other positions than the file.
    headers = {"Accept-Encoding": "identity", "User-Agent": "what-and-where course"} | headers
    with _translated():
        reply = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)
    with reply:
        code = reply.status_code
        answer = f"the server answered {code} {reply.reason or ''}".rstrip()
        if code in (408, 425, 429) or code >= 500:
            raise Transient(answer)
        if code not in (200, 206, 416):
            raise Unreachable(answer)
        if code != 416 and "html" in reply.headers.get("Content-Type", ""):
            raise _web_page(reply)
        # A part that begins elsewhere than asked would spoil the file silently.
        first = headers.get("Range", "").removeprefix("bytes=").partition("-")[0]
        sent = reply.headers.get("Content-Range", "unnamed")
        if code == 206 and first and not sent.startswith(f"bytes {first}-"):
            raise Unavailable(f"the server sent another part ({sent}) than asked for")
        yield reply


def _web_page(reply) -> Unreachable:
    via = f" (redirected to {reply.url})" if reply.history else ""
    return Unreachable(f"the server sent a web page, not the file{via}")


def _total_size(reply) -> int | None:
    """Return the size of the whole file that a reply is, or is a part of, if the server tells."""
    if reply.status_code == 200:
        encoded = "Content-Encoding" in reply.headers  # then the length is that of other bytes
        size = "" if encoded else reply.headers.get("Content-Length", "")
    else:
        size = reply.headers.get("Content-Range", "").rpartition("/")[2]
    return int(size) if size.isdecimal() else None


def _body(reply) -> Iterator[bytes]:
    """Return the reply's bytes, unless a web page that is called an ordinary file begins there."""
    chunks = reply.iter_content(CHUNK)
    with _translated():
        first = next(chunks, b"")
    if reply.status_code == 200 and first.lstrip()[:14].lower().startswith(PAGE_BEGINNINGS):
        raise _web_page(reply)
    return chain([first], chunks)


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what `requests` raises into one sentence, and into what is worth another try."""
    from requests import exceptions as broken

    try:
        yield
    except broken.RequestException as error:
        reason = _reason(error)
        if isinstance(error, broken.Timeout):
            raise Transient("no answer within the time allowed") from None
        if "resolve" in str(error):
            raise Unreachable("the server's name is unknown here: is there a network?") from None
        if isinstance(error, broken.SSLError):
            lasting = "certificate" in str(error).lower()
            raise (Unreachable if lasting else Transient)(f"TLS error, {reason}") from None
        if isinstance(error, broken.ProxyError):
            raise Transient(f"the proxy does not let us through ({reason})") from None
        if isinstance(error, (broken.ConnectionError, broken.ChunkedEncodingError)):
            raise Transient(f"the connection failed ({reason})") from None
        raise Unreachable(f"the request failed ({reason})") from None


def _reason(error: BaseException) -> str:
    """Return the innermost thing that an error of requests wraps: what a person can use."""
    for inner in (getattr(error, "reason", None), *error.args):
        if isinstance(inner, Exception):
            return _reason(inner)
    return str(error).rpartition(": ")[2].strip("()'\" ") or type(error).__name__
