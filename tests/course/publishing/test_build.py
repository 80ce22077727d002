"""`course build`: what is derived from what, drift noticed, and no edited line ever lost."""

import ast
import doctest
import itertools
import re

import pytest
from click.testing import CliRunner
from matplotlib.colors import to_hex
from matplotlib.text import Text

from course import mistakes as catalogue
from course.cli import main
from course.core.syllabus import find_lesson, lessons
from course.publishing.building import build
from course.publishing.building.notebooks import stems
from course.publishing.figures import Picture, palette
from course.publishing.figures.words import TEXT as LEGIBLE
from course.student import backups

BEGIN, END = build.MISTAKES
HEAD = "".join(build.HEAD)
TEXT, CONTENTS = "course/lessons/rope/README.md", "course/lessons/README.md"
NOTEBOOK = "course/lessons/rope/notebook.py"
DRIFTED = (
    f"the head, alt texts or common mistakes in {TEXT} are not those of syllabus, figures and "
    "catalogue"
)

each_lesson = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)


def replace(path, old, new):
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")


@each_lesson
def test_a_stub_keeps_docstrings_and_examples_and_nothing_of_the_body(lesson):
    source = lesson.module("solutions").read_text(encoding="utf-8")
    stub = build.stub_from(source, lesson.stem)
    definitions = {getattr(node, "name", None): node for node in ast.parse(stub).body}
    for exercise in lesson.exercises:
        docstring = ast.get_docstring(definitions[exercise.name])
        assert "Source: " in docstring, exercise.name
        assert ">>> " in docstring, exercise.name
        assert f'NotImplementedError("TODO {lesson.stem}.{exercise.name}")' in stub
    assert "SOLUTION" not in stub
    first_block = source.partition("### BEGIN SOLUTION\n")[2].partition("### END SOLUTION")[0]
    for line in filter(str.strip, first_block.splitlines()):
        assert line not in stub.splitlines()


def test_the_record_in_git_tells_each_module_and_notebook_as_it_was_built():
    assert build.record().read_text(encoding="utf-8") == "".join(
        build.record_line(product.path.name, product.text.encode("utf-8"))
        for product in build.modules_and_notebooks()
    )


def test_a_build_writes_every_module_and_notebook_and_then_has_nothing_to_do(repository):
    assert len(build.build()) == len(lessons()) + len(stems())
    assert len(list((repository / "notebooks").glob("*.ipynb"))) == len(stems())
    assert build.build() == ["everything is up to date"]


def test_a_changed_solution_is_drift_and_is_built(built):
    replace(built / "solutions" / "rope.py", "RoPE as a module", "RoPE, a module")
    for name in ("exercises/rope.py", TEXT):  # a checkout with other line ends is not an edit
        (built / name).write_bytes((built / name).read_bytes().replace(b"\n", b"\r\n"))
    (drift,) = build.drift()
    assert "exercises/rope.py" in drift and "solutions/rope.py" in drift
    assert build.build() == ["built exercises/rope.py"]


@pytest.mark.parametrize("name", ["exercises/rope.py", "notebooks/5_rope.ipynb"])
def test_edited_work_stops_the_build_before_anything_is_written(built, name):
    (built / name).write_text("my work", encoding="utf-8")
    (built / "exercises" / "lookup.py").unlink()
    with pytest.raises(build.BuildError, match=rf"your work in {name} was left alone"):
        build.build()
    assert (built / name).read_text(encoding="utf-8") == "my work"
    assert not (built / "exercises" / "lookup.py").exists()
    for work in (b"first\r\n\xff", b"second"):  # by force every byte is kept
        (built / name).write_bytes(work)
        build.build(keep=backups.keep)
        assert (built / name).read_bytes() != work
    copies = {copy.read_bytes() for copy in (built / ".course" / "backups").glob(f"*/{name}")}
    assert copies == {b"first\r\n\xff", b"second"}


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        (NOTEBOOK, b'# %% [markdown] answer="why"\n# Why?\n', "has an answer without"),
        (TEXT, None, "is missing$"),
        (TEXT, b"\xff", "'utf-8' codec can't decode"),
    ],
)
def test_a_source_that_cannot_be_used_is_one_sentence(repository, name, data, sentence):
    if data is None:
        (repository / name).unlink()
    else:
        (repository / name).write_bytes(data)
    with pytest.raises(build.BuildError, match=rf"^{name} {sentence}"):
        build.build()
    assert not (repository / "exercises").exists()
    assert not [*repository.glob("notebooks/*.ipynb")]


def test_a_crash_while_writing_leaves_the_old_file(built, monkeypatch):
    def crash(*_):
        raise OSError("no space left on device")

    replace(built / "solutions" / "rope.py", "RoPE as a module", "RoPE, a module")
    before = (built / "exercises" / "rope.py").read_bytes()
    monkeypatch.setattr("os.replace", crash)
    with pytest.raises(OSError, match="no space"):
        build.build()
    assert (built / "exercises" / "rope.py").read_bytes() == before


# --- what is derived in the lessons' texts --------------------------------------------------


