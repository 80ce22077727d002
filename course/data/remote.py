"""A file on a server, read like one on this disk.

It is read in blocks. Each block that has come is kept in a folder, whole, so that a run that was
stopped goes on from there, and nothing is fetched that nobody reads.
"""

import hashlib
import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from course.system.files import write_bytes_atomically

BLOCK = 1 << 21
WAITS = (1, 2, 4, 8)  # seconds between one try and the next
TIMEOUT = (10, 30)  # seconds to connect, seconds of silence


class Unavailable(Exception):
    """A source that does not give what is wanted; the message says why."""


class Transient(Exception):
    """A failure of the server or the line that often passes: worth another try."""


def open_remote(url: str, folder: Path) -> BinaryIO:
    """Open a file on a server for reading and seeking; what has come of it is kept in `folder`.

    Raises:
        Unavailable: the server does not give it. Reading may raise this, too.
    """
    remote = RemoteFile(url, folder)
    return open(remote.whole, "rb") if remote.whole else io.BufferedReader(remote, BLOCK)


class RemoteFile(io.RawIOBase):
    """A file on a server, in blocks.

    Attributes:
        size: in bytes.
        whole: where all of it is, if the server cannot send a part of a file.
    """

    def __init__(self, url: str, folder: Path) -> None:
        import requests  # here, because `course --help` need not wait for it

        self._url, self._position = url, 0
        self._session = requests.Session()
        self.whole: Path | None = None
        folder.mkdir(parents=True, exist_ok=True)
        _patiently(lambda: self._begin(folder))

    def _begin(self, folder: Path) -> None:
        with self._asked(0, 1) as reply:  # a byte, to learn the size
            if reply.status_code == 206:
                self.size = _total_size(reply)
                key = hashlib.sha256(f"{self._url} {self.size}".encode()).hexdigest()[:16]
                self._folder = folder / key
                self._folder.mkdir(exist_ok=True)
                return
            whole, length = folder / "whole", reply.headers.get("Content-Length", "")
            with (
                open(whole, "wb") as file,
                click.progressbar(length=int(length or 0), label="  fetching") as bar,
            ):
                for chunk in reply.iter_content(1 << 16):
                    file.write(chunk)
                    bar.update(len(chunk))
            if length and whole.stat().st_size != int(length):
                raise Transient("the connection broke off")
            self.whole = whole

    def _block(self, number: int) -> bytes:
        path = self._folder / str(number)
        if not path.exists():
            write_bytes_atomically(path, _patiently(lambda: self._fetched(number * BLOCK)))
        return path.read_bytes()

    def _fetched(self, start: int) -> bytes:
        with self._asked(start, BLOCK) as reply:
            # Another part than asked for, or one of another file, would spoil this one silently.
            sent = reply.headers.get("Content-Range", "")
            if not sent.startswith(f"bytes {start}-") or _total_size(reply) != self.size:
                raise Unavailable("the server's file has changed, or it sent another part")
            data = reply.content
        if len(data) != min(BLOCK, self.size - start):
            raise Transient("the connection broke off")
        return data

    @contextmanager
    def _asked(self, start: int, length: int) -> Iterator[Any]:
        """Give the server's reply, which is a part or, with status 200, the whole file."""
        from requests import exceptions as broken

        headers = {
            "Range": f"bytes={start}-{start + length - 1}",
            "Accept-Encoding": "identity",  # a body compressed on the way has other positions
            "User-Agent": "what-and-where course",
        }
        try:
            with self._session.get(
                self._url, headers=headers, stream=True, timeout=TIMEOUT
            ) as reply:
                code = reply.status_code
                answer = f"the server answered {code} {reply.reason or ''}".rstrip()
                if code in (408, 425, 429) or code >= 500:
                    raise Transient(answer)
                if code not in (200, 206):
                    raise Unavailable(answer)
                if "html" in reply.headers.get("Content-Type", ""):
                    raise Unavailable("the server sent a web page, not the file")
                yield reply
        except broken.Timeout:
            raise Transient("no answer within the time allowed") from None
        except broken.RequestException as error:
            passes = isinstance(error, broken.ConnectionError | broken.ChunkedEncodingError)
            lasts = isinstance(error, broken.SSLError) or "resolve" in str(error)
            kind = Transient if passes and not lasts else Unavailable
            raise kind(f"the connection failed ({_reason(error)})") from None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        if self._position >= self.size:
            return 0
        number, offset = divmod(self._position, BLOCK)
        data = self._block(number)[offset : offset + len(buffer)]
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def _patiently(attempt: Callable[[], Any]) -> Any:
    """Return what `attempt` gives; after a Transient failure, wait longer each time and repeat."""
    for wait in WAITS:
        try:
            return attempt()
        except Transient as trouble:
            click.echo(f"  {trouble}; trying again in {wait:g} s")
            time.sleep(wait)
    try:
        return attempt()
    except Transient as trouble:
        raise Unavailable(f"{trouble}; gave up after {len(WAITS) + 1} tries") from None


def _total_size(reply: Any) -> int:
    """Return the size of the whole file that a reply is a part of."""
    size = reply.headers.get("Content-Range", "").rpartition("/")[2]
    if not size.isdecimal():
        raise Unavailable("the server does not say how large the file is")
    return int(size)


def _reason(error: BaseException) -> str:
    """Return the innermost thing that an error of requests wraps: what a person can use."""
    for inner in (getattr(error, "reason", None), *error.args):
        if isinstance(inner, Exception):
            return _reason(inner)
    return str(error).rpartition(": ")[2].strip("()'\" ") or type(error).__name__
