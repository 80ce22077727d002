"""`course build`: what is derived from what, drift noticed, and no edited line ever lost."""

import ast
import doctest
import subprocess
import sys

import pytest
from click.testing import CliRunner

from course import ROOT
from course import mistakes as catalogue
from course.building import build
from course.building.mistakes_text import BEGIN, END, with_common_mistakes
from course.building.notebook_files import stems
from course.cli import main
from course.syllabus import find_lesson, lessons


def test_the_exercises_in_git_were_built_from_the_solutions():
    record = (ROOT / "exercises" / ".stubs").read_text(encoding="utf-8")
    for lesson in lessons():
        stub = build.stub_from(lesson.module("solutions").read_text(encoding="utf-8"), lesson.stem)
        assert build.record_line(f"{lesson.stem}.py", stub.encode()) in record


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_every_exercise_has_a_stub_a_docstring_and_an_example(lesson):
    source = lesson.module("solutions").read_text(encoding="utf-8")
    definitions = {getattr(node, "name", None): node for node in ast.parse(source).body}
    stub = build.stub_from(source, lesson.stem)
    for exercise in lesson.exercises:
        docstring = ast.get_docstring(definitions[exercise.name])
        assert "Source: " in docstring, exercise.name
        assert ">>> " in docstring, exercise.name
        assert f'NotImplementedError("TODO {lesson.stem}.{exercise.name}")' in stub


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_a_stub_is_valid_and_keeps_nothing_of_the_body(lesson):
    source = lesson.module("solutions").read_text(encoding="utf-8")
    stub = build.stub_from(source, lesson.stem)
    ast.parse(stub)
    assert "SOLUTION" not in stub
    for line in source.partition("### BEGIN SOLUTION\n")[2].splitlines():
        if line.strip() == "### END SOLUTION":
            break
        assert line not in stub.splitlines()


def test_a_build_writes_every_module_and_notebook_and_then_has_nothing_to_do(repository):
    assert len(build.drift()) == len(lessons()) + len(stems())
    assert len(build.build()) == len(lessons()) + len(stems())
    assert len(list((repository / "notebooks").iterdir())) == len(stems())
    assert build.drift() == []
    assert build.build() == ["everything is up to date"]


def test_a_changed_solution_is_drift_and_is_built(repository):
    build.build()
    solution = repository / "solutions" / "rope.py"
    text = solution.read_text(encoding="utf-8").replace("RoPE as a module", "RoPE, a module")
    solution.write_text(text, encoding="utf-8")
    assert build.drift() == ["exercises/rope.py is not what solutions/rope.py gives"]
    assert build.build() == ["built exercises/rope.py"]


def test_an_edited_exercise_stops_the_build_before_anything_is_written(repository):
    build.build()
    edited = repository / "exercises" / "rope.py"
    edited.write_text("my work", encoding="utf-8")
    (repository / "exercises" / "lookup.py").unlink()
    with pytest.raises(build.BuildError, match=r"your work in exercises/rope\.py was left alone"):
        build.build()
    assert edited.read_text(encoding="utf-8") == "my work"
    assert not (repository / "exercises" / "lookup.py").exists()


def test_force_keeps_every_byte_of_what_it_replaces(repository):
    build.build()
    edited = repository / "exercises" / "rope.py"
    for work in (b"first\r\n\xff", b"second"):
        edited.write_bytes(work)
        build.build(force=True)
        assert edited.read_bytes() != work
    copies = (repository / ".course" / "backups").glob("*/exercises/rope.py")
    assert {copy.read_bytes() for copy in copies} == {b"first\r\n\xff", b"second"}


def test_an_edited_notebook_is_not_replaced_either(repository):
    build.build()
    notebook = find_lesson("rope").notebook
    notebook.write_text("my notes", encoding="utf-8")
    with pytest.raises(build.BuildError, match=r"your work in notebooks/5_rope\.ipynb was left"):
        build.build()
    assert notebook.read_text(encoding="utf-8") == "my notes"


def test_a_source_that_cannot_be_used_is_one_sentence_and_nothing_is_written(repository):
    source = repository / "solutions" / "notebooks" / "5_rope.py"
    source.write_text('# %% [markdown] answer="why"\n# Why?\n', encoding="utf-8")
    with pytest.raises(build.BuildError, match=r"notebooks/5_rope\.py has an answer without"):
        build.build()
    assert not (repository / "notebooks").exists()


def test_a_checkout_with_other_line_ends_is_not_an_edit(repository):
    build.build()
    module = repository / "exercises" / "rope.py"
    module.write_bytes(module.read_bytes().replace(b"\n", b"\r\n"))
    assert build.drift() == []
    assert build.build() == ["everything is up to date"]


def test_a_crash_while_writing_leaves_the_old_file(repository, monkeypatch):
    build.build()
    solution = repository / "solutions" / "rope.py"
    solution.write_text(solution.read_text(encoding="utf-8") + "# new\n", encoding="utf-8")
    before = (repository / "exercises" / "rope.py").read_bytes()
    monkeypatch.setattr("os.replace", _crash)
    with pytest.raises(OSError, match="no space"):
        build.build()
    assert (repository / "exercises" / "rope.py").read_bytes() == before


