"""What a class handed in is read from every layout, and nothing hostile in it does any harm."""

import contextlib
import gzip
import hashlib
import io
import json
import os
import random
import re
import shutil
import stat
import struct
import tarfile
import threading
import time
import tracemalloc
import unicodedata
import zipfile
from pathlib import Path

import pytest
from classes import read_submissions, zipped

from course.core.stubs import stub_of
from course.core.syllabus import find_lesson, lessons
from course.grading import submissions
from course.grading.names import file_stem
from course.grading.submissions import (
    Submission,
    SubmissionsError,
    archives,
    choice,
    limits,
    open_class,
    reading,
)
from course.grading.submissions import files as submitted_files
from course.grading.submissions.process import with_own_modes_refused

STEMS = [lesson.stem for lesson in lessons()]


def write(folder, files):
    """Write files, by their paths; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def forms(tmp_path, files) -> list:
    """A class as a folder, as a zip of what is in that, and as a zip of the folder itself."""
    inner = {f"homework/{name}": content for name, content in files.items()}
    write(tmp_path, {"class.zip": zipped(files), "wrapped.zip": zipped(inner)})
    folder = write(tmp_path / "class", files)
    return [folder, tmp_path / "class.zip", tmp_path / "wrapped.zip"]


def read(path) -> dict[str, Submission]:
    """The submissions by student; no two may share a name."""
    found = read_submissions(path)
    by_student = {one.student: one for one in found}
    assert len(by_student) == len(found)
    assert list(by_student) == sorted(by_student)
    return by_student


def loose_modules(path) -> list[str]:
    with open_class(path) as opened:
        return opened.loose_modules


def read_one(path) -> Submission:
    (one,) = read(path).values()
    return one


@contextlib.contextmanager
def memory_at_most(n_bytes):
    """Fail if more than that is allocated at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


def few_files(monkeypatch, at_most=50):
    for where in (submitted_files, reading):
        monkeypatch.setattr(where, "MAX_FILES", at_most, raising=False)


def notes(one: Submission) -> str:
    return "\n".join(one.notes)


# --- layouts --------------------------------------------------------------------------------

CLASSES = {
    "a folder per student": {"ann/rope.py": "a", "bob/rope.py": "b"},
    "exercises in it": {"ann/exercises/rope.py": "a", "bob/exercises/rope.py": "b"},
    "clones": {
        "ann/course/exercises/rope.py": "a",
        "ann/course/solutions/rope.py": "reference",
        "ann/course/course/lessons/rope/styles.py": "mistakes",
        "bob/mine/exercises/rope.py": "b",
        "bob/mine/README.md": "",
    },
    "a zip per student": {
        "ann.zip": zipped({"rope.py": "a"}),
        "bob.ZIP": zipped({"exercises/rope.py": "b", "manifest.json": "{}", "notebooks/x": ""}),
    },
    "nbgrader's course": {
        "submitted/ann/one/rope.py": "a",
        "submitted/bob/one/rope.py": "b",
        "source/one/rope.py": "reference",
        "gradebook.db": "",
    },
    "nbgrader's submitted": {
        "submitted/ann/one/rope.py": "a",
        "submitted/bob/one/rope.py": "b",
        "README.md": "",
    },
    "Canvas, files": {"ann_12345_6789_rope.py": "a", "bob_LATE_12346_6790_rope-1.py": "b"},
    "Canvas, zips": {
        "ann_12345_6789_rope.zip": zipped({"rope.py": "a"}),
        "bob_LATE_12346_6790_submission.zip": zipped({"x/exercises/rope.py": "b"}),
    },
    "Canvas, files that others may be called": {
        "ann_12345_6789_rope.py": "a",
        "ann_12345_6790_99_assignsubmission_file_other.zip": zipped({}),
        "bob_12346_6791_rope.py": "b",
        "bob_12346_6792_77_777_777_other.zip": zipped({}),
    },
    "Moodle, folders": {
        "ann_123_assignsubmission_file_/rope.py": "a",
        "bob_124_assignsubmission_file_/work.zip": zipped({"rope.py": "b"}),
        "bob_124_assignsubmission_onlinetext_/onlinetext.html": "",
    },
    "Moodle, files": {
        "ann_123_assignsubmission_file_rope.py": "a",
        "bob_124_assignsubmission_file_work.zip": zipped({"rope.py": "b"}),
        "ann_123_assignsubmission_file_777_777_other.zip": zipped({}),
        "bob_124_assignsubmission_file_99_assignsubmission_file_other.zip": zipped({}),
    },
    "what computers leave behind": {
        "ann/rope.py": "a",
        "ann/.git/rope.py": "old",
        "ann/__pycache__/rope.py": "",
        **{f"ann/env/lib/site-packages/{i}/rope.py": "x" for i in range(70)},
        **{f"ann/.venv/{i}/rope.py": "x" for i in range(70)},
        **{f"ann/node_modules/{i}/rope.py": "x" for i in range(70)},
        "bob/rope.py": "b",
        "__MACOSX/ann/._rope.py": "",
        ".DS_Store": "",
        "grades.csv": "",
    },
}


def assert_ann_and_bob(path):
    found = read(path)
    assert {student: dict(one.modules) for student, one in found.items()} == {
        "ann": {"rope": b"a"},
        "bob": {"rope": b"b"},
    }
    assert all(one.notes == () for one in found.values())  # of five missing lessons, nothing


@pytest.mark.parametrize("files", CLASSES.values(), ids=CLASSES.keys())
def test_a_folder_a_zip_of_it_and_one_with_it_are_read_alike(tmp_path, files, monkeypatch):
    few_files(monkeypatch)  # what computers leave behind does not count
    for path in forms(tmp_path, files):
        assert_ann_and_bob(path)


@pytest.mark.parametrize(
    "files",
    [
        {"rope.py": "a", "mine.py": "", "rope.ipynb": ""},
        {"rope (1).py": "a", "notes.txt": ""},
        {"exercises/rope.py": "a", "tests/x.py": "", "solutions/rope.py": "", "README.md": ""},
    ],
)
def test_a_submission_by_itself_is_a_class_of_one(tmp_path, files):
    for path in (write(tmp_path / "ann", files), tmp_path / "ann.zip"):
        (tmp_path / "ann.zip").write_bytes(zipped(files))
        assert read_one(path).student == "ann"
        assert read_one(path).modules == {"rope": b"a"}
        assert loose_modules(path) == []


def test_clones_of_github_classroom_are_called_by_the_login(tmp_path):
    logins = ("jane", "mary-ann", "jim", "bob", "bea")
    write(tmp_path, {f"what-and-where-{login}/exercises/rope.py": "a" for login in logins})
    write(tmp_path, {"classroom_roster.csv": ""})
    assert {*read(tmp_path)} == {f"what-and-where-{login}" for login in logins}
    for login in logins:
        (tmp_path / f"what-and-where-{login}" / ".git").mkdir()
    assert {*read(tmp_path)} == {*logins}
    for few in (tmp_path / "rope-submissions", tmp_path / "late"):  # both call themselves xx-
        for login in ("xx-jane", "xx-bob"):
            write(few, {f"rope-{login}/exercises/rope.py": "a"})
            (few / f"rope-{login}" / ".git").mkdir()
    assert {*read(tmp_path / "rope-submissions")} == {"xx-jane", "xx-bob"}
    assert {*read(tmp_path / "late")} == {"rope-xx-jane", "rope-xx-bob"}
    shutil.rmtree(tmp_path / "rope-submissions")
    shutil.rmtree(tmp_path / "late")
    with open_class(tmp_path) as opened:
        assert "All folders are clones called what-and-where-" in opened.notes[0]


def test_code_in_a_notebook_is_noted_where_the_module_has_none(tmp_path):
    stub = stub_of("rope").decode()
    cell = {"cell_type": "code", "source": ["def rotate_half(x):\n", "    return x\n"]}
    files = {"exercises/rope.py": stub, "notebooks/5_rope.ipynb": json.dumps({"cells": [cell]})}
    clone = dict.fromkeys(("course/x.py", "tests/test_rope.py", "README.md"), "")
    note = "notebooks/5_rope.ipynb has rotate_half in a cell; only rope.py is graded"
    assert read_one(write(tmp_path / "ann", files | clone)).notes == (note,)
    files["exercises/rope.py"] = stub.replace("TODO rope.rotate_half", "soon")
    assert read_one(write(tmp_path / "bob", files | clone)).notes == ()


def test_a_copy_without_an_exercise_counts_less_than_a_file_with_one(tmp_path):
    """As nbconvert makes of a notebook; and a stub counts less than work under another name."""
    work = "def rotate_half(x): return x\n"
    for name in ("5_rope.py", "rope (1).py"):
        folder = write(tmp_path / name / "ann", {"rope.py": work, name: "print('notes')\n"})
        os.utime(folder / "rope.py", (0, 0))
        assert read_one(folder).modules == {"rope": work.encode()}
    stub = stub_of("rope").decode()
    ann = write(tmp_path / "ann", {"rope.py": stub, "rope_v2.py": work})
    assert read_one(ann).modules == {"rope": work.encode()}


