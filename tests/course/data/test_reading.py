"""The files that people have, read by the one reader: what it accepts, and what it refuses."""

import gzip
import re

import pytest
from click.testing import CliRunner

from course.cli import main
from course.data.corpus import load_corpus
from course.data.glove import open_glove
from course.data.reading import DataError

LINES = "First Citizen:\nBefore we proceed any further, hear me speak.\n" * 40

DAMAGED = {  # what a file is -> its bytes, and what the message must say
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "a web page": (b"\n<!DOCTYPE html>\n<html><body>404: Not Found</body></html>", "is a web page"),
    "a page that declares itself": (b"<?xml version='1.0'?><html></html>", "is a web page"),
    "a pointer of Git LFS": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1115394\n",
        "Git LFS",
    ),
}
ONLY_TEXTS = {
    "UTF-16": (LINES.encode("utf-16"), "line 1: a null byte"),
    "packed by gzip": (gzip.compress(LINES.encode(), mtime=1), "line 1: "),
    "Latin-1": (f"{LINES}Première\n".encode("latin-1"), "line 81: the byte 0xe8 is not UTF-8"),
    "a null": (LINES.replace("hear", "h\0ar", 1).encode(), "line 2: a null byte"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    return tmp_path


FILES = {
    "tinyshakespeare.txt": ("tinyshakespeare", load_corpus),
    "glove.6B.50d.txt": ("glove", open_glove),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("content", "said"), DAMAGED.values(), ids=DAMAGED)
@pytest.mark.filterwarnings("ignore:the last line of")
def test_a_damaged_file_is_refused_with_what_to_do(folder, name, content, said):
    dataset, read = FILES[name]
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=f"^{re.escape(name)}.*course data {dataset}$") as raised:
        read()
    assert said in str(raised.value)
    assert [path.name for path in folder.iterdir()] == [name]  # nothing half written


@pytest.mark.parametrize(("content", "said"), ONLY_TEXTS.values(), ids=ONLY_TEXTS)
def test_the_place_of_what_is_no_text_is_told(folder, content, said):
    (folder / "tinyshakespeare.txt").write_bytes(content)
    with pytest.raises(DataError, match=said):
        load_corpus()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_mark_and_the_line_ends_of_windows_change_nothing(folder, encoding, line_end):
    content = LINES.replace("\n", line_end).encode(encoding)
    (folder / "tinyshakespeare.txt").write_bytes(content)
    assert load_corpus().text == LINES


@pytest.mark.slow
@pytest.mark.parametrize("command", ["positions none", "gpt --long"])
def test_every_experiment_says_in_one_sentence_what_its_text_is(folder, command):
    content, said = DAMAGED["a pointer of Git LFS"]
    (folder / "tinyshakespeare.txt").write_bytes(content)
    ran = CliRunner().invoke(main, ["experiment", *command.split()])
    assert isinstance(ran.exception, SystemExit) and ran.exit_code == 1
    *_, last = ran.output.splitlines()
    assert last.startswith("Error: tinyshakespeare.txt") and said in last
