"""A small web server on 127.0.0.1 that can misbehave the way real ones do, and counts bytes."""

import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

PIECE = 1 << 14


@dataclass
class File:
    """A file on the server and how it is served.

    `faults` are used up one a request: ("status", 503), ("redirect", url), ("cut", bytes) breaks
    off after so many, ("stall", seconds) is silent first, ("late", bytes) begins so much too late.
    """

    data: bytes
    ranges: bool = True
    etag: str = ""
    content_type: str = "application/octet-stream"
    pause: float = 0.0  # after each piece: a slow line
    faults: list[tuple[str, object]] = field(default_factory=list)


@dataclass
class Request:
    """What was asked for, and how many bytes of the body went out."""

    path: str
    headers: dict[str, str]
    sent: int = 0


class Server:
    """Serves `files` (path -> File) and notes each request."""

    def __init__(self):
        self.files: dict[str, File] = {}
        self.requests: list[Request] = []
        self.lock = threading.Lock()
        handler = type("BoundHandler", (Handler,), {"course_server": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self._http.shutdown()
        self._http.server_close()

    def add(self, path: str, data: bytes, **how) -> str:
        """Serve `data` at `path`; the URL."""
        self.files[path] = File(data, **how)
        return self.url + path

    def ranges(self) -> list[str | None]:
        """The Range header of each request so far."""
        return [request.headers.get("Range") for request in self.requests]

    @property
    def served(self) -> int:
        """All bytes of all bodies so far."""
        return sum(request.sent for request in self.requests)


class Handler(BaseHTTPRequestHandler):
    course_server: Server

    def do_GET(self):
        server = self.course_server
        with server.lock:
            self.request_note = Request(self.path, dict(self.headers))
            server.requests.append(self.request_note)
            file = server.files.get(unquote(urlsplit(self.path).path))
            fault, value = file.faults.pop(0) if file and file.faults else (None, None)
        if file is None:
            return self.answer(404, b"not found")
        if fault == "status":
            return self.answer(value, b"sorry")
        if fault == "redirect":
            return self.answer(302, b"", Location=value)
        if fault == "stall":
            time.sleep(value)
        first, last, partial = self.wanted(file)
        first += value if fault == "late" else 0
        if first >= len(file.data) and first > 0:
            return self.answer(416, b"", **{"Content-Range": f"bytes */{len(file.data)}"})
        self.send_response(206 if partial else 200)
        self.send_header("Content-Type", file.content_type)
        self.send_header("Content-Length", str(last + 1 - first))
        if partial:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(file.data)}")
        if file.etag:
            self.send_header("ETag", file.etag)
        self.end_headers()
        body = file.data[first : last + 1]
        body = body[:value] if fault == "cut" else body
        for at in range(0, len(body), PIECE):
            try:
                self.wfile.write(body[at : at + PIECE])
            except OSError:  # the other side has gone
                return
            self.request_note.sent += len(body[at : at + PIECE])
            time.sleep(file.pause)

    def wanted(self, file: File) -> tuple[int, int, bool]:
        """The first and the last byte to send, and if they are a part of the file."""
        asked, known = self.headers.get("Range", ""), self.headers.get("If-Range")
        changed = known is not None and (known != file.etag or known.startswith("W/"))
        end = len(file.data) - 1
        if not file.ranges or not asked or changed:
            return 0, end, False
        first, _, last = asked.removeprefix("bytes=").partition("-")
        if not first:
            return max(0, len(file.data) - int(last)), end, True
        return int(first), min(int(last or end), end), True

    def answer(self, code: int, body: bytes, **headers: str):
        self.send_response(code)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *message):
        """Keep quiet."""