def test_two_attempts_on_brightspace_are_of_one_student(tmp_path):
    for attempt, when in ((9, "Nov 30, 2026 1107 AM"), (10, "Dec 1, 2026 1204 AM")):
        folder = f"4711-90 - Jane van-Doe - {when}"
        write(tmp_path, {f"{folder}/rope.py": f"attempt {attempt}"})
    write(tmp_path, {"4712-1 - Bob - 28 nov. 2026 13 05 - rope.py": "b"})
    found = read(tmp_path)
    assert {*found} == {"Jane van-Doe", "Bob"}
    assert found["Jane van-Doe"].modules == {"rope": b"attempt 10"}


@pytest.mark.slow
def test_a_folder_that_becomes_a_link_leads_nowhere(tmp_path):
    """Students can exchange it at any moment, in a folder that they share with the grader."""
    write(tmp_path, {"class/ann/code/rope.py": "own", "secret/rope.py": "another's"})
    code, spare = tmp_path / "class/ann/code", tmp_path / "class/spare"
    (tmp_path / "class/link").symlink_to(tmp_path / "secret")
    done = threading.Event()

    def exchange():
        while not done.is_set():
            os.rename(code, spare)
            os.rename(tmp_path / "class/link", code)
            os.rename(code, tmp_path / "class/link")
            os.rename(spare, code)

    eve = threading.Thread(target=exchange)
    eve.start()
    try:
        with open_class(tmp_path / "class") as opened:
            ann = next(one for one in opened.students if one.name == "ann")
            seen = {one.modules.get("rope") for one in (opened.read(ann) for _ in range(3000))}
    finally:
        done.set()
        eve.join()
    assert seen <= {b"own", None} and b"own" in seen


def test_all_lessons_are_read_as_they_are(tmp_path):
    sources = [b"\xef\xbb\xbfx = 1\r\n", "x = 'ä'".encode("utf-16"), b"\xff\x00", b"", b"\r", b"x"]
    files = {f"ann/{stem}.py": source for stem, source in zip(STEMS, sources, strict=False)}
    one = read_one(write(tmp_path, files | {"ann/other.py": "", "ann/rope.ipynb": ""}))
    assert list(one.modules.values()) == sources
    assert one.notes == ()


def test_a_link_to_the_class_is_followed_because_the_instructor_made_it(tmp_path):
    write(tmp_path / "class", {"ann/rope.py": "a", "bob/rope.py": "b"})
    (tmp_path / "link").symlink_to("class")
    assert_ann_and_bob(tmp_path / "link")


def test_many_submissions_stay_flat_in_memory(tmp_path):
    files = {f"s{i}/rope.py": bytes(500_000) for i in range(200)}
    (tmp_path / "class.zip").write_bytes(zipped(files))
    with memory_at_most(10 << 20), open_class(tmp_path / "class.zip") as opened:  # 100 MB
        found = map(opened.read, opened.students)
        assert sum(one.modules["rope"] == bytes(500_000) for one in found) == 200


SPECIAL = [
    {"exercises/rope.py": "x"},
    {"exercises/rope.py": "x", "tests/rope.py": "x"},
    {"submitted/eve/rope.py": "x"},
    {"submitted/eve/rope.py": "x", "source/rope.py": "x"},
    {"rope.py": "x"},
]
BESIDE = [
    ("bob", {"bob/rope.py": "b"}),
    ("bob", {"bob.zip": zipped({"rope.py": "b"})}),
    ("bob", {"bob_12345_6789_rope.py": "b"}),
    ("bob", {"bob.7z": ""}),
]


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize(("student", "files"), BESIDE)
def test_no_name_of_one_student_makes_the_others_disappear(tmp_path, special, student, files):
    """A student who is called like a folder of ours is a student: nobody else is left out."""
    for path in forms(tmp_path, special | files):
        assert {*read(path)} == {student, *(name.split("/")[0] for name in special)} - {"rope.py"}


def test_nbgraders_course_with_other_folders_is_refused_in_one_sentence(tmp_path):
    write(tmp_path, {"submitted/ann/one/rope.py": "a", "gradebook.db": "", "slides/x": ""})
    write(tmp_path, {"submitted/ann/two/lookup.py": "b"})
    with pytest.raises(SubmissionsError, match="grade its folder `submitted`"):
        read_submissions(tmp_path)
    assert read_one(tmp_path / "submitted").modules == {"rope": b"a", "lookup": b"b"}


# --- nothing there --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "name", "says"),
    [
        ({"x": ""}, "nowhere", "does not exist"),
        ({"class/grades.csv": ""}, "class", "has no submissions in it"),
        ({"class/.hidden/x": ""}, "class", "has no submissions in it"),
        ({"class.zip": zipped({})}, "class.zip", "has no submissions in it"),
        ({"class.zip": b"no zip"}, "class.zip", "is not a zip"),
        ({"class.zip": zipped({"a/rope.py": "a"})[:-30]}, "class.zip", "is not a zip"),
        ({"rope.py": "a"}, "rope.py", "rope.py"),
    ],
)
def test_no_class_is_one_sentence_at_once(tmp_path, golden, monkeypatch, files, name, says):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, files)
    with pytest.raises(SubmissionsError, match=says) as raised:
        read_submissions(Path(name))
    assert "\n" not in str(raised.value)
    title = "an empty zip" if name == "class.zip" and "no sub" in says else ", ".join(files)
    golden("no submissions", {title: str(raised.value)})


# --- which copy counts ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "taken"),
    [
        ({"ann/attempt 1/rope.py": "no", "ann/attempt 2/rope.py": "yes"}, "ann/attempt 2/rope.py"),
        ({"ann/try10/rope.py": "yes", "ann/try9/rope.py": "no"}, "ann/try10/rope.py"),
        (
            {"ann/x.zip": zipped({"rope.py": "no"}), "ann/x (1).zip": zipped({"rope.py": "yes"})},
            "ann/x (1).zip/rope.py",
        ),
        (
            {"ann/1.zip": zipped({"rope.py": "no"}), "ann/02.zip": zipped({"rope.py": "yes"})},
            "ann/02.zip/rope.py",
        ),
        (
            {"ann/1_lookup/rope.py": "no", "ann/5_rope/rope.py": "yes", "ann/9/rope.py": "no"},
            "ann/5_rope/rope.py",
        ),
        ({"ann/Rope/work/rope.py": "yes", "ann/skipgram/rope.py": "no"}, "ann/Rope/work/rope.py"),
        (
            {
                "ann/lookup.zip": zipped({"rope.py": "no"}),
                "ann/rope.zip": zipped({"rope.py": "yes"}),
            },
            "ann/rope.zip/rope.py",
        ),
        (
            {"ann_LATE_12346_678902_rope-2.py": "yes", "ann_12346_678800_rope.py": "no"},
            "ann_LATE_12346_678902_rope-2.py",
        ),
        (
            {"ann_LATE_12346_678800_rope.py": "no", "ann_12346_1678902_rope-1.py": "yes"},
            "ann_12346_1678902_rope-1.py",
        ),
        ({"ann/try 2/ROPE.py": "yes", "ann/try 1/rope.py": "no"}, "ann/try 2/ROPE.py"),
        ({"ann/rope.py": "yes", "ann/old 2/rope.py": "no"}, "ann/rope.py"),
        ({"ann/rope.py": "", "ann/a/exercises/rope.py": "yes"}, "ann/a/exercises/rope.py"),
        ({"ann/ROPE.PY": "no", "ann/rope.py": "yes"}, "ann/rope.py"),
    ],
)
def test_the_lessons_own_folder_wins_and_then_the_last_attempt(tmp_path, files, taken):
    for path in forms(tmp_path, files | {"bob/x": ""}):
        one = read(path)["ann"]
        assert one.modules == {"rope": b"yes"}
        assert notes(one).endswith(f" different copies of rope.py: {taken} was graded")


def test_numbers_in_names_may_have_any_length(tmp_path):
    work = {f"{n}/rope.py": n[-3:] for n in ("1" * 3000, "2" * 2999, "0" * 4500)}
    one = read_one(write(tmp_path, {"ann.zip": zipped(work)}))
    assert one.modules == {"rope": b"111"}


def test_nothing_is_said_of_copies_that_are_the_same(tmp_path):
    files = ["rope.py", "old/rope.py", "rope (1).py", "rope_final.py"]
    write(tmp_path, {f"ann/{name}": "same" for name in files})
    assert read_one(tmp_path).notes == ()
    write(tmp_path, {f"ann/old {n}/rope.py": "same" for n in range(choice.MAX_COMPARED)})
    assert "12 copies of rope.py" in notes(read_one(tmp_path))  # nobody compares without end


