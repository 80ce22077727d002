"""Makes the byte-pair tokenizer that `bpe_tokenizer()` loads.

    python -m course.data.train_bpe tinyshakespeare.txt course/data/bpe4096.json

The same text gives the same file, byte for byte (checked with tokenizers 0.23).
"""

import argparse
from pathlib import Path

VOCAB_SIZE = 4096


def train_bpe(text: str, vocab_size: int = VOCAB_SIZE) -> str:
    """A byte-level byte-pair tokenizer learned from `text`, as the JSON of `tokenizers`.

    It starts from the 256 bytes and joins the most frequent neighbours until there are
    `vocab_size` tokens.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer.to_str()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the byte-pair tokenizer.")
    parser.add_argument("text", type=Path, help="a UTF-8 text, such as tinyshakespeare.txt")
    parser.add_argument("out", type=Path, help="the JSON file to write")
    arguments = parser.parse_args()
    text = arguments.text.read_bytes().decode("utf-8")
    arguments.out.write_bytes(train_bpe(text).encode("utf-8"))


if __name__ == "__main__":
    main()
