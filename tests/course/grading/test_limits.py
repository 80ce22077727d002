"""No student's files take long to read, however small the zip, and nobody else waits for them."""

import io
import struct
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from classes import read_submissions

from course import ROOT
from course.core.syllabus import lessons
from course.grading.submissions import SubmissionsError, limits, process
from course.grading.submissions.process import read_class

STEMS = [lesson.stem for lesson in lessons()]


@dataclass(frozen=True)
class Entry:
    """The deflated data of a file, with the size and the checksum of what comes out."""

    data: bytes
    size: int
    crc: int


def packed(content: bytes) -> Entry:
    deflate = zlib.compressobj(9, wbits=-15)
    data = deflate.compress(content) + deflate.flush()
    return Entry(data, len(content), zlib.crc32(content))


def slow(n_bytes: int) -> Entry:
    """An empty file of so many bytes, of which nothing comes out for as long as possible.

    Each block of 23.5 bytes has a code of its own for 257 symbols, and is empty.
    """
    bits = "001" + "00000" + "00000" + "1100"  # more follow; dynamic; 257, 1 and 7 code lengths
    lengths = {16: 1, 0: 3, 8: 2, 9: 3}
    bits += "".join(f"{lengths.get(one, 0):03b}"[::-1] for one in (16, 17, 18, 0, 8, 7, 9))
    again, none, eight, nine = "0", "110", "10", "111"
    bits += eight + 42 * (again + "11") + 2 * eight + 2 * nine + none  # 255 and 2 symbols
    two = 2 * (bits + 9 * "1")  # and the end of the block
    block = bytes(int(two[i : i + 8][::-1], 2) for i in range(0, len(two), 8))
    return Entry(block * (n_bytes // len(block)) + b"\x03\x00", 1, 0)  # zipfile waits for the one


def zip_of(entries: list[tuple[str, Entry]], is_shared: bool = False) -> bytes:
    """A zip; if it is shared, all entries are on the data of the first."""
    file, directory, place = io.BytesIO(), io.BytesIO(), 0
    for name, entry in entries:
        numbers = 20, 0, 8, 0, 0x5A21, entry.crc, len(entry.data), entry.size, len(name)
        if not is_shared or not file.tell():
            place = file.tell()
            file.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, *numbers, 0))
            file.write(name.encode() + entry.data)
        directory.write(struct.pack("<IH", 0x02014B50, 20) + struct.pack("<HHHHHIIIH", *numbers))
        directory.write(struct.pack("<HHHHII", 0, 0, 0, 0, 0, place) + name.encode())
    end = len(entries), len(entries), directory.tell(), file.tell(), 0
    return file.getvalue() + directory.getvalue() + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, *end)


def within(data: bytes) -> bytes:
    """A zip that holds a zip, which makes it small."""
    return zip_of([("work.zip", packed(data))])


def copies(entry: Entry) -> bytes:
    """Ten copies of each lesson."""
    return zip_of([(f"{n}/{stem}.py", entry) for stem in STEMS for n in range(10)])


ZEROS = packed(bytes(1 << 20))
HOSTILE = {
    "entries on the same data": lambda: within(
        zip_of([("lookup.py", slow(8 << 20))] * 19_990, is_shared=True)
    ),
    "large renamed files": lambda: within(
        zip_of([("lookup.py", packed(b"x")), *((f"lookup ({n}).py", ZEROS) for n in range(9_000))])
    ),
    "19,000 files of one name": lambda: zip_of([("lookup (2).py", packed(b"x"))] * 19_000),
    "ten slow copies of each lesson": lambda: within(copies(slow(1 << 19))),
    "a slow file": lambda: within(zip_of([("lookup.py", slow(40 << 20))])),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_zip_is_read_or_refused_in_bounded_time(tmp_path, name, monkeypatch):
    monkeypatch.setattr(limits, "MAX_SECONDS", 0.5)
    data = HOSTILE[name]()
    assert len(data) < 3 << 20
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "lookup.py").write_bytes(b"ann's")
    (tmp_path / "eve.zip").write_bytes(data)
    start = time.process_time()
    ann, eve = read_submissions(tmp_path)
    assert time.process_time() - start < 6
    assert (dict(ann.modules), ann.notes) == ({"lookup": b"ann's"}, ())
    assert eve.modules or eve.unread  # nobody gets a number for what was not read
    assert eve.notes


