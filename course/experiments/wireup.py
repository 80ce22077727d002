"""The whole road in one run: text, ids, embedding, position schemes, attention.

    python -m course.experiments.wireup

It runs on TinyShakespeare if that was fetched, else on the embedded kingdom,
with your own functions where they pass their tests and the reference's
elsewhere, and says which. Read the numbers: each line says what to expect of
them and why.
"""

import argparse
import math
import sys
import textwrap

import torch
from torch import Tensor

from course.data.batches import get_batch, train_val_split
from course.data.corpus import load_corpus
from course.data.tokenizers import CharTokenizer
from course.student.borrow import names_of
from course.system.console import readable_anywhere, typed

BLOCK_SIZE, BATCH_SIZE, N_EMBD, N_HEADS = 64, 16, 96, 4
HEAD_DIM = N_EMBD // N_HEADS


def main() -> None:
    """Print the road from the command line; an error in it is one sentence."""
    argparse.ArgumentParser(
        prog="python -m course.experiments.wireup",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    readable_anywhere()
    try:
        print_road()
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        sys.exit(f"the wire-up stopped: {what}; try `{typed('course check')}`")


def print_road() -> None:
    """Print the road, a stage at a time."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    ids, vocab_size = text_to_batch(generator)
    embed(ids, vocab_size)
    schemes(ids, vocab_size)
    order(ids, vocab_size, generator)
    say_what_was_borrowed()


def show(what: str, value: Tensor, expect: str, whose: str = "") -> None:
    """Print a tensor's shape, mean and standard deviation, and what to expect of them."""
    numbers = ""
    if value.is_floating_point():
        numbers = f"mean {value.mean().item():+.4f}  std {value.std().item():.4f}"
    print(f"  {what:<29} {tuple(value.shape)!s:<17} {numbers:<26} {whose}".rstrip())
    print(f"      {expect}")


def say_what_was_borrowed() -> None:
    """Name the functions above that are the reference's."""
    all_names = [*map(names_of, ("lookup", "permutation", "learned", "sinusoidal", "rope"))]
    borrowed = [
        name
        for lesson in all_names
        for name in dict.fromkeys(lesson.used)
        if lesson.whose(name) == "borrowed"
    ]
    if borrowed:
        print("\nBorrowed from the reference, because yours did not pass a check yet:")
        print(textwrap.fill(", ".join(borrowed), 80, initial_indent="  ", subsequent_indent="  "))
        for lesson in all_names:
            if lesson.why_none_is_own:
                print(textwrap.fill(lesson.why_none_is_own, 80))
        board, check = typed("course"), typed("course check")
        print(f"`{board}` says what to do next; `{check}` checks everything.")
    else:
        print("\nEvery function above is yours.")


def text_to_batch(generator: torch.Generator) -> tuple[Tensor, int]:
    """Turn text into ids and a batch (B, T)."""
    corpus = load_corpus()
    tokenizer = CharTokenizer.from_text(corpus.text)
    train, _ = train_val_split(torch.tensor(tokenizer.encode(corpus.text)))
    ids, _ = get_batch(train, BLOCK_SIZE, BATCH_SIZE, generator)
    print(f"\nText: {corpus.name}, {len(corpus.text):,} characters, {tokenizer.vocab_size} kinds")
    show("training ids", train, "the first 90 % of the text, a number per character")
    show("a batch (B, T)", ids, repr(tokenizer.decode(ids[0, :40])))
    return ids, tokenizer.vocab_size


def embed(ids: Tensor, vocab_size: int) -> None:
    """Show what a token is: a row of a table."""
    lookup = names_of("lookup")
    print("\nWhat: a row of a table")
    table = lookup.TokenEmbedding(vocab_size, N_EMBD)
    show(
        "token rows (B, T, C)",
        table(ids),
        "std 0.02, as they are drawn",
        lookup.whose("TokenEmbedding"),
    )
    one_hot = lookup.one_hot_bytes(vocab_size, BATCH_SIZE, BLOCK_SIZE)
    print(
        f"      as one-hot rows this batch would take {one_hot:,} bytes, as ids {8 * ids.numel():,}"
    )


def schemes(ids: Tensor, vocab_size: int) -> None:
    """Show where a token stands: each scheme of the course."""
    learned, sinusoidal, rope = map(names_of, ("learned", "sinusoidal", "rope"))
    tokens = names_of("lookup").TokenEmbedding(vocab_size, N_EMBD)(ids)
    print("\nWhere: learned rows, added")
    gpt = learned.GPTEmbedding(vocab_size, BLOCK_SIZE, N_EMBD)
    show(
        "token + position (B, T, C)",
        gpt(ids),
        "std about 0.028 = 0.02 times the root of 2: two independent draws add",
        learned.whose("GPTEmbedding"),
    )
    parameters = learned.count_parameters(gpt)
    print(f"      {parameters:,} parameters, of which {BLOCK_SIZE * N_EMBD:,} are positions")
    print("\nWhere: a formula, added")
    table = sinusoidal.SinusoidalPositionalEmbedding(BLOCK_SIZE, N_EMBD)(ids.shape[1])
    root_mean_square = table.square().mean().sqrt().item()
    show(
        "sines and cosines (T, C)",
        table,
        f"root mean square {root_mean_square:.4f}: sin² + cos² = 1, so exactly 0.7071",
        sinusoidal.whose("SinusoidalPositionalEmbedding"),
    )
    show(
        "token + position (B, T, C)",
        tokens + table,
        "positions drown tokens 35 to 1 here: why the paper scales tokens by the root of C",
    )
    print("\nWhere: queries and keys, rotated")
    queries = torch.randn(BATCH_SIZE, N_HEADS, BLOCK_SIZE, HEAD_DIM)
    rotated = rope.RotaryEmbedding(BLOCK_SIZE, HEAD_DIM)(queries)
    change = (rotated.norm(dim=-1) - queries.norm(dim=-1)).abs().max().item()
    show(
        "rotated queries (B, H, T, D)",
        rotated,
        f"std 1 as before: a rotation keeps lengths (largest change {change:.0e})",
        rope.whose("RotaryEmbedding"),
    )
    print("\nWhere: scores, penalized for distance")
    bias = rope.alibi_bias(N_HEADS, BLOCK_SIZE)
    show(
        "ALiBi bias (H, T, T)",
        bias,
        f"from {bias.min().item():.2f} (head 1, farthest key) to 0; nothing to learn",
        rope.whose("alibi_bias"),
    )


def order(ids: Tensor, vocab_size: int, generator: torch.Generator) -> None:
    """Compare attention without and with positions: does it notice a shuffle?"""
    permutation, learned = names_of("permutation"), names_of("learned")
    sinusoidal, rope = names_of("sinusoidal"), names_of("rope")
    tokens = names_of("lookup").TokenEmbedding(vocab_size, N_EMBD)(ids)
    tokens = tokens / tokens.std()  # so that scores differ enough for attention to choose
    print("\nDoes attention notice a shuffle?")
    show(
        "attention (B, T, C)",
        permutation.toy_attention(tokens),
        "an average of similar tokens",
        permutation.whose("toy_attention"),
    )
    attention = permutation.toy_attention
    rows = learned.LearnedPositionalEmbedding(BLOCK_SIZE, N_EMBD)(BLOCK_SIZE) / 0.02
    waves = sinusoidal.SinusoidalPositionalEmbedding(BLOCK_SIZE, N_EMBD)(BLOCK_SIZE)
    rotate = rope.RotaryEmbedding(BLOCK_SIZE, N_EMBD)
    bias = rope.alibi_bias(1, BLOCK_SIZE)
    layers = {
        "tokens alone": attention,
        "with a causal mask": permutation.causal_toy_attention,
        "with learned rows added": lambda x: attention(x + rows),
        "with sines and cosines added": lambda x: attention(x + waves),
        "with queries and keys rotated": lambda x: weights(rotate(x)) @ x,
        "with ALiBi's penalty": lambda x: weights(x, bias) @ x,
    }
    shuffle = torch.randperm(BLOCK_SIZE, generator=generator)
    for name, layer in layers.items():
        gap = permutation.equivariance_gap(layer, tokens, shuffle)
        verdict = "no: it sees a bag of tokens" if gap < 1e-3 else "yes"
        print(f"  {name:<30} gap {gap:.1e}   {verdict}")


def weights(x: Tensor, bias: Tensor | float = 0.0) -> Tensor:
    """Return attention weights (B, T, T) of queries and keys x (B, T, C), with a bias on scores."""
    return (x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1]) + bias).softmax(dim=-1)


if __name__ == "__main__":
    main()
