"""Tables of published models: how a file of weights is read, and what is said about a table."""

import json
import math
import struct
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from course.data.glove import WordVectors
from course.data.reading import DataError
from course.experiments import real_tables


def write_safetensors(path, tensors):
    """Write weights as safetensors: 8 bytes with the header's length, the header, the numbers."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        numbers = tensor.numpy().tobytes()
        header[name] = {
            "dtype": {torch.float32: "F32", torch.float64: "F64"}[tensor.dtype],
            "shape": [*tensor.shape],
            "data_offsets": [len(data), len(data) + len(numbers)],
        }
        data += numbers
    encoded = json.dumps(header).encode("utf-8")
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
    return path


@pytest.fixture
def minilm(tmp_path, monkeypatch):
    """`minilm(tensors)`: a data folder whose MiniLM has these weights."""
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    return lambda tensors: write_safetensors(tmp_path / real_tables.MINILM, tensors)


# --- the file of weights ------------------------------------------------------------------------


def test_a_weight_is_read_by_its_name_from_between_others(minilm):
    wanted = torch.tensor([[1.5, -2.0, 0.25], [3.0, 1e-30, 7.0]])
    minilm({"first": torch.full((4,), 9.0), "asked": wanted, "last": torch.zeros(3, 2)})
    found = real_tables.safetensor("asked")
    assert found.dtype == torch.float32 and torch.equal(found, wanted)
    found += 1  # it is a copy that may be changed
    assert torch.equal(real_tables.safetensor("asked"), wanted)


@pytest.mark.parametrize("name", ["absent", "in doubles"])
def test_a_weight_that_is_missing_or_has_other_numbers_is_named(minilm, name):
    minilm({"in doubles": torch.zeros(2, dtype=torch.float64)})
    with pytest.raises(DataError, match=name):
        real_tables.safetensor(name)


@pytest.mark.parametrize("n_kept", [0, 5, 40, -4], ids=["empty", "no length", "header", "numbers"])
def test_a_file_that_is_cut_short_is_named_with_what_to_do(minilm, n_kept):
    path = minilm({"asked": torch.zeros(8, 4)})
    path.write_bytes(path.read_bytes()[:n_kept])
    with pytest.raises(DataError, match=rf"{path.name}.*course data minilm"):
        real_tables.safetensor("asked")


def test_a_file_that_was_not_fetched_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="course data minilm"):
        real_tables.safetensor("asked")


# --- what is said about a table -----------------------------------------------------------------


class Words:
    """A tokenizer of whole words, which decodes a leading Ġ as a space."""

    def __init__(self, words):
        self.words = words

    def encode(self, text):
        return SimpleNamespace(ids=[self.token_to_id(text.replace(" ", "Ġ"))])

    def token_to_id(self, word):
        return self.words.index(word)

    def decode(self, ids):
        return "".join(self.words[i] for i in ids).replace("Ġ", " ")


def smollm2(monkeypatch, rows):
    """Let the published model have these rows, by token."""
    table = torch.tensor([*rows.values()], dtype=torch.float32)
    published = SimpleNamespace(tensors={"token_embd.weight": table}, tokenizer=Words([*rows]))
    monkeypatch.setattr(real_tables, "open_smollm2", lambda: published)


def at(degrees, length=1.0):
    return length * math.cos(math.radians(degrees)), length * math.sin(math.radians(degrees))


def test_neighbors_are_nearest_by_angle_whatever_their_length(monkeypatch):
    """Tokens are hands of a clock, and the longest ones point away from what is asked."""
    angles = {"k": 0, "K": 10, "Ġk": 25, "p": 45, "7": 120, "6": 125, "8": 140, "Ġking": 220}
    lengths = {"p": 50.0, "8": 30.0}
    rows = {word: at(angle, lengths.get(word, 1.0)) for word, angle in angles.items()}
    smollm2(monkeypatch, rows)
    found = real_tables.lookup()
    near = found["neighbors"]
    assert [word for word, _ in near["k"][:4]] == ["K", " k", "p", "7"]
    for word, cosine in near["7"]:
        apart = angles[word.replace(" ", "Ġ")] - 120
        assert cosine == pytest.approx(math.cos(math.radians(apart)), abs=0.0051)
    assert {word: len(of_word) for word, of_word in near.items()} == {"k": 6, "7": 6, " king": 6}
    wanted = {"K": round(math.cos(math.radians(10)), 2), "7": -0.5}
    assert found["cosine_of_k_with"] == wanted


def test_what_a_table_weighs_in_both_forms(monkeypatch):
    rows = {word: [float(i), 1.0] + [0.0] * 62 for i, word in enumerate(["k", "K", "7", "Ġking"])}
    smollm2(monkeypatch, rows)
    found = real_tables.lookup()
    assert found["rows"] == [4, 64]
    assert found["float32"] == 4 * 64 * 4
    assert found["q8_0"] == 8 * (32 + 2)  # 8 blocks of 32 bytes and a factor in float16


def test_two_rows_drawn_at_random_are_as_near_as_all_are_on_average(monkeypatch):
    """Half of the rows point one way and half at a right angle to it: 0.5 on average."""
    names = ["k", "K", "7", "Ġking", *"abcd"]
    smollm2(monkeypatch, {name: at(90 * (i % 2), i + 1) for i, name in enumerate(names)})
    assert real_tables.lookup()["cosine_of_two_random_rows"] == pytest.approx(0.5, abs=0.011)


def test_cosines_by_distance_and_shares_of_variance(minilm):
    """Positions are five circles and a constant; tokens vary as much along each of 20 axes."""
    n, constant = 130, 3.0
    turns = 2 * math.pi * torch.arange(n)[:, None] * torch.arange(1, 6) / n  # (T, 5)
    positions = torch.zeros(n, 20)
    positions[:, :5], positions[:, 5:10], positions[:, 15] = turns.cos(), turns.sin(), constant
    tokens = torch.cat((torch.eye(20), -torch.eye(20))) + 100
    minilm(
        {
            "embeddings.word_embeddings.weight": tokens,
            "embeddings.position_embeddings.weight": positions,
        }
    )
    found = real_tables.learned()
    assert found["shape"] == [n, 20]
    distances = torch.arange(1, 65)
    alike = (2 * math.pi * distances[:, None] * torch.arange(1, 6) / n).cos().sum(1)
    wanted = (alike + constant**2) / (5 + constant**2)
    assert found["cosine_by_distance"] == pytest.approx(wanted.tolist(), abs=0.00051)
    shares = {"of positions": 1.0, "of tokens": 0.5, "by chance": 0.5}
    assert found["ten_directions"] == pytest.approx(shares, abs=1e-3)


def test_both_tables_are_asked_and_glove_in_lower_case(monkeypatch):
    """Countries and their capitals; in GloVe, Milan lies nearer than Rome."""
    capitals = {"France": (1, 0, 0, 0), "Paris": (1, 1, 0, 0), "Italy": (0, 0, 1, 0)}
    rome, milan, other = (0, 1, 1, 0), (0, 1, 1, 0.5), (0, 0, 0, 1)
    smollm2(
        monkeypatch,
        {f"Ġ{word}": row for word, row in capitals.items()}
        | {"ĠRome": rome, "ĠMilan": milan, "Rome": other},
    )
    rows = {**capitals, "Rome": milan, "Milan": rome, "other": other}
    glove = WordVectors(
        "".join(f"{word.lower()}\n" for word in rows).encode("utf-8"),
        np.array([*rows.values()], dtype=np.float32),
    )
    monkeypatch.setattr(real_tables, "open_glove", lambda: glove)
    monkeypatch.setattr(real_tables, "QUESTIONS", (("France", "Paris", "Italy", "Rome"),))
    found = real_tables.skipgram()
    (answer,) = found["answers"]
    assert found["glove"] == 6
    assert answer["asked"] == ["France", "Paris", "Italy"] and answer["right"] == "Rome"
    assert answer["SmolLM2"][:2] == [[" Rome", 0.96], [" Milan", 0.9]]
    assert answer["GloVe"][:2] == [["milan", 0.96], ["rome", 0.9]]


# --- the command --------------------------------------------------------------------------------


def run(monkeypatch, *arguments):
    monkeypatch.setattr(real_tables.sys, "argv", ["real_tables", *arguments])
    real_tables.main()


def test_what_is_printed_begins_with_the_command_that_prints_it(monkeypatch, capsys):
    monkeypatch.setitem(real_tables.TABLES, "learned", lambda: {"shape": [2, 3]})
    run(monkeypatch, "learned")
    found = json.loads(capsys.readouterr().out)
    assert [*found] == ["how", "shape"] and found["how"].endswith("real_tables learned")


@pytest.mark.parametrize("arguments", [(), ("rope",), ("learned", "lookup")])
def test_another_lesson_is_refused_with_the_names_of_all(monkeypatch, arguments):
    with pytest.raises(SystemExit) as raised:
        run(monkeypatch, *arguments)
    assert all(name in str(raised.value) for name in real_tables.TABLES)


def test_without_the_model_one_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="course data smollm2"):
        run(monkeypatch, "lookup")
