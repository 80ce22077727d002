"""A small web server on 127.0.0.1 that can misbehave the way real ones do, and counts bytes."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

PIECE = 1 << 14


@dataclass
class File:
    """A file on the server and how it is served.

    `faults` are used up one a request: ("status", 503), ("cut", bytes) breaks off after so many,
    ("stall", 0) is silent for as long as the server runs, ("late", bytes) begins so much too late.
    """

    data: bytes
    ranges: bool = True
    content_type: str = "application/octet-stream"
    faults: list[tuple[str, float]] = field(default_factory=list)


class Server:
    """Serves `files` (path -> File); notes the Range of each request, and counts bytes of bodies.

    Attributes:
        requests: for each request its path and its Range.
    """

    def __init__(self):
        self.files: dict[str, File] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.served = 0
        self.lock = threading.Lock()
        self.ended = threading.Event()
        handler = type("BoundHandler", (Handler,), {"course_server": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()

    def add(self, path: str, data: bytes, **how) -> str:
        """Serve `data` at `path`; the URL."""
        self.files[path] = File(data, **how)
        return self.url + path


class Handler(BaseHTTPRequestHandler):
    course_server: Server

    def do_GET(self):
        server, asked = self.course_server, self.headers.get("Range")
        with server.lock:
            server.requests.append((self.path, asked))
            file = server.files.get(unquote(self.path))
            fault, value = file.faults.pop(0) if file and file.faults else (None, 0)
        if file is None or fault == "status":
            self.send_response(value or 404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if fault == "stall":
            server.ended.wait()
            return
        first, last = 0, len(file.data) - 1
        if is_part := file.ranges and asked is not None:
            begin, _, end = asked.removeprefix("bytes=").partition("-")
            first, last = int(begin) + (value if fault == "late" else 0), min(int(end), last)
        self.send_response(206 if is_part else 200)
        self.send_header("Content-Type", file.content_type)
        self.send_header("Content-Length", str(last + 1 - first))
        if is_part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(file.data)}")
        self.end_headers()
        body = file.data[first : last + 1]
        body = body[:value] if fault == "cut" else body
        for at in range(0, len(body), PIECE):
            try:
                self.wfile.write(body[at : at + PIECE])
            except OSError:  # the other side has gone
                return
            with server.lock:
                server.served += len(body[at : at + PIECE])

    def log_message(self, *message):
        """Keep quiet."""
