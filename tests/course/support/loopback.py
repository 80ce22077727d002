"""A small web server on 127.0.0.1 that can misbehave the way real ones do, and counts bytes."""

import contextlib
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass
class File:
    """A file on the server and how it is served.

    `faults` are used up one a request: ("status", 503), ("cut", bytes) breaks off after so many,
    ("stall", 0) is silent for as long as the server runs, ("endless", 0) repeats the file until
    the other side has gone. `headers` replace those that are right.
    """

    data: bytes
    ranges: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    reason: str | None = None
    faults: list[tuple[str, int]] = field(default_factory=list)


class Server:
    """Serves `files` (path -> File).

    Attributes:
        requests: the path of each request.
        served: bytes of all bodies.
    """

    def __init__(self):
        self.files: dict[str, File] = {}
        self.requests: list[str] = []
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
            server.requests.append(self.path)
            file = server.files.get(unquote(self.path), File(b"", faults=[("status", 404)]))
            fault, value = file.faults.pop(0) if file.faults else (None, 0)
        if fault == "stall":
            server.ended.wait()
            return
        first, last, size = 0, len(file.data) - 1, len(file.data)
        if is_part := file.ranges and asked is not None:
            begin, _, end = asked.removeprefix("bytes=").partition("-")
            if begin:
                first, last = int(begin), min(int(end), last)
            else:
                first = max(0, size - int(end))
        headers = {"Content-Length": str(last + 1 - first)} if fault != "endless" else {}
        if is_part:
            headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        self.send_response(value if fault == "status" else 206 if is_part else 200, file.reason)
        for name, said in (headers | file.headers).items():
            self.send_header(name, said)
        self.end_headers()
        body = file.data[first : last + 1]
        body = body[:value] if fault == "cut" else body
        with contextlib.suppress(OSError):  # the other side has gone
            while True:
                self.wfile.write(body)
                server.served += len(body)
                if fault != "endless" or server.ended.is_set():
                    break

    def log_message(self, *message):
        """Keep quiet."""