def test_the_courses_own_folders_are_no_copies(tmp_path):
    """A clone has more than one rope.py, and notebooks next to it."""
    own = ["solutions/rope.py", "course/rope.py"]
    own += ["course/lessons/rope/styles.py", "course/lessons/rope/notebook.py"]
    own += ["notebooks/5_rope.ipynb", "benchmarks/skipgram.py"]
    own += ["course/lessons/skipgram/block_skipgram.py"]
    write(tmp_path, {f"ann/clone/{name}": name for name in own})
    assert read_one(tmp_path).modules == {}
    assert "no lesson to grade" in notes(read_one(tmp_path))
    write(tmp_path, {f"ann/clone/exercises/{stem}.py": stem for stem in STEMS})
    assert read_one(tmp_path).modules == {stem: stem.encode() for stem in STEMS}
    assert read_one(tmp_path).notes == ()


@pytest.mark.parametrize("stem", STEMS)
def test_of_a_clone_only_exercises_count(tmp_path, stem):
    own = [
        f"solutions/{stem}.py",
        f"course/publishing/building/figures/{stem}.py",
        f"course/x/{stem}.py",
    ]
    own += [f"course/lessons/{stem}/styles.py", f"tests/{stem}.py"]
    own += [f"course/publishing/figures/{stem} (1).py"]
    others = {f"clone/{name}": "the course's" for name in own}
    write(tmp_path / "ann", others)
    write(tmp_path / "bob", others | {f"clone/exercises/{stem}.py": "b"})
    write(tmp_path / "cid", others | {f"clone/exercises/{stem} (1).py": "c"})
    write(tmp_path / "dan", {"work.zip": zipped(others | {f"clone/exercises/{stem}.py": "d"})})
    write(tmp_path / "eve", {f"course/week5/{stem}.py": "no clone"})
    found = read(tmp_path)
    modules = {student: one.modules.get(stem) for student, one in found.items()}
    assert modules == {"ann": None, "bob": b"b", "cid": b"c", "dan": b"d", "eve": b"no clone"}
    assert notes(found["bob"]) == ""


def test_a_student_may_be_called_solutions(tmp_path):
    assert read_one(write(tmp_path, {"solutions/rope.py": "a"})).modules == {"rope": b"a"}


def test_other_capitals_are_accepted_if_there_is_nothing_better(tmp_path):
    one = read_one(write(tmp_path / "class", {"ann/Rope.py": "a"}))
    assert (one.modules, notes(one)) == ({"rope": b"a"}, TAKEN.format("Rope.py", "rope.py"))


TAKEN, NOT_READ = "{} was graded as {}", "{} was not read: "
UNKNOWN, TOO_MANY = "isn't known which is newer", "{} contains too many files"

RENAMED = ["rope (1).py", "Rope(12).py", "rope-1.py", "rope - Copy.py", "rope - Copy (2).py"]
RENAMED += ["rope copy.py", "rope copy 2.py", "rope 2.py", "rope.py.txt", "rope (1).py.txt"]
RENAMED += ["rope (1)-1.py", "rope-1-1.py"]  # on Canvas, handed in again
RENAMED += ["rope-Copy1.py", "Copy of rope.py", "rope - Kopie.py", "rope - Copie (2).py"]
RENAMED += ["Kopie von rope.py", "rope.py.py", "rope (1) (2).py", "5_rope.py", "5_rope-Copy2.py"]
OTHERWISE = ["rope_final.py", "my_rope.py", "rope1.py", "rope..py", "Rope_v2 (1).py"]


@pytest.mark.parametrize("name", RENAMED)
@pytest.mark.parametrize("place", ["ann/{}", "ann/exercises/{}", "ann_123_4567_{}", "ann.zip"])
def test_what_a_computer_renamed_is_taken_with_a_note(tmp_path, name, place):
    file = {place.format(name): zipped({name: "a"}) if place.endswith("zip") else "a"}
    one = read(write(tmp_path, file | {"bob/rope.py": "b"}))["ann"]
    assert one.modules == {"rope": b"a"}
    if not (place.startswith("ann_") and name == "rope-1.py"):  # so it is called on Canvas
        assert notes(one).endswith(TAKEN.format(name, "rope.py"))


@pytest.mark.parametrize("name", OTHERWISE)
@pytest.mark.parametrize("place", ["ann/{}", "ann_123_4567_{}", "ann_5_assignsubmission_file_{}"])
def test_a_module_under_another_name_counts_if_there_is_no_other(tmp_path, name, place):
    write(tmp_path, {place.format(name): "a", "bob/rope.py": "c"})
    found = read(tmp_path)
    assert found["ann"].modules == {"rope": b"a"}
    assert notes(found["ann"]).endswith(TAKEN.format(name, "rope.py"))
    assert not notes(found["bob"])


def test_what_python_compiled_is_no_module(tmp_path):
    one = read_one(write(tmp_path, {"ann/rope.pyc": "a", "ann/test_rope.py": "a"}))
    assert one.modules == {} and NOT_READ.format("rope.pyc") in notes(one)


@pytest.mark.parametrize("name", ["5_rope-Copy1.ipynb", "Copy of 5_rope.ipynb", "5_rope.ipynb.txt"])
def test_a_copy_of_a_notebook_is_the_notebook_if_there_is_no_other(tmp_path, name):
    write(tmp_path, {f"ann/{name}": "copy"})
    for want in ("copy", "own"):
        with open_class(tmp_path) as opened:
            assert opened.read(opened.students[0], "5_rope").notebook == want.encode()
        write(tmp_path, {"ann/5_rope.ipynb": "own"})


@pytest.mark.parametrize("name", [*RENAMED, *OTHERWISE])
def test_what_lies_beside_a_module_is_not_taken_but_named(tmp_path, name):
    one = read_one(write(tmp_path, {"ann/rope.py": "a stub", f"ann/{name}": "b"}))
    assert one.modules == {"rope": b"a stub"}
    assert notes(one).startswith(NOT_READ.format(name))
    assert notes(one).endswith(UNKNOWN) == (name in RENAMED)


@pytest.mark.parametrize("date", [(2026, 2, 31, 0, 0, 0), (2026, 15, 1, 0, 0, 0)])
def test_a_time_that_never_was_is_not_known(tmp_path, date):
    one = read_zip(tmp_path, zipped([(zipfile.ZipInfo("rope.py", date), "a"), ("rope 2.py", "b")]))
    assert one.modules == {"rope": b"a"}
    assert notes(one).endswith(UNKNOWN)


def write_at(folder, times):
    """A folder and a zip with the same files, each changed at a time; 0 is an unknown one."""
    write(folder / "class" / "ann", {name: name for name in times})
    members = []
    for name, seconds in times.items():
        path = folder / "class" / "ann" / name
        os.utime(path, (seconds or path.stat().st_mtime,) * 2)
        then = time.gmtime(seconds)[:6] if seconds else (1980, 5, 5, 0, 0, 0)
        members.append((zipfile.ZipInfo(name, then), name))
    write(folder / "zips", {"ann.zip": zipped(members), "bob/x": ""})
    return [folder / "class", folder / "zips"]


NOON = 1_700_000_000
TIMES = [
    ({"rope.py": NOON, "rope (1).py": NOON + 9}, "rope (1).py", "exercises/rope (1).py was graded"),
    ({"rope.py": NOON + 9, "rope (1).py": NOON}, "rope.py", "exercises/rope (1).py was not read"),
    ({"rope.py": NOON, "rope - Copy.py": NOON + 2}, "rope.py", "rope - Copy.py was not read"),
    ({"rope.py": 0, "rope (1).py": 0}, "rope.py", "exercises/rope (1).py was not read"),
    (
        {"rope (2).py": NOON + 9, "rope (3).py": NOON},
        "rope (2).py",
        "exercises/rope (2).py was graded",
    ),
    (
        {"rope (9).py": NOON, "rope (1).py": NOON + 60, "rope (2).py": NOON + 61},
        "rope (2).py",
        "3 different copies of rope.py: ann{}/exercises/rope (2).py was graded",
    ),
    (
        {f"rope ({n}).py": 0 for n in range(1, 11)},
        "rope (10).py",
        "10 different copies of rope.py: ann{}/exercises/rope (10).py was graded",
    ),
]


@pytest.mark.parametrize(("times", "taken", "says"), TIMES)
def test_of_two_beside_each_other_the_newer_counts_if_that_is_known(tmp_path, times, taken, says):
    times = {f"exercises/{name}": seconds for name, seconds in times.items()}
    for path, ending in zip(write_at(tmp_path, times), ("", ".zip"), strict=True):
        one = read(path)["ann"]
        assert one.modules == {"rope": f"exercises/{taken}".encode()}
        assert says.format(ending) in notes(one)
        is_unknown = "was not read" in says and times["exercises/rope.py"] != NOON + 9
        assert notes(one).endswith(UNKNOWN) == is_unknown


