"""What a class handed in is read from every layout, and nothing hostile in it does any harm."""

import contextlib
import errno
import gzip
import hashlib
import io
import json
import os
import random
import re
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
    """A class as a folder, as a link to it, as a zip of what is in it, and as a zip with it."""
    inner = {f"homework/{name}": content for name, content in files.items()}
    write(tmp_path, {"class.zip": zipped(files), "wrapped.zip": zipped(inner)})
    folder, link = write(tmp_path / "class", files), tmp_path / "link"
    if not link.is_symlink():
        link.symlink_to("class")
    return [folder, link, tmp_path / "class.zip", tmp_path / "wrapped.zip"]


def read(path, numbers=()) -> dict[str, Submission]:
    """The submissions by student; no two may share a name."""
    with open_class(path, numbers) as opened:
        found = [opened.read(student) for student in opened.students]
    by_student = {one.student: one for one in found}
    assert len(by_student) == len(found)
    assert list(by_student) == sorted(by_student)
    return by_student


def read_one(path) -> Submission:
    (one,) = read(path).values()
    return one


def notes(one: Submission) -> str:
    return "\n".join(one.notes)


def modules(one: Submission) -> str:
    """What is graded, such as "lookup b, rope a" for two files with one letter each."""
    found = sorted(one.modules.items())
    return ", ".join(f"{stem} {text.decode('utf-8', 'replace')}" for stem, text in found)


def modules_by_student(path) -> dict[str, str]:
    return {student: modules(one) for student, one in read(path).items()}


def remarks(one: Submission) -> list[str]:
    """All that is said about a submission: notes, and why lessons are not graded."""
    lessons_of = {why: [] for why in one.unread.values()}
    for stem, why in one.unread.items():
        lessons_of[why].append(stem)
    unread = [
        f"{'all' if stems == STEMS else ', '.join(stems)} not graded: {why}"
        for why, stems in lessons_of.items()
    ]
    return [*one.notes, *unread]


def as_text(one: Submission) -> list[str]:
    """A line for who it is and what is graded, and one for each remark."""
    graded = ascii(modules(one))[1:-1] if len(modules(one)) < 99 else "a large module"
    known = {"Canvas": one.canvas_id, "Moodle": one.moodle_id, "late": ", ".join(sorted(one.late))}
    facts = "; ".join(f"{what} {said}" for what, said in known.items() if said)
    student = f"{one.student} ({facts})" if facts else one.student
    return [f"{student}: {graded or 'nothing'}", *(f"  {remark}" for remark in remarks(one))]


def described(path, numbers=()) -> str:
    """All that is said of the students of a class."""
    return "\n".join(line for one in read(path, numbers).values() for line in as_text(one))


@pytest.fixture
def approved(golden):
    """`approved(title, path)`: what is said of a class is what golden/notes_on_submissions has."""
    return lambda title, *of: golden("notes on submissions", {title: described(*of)})


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


def entry(name, mode=0) -> zipfile.ZipInfo:
    """What a zip says of a file whose mode Unix gave."""
    info = zipfile.ZipInfo(name)
    info.external_attr, info.create_system = mode << 16, 3
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def with_field(data: bytes, record: bytes, offset: int, value: bytes) -> bytes:
    """A zip with other bytes in the last record of a kind."""
    start = data.rindex(record) + offset
    return data[:start] + value + data[start + len(value) :]


def tarred(files: dict, *types: bytes, kind: str = "gz") -> bytes:
    """A tar of text or bytes by name; after those, lessons that are empty members of some types."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{kind}") as opened:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            opened.addfile(info, io.BytesIO(data))
        for stem, type_of in zip(STEMS[1:], types, strict=False):
            info = tarfile.TarInfo(f"{stem}.py")
            info.type, info.linkname = type_of, "/etc/passwd"
            opened.addfile(info)
    return buffer.getvalue()


# --- layouts --------------------------------------------------------------------------------


def classes_of(table: str) -> dict[str, dict[str, str | bytes]]:
    """Classes by title, one in each line: `title: ann/rope.py=text | bob.zip::rope.py=text`.

    What is behind `::` is in that zip; a file without a text has one that must not be seen.
    """
    found = {}
    for line in re.split(r"\n(?! )", table.strip()):
        title, _, files = line.partition(": ")
        found[title] = in_class = {}
        for file in re.split(r" \|\s+", files):
            path, _, text = file.partition("=")
            archive, is_inside, name = path.partition("::")
            within = in_class.setdefault(archive, {}) if is_inside else in_class
            within[name or path] = text or "evil"
        for name, content in in_class.items():
            in_class[name] = zipped(content) if isinstance(content, dict) else content
    return found


CLASSES = classes_of("""
a folder per student: ann/rope.py=a | bob/rope.py=b
exercises in it: ann/exercises/rope.py=a | bob/exercises/rope.py=b
clones: ann/course/exercises/rope.py=a | ann/course/solutions/rope.py |
  ann/course/course/lessons/rope/styles.py | bob/mine/exercises/rope.py=b | bob/mine/README.md
a zip per student: ann.zip::rope.py=a | bob.ZIP::exercises/rope.py=b | bob.ZIP::manifest.json={} |
  bob.ZIP::notebooks/x
nbgrader's course: submitted/ann/one/rope.py=a | submitted/bob/one/rope.py=b |
  source/one/rope.py | gradebook.db
nbgrader's submitted: submitted/ann/one/rope.py=a | submitted/bob/one/rope.py=b | README.md
Canvas, files: ann_12345_6789_rope.py=a | bob_LATE_12346_6790_rope-1.py=b
Canvas, zips: ann_12345_6789_rope.zip::rope.py=a |
  bob_LATE_12346_6790_submission.zip::x/exercises/rope.py=b
Canvas, files that others may be called: ann_12345_6789_rope.py=a |
  ann_12345_6790_99_assignsubmission_file_other.zip::x | ann_12345_6791_hw_2_3.zip::x |
  bob_12346_6792_rope.py=b | bob_12346_6793_rope_2024_11.zip::x
Moodle, folders: ann_123_assignsubmission_file_/rope.py=a |
  bob_124_assignsubmission_file_/work.zip::rope.py=b |
  bob_124_assignsubmission_onlinetext_/onlinetext.html
Moodle, files: ann_123_assignsubmission_file_rope.py=a |
  bob_124_assignsubmission_file_work.zip::rope.py=b |
  ann_123_assignsubmission_file_777_777_other.zip::x |
  bob_124_assignsubmission_file_99_777_888_other.zip::x
