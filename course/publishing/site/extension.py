"""What Sphinx lacks: formulas as MathML, and examples and docstrings as readers expect them."""

import re
from typing import Any

from docutils import nodes
from math_core import LatexError
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from course.publishing.site.markup import mathml


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up the extension; Sphinx calls this."""
    app.add_html_math_renderer("mathml", (_formula, None), (_display, None))
    app.connect("doctree-read", _end_code_with_its_last_line)
    app.connect("autodoc-process-docstring", _no_lists_of_letters, priority=400)  # napoleon: 500
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