def test_the_newer_of_two_is_looked_for_in_one_folder_alone(tmp_path):
    path, _ = write_at(tmp_path, {"exercises/rope.py": NOON, "old/rope (1).py": NOON + 99})
    one = read_one(path)
    assert one.modules == {"rope": b"exercises/rope.py"}
    assert notes(one).startswith(NOT_READ.format("old/rope (1).py"))
    assert not notes(one).endswith(UNKNOWN)


def test_the_time_of_what_canvas_gives_out_is_its_own(tmp_path):
    names = ["ann_123_700_rope.py", "ann_123_701_rope (1).py"]
    (tmp_path / "class.zip").write_bytes(
        zipped(
            [
                (zipfile.ZipInfo(name, (2026, 1, day, 0, 0, 0)), name)
                for day, name in enumerate(names, start=1)
            ]
        )
    )
    one = read_one(tmp_path / "class.zip")
    assert one.modules == {"rope": names[0].encode()}
    assert notes(one).startswith(NOT_READ.format(names[1])) and names[0] in notes(one)


@pytest.mark.parametrize("name", ["ann/5_rope.ipynb", "ann/rope.ipynb", "ann_123_4567_rope.ipynb"])
def test_a_notebook_in_place_of_a_module_is_pointed_out(tmp_path, name):
    one = read(write(tmp_path, {name: "{}", "bob/rope.py": "b"}))["ann"]
    assert re.search(r"rope\.ipynb was not read: .*rope\.py", notes(one))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_entries_of_one_name_the_last_counts_as_when_unpacked(tmp_path):
    twice = zipped([("exercises/rope.py", "first"), ("exercises/rope.py", "last")])
    one = read_one(write(tmp_path, {"ann.zip": twice}))
    assert one.modules == {"rope": b"last"}
    assert "2 different copies of rope.py" in notes(one)


@pytest.mark.parametrize(
    ("name", "canvas_id"),
    [
        ("ann_123_700_rope.py", "123"),
        ("ann_LATE_123_700_rope.py", "123"),
        ("müllerjörg_123_700_rope.py", "123"),
        (unicodedata.normalize("NFD", "müllerjörg_123_700_rope.py"), "123"),
        ("अनुराधाशर्मा_123_700_rope.py", "123"),
        ("anon_1a2b5_700_rope.py", ""),
        ("anon_LATE_12345_700_rope.py", "12345"),
        ("Ann A_123_assignsubmission_file_rope.py", ""),
        ("ann/rope.py", ""),
    ],
)
def test_canvas_has_its_own_id_of_whom_it_names(tmp_path, name, canvas_id):
    one = read_one(write(tmp_path, {name: ""}))
    assert one.canvas_id == canvas_id
    assert one.modules == {"rope": b""}


@pytest.mark.parametrize(
    ("files", "late"),
    [
        ({"ann_LATE_123_700_rope.py": "a", "ann_123_701_lookup.py": "a"}, {"rope"}),
        ({"ann_LATE_123_700_rope.py": "a", "ann_123_701_rope-1.py": "a"}, set()),
        ({"ann_LATE_123_700_x.zip": zipped({"rope.py": "a", "lookup.py": ""})}, {"lookup", "rope"}),
        ({"LATE_anon_x1_700_rope.py": "a"}, {"rope"}),
        ({"ann_123_700_LATE_123_456_rope.py": "a", "ann_123_701_rope.py": "a"}, set()),
        ({"ann_123_700_x.zip": zipped({"ann_LATE_123_700_x/rope.py": "a"})}, set()),
        ({"ann_LATE_1_assignsubmission_file_/rope.py": "a"}, set()),
        ({"ann_LATE_123_700_x/rope.py": "a"}, set()),
        ({"ann/x_LATE_123_700_rope.py": "a", "ann/rope.py": "a"}, set()),
    ],
)
def test_late_is_what_canvas_has_marked_so(tmp_path, files, late):
    one = read(write(tmp_path, files | {"bob/rope.py": "b"}))
    (ann,) = (own for student, own in one.items() if student != "bob")
    assert ann.late == late
    assert ann.modules["rope"] == b"a"
    assert not one["bob"].late


def test_a_zip_may_hold_utf_8_and_not_say_so(tmp_path):
    data = zipped({"xxxxmann_123_700_rope.py": "", "umlxx_124_700_rope.py": ""})
    data = data.replace(b"xxxxmann", "üßmann".encode()).replace(b"umlxx", "umlüÄ".encode("cp437"))
    (tmp_path / "class.zip").write_bytes(data)
    assert read(tmp_path / "class.zip").keys() == {"üßmann", "umlüÄ"}


def test_a_copy_that_is_more_than_the_stub_wins(tmp_path):
    stub = find_lesson("rope").module("exercises").read_bytes()
    windows = stub.replace(b"\n", b"\r\n")
    write(tmp_path, {"ann/new/rope.py": "work", "ann/old/rope.py": stub.decode()})
    write(tmp_path, {"ann/exercises/rope.py": windows.decode()})
    one = read_one(tmp_path)
    assert one.modules == {"rope": b"work"}
    assert one.notes == ("3 different copies of rope.py: ann/new/rope.py was graded",)
    (tmp_path / "ann" / "new" / "rope.py").unlink()
    assert read_one(tmp_path).modules["rope"].splitlines() == stub.splitlines()
    for mine, given in (("rope.py", "rope (1).py"), ("rope (1).py", "rope.py")):  # which is newer
        folder = write(tmp_path / mine / "ann", {mine: "work", given: stub})
        os.utime(folder / mine, (NOON, NOON))
        assert read_one(tmp_path / mine).modules == {"rope": b"work"}


# --- nobody is left out ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "student", "says"),
    [
        ("ann_12345_6789_work.rar", "ann", "work.rar"),
        ("work.7z", "work", "work.7z is damaged"),
        ("jane.py", "jane.py", "jane.py"),
        ("ann/notes.txt", "ann", "notes.txt"),
        ("ann/a/b/notes.txt", "ann", ", only a"),
        ("ann.zip", "ann", "is not a zip"),
        ("ann/work.zip", "ann", "work.zip"),
    ],
)
def test_what_cannot_be_graded_is_a_submission_with_a_note(tmp_path, golden, name, student, says):
    for path in forms(tmp_path, {name: "no zip", "bob/rope.py": "b"}):
        found = read(path)
        assert found["bob"].modules == {"rope": b"b"}
        assert found[student].modules == {}
        assert says in "\n".join(found[student].notes)
        golden("notes on submissions", {name: notes(found[student])})


@pytest.mark.parametrize("start", ["Rar!\x1a\x07\x01\0", b"7z\xbc\xaf\x27\x1c\0\4"])
@pytest.mark.parametrize("name", ["ann.zip", "ann/work.zip", "ann.rar", "ann/work.7z"])
def test_an_archive_of_another_kind_is_for_the_instructor_to_unpack(tmp_path, golden, name, start):
    for path in forms(tmp_path, {name: start, "bob/rope.py": "b"}):
        one = read(path)["ann"]
        assert one.modules == one.refused == {} and one.unread.keys() == set(STEMS)
        kind = "RAR" if "R" in str(start) else "7z"
        assert kind in notes(one) and "unpack it" in one.unread["rope"]
    golden("notes on submissions", {f"{name}, {kind}": one.unread["rope"]})


@pytest.mark.parametrize(
    ("source", "is_noted"),
    [
        ("# Zoë".encode("cp1252"), True),
        ("# coding: cp1252\n# Zoë".encode("cp1252"), False),
        ("# Zoë".encode("utf-8-sig"), False),
    ],
)
def test_a_module_that_is_not_utf_8_and_does_not_say_so_is_noted(tmp_path, source, is_noted):
    one = read_one(write(tmp_path, {"ann/rope.py": source}))
    assert one.modules == {"rope": source}
    assert ("is not saved as UTF-8" in notes(one)) == is_noted


@pytest.mark.parametrize("name", ["lookup.py", "rope (1).py", "Rope.py", "skipgram.py.txt"])
def test_a_module_beside_the_students_folders_is_nobodys_and_named(tmp_path, name):
    for files in ({"bob/rope.py": "b"}, {"bob/rope.py": "b", "ann_123_456_rope.py": "a"}):
        for path in forms(tmp_path, files | {name: "x"}):
            found = read(path)
            assert [*found] == sorted(file.split("/")[0].split("_")[0] for file in files)
            assert found["bob"].modules == {"rope": b"b"}
            assert notes(found["bob"]) == ""
            assert loose_modules(path) == [name]


@pytest.mark.parametrize("name", ["Jane Doe - rope.py", "jane_rope.py", "jane-rope (1).ipynb"])
def test_a_module_that_only_its_own_name_gives_to_somebody_is_not_graded(tmp_path, name):
    for path in forms(tmp_path, {"bob/rope.py": "b", name: "x"}):
        found = read(path)
        assert found["bob"].modules == {"rope": b"b"} and not found["bob"].unread
        assert name in found[name].unread["rope"] and not found[name].modules


