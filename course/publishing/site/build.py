"""The site: built in a separate folder, and copied to its place when it is complete."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from course import root
from course.publishing.site.executed import SiteError
from course.publishing.site.pages import write_pages

_MENDS = {
    r'<header class="mobile-header"': r'\g<0> aria-label="Top of the page"',
    r'<aside class="sidebar-drawer"': r'\g<0> aria-label="All pages"',
    r'<aside class="toc-drawer[^"]*"': r'\g<0> aria-label="On this page"',
    r"<footer": r'\g<0> aria-label="Next page and licence"',
    r'role="heading"': r'\g<0> aria-level="2"',
    r'<summary aria-label="Toggle hidden content"': "<summary",  # it hides the text there
    r'<th class="head[^"]*"><p></p></th>': "<td></td>",  # the head of no column
    r'<input class="task-list-item-checkbox"[^>]*>': "☐ ",  # a box that nobody can tick
}
"""What the theme writes, and what screen readers should get instead."""

_FIGURE = re.compile(r'(<course-lab[^>]*>\s*<p>)?<img ([^>]*src="([^":]+\.svg)")')

_NOT_SEARCHED = re.compile(r'<a class="headerlink".*?</a>|<(?!/?(?:article|section)\b)[^>]*>')


def build_site(site: Path, kept: Path) -> str:
    """Build the site, from what changed since the last time, in place of the one that was there.

    Args:
        site: where it will be.
        kept: the folder of what the next build can use again: notebooks that ran, Sphinx's pages.

    Returns:
        Sphinx's warnings, a line each.

    Raises:
        SiteError: a notebook does not run, or Sphinx fails; then the site is as it was.
        OSError: a file cannot be written.
    """
    code = [one for place in ("course", "solutions") for one in (root() / place).rglob("*.py")]
    done = kept / "trees" / "environment.pickle"
    since = done.stat().st_mtime if done.exists() else 0.0
    if any(one.stat().st_mtime > since for one in code):  # docstrings, or how pages are made
        for folder in ("source", "trees", "html"):
            shutil.rmtree(kept / folder, ignore_errors=True)
    write_pages(kept / "source", kept / "notebooks")
    warnings = _run_sphinx(kept)
    finished = kept / "finished"
    shutil.rmtree(finished, ignore_errors=True)
    shutil.copytree(kept / "html", finished, ignore=shutil.ignore_patterns("_sources"))
    _finish_pages(finished)
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(finished, site)
    return warnings


def _run_sphinx(kept: Path) -> str:
    """Run Sphinx in a separate process, where `exercises` are the stubs next to the pages.

    After a warning or a failure the next run makes everything anew: of a page that it does not read
    it has nothing to say.
    """
    source, trees = kept / "source", kept / "trees"
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
    return ran.stderr.strip()


def _finish_pages(site: Path) -> None:
    """Mend every page, and collect their texts: a search quotes them without a server."""
    texts = {}
    for path in sorted(site.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        for pattern, instead in _MENDS.items():
            page = re.sub(pattern, instead, page)
        article = page[page.index("<article") : page.index("</article>")]
        page = _FIGURE.sub(partial(_with_size, path.parent), page)
        path.write_text(page, encoding="utf-8", newline="\n")
        texts[f"./{path.relative_to(site).as_posix()}"] = _NOT_SEARCHED.sub("", article)
    script = f"const PAGES = {json.dumps(texts, ensure_ascii=False)};\n"
    (site / "_static" / "pages.js").write_text(script, encoding="utf-8", newline="\n")


def _with_size(folder: Path, figure: re.Match[str]) -> str:
    """Return the tag of a figure with its size: text does not move when the figure comes.

    It comes when a reader is near it; the still picture of a figure to play with comes at once.
    """
    opening, attributes, source = figure.groups(default="")
    size = re.search(r' width="\d+" height="\d+"', (folder / unquote(source)).read_text("utf-8"))
    when = "" if opening else ' loading="lazy"'
    return f"{opening}<img{size[0]}{when} {attributes}"
