"""`course build`: stubs from solutions, drift noticed, and no edited line ever lost."""

import ast

import pytest

from course import ROOT, build
from course.syllabus import lessons


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of solutions alone, in a folder of its own."""
    (tmp_path / "solutions").mkdir()
    for lesson in lessons():
        text = lesson.module("solutions").read_text(encoding="utf-8")
        (tmp_path / "solutions" / f"{lesson.stem}.py").write_text(text, encoding="utf-8")
    for module in ("course.build", "course.syllabus"):
        monkeypatch.setattr(f"{module}.ROOT", tmp_path)
    monkeypatch.setattr(build, "RECORD", tmp_path / "exercises" / ".stubs")
    return tmp_path


def test_the_exercises_in_git_were_built_from_the_solutions():
    record = (ROOT / "exercises" / ".stubs").read_text(encoding="utf-8")
    for lesson in lessons():
        stub = build.stub_from(lesson.module("solutions").read_text(encoding="utf-8"), lesson.stem)
        assert f"{build._hash(stub)}  {lesson.stem}.py" in record


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


def test_a_build_writes_every_module_and_then_has_nothing_to_do(repository):
    assert len(build.drift()) == 6
    assert len(build.build()) == 6
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
    copies = sorted((repository / ".course" / "backups").iterdir())
    assert {copy.read_bytes() for copy in copies} == {b"first\r\n\xff", b"second"}


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


def _crash(*_):
    raise OSError("no space left on device")