def test_a_link_in_place_of_a_module_is_nobodys_too(tmp_path):
    write(tmp_path, {"bob/rope.py": "b"})
    (tmp_path / "rope.py").symlink_to("bob/rope.py")
    assert ([*read(tmp_path)], loose_modules(tmp_path)) == (["bob"], ["rope.py"])


def test_what_there_is_instead_of_a_lesson_is_named(tmp_path):
    work = {"Essay.docx": "", "plan/a.txt": "", "b<i>.pdf": "", "c": "", "d": "", ".git/x": ""}
    (tmp_path / "class").mkdir()
    write(tmp_path / "class", {"bob.zip": zipped(work)})
    write(tmp_path / "class", {f"ann/{name}": text for name, text in work.items()})
    for one in read(tmp_path / "class").values():
        (note,) = one.notes
        assert "Essay.docx, " in note
        assert note.endswith(" and 2 more")
        assert "<" not in note


def test_an_empty_folder_is_a_submission(tmp_path):
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (nothing,) = read(tmp_path / "class")["ann"].notes
    (tmp_path / "class.zip").write_bytes(zipped({"ann/": "", "bob/empty/": ""}))
    ann, bob = read(tmp_path / "class.zip").values()
    assert ann.notes == (nothing,)
    assert bob.notes == (f"{nothing}, only empty",)


# --- students' names ------------------------------------------------------------------------

HOSTILE_NAMES = [
    "<script>alert(1)</script>",
    "_script_alert(1)__script_",
    "<script>alert(2)</script>",
    "=1+1",
    "line\nbreak",
    "line\tbreak",
    "\x1b[31mred",
    "\u202egnp.exe",
    "x" * 200 + "1",
    "x" * 200 + "2",
    "a..",
    "a b",
    "O'Brien, Zoë (अनिल) 李",
    "Zoe\u0308",
    "jane",
    "jane~1",
    "-rf",
    "rf",
    "'rf",
    "CON.",
    "%s{0}",
]


def assert_safe(student):
    assert student == student.strip(" .") and student.isprintable() and len(student) <= 100
    assert student[0] not in "-+=@'"
    assert not set(student) & set('<>&"\n\r\t/\\:*?|`$%{}=')
    student.encode("utf-8")


def test_names_are_safe_to_show_and_stay_distinct(tmp_path):
    zips = {f"{name}/rope.py": name for name in HOSTILE_NAMES}
    (tmp_path / "class.zip").write_bytes(zipped(zips))
    found = read(tmp_path / "class.zip")
    assert len(found) == len(HOSTILE_NAMES)
    for student in found:
        assert_safe(student)
    assert len({unicodedata.normalize("NFC", name).casefold() for name in found}) == len(found)
    assert "O'Brien, Zoë (अनिल) 李" in found
    assert found["a b"].modules == {"rope": b"a b"}


def test_names_on_the_disk_may_be_any_bytes(tmp_path):
    names = [b"caf\xe9", b"caf\xe8", b"a\nb", b"\xff", b"<i>"]
    for name in names:
        folder = os.path.join(os.fsencode(tmp_path), name)
        os.mkdir(folder)
        with open(os.path.join(folder, b"rope.py"), "wb") as file:
            file.write(name)
    found = read(tmp_path)
    assert sorted(one.modules["rope"] for one in found.values()) == sorted(names)
    for student in found:
        assert_safe(student)


@pytest.mark.parametrize("student", ["submission", "Submission", "submission (2)"])
def test_a_zip_as_course_submit_calls_it_may_be_anybodys(tmp_path, student):
    work = zipped({"rope.py": "a"})
    found = read(write(tmp_path, {f"{student}.zip": work, "ann/submission.zip": work}))
    assert found[student].modules == {"rope": b"a"}
    says = f"owner unclear: `course submit` gives every zip the name {student}.zip"
    assert notes(found[student]) == says
    assert notes(found["ann"]) == ""


ODD_MANIFESTS = ["", "[]", '{"name": 5}', "[" * 60_000, '{"name": "' + "x" * 10**6]


@pytest.mark.parametrize("manifest", ODD_MANIFESTS, ids=range(len(ODD_MANIFESTS)))
def test_an_odd_manifest_names_nobody(tmp_path, manifest):
    zips = {"submission.zip": zipped({"rope.py": "a", "manifest.json": manifest})}
    found = read(write(tmp_path, zips | {"bob.zip": zipped({"rope.py": "b"})}))
    assert found["submission"].modules == {"rope": b"a"}
    assert notes(found["submission"]).endswith("the name submission.zip")


LIKE_ANOTHER = "owner unclear: {}; another student's name looks the same"


def test_whose_name_looks_like_anothers_is_told_apart_with_a_note(tmp_path):
    names = ["ann", "ann_1_assignsubmission_file_", "ann_2_assignsubmission_file_", "bob"]
    found = read(write(tmp_path, {f"{name}/rope.py": name for name in names}))
    assert [*found] == ["ann", "ann~1", "ann~2", "bob"]  # who is called exactly so keeps the name
    assert [one.modules["rope"].decode() for one in found.values()] == names
    assert [notes(one) for one in found.values()] == [LIKE_ANOTHER.format("ann"), "", "", ""]


def test_two_with_one_name_and_a_number_each_are_no_one_to_ask_about(tmp_path):
    names = ["müllerjan_101_111_rope.py", "müllerjan_102_112_rope.py"]
    found = read(write(tmp_path, dict.fromkeys(names, "x")))
    assert {name: notes(one) for name, one in found.items()} == {
        f"müllerjan~{n}": "" for n in (101, 102)
    }


def test_names_of_one_hash_are_two_students(tmp_path):
    """The first 48 bits of the SHA-256 of these are the same, and so is what is shown."""
    names = [f"{'y' * 81}{number}" for number in (2479340, 25443509)]
    digests = {hashlib.sha256(name.encode()).hexdigest()[:12] for name in names}
    assert len(digests) == 1
    found = read(write(tmp_path, {f"{name}/rope.py": name for name in names}))
    assert sorted(one.modules["rope"].decode() for one in found.values()) == sorted(names)
    assert len({file_stem(student) for student in found}) == 2


HONEST_NAMES = [
    *("Zoë van Dyk", "Łukasz O'Brien-Đặng", "Иванова, Анна", "Γιώργος Παπαδόπουλος", "王小明"),
    *(
        "佐々木 ツヨシ",
        "김민준",
        "أحمد عبد الله",
        "דוד כהן",
        "अनिल कुमार",
        "ณัฐพล",
        "O'Brien, Zoë (अनिल) 李",
    ),
    *("jane_doe-2", "Kaʻiulani", "Nguyễn Văn Å", "anon_x1", "Müller 李明", "田中さくら"),
]
DECEPTIVE_NAMES = [f"Jan{sign}e" for sign in "\u034f\u115f\u3164\ufe0f\U000e0101"]
DECEPTIVE_NAMES += ["J\u0430ne", "\u0410nn Doe", "Ann \u0421\u043e\u0440", "Ann\u03bf"]


def test_names_with_invisible_or_similar_letters_are_named(tmp_path):
    names = HONEST_NAMES + DECEPTIVE_NAMES
    write(tmp_path, {f"{name}/rope.py": name for name in names})
    found = {one.modules["rope"].decode(): notes(one) for one in read(tmp_path).values()}
    assert {name for name in names if "look like others" in found[name]} == {*DECEPTIVE_NAMES}
    assert "J(U+0430)ne" in found["J\u0430ne"]
    assert {found[name] for name in HONEST_NAMES} == {""}


def test_what_tells_two_names_apart_is_told(tmp_path):
    names = [
        "A<b",
        "A>b",
        "Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}?",
        "Zoe\N{COMBINING DIAERESIS}*",
    ]
    found = read(write(tmp_path, {f"{name}/rope.py": str(n) for n, name in enumerate(names)}))
    said = {one.modules["rope"].decode(): notes(one) for one in found.values()}
    exact = ["A(U+003C)b", "A(U+003E)b", "Zo(U+00EB)(U+003F)", "Zoe(U+0308)(U+002A)"]
    assert [said[str(n)] for n in range(4)] == [*map(LIKE_ANOTHER.format, exact)]


