"""The site: built in a separate folder, and moved to its place when it is complete."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from course import root
from course.site.executed import RunFailed
from course.site.pages import write_pages

STAMP = ".course-site"
"""An empty file in a site. No other folder has it."""


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
    if out.exists() and not (out / STAMP).is_file():
        raise SiteError(f"{out} is there and is not a site; name another folder with --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".site-") as scratch:
        source, site = Path(scratch, "source"), Path(scratch, "site")
        try:
            write_pages(source)
        except RunFailed as error:
            raise SiteError(str(error)) from None
        warnings = _run_sphinx(source, site)
        (site / STAMP).touch()
        if out.exists():
            os.replace(out, Path(scratch, "older"))
        os.replace(site, out)
    return warnings


def _run_sphinx(source: Path, site: Path) -> str:
    """Run Sphinx in a separate process, where `exercises` are the stubs next to the pages."""
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
