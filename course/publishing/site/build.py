"""The site: built in a separate folder, and moved to its place when it is complete."""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from filelock import FileLock

from course import root
from course.publishing.site.executed import RunFailed
from course.publishing.site.pages import write_pages

STAMP = ".course-site"
"""An empty file in a site. No other folder has it."""


class SiteError(Exception):
    """A reason to stop a build, in one sentence."""


def build_site(out: Path, kept: Path) -> str:
    """Build the site and put it in the place of the one that was there.

    Args:
        out: where it will be.
        kept: the folder of what the next build can use again: notebooks that ran, Sphinx's pages.

    Returns:
        Sphinx's warnings, a line each.

    Raises:
        SiteError: `out` holds something else, a notebook does not run, or Sphinx fails; then
            nothing has changed.
        OSError: a file cannot be written.
    """
    if out.exists() and not (out / STAMP).is_file():
        raise SiteError(f"{out} is there and is not a site; name another folder with --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    kept.mkdir(parents=True, exist_ok=True)
    with (
        FileLock(kept / "lock"),
        tempfile.TemporaryDirectory(dir=out.parent, prefix=".site-") as scratch,
    ):
        try:
            write_pages(Path(scratch, "source"), kept / "notebooks")
        except RunFailed as error:
            raise SiteError(str(error)) from None
        renew(kept / "source", Path(scratch, "source"))
        warnings = _run_sphinx(kept)
        site = Path(shutil.copytree(kept / "html", Path(scratch, "site")))
        (site / STAMP).touch()
        if out.exists():
            os.replace(out, Path(scratch, "older"))
        os.replace(site, out)
    return warnings


def renew(folder: Path, now: Path) -> None:
    """Make a folder like another one, without touching files that are alike: Sphinx skips those."""
    folder.mkdir(exist_ok=True)
    for path in [*folder.rglob("*")]:
        if path.is_file() and not (now / path.relative_to(folder)).is_file():
            path.unlink()
    for path in now.rglob("*"):
        there = folder / path.relative_to(now)
        if path.is_file() and not (there.is_file() and filecmp.cmp(path, there, shallow=False)):
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, there)


def _run_sphinx(kept: Path) -> str:
    """Run Sphinx in a separate process, where `exercises` are the stubs next to the pages.

    It makes anew what changed since the last time. After a warning or a failure that is everything:
    of a page that it does not read it has nothing to say.
    """
    source, trees = kept / "source", kept / "trees"
    code = [one for place in ("course", "solutions") for one in (root() / place).rglob("*.py")]
    done = trees / "environment.pickle"
    since = done.stat().st_mtime if done.exists() else 0.0
    if any(one.stat().st_mtime > since for one in code):  # docstrings, or how pages are made
        shutil.rmtree(trees, ignore_errors=True)
        shutil.rmtree(kept / "html", ignore_errors=True)
    ran = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-d", trees, source, kept / "html"],
        cwd=source,  # Python looks there first
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(source), str(root())])},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if ran.returncode or ran.stderr.strip():
        shutil.rmtree(trees, ignore_errors=True)
    if ran.returncode:
        reason = ran.stderr.strip() or ran.stdout.strip() or "without a word"
        raise SiteError(f"Sphinx failed: {reason.splitlines()[-1]}")
    shutil.rmtree(kept / "html" / "_sources", ignore_errors=True)
    return ran.stderr.strip()
