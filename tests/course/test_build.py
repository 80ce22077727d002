"""`course build`: what is derived from what, drift noticed, and no edited line ever lost."""

import ast
import doctest
import importlib
import itertools
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from course import ROOT, plots
from course import mistakes as catalogue
from course.building import build, figures
from course.building.figures import lookup as lookup_figures
from course.building.figures.sources import measured
from course.building.notebooks import stems
from course.cli import main
from course.plots.drawing import TEXT as LEGIBLE
from course.plots.drawing import diagram
from course.syllabus import find_lesson, lessons

BEGIN, END = build.MISTAKES
HEAD = "".join(build.HEAD)
TEXT = "course/lessons/5_rope.md"
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
    record = (ROOT / "exercises" / ".stubs").read_text(encoding="utf-8")
    assert build.record_line(f"{lesson.stem}.py", stub.encode()) in record


def test_a_build_writes_every_module_and_notebook_and_then_has_nothing_to_do(repository):
    assert len(build.drift()) == len(lessons()) + len(stems())
    assert len(build.build()) == len(lessons()) + len(stems())
    assert len(list((repository / "notebooks").iterdir())) == len(stems())
    assert build.drift() == []
    assert build.build() == ["everything is up to date"]


def test_a_changed_solution_is_drift_and_is_built(built):
    replace(built / "solutions" / "rope.py", "RoPE as a module", "RoPE, a module")
    assert build.drift() == ["exercises/rope.py is not what solutions/rope.py gives"]
    assert build.build() == ["built exercises/rope.py"]


@pytest.mark.parametrize("name", ["exercises/rope.py", "notebooks/5_rope.ipynb"])
def test_edited_work_stops_the_build_before_anything_is_written(built, name):
    (built / name).write_text("my work", encoding="utf-8")
    (built / "exercises" / "lookup.py").unlink()
    with pytest.raises(build.BuildError, match=rf"your work in {name} was left alone"):
        build.build()
    assert (built / name).read_text(encoding="utf-8") == "my work"
    assert not (built / "exercises" / "lookup.py").exists()


def test_force_keeps_every_byte_of_what_it_replaces(built):
    edited = built / "exercises" / "rope.py"
    for work in (b"first\r\n\xff", b"second"):
        edited.write_bytes(work)
        build.build(force=True)
        assert edited.read_bytes() != work
    copies = (built / ".course" / "backups").glob("*/exercises/rope.py")
    assert {copy.read_bytes() for copy in copies} == {b"first\r\n\xff", b"second"}


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        (
            "solutions/notebooks/5_rope.py",
            b'# %% [markdown] answer="why"\n# Why?\n',
            "has an answer without",
        ),
        ("course/lessons/5_rope.md", None, "is missing$"),
        ("course/lessons/5_rope.md", b"\xff", "'utf-8' codec can't decode"),
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
    assert not (repository / "notebooks").exists()


@pytest.mark.parametrize("name", ["exercises/rope.py", "course/lessons/5_rope.md"])
def test_a_checkout_with_other_line_ends_is_not_an_edit(built, name):
    (built / name).write_bytes((built / name).read_bytes().replace(b"\n", b"\r\n"))
    assert build.drift() == []
    assert build.build() == ["everything is up to date"]


@pytest.mark.parametrize(
    ("source", "change", "name"),
    [
        ("solutions/rope.py", ("RoPE as a module", "RoPE, a module"), "exercises/rope.py"),
        ("course/lessons/5_rope.md", ("\n- It ", "\n- This "), "course/lessons/5_rope.md"),
    ],
)
def test_a_crash_while_writing_leaves_the_old_file(built, monkeypatch, source, change, name):
    def crash(*_):
        raise OSError("no space left on device")

    replace(built / source, *change)
    before = (built / name).read_bytes()
    monkeypatch.setattr("os.replace", crash)
    with pytest.raises(OSError, match="no space"):
        build.build()
    assert (built / name).read_bytes() == before


# --- what is derived in the lessons' texts --------------------------------------------------