# --- the common mistakes in the lessons' texts ----------------------------------------------


@pytest.fixture
def rope_text(repository):
    """The text of the lesson on RoPE in a repository that is up to date."""
    build.build()
    return find_lesson("rope").text


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_the_texts_in_git_list_the_common_mistakes_of_every_exercise(lesson):
    text = lesson.text.read_text(encoding="utf-8")
    assert with_common_mistakes(text, lesson) == text
    section = text.partition(BEGIN)[2].partition(END)[0]
    for exercise in lesson.exercises:
        listed = section.partition(f"<code>{exercise.name}</code>")[2].partition("</details>")[0]
        common = [
            mistake
            for mistake in catalogue.mistakes(lesson.stem)
            if mistake.common and mistake.exercise == exercise.name
        ]
        assert 2 <= len(common) <= 4, exercise.name
        assert listed.count("\n- It ") == listed.count("\n- ") == len(common), exercise.name
        for mistake in common:
            assert mistake.says.startswith(f"{exercise.name} ")
            assert mistake.look in listed
    assert doctest.DocTestParser().get_examples(section) == []


def test_a_mistake_that_is_no_longer_common_is_drift_and_leaves_the_text(rope_text, monkeypatch):
    before = rope_text.read_text(encoding="utf-8")
    known = catalogue.mistakes
    dropped = next(mistake for mistake in known("rope") if mistake.common)
    monkeypatch.setattr(
        catalogue, "mistakes", lambda stem: [one for one in known(stem) if one is not dropped]
    )
    assert build.drift() == [
        "the common mistakes in course/lessons/5_rope.md are not those of the catalogue"
    ]
    assert build.build() == ["built course/lessons/5_rope.md"]
    assert build.drift() == []
    after = rope_text.read_text(encoding="utf-8").splitlines()
    assert len(after) == len(before.splitlines()) - 2
    assert f"  {dropped.look}" not in after


def test_a_build_restores_the_list_and_touches_nothing_around_it(rope_text):
    before, _, rest = rope_text.read_text(encoding="utf-8").partition(BEGIN)
    section, _, after = rest.partition(END)
    rope_text.write_text(f"new\n{before}{BEGIN}my list\n{END}{after}new", encoding="utf-8")
    build.build()
    expected = f"new\n{before}{BEGIN}{section}{END}{after}new"
    assert rope_text.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    "markers",
    ["", BEGIN, END, END + BEGIN, BEGIN + BEGIN + END, BEGIN + END + END, BEGIN + END + BEGIN],
    ids=["none", "no end", "no begin", "swapped", "two begins", "two ends", "begun again"],
)
def test_wrong_markers_are_one_sentence_and_nothing_is_written(repository, markers):
    text = repository / "course" / "lessons" / "5_rope.md"
    text.write_text(f"# RoPE\n\n{markers}\nThe end.\n", encoding="utf-8")
    for options in (["build"], ["build", "--check"]):
        result = CliRunner().invoke(main, options)
        assert result.exit_code == 1
        assert result.output == (
            "Error: course/lessons/5_rope.md needs the line "
            "<!-- common mistakes, written by course build --> once and, after it, the line "
            "<!-- end of common mistakes --> once\n"
        )
    assert text.read_text(encoding="utf-8") == f"# RoPE\n\n{markers}\nThe end.\n"
    assert not (repository / "exercises").exists()


def test_a_missing_text_is_one_sentence(repository):
    find_lesson("rope").text.unlink()
    with pytest.raises(build.BuildError, match=r"^course/lessons/5_rope\.md is missing$"):
        build.build()
    assert not (repository / "exercises").exists()


def test_a_check_fails_where_a_list_drifted(rope_text):
    assert CliRunner().invoke(main, ["build", "--check"]).exit_code == 0
    text = rope_text.read_text(encoding="utf-8").replace("\n- It ", "\n- This ", 1)
    rope_text.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, ["build", "--check"])
    assert result.exit_code == 1
    assert result.output == (
        "the common mistakes in course/lessons/5_rope.md are not those of the catalogue\n"
    )
    assert rope_text.read_text(encoding="utf-8") == text


def test_a_text_with_other_line_ends_has_not_drifted(rope_text):
    rope_text.write_bytes(rope_text.read_bytes().replace(b"\n", b"\r\n"))
    assert build.drift() == []


def test_a_crash_while_writing_leaves_the_old_text(rope_text, monkeypatch):
    text = rope_text.read_text(encoding="utf-8").replace("\n- It ", "\n- This ", 1)
    rope_text.write_text(text, encoding="utf-8")
    monkeypatch.setattr("os.replace", _crash)
    with pytest.raises(OSError, match="no space"):
        build.build()
    assert rope_text.read_text(encoding="utf-8") == text


def test_torch_is_not_imported_before_it_is_needed():
    code = (
        "import sys, course.building.build; print(sorted({'torch', 'pytest'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT)
    assert result.stdout == "[]\n"


def _crash(*_):
    raise OSError("no space left on device")
