"""`course submit`: one zip with all that is needed, whatever state the work is in."""

import hashlib
import json
import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
from commands import course

from course import ROOT, __version__
from course.core.syllabus import Status, find_lesson, lessons
from course.student import progress, submission
from course.testing.result import ExerciseResult, LessonResult, TestResult

if sys.platform == "linux":
    from classes import read_submissions  # now, as it reads this repository

MODULES = [f"exercises/{lesson.stem}.py" for lesson in lessons()]
NOTEBOOKS = [f"notebooks/{path.name}" for path in sorted(ROOT.glob("notebooks/*.ipynb"))]
NOTEBOOK = b'{"cells": []}'


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    """A repository in which nothing is begun, small, with the working folder below it."""
    lessons()  # the syllabus stays that of this repository
    stubs = {
        f"exercises/{lesson.stem}.py": "".join(
            f'raise NotImplementedError("TODO {lesson.stem}.{exercise.name}")\n'
            for exercise in lesson.exercises
        ).encode()
        for lesson in lessons()
    }
    for name, data in (stubs | dict.fromkeys(NOTEBOOKS, NOTEBOOK)).items():
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    monkeypatch.setattr("course.ROOT", tmp_path / "repository")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "repository"


def submit(*arguments: str, status: int = 0) -> str:
    """What `course submit` says, in one line."""
    return " ".join(course("submit", *arguments, status=status).split())


def packed(path: str = "submission.zip") -> dict[str, bytes]:
    with zipfile.ZipFile(path) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def test_a_copy_or_a_link_that_is_left_out_is_named(work):
    copies = (
        "exercises/lookup-Copy1.py",
        "exercises/rope (1).py",
        "notebooks/Copy of 1_lookup.ipynb",
        "exercises/Lookup_v2.py",
        "lookup.py",
    )
    for name in copies:
        (work / name).write_bytes(b"mine")
    if sys.platform != "win32":  # links need rights there
        (work / "secret.txt").write_text("secret", encoding="utf-8")
        (work / "exercises" / "rope.py").unlink()
        (work / "exercises" / "rope.py").symlink_to(work / "secret.txt")
    said = submit()
    for name in copies:
        assert f"{name} was left out: if that is your work, call it" in said
    if sys.platform != "win32":
        assert "exercises/rope.py was left out: it is a link" in said
        assert "exercises/rope.py" not in packed()
    assert not {*copies} & packed().keys() and "exercises/lookup.py" in packed()


def test_it_holds_the_modules_the_notebooks_and_a_manifest(work):
    (work / "notebooks" / "scratch.ipynb").write_bytes(b"{}")
    (work / "exercises" / "notes.txt").write_bytes(b"mine")
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    said = submit()
    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before
    assert os.listdir() == ["submission.zip"]
    files = packed()
    assert sorted(files) == sorted([*MODULES, *NOTEBOOKS, "manifest.json"])
    manifest = json.loads(files.pop("manifest.json"))
    assert files == {name: (work / name).read_bytes() for name in files}
    assert manifest.pop("files") == {n: hashlib.sha256(d).hexdigest() for n, d in files.items()}
    assert manifest.pop("python").startswith("3.")
    assert manifest == {"course": "What and Where", "version": __version__}
    modules, count = len(MODULES), len(NOTEBOOKS)
    assert (
        f"packed submission.zip: {modules} of {modules} modules, {count} of {count} notebooks"
        in said
    )
    assert "What and Where: 0 of " in said
    assert "been checked; run" not in said


def test_the_same_content_gives_the_same_bytes(work):
    submit("--out", "first.zip")
    for name in MODULES:
        os.utime(work / name, (1, 1))
    submit("--out", "second.zip")
    first = Path("first.zip").read_bytes()
    assert Path("second.zip").read_bytes() == first
    (work / MODULES[0]).write_bytes(b"x = 1\n")
    submit("--out", "second.zip")
    assert Path("second.zip").read_bytes() != first


def test_it_says_nothing_of_the_computer_and_of_the_student_only_a_given_name(work, monkeypatch):
    for variable in ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME"):
        monkeypatch.setenv(variable, "zaphod-7")
    for asked in ("socket.gethostname", "platform.node", "getpass.getuser"):
        monkeypatch.setattr(asked, lambda: "zaphod-7")
    submit()
    everything = b"".join([*packed().values(), Path("submission.zip").read_bytes()])
    for private in ("zaphod-7", str(work), os.path.expanduser("~")):
        assert private.encode() not in everything
    submit("--name", "Ada Lovelace \udcff")
    assert json.loads(packed()["manifest.json"])["name"] == "Ada Lovelace \udcff"