ROPE = zipped({"rope.py": "x"})
CLAIMS = [
    ({"ann/rope.py": "a", "ann.zip": ROPE}, ["ann"], "ann/ and ann.zip both"),
    ({"ann/rope.py": "a", "Ann.ZIP": ROPE}, ["Ann", "ann"], "Ann.ZIP and ann/ both"),
    ({"ann/rope.py": "a", "Ann/rope.py": ""}, ["Ann", "ann"], "Ann/ and ann/ both"),
    ({"ann.zip": ROPE, "ANN.zip": ROPE}, ["ANN", "ann"], "ANN.zip and ann.zip both"),
    (
        {"ann/rope.py": "a", "ann.zip/rope.py": "a", "ann.zip.zip": ROPE},
        ["ann", "ann.zip"],
        "ann/, ann.zip/ and ann.zip.zip all",
    ),
    ({"Zo\xeb/rope.py": "a", "Zoe\u0308.zip": ROPE}, ["Zo\xeb"], "Zo\xeb.zip and Zo\xeb/ both"),
    (
        {"Zo\xeb.zip": ROPE, "Zoe\u0308.zip": ROPE},
        ["Zo\xeb"],
        "Zoe(U+0308).zip and Zo(U+00EB).zip both",
    ),
    ({"<b>ann/rope.py": "a", "<b>ann.zip": ROPE}, ["_b_ann"], "_b_ann/ and _b_ann.zip both"),
]


@pytest.mark.parametrize(("files", "students", "says"), CLAIMS)
def test_what_two_sources_claim_is_nobodys_until_one_is_gone(tmp_path, files, students, says):
    """Anybody may call a zip like another's folder: neither is graded, the others are."""
    for path in forms(tmp_path, files | {"bob/rope.py": "b"}):
        found = read(path)
        assert found.pop("bob").modules == {"rope": b"b"}
        assert sorted(found) == sorted(students)  # nobody's login is spelled in another way
        for one in found.values():
            assert (one.modules, {*one.unread}) == ({}, {*STEMS})
            assert one.unread["rope"].startswith(says)
            assert one.unread["rope"].endswith(": keep one.")


def test_a_name_that_is_safe_is_never_changed(tmp_path):
    names = ["ann_b", "Ann<b", "ann>B", "<b>ivy"]
    found = read(write(tmp_path, {f"{name}/rope.py": name for name in names}))
    spelled = {one.modules["rope"].decode(): student for student, one in found.items()}
    assert (spelled["ann_b"], spelled["<b>ivy"]) == ("ann_b", "_b_ivy")
    assert spelled["Ann<b"].startswith("Ann_b~")
    assert spelled["ann>B"].startswith("ann_B~")


def test_a_platforms_number_tells_namesakes_apart_and_is_not_anothers_name(tmp_path):
    write(tmp_path / "x", {"doe_12345_6789_rope.py": "a", "doe_LATE_54321_6790_rope.py": "b"})
    found = read(tmp_path / "x")
    assert [*found] == ["doe~12345", "doe~54321"]
    assert found["doe~54321"].modules == {"rope": b"b"}
    work = {"7/rope.py": "hers", "7_7_assignsubmission_file_/exercises/rope.py": "evil"}
    found = read(write(tmp_path / "y", work))
    assert {student: one.modules["rope"] for student, one in found.items()} == {
        "7": b"hers",
        "7~7": b"evil",
    }


def test_a_name_with_a_number_in_it_is_not_anothers_on_moodle(tmp_path):
    """Where students may write their own names, one could look like the name of a folder."""
    work = {
        "Ann_1_assignsubmission_file_/rope.py": "hers",
        "Ann_1_assignsubmission_file_2_assignsubmission_file_/rope.py": "evil",
    }
    found = {one.moodle_id: one.modules for one in read(write(tmp_path, work)).values()}
    assert found == {"1": {"rope": b"hers"}, "2": {"rope": b"evil"}}


def test_hostile_names_inside_do_not_reach_the_notes(tmp_path):
    inner = zipped({"<b>\n\x1b[1m/exercises/rope.py": "a", "<b>\n/other/rope.py": "b"})
    text = notes(read_one(write(tmp_path, {"ann.zip": inner})))
    assert "was graded" in text
    assert "<" not in text and "\x1b" not in text and "\n" not in text


# --- folders that lead elsewhere ------------------------------------------------------------


@pytest.fixture
def secret(tmp_path):
    return write(tmp_path / "secret", {"rope.py": "secret", "exercises/rope.py": "secret"})


def test_links_are_left_alone(tmp_path, secret):
    write(tmp_path / "class" / "ann", {"lookup.py": "a"})
    write(tmp_path / "class" / "bob", {})
    (tmp_path / "class" / "ann" / "rope.py").symlink_to(secret / "rope.py")
    (tmp_path / "class" / "bob" / "exercises").symlink_to(secret / "exercises")
    (tmp_path / "class" / "bob" / "one").symlink_to("../ann")
    (tmp_path / "class" / "cid").symlink_to(secret)
    (tmp_path / "class" / "dan.zip").symlink_to("nowhere")
    found = read(tmp_path / "class")
    assert [dict(one.modules) for one in found.values()] == [{"lookup": b"a"}, {}, {}, {}]
    for one in found.values():
        assert "is a link" in notes(one)


def test_a_linked_submitted_folder_is_not_entered(tmp_path, secret):
    write(tmp_path / "class", {"ann/rope.py": "a"})
    (tmp_path / "class" / "submitted").symlink_to(secret.parent)
    assert read(tmp_path / "class")["submitted"].modules == {}


def test_hard_links_are_not_read(tmp_path, secret):
    """Nor do they cost anything: who made the link may not be who handed the file in."""
    write(tmp_path / "class", {"ann/x": "", "bob/rope.py": "b", "eve/x": ""})
    os.link(secret / "rope.py", tmp_path / "class" / "ann" / "rope.py")
    os.link(tmp_path / "class" / "bob" / "rope.py", tmp_path / "class" / "eve" / "rope.py")
    found = read(tmp_path / "class")
    for name in ("ann", "bob", "eve"):
        assert found[name].modules == {} and {*found[name].refused} == {"rope"}
        assert "rope.py" in notes(found[name])
        assert "only a copy of it would be read" in found[name].unread["rope"]


def test_hard_links_within_the_students_own_folder_are_read(tmp_path):
    write(tmp_path, {"ann/exercises/rope.py": "a", "ann/.old/x": "", "bob/rope.py": "b"})
    write(tmp_path, {"ann/work.zip": zipped({"lookup.py": "a"}), "bob/.old/x": ""})
    os.link(tmp_path / "ann" / "exercises" / "rope.py", tmp_path / "ann" / ".old" / "backup")
    os.link(tmp_path / "ann" / "work.zip", tmp_path / "ann" / "exercises" / "work")
    os.link(tmp_path / "bob" / "rope.py", tmp_path / "bob" / ".old" / "rope.py")
    os.link(tmp_path / "bob" / "rope.py", tmp_path / "hers")
    found = read(tmp_path)
    assert (found["ann"].modules, found["ann"].notes) == ({"lookup": b"a", "rope": b"a"}, ())
    assert (found["bob"].modules, {*found["bob"].refused}) == ({}, {"rope"})


def test_names_of_a_file_are_not_looked_for_without_end(tmp_path, monkeypatch):
    few_files(monkeypatch)
    write(tmp_path, {"ann/rope.py": "a", "bob/rope.py": "b"})
    write(tmp_path, {f"ann/.git/{i}": "" for i in range(60)})
    for student in ("ann", "bob"):
        (tmp_path / student / ".git" / "deep").mkdir(parents=True)
        (tmp_path / student / ".git" / "up").symlink_to(tmp_path)
        os.link(tmp_path / student / "rope.py", tmp_path / student / ".git" / "deep" / "rope.py")
    found = read(tmp_path)
    assert {*found["ann"].refused} == {"rope"}
    assert found["bob"].modules == {"rope": b"b"}


@pytest.mark.parametrize("others", ["Ann_2_assignsubmission_file_", "Bob"])
def test_the_one_folder_of_a_platform_is_one_students(tmp_path, others):
    files = {f"Eve_1_assignsubmission_file_/{name}/rope.py": name for name in (others, "x")}
    (tmp_path / "class.zip").write_bytes(zipped(files))
    assert list(read(tmp_path / "class.zip")) == ["Eve"]


def test_why_what_was_handed_in_is_not_read_is_told_of_the_lesson(tmp_path):
    largest = b"#" * submitted_files.MAX_MODULE_BYTES
    huge = largest + b"#"
    write(
        tmp_path,
        {"cid/rope.py": largest, "ann/rope.py": huge, "ann/x.zip": zipped({"lookup.py": huge})},
    )
    write(tmp_path, {"bob/x.py": ""})
    (tmp_path / "bob" / "rope.py").symlink_to("x.py")
    found = read(tmp_path)
    assert found["ann"].refused == dict.fromkeys(("rope", "lookup"), "is larger than 1 MB")
    assert {*found["bob"].refused} == {"rope"} and "link" in found["bob"].refused["rope"]
    assert found["cid"].modules == {"rope": largest}


def test_names_longer_than_any_disk_has_are_read_at_once(tmp_path):
    names = [f"{'_111' * 16_000}_0\n{n}" for n in range(5)]
    names += [f"{letter * 250}.py" for letter in "é_1x"]
    (tmp_path / "class.zip").write_bytes(
        zipped([("bob/rope.py", ""), *((name, "") for name in names)])
    )
    start = time.process_time()
    list(read_submissions(tmp_path / "class.zip"))
    assert time.process_time() - start < 5  # it took 18 s


