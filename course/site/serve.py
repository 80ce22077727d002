"""A folder, served to browsers on this machine alone."""

from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    """Says nothing about each request."""

    def log_message(self, *_: object) -> None:
        pass


def serve_folder(folder: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve a folder until Ctrl+C.

    Args:
        port: 0 for any that is free.
        say: gets a sentence at the start and one at the end.

    Raises:
        OSError: the port is taken.
    """
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        say(f"the site is at http://127.0.0.1:{server.server_port}/; Ctrl+C ends this")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("the site is no longer served")