""")
CLASSES["what computers leave behind"] = {
    **dict.fromkeys(("ann/.git/rope.py", "ann/__pycache__/rope.py", "__MACOSX/ann/._rope.py"), ""),
    **{f"ann/env/lib/site-packages/{i}/rope.py": "x" for i in range(70)},
    **{f"ann/.venv/{i}/rope.py": "x" for i in range(70)},
    **{f"ann/node_modules/{i}/rope.py": "x" for i in range(70)},
    **{"ann/rope.py": "a", "bob/rope.py": "b", ".DS_Store": "", "grades.csv": ""},
}


@pytest.mark.parametrize("files", CLASSES.values(), ids=CLASSES.keys())
def test_a_class_is_read_alike_in_every_layout_and_form(tmp_path, files, monkeypatch):
    few_files(monkeypatch)  # what computers leave behind does not count
    for path in forms(tmp_path, files):
        assert modules_by_student(path) == {"ann": "rope a", "bob": "rope b"}
        assert {notes(one) for one in read(path).values()} == {""}  # of missing lessons, nothing


@pytest.mark.parametrize(
    "files",
    [
        {"rope.py": "a", "mine.py": "", "rope.ipynb": ""},
        {"rope (1).py": "a", "notes.txt": ""},
        {"exercises/rope.py": "a", "tests/x.py": "", "solutions/rope.py": "", "README.md": ""},
    ],
)
def test_a_submission_by_itself_is_a_class_of_one(tmp_path, files):
    write(tmp_path, {"ann.zip": zipped(files)})
    for path in (write(tmp_path / "ann", files), tmp_path / "ann.zip"):
        assert described(path).startswith("ann: rope a")  # and nothing of the class as a whole


def test_clones_of_github_classroom_are_called_by_the_login(tmp_path):
    clones = {f"rope-{login}/exercises/rope.py": "a" for login in ("xx-jane", "xx-bob")}
    folder = write(tmp_path / "rope", clones | {"roster.csv": ""})
    assert {*read(folder)} == {"rope-xx-jane", "rope-xx-bob"}
    folder = folder.rename(tmp_path / "rope-submissions")
    assert {*read(folder)} == {"xx-jane", "xx-bob"}
    assert {*read(write(folder, {"jim/rope.py": ""}))} == {"rope-xx-jane", "rope-xx-bob", "jim"}


def test_all_lessons_are_read_as_they_are(tmp_path):
    sources = [b"\xef\xbb\xbfx = 1\r\n", b"#\0", b"", b"\r", b"x"]
    files = {f"ann/{stem}.py": source for stem, source in zip(STEMS, sources, strict=False)}
    one = read_one(write(tmp_path, files | {"ann/other.py": "", "ann/rope.ipynb": ""}))
    assert list(one.modules.values()) == sources
    assert one.notes == ()


def test_many_submissions_stay_flat_in_memory(tmp_path):
    module = bytes(250_000)
    (tmp_path / "class.zip").write_bytes(zipped({f"s{i}/rope.py": module for i in range(60)}))
    with memory_at_most(4 << 20), open_class(tmp_path / "class.zip") as opened:  # of 15 MB
        assert sum(opened.read(one).modules["rope"] == module for one in opened.students) == 60


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
        assert {*read(path)} == {student, *(name.split("/")[0] for name in special)}


OTHER_FOLDERS = dict.fromkeys(
    ["class/submitted/ann/one/rope.py", "class/gradebook.db", "class/slides/x"], ""
)


@pytest.mark.parametrize(
    ("title", "files", "name"),
    [
        ("x", {"x": ""}, "nowhere"),
        ("class/grades.csv", {"class/grades.csv": ""}, "class"),
        ("class/.hidden/x", {"class/.hidden/x": ""}, "class"),
        ("an empty zip", {"class.zip": zipped({})}, "class.zip"),
        ("class.zip", {"class.zip": b"no zip"}, "class.zip"),
        ("half a zip", {"class.zip": zipped({"a/rope.py": "a"})[:-30]}, "class.zip"),
        ("rope.py", {"rope.py": "a"}, "rope.py"),
        ("nbgrader's course with other folders", OTHER_FOLDERS, "class"),
    ],
)
def test_no_class_is_one_sentence_at_once(tmp_path, golden, monkeypatch, title, files, name):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, files)
    with pytest.raises(SubmissionsError) as raised:
        read_submissions(Path(name))
    assert "\n" not in str(raised.value)
    golden("no submissions", {title: str(raised.value).replace(f"{tmp_path}/", "")})


# --- what is odd ----------------------------------------------------------------------------

CELL = "def rotate_half(x):\n    return x\n"
NOTEBOOKS = [
    json.dumps({"cells": [{"cell_type": "code", "source": source}]})
    for source in (f"import torch\n\n{CELL}", CELL.splitlines(keepends=True))
]
STUB = stub_of("rope")
ROPE = zipped({"rope.py": "x"})
EVIL = zipped({"rope.py": "evil"})
REFERENCE = find_lesson("rope").module("exercises").read_bytes()
ENTRY, END = b"PK\1\2", b"PK\5\6"
PLAIN = zipped({"lookup.py": "plain"}, zipfile.ZIP_STORED)
LARGEST = b"#" * submitted_files.MAX_MODULE_BYTES
SIX_ZIPS = {f"{n}.zip": zipped({f"{stem}.py": stem}) for n, stem in enumerate(STEMS[:6])}
BOMB, LIE = zipped({"rope.py": bytes(5 << 20)}), struct.pack("<I", 100)
TWO_IN_A_TAR = tarred({"gpt.py": "evil", "rope.py": "evil"}, kind="")
TWO_OF_ROPE = "def rotate_half(): 5\ndef apply_rope(): 5"
LINK, PIPE = stat.S_IFLNK | 0o777, stat.S_IFIFO | 0o777


def encrypted(data: bytes) -> bytes:
    """A zip that says of its one file that it is encrypted."""
    return with_field(with_field(data, b"PK\3\4", 6, b"\1"), ENTRY, 8, b"\1")


def zip64() -> bytes:
    """A zip as it would be if its file were huge."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as new, new.open("lookup.py", "w", force_zip64=True) as file:
        file.write(b"plain")
    return buffer.getvalue()


