"""Formulas and diagrams, for Sphinx.

Both reach the browser as text and are drawn there, by KaTeX and Mermaid out of `assets.zip`. Sphinx
would fetch a script for formulas from another machine, and knows no Mermaid. Only the pages that
need a script load it; `static/site.js` says what to draw.
"""

import html
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the extension; Sphinx calls this."""
    app.add_html_math_renderer("katex", (_formula, None), (_display, None))
    app.add_directive("mermaid", Diagram)
    app.connect("doctree-read", _end_code_with_its_last_line)
    app.connect("html-page-context", _load_scripts)
    app.connect("html-page-context", _mend_for_screen_readers, priority=900)  # after the theme
    app.connect("autodoc-process-docstring", _no_lists_of_letters, priority=400)  # napoleon: 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Diagram(SphinxDirective):
    """A fence of the language `mermaid`, as GitHub draws it too."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        source = html.escape("\n".join(self.content))
        return [nodes.raw("", f'<pre class="mermaid">{source}</pre>', format="html")]


def _formula(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(f'<span class="math">{html.escape(node.astext())}</span>')
    raise nodes.SkipNode


def _display(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{html.escape(node.astext())}</div>')
    raise nodes.SkipNode


def _end_code_with_its_last_line(_: Sphinx, doctree: nodes.document) -> None:
    """Remove the empty line that ends an example: it tells doctest where, and readers nothing."""
    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.rawsource.rstrip("\n")
        block[:] = [nodes.Text(block.astext().rstrip("\n"))]


def _no_lists_of_letters(*details: Any) -> None:
    """Keep `n_heads: H.` the symbol H; reStructuredText would begin a list at the letter H."""
    lines = details[-1]
    lines[:] = [re.sub(r"(: )([A-Z]\.)$", r"\1\\\2", line) for line in lines]


def _mend_for_screen_readers(
    app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any
) -> None:
    """Turn boxes to tick that nobody can tick into a sign, and give sidebar headings a level."""
    box = r'<input class="task-list-item-checkbox"[^>]*>'
    context["body"] = re.sub(box, "☐ ", context.get("body", ""))
    heading = 'role="heading"'
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(heading, f'{heading} aria-level="2"')


def _load_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    body = context.get("body", "")
    if 'class="math"' in body:
        app.add_css_file("katex/katex.min.css")
        app.add_js_file("katex/katex.min.js")
    if 'class="mermaid"' in body:
        app.add_js_file("mermaid/mermaid.tiny.js")
    app.add_js_file("site.js", priority=900)  # the last, for it uses the others