def test_pipes_do_not_block(tmp_path):
    write(tmp_path, {"ann/x": "", "bob/x": ""})
    os.mkfifo(tmp_path / "ann" / "rope.py")
    os.mkfifo(tmp_path / "cid.zip")
    assert [dict(one.modules) for one in read(tmp_path).values()] == [{}, {}, {}]
    with pytest.raises(submitted_files.Unreadable):  # if it was put there at the last moment
        submitted_files.open_regular(tmp_path / "cid.zip")


def test_what_may_not_be_read_is_a_note(tmp_path, golden, monkeypatch):
    write(tmp_path, {"ann/rope.py": "a", "ann/work/lookup.py": "a", "ann/hers/x": ""})
    real_open, real_scan = os.open, os.scandir

    def refuse(path, *rest, **_):
        if str(path).endswith("rope.py") and "ann" in str(path):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *rest)

    def refuse_to_list(path):
        if str(path).endswith("hers"):
            raise PermissionError(13, "Permission denied")
        return real_scan(path)

    monkeypatch.setattr(submitted_files.os, "open", refuse)
    monkeypatch.setattr(submitted_files.os, "scandir", refuse_to_list)
    found = read(tmp_path)
    assert found["ann"].modules == {"lookup": b"a"}
    assert "rope.py cannot be read" in notes(found["ann"])
    assert "hers cannot be read" in notes(found["ann"])
    unread = found["ann"].unread
    assert {*unread} == {*STEMS} - {"lookup"}
    assert all("Permission denied" in why and f"{stem}.py" in why for stem, why in unread.items())
    assert all(("hers" in why) == (stem != "rope") for stem, why in unread.items())
    golden("notes on submissions", {"what cannot be read": f"{unread['rope']}\n{unread['gpt']}"})


def test_a_mode_that_only_one_student_chose_is_no_reason_not_to_grade(tmp_path, monkeypatch):
    """Otherwise students could leave a lesson out of their total."""
    files = ["ann/rope.py", "bob/lookup.py", "cid/lookup.py", "dan/work/rope.py", "eve/rope.py"]
    modes = 0o000, 0o600, 0o600, 0o300, 0o644
    write(tmp_path, dict.fromkeys(files, "x"))
    for name, mode in zip(files, modes, strict=True):
        (tmp_path / name).chmod(mode)
    (tmp_path / "dan" / "work").chmod(0o300)
    real_open, real_scan = os.open, os.scandir

    def allow(act):
        def allowed(path, *rest, **_):  # root could read all of it
            if not os.stat(path).st_mode & 0o044:
                raise PermissionError(13, "Permission denied")
            return act(path, *rest)

        return allowed

    monkeypatch.setattr(submitted_files.os, "open", allow(real_open))
    monkeypatch.setattr(submitted_files.os, "scandir", allow(real_scan))
    tmp_path.chmod(0o755)
    for student in ("ann", "bob", "cid", "dan", "eve"):
        (tmp_path / student).chmod(0o755)
    found = {one.student: one for one in with_own_modes_refused([*read(tmp_path).values()])}
    assert found["ann"].refused == {"rope": "cannot be read: its mode is 000"}
    assert {*found["dan"].refused} == {*STEMS}
    for student in ("bob", "cid"):  # as when a copy keeps owners
        assert found[student].unread.keys() == {"lookup"}
    assert not any(found[one].unread for one in ("ann", "dan", "eve"))
    assert found["eve"].modules == {"rope": b"x"}


def test_what_this_machine_cannot_read_is_not_taken_for_missing(tmp_path, monkeypatch):
    """Neither a file nor a zip; another copy is not graded instead."""
    write(tmp_path, {"ann/work.zip": zipped({}), "bob/rope.py": "b", "bob/old/rope.py": "old"})

    def refuse(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(submitted_files.os, "open", refuse)
    found = read(tmp_path)
    assert found["ann"].modules == found["bob"].modules == {}
    assert {*found["ann"].unread} == {*STEMS}
    assert re.search(r"work\.zip \(Input/output error\).*rope\.py", found["ann"].unread["rope"])
    assert {*found["bob"].unread} == {"rope"}
    assert "rope.py (Input/output error)" in found["bob"].unread["rope"]
    monkeypatch.undo()
    monkeypatch.setattr(archives.LimitedFile, "read", refuse)  # while the zip is read
    assert {*read(tmp_path)["ann"].unread} == {*STEMS}


def test_a_submission_that_is_gone_when_its_turn_comes_is_a_note(tmp_path):
    write(tmp_path, {"ann/rope.py": "a", "bob.zip": "", "cid/rope.py": "c"})
    with open_class(tmp_path) as opened:
        (tmp_path / "bob.zip").unlink()
        _, bob, cid = map(opened.read, opened.students)
    assert "bob.zip cannot be read" in notes(bob)
    assert {*bob.unread} == {*STEMS}
    assert cid.modules == {"rope": b"c"}


def test_a_folder_has_an_end_in_depth_and_in_number(tmp_path, monkeypatch):
    """Both on the disk and in the zip of a class."""
    few_files(monkeypatch)
    files = {"ann/exercises/rope.py": "a"} | {f"ann/rope/rope{i}.py": "" for i in range(200)}
    files |= {"bob/rope.py": "b", "cid/" + "d/" * 50 + "rope.py": "a", "dan/d/d/rope.py": "d"}
    for path in forms(tmp_path, files):
        found = read(path)
        modules = [{"rope": b"a"}, {"rope": b"b"}, {}, {"rope": b"d"}]
        assert [one.modules for one in found.values()] == modules
        assert "ann contains more than 50 files" in notes(found["ann"])


# --- hostile zips ---------------------------------------------------------------------------


def read_zip(tmp_path, data: bytes) -> Submission:
    """A zip next to a good submission, which must not suffer; and inside the zip of a class."""
    found = [read(path) for path in forms(tmp_path, {"ann.zip": data, "bob/rope.py": "b"})]
    assert all(one["bob"].modules == {"rope": b"b"} for one in found)
    assert found[0] == found[1] == found[2]
    return found[0]["ann"]


def entry(name, *, mode=0, create_system=3) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr, info.create_system = mode << 16, create_system
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


@pytest.mark.parametrize(
    "name", ["../bob/rope.py", "x/../../bob/rope.py", "/etc/rope.py", "C:\\rope.py", "..\\rope.py"]
)
def test_a_name_that_leads_out_is_not_read(tmp_path, name):
    one = read_zip(tmp_path, zipped({name: "evil", "exercises\\lookup.py": "a"}))
    assert one.modules == {"lookup": b"a"}
    assert name.replace("\\", "/").rpartition("/")[2] in notes(one)


def test_nobody_hands_in_for_another_within_the_zip_of_a_class(tmp_path):
    names = ["ann/rope.py", "bob/../ann/exercises/rope.py", "../ann/exercises/rope.py", "/ann/x.py"]
    (tmp_path / "class.zip").write_bytes(zipped([(name, name) for name in names]))
    found = read(tmp_path / "class.zip")
    assert [*found] == ["ann", "bob", "unnamed"]
    assert found["ann"].modules == {"rope": b"ann/rope.py"}
    assert found["bob"].modules == found["unnamed"].modules == {}


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFBLK])
def test_links_and_devices_in_a_zip_are_left_alone(tmp_path, kind):
    link = (entry("rope.py", mode=kind | 0o777), "/etc/passwd")
    one = read_zip(tmp_path, zipped([link, (entry("lookup.py", mode=stat.S_IFREG | 0o644), "a")]))
    assert one.modules == {"lookup": b"a"}
    assert "rope.py is a link" in notes(one)