@each_lesson
def test_the_texts_in_git_list_the_common_mistakes_of_every_exercise(lesson):
    text = lesson.text.read_text(encoding="utf-8")
    assert build.with_head_and_mistakes(text, lesson) == text
    section = text.partition(BEGIN)[2].partition(END)[0]
    for exercise in lesson.exercises:
        listed = section.partition(f"<code>{exercise.name}</code>")[2].partition("</details>")[0]
        common = [
            mistake
            for mistake in catalogue.mistakes(lesson.stem)
            if mistake.common and mistake.exercise == exercise.name
        ]
        assert 2 <= len(common) <= 4, exercise.name
        errors = [one for one in catalogue.errors(lesson.stem) if one.exercise == exercise.name]
        assert listed.count("\n- It ") == len(common), exercise.name
        assert listed.count("\n- `") == len(errors) == listed.count("\n- ") - len(common)
        for mistake in common:
            assert mistake.says.startswith(f"{exercise.name} ")
            assert mistake.look in listed
    assert doctest.DocTestParser().get_examples(section) == []


def test_a_mistake_that_is_no_longer_common_is_drift_and_leaves_the_text(built, monkeypatch):
    text, known = find_lesson("rope").text, catalogue.mistakes
    before = text.read_text(encoding="utf-8")
    dropped = next(mistake for mistake in known("rope") if mistake.common)
    monkeypatch.setattr(
        catalogue, "mistakes", lambda stem: [one for one in known(stem) if one is not dropped]
    )
    assert build.drift() == [DRIFTED]
    assert build.build() == [f"built {TEXT}"]
    assert build.drift() == []
    after = text.read_text(encoding="utf-8").splitlines()
    assert len(after) == len(before.splitlines()) - 2
    assert f"  {dropped.look}" not in after


def test_a_list_that_drifted_fails_the_check_and_is_restored_alone(built):
    assert CliRunner().invoke(main, ["build", "--check"]).exit_code == 0
    text = find_lesson("rope").text
    right = f"{text.read_text(encoding='utf-8')}new"
    wrong = right.replace("\n- It ", "\n- This ", 1)
    text.write_text(wrong, encoding="utf-8")
    result = CliRunner().invoke(main, ["build", "--check"])
    assert (result.exit_code, result.output) == (1, f"{DRIFTED}\n")
    assert text.read_text(encoding="utf-8") == wrong
    build.build()
    assert text.read_text(encoding="utf-8") == right


@pytest.mark.parametrize(
    "markers",
    ["", END + BEGIN, BEGIN + BEGIN + END, BEGIN + END + END],
    ids=["none", "swapped", "two begins", "two ends"],
)
def test_wrong_markers_are_one_sentence_and_nothing_is_written(repository, markers):
    text = repository / "course" / "lessons" / "5_rope.md"
    written = f"{HEAD}\n## RoPE?\n\n{markers}\nThe end.\n"
    text.write_text(written, encoding="utf-8")
    for options in (["build"], ["build", "--check"]):
        result = CliRunner().invoke(main, options)
        assert result.exit_code == 1
        assert result.output == (
            "Error: course/lessons/5_rope.md needs the line "
            "<!-- common mistakes, written by course build --> once and, after it, the line "
            "<!-- end of common mistakes --> once\n"
        )
    assert text.read_text(encoding="utf-8") == written
    assert not (repository / "exercises").exists()


def test_every_head_leads_to_the_lessons_before_and_after():
    following = [lesson.text.name for lesson in lessons()[1:]] + ["README.md"]
    before = ["README.md"] + [lesson.text.name for lesson in lessons()[:-1]]
    for lesson, earlier, later in zip(lessons(), before, following, strict=True):
        head = lesson.text.read_text(encoding="utf-8").partition(build.HEAD[1])[0]
        assert f"\n# {lesson.number}. {lesson.title}\n" in head
        assert re.findall(r"\]\((\w+\.md)\)", head) == [earlier, later]
        assert f"exercises/{lesson.stem}.py" in head and f"tests/{lesson.tests.name}" in head


def test_a_head_and_a_row_that_drifted_are_written_again(built):
    contents, text = built / "course" / "lessons" / "README.md", find_lesson("rope").text
    before = contents.read_bytes(), text.read_bytes()
    replace(text, "# 5. Rotate", "# 5. Turn")
    replace(contents, "| 5 |", "| 6 |")
    table = "the lessons in course/lessons/README.md are not those of the syllabus"
    assert build.drift() == [DRIFTED, table]
    build.build()
    assert (contents.read_bytes(), text.read_bytes()) == before