ODD = {
    "larger files than are read": {
        "ann/rope.py": b"evil" + LARGEST,
        "ann/x.zip": zipped({"lookup.py": b"evil" + LARGEST}),
        "bob/rope.py": LARGEST,
    },
    "archives of another kind": {
        **dict.fromkeys(["ann.zip", "bob.rar"], "Rar!\x1a\x07\x01\0"),
        **dict.fromkeys(["cid/work.zip", "dan/work.7z"], b"7z\xbc\xaf\x27\x1c\0\4"),
        "eve/rope.py.gz": gzip.compress(b"evil"),
    },
    "work in files of other names": {  # in order, as a folder is read
        "ann/lookup.py": "a",
        **dict.fromkeys(["ann/5_rope.html", "ann/Rope.pdf", "ann/rope.docx"], "evil"),
        **{"bob/lookup.py": "b", "bob/rope.txt": "b"},
        **{"cid/lesson5.py": TWO_OF_ROPE, "cid/lookup.py": "c", "cid/notes.txt": "def evil(): 5"},
        "dan/week5.zip": zipped({"rope.txt": "d", "x/week 8.txt": "class GPT(Module): 5"}),
        "eve/lookup.py": f"class TokenEmbedding: 5\n{TWO_OF_ROPE}",
        **{"fay/rope.doc": "", "fay/rope.py": STUB, "fay/rope_final.txt": TWO_OF_ROPE},
        **{"gus/rope.pdf": "", "gus/rope.py": "def rotate_half(): 5", "gus/x.py": TWO_OF_ROPE},
        **{"hal/lookup.py": b"# Hal\n" + stub_of("lookup"), "hal/x.py": STUB},
    },
    "not UTF-8": {
        "ann/rope.py": "# Zoë".encode("cp1252"),
        "bob/rope.py": "# coding: cp1252\n# Zoë".encode("cp1252"),
        "cid/rope.py": "# Zoë".encode("utf-8-sig"),
        "dan/rope.py": "# Zoë".encode("utf-16"),
        "eve/rope.py": "# coding: utf-8\n# Zoë".encode("cp1252"),
        "fay/rope.py": '"""\n# coding: cp1252\nZoë"""'.encode("cp1252"),
    },
    "zips as `course submit` calls them": dict.fromkeys(
        ["submission.zip", "submission (2).zip", "ann/submission.zip"], ROPE
    ),
    "names that lead out": {
        "ann.zip": zipped(
            {"exercises\\lookup.py": "a", "../bob/rope.py": "evil", "x/../../bob/rope.py": "evil"}
            | {"..\\gpt.py": "evil", "/etc/rope.py": "read as etc/rope.py"}
        ),
        "bob.zip": zipped({"<b>\n\x1b[1m/exercises/rope.py": "b", "<b>\n/other/rope.py": "evil"}),
    },
    "links and devices in archives": {
        "ann.zip": zipped(
            [
                (entry("lookup.py", LINK), "evil"),
                (entry("gpt.py", PIPE), "it cannot be one"),
                (entry("rope.py", stat.S_IFREG | 0o644), "a"),
            ]
        ),
        "bob.tar.gz": tarred(
            {"lookup.py": "b", "../ann/gpt.py": "evil"},
            *(tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.BLKTYPE),
        ),
    },
    "an encrypted module": {"ann.zip": encrypted(EVIL)},
    "damaged tars": {
        **{f"{n}.tgz": tarred({"rope.py": "evil" * 2500})[:-n] for n in (40, 100)},
        "cut in a header.tar": TWO_IN_A_TAR[:1200],
        "cut in a file.tar": TWO_IN_A_TAR[:1540],
        "a header changed.tar": TWO_IN_A_TAR.replace(b"rope.py", b"ropE.py"),
    },
    "a tar without its end": {"ann.tar": TWO_IN_A_TAR[:2048].replace(b"evil", b"good")},
    "damage in a zip": {
        "ann.zip": zipped({"lookup.py": "a", "rope.py": "evil" * 9}, zipfile.ZIP_STORED).replace(
            b"evilevil", b"evilEVIL", 1
        ),
        "bob.zip": zipped({"lookup.py": "b", "inner.zip": EVIL[:-9]}),
        "cid.zip": zipped({"rope.py": "evil"}, zipfile.ZIP_LZMA),
        "dan.zip": EVIL[:-30],
        "eve/rope.zip": "",
    },
    "zips within zips": {
        "ann.zip": zipped(
            {"lookup.py": "a", "deep/a.zip": zipped({"b/c.zip": EVIL, "rope.py": "b"})}
        ),
        "bob.zip": zipped({"../b.zip": EVIL, "a.zip": zipped({"../ann/rope.py": "evil"})}),
        "cid.zip": zipped({"a.zip": zipped({"/rope.py": "c", "gpt.py": b"evil" + LARGEST})}),
        "dan.zip": zipped({"a.zip": zipped([(entry("lookup.py", LINK), "evil")])}),
    },
    "more than five zips": {  # ann's own counts
        "ann.zip": zipped(SIX_ZIPS),
        **{f"bob/{name}": data for name, data in SIX_ZIPS.items()},
    },
    "a bomb that lies about its size": {
        "ann.zip": with_field(with_field(BOMB, b"PK\3\4", 22, LIE), ENTRY, 24, LIE)
    },
    "zips that are odd, and read": {
        "a colon.zip": zipped({"Abgabe 1:/lookup.py": "plain"}),
        "a drive.zip": zipped({"C:\\lookup.py": "plain"}),
        "a large size.zip": with_field(PLAIN, ENTRY, 24, struct.pack("<I", 2**31)),
        "a null in the name.zip": zipped({"lookupX.py": "plain"}).replace(b"X.py", b".py\0"),
        "an absolute name.zip": zipped({"/lookup.py": "plain"}),
        "another computer.zip": zipped({"\\\\host\\lookup.py": "plain"}),
        "a program before it.zip": b"MZ" + bytes(10_000) + PLAIN,
        "letters turned round.zip": zipped({"\u202eyp.pukool\x1b[2J\n/lookup.py": "plain"}),
        "no day.zip": with_field(PLAIN, ENTRY, 12, b"\xff" * 4),
        "no year.zip": with_field(PLAIN, ENTRY, 12, bytes(4)),
        "something after it.zip": PLAIN + b"x" * 4000,
        "two in one.zip": EVIL + PLAIN,
        "zip64.zip": zip64(),
    },
    "zips that are not read": {
        "a later version.zip": with_field(PLAIN, ENTRY, 6, b"\xff\x00"),
        "a place before it.zip": with_field(PLAIN, END, 16, b"\xff\xff\xff\xfe"),
        "an end alone.zip": END + bytes(18),
        "another name inside.zip": PLAIN.replace(b"lookup.py", b"rope.py\0\0", 1),
        "another text.zip": PLAIN.replace(b"plain", b"evil!"),
    },
    "the last of two entries of one name counts, as when unpacked": {
        "ann.zip": zipped([("exercises/rope.py", "first"), ("exercises/rope.py", "last")])
    },
    "numbers of any length": {
        "ann.zip": zipped({f"{n}/rope.py": n[-3:] for n in ("1" * 3000, "2" * 2999, "0" * 4500)})
    },
    "names that look the same": {
        f"{name}/rope.py": f"of {n}"
        for n, name in enumerate(
            ("A<b", "A>b", "Zo\xeb?", "Zoe\u0308*", "ann_b", "Ann<b", "ann>B", "<b>ivy")
        )
    },
    "code in any notebook that is no other lesson's": {
        f"{n}{kind}/{file}": content
        for n, name in enumerate(
            ("rope.ipynb", "Untitled.ipynb", "5_rope-Copy1.ipynb", "x/y.ipynb")
        )
        for kind, book in zip("ab", NOTEBOOKS, strict=True)
        for file, content in {
            **{name: book, "6_skipgram.ipynb": book, "gpt.ipynb": book, "rope.py": STUB}
        }.items()
    },
    "a stub beside what cannot be read": {
        **{f"{student}/rope.py": STUB for student in ("ann", "bob")},
        **{"ann/final.rar": b"Rar!\x1a\x07", "bob/rope_final.py": TWO_OF_ROPE.encode("utf-16")},
    },
    "what is called old counts last": {
        **{f"ann/{name}": TWO_OF_ROPE + name for name in ("new/rope.py", "old/rope.py")},
        **{f"bob/{name}": TWO_OF_ROPE + name for name in ("rope_new.py", "rope_old.py")},
    },
    "code in a clone's solutions or tests": {
        f"{student}/{name}": content
        for student, changed in {"ann": "solutions/rope.py", "bob": "tests/test_rope.py"}.items()
        for name, content in {
            **{"exercises/rope.py": STUB, "exercises/lookup.py": "x"},
            **{"solutions/lookup.py": find_lesson("lookup").solution},
            **{"solutions/rope.py": find_lesson("rope").solution},
            changed: TWO_OF_ROPE,
        }.items()
    },
    "code in a clone's notebook, where the module has some, too": {
        f"{student}/{name}": content
        for student, module in {"ann": STUB, "bob": STUB.replace(b"TODO rope.rot", b"")}.items()
        for name, content in {
            **dict.fromkeys(("course/x.py", "tests/test_rope.py", "README.md"), ""),
            **{"exercises/rope.py": module, "notebooks/5_rope.ipynb": NOTEBOOKS[1]},
        }.items()
    },
}
ODD |= classes_of("""
two attempts on Brightspace: 4711-90 - Jane van-Doe - Nov 30, 2026 1107 AM/rope.py=9 |
  4711-90 - Jane van-Doe - Dec 1, 2026 1204 AM/rope.py=10 |
  4712-1 - Bob - 28 nov. 2026 13 05 - rope.py=b
two attempts on Blackboard: Lesson 4_aa12_attempt_2026-11-20-23-59-01_rope.py=9 |
  Lesson 4_aa12_attempt_2026-11-20-23-59-01.txt=about it |
  Lesson 4_aa12_attempt_2026-11-21-00-10-00_rope.py=10 |
  Lesson 4_bb34_attempt_2026-11-20-22-00-00_work.zip::rope.py=b |
  Lesson 4_b_c_attempt_2026-11-20-22-00-00_x_aa12_attempt_2026-12-20-22-00-00_rope.py=c
deep in folders: ann.zip::/home/students/ann/courses/2026/nlp/what-and-where/exercises/rope.py=a
two assignments of nbgrader: ann/one/rope.py=a | ann/two/lookup.py=b
a student called solutions: solutions/rope.py=a
a text or a link on Canvas: ann_123_text.html=x | bob_LATE_124_link.html=x
zips of Teams: Jane Doe/HW1/Version 1/work.zip::rope.py=a
containers that nobody opens: ann.tar.zst=x | bob/rope.py=b | bob/work.zipx=x | cid/hw.zip.part=x
letters that show nothing: ㅤ.zip::rope.py=a | bob️/rope.py=b | bob/rope.py=b
other capitals: ann/Rope.py=a
what cannot be graded: ann_12345_6789_work.rar | work.7z | eve.zip | fay/work.zip | jane.py |
  cid/notes.txt | dan/a/b/notes.txt | gus/rope.pyc | gus/test_rope.py
notebooks in place of modules: ann/5_rope.ipynb | bob/rope.ipynb | cid_123_4567_rope.ipynb
modules that only their own names give to somebody: Jane Doe - rope.py | jane_rope.py |
  jim-rope (1).ipynb
texts of a lesson beside the students' folders: bob/rope.py=b | Jane Doe - rope.docx |
  Jim - 5_rope.gdoc | rope-grades.csv | readme.md
something else than lessons: ann/Essay.docx | ann/b<i>.pdf | ann/c | ann/d | ann/e | ann/.git/x
whose name looks like another's: ann/rope.py=who is called exactly so keeps it |
  ann_1_assignsubmission_file_/rope.py=ann_1 | ann_2_assignsubmission_file_/rope.py=ann_2
namesakes with a number each: müllerjan_101_111_rope.py=a | müllerjan_LATE_102_112_rope.py=b
a number that is a name: 7/rope.py=hers | 7_7_assignsubmission_file_/exercises/rope.py=another's
modules beside the students' folders are nobody's: bob/rope.py=b | Rope.py | lookup.py |
  rope (1).py | skipgram.py.txt
modules beside what Canvas gives: ann_123_456_rope.py=a | rope (1).py
Canvas has numbers of whom it names, and marks what is late: ann_LATE_123_700_rope.py=late |
  ann_123_701_lookup.py=in time | bea_LATE_124_700_rope.py=late | bea_124_701_rope-1.py=in time |
  cid_LATE_125_700_x.zip::rope.py=late | cid_LATE_125_700_x.zip::lookup.py=late |
  dan_126_700_LATE_126_456_rope.py=claims | dan_126_701_rope.py=in time |
  eve_127_700_x.zip::eve_LATE_127_700_x/rope.py=in time | LATE_anon_x1_700_rope.py=late |
  anon_1a2b5_700_rope.py=in time | anon_LATE_12345_700_rope.py=by a student called Anon |
  müllerjörg_130_700_rope.py=x | schu\u0308lerjo\u0308rg_131_700_rope.py=x |
  अनुराधाशर्मा_132_700_rope.py=x
elsewhere nobody is late: ann_LATE_1_assignsubmission_file_/rope.py=in time |
  bob_LATE_123_700_x/rope.py=in time | cid/x_LATE_123_700_rope.py=x | cid/rope.py=in time |
  Dan D_124_assignsubmission_file_rope.py=in time
a name with a number in it, on Moodle: Ann_1_assignsubmission_file_/rope.py=hers |
  Ann_1_assignsubmission_file_2_assignsubmission_file_/rope.py=another's
a screenshot's date and time: ann_55123_801_lookup.py=x |
  ann_55123_802_Screenshot_20261128_120000_G.jpg
a number has one name: bob_999_701_rope.py=b | eve_999_66123_902_rope.py=e
a class comes from one platform: Bob_1_assignsubmission_file_rope.py=x |
  Bob_999_701_Eve_2_assignsubmission_file_rope.py=x
""")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("title", ODD)
def test_what_is_odd_is_a_sentence_and_costs_nobody_else(tmp_path, golden, title):
    """And the same in each form of a class, in signs that are safe to show."""
    said, *others = [described(path) for path in forms(tmp_path, ODD[title] | {"zoe/rope.py": "z"})]
    assert others == [said] * 3
    assert said.replace("\n", "").isprintable() and not set(said) & set("<>") and "evil" not in said
    lines = said.splitlines()
    lines.remove("zoe: rope z")
    golden("notes on submissions", {title: "\n".join(lines)})


