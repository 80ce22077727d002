"""The files that people have, read by the one reader: what it accepts, and what it refuses."""

import gzip

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


def cases(*tables):
    return [pytest.param(*case, id=name) for table in tables for name, case in table.items()]


@pytest.mark.parametrize(("content", "said"), cases(DAMAGED, ONLY_TEXTS))
def test_a_damaged_corpus_is_refused_with_what_to_do(folder, content, said):
    (folder / "tinyshakespeare.txt").write_bytes(content)
    with pytest.raises(DataError) as raised:
        load_corpus()
    message = str(raised.value)
    assert message.startswith("tinyshakespeare.txt") and said in message
    assert message.endswith("course data tinyshakespeare")


@pytest.mark.parametrize(("content", "said"), cases(DAMAGED))
@pytest.mark.filterwarnings("ignore:the last line of")
def test_damaged_vectors_are_refused_with_what_to_do(folder, content, said):
    (folder / "glove.6B.50d.txt").write_bytes(content)
    with pytest.raises(DataError) as raised:
        open_glove(50)
    message = str(raised.value)
    assert message.startswith("glove.6B.50d.txt") and said in message
    assert message.endswith("course data glove")
    assert [path.name for path in folder.iterdir()] == ["glove.6B.50d.txt"]  # nothing half written


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_mark_and_the_line_ends_of_windows_change_nothing(folder, encoding, line_end):
    content = LINES.replace("\n", line_end).encode(encoding)
    (folder / "tinyshakespeare.txt").write_bytes(content)
    assert load_corpus().text == LINES


@pytest.mark.parametrize("command", ["positions none", "gpt --long"])
def test_every_experiment_says_in_one_sentence_what_its_text_is(folder, command):
    content, said = DAMAGED["a pointer of Git LFS"]
    (folder / "tinyshakespeare.txt").write_bytes(content)
    ran = CliRunner().invoke(main, ["experiment", *command.split()])
    assert isinstance(ran.exception, SystemExit) and ran.exit_code == 1
    *_, last = ran.output.splitlines()
    assert last.startswith("Error: tinyshakespeare.txt") and said in last
