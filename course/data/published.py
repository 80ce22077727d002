"""A published model: the GGUF file of `course data smollm2`.

Only numbers and words are read: weights, settings and the vocabulary. Nothing in it is code.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.core.console import typed
from course.data import data_folder
from course.data.reading import DataError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"

CHAT = "<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
"""How SmolLM2 was trained to be asked."""


@dataclass(frozen=True)
class PublishedModel:
    """What a GGUF file of the Llama family holds.

    Attributes:
        tensors: the weights in float32 under GGUF's names, (rows, columns) or (C,).
        sizes: the arguments of lesson 9's `Llama`, by name.
        tokenizer: turns text into ids and back.
        end: the id that ends an answer.
    """

    tensors: "dict[str, Tensor]"
    sizes: dict[str, Any]
    tokenizer: "Tokenizer"
    end: int


def open_smollm2(path: Path | None = None) -> PublishedModel:
    """Return SmolLM2-135M-Instruct, from the data folder unless a path is given.

    Raises:
        FileNotFoundError: it is not there; the message names the command that fetches it.
        DataError: it cannot be read.
    """
    path = path or data_folder() / FILE
    fetch = f"fetch it with: {typed('course data smollm2')}"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; {fetch}")
    try:
        reader = _reader(path)
        settings = {name: field.contents() for name, field in reader.fields.items()}
        return PublishedModel(
            _tensors(reader),
            _sizes(settings),
            _tokenizer(settings),
            settings["tokenizer.ggml.eos_token_id"],
        )
    except (ValueError, KeyError, IndexError, NotImplementedError, OverflowError) as error:
        raise DataError(
            f"{path.name} is damaged, or no model of the Llama family ({error}); delete it, then "
            f"{fetch}"
        ) from None


def _reader(path: Path) -> Any:
    """Return gguf's reader, which cuts a plain array into words: four times as fast as a memmap."""
    import numpy as np
    from gguf import GGUFReader

    class Reader(GGUFReader):
        @property
        def data(self) -> np.ndarray:
            return self._data

        @data.setter
        def data(self, mapped: np.memmap) -> None:
            self._data = mapped.view(np.ndarray)

    return Reader(path)


def _tensors(reader: Any) -> "dict[str, Tensor]":
    """Return all weights in float32; numpy leaves the interpreter while it unpacks them."""
    import torch
    from gguf import dequantize

    def unpacked(one: Any) -> "Tensor":
        numbers = dequantize(one.data, one.tensor_type)
        if not numbers.flags.writeable:  # those that were float32 already
            numbers = numbers.copy()
        return torch.from_numpy(numbers)

    with ThreadPoolExecutor() as pool:
        weights = pool.map(unpacked, reader.tensors)
        return {one.name: weight for one, weight in zip(reader.tensors, weights, strict=True)}


def _sizes(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Llama`."""
    names = {
        "vocab_size": "vocab_size",
        "n_embd": "embedding_length",
        "n_heads": "attention.head_count",
        "n_kv_heads": "attention.head_count_kv",
        "n_layers": "block_count",
        "n_hidden": "feed_forward_length",
        "max_seq_len": "context_length",
        "base": "rope.freq_base",
        "eps": "attention.layer_norm_rms_epsilon",
    }
    return {ours: settings[f"llama.{theirs}"] for ours, theirs in names.items()}


def _tokenizer(settings: dict[str, Any]) -> "Tokenizer":
    """Return the byte-pair tokenizer of a file; each digit is its own token."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    words = settings["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in settings["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = settings["tokenizer.ggml.token_type"]
    control = [word for word, kind in zip(words, kinds, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in control])
    return tokenizer


_CONTROL = 3
"""GGUF's type of tokens that no text contains, such as <|im_end|>."""