MODULE, LARGE = "exercises/rope.py", "notebooks/5_rope.ipynb"
ODD = {  # the file, what is written into it (None: it's missing; "": a folder), is it packed
    f"{MODULE}, missing": (MODULE, None, False),
    f"{MODULE}, folder": (MODULE, "", False),
    f"{MODULE}, 5 bytes": (MODULE, b"def (", True),
    f"{MODULE}, 500,000 bytes": (MODULE, b"(" * 500_000, True),
    f"{MODULE}, 1,048,577 bytes": (MODULE, b"#" * ((1 << 20) + 1), False),
    f"{LARGE}, 1 bytes": (LARGE, b"{", True),
    f"{LARGE}, 3 bytes": (LARGE, b"[1]", True),
    f"{LARGE}, {submission.MAX_NOTEBOOK_BYTES + 13:,} bytes": (
        LARGE,
        NOTEBOOK + b" " * submission.MAX_NOTEBOOK_BYTES,
        False,
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_said_and_the_rest_is_packed(work, golden, case):
    name, data, is_packed = ODD[case]
    (work / name).unlink()
    if data:
        (work / name).write_bytes(data)
    elif data == "":
        (work / name).mkdir()
    said = submit()
    golden("odd files in a submission", {case: re.search(rf"{name} .*?[.)](?= |$)", said)[0]})
    assert (name in packed()) == is_packed
    assert len(packed()) == len(MODULES) + len(NOTEBOOKS) + is_packed
    (work / MODULES[0]).write_bytes(b"#" * (1 << 20))
    assert MODULES[0] not in submit() and MODULES[0] in packed()  # so large it may be


def test_it_shows_the_board_and_says_if_that_is_not_how_things_are_now(work):
    source = b"def rotate_half(x):\n    return x\n"
    (work / "exercises" / "rope.py").write_bytes(source)
    rope = find_lesson("rope")
    worth = rope.exercise("rotate_half").points
    result = ExerciseResult("rotate_half", worth, (TestResult("test", Status.PASSED),), 1)
    progress.remember([LessonResult("rope", (result,))])
    others = "?" * (len(rope.exercises) - 2)
    assert f"5 rope ?+{others} {worth} of {rope.points}" in submit()
    (work / "exercises" / "rope.py").write_bytes(source.replace(b"return x", b"return -x"))
    said = submit()
    assert f"5 rope ??{others} 0 of {rope.points}" in said
    assert "`course check`" in said


def _text(path):
    path.write_text("my only copy", encoding="utf-8")


def _added_to(path):
    submit("--out", str(path))
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr("notes.txt", "my only copy")


def _edited(path):
    with zipfile.ZipFile(path, "w") as opened:
        files = {"exercises/rope.py": hashlib.sha256(b"").hexdigest()}
        opened.writestr("manifest.json", json.dumps({"course": "What and Where", "files": files}))
        opened.writestr("exercises/rope.py", "my only copy")


@pytest.mark.parametrize("make", [_text, _added_to, _edited])
def test_what_it_did_not_write_is_left_alone(work, golden, make):
    out = Path("mine.zip").absolute()
    make(out)
    before = out.read_bytes()
    said = submit("--out", "mine.zip", status=1)
    assert "mine.zip " in said
    golden("where a submission cannot go", {"a file of somebody's": said})
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("out", "status"), [("{work}/exercises/rope.py", 1), ("nowhere/mine.zip", 1), (".", 2)]
)
def test_a_place_that_cannot_be_is_one_sentence(work, golden, out, status):
    before = (work / "exercises" / "rope.py").read_bytes()
    said = submit("--out", out.format(work=work), status=status)
    golden("where a submission cannot go", {out: said.replace(str(work), "")})
    assert (work / "exercises" / "rope.py").read_bytes() == before


def test_a_full_disk_is_one_sentence_and_leaves_the_old_zip(work, monkeypatch):
    submit()
    before = Path("submission.zip").read_bytes()
    (work / "exercises" / "rope.py").write_bytes(b"x = 1\n")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert "submission.zip cannot be written" in submit(status=1)
    assert os.listdir() == ["submission.zip"]
    assert Path("submission.zip").read_bytes() == before


def test_the_grader_takes_it(work):
    (work / "exercises" / "rope.py").write_bytes(b"x = 1\n")
    submit("--out", "ada.zip")
    (ada,) = read_submissions(Path("ada.zip"))
    assert ada.student == "ada"
    assert ada.modules == {Path(n).stem: (work / n).read_bytes() for n in MODULES}
    assert ada.notes == ()
    submit("--name", "Ada <b>")
    (unnamed,) = read_submissions(Path("submission.zip"))
    assert unnamed.notes[0].endswith(" names Ada _b_")