CLAIMS = [
    *("ann/rope.py", "ann.zip", "bob/rope.py", "Bob.ZIP", "cid/rope.py", "Cid/rope.py"),
    *("dan.zip", "DAN.zip", "eve/rope.py", "eve.zip/rope.py", "eve.zip.zip"),
    *("Zo\xeb/rope.py", "Zoe\u0308.zip", "\xe9.zip", "e\u0301.zip", "<b>ann/rope.py", "<b>ann.zip"),
]


def test_what_two_sources_claim_is_nobodys_until_one_is_gone(tmp_path, golden):
    """Anybody may call a zip like another's folder: neither is graded, and nobody is renamed."""
    for path in forms(tmp_path, dict.fromkeys(CLAIMS, EVIL) | {"zoe/rope.py": "z"}):
        said = re.sub("claim the name .*?: ", "claim one name: ", described(path))
        golden("notes on submissions", {"what two sources claim": said})


SPLIT = {
    "Canvas": ["ann_123_700_{}", "bob_999_701_{}", "bob_999_66123_902_{}"],
    "Moodle": [
        "ann_123_assignsubmission_file_{}",
        "bob_999_assignsubmission_file_{}",
        "bob_999_assignsubmission_file_z_66123_assignsubmission_file_{}",
    ],
}


@pytest.mark.parametrize("lms", SPLIT)
def test_a_number_in_a_name_takes_nobodys_place_and_an_export_tells_whose_it_is(
    tmp_path, approved, lms
):
    """Eve writes Bob's number behind her name, so that her file may be his: it is nobody's."""
    ann, bob, eve = SPLIT[lms]
    path = write(tmp_path, {eve.format("work.zip"): ROPE})
    for known in ("999", "66123"):
        approved(f"a file from {lms}, if {known} is known", path, {"123", known})
    for of_others in ({ann.format("rope.py"): "a"}, {bob.format("rope.py"): "b"}):
        write(path, of_others)
        for numbers in ((), {"123", "999", "66123"}, {"123"}):
            approved(f"a file that may be of two, from {lms}", path, numbers)


