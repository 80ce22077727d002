"""Pages from templates: one file each, nothing fetched; whatever is filled in, escaped.

The templates are the `.html` files in this folder; all extend `page.html`. A browser runs no
script but the one that is given here, and takes no style from elsewhere, by their hashes.
"""

import base64
import hashlib
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from course.grading.names import feedback_path, printable

_HERE = Path(__file__).parent


def render(template: str, script: str = "", **facts: Any) -> str:
    """Fill in a template. Texts among the facts may hold anything: none becomes markup.

    Args:
        script: the file of the only script that the page runs, if it has one.
    """
    style = _text("page.css")
    own = _text(script) if script else ""
    policy = f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    if own:
        policy += f"; script-src {_hash(own)}"
    safe = {"style": markupsafe.Markup(style), "script": markupsafe.Markup(own)}
    return _templates().get_template(template).render(policy=policy, **safe, **facts)


@cache
def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE, encoding="utf-8"),
        autoescape=True,
        finalize=_printable,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(feedback_path=feedback_path)
    templates.filters.update(dedent=textwrap.dedent, with_code=_with_code, breakable=_breakable)
    return templates


def _printable(value: Any) -> Any:
    """Return a text as it may be shown; markup, which a template made itself, is let through."""
    return printable(value) if type(value) is str else value


def _breakable(name: str) -> markupsafe.Markup:
    """Escape a name, and let a line end after each underscore in it."""
    return markupsafe.escape(printable(name)).replace("_", markupsafe.Markup("_<wbr>"))


def _with_code(text: str) -> markupsafe.Markup:
    """Escape a text, and mark the words in `backticks` as code."""
    escaped = str(markupsafe.escape(printable(text)))
    return markupsafe.Markup(re.sub("`([^`]+)`", r"<code>\1</code>", escaped))
