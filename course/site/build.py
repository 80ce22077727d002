"""The site: built in a folder of its own, put in its place when it is whole, and served."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from course import root
from course.site.executed import RunFailed, content_key, datasets
from course.site.pages import write_pages

_STAMP = ".made-from"
"""In a site: a short name for all that it was made from. No other folder has it."""


def folder() -> Path:
    """Return where the site lies if nobody says otherwise."""
    return root() / "site"


class SiteError(Exception):
    """A reason to stop a build, in one sentence."""


def build_site(out: Path) -> str:
    """Build the site and put it in the place of the one that was there.

    Returns:
        Sphinx's warnings, a line each.

    Raises:
        SiteError: `out` holds something else, a notebook does not run, or Sphinx fails; then
            nothing has changed.
        OSError: a file cannot be written.
    """
    if out.exists() and not (out / _STAMP).is_file():
        raise SiteError(f"{out} is there and is not a site; name another folder with --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    made_from = _made_from()
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".site-") as scratch:
        source, site = Path(scratch, "source"), Path(scratch, "site")
        try:
            write_pages(source)
        except RunFailed as error:
            raise SiteError(str(error)) from None
        warnings = _run_sphinx(source, site)
        (site / _STAMP).write_text(made_from, encoding="utf-8")
        if out.exists():
            os.replace(out, Path(scratch, "older"))
        os.replace(site, out)
    return warnings


def is_current(out: Path) -> bool:
    """Return if a site is there and was made from what the course is now."""
    stamp = out / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _made_from()


def _run_sphinx(source: Path, site: Path) -> str:
    """Run Sphinx in a process of its own, where `exercises` are the stubs beside the pages."""
    with tempfile.TemporaryDirectory() as trees:
        ran = subprocess.run(
            [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-d", trees, source, site],
            cwd=source,  # Python looks there first
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(source), str(root())])},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    if ran.returncode:
        reason = ran.stderr.strip() or ran.stdout.strip() or "without a word"
        raise SiteError(f"Sphinx failed: {reason.splitlines()[-1]}")
    shutil.rmtree(site / "_sources", ignore_errors=True)
    return ran.stderr.strip()


def _made_from() -> str:
    """Name the texts and code of the course, the tests that students get, and the datasets."""
    paths = [root() / "README.md", *(root() / "tests").glob("test_*.py")]
    for name in ("course", "solutions"):
        paths += (root() / name).rglob("*")
    files = (path for path in paths if path.is_file() and path.suffix != ".pyc")
    return content_key(files, *datasets())


def serve_folder(folder: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve a folder to browsers on this machine alone, until Ctrl+C.

    Args:
        port: 0 for any that is free.
        say: gets a sentence at the start and one at the end.

    Raises:
        OSError: the port is taken.
    """
    handler = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        say(f"the site is at http://127.0.0.1:{server.server_port}/; Ctrl+C ends this")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("the site is no longer served")


class _QuietHandler(SimpleHTTPRequestHandler):
    """A handler that says nothing about each request."""

    def log_message(self, *_: object) -> None:
        pass
