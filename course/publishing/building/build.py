"""The build: derives everything else from `solutions/`, the one hand-written source.

A stub keeps the signature, the docstring and the checks of its solution. What stands between
`### BEGIN SOLUTION` and `### END SOLUTION` becomes one line that says what is to do. Derived as
well are the notebooks; the figures of the texts; and parts of texts: of a lesson its head, from the
syllabus, its figures' alt texts, and its common mistakes, from the catalogue; the table of all
lessons; and README's badges, from the address in pyproject.toml.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from course import root
from course.core import answers
from course.core.files import write_atomically
from course.core.stubs import stub_from
from course.core.syllabus import Exercise, Lesson, lessons
from course.publishing.building.notebooks import (
    address,
    notebook_from,
    notebook_of,
    source_of,
    stems,
)

if TYPE_CHECKING:  # brings matplotlib
    from course.publishing.figures import Picture


def record() -> Path:
    """Return where the hash of every stub and notebook is kept, as it was built.

    One that still has it was not edited.
    """
    return root() / "exercises" / ".stubs"


class BuildError(Exception):
    """A reason to stop a build, in one sentence."""


@dataclass(frozen=True)
class Product:
    """A file that is derived.

    Attributes:
        text: what it should hold.
        differs: what to say if it does not.
        edited_by_students: whether their work may stand in it.
    """

    path: Path
    text: str
    differs: str
    edited_by_students: bool

    @property
    def is_stale(self) -> bool:
        return _read(self.path) != self.text.encode("utf-8")

    @property
    def was_edited(self) -> bool:
        current = _read(self.path)
        if current is None or not self.edited_by_students:
            return False
        return record_line(self.path.name, current).encode() not in (_read(record()) or b"")


def drift() -> list[str]:
    """Return one sentence for every file that is not what its source gives.

    Raises:
        BuildError: a source is missing or cannot be used.
    """
    return [product.differs for product in _products() if product.is_stale]


def build(keep: Callable[[list[Path]], str] | None = None) -> list[str]:
    """Write everything that is missing or stale, and say what was done.

    Args:
        keep: copies files that a student edited and returns the name of the copies; then they are
            replaced. Without it they are not.

    Raises:
        BuildError: an edited file would be overwritten, or a source is missing or cannot be used;
            then nothing at all was written.
    """
    products = list(_products())
    stale = [product for product in products if product.is_stale]
    edited = [product.path for product in stale if product.was_edited]
    if edited and not keep:
        raise BuildError(
            f"your work in {', '.join(map(_shown, edited))} was left alone, as was everything "
            "else; `course build --force` replaces it and keeps a copy"
        )
    report = []
    if edited:
        report.append(f"kept your {' and '.join(map(_shown, edited))} as {keep(edited)}")
    for product in stale:
        write_atomically(product.path, product.text)
        report.append(f"built {_shown(product.path)}")
    hashes = record_of(products)
    if hashes.encode() != _read(record()):
        write_atomically(record(), hashes)
    return report or ["everything is up to date"]


def modules_and_notebooks() -> Iterator[Product]:
    """Yield what students work on, as it is at first.

    Raises:
        BuildError: a source is missing or cannot be used.
    """
    for lesson in lessons():
        stub = partial(stub_from, stem=lesson.stem)
        yield _product(lesson.module(), lesson.module("solutions"), stub)
    for stem in stems():
        yield _product(notebook_of(stem), source_of(stem), partial(notebook_from, stem=stem))


def record_of(products: Iterable[Product]) -> str:
    """Return the record of what was built."""
    return "".join(
        record_line(product.path.name, product.text.encode("utf-8"))
        for product in products
        if product.edited_by_students
    )


def record_line(name: str, data: bytes) -> str:
    """Return what the record says of a file that was built, and not of one edited since."""
    return f"{hashlib.sha256(data).hexdigest()}  {name}\n"


def _products() -> Iterator[Product]:
    yield from modules_and_notebooks()
    for lesson in lessons():
        yield from _text_and_figures(lesson)
    contents = root() / "course" / "lessons" / "README.md"
    differs = f"the lessons in {_shown(contents)} are not those of the syllabus"
    yield _product(contents, contents, with_contents, differs)
    readme = root() / "README.md"
    differs = "the badges in README.md do not lead where pyproject.toml says"
    yield _product(readme, readme, with_badges, differs)


def _text_and_figures(lesson: Lesson) -> Iterator[Product]:
    """Yield a lesson's text, and its figures: one that shows what it should keeps its bytes."""
    file, drawn_in = _shown(lesson.text), drawn_by(lesson)
    drawn = pictures(lesson)
    differs = (
        f"the head, alt texts or common mistakes in {file} are not those of syllabus, figures "
        "and catalogue"
    )

    def derive(text: str) -> str:
        return with_alts(with_head_and_mistakes(text, lesson), lesson, drawn)

    yield _product(lesson.text, lesson.text, derive, differs)
    folder = lesson.room / "figures"
    for path in sorted(folder.glob("*.svg")):
        if path.stem not in drawn:
            raise BuildError(f"{_shown(path)} is not drawn in {drawn_in}; delete or rename it")
    for name, picture in drawn.items():
        path = folder / f"{name}.svg"
        current = (_read(path) or b"").decode("utf-8", errors="replace")
        differs = f"{_shown(path)} is not what {drawn_in} draws; `course build` redraws it"
        text = current if picture.is_shown_by(current) else picture.svg()
        yield Product(path, text, differs, edited_by_students=False)