def test_the_question_of_a_lesson_is_its_first_heading(built):
    text = find_lesson("rope").text
    replace(text, "\n## Can a token", "\n## Could a token")
    build.build()
    contents = (built / "course" / "lessons" / "README.md").read_text(encoding="utf-8")
    assert "| [Rotate queries and keys](5_rope.md) | `rope` | Could a token " in contents
    replace(text, "\n## Could", "\n### Could")
    with pytest.raises(build.BuildError, match=r"README.md needs the question of 5_rope.md, a h"):
        build.build()


# --- figures of the texts -------------------------------------------------------------------

LOOKUP, FIGURE = "course/lessons/1_lookup.md", "course/lessons/figures/lookup/bytes_of_a_batch.svg"
DRAWN_IN = "course/building/figures/lookup.py"
FIGURE_DRIFTED = f"{FIGURE} is not what {DRAWN_IN} draws; `course build` draws it anew: look at it"
FIGURES = sorted((ROOT / "course" / "lessons" / "figures").glob("*/*.svg"))
each_figure = pytest.mark.parametrize(
    ("stem", "name"), [(path.parent.name, path.stem) for path in FIGURES]
)


@each_figure
def test_a_figure_in_git_is_small_and_has_its_words_for_who_cannot_see_it(stem, name):
    path = figures.path_of(find_lesson(stem), name)
    svg = ElementTree.parse(path).getroot()
    assert path.stat().st_size <= 100_000
    assert (svg.get("role"), svg.get("width")) == ("img", "700")
    assert svg.findtext("{http://www.w3.org/2000/svg}title") == figures.pictures(stem)[name].alt


@each_figure
def test_words_in_a_figure_are_legible_whole_and_apart(stem, name):
    picture = vars(importlib.import_module(f"course.building.figures.{stem}"))[name]()
    picture.png()  # settles the layout
    renderer = picture.canvas.get_renderer()
    shown = {text: text.get_window_extent(renderer).padded(-2) for text in words_of(picture)}
    small = [text.get_text() for text in shown if text.get_fontsize() < LEGIBLE]
    assert small == []
    page = picture.bbox
    cut = [text.get_text() for text, box in shown.items() if not within(page, box)]
    assert cut == []
    pairs = itertools.combinations(shown.items(), 2)
    on_another = [(a.get_text(), b.get_text()) for (a, x), (b, y) in pairs if x.overlaps(y)]
    assert on_another == []


def words_of(picture):
    """All texts that are drawn: ticks beyond the ends of an axis are kept, and are not."""
    found = [*picture.texts]
    for axes in [one for parent in picture.axes for one in (parent, *parent.child_axes)]:
        found += [*axes.texts, axes.title, axes._left_title]
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            labels = axis.get_ticklabels()
            ticks = zip(labels, axis.get_ticklocs(), strict=False)  # a shared axis has no labels
            found += [axis.label, *(text for text, place in ticks if low <= place <= high)]
    return [text for text in found if text.get_text().strip() and text.get_visible()]


def within(page, box):
    return page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1


def test_a_number_of_the_reference_that_changed_is_drift_of_its_figure(built):
    replace(built / "solutions" / "lookup.py", "* bytes_per_element\n", "* bytes_per_element * 2\n")
    text = DRIFTED.replace(TEXT, LOOKUP)  # its alt text tells the number
    assert build.drift() == [text, FIGURE_DRIFTED]
    assert build.build() == [f"built {LOOKUP}", f"built {FIGURE}"]
    assert build.drift() == []
    assert "12.3 GiB" in (built / LOOKUP).read_text(encoding="utf-8")


def test_other_words_for_who_cannot_see_a_figure_are_drift(built):
    replace(built / FIGURE, "<title>", "<title>Once ")
    assert build.drift() == [FIGURE_DRIFTED]
    assert build.build() == [f"built {FIGURE}"]
    assert build.drift() == []


def test_other_bytes_of_the_same_figure_are_no_drift(built):
    replace(built / FIGURE, 'width="700"', 'width="701"')
    before = (built / FIGURE).read_bytes()
    assert build.drift() == []
    assert build.build() == ["everything is up to date"]
    assert (built / FIGURE).read_bytes() == before


@pytest.mark.parametrize("data", [None, b"<svg/>", b"\xff"])
def test_a_figure_that_is_missing_or_no_longer_one_is_drawn(built, data):
    before = (built / FIGURE).read_text(encoding="utf-8")
    (built / FIGURE).unlink()
    if data is not None:
        (built / FIGURE).write_bytes(data)
    assert build.drift() == [FIGURE_DRIFTED]
    build.build()
    assert build.drift() == []
    assert len((built / FIGURE).read_text(encoding="utf-8")) == pytest.approx(len(before), rel=0.2)


