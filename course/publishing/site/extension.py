"""What Sphinx and its theme lack: formulas as MathML, names for screen readers, and excerpts of
what a search finds, without a server.
"""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from math_core import LatexError
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from course.publishing.site.formulas import mathml
from course.publishing.site.styles import with_styles

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

_FIRST_FIGURE = re.compile(r'<course-lab[^>]*>\s*<p><img [^>]*src="([^"]+)"')

_NOT_SEARCHED = re.compile(r'<a class="headerlink".*?</a>|<(?!/?(?:article|section)\b)[^>]*>')


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the extension; Sphinx calls this."""
    app.add_html_math_renderer("mathml", (_formula, None), (_display, None))
    app.connect("doctree-read", _end_code_with_its_last_line)
    app.connect("autodoc-process-docstring", _no_lists_of_letters, priority=400)  # napoleon: 500
    app.connect("build-finished", _finish_pages, priority=900)  # after the theme's last style sheet
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _formula(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_mathml(node, displaystyle=False))
    raise nodes.SkipNode


def _display(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{_mathml(node, displaystyle=True)}</div>')
    raise nodes.SkipNode


def _mathml(node: nodes.Node, displaystyle: bool) -> str:
    """Return a formula as browsers draw it without a script; of a wrong one nothing, and warn."""
    try:
        return mathml(node.astext(), is_display=displaystyle)
    except LatexError as error:
        logging.getLogger(__name__).warning(f"{node.astext()}: {error}", location=node)
        return ""


def _end_code_with_its_last_line(_: Sphinx, doctree: nodes.document) -> None:
    """Remove the empty line that ends an example: it tells doctest where, and readers nothing."""
    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.rawsource.rstrip("\n")
        block[:] = [nodes.Text(block.astext().rstrip("\n"))]


def _no_lists_of_letters(*details: Any) -> None:
    """Keep `n_heads: H.` the symbol H; reStructuredText would begin a list at the letter H."""
    lines = details[-1]
    lines[:] = [re.sub(r"(: )([A-Z]\.)$", r"\1\\\2", line) for line in lines]


def _finish_pages(app: Sphinx, error: Exception | None) -> None:
    """Mend every page that was written, and collect their texts, for the search to quote."""
    if error:
        return
    scripts = Path(app.outdir, "_static").rglob("*.js")
    in_scripts = set(re.findall(r"[\w-]+", "".join(one.read_text("utf-8") for one in scripts)))
    texts = {}
    for name in [*sorted(app.env.found_docs), "search"]:
        path = Path(app.outdir, f"{name}.html")
        page = path.read_text(encoding="utf-8")
        for pattern, instead in _MENDS.items():
            page = re.sub(pattern, instead, page)
        article = page[page.index("<article") : page.index("</article>")]
        page = _with_first_figure_early(page)
        page = _FIGURE.sub(partial(_with_size, path.parent), page)
        page = with_styles(page, path.parent, in_scripts)
        path.write_text(page, encoding="utf-8", newline="\n")
        texts[f"./{name}.html"] = _NOT_SEARCHED.sub("", article)
    script = f"const PAGES = {json.dumps(texts, ensure_ascii=False)};\n"
    Path(app.outdir, "_static", "pages.js").write_text(script, encoding="utf-8", newline="\n")


def _with_first_figure_early(page: str) -> str:
    """Return a page that asks for the figure at its top before its styles are read."""
    first = _FIRST_FIGURE.search(page)
    link = f'<head>\n<link rel="preload" as="image" href="{first[1]}">' if first else "<head>"
    return page.replace("<head>", link, 1)


def _with_size(folder: Path, figure: re.Match[str]) -> str:
    """Return the tag of a figure with its size: text does not move when the figure comes.

    It comes when a reader is near it; the still picture of a figure to play with comes at once.
    """
    opening, attributes, source = figure.groups(default="")
    size = re.search(r' width="\d+" height="\d+"', (folder / unquote(source)).read_text("utf-8"))
    when = "" if opening else ' loading="lazy"'
    return f"{opening}<img{size[0]}{when} {attributes}"