def _product(path: Path, source: Path, make: Callable[[str], str], differs: str = "") -> Product:
    """Derive a file; if `differs` is not given, it is a file that students edit."""
    data = _read(source)
    if data is None:
        raise BuildError(f"{_shown(source)} is missing")
    try:
        text = make(data.decode("utf-8"))
    except ValueError as error:
        raise BuildError(f"{_shown(source)} {error}") from None
    said = differs or f"{_shown(path)} is not what {_shown(source)} gives"
    return Product(path, text, said, edited_by_students=not differs)


def _read(path: Path) -> bytes | None:
    """Return a file with plain line ends (a checkout may have turned them), or None."""
    try:
        return answers.read(path).replace(b"\r\n", b"\n")
    except FileNotFoundError:
        return None


def _shown(path: Path) -> str:
    return path.relative_to(root()).as_posix()


# --- figures of texts -----------------------------------------------------------------------------

_FIGURE = re.compile(r"!\[(?:\\.|[^\]\\])*\]\((figures/[^)]*\.svg)\)")
_MARKUP = re.compile(r"([\\`*_\[\]<>$~^])")


def drawn_by(lesson: Lesson) -> str:
    """Return the file whose functions draw a lesson's figures, each by the name of its SVG."""
    return f"course/lessons/{lesson.stem}/figures.py"


def pictures(lesson: Lesson) -> dict[str, "Picture"]:
    """Draw the figures of a lesson, by name; none for a lesson without a file of figures.

    Raises:
        BuildError: a figure cannot be drawn.
    """
    from course.publishing.figures import of_room, public_functions  # with Matplotlib

    drawn = {}
    for name, draw in public_functions(of_room(lesson.stem, "figures")).items():
        try:
            drawn[name] = draw()
        except Exception as error:
            said = f"{drawn_by(lesson)} cannot draw {name}: {type(error).__name__}: {error}"
            raise BuildError(said) from error
    return drawn


def with_alts(text: str, lesson: Lesson, drawn: dict[str, "Picture"]) -> str:
    """Return a lesson's text with the alt text of each figure between its brackets.

    Raises:
        ValueError: the text shows a figure that is not drawn, or does not show one that is.
    """
    alts = {
        f"figures/{name}.svg": _MARKUP.sub(r"\\\1", picture.alt) for name, picture in drawn.items()
    }
    shown = _FIGURE.findall(text)
    for link in shown:
        if link not in alts:
            raise ValueError(f"shows {link}, which {drawn_by(lesson)} does not draw")
    for link in alts:
        if link not in shown:
            raise ValueError(
                f"does not show what {drawn_by(lesson)} draws; it needs the line ![]({link})"
            )
    return _FIGURE.sub(lambda match: f"![{alts[match[1]]}]({match[1]})", text)


# --- parts of texts -----------------------------------------------------------------------------

HEAD = ("<!-- head, written by course build -->\n", "<!-- end of head -->\n")
MISTAKES = (
    "<!-- common mistakes, written by course build -->\n",
    "<!-- end of common mistakes -->\n",
)
CONTENTS = ("<!-- lessons, written by course build -->\n", "<!-- end of lessons -->\n")
BADGES = ("<!-- badges, written by course build -->\n", "<!-- end of badges -->\n")

WORDS_PER_MINUTE = 100
"""That somebody reads who follows formulas, code and figures: 20 to 30 minutes for a lesson."""

_HEAD = """
# {number}. {title}

*Previous: {previous} ·
Next: {following}*

*You edit [`exercises/{stem}.py`](../../../exercises/{stem}.py). The tests are in
[`tests/test_{stem}.py`](../../../tests/test_{stem}.py). Allow about {reading} minutes to read
and {minutes} minutes for the exercises.*

"""

_CONTENTS_OPENING = """
| | lesson | in commands | the question |
|---|---|---|---|
"""