@each_lesson
def test_the_texts_in_git_list_the_common_mistakes_of_every_exercise(lesson):
    text = lesson.text.read_text(encoding="utf-8")
    assert build.with_head_and_mistakes(text, lesson) == text
    section = text.partition(BEGIN)[2].partition(END)[0]
    for exercise in lesson.exercises:
        listed = section.partition(f"<code>{exercise.name}</code>")[2].partition("</details>")[0]
        own = [one for one in catalogue.mistakes(lesson.stem) if one.exercise == exercise.name]
        common = [mistake for mistake in own if mistake.common]
        assert not own or 2 <= len(common) <= 4, exercise.name
        errors = [one for one in catalogue.errors(lesson.stem) if one.exercise == exercise.name]
        assert listed.count("\n- It ") == len(common), exercise.name
        assert listed.count("\n- `") == len(errors) == listed.count("\n- ") - len(common)
        for mistake in common:
            assert mistake.says.startswith(f"{exercise.name} ")
            assert mistake.look in listed
    assert doctest.DocTestParser().get_examples(section) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "right", "wrong", "sentence"),
    [
        (TEXT, "\n- It ", "\n- This ", DRIFTED),
        (TEXT, "# 5. Rotate", "# 5. Turn", DRIFTED),
        (CONTENTS, "| 5 |", "| 6 |", f"the lessons in {CONTENTS} are not those of the syllabus"),
    ],
    ids=["common mistakes", "head", "table of lessons"],
)
def test_a_part_that_drifted_fails_the_check_and_is_restored_alone(
    built, name, right, wrong, sentence
):
    before = f"{(built / name).read_text(encoding='utf-8')}new"
    drifted = before.replace(right, wrong, 1)
    (built / name).write_text(drifted, encoding="utf-8")
    result = CliRunner().invoke(main, ["build", "--check"])
    assert (result.exit_code, result.output) == (1, f"{sentence}\n")
    assert (built / name).read_text(encoding="utf-8") == drifted
    assert build.build() == [f"built {name}"]
    assert (built / name).read_text(encoding="utf-8") == before
    assert CliRunner().invoke(main, ["build", "--check"]).exit_code == 0


@pytest.mark.parametrize("markers", ["", END + BEGIN, BEGIN + BEGIN + END, BEGIN + END + END])
def test_wrong_markers_are_one_sentence_and_nothing_is_written(repository, markers):
    text = repository / TEXT
    written = f"{HEAD}\n## RoPE?\n\n{markers}\nThe end.\n"
    text.write_text(written, encoding="utf-8")
    result = CliRunner().invoke(main, ["build"])
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert all(part in result.output for part in (TEXT, BEGIN.strip(), END.strip()))
    assert text.read_text(encoding="utf-8") == written
    assert not (repository / "exercises").exists()


def test_every_head_leads_to_the_lessons_before_and_after():
    texts = [f"../{lesson.stem}/README.md" for lesson in lessons()]
    following, before = [*texts[1:], "../README.md"], ["../README.md", *texts[:-1]]
    for lesson, earlier, later in zip(lessons(), before, following, strict=True):
        head = lesson.text.read_text(encoding="utf-8").partition(build.HEAD[1])[0]
        assert f"\n# {lesson.number}. {lesson.title}\n" in head
        assert re.findall(r"\]\((\S+\.md)\)", head) == [earlier, later]
        assert f"exercises/{lesson.stem}.py" in head and f"tests/{lesson.tests.name}" in head


def test_the_question_of_a_lesson_is_its_first_heading(repository):
    contents = (repository / CONTENTS).read_text(encoding="utf-8")
    replace(repository / TEXT, "\n## Can a token", "\n## Could a token")
    row = "| [Rotate queries and keys](rope/README.md) | `rope` | Could a token "
    assert row in build.with_contents(contents)
    replace(repository / TEXT, "\n## Could", "\n### Could")
    with pytest.raises(ValueError, match=r"rope/README\.md"):
        build.with_contents(contents)


# --- figures of the texts -------------------------------------------------------------------

LOOKUP = "course/lessons/lookup/README.md"
FIGURE = "course/lessons/lookup/figures/bytes_of_a_batch.svg"
DRAWN_IN = "course/lessons/lookup/figures.py"
DRAW = build.pictures
FIGURE_DRIFTED = f"{FIGURE} is not what {DRAWN_IN} draws; `course build` redraws it"