def test_the_alt_text_of_a_figure_is_written_into_the_text(built):
    before = (built / LOOKUP).read_text(encoding="utf-8")
    link = "](figures/lookup/bytes_of_a_batch.svg)"
    begin = before.rindex("![", 0, before.index(link))
    without = before[:begin] + "![" + before[before.index(link) :]
    (built / LOOKUP).write_text(without, encoding="utf-8")
    assert build.drift() == [DRIFTED.replace(TEXT, LOOKUP)]
    build.build()
    assert (built / LOOKUP).read_text(encoding="utf-8") == before


def test_what_markdown_would_read_in_an_alt_text_is_escaped(monkeypatch):
    lesson = find_lesson("lookup")
    monkeypatch.setattr(figures, "pictures", lambda stem: {"a": plots.Picture(1, "W[ids], _so_")})
    once = figures.with_alts("![](figures/lookup/a.svg)", lesson)
    assert once == r"![W\[ids\], \_so\_](figures/lookup/a.svg)"
    assert figures.with_alts(once, lesson) == once


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        (
            LOOKUP,
            ("](figures/lookup/bytes_", "](figures/lookup/bits_"),
            f"{LOOKUP} shows figures/lookup/bits_of_a_batch.svg, which {DRAWN_IN} does not draw",
        ),
        (
            LOOKUP,
            ("](figures/lookup/bytes_of_a_batch.svg)", "](elsewhere.svg)"),
            f"{LOOKUP} does not show what {DRAWN_IN} draws; it needs the line "
            "![](figures/lookup/bytes_of_a_batch.svg)",
        ),
        (
            "solutions/lookup.py",
            ("def one_hot_bytes", "def one_hot_bits"),
            f"{LOOKUP} needs figures, but {DRAWN_IN} cannot draw bytes_of_a_batch: "
            "AttributeError: module 'solutions.lookup' has no attribute 'one_hot_bytes'",
        ),
    ],
    ids=["not drawn", "not shown", "cannot be drawn"],
)
def test_a_figure_without_a_place_or_a_function_is_one_sentence(built, name, change, sentence):
    replace(built / name, *change)
    for options in (["build"], ["build", "--check"]):
        result = CliRunner().invoke(main, options)
        assert (result.exit_code, result.output) == (1, f"Error: {sentence}\n")


def test_a_file_that_no_function_draws_is_named(built):
    (built / FIGURE).with_name("older.svg").write_text("<svg/>", encoding="utf-8")
    file = FIGURE.replace("bytes_of_a_batch", "older")
    with pytest.raises(build.BuildError, match=f"^{file} is not drawn in {DRAWN_IN}; delete or"):
        build.build()


def test_a_measured_number_is_read_with_how_to_measure_it_and_drifts(built, monkeypatch):
    path = built / "course" / "lessons" / "figures" / "lookup" / "loss.json"
    path.write_text('{"how": "course experiment", "loss": 1.5}', encoding="utf-8")

    def bytes_of_a_batch():
        loss = measured("lookup", "loss")["loss"]
        return diagram(1, f"The loss is {loss}", alt="A loss.")[0]

    bytes_of_a_batch.__module__ = lookup_figures.__name__
    monkeypatch.setattr(lookup_figures, "bytes_of_a_batch", bytes_of_a_batch)
    build.build()
    assert build.drift() == []
    replace(path, "1.5", "1.4")
    assert build.drift() == [FIGURE_DRIFTED]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "loss.json cannot be read: "),
        ("[1", "loss.json is not JSON: "),
        ("[]", 'loss.json must begin with "how": '),
        ('{"loss": 1, "how": "x"}', 'loss.json must begin with "how": '),
    ],
)
def test_measured_numbers_that_cannot_be_used_are_one_sentence(repository, data, sentence):
    folder = repository / "course" / "lessons" / "figures" / "lookup"
    if data is not None:
        (folder / "loss.json").write_text(data, encoding="utf-8")
    with pytest.raises(ValueError, match=f"^course/lessons/figures/lookup/{sentence}"):
        measured("lookup", "loss")


def test_nothing_slow_is_imported_before_it_is_needed():
    slow = "{'torch', 'matplotlib', 'pytest', 'jupytext', 'nbformat', 'IPython'}"
    code = f"import sys, course.building.build; print(sorted({slow} & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT)
    assert result.stdout == "[]\n"
