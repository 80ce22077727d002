"""The GloVe store: parsed once, exactly, and mapped ever after."""

import contextlib
import lzma
import os
import shutil
import warnings
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from course.data import glove
from course.data.glove import open_glove
from course.data.reading import DataError
from solutions.skipgram import nearest_by_cosine

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


def test_words_may_be_any_bytes_without_white_space(write, tmp_path):
    odd = ['"', "'", ",", "#", "nan", "null", "0.5", "-", "münchen", "東京", "a\x85b", "\u2028"]
    write("".join(f"{word} 0.5 1.5\n" for word in odd))
    assert open_glove(2, tmp_path).words == odd
    assert open_glove(2, tmp_path).index["nan"] == 4


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


def test_a_missing_text_names_the_command_that_fetches_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="course data glove"):
        open_glove(300, tmp_path)


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


AS_PEOPLE_HAVE_THEM = {
    "a byte order mark": b"\xef\xbb\xbfthe 0.5 -1.25\nking 2.0 0.125\n",
    "Windows' line ends": b"the 0.5 -1.25\r\nking 2.0 0.125\r\n",
    "a space at the end": b"the 0.5 -1.25 \nking 2.0 0.125 \n",
    "two spaces in a row": b"the  0.5 -1.25\nking 2.0  0.125\n",
    "tabs": b"the\t0.5\t-1.25\nking\t2.0\t0.125\t\n",
    "word2vec's first line": b"2 2\nthe 0.5 -1.25\nking 2.0 0.125\n",
    "all at once": b"\xef\xbb\xbf2 2 \r\nthe\t0.5\t-1.25 \r\nking\t2.0\t0.125 \r\n",
}


@pytest.mark.parametrize("content", AS_PEOPLE_HAVE_THEM.values(), ids=AS_PEOPLE_HAVE_THEM)
@pytest.mark.parametrize("piece_bytes", [1, 16, 1 << 20])
def test_what_does_no_harm_is_read(write, tmp_path, monkeypatch, content, piece_bytes):
    monkeypatch.setattr(glove, "_PIECE_BYTES", piece_bytes)
    write(content)
    vectors = open_glove(2, tmp_path)
    assert vectors.words == ["the", "king"]
    assert vectors.vectors.tolist() == [[0.5, -1.25], [2.0, 0.125]]


def test_a_word_may_hold_spaces_as_in_lesson_6(write, tmp_path):
    write("the 0.5 1.5\n. . . 0.25 2.5\nat name@domain.com -1.0 1.0\n1 3 4\n")
    assert open_glove(2, tmp_path).words == ["the", ". . .", "at name@domain.com", "1"]
    assert open_glove(2, tmp_path)["at name@domain.com"].tolist() == [-1.0, 1.0]


def test_of_a_word_that_is_there_twice_the_first_counts(write, tmp_path):
    write("the 0.5 1.5\nking 0.25 2.5\nthe 9.0 9.0\n")
    vectors = open_glove(2, tmp_path)
    assert vectors["the"].tolist() == [0.5, 1.5] and len(vectors) == 3


def test_numbers_are_what_float_reads_bit_for_bit(write, tmp_path):
    random = np.random.default_rng(0)
    fields = [f"{x:.{d}g}" for d in range(1, 18) for x in random.normal(0, 1, 300)]
    fields += ["0", "-0.0", "00.5", "+0.5", ".5", "5.", "-.5", "1e-05", "1E5", "1e-50", "3.4e38"]
    write("".join(f"w{i} {field} 0.5\n" for i, field in enumerate(fields)))
    want = np.array([float(field) for field in fields], dtype=np.float32)
    got = open_glove(2, tmp_path).vectors[:, 0]
    assert np.array_equal(got.view(np.int32), want.view(np.int32))


# Real data


def unpack(packed, folder):
    with lzma.open(packed) as source, open(folder / "glove.6B.50d.txt", "wb") as target:
        shutil.copyfileobj(source, target)
    return folder


@pytest.fixture(scope="module")
def frequent_words(real_data, tmp_path_factory):
    """The first 20,000 rows of the real 50-dimensional vectors."""
    folder = unpack(real_data / "glove.6B.50d.top20k.txt.xz", tmp_path_factory.mktemp("glove"))
    return open_glove(50, folder)


def test_real_rows_run_from_frequent_to_rare(frequent_words):
    assert len(frequent_words) == 20_000
    assert frequent_words.words[8] == '"'
    places = {"the": 0, "king": 691, "queen": 2060, "na": 6182, "nan": 14_798}
    assert {word: frequent_words.index[word] for word in places} == places


def test_real_king_minus_man_plus_woman_is_queen(frequent_words):
    a, b, c = (normalize(torch.tensor(frequent_words[w]), dim=0) for w in ("man", "king", "woman"))
    rows, cosines = nearest_by_cosine(b - a + c, frequent_words.tensor(), top_k=4)
    found = [frequent_words.words[row] for row in rows.tolist()]
    assert found == ["king", "queen", "throne", "prince"]
    assert [round(one, 4) for one in cosines.tolist()] == [0.8854, 0.8524, 0.7664, 0.7592]