def write_class(folder: Path, **files: bytes) -> Path:
    for student, data in files.items():
        (folder / student).mkdir(parents=True)
        (folder / student / "work.zip").write_bytes(data)
    return folder


LOOKUP = zip_of([("lookup.py", packed(b"x = 1"))])

KILLED = """
import os, pickle
def send(*arguments):
    with open("times", "a+") as times:
        times.write("x")
        if times.tell() == {}:
            os.kill(os.getpid(), 9)
    return dump(*arguments)
dump, pickle.dump = pickle.dump, send
send_class("""


def test_a_reader_that_is_killed_costs_nobody_anything(tmp_path, monkeypatch):
    """Nor is the class what a sentence blames."""
    class_ = write_class(tmp_path / "class", ann=LOOKUP, bob=LOOKUP)
    monkeypatch.chdir(tmp_path)
    program = process.PROGRAM
    monkeypatch.setattr(process, "PROGRAM", program.replace("send_class(", KILLED.format(1), 1))
    with pytest.raises(SubmissionsError, match="the process that reads it was killed"):
        read_class(class_)
    (tmp_path / "times").unlink()
    monkeypatch.setattr(process, "PROGRAM", program.replace("send_class(", KILLED.format(3), 1))
    ann, bob = read_class(class_)
    assert (ann.modules, {*bob.unread}) == ({"lookup": b"x = 1"}, {*STEMS})


def test_a_class_is_read_in_another_process_as_in_this_one(tmp_path):
    class_ = write_class(tmp_path / "class", ann=LOOKUP, bob=b"no zip", cid=zip_of([]))
    steps = []
    found = read_class(class_, lambda done, total: steps.append((done, total)))
    assert found == read_submissions(class_)
    assert steps == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(SubmissionsError, match="does not exist"):
        read_class(tmp_path / "nowhere")


def test_what_reads_a_class_loads_no_pytorch():
    """It would take seconds, and memory that is bounded; nothing that is read is run."""
    asks = "import course.grading.submissions.process, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asks], cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    "act",
    [
        pytest.param("time.sleep(999)", marks=pytest.mark.slow),
        "os.kill(os.getpid(), 9)",
        "while True: pass",
        "bytearray(3 << 30)",
    ],
    ids=["waits", "is killed", "works", "fills the memory"],
)
def test_a_process_that_reads_without_end_keeps_nobody_waiting(tmp_path, monkeypatch, act):
    """Whatever it is that its limits do not count."""
    # whoever sleeps is waited for so long; the others must have begun by then on a busy machine
    monkeypatch.setattr(process, "MAX_WAIT", 20 if "sleep" in act else 600)
    endless = f"""
import os, time
from course.grading.submissions import limits
from course.grading.submissions.reading import Reading
files = Reading.files
limits.MAX_SECONDS = 0.5
def endless(self, source, names):
    if "bob" in names:
        {act}
    return files(self, source, names)
Reading.files = endless
send_class("""
    monkeypatch.setattr(process, "PROGRAM", process.PROGRAM.replace("send_class(", endless, 1))
    class_ = write_class(tmp_path, ann=LOOKUP, bob=LOOKUP, cid=LOOKUP)
    ann, bob, cid = read_class(class_)
    assert ann.modules == cid.modules == {"lookup": b"x = 1"}
    assert (dict(bob.modules), {*bob.unread}) == ({}, {*STEMS})
