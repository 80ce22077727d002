"""What measures numbers of figures: each script writes files in the form of the committed ones."""

import json
import lzma
import runpy
import shutil
import struct
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from toy_model import write_toy

from course import ROOT
from course.data import published
from course.data.glove import open_glove
from course.data.kingdom import kingdom_text

LESSONS = ROOT / "course" / "lessons"
SCRIPTS = sorted(LESSONS.glob("*/measure.py"))


def write_safetensors(path, tensors):
    """Write weights as safetensors: 8 bytes with the header's length, the header, the numbers."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        numbers = tensor.numpy().tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": [*tensor.shape],
            "data_offsets": [len(data), len(data) + len(numbers)],
        }
        data += numbers
    encoded = json.dumps(header).encode("utf-8")
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def minilm(folder):
    """`minilm(tensors)`: a data folder whose MiniLM has these weights."""
    return lambda tensors: write_safetensors(folder / "all-MiniLM-L6-v2.safetensors", tensors)


def committed(stem, name):
    path = LESSONS / stem / "figures" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_weight_is_read_by_its_name_from_between_others(minilm):
    wanted = torch.tensor([[1.5, -2.0, 0.25], [3.0, 1e-30, 7.0]])
    minilm({"first": torch.full((4,), 9.0), "asked": wanted, "last": torch.zeros(3, 2)})
    script = runpy.run_path(str(LESSONS / "learned" / "measure.py"))
    found = script["minilm_weight"]("asked")
    assert found.dtype == torch.float32 and torch.equal(found, wanted)


@pytest.fixture
def small_data(minilm, folder):
    """A data folder in which everything is small, and drawn at random or of the kingdom."""
    torch.manual_seed(0)
    names = [f"embeddings.{of}_embeddings.weight" for of in ("word", "position")]
    minilm({name: torch.randn(80, 16) for name in names})
    write_toy(folder / published.FILE)
    (folder / "tinyshakespeare.txt").write_text(kingdom_text(8000), encoding="utf-8")
    asked = runpy.run_path(str(LESSONS / "skipgram" / "measure.py"))["QUESTIONS"]
    words = {word.lower() for one in asked for word in one}
    vectors = zip(words, torch.randn(len(words), 50).tolist(), strict=True)
    lines = [" ".join([word, *map(str, row)]) for word, row in vectors]
    (folder / "glove.6B.50d.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sections = committed("skipgram", "analogies")["400,000 words"]
    questions = "".join(f": {name}\nman King woman queen\n" for name in sections)
    (folder / "questions-words.txt").write_text(questions, encoding="utf-8")


def form(found):
    """Return the form of a value from JSON: its keys, and the kinds that its lists have."""
    if isinstance(found, dict):
        return {key: form(one) for key, one in found.items()}
    if isinstance(found, list):
        forms = [form(one) for one in found]
        return [one for i, one in enumerate(forms) if one not in forms[:i]]
    return type(found)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=[one.parent.name for one in SCRIPTS])
def test_a_script_writes_its_files_in_the_form_of_the_committed_ones(script, small_data, tmp_path):
    to = tmp_path / "measured"
    to.mkdir()
    command = [sys.executable, str(script), "--quick", "--to", str(to)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert ran.returncode == 0, ran.stderr
    stem, how = script.parent.name, f"python {script.relative_to(ROOT).as_posix()}"
    files = (script.parent / "figures").glob("*.json")
    ours = {one.stem for one in files if committed(stem, one.stem)["how"] == how}
    assert {one.stem for one in to.iterdir()} == ours and ours
    for name in ours:
        found = json.loads((to / f"{name}.json").read_text(encoding="utf-8"))
        assert found["how"] == how
        assert form(found) == form(committed(stem, name)), name


def test_without_its_data_a_script_says_what_fetches_it(folder, monkeypatch):
    script = str(LESSONS / "learned" / "measure.py")
    monkeypatch.setattr(sys, "argv", [script, "--quick"])
    with pytest.raises(SystemExit, match=r"^real_positions.json: .* is missing: "):
        runpy.run_path(script, run_name="__main__")


def test_the_tables_of_the_texts_have_the_measured_numbers():
    text = " ".join((LESSONS / "rope" / "README.md").read_text(encoding="utf-8").split())
    loss = committed("rope", "checkpoint")["Shakespeare"]
    assert loss["as published"] == loss["converted"]
    assert f"on TinyShakespeare stays at {loss['converted']:.2f}." in text
    assert f"Not converted it's {loss['not converted']:.2f}, " in text
    assert f"`offset` forgotten {loss['offset forgotten']:.2f}, " in text
    text = (LESSONS / "skipgram" / "README.md").read_text(encoding="utf-8")
    sections = committed("skipgram", "analogies")["400,000 words"]
    n_asked, *right = map(sum, zip(*sections.values(), strict=True))
    for of_all, of_family in zip(right[:3], sections["family"][1:4], strict=True):
        assert f"| {of_all:,} | {of_all / n_asked:.2%} | {of_family} |" in text


@pytest.mark.slow
def test_google_s_questions_and_the_real_vectors_give_the_figures_of_the_text(real_data, folder):
    packed = real_data / "glove.6B.50d.txt.xz"
    with lzma.open(packed) as source, open(folder / "glove.6B.50d.txt", "wb") as target:
        shutil.copyfileobj(source, target)
    shutil.copyfile(real_data / "questions-words.txt", folder / "questions-words.txt")
    script = runpy.run_path(str(LESSONS / "skipgram" / "measure.py"))
    questions, n_right = script["google_s_questions"](), script["n_right_by_rule"]
    vectors, wanted = open_glove(50), committed("skipgram", "analogies")
    assert len(vectors) == len(vectors.index) == 400_000
    units, of_all = F.normalize(vectors.tensor(), dim=-1), wanted["400,000 words"]
    assert questions.keys() == of_all.keys()
    for section in ("family", "currency"):  # all take a minute
        assert n_right(units, vectors.index, questions[section]) == of_all[section]
    everything = [asked for section in questions.values() for asked in section]
    assert n_right(units[:20_000], vectors.index, everything) == wanted["20,000 words"]
    assert (vectors.index["null"], "<unk>" in vectors) == (24_207, False)
