"""A small model of drawn weights, in the form of the published one."""

import torch
from gguf import GGUFWriter
from tokenizers.pre_tokenizers import ByteLevel

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
    return ["<|im_start|>", *sorted(ByteLevel.alphabet()), "th", "the", "<|im_end|>"]


def write_toy(path):
    """Write it as a GGUF file."""
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