_MISTAKES_OPENING = """
## Common mistakes

What goes wrong most often, exercise by exercise, with a question to ask yourself, and the errors
that come up. Try first: a test that recognizes one of these tells you so.
"""

_FOLDED = """
<details>
<summary><code>{name}</code></summary>

{items}
</details>
"""


def with_head_and_mistakes(text: str, lesson: Lesson) -> str:
    """Return a lesson's text with its head and its list of common mistakes rewritten."""
    others = {
        one.number: f"[{one.number}. {one.title}](../{one.stem}/README.md)" for one in lessons()
    }
    head = _HEAD.format(
        number=lesson.number,
        title=lesson.title,
        stem=lesson.stem,
        minutes=lesson.minutes,
        reading=_minutes_to_read(text),
        previous=others.get(lesson.number - 1, "[the syllabus](../README.md)"),
        following=others.get(lesson.number + 1, "[the syllabus](../README.md), where you started"),
    )
    lists = "".join(map(_common_mistakes, lesson.exercises))
    return _between(_between(text, HEAD, head), MISTAKES, f"{_MISTAKES_OPENING}{lists}\n")


def _minutes_to_read(text: str) -> int:
    """Return how long a lesson's text takes, without its sources and what is folded, in fives."""
    text = text.partition("## Sources")[0]
    for begin, end in (HEAD, MISTAKES, ("<details>", "</details>")):
        text = re.sub(rf"{begin}.*?{end}", "", text, flags=re.DOTALL)
    text = re.sub(r"!\[.*?\]\(", "(", text)  # an alt text is not read by those who see the figure
    return 5 * round(len(text.split()) / WORDS_PER_MINUTE / 5)


def _common_mistakes(exercise: Exercise) -> str:
    from course.mistakes import errors, mistakes  # brings torch: import it only when needed

    items = [
        f"- {mistake.says.replace(exercise.name, 'It', 1)}\n  {mistake.look}\n"
        for mistake in mistakes(exercise.lesson)
        if mistake.exercise == exercise.name and mistake.common
    ] + [
        f"- {_as_code(error.message)}\n  {error.means}\n"
        for error in errors(exercise.lesson)
        if error.exercise == exercise.name
    ]
    return _FOLDED.format(name=exercise.name, items="".join(items)) if items else ""


def _as_code(text: str) -> str:
    """Return a text as Markdown shows code, also where it holds backticks itself."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def with_contents(text: str) -> str:
    """Return the page of all lessons with its table rewritten."""
    rows = "".join(
        f"| {lesson.number} | [{lesson.title}]({lesson.stem}/README.md)"
        f"{' (beyond)' if lesson.beyond else ''} | `{lesson.stem}` "
        f"| {question_of(lesson)} |\n"
        for lesson in lessons()
    )
    return _between(text, CONTENTS, f"{_CONTENTS_OPENING}{rows}\n")


def question_of(lesson: Lesson) -> str:
    """Return the question that a lesson begins with: the heading below its head.

    Raises:
        ValueError: there is none.
    """
    text = lesson.text.read_text(encoding="utf-8")
    found = re.search(rf"^{HEAD[1]}\n*## (.+)", text, re.MULTILINE)
    if not found:
        raise ValueError(
            f"needs the question of {_shown(lesson.text)}, a heading (##) below its head"
        )
    return found[1]


def with_badges(text: str) -> str:
    """Return README's text with badges for Codespaces and Colab; none without an address."""
    repository = address().removeprefix("https://github.com/")
    if not repository:
        return _between(text, BADGES, "")
    colab = "https://colab.research.google.com"
    folder = f"{colab}/github/{repository}/blob/main/notebooks"
    first, *others = stems()
    links = " ·\n".join(f"[{stem.replace('_', ' ')}]({folder}/{stem}.ipynb)" for stem in others)
    badges = (
        "[![Open in GitHub Codespaces](https://github.com/codespaces/badge.svg)]"
        f"(https://codespaces.new/{repository})\n"
        f"[![Open the first notebook in Colab]({colab}/assets/colab-badge.svg)]"
        f"({folder}/{first}.ipynb)\n\nThe others in Colab: {links}\n"
    )
    return _between(text, BADGES, badges)


def _between(text: str, markers: tuple[str, str], part: str) -> str:
    """Replace the part between two lines of a text.

    Raises:
        ValueError: the lines are not there once each, in this order.
    """
    begin, end = markers
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    if text.count(begin) != 1 or text.count(end) != 1 or end in before:
        raise ValueError(
            f"needs the line {begin.strip()} once and, after it, the line {end.strip()} once"
        )
    return f"{before}{begin}{part}{end}{after}"