def test_a_name_full_of_numbers_is_one_row_and_those_who_are_known(tmp_path):
    """Not a row for each of 24 ways to take it apart."""
    name = f"eve{''.join(f'_{number}' for number in range(200, 225))}_work.zip"
    files = {name: ROPE, "eve_200_701_rope.py": "e", "bob_123_702_rope.py": "b"}
    bob, eve, other = read(write(tmp_path, files)).values()
    assert (bob.student, eve.canvas_id, other.canvas_id) == ("bob", "200", "")
    assert "may be from eve (200) or eve_200 (201)" in eve.unread["rope"]
    assert eve.unread == other.unread and {*eve.unread} == {*STEMS}


# --- which copy counts ----------------------------------------------------------------------

COPIES = [
    ("ann/attempt 2/rope.py", "ann/attempt 1/rope.py"),
    ("ann/try10/rope.py", "ann/try9/rope.py"),
    ("ann/x (1).zip/rope.py", "ann/x.zip/rope.py"),
    ("ann/02.zip/rope.py", "ann/1.zip/rope.py"),
    ("ann/5_rope/rope.py", "ann/1_lookup/rope.py", "ann/9/rope.py"),
    ("ann/Rope/work/rope.py", "ann/skipgram/rope.py"),
    ("ann/rope.zip/rope.py", "ann/lookup.zip/rope.py"),
    ("ann_LATE_12346_678902_rope-2.py", "ann_12346_678800_rope.py"),
    ("ann_12346_1678902_rope-1.py", "ann_LATE_12346_678800_rope.py"),
    ("ann/try 2/ROPE.py", "ann/try 1/rope.py"),
    ("ann/rope.py", "ann/old 2/rope.py"),
    ("ann/a/exercises/rope.py", "ann/rope.py"),
    ("ann/rope.py", "ann/ROPE.PY"),
]
"""The first of each counts."""


def in_zips(paths):
    """Files that contain their own path; what is below a zip is in one."""
    files = {}
    for path in paths:
        archive, is_in_one, name = path.partition(".zip/")
        files |= {f"{archive}.zip": zipped({name: path})} if is_in_one else {path: path}
    return files


@pytest.mark.parametrize("copies", COPIES, ids=lambda copies: copies[0])
def test_the_lessons_own_folder_wins_and_then_the_last_attempt(tmp_path, copies):
    for path in forms(tmp_path, in_zips(copies) | {"bob/x": ""}):
        one = read(path)["ann"]
        assert modules(one) == f"rope {copies[0]}"
        assert notes(one).endswith(f" different copies of rope.py: {copies[0]} was graded")


def test_nothing_is_said_of_copies_that_are_the_same(tmp_path):
    files = ["rope.py", "old/rope.py", "rope (1).py", "rope_final.py"]
    write(tmp_path, {f"ann/{name}": "same" for name in files})
    assert read_one(tmp_path).notes == ()
    write(tmp_path, {f"ann/old {n}/rope.py": "same" for n in range(choice.MAX_COMPARED)})
    assert "12 copies of rope.py" in notes(read_one(tmp_path))  # nobody compares without end


@pytest.mark.parametrize("stem", STEMS)
def test_of_a_clone_only_exercises_count(tmp_path, stem):
    own = [f"solutions/{stem}.py", f"course/{stem}.py", f"course/x/{stem}.py", f"tests/{stem}.py"]
    own += [f"course/publishing/building/figures/{stem}.py", f"benchmarks/{stem}.py"]
    own += [f"course/publishing/figures/{stem} (1).py", f"notebooks/5_{stem}.ipynb"]
    own += [f"course/lessons/{stem}/{name}.py" for name in ("styles", "notebook", f"block_{stem}")]
    others = {f"clone/{name}": "the course's" for name in own}
    write(tmp_path / "ann", others)
    write(tmp_path / "bob", others | {f"clone/exercises/{stem}.py": "b"})
    write(tmp_path / "cid", others | {f"clone/exercises/{stem} (1).py": "c"})
    write(tmp_path, {"dan.zip": zipped(others | {f"clone/exercises/{stem}.py": "d"})})
    write(tmp_path / "eve", {f"course/week5/{stem}.py": "no clone"})
    assert modules_by_student(tmp_path) == {
        **{"ann": "", "bob": f"{stem} b", "cid": f"{stem} c", "dan": f"{stem} d"},
        "eve": f"{stem} no clone",
    }
    ann, bob, *_ = read(tmp_path).values()
    assert "no lesson to grade" in notes(ann) and not bob.notes


UNKNOWN = "isn't known which is newer"

RENAMED = ["rope (1).py", "Rope(12).py", "rope-1.py", "rope - Copy.py", "rope - Copy (2).py"]
RENAMED += ["rope copy.py", "rope copy 2.py", "rope 2.py", "rope.py.txt", "rope (1).py.txt"]
RENAMED += ["rope.txt", "Rope (1).txt", "5_rope.txt"]
RENAMED += ["rope (1)-1.py", "rope-1-1.py"]  # on Canvas, handed in again
RENAMED += ["rope-Copy1.py", "Copy of rope.py", "rope - Kopie.py", "rope - Copie (2).py"]
RENAMED += ["Kopie von rope.py", "rope.py.py", "rope (1) (2).py", "5_rope.py", "5_rope-Copy2.py"]
OTHERWISE = ["rope_final.py", "my_rope.py", "rope1.py", "rope..py", "Rope_v2 (1).py"]
NAMES = RENAMED + OTHERWISE
PLACES = ["{}/{}", "{}/exercises/{}", "{}.zip/{}", "s_{}_4567_{}", "s_{}_assignsubmission_file_{}"]


@pytest.mark.parametrize("place", PLACES)
def test_a_module_under_another_name_counts_if_there_is_no_other(tmp_path, place):
    """Whatever a computer renamed, or its author."""
    write(tmp_path, in_zips(place.format(n, name) for n, name in enumerate(NAMES, 100)))
    for name, one in zip(NAMES, read(tmp_path).values(), strict=True):
        assert [*one.modules] == ["rope"] and name.encode() in one.modules["rope"]
        if not (place.startswith("s_") and name == "rope-1.py"):  # so it is called on a platform
            assert notes(one).endswith(f"{name} was graded as rope.py")


def test_what_lies_beside_a_module_is_not_taken_but_named(tmp_path):
    for n, name in enumerate(NAMES, 100):
        write(tmp_path / str(n), {"rope.py": "a stub", name: "b"})
    for name, one in zip(NAMES, read(tmp_path).values(), strict=True):
        assert modules(one) == "rope a stub"
        assert notes(one).startswith(f"{name} was not read: ")
        assert notes(one).endswith(UNKNOWN) == (name in RENAMED)


@pytest.mark.parametrize("name", ["5_rope-Copy1.ipynb", "Copy of 5_rope.ipynb", "5_rope.ipynb.txt"])
def test_a_copy_of_a_notebook_is_the_notebook_if_there_is_no_other(tmp_path, name):
    write(tmp_path, {f"ann/{name}": "copy"})
    for want in ("copy", "own"):
        with open_class(tmp_path) as opened:
            assert opened.read(opened.students[0], "5_rope").notebook == want.encode()
        write(tmp_path, {"ann/5_rope.ipynb": "own"})


