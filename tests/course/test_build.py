"""`course build`: what is derived from what, drift noticed, and no edited line ever lost."""

import ast
import doctest
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from course import ROOT
from course import mistakes as catalogue
from course.building import build
from course.building.notebooks import stems
from course.cli import main
from course.syllabus import find_lesson, lessons

BEGIN, END = build.MISTAKES
HEAD = "".join(build.HEAD)
TEXT = "course/lessons/5_rope.md"
DRIFTED = f"the head or common mistakes in {TEXT} are not those of syllabus and catalogue"

each_lesson = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)


@pytest.fixture
def built(repository):
    """A repository that is up to date."""
    build.build()
    return repository


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
        assert listed.count("\n- <code>") == len(errors) == listed.count("\n- ") - len(common)
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
    ["", BEGIN, END, END + BEGIN, BEGIN + BEGIN + END, BEGIN + END + END, BEGIN + END + BEGIN],
    ids=["none", "no end", "no begin", "swapped", "two begins", "two ends", "begun again"],
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


def test_nothing_slow_is_imported_before_it_is_needed():
    slow = "{'torch', 'pytest', 'jupytext', 'nbformat', 'IPython'}"
    code = f"import sys, course.building.build; print(sorted({slow} & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT)
    assert result.stdout == "[]\n"
