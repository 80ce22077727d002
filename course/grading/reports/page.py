"""Pages from templates: one file each, no script, nothing fetched; whatever is filled in, escaped.

The templates are the `.html` files beside this one; all extend `page.html`.
"""

import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from course.grading.names import feedback_path, printable
from course.grading.reports.classroom import is_graded
from course.grading.reports.message import trouble_of
from course.messages.message import message_about
from course.syllabus import find_lesson


def render(template: str, **facts: Any) -> str:
    """Fill in a template. Texts among the facts may hold anything: none becomes markup."""
    return _templates().get_template(template).render(facts)


@cache
def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent, encoding="utf-8"),
        autoescape=True,
        finalize=_printable,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(
        feedback_path=feedback_path,
        find_lesson=find_lesson,
        is_graded=is_graded,
        message_about=message_about,
        trouble_of=trouble_of,
    )
    templates.filters.update(dedent=textwrap.dedent, with_code=_with_code)
    return templates


def _printable(value: Any) -> Any:
    """Return a text as it may be shown; markup, which a template made itself, is let through."""
    return printable(value) if type(value) is str else value


def _with_code(text: str) -> markupsafe.Markup:
    """Escape a text, and mark what stands between `backticks` in it as code."""
    escaped = str(markupsafe.escape(printable(text)))
    return markupsafe.Markup(re.sub("`([^`]+)`", r"<code>\1</code>", escaped))