def test_an_encrypted_module_is_for_the_instructor_to_ask_for(tmp_path):
    data = bytearray(zipped({"rope.py": "a"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    one = read_zip(tmp_path, bytes(data))
    assert one.modules == one.refused == {} and "without a password" in one.unread["rope"]


# --- tars -----------------------------------------------------------------------------------


def tarred(files: dict, kind: str = "gz", **types: bytes) -> bytes:
    """A tar, of bytes or text by name, then empty members of some types, which lead elsewhere."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{kind}") as opened:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            data = content.encode() if isinstance(content, str) else content
            info.size = len(data)
            opened.addfile(info, io.BytesIO(data))
        for stem, type_of in types.items():
            info = tarfile.TarInfo(f"{stem}.py")
            info.type, info.linkname = type_of, "/etc/passwd"
            opened.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["", "gz", "bz2", "xz"])
@pytest.mark.parametrize("name", ["ann.tar.gz", "ann.tgz", "ann.tar", "ann/work.tar.xz", "ann.zip"])
def test_a_tar_is_read_as_a_zip_is(tmp_path, kind, name):
    work = {"work/exercises/rope.py": "a", "work/notebooks/5_rope.ipynb": "b"}
    for path in forms(tmp_path, {name: tarred(work, kind), "bob/rope.py": "b"}):
        assert read(path).keys() == {"ann", "bob"}
        assert (read(path)["ann"].modules, notes(read(path)["ann"])) == ({"rope": b"a"}, "")


def test_a_class_may_be_a_tar(tmp_path):
    (tmp_path / "class.tar.gz").write_bytes(tarred({"ann/rope.py": "a", "bob/rope.py": "b"}))
    assert {name: one.modules["rope"] for name, one in read(tmp_path / "class.tar.gz").items()} == {
        "ann": b"a",
        "bob": b"b",
    }


@pytest.mark.parametrize("n_modules, size", [(1, 40), (300, 1)])
def test_a_bomb_in_a_tar_is_not_unpacked(tmp_path, n_modules, size):
    zeros = bytes(size << 20)
    data = tarred({f"{number}/rope.py": zeros for number in range(n_modules)})
    with memory_at_most(280 << 20):
        one = read_one(write(tmp_path, {"ann.tar.gz": data}))
    assert one.modules == {}
    assert ("larger than 1 MB" if n_modules == 1 else "more than 256 MB") in notes(one)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.BLKTYPE]
)
def test_links_and_devices_in_a_tar_are_left_alone(tmp_path, kind):
    one = read_zip(tmp_path, tarred({"lookup.py": "a", "../ann/gpt.py": "b"}, rope=kind))
    assert one.modules == {"lookup": b"a"}
    assert "rope.py is a link" in notes(one) and "leads out" in notes(one)


@pytest.mark.parametrize("cut", [40, 100])
def test_a_damaged_tar_is_a_note(tmp_path, cut):
    assert "damaged" in notes(read_zip(tmp_path, tarred({"rope.py": "a" * 9999})[:-cut]))


def test_what_is_compressed_alone_is_for_the_instructor_to_unpack(tmp_path):
    one = read_one(write(tmp_path, {"ann/rope.py.gz": gzip.compress(b"a = 1")}))
    assert one.modules == one.refused == {} and "unpack it" in one.unread["rope"]


def test_a_zip_within_a_zip_is_opened_and_one_within_that_is_not(tmp_path):
    inner = zipped({"work/rope.py": "inner", "b/c.zip": zipped({"learned.py": "innermost"})})
    one = read_zip(tmp_path, zipped({"deep/a.zip": inner, "lookup.py": "a"}))
    assert one.modules == {"lookup": b"a", "rope": b"inner"}
    assert "deep/a.zip/b/c.zip" in notes(one) and notes(one).endswith("it was not opened")


def test_what_is_in_a_zip_within_a_zip_is_no_safer(tmp_path):
    inner = [("../bob/rope.py", "evil"), ("/learned.py", "evil"), ("skipgram.py", bytes(5 << 20))]
    inner += [(entry("lookup.py", mode=stat.S_IFLNK | 0o777), "/etc/passwd")]
    one = read_zip(tmp_path, zipped({"a.zip": zipped(inner), "../b.zip": zipped({"rope.py": "a"})}))
    assert one.modules == {}
    assert all(name in notes(one) for name in ("bob/rope.py", "learned.py", "b.zip"))
    assert "a.zip/lookup.py is a link" in notes(one)
    assert "a.zip/skipgram.py is larger" in notes(one)


def test_zips_within_zips_count_as_others_do(tmp_path):
    inner = {f"{i}.zip": zipped({f"{stem}.py": stem}) for i, stem in enumerate(STEMS)}
    one = read_zip(tmp_path, zipped(inner))
    assert [*one.modules] == STEMS[:4]  # the outer one is the first of five
    assert notes(one).count("more than 5 zips") == len(STEMS) - 4
    write(tmp_path / "more", {f"eve/{name}": data for name, data in inner.items()})
    assert [*read_one(tmp_path / "more").modules] == STEMS[:5]


def test_zips_within_zips_share_one_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_INNER_BYTES", 3 << 20)
    large = zipped({"x.bin": random.Random(7).randbytes(2 << 20), "rope.py": "a"})
    bomb = zipped({"x.zip": bytes(100 << 20)})
    zips_of = {"ann.zip": zipped({"1.zip": large, "2.zip": large}), "bob.zip": bomb}
    write(tmp_path / "students", zips_of)
    write(tmp_path, {"class.zip": zipped({"cid.zip": bytes(50 << 20), "dan.zip": ROPE})})
    found = {}
    for path in (tmp_path / "students", tmp_path / "class.zip"):
        with memory_at_most(10 << 20):
            found |= read(path)
    assert found["ann"].modules == {"rope": b"a"}
    assert notes(found["ann"]).startswith("2.zip is larger than 3 MB, ")
    assert notes(found["bob"]).splitlines()[0] == "x.zip is larger than 3 MB"
    assert "cid.zip is larger" in notes(found["cid"])
    assert found["dan"].modules == {"rope": b"x"}


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_is_not_unpacked(tmp_path, compression):
    bomb = zipped({"rope.py": bytes(50 << 20)}, compression)
    write(tmp_path, {"ann.zip": bomb})
    with memory_at_most(10 << 20):
        one = read_one(tmp_path)
    assert "rope" not in one.modules
    assert ("larger than 1 MB" in notes(one)) == (compression == zipfile.ZIP_DEFLATED)


def test_a_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path):
    data = bytearray(zipped({"rope.py": bytes(5 << 20)}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = data.index(signature) + offset
        data[start : start + 4] = struct.pack("<I", 100)
    one = read_zip(tmp_path, bytes(data))
    assert one.modules == {}
    assert "rope.py is damaged" in notes(one)


def test_a_zip_of_too_many_files_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_DIRECTORY_BYTES", 10_000)
    one = read_zip(tmp_path, zipped({f"{i}.txt": "" for i in range(500)}))
    assert (one.modules, one.notes[0]) == ({}, TOO_MANY.format("ann.zip"))
    work = zipped({f"{i}.txt": "" for i in range(120)} | {"rope.py": "a"})  # shared by all zips
    write(tmp_path / "all", {"ann/1.zip": work, "ann/2.zip": work, "bob/1.zip": work})
    write(tmp_path / "all", {"cid/1.zip": zipped({"1.zip": work, "2.zip": work})})
    found = read(tmp_path / "all")
    assert {one.modules["rope"] for one in found.values()} == {b"a"}
    assert notes(found["ann"]) == TOO_MANY.format("2.zip")
    assert notes(found["bob"]) == ""
    assert notes(found["cid"]) == TOO_MANY.format("1.zip/2.zip")
    monkeypatch.setattr(submissions, "MAX_CLASS_DIRECTORY_BYTES", 10_000)
    (tmp_path / "class.zip").write_bytes(zipped({f"{i}/rope.py": "" for i in range(500)}))
    with pytest.raises(SubmissionsError, match="contains too many files"):
        read_submissions(tmp_path / "class.zip")


def test_zips_of_too_many_files_are_not_read_to_the_end(tmp_path, monkeypatch):
    few_files(monkeypatch)
    many = {f"folder{i}/": "" for i in range(1000)}
    first = zipped({"exercises/rope.py": "a"} | many | {"exercises/lookup.py": "unseen"})
    write(tmp_path, {f"ann/{n}.zip": first for n in range(5)} | {"bob/rope.py": "b"})
    write(tmp_path, {"cid.zip": zipped({"1.zip": zipped(many), "2.zip": zipped({"rope.py": ""})})})
    found = read(tmp_path)
    assert [one.modules for one in found.values()] == [{"rope": b"a"}, {"rope": b"b"}, {}]
    first, second = found["ann"].notes[:2]
    assert first.startswith("0.zip contains more than 50 files")
    assert second.startswith("1.zip was not opened, ")
    assert "1.zip contains more than 50 files" in notes(found["cid"])


def test_notes_are_few(tmp_path):
    files = [(f"{i}/../rope.py", "evil") for i in range(500)]
    assert len(read_zip(tmp_path, zipped(files)).notes) == submissions.MAX_NOTES


def test_a_damaged_zip_never_stops_the_others(tmp_path):
    """Every cut and thousands of changed bytes, drawn with a fixed seed."""
    files = {"exercises/rope.py": "a" * 50, "lookup.py": "b", "übung/x.py": ""}
    good = zipped(files | {"x/in.zip": zipped({"learned.py": "c"})})
    draw = random.Random(7)
    damaged = [good[:length] for length in range(0, len(good), 7)]
    for _ in range(400):
        data = bytearray(good)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.choice((0, 1, 0xFF, draw.randrange(256)))
        damaged.append(bytes(data))
    folder = write(tmp_path, {f"s{i:04}.zip": data for i, data in enumerate(damaged)})
    found = read(folder)
    assert len(found) == len(damaged)
    for one in found.values():
        assert one.modules or one.notes
        assert all("password" in why for why in one.unread.values())  # no other way around a 0
        for module in one.modules.values():
            assert module in (b"a" * 50, b"b", b"c")
