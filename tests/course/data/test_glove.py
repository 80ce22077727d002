"""The GloVe store: parsed once, exactly, and mapped ever after."""

import contextlib
import os
import warnings
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from course.data import glove
from course.data.glove import open_glove
from course.data.reading import DataError

TEXT = "the 0.5 -1.25\nking 2.0 0.125\nqueen -0.0625 3.5\n"


@pytest.fixture
def write(tmp_path):
    """write(content): a GloVe text of width 2 in `tmp_path`, the folder to open."""

    def write(content):
        path = tmp_path / "glove.6B.2d.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.fixture
def parses(monkeypatch):
    """What parses a piece of text, and counts its calls."""
    watched = Mock(side_effect=np.fromstring)
    monkeypatch.setattr(np, "fromstring", watched)
    return watched


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


# What a store offers


def test_words_and_vectors_keep_the_order_of_the_lines(write, tmp_path, monkeypatch):
    write(TEXT)
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))  # where texts are if no folder is named
    vectors = open_glove(2)
    assert vectors.words == ["the", "king", "queen"]
    assert vectors.index == {"the": 0, "king": 1, "queen": 2}
    assert vectors.vectors.tolist() == [[0.5, -1.25], [2.0, 0.125], [-0.0625, 3.5]]
    assert vectors.vectors.dtype == np.float32
    assert vectors["king"].tolist() == [2.0, 0.125]
    assert ("king" in vectors, "knight" in vectors, len(vectors)) == (True, False, 3)
    with pytest.raises(KeyError, match="knight"):
        vectors["knight"]
    with pytest.raises(ValueError, match="read-only"):
        vectors.vectors[0, 0] = 1
    with pytest.raises(FileNotFoundError, match="course data glove"):
        open_glove(300)