NOON = 1_700_000_000
TIMES = {  # 0 is an unknown time
    "the second is newer": {"rope.py": NOON, "rope (1).py": NOON + 9},
    "the first is newer": {"rope.py": NOON + 9, "rope (1).py": NOON},
    "two at the same time": {"rope.py": NOON, "rope - Copy.py": NOON + 2},
    "two at no known time": {"rope.py": 0, "rope (1).py": 0},
    "two copies": {"rope (2).py": NOON + 9, "rope (3).py": NOON},
    "two after one": {"rope (9).py": NOON, "rope (1).py": NOON + 60, "rope (2).py": NOON + 61},
    "ten at no known time": {f"rope ({n}).py": 0 for n in range(1, 11)},
    "the newer in another folder": {"rope.py": NOON, "../old/rope (1).py": NOON + 99},
}


@pytest.mark.parametrize("title", TIMES)
def test_of_two_beside_each_other_the_newer_counts_if_that_is_known(tmp_path, approved, title):
    members = []
    for name, seconds in TIMES[title].items():
        path = os.path.normpath(f"ann/exercises/{name}")
        file = write(tmp_path / "class", {path: name, "bob/x": ""}) / path
        os.utime(file, (seconds or file.stat().st_mtime,) * 2)
        then = time.gmtime(seconds)[:6] if seconds else (1980, 5, 5, 0, 0, 0)
        members.append((zipfile.ZipInfo(path, then), name))
    write(tmp_path, {"class.zip": zipped([*members, ("bob/x", "")])})
    for path in (tmp_path / "class", tmp_path / "class.zip"):
        approved(f"which of two is newer: {title}", path)


def test_a_time_that_never_was_is_not_known(tmp_path):
    for never in ((2026, 2, 31, 0, 0, 0), (2026, 15, 1, 0, 0, 0)):
        data = zipped([(zipfile.ZipInfo("rope.py", never), "a"), ("rope 2.py", "b")])
        one = read_one(write(tmp_path, {"ann.zip": data}))
        assert modules(one) == "rope a" and notes(one).endswith(UNKNOWN)


def test_the_time_of_what_canvas_gives_out_is_its_own(tmp_path, approved):
    names = ["ann_123_700_rope.py", "ann_123_701_rope (1).py"]
    files = [
        (zipfile.ZipInfo(name, (2026, 1, n, 0, 0, 0)), name) for n, name in enumerate(names, 1)
    ]
    approved("times of Canvas", write(tmp_path, {"class.zip": zipped(files)}) / "class.zip")


def test_work_counts_more_than_a_stub_and_an_exercise_more_than_none(tmp_path):
    """As nbconvert makes of a notebook; whatever they are called, and whichever is newer."""
    work, notes_of_class = "def rotate_half(x): return x\n", "print('notes')\n"
    for less, name, other in (
        (notes_of_class, "rope.py", "5_rope.py"),
        (notes_of_class, "rope.py", "rope (1).py"),
        (REFERENCE, "rope_v2.py", "rope.py"),
        (b"# Ann's\n" + REFERENCE, "rope_v2.py", "rope.py"),
        (REFERENCE, "rope.py", "rope (1).py"),
        (REFERENCE, "rope (1).py", "rope.py"),
        (REFERENCE.replace(b"\n", b"\r\n"), "new/rope.py", "exercises/rope.py"),
    ):
        folder = tmp_path / f"{len(less)} {name} {other}".replace("/", "-")
        write(folder / "ann", {name: work, other: less})
        os.utime(folder / "ann" / name, (NOON, NOON))
        assert modules(read_one(folder)) == f"rope {work}"


@pytest.mark.parametrize("name", ["lookup.py", "rope (1).py", "Ann - rope.txt", "skipgram.py.txt"])
def test_a_module_beside_the_students_folders_is_nobodys_and_named(tmp_path, name):
    for files in ({"bob/rope.py": "b"}, {"bob/rope.py": "b", "ann_123_456_rope.py": "a"}):
        for path in forms(tmp_path, files | {name: "x"}):
            found = read(path)
            assert_unclear(found.pop(name), name)
            assert [*found] == sorted(file.split("/")[0].split("_")[0] for file in files)
            assert (modules(found["bob"]), notes(found["bob"])) == ("rope b", "")
    link = write(tmp_path / "linked", {"bob/rope.py": "b"}) / name
    link.symlink_to("bob/rope.py")
    assert_unclear(read(link.parent)[name], name)


def assert_unclear(one, name):
    assert one.unread == dict.fromkeys(
        STEMS, f"{name} is not in a folder with its student's name: put it into one."
    )


@pytest.mark.parametrize(
    "others",
    [
        ["Jane Doe - lookup.py", "Bob - lookup.py"],
        ["Jane Doe - rope.py"],
        ["lookup (1).py"],
        ["jane.py"],
        ["Jane Doe - 1_lookup.ipynb"],
    ],
)
def test_loose_files_of_a_class_are_not_one_students(tmp_path, others):
    """As Google Drive delivers them: one that has no name in it makes them nobody's."""
    work = ["lookup.py", *others]
    for path in forms(tmp_path, dict.fromkeys(work, "def lookup(table, ids): 5")):
        found = read(path)
        assert [*found] == sorted(work)
        for name, one in found.items():
            assert_unclear(one, name)


def test_an_empty_folder_is_a_submission(tmp_path):
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (nothing,) = read(tmp_path / "class")["ann"].notes
    (tmp_path / "class.zip").write_bytes(zipped({"ann/": "", "bob/empty/": ""}))
    ann, bob = read(tmp_path / "class.zip").values()
    assert ann.notes == (nothing,)
    assert bob.notes == (f"{nothing}, only empty",)


def test_a_zip_may_hold_utf_8_and_not_say_so(tmp_path):
    data = zipped({"xxxxmann_123_700_rope.py": "", "umlxx_124_700_rope.py": ""})
    data = data.replace(b"xxxxmann", "üßmann".encode()).replace(b"umlxx", "umlüÄ".encode("cp437"))
    (tmp_path / "class.zip").write_bytes(data)
    assert read(tmp_path / "class.zip").keys() == {"üßmann", "umlüÄ"}


# --- students' names ------------------------------------------------------------------------

