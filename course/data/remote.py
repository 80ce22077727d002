"""A file on a server that can be read here and there, as if it lay on this disk."""

import io

from course.data.errors import Unavailable
from course.data.fetch import Listener, patiently
from course.data.request import ask, total_size, translated

TAIL = 1 << 16  # a zip's directory is at its end: mostly one request is enough


class RemoteFile(io.RawIOBase):
    """A read-only file behind HTTP Range requests: what `zipfile` needs to find one member."""

    def __init__(self, url: str, listener: Listener):
        self._url, self._listener = url, listener
        self._place = 0
        self._tail, self.size = self._get(f"-{TAIL}")

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise OSError("seek before the beginning of the file")
        self._place = base + offset
        return self._place

    def readinto(self, buffer) -> int:
        last = min(self._place + len(buffer), self.size) - 1
        if last < self._place:
            return 0
        tail_at = self.size - len(self._tail)
        if self._place >= tail_at:
            data = self._tail[self._place - tail_at : last + 1 - tail_at]
        else:
            data, _ = self._get(f"{self._place}-{last}")
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def _get(self, span: str) -> tuple[bytes, int]:
        return patiently(lambda: self._get_once(span), self._listener)

    def _get_once(self, span: str) -> tuple[bytes, int]:
        with ask(self._url, {"Range": f"bytes={span}"}) as reply, translated():
            total = total_size(reply)
            if reply.status_code != 206 or total is None:
                raise Unavailable("the server cannot send a part of a file (it ignores Range)")
            return reply.content, total
