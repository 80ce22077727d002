"""The texts as pages on this machine, without a build of the site.

What has passed is marked, and the figures to play with draw the student's own functions.
"""

import html
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import jinja2
import mistune

from course import root
from course.core.files import write_atomically
from course.core.syllabus import Lesson, lessons
from course.publishing import site
from course.publishing.lab.script import write_lab
from course.publishing.site.markup import for_pages, mathml
from course.student.instrument.own import write_own

_SITE = Path(site.__file__).parent


def write_texts(status: Mapping[str, str], tell: Callable[[str], object] = print) -> Path:
    """Write all texts as pages that know what the student has written, and return their folder.

    Args:
        status: of every exercise, by name.
        tell: is told what takes a while.

    Raises:
        OSError: a page cannot be written.
    """
    folder = root() / ".course" / "texts"  # as deep as the texts, so that links lead where they did
    texts = root() / "course" / "lessons"
    by_file: dict[Path, Lesson] = {lesson.text: lesson for lesson in lessons()}
    template = jinja2.Template((_SITE / "templates" / "text.html").read_text(encoding="utf-8"))
    styles = (_SITE / "source" / "static" / "text.css").read_text(encoding="utf-8")
    for path in [*sorted(texts.glob("*.md")), *by_file]:
        text = path.read_text(encoding="utf-8")
        if lesson := by_file.get(path):
            text = for_pages(text, lesson, status)
        body = _page(text, path.parent)
        title = re.search(r"^# (.*)", text, re.MULTILINE)[1]
        up = "../" if path in by_file else ""
        page = template.render(title=title, body=body, styles=styles, up=up)
        written = folder / path.relative_to(texts).with_suffix(".html")
        written.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(written, page)
    write_lab(folder)
    write_own(folder, status, tell)
    return folder


class _Renderer(mistune.HTMLRenderer):
    """Headings with anchors, code without an empty last line, and links from page to page.

    Args:
        folder: where the text lies.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(escape=False)
        self._folder = folder

    def heading(self, text: str, level: int, **_: object) -> str:
        plain = html.unescape(re.sub("<[^>]+>", "", text)).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        return f'<h{level} id="{slug}">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        file, mark, place = url.partition("#")
        if file and ":" not in file:
            file = self._address(file)
        return super().link(text, f"{file}{mark}{place}", title)

    def block_code(self, code: str, info: str | None = None) -> str:
        return super().block_code(code.rstrip("\n"), info)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return super().image(text, self._address(url), title)

    def _address(self, file: str) -> str:
        """Return how a page leads to a file that its text names: to its page, if it has one."""
        lessons = root() / "course" / "lessons"
        meant = Path(os.path.normpath(self._folder / file))
        if meant.suffix == ".md" and meant.is_relative_to(lessons):
            return re.sub(r"md$", "html", file)
        page = root() / ".course" / "texts" / self._folder.relative_to(lessons)
        return Path(os.path.relpath(meant, page)).as_posix()


def _page(text: str, folder: Path) -> str:
    markdown = mistune.create_markdown(
        renderer=_Renderer(folder), plugins=["table", "math", "task_lists"]
    )
    markdown.renderer.register("inline_math", lambda _, tex: mathml(tex, is_display=False))
    markdown.renderer.register("block_math", lambda _, tex: mathml(tex, is_display=True))
    return markdown(text)