def test_the_tensor_shares_the_memory_and_never_reaches_the_file(write, tmp_path):
    write(TEXT)
    vectors = open_glove(2, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor = vectors.tensor()
    assert tensor.dtype == torch.float32
    assert tensor.tolist() == vectors.vectors.tolist()
    assert tensor.data_ptr() == vectors.vectors.ctypes.data
    tensor.fill_(0)
    assert open_glove(2, tmp_path)["king"].tolist() == [2.0, 0.125]


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n<unk> 0.25 -0.5\n"])
def test_the_last_line_may_end_in_any_way_and_one_more_may_follow(write, tmp_path, ending):
    write("the 0.5 1.5\nking 0.25 2.5" + ending)
    cut_off = pytest.warns(UserWarning, match="2d.txt .* course data glove")
    with contextlib.nullcontext() if ending else cut_off:
        vectors = open_glove(2, tmp_path)
    assert vectors["king"].tolist() == [0.25, 2.5]
    assert ("<unk>" in vectors) == ("<unk>" in ending)


# The second time


def test_the_second_opening_reads_one_ordinary_numpy_file_beside_the_text(write, tmp_path, parses):
    write(TEXT)
    first, second = open_glove(2, tmp_path), open_glove(2, tmp_path)
    assert parses.call_count == 1
    assert first.words == second.words
    assert np.array_equal(first.vectors, second.vectors)
    assert files_in(tmp_path) == ["glove.6B.2d.npy", "glove.6B.2d.txt"]
    assert np.load(tmp_path / "glove.6B.2d.npy").shape == (3, 2)


def test_a_changed_text_is_parsed_again(write, tmp_path, parses):
    write(TEXT)
    open_glove(2, tmp_path)
    write("the 0.5 -1.25\nlord 9.0 0.125\nqueen -0.0625 3.5\n")
    os.utime(tmp_path / "glove.6B.2d.txt", ns=(0, 1))  # the clock may tick too slowly for a test
    assert open_glove(2, tmp_path)["lord"].tolist() == [9.0, 0.125]
    assert parses.call_count == 2


DAMAGES = {
    "empty": lambda content: b"",
    "garbage": lambda content: bytes(len(content)),
    "an array cut short": lambda content: content[:140],
    "an array alone": lambda content: content[: 128 + 3 * 2 * 4],
    "words cut short": lambda content: content[:-4],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_made_again(write, tmp_path, damage):
    write(TEXT)
    open_glove(2, tmp_path)
    stored = tmp_path / "glove.6B.2d.npy"
    stored.write_bytes(DAMAGES[damage](stored.read_bytes()))
    assert open_glove(2, tmp_path).words == ["the", "king", "queen"]
    assert open_glove(2, tmp_path)["queen"].tolist() == [-0.0625, 3.5]


def test_where_nothing_can_be_written_one_warning_says_so(write, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("read-only")

    write(TEXT)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(UserWarning, match=r"2d.txt .*read-only") as warned:
        vectors = open_glove(2, tmp_path)
    assert len(warned) == 1
    assert vectors["queen"].tolist() == vectors.tensor()[2].tolist() == [-0.0625, 3.5]
    assert files_in(tmp_path) == ["glove.6B.2d.txt"]
    with pytest.raises(ValueError, match="read-only"):
        vectors.vectors[0, 0] = 1


# What is refused


DAMAGED_LINES = ["", "lord 0.5", "lord 0.5 0.5 0.5", " 0.5 0.5", "lo\udcffrd 0.5 0.5"]
DAMAGED_LINES += ["lord 0.5\nboy 0.5 0.5 0.5", "lord  0.5\nboy 0.5-0.5 0.5"]  # the total is right
NUMBERS = ["0,5", "x.5", "0.x", "0.5.5", "0.5-0.5", "0.5\x000", "nan", "inf", "1e39", "-."]


@pytest.mark.parametrize("line", [*DAMAGED_LINES, *(f"lord {number} 0.5" for number in NUMBERS)])
@pytest.mark.parametrize("piece_bytes", [16, 1 << 20])
def test_a_damaged_line_is_named(write, tmp_path, monkeypatch, golden, line, piece_bytes):
    monkeypatch.setattr(glove, "_PIECE_BYTES", piece_bytes)
    path = write((TEXT + line + "\nboy 0.5 0.5\n").encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=r"^glove.6B.2d.txt, line 4: ") as raised:
        open_glove(2, tmp_path)
    golden("damaged vectors", {repr(line): str(raised.value)})
    assert files_in(tmp_path) == [path.name]


TWO = {"the": [0.5, -1.25], "king": [2.0, 0.125]}
ODD = ['"', "'", ",", "#", "nan", "null", "0.5", "-", "münchen", "東京", "a\x85b", "\u2028"]
AS_PEOPLE_HAVE_THEM = {  # a text, and what it holds
    "a byte order mark": ("\ufeffthe 0.5 -1.25\nking 2.0 0.125\n", TWO),
    "Windows' line ends": ("the 0.5 -1.25\r\nking 2.0 0.125\r\n", TWO),
    "a space at the end": ("the 0.5 -1.25 \nking 2.0 0.125 \n", TWO),
    "two spaces in a row": ("the  0.5 -1.25\nking 2.0  0.125\n", TWO),
    "tabs": ("the\t0.5\t-1.25\nking\t2.0\t0.125\t\n", TWO),
    "word2vec's first line": ("2 2\nthe 0.5 -1.25\nking 2.0 0.125\n", TWO),
    "all at once": ("\ufeff2 2 \r\nthe\t0.5\t-1.25 \r\nking\t2.0\t0.125 \r\n", TWO),
    "odd words": ("".join(f"{word} 0.5 1.5\n" for word in ODD), {word: [0.5, 1.5] for word in ODD}),
    "words with spaces": (
        ". . . 0.5 2.5\nat a@b.com -1 1\n",
        {". . .": [0.5, 2.5], "at a@b.com": [-1, 1]},
    ),
    "a word twice, of which the first counts": ("the 0.5 -1.25\nking 2 0.125\nthe 9 9\n", TWO),
}


@pytest.mark.parametrize(("text", "holds"), AS_PEOPLE_HAVE_THEM.values(), ids=AS_PEOPLE_HAVE_THEM)
@pytest.mark.parametrize("piece_bytes", [1, 16, 1 << 20])
def test_what_does_no_harm_is_read(write, tmp_path, monkeypatch, text, holds, piece_bytes):
    monkeypatch.setattr(glove, "_PIECE_BYTES", piece_bytes)
    write(text)
    vectors = open_glove(2, tmp_path)
    assert [*dict.fromkeys(vectors.words)] == [*holds] and vectors.index.keys() == holds.keys()
    assert {word: vectors[word].tolist() for word in holds} == holds


def test_numbers_are_what_float_reads_bit_for_bit(write, tmp_path):
    random = np.random.default_rng(0)
    fields = [f"{x:.{d}g}" for d in range(1, 18) for x in random.normal(0, 1, 300)]
    fields += ["0", "-0.0", "00.5", "+0.5", ".5", "5.", "-.5", "1e-05", "1E5", "1e-50", "3.4e38"]
    write("".join(f"w{i} {field} 0.5\n" for i, field in enumerate(fields)))
    want = np.array([float(field) for field in fields], dtype=np.float32)
    got = open_glove(2, tmp_path).vectors[:, 0]
    assert np.array_equal(got.view(np.int32), want.view(np.int32))
