"""`course submit`: one zip with all that is needed, whatever state the work is in."""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from course import ROOT, __version__
from course.building import submission
from course.cli import main
from course.student import dry_run
from course.syllabus import lessons

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


def submit(*arguments: str, code: int = 0) -> str:
    """What `course submit` says, in one line; it runs no checks."""
    result = CliRunner().invoke(main, ["submit", "--no-check", *arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def packed(path: str = "submission.zip") -> dict[str, bytes]:
    with zipfile.ZipFile(path) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


# --- what is in it --------------------------------------------------------------------------


def test_it_holds_the_modules_the_notebooks_and_a_manifest(work):
    (work / "notebooks" / "scratch.ipynb").write_bytes(b"{}")
    (work / "exercises" / "notes.txt").write_bytes(b"mine")
    said = submit()
    files = packed()
    assert sorted(files) == sorted([*MODULES, *NOTEBOOKS, "manifest.json"])
    manifest = json.loads(files.pop("manifest.json"))
    assert files == {name: (work / name).read_bytes() for name in files}
    assert manifest.pop("files") == {n: hashlib.sha256(d).hexdigest() for n, d in files.items()}
    assert manifest.pop("python").startswith("3.")
    assert re.match(r"2\.\d+", manifest.pop("torch"))
    assert manifest == {"course": "What and Where", "version": __version__}
    modules, count = len(MODULES), len(NOTEBOOKS)
    assert (
        f"packed submission.zip: {modules} of {modules} modules, {count} of {count} notebooks"
        in said
    )
    assert said.count("not begun") == len(lessons())


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


def test_nothing_but_the_zip_is_written(work):
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    submit()
    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before
    assert os.listdir() == ["submission.zip"]


# --- what is odd is said, and never in the way ----------------------------------------------


def _missing(path):
    path.unlink()


def _folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("name", "change", "sentence", "is_packed"),
    [
        ("exercises/rope.py", _missing, "exercises/rope.py is missing.", False),
        ("exercises/rope.py", _folder, "exercises/rope.py is not a file, and was left out", False),
        ("exercises/rope.py", b"def (", "rope.py is not valid Python, line 1; as it is", True),
        ("exercises/rope.py", "x".encode("utf-16"), "rope.py is not saved as UTF-8; as it", True),
        ("exercises/rope.py", b"x = '\xff'\n", "exercises/rope.py is not valid Python", True),
        ("exercises/rope.py", b"(" * 500_000, "exercises/rope.py is not valid Python", True),
        (
            "exercises/rope.py",
            b"#" * (submission.MAX_MODULE_BYTES + 1),
            "exercises/rope.py is larger than 1 MB: graders do not read it.",
            True,
        ),
        ("notebooks/5_rope.ipynb", _missing, "notebooks/5_rope.ipynb is missing.", False),
        ("notebooks/5_rope.ipynb", b"{", "notebooks/5_rope.ipynb is damaged", True),
        ("notebooks/5_rope.ipynb", b"[1]", "notebooks/5_rope.ipynb is damaged", True),
    ],
)
def test_what_is_odd_is_said_and_the_rest_is_packed(work, name, change, sentence, is_packed):
    change(work / name) if callable(change) else (work / name).write_bytes(change)
    assert sentence in submit()
    assert (name in packed()) == is_packed
    assert len(packed()) == len(MODULES) + len(NOTEBOOKS) + is_packed


def test_an_outgrown_notebook_is_left_out_so_that_the_rest_is_taken(work, monkeypatch):
    monkeypatch.setattr(submission, "MAX_BYTES", 1 << 20)
    large, middle = work / NOTEBOOKS[2], work / NOTEBOOKS[3]
    large.write_bytes(b" " * (2 << 20))
    middle.write_bytes(b" " * (1 << 20))
    said = submit()
    assert f"{NOTEBOOKS[2]} was left out, because it is too large, 2 MB: clear its" in said
    assert f"{NOTEBOOKS[3]} was left out, because it is too large, 1 MB: clear its" in said
    assert packed().keys() == {*MODULES, *NOTEBOOKS, "manifest.json"} - set(NOTEBOOKS[2:4])


def test_a_large_notebook_is_packed_and_said_to_be_large(work):
    (work / NOTEBOOKS[2]).write_bytes(NOTEBOOK + b" " * (6 << 20))
    assert f"{NOTEBOOKS[2]} is unusually large, 6 MB: clear its outputs" in submit()
    assert len(packed()) == len(MODULES) + len(NOTEBOOKS) + 1


def test_a_notebook_that_names_a_folder_of_the_computer_is_pointed_out(work):
    output = json.dumps({"cells": [f"File {work}/exercises/rope.py, line 3"]})
    (work / NOTEBOOKS[4]).write_text(output, encoding="utf-8")
    assert f"{NOTEBOOKS[4]} names a folder of your computer" in submit()


def test_of_nothing_no_zip_is_made(work):
    for path in [*work.glob("exercises/*"), *work.glob("notebooks/*")]:
        path.unlink()
    assert "there is nothing to hand in" in submit(code=1)
    assert os.listdir() == []


# --- where it is written --------------------------------------------------------------------


def _text(path):
    path.write_text("my only copy", encoding="utf-8")


def _another_zip(path):
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("manifest.json", '{"course": "another"}')


def _added_to(path):
    submit("--out", str(path))
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr("notes.txt", "my only copy")


def _edited(path):
    with zipfile.ZipFile(path, "w") as opened:
        files = {"exercises/rope.py": hashlib.sha256(b"").hexdigest()}
        opened.writestr("manifest.json", json.dumps({"course": "What and Where", "files": files}))
        opened.writestr("exercises/rope.py", "my only copy")


def _dangling(path):
    try:
        path.symlink_to("nowhere")
    except OSError:
        pytest.skip("links cannot be made here")


@pytest.mark.parametrize("make", [_text, _another_zip, _added_to, _edited, _dangling])
def test_what_it_did_not_write_is_left_alone(work, make):
    out = Path("mine.zip").absolute()
    make(out)
    before = out.read_bytes() if out.exists() else os.readlink(out)
    assert "mine.zip is there already, and is not as `course submit` wrote it" in submit(
        "--out", "mine.zip", code=1
    )
    assert (out.read_bytes() if out.exists() else os.readlink(out)) == before


def test_its_own_zip_is_replaced(work):
    submit()
    (work / "exercises" / "rope.py").write_bytes(b"x = 1\n")
    submit("--name", "Ada")
    assert packed()["exercises/rope.py"] == b"x = 1\n"


@pytest.mark.parametrize(
    ("out", "code", "sentence"),
    [
        ("{work}/exercises/rope.py", 1, "rope.py has to end in .zip"),
        ("nowhere/mine.zip", 1, "there is no folder nowhere"),
        (".", 2, "is a directory"),
    ],
)
def test_a_place_that_cannot_be_is_one_sentence(work, out, code, sentence):
    before = (work / "exercises" / "rope.py").read_bytes()
    assert sentence in submit("--out", out.format(work=work), code=code)
    assert (work / "exercises" / "rope.py").read_bytes() == before


def test_a_full_disk_is_one_sentence_and_leaves_the_old_zip(work, monkeypatch):
    submit()
    before = Path("submission.zip").read_bytes()
    (work / "exercises" / "rope.py").write_bytes(b"x = 1\n")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert "submission.zip cannot be written: No space left on device." in submit(code=1)
    assert os.listdir() == ["submission.zip"]
    assert Path("submission.zip").read_bytes() == before


def test_drafts_of_killed_runs_are_removed_when_they_are_old(work):
    submit()
    zipped = Path("submission.zip").read_bytes()
    old = {f".submission.zip.{n}": zipped[:length] for n, length in enumerate((0, 20, 35, 5000))}
    others = dict.fromkeys([".submission.zip.txt", ".other.zip.3", "submission.zip.4"], zipped)
    others |= {".submission.zip.20260930": b"my only copy of something that is longer than a head"}
    for name, data in (old | others).items():
        Path(name).write_bytes(data)
        os.utime(name, (1, 1))
    Path(".submission.zip.1").touch()  # another run writes it right now
    submit()
    assert sorted(os.listdir()) == sorted(["submission.zip", ".submission.zip.1", *others])


def test_where_checks_cannot_be_run_it_packs(work, monkeypatch):
    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(dry_run, "run", fail)
    (work / "exercises" / "rope.py").write_bytes(b"x = 1\n")
    result = CliRunner().invoke(main, ["submit"])
    assert result.exit_code == 0
    assert "The checks could not be run: No space left on device." in result.output
    assert packed()["exercises/rope.py"] == b"x = 1\n"


# --- who takes it ---------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["alone", "in a class", "in the zip of a class", "unpacked"])
def test_the_grader_takes_it(work, tmp_path, layout):
    """As one zip, in a folder of zips, in a zip of zips, and unpacked, as Gradescope does it."""
    from course.grading.submissions import read_submissions

    (work / "exercises" / "rope.py").write_bytes(b"x = 1\n")
    submit("--out", "ada.zip", "--name", "Ada")
    given = tmp_path / "class"
    given.mkdir()
    if layout == "alone":
        given = Path("ada.zip")
    elif layout == "in a class":
        Path("ada.zip").rename(given / "ada.zip")
    elif layout == "unpacked":
        with zipfile.ZipFile("ada.zip") as opened:
            opened.extractall(given / "ada")
    else:
        given = tmp_path / "class.zip"
        with zipfile.ZipFile(given, "w") as opened:
            opened.write("ada.zip", "ada.zip")
            opened.writestr("bob/rope.py", "y = 2\n")
    ada = next(iter(read_submissions(given)))
    assert ada.student.startswith("ada")
    assert ada.modules == {Path(n).stem: (work / n).read_bytes() for n in MODULES}
    assert ada.notes == ()


def test_whoever_stands_elsewhere_is_told_what_was_packed(work, tmp_path, monkeypatch):
    monkeypatch.chdir(work / "exercises")
    assert "all of them from" not in submit()
    monkeypatch.chdir(tmp_path)
    assert f"all of them from {work}" in submit()


def test_the_grader_tells_the_name_of_a_zip_that_is_called_like_all(work, tmp_path):
    from course.grading.submissions import read_submissions

    (work / "exercises" / "rope.py").write_bytes(b"x = 1\n")
    given = tmp_path / "class"
    given.mkdir()
    submit("--out", str(given / "submission.zip"), "--name", "Ada <b>")
    submit("--out", str(given / "submission (1).zip"))
    named, unnamed = read_submissions(given)
    said = "whose it is, is open: `course submit` calls everybody's zip "
    assert unnamed.notes == (f"{said}submission (1).zip",)
    assert named.notes == (f"{said}submission.zip; its manifest names Ada _b_",)


@pytest.mark.parametrize("size", [submission.MAX_MODULE_BYTES, submission.MAX_MODULE_BYTES + 1])
def test_a_module_is_too_large_for_both(work, size):
    from course.grading.submissions import read_submissions

    (work / "exercises" / "rope.py").write_bytes(b"#" * size)
    is_told = "exercises/rope.py is larger than 1 MB: graders do not read it." in submit()
    read = next(iter(read_submissions(Path("submission.zip")))).modules
    assert is_told == ("rope" not in read) == (size > submission.MAX_MODULE_BYTES)


@pytest.mark.slow
def test_it_is_graded_like_any_other(work, tmp_path):
    from course.grading.sandbox.sandbox import missing

    if missing():
        pytest.skip(" ".join(missing()))
    for stem in ("lookup", "learned"):
        solution = (ROOT / "solutions" / f"{stem}.py").read_bytes()
        (work / "exercises" / f"{stem}.py").write_bytes(solution)
    given = tmp_path / "class"
    given.mkdir()
    submit("--out", str(given / "ada.zip"))
    options = ["--lesson", "lookup", "--lesson", "rope", "--out", str(tmp_path / "graded")]
    command = [sys.executable, "-m", "course", "grade", str(given), *options, "--jobs", "1"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert result.returncode == 0, result.stderr
    header, row = (tmp_path / "graded" / "grades.csv").read_text(encoding="utf-8").splitlines()[:2]
    grades = dict(zip(header.split(","), row.split(","), strict=True))
    assert row.startswith("ada,")
    assert any(float(points) == 14 for name, points in grades.items() if name.startswith("lookup"))


# --- the dry run ----------------------------------------------------------------------------


def solution(stem: str) -> bytes:
    return (ROOT / "solutions" / f"{stem}.py").read_bytes()


@pytest.mark.slow
def test_the_dry_run_says_what_is_wrong_and_packs(work):
    wrong = solution("rope").replace(b"torch.cat((-x2, x1)", b"torch.cat((x2, x1)")
    (work / "exercises" / "rope.py").write_bytes(wrong)
    (work / "exercises" / "lookup.py").write_bytes(solution("lookup").replace(b"@ weight", b""))
    (work / "exercises" / "learned.py").write_bytes(b"def (")
    result = CliRunner().invoke(main, ["submit"])
    said = " ".join(result.output.split())
    assert result.exit_code == 0
    assert "Checking 2 lessons before packing" in said
    of = {lesson.stem: lesson.points for lesson in lessons()}
    worth = {one.name: one.points for lesson in lessons() for one in lesson.exercises}
    lookup, rope = of["lookup"] - worth["one_hot_lookup"], of["rope"] - worth["rotate_half"]
    assert f"1 lookup {lookup} of {of['lookup']} wrong: one_hot_lookup 2 permutation 0 of" in said
    assert f"2 permutation 0 of {of['permutation']} not begun" in said
    assert f"3 learned 0 of {of['learned']} not valid Python" in said
    assert f"5 rope {rope} of {of['rope']} wrong: rotate_half" in said
    assert packed()["exercises/rope.py"] == wrong


@pytest.mark.slow
def test_no_module_keeps_the_others_from_being_checked():
    wrong = {
        "lookup": b"import os; os._exit(0)",
        "permutation": b"import nowhere_to_be_found",
        "learned": b"input()",
    }
    found, came_to_end = dry_run.run({**wrong, "sinusoidal": solution("sinusoidal")})
    assert came_to_end
    assert set(found["sinusoidal"].statuses.values()) == {"passed"}
    assert all(found[stem].trouble for stem in wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "seconds"),
    [
        (b"import os, signal; os.kill(os.getpid(), signal.SIGTERM)", dry_run.SECONDS),
        (b"import time; time.sleep(1000)", 30),  # enough for lookup on a busy machine
    ],
)
def test_what_ends_the_run_keeps_nobody_before_it_from_being_checked(monkeypatch, source, seconds):
    monkeypatch.setattr(dry_run, "SECONDS", seconds)
    found, came_to_end = dry_run.run({"lookup": solution("lookup"), "rope": source})
    assert set(found["lookup"].statuses.values()) == {"passed"}
    assert "rope" not in found or not found["rope"].trouble
    assert not came_to_end


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a run is killed in a forked process")
def test_nothing_is_lost_when_it_is_killed_at_any_moment(work):
    """Random edits, each followed by a run that is killed between two of its steps: all of them."""
    drawn, out = random.Random(0), Path("submission.zip")
    whole: set[bytes] = set()
    killed = finished = 0
    for steps in drawn.sample(range(60), 180, counts=[3] * 60):
        _edit(work, drawn)
        before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
        old = out.read_bytes() if out.exists() else None
        child = os.fork()
        if child == 0:
            _submit_and_die(steps)
        _, status = os.waitpid(child, 0)
        assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before
        assert all(re.fullmatch(r"submission\.zip|\.submission\.zip\.\d+", n) for n in os.listdir())
        new = submission.pack(submission.collect().files)
        if os.WIFSIGNALED(status):
            killed += 1
            assert not out.exists() or out.read_bytes() in (old, new)
        else:
            finished += 1
            assert out.read_bytes() == new
        whole.add(new)
        if out.exists():
            assert out.read_bytes() in whole
            packed()
        if drawn.random() < 0.1:
            out.unlink(missing_ok=True)
    assert min(killed, finished) > 30, (killed, finished)
    for draft in Path().glob(".submission.zip.*"):
        os.utime(draft, (1, 1))
    submit()
    assert os.listdir() == ["submission.zip"]


def _edit(work: Path, drawn: random.Random) -> None:
    path = work / drawn.choice([*MODULES, *NOTEBOOKS])
    text = path.read_bytes() if path.exists() else b""
    place = drawn.randrange(len(text) + 1)
    kind = drawn.randrange(4)
    if kind == 0:
        text = text[:place] + drawn.randbytes(drawn.randrange(200)) + text[place:]
    elif kind == 1:
        text = text[:place] + f"line = {drawn.random()}  # mine\r\n".encode() + text[place:]
    elif kind == 2:
        text = text[:place]
    else:
        path.unlink(missing_ok=True)
        return
    path.write_bytes(text)


def _submit_and_die(steps: int) -> None:
    """Run `course submit` in this process, and kill it after so many steps that touch files."""
    left = steps

    def step(*_) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def write_in_parts(path: Path, data: bytes) -> None:
        with open(path, "wb", buffering=0) as file:
            for start in range(0, len(data), len(data) // 5 + 1):
                file.write(data[start : start + len(data) // 5 + 1])
                step()

    touching = {"open", "os.rename", "os.remove", "os.listdir", "os.scandir", "os.mkdir"}
    replace = os.replace
    os.replace = lambda *names: (step(), replace(*names), step())
    Path.write_bytes = write_in_parts
    sys.addaudithook(lambda event, _: step() if event in touching else None)
    try:
        main(["submit", "--no-check"], standalone_mode=False)
    finally:
        os._exit(0)