HOSTILE_NAMES = [
    *("<script>alert(1)</script>", "_script_alert(1)__script_", "<script>alert(2)</script>"),
    *("=1+1", "line\nbreak", "line\tbreak", "\x1b[31mred", "\u202egnp.exe", "x" * 200 + "1"),
    *("x" * 200 + "2", "a..", "a b", "O'Brien, Zoë (अनिल) 李", "Zoe\u0308", "jane", "jane~1"),
    *("-rf", "rf", "'rf", "CON.", "%s{0}"),
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
            file.write(repr(name).encode())
    found = read(tmp_path)
    assert {one.modules["rope"].decode() for one in found.values()} == {*map(repr, names)}
    for student in found:
        assert_safe(student)


def test_an_odd_manifest_names_nobody(tmp_path):
    for n, manifest in enumerate(
        ["", "[]", '{"name": 5}', "[" * 60_000, '{"name": "' + "x" * 10**6]
    ):
        zips = {"Submission.zip": zipped({"rope.py": "a", "manifest.json": manifest})}
        found = read(write(tmp_path / str(n), zips | {"bob.zip": zipped({"rope.py": "b"})}))
        assert modules(found["Submission"]) == "rope a"
        assert notes(found["Submission"]).endswith("the name Submission.zip")


def test_names_of_one_hash_are_two_students(tmp_path):
    """The first 48 bits of the SHA-256 of these are the same, and so is what is shown."""
    names = [f"{'y' * 81}{number}" for number in (2479340, 25443509)]
    digests = {hashlib.sha256(name.encode()).hexdigest()[:12] for name in names}
    assert len(digests) == 1
    found = read(write(tmp_path, {f"{name}/rope.py": name for name in names}))
    assert sorted(one.modules["rope"].decode() for one in found.values()) == sorted(names)
    assert len({file_stem(student) for student in found}) == 2


@pytest.mark.parametrize("others", ["Ann_2_assignsubmission_file_", "Bob"])
def test_the_one_folder_of_a_platform_is_one_students(tmp_path, others):
    files = {f"Eve_1_assignsubmission_file_/{name}/rope.py": name for name in (others, "x")}
    (tmp_path / "class.zip").write_bytes(zipped(files))
    assert list(read(tmp_path / "class.zip")) == ["Eve"]


def test_the_one_folder_in_a_folder_is_one_students(tmp_path):
    """Instructors who fill in the points of one student are told to make such a folder."""
    files = {f"eve/{name}/rope.py": name for name in ("bob", "eve")}
    assert list(read(write(tmp_path, files))) == ["eve"]


def test_nobody_hands_in_for_another_within_the_zip_of_a_class(tmp_path):
    names = ["ann/rope.py", "bob/../ann/exercises/rope.py", "../ann/exercises/rope.py", "/ann/x.py"]
    (tmp_path / "class.zip").write_bytes(zipped([(name, name) for name in names]))
    graded = {"ann": "rope ann/rope.py", "bob": "", "unnamed": ""}
    assert modules_by_student(tmp_path / "class.zip") == graded


def test_names_longer_than_any_disk_has_are_read_at_once(tmp_path):
    names = [f"{'_111' * 16_000}_0\n{n}" for n in range(5)]
    names += [f"{letter * 250}.py" for letter in "é_1x"]
    write(tmp_path, {"class.zip": zipped([("bob/rope.py", ""), *((name, "") for name in names)])})
    start = time.process_time()
    list(read_submissions(tmp_path / "class.zip"))
    assert time.process_time() - start < 5  # it took 18 s


# --- folders that lead elsewhere, and what cannot be read -----------------------------------


@pytest.fixture
def secret(tmp_path):
    return write(tmp_path / "secret", {"rope.py": "secret", "exercises/rope.py": "secret"})


def test_links_and_pipes_are_left_alone(tmp_path, secret, approved):
    class_ = write(tmp_path / "class", {"ann/lookup.py": "a", "bob/x": "", "eve/x": ""})
    (class_ / "ann" / "rope.py").symlink_to(secret / "rope.py")
    (class_ / "bob" / "exercises").symlink_to(secret / "exercises")
    (class_ / "bob" / "one").symlink_to("../ann")
    (class_ / "cid").symlink_to(secret)
    (class_ / "dan.zip").symlink_to("nowhere")
    (class_ / "submitted").symlink_to(secret.parent)
    (class_ / "rope (1).py").symlink_to("ann/lookup.py")
    os.mkfifo(class_ / "eve" / "rope.py")
    os.mkfifo(class_ / "fay.zip")
    approved("links and pipes", class_)
    with pytest.raises(submitted_files.Unreadable):  # if it was put there at the last moment
        submitted_files.open_regular(class_ / "fay.zip")


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
            seen = {one.modules.get("rope") for one in (opened.read(ann) for _ in range(1000))}
    finally:
        done.set()
        eve.join()
    assert seen <= {b"own", None} and b"own" in seen


def test_a_file_of_several_names_costs_nobody_anything(tmp_path, secret, approved):
    """Who made the link may not be who handed the file in."""
    class_ = write(tmp_path / "class", {"ann/x": "", "bob/rope.py": "b", "eve/x": ""})
    os.link(secret / "rope.py", class_ / "ann" / "rope.py")
    os.link(class_ / "bob" / "rope.py", class_ / "eve" / "rope.py")
    approved("hard links", class_)


@pytest.fixture
def refuse(monkeypatch):
    """`refuse("open", condition, code)`: the system refuses what the condition is true of."""

    def refuse_some(name, condition, code=errno.EACCES):
        real = getattr(os, name)

        def act(path, *rest, **_):
            if condition(path):
                raise OSError(code, os.strerror(code))
            return real(path, *rest)

        monkeypatch.setattr(submitted_files.os, name, act)

    return refuse_some


def test_what_may_not_be_read_is_a_note(tmp_path, approved, refuse):
    write(tmp_path, {"ann/rope.py": "a", "ann/work/lookup.py": "a", "ann/hers/x": ""})
    refuse("open", lambda path: str(path).endswith("rope.py"))
    refuse("scandir", lambda path: str(path).endswith("hers"))
    approved("what cannot be read", tmp_path)


def test_what_this_machine_cannot_read_is_not_taken_for_missing(
    tmp_path, monkeypatch, approved, refuse
):
    """Neither a file nor a zip; another copy is not graded instead."""
    write(tmp_path, {"ann/work.zip": zipped({}), "bob/rope.py": "b", "bob/old/rope.py": "old"})
    refuse("open", lambda path: str(path).endswith((".zip", ".py")), errno.EIO)
    approved("a disk that fails", tmp_path)
    monkeypatch.undo()

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(limits.Counted, "read", fail)  # while the zip is read
    assert {*read(tmp_path)["ann"].unread} == {*STEMS}


def test_a_submission_that_is_gone_when_its_turn_comes_is_a_note(tmp_path):
    write(tmp_path, {"ann/rope.py": "a", "bob.zip": "", "cid/rope.py": "c"})
    with open_class(tmp_path) as opened:
        (tmp_path / "bob.zip").unlink()
        _, bob, cid = map(opened.read, opened.students)
    assert "bob.zip cannot be read" in notes(bob)
    assert {*bob.unread} == {*STEMS}
    assert modules(cid) == "rope c"


def test_a_folder_has_an_end_in_depth_and_in_number(tmp_path, monkeypatch):
    """Both on the disk and in the zip of a class."""
    few_files(monkeypatch)
    files = {"ann/exercises/rope.py": "a"} | {f"ann/rope/rope{i}.py": "" for i in range(200)}
    files |= {"bob/rope.py": "b", "cid/" + "d/" * 50 + "rope.py": "a", "dan/d/d/rope.py": "d"}
    for path in forms(tmp_path, files):
        graded = {"ann": "rope a", "bob": "rope b", "cid": "", "dan": "rope d"}
        assert modules_by_student(path) == graded
        assert "ann contains more than 50 files" in notes(read(path)["ann"])


# --- hostile archives -----------------------------------------------------------------------


def read_zip(tmp_path, data: bytes) -> Submission:
    """A zip next to a good submission, which must not suffer; and inside the zip of a class."""
    found = [read(path) for path in forms(tmp_path, {"ann.zip": data, "bob/rope.py": "b"})]
    assert found == [found[0]] * 4 and modules(found[0]["bob"]) == "rope b"
    return found[0]["ann"]


@pytest.mark.parametrize("kind", ["", "gz", "bz2", "xz"])
def test_a_tar_is_read_as_a_zip_is(tmp_path, kind):
    """Whatever it is called, and so is that of a class."""
    work = {"work/exercises/rope.py": "a", "work/notebooks/5_rope.ipynb": "b"}
    names = ["ann.tar.gz", "bob.tgz", "cid.tar", "dan/work.tar.xz", "eve.zip"]
    for path in forms(tmp_path, dict.fromkeys(names, tarred(work, kind=kind))):
        students = ("ann", "bob", "cid", "dan", "eve")
        assert described(path) == "\n".join(f"{student}: rope a" for student in students)
    write(tmp_path, {"class.tar.gz": tarred({"ann/rope.py": "a", "bob/rope.py": "b"}, kind=kind)})
    assert modules_by_student(tmp_path / "class.tar.gz") == {"ann": "rope a", "bob": "rope b"}


@pytest.mark.slow
def test_what_a_class_in_a_tar_has_beside_its_lessons_is_not_kept(tmp_path, monkeypatch):
    """One student's large files are no reason not to read the others."""
    monkeypatch.setattr(archives, "MAX_KEPT", 1 << 20)
    monkeypatch.setattr(reading, "MAX_INNER_BYTES", 16 << 20)
    large = bytes(8 << 20)
    files = {"ann/rope.py": "a", "bob.zip": zipped({"rope.py": "b"})}
    files |= {f"eve/{n}.{ending}": large for n in range(5) for ending in ("bin", "zip")}
    work = zipped({"x.py": random.Random(7).randbytes(900 << 10), "rope.py": "z"})
    (tmp_path / "class.tar.gz").write_bytes(tarred(files | {"zoe.zip": work}))
    with memory_at_most(40 << 20), open_class(tmp_path / "class.tar.gz") as opened:  # of 80 MB
        others = [one for one in opened.students if one.name != "eve"]
        assert [modules(opened.read(one)) for one in others] == ["rope a", "rope b", "rope z"]
    assert "0.zip is damaged" in notes(read(tmp_path / "class.tar.gz")["eve"])


def test_a_class_that_needs_too_much_memory_is_a_sentence(tmp_path, monkeypatch):
    def fail(*_):
        raise MemoryError

    (tmp_path / "class.zip").write_bytes(zipped({"ann/rope.py": "a"}))
    monkeypatch.setattr(limits.Counted, "read", fail)
    with pytest.raises(SubmissionsError, match="needs too much memory to read"):
        read_submissions(tmp_path / "class.zip")


BOMBS = {
    "a tar": (tarred({"rope.py": bytes(10 << 20)}), "larger than 1 MB"),
    "a tar of many": (
        tarred({f"{number}/rope.py": bytes(1 << 20) for number in range(30)}),
        "more than 16 MB",
    ),
    "deflate": (zipped({"rope.py": bytes(50 << 20)}), "larger than 1 MB"),
    "bzip2": (zipped({"rope.py": bytes(50 << 20)}, zipfile.ZIP_BZIP2), "in an unusual way"),
    "LZMA": (zipped({"rope.py": bytes(50 << 20)}, zipfile.ZIP_LZMA), "in an unusual way"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch, name):
    monkeypatch.setattr(limits, "MAX_BYTES", 16 << 20)
    data, says = BOMBS[name]
    with memory_at_most(24 << 20):
        one = read_one(write(tmp_path, {"ann.zip": data}))
    assert one.modules == {} and says in notes(one)


def test_a_zip_per_lesson_is_read_within_a_zip_or_not(tmp_path):
    inner = {f"{i}.zip": zipped({f"{stem}.py": stem}) for i, stem in enumerate(STEMS)}
    one = read_zip(tmp_path, zipped(inner))
    assert ([*one.modules], one.notes) == (STEMS, ())
    write(tmp_path / "more", {f"eve/{name}": data for name, data in inner.items()})
    assert [*read_one(tmp_path / "more").modules] == STEMS


def test_a_zip_within_a_zip_has_a_limit(tmp_path, monkeypatch, approved):
    monkeypatch.setattr(reading, "MAX_INNER_BYTES", 3 << 20)
    write(tmp_path / "students", {"bob.zip": zipped({"x.zip": bytes(100 << 20)})})
    write(tmp_path, {"class.zip": zipped({"cid.zip": bytes(50 << 20), "dan.zip": ROPE})})
    for name in ("students", "class.zip"):
        with memory_at_most(10 << 20):
            approved(f"the limit of zips within zips: {name}", tmp_path / name)


def test_a_zip_of_too_many_files_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_DIRECTORY_BYTES", 10_000)
    one = read_zip(tmp_path, zipped({f"{i}.txt": "" for i in range(500)}))
    assert (one.modules, one.notes[0]) == ({}, "ann.zip contains too many files")
    monkeypatch.setattr(submissions, "MAX_CLASS_DIRECTORY_BYTES", 10_000)
    (tmp_path / "class.zip").write_bytes(zipped({f"{i}/rope.py": "" for i in range(500)}))
    with pytest.raises(SubmissionsError, match="contains too many files"):
        read_submissions(tmp_path / "class.zip")


def test_zips_of_too_many_files_are_not_read_to_the_end(tmp_path, monkeypatch, approved):
    few_files(monkeypatch)
    many = {f"folder{i}/": "" for i in range(1000)}
    first = zipped({"exercises/rope.py": "a"} | many | {"exercises/lookup.py": "unseen"})
    write(tmp_path, {f"ann/{n}.zip": first for n in range(5)} | {"bob/rope.py": "b"})
    write(tmp_path, {"cid.zip": zipped({"1.zip": zipped(many), "2.zip": zipped({"rope.py": ""})})})
    approved("zips of more than 50 files", tmp_path)


@pytest.mark.slow
def test_files_that_are_looked_into_for_code_exceed_no_limit(tmp_path):
    many = {f"{n}.txt": bytes(1 << 20) for n in range(30)} | {"rope.py": "a"}
    many |= {f"{n}.ipynb": bytes(20 << 20) for n in range(15)}
    one = read_one(write(tmp_path, {"ann.zip": zipped(many)}))
    assert (modules(one), notes(one)) == ("rope a", "")


def test_notes_are_few(tmp_path):
    files = [(f"{i}.zip", "evil") for i in range(500)]
    assert len(read_zip(tmp_path, zipped(files)).notes) == submissions.MAX_NOTES


def test_a_damaged_zip_never_stops_the_others(tmp_path):
    """Every cut and thousands of changed bytes, drawn with a fixed seed."""
    files = {"exercises/rope.py": "a" * 50, "lookup.py": "b", "übung/x.py": ""}
    good = zipped(files | {"x/in.zip": zipped({"learned.py": "c"})})
    draw = random.Random(7)
    damaged = [good[:length] for length in range(0, len(good), 7)]
    cut = {f"s{i:04}" for i in range(len(damaged))}
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
        assert {*one.unread} == {*STEMS} if one.student in cut else one.notes or not one.unread
        for module in one.modules.values():
            assert module in (b"a" * 50, b"b", b"c")
