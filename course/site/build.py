"""The site is built in a folder of its own, and takes its place when it is whole."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from course import root
from course.site.executed import RunFailed, content_key
from course.site.pages import write_pages


def folder() -> Path:
    """Return where the site lies if nobody says otherwise."""
    return root() / "site"


_STAMP = ".made-from"
"""In a site: a short name for all that it was made from. No other folder has it."""


class SiteError(Exception):
    """What stops a build, in one sentence."""


def build_site(out: Path) -> str:
    """Build the site and put it in the place of the one that was there.

    Returns:
        Sphinx's warnings, a line each.

    Raises:
        SiteError: `out` holds something else, a notebook does not run, or Sphinx fails; then
            nothing has changed.
        OSError: a file cannot be written.
    """
    if out.exists() and not _is_site(out):
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
    """Whether a site is there and was made from what the course is now."""
    return _is_site(out) and (out / _STAMP).read_text(encoding="utf-8") == _made_from()


def _is_site(folder: Path) -> bool:
    return (folder / _STAMP).is_file()


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
    return content_key(_what_it_is_made_from())


def _what_it_is_made_from() -> Iterator[Path]:
    """The texts and the code of the course, and of the tests those that students get."""
    yield root() / "README.md"
    for folder, pattern in (("course", "**/*"), ("solutions", "**/*"), ("tests", "test_*.py")):
        for path in (root() / folder).glob(pattern):
            if path.is_file() and path.suffix != ".pyc":
                yield path