@pytest.mark.slow
@each_lesson
def test_figures_are_small_and_legible_and_have_colors_for_dark_pages(lesson):
    for name, picture in build.pictures(lesson).items():
        svg = lesson.room / "figures" / f"{name}.svg"
        assert svg.stat().st_size <= 100_000, name
        text = svg.read_text(encoding="utf-8")
        assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg" role="img" width="700"')
        assert text.count("://") == 1  # nothing from elsewhere
        assert ("<text" in text) == bool(words_of(picture)), f"{name}: words can be selected"
        known = {*palette.ON_DARK, *palette.ON_DARK.values(), palette.DARK_CELL, palette.LIGHT_CELL}
        drawn = {to_hex(text.get_color()) for text in picture.findobj(Text)}
        drawn |= {to_hex(line.get_color()) for axes in picture.axes for line in axes.lines}
        assert drawn | {*re.findall(r"(?:fill|stroke): ?(#\w+)", text)} <= known, name
        picture.draw_without_rendering()  # settles the layout
        # an annotation's own extent would include its arrow
        shown = {text: Text.get_window_extent(text).padded(-3) for text in words_of(picture)}
        wrong = [text for text in shown if text.get_fontsize() < LEGIBLE]
        wrong += [text for text, box in shown.items() if not within(picture.bbox, box)]
        pairs = itertools.combinations(shown.items(), 2)
        wrong += [(a, b) for (a, box), (b, other) in pairs if box.overlaps(other)]
        wrong += [
            (drawn, text)
            for drawn, points in lines_and_dots(picture)
            for text, box in shown.items()
            if drawn is not text and ((points > box.min) & (points < box.max)).all(axis=1).any()
        ]
        assert wrong == [], name


def lines_and_dots(picture):
    """Lines, arrows and dots, with points (N, 2) on each, in pixels."""
    for axes in [one for parent in picture.axes for one in (parent, *parent.child_axes)]:
        for line in axes.lines:
            path = line.get_transform().transform_path(line.get_path())
            is_line = line.get_linestyle() != "None"
            yield line, path.interpolated(60).vertices if is_line else path.vertices
        for text in axes.texts:
            if arrow := getattr(text, "arrow_patch", None):
                path = arrow.get_transform().transform_path(arrow.get_path())
                yield text, path.interpolated(20).vertices


def words_of(picture):
    """All texts that are drawn: ticks beyond the ends of an axis are kept, and are not."""
    found = [*picture.texts]
    for axes in [one for parent in picture.axes for one in (parent, *parent.child_axes)]:
        found += [*axes.texts, axes.title, axes._left_title]  # noqa: SLF001
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            labels = axis.get_ticklabels()
            ticks = zip(labels, axis.get_ticklocs(), strict=False)  # a shared axis has no labels
            found += [axis.label, *(text for text, place in ticks if low <= place <= high)]
    return [text for text in found if text.get_text().strip() and text.get_visible()]


def within(page, box):
    return page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1


@pytest.fixture
def lookup(built, monkeypatch):
    """A repository that draws the figures of lesson 1, and keeps the others."""
    kept = build.pictures
    draw = lambda lesson: (DRAW if lesson.stem == "lookup" else kept)(lesson)  # noqa: E731
    monkeypatch.setattr(build, "pictures", draw)
    return built


@pytest.mark.slow
def test_a_number_of_the_reference_that_changed_is_drift_of_its_figure(lookup):
    solution = lookup / "solutions" / "lookup.py"
    replace(solution, "* bytes_per_element\n", "* bytes_per_element * 2\n")
    text = DRIFTED.replace(TEXT, LOOKUP)  # its alt text tells the number
    assert build.drift() == [text, FIGURE_DRIFTED]
    assert build.build() == [f"built {LOOKUP}", f"built {FIGURE}"]
    assert "12.3 GiB" in (lookup / LOOKUP).read_text(encoding="utf-8")
    replace(solution, "def one_hot_bytes", "def one_hot_bits")
    sentence = f"^{DRAWN_IN} cannot draw bytes_of_a_batch: AttributeError: module .* no attribute "
    with pytest.raises(build.BuildError, match=sentence):
        build.drift()


@pytest.mark.slow
def test_a_figure_is_drawn_anew_where_it_shows_something_else_and_not_for_other_bytes(built):
    def changed(old, new):
        (built / FIGURE).write_text(before.replace(old, new, 1), encoding="utf-8")
        return build.build(), (built / FIGURE).read_text(encoding="utf-8")

    before = (built / FIGURE).read_text(encoding="utf-8")
    assert changed('width="700"', 'width="701"')[0] == ["everything is up to date"]
    for old, new in (("<title>", "<title>Once "), (before, ""), ("<metadata>", "<metadata>x")):
        done, after = changed(old, new)
        assert done == [f"built {FIGURE}"]
        assert len(after) == pytest.approx(len(before), rel=0.2)
    (built / FIGURE).unlink()
    (built / FIGURE).with_name("older.svg").write_text("<svg/>", encoding="utf-8")
    file = FIGURE.replace("bytes_of_a_batch", "older")
    with pytest.raises(build.BuildError, match=f"^{file} is not drawn in {DRAWN_IN}; delete or"):
        build.build()


def test_an_alt_text_is_written_into_the_text_and_escaped():
    drawn, lesson = {"a": Picture(1, "W[ids], _so_")}, find_lesson("lookup")
    once = build.with_alts("![](figures/a.svg)", lesson, drawn)
    assert once == r"![W\[ids\], \_so\_](figures/a.svg)"
    assert build.with_alts(once, lesson, drawn) == once
    with pytest.raises(ValueError, match=f"^shows .*/b.svg, which {DRAWN_IN} does not draw$"):
        build.with_alts("![](figures/b.svg)", lesson, drawn)
    with pytest.raises(ValueError, match=r"it needs the line !\[\]\(figures/a.svg\)$"):
        build.with_alts("", lesson, drawn)
