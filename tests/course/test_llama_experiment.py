"""A published model: its file is read, and it runs on the functions of a student."""

import pytest
import torch
from click.testing import CliRunner
from gguf import GGUFWriter

from course.cli import main
from course.data.published import FILE, open_smollm2
from course.data.reading import DataError
from course.experiments import llama
from solutions.llama import Llama, weights_from_gguf

SIZES = {"vocab_size": 260, "n_embd": 48, "n_heads": 6, "n_kv_heads": 2, "n_layers": 2}
SIZES |= {"n_hidden": 40, "max_seq_len": 1700, "base": 100000.0, "eps": 1e-5}
PARTS = {
    "attn_norm": (48,),
    "attn_q": (48, 48),
    "attn_k": (16, 48),
    "attn_v": (16, 48),
    "attn_output": (48, 48),
    "ffn_norm": (48,),
    "ffn_gate": (40, 48),
    "ffn_up": (40, 48),
    "ffn_down": (48, 40),
}


def words():
    """256 bytes, as a byte-level vocabulary writes them, two merges and two control tokens."""
    from tokenizers.pre_tokenizers import ByteLevel

    return ["<|im_start|>", *sorted(ByteLevel.alphabet()), "th", "the", "<|im_end|>"]


@pytest.fixture(scope="module")
def toy_file(tmp_path_factory):
    """A GGUF file with a small model of drawn weights, in the form of the published one."""
    path = tmp_path_factory.mktemp("gguf") / FILE
    writer, draw = GGUFWriter(path, "llama"), torch.Generator().manual_seed(0)
    writer.add_vocab_size(SIZES["vocab_size"])
    writer.add_embedding_length(SIZES["n_embd"])
    writer.add_head_count(SIZES["n_heads"])
    writer.add_head_count_kv(SIZES["n_kv_heads"])
    writer.add_block_count(SIZES["n_layers"])
    writer.add_feed_forward_length(SIZES["n_hidden"])
    writer.add_context_length(SIZES["max_seq_len"])
    writer.add_rope_freq_base(SIZES["base"])
    writer.add_layer_norm_rms_eps(SIZES["eps"])
    writer.add_token_list(words())
    writer.add_token_types([3 if word.startswith("<|") else 1 for word in words()])
    writer.add_token_merges(["t h", "th e"])
    writer.add_eos_token_id(words().index("<|im_end|>"))
    shapes = {f"blk.{i}.{part}": shape for i in range(2) for part, shape in PARTS.items()}
    shapes |= {"token_embd": (260, 48), "output_norm": (48,)}
    for name, shape in shapes.items():
        numbers = torch.randn(*shape, generator=draw) * (1 if len(shape) == 1 else 0.3)
        writer.add_tensor(f"{name}.weight", numbers.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def data(toy_file, tmp_path, monkeypatch):
    """A data folder with the toy model."""
    (tmp_path / FILE).write_bytes(toy_file.read_bytes())
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    return tmp_path


def test_settings_weights_and_words_are_read(toy_file):
    published = open_smollm2(toy_file)
    assert published.sizes == pytest.approx(SIZES)
    assert published.tensors["blk.1.attn_k.weight"].shape == (16, 48)
    assert all(weight.dtype == torch.float32 for weight in published.tensors.values())
    assert published.end == 259
    encoded = published.tokenizer.encode("the <|im_end|>ü42").ids
    assert encoded[0] == words().index("the") and 259 in encoded
    assert published.tokenizer.decode(encoded) == "the ü42"  # control tokens are no text
    digits = [words().index(digit) for digit in "42"]
    assert encoded[-2:] == digits


def test_all_weights_have_a_place_in_a_llama(toy_file):
    published = open_smollm2(toy_file)
    weights = weights_from_gguf(published.tensors, SIZES["n_heads"], SIZES["n_kv_heads"])
    assert set(weights) == {name for name, _ in Llama(**SIZES).named_parameters()}


def test_a_missing_model_names_the_command_that_fetches_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="course data smollm2"):
        open_smollm2(tmp_path / FILE)


@pytest.mark.parametrize("damage", ["empty", "cut short", "another format", "cut in the settings"])
def test_a_damaged_model_is_refused_with_what_to_do(toy_file, tmp_path, damage):
    whole = toy_file.read_bytes()
    path = tmp_path / FILE
    path.write_bytes(
        {
            "empty": b"",
            "cut short": whole[: len(whole) // 2],
            "another format": b"PK\x03\x04" + whole,
            "cut in the settings": whole[:300],
        }[damage]
    )
    with pytest.raises(DataError) as raised:
        open_smollm2(path)
    assert str(raised.value).startswith(FILE)
    assert str(raised.value).endswith("course data smollm2")


def test_only_distances_count_and_every_other_break_is_noticed(data):
    published = open_smollm2()
    _, ids = llama.sample_ids(published)
    losses = {}
    for broken in llama.BREAKS:
        model, exercises = llama.load(published, broken)
        losses[broken.title] = llama.loss(model, exercises, ids)
    right, moved, *others = losses.values()
    assert moved == pytest.approx(right, abs=1e-3)
    assert all(abs(other - right) > 1e-3 for other in others), losses


def test_the_command_says_what_it_loads_and_what_is_borrowed(data):
    ran = CliRunner().invoke(main, ["experiment", "llama", "--prompt", "the"])
    assert ran.exit_code == 0, ran.output
    assert "parameters in 2 blocks" in ran.output and "tokens per second" in ran.output
    assert "RMSNorm" in ran.output  # borrowed: nobody has written it


def test_the_table_of_breaks_has_a_row_for_each(data):
    ran = CliRunner().invoke(main, ["experiment", "llama", "--breaks"])
    assert ran.exit_code == 0, ran.output
    for broken in llama.BREAKS:
        assert ran.output.count(broken.title) >= 2, broken.title


@pytest.mark.parametrize(
    "options", [["--json"], ["--prompt", "a", "--ask", "b"]], ids=["json alone", "both"]
)
def test_options_that_do_not_go_together_are_refused(data, options):
    ran = CliRunner().invoke(main, ["experiment", "llama", *options])
    assert ran.exit_code == 2 and "Traceback" not in ran.output


def test_without_the_model_one_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    ran = CliRunner().invoke(main, ["experiment", "llama"])
    assert ran.exit_code == 1 and "course data smollm2" in ran.output
    assert ran.output.count("\n") == 1
