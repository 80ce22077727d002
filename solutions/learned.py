"""Lesson 3: a second table, indexed by position.

Text: course/lessons/learned. Shapes: B sentences, T tokens, V words, C features.

What holds for every exercise: course/lessons/README.md.
"""

import torch
from torch import Tensor, nn


class LearnedPositionalEmbedding(nn.Module):
    """A table with one row per position, learned like any other weight.

    Args:
        max_seq_len: how many positions there are.
        n_embd: C, the features of a row.

    Its only parameter is `weight`, (max_seq_len, C), drawn from N(0, 0.02²). `forward(seq_len)`
    returns the first rows, (seq_len, C). It raises `ValueError` for a length that is longer than
    the table: a slice would just be shorter.

    Source: Gehring et al. (2017), arXiv:1705.03122, section 3.1; GPT-2 and BERT use it.

    >>> LearnedPositionalEmbedding(max_seq_len=8, n_embd=4)(3).shape
    torch.Size([3, 4])
    """

    def __init__(self, max_seq_len: int, n_embd: int) -> None:
        super().__init__()
        # self.weight, a parameter (max_seq_len, C); 1 line.
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(0.02 * torch.randn(max_seq_len, n_embd))
        ### END SOLUTION

    def forward(self, seq_len: int) -> Tensor:
        # (seq_len, C); 3 lines with the check.
        ### BEGIN SOLUTION
        if seq_len > len(self.weight):
            raise ValueError(f"the table has only {len(self.weight)} positions; got {seq_len}")
        return self.weight[:seq_len]
        ### END SOLUTION


class GPTEmbedding(nn.Module):
    """The input to the first block of GPT-2: token row plus position row, then dropout.

    Args:
        vocab_size: V.
        block_size: the longest text.
        n_embd: C.
        dropout: p, the probability that an element is zeroed in training mode, drawn for each
            element in every call; the others are multiplied by 1/(1-p).

    `tok_emb.weight` (V, C) and `pos_emb.weight` (block_size, C), both drawn from N(0, 0.02²), are
    the only entries in its state dict. `forward(ids)` maps (B, T) to (B, T, C), with the positions
    made on the device of the ids. It raises `ValueError` if T is larger than block_size, and
    `IndexError` for an id outside 0..V-1 (already written).

    Source: Radford et al. (2018), "Improving Language Understanding by Generative
    Pre-Training", sections 3.1 and 4.1.

    >>> GPTEmbedding(vocab_size=65, block_size=8, n_embd=4)(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, vocab_size: int, block_size: int, n_embd: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.vocab_size, self.block_size = vocab_size, block_size  # for the checks in forward
        # self.tok_emb, self.pos_emb (each with one parameter `weight`) and the dropout; 5 lines.
        ### BEGIN SOLUTION
        self.tok_emb = nn.Embedding(vocab_size, n_embd)
        self.pos_emb = nn.Embedding(block_size, n_embd)
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.tok_emb.weight, std=0.02)
        nn.init.normal_(self.pos_emb.weight, std=0.02)
        ### END SOLUTION

    def forward(self, ids: Tensor) -> Tensor:
        seq_len = ids.shape[1]
        if seq_len > self.block_size:
            raise ValueError(
                f"a text may have at most {self.block_size} tokens (block_size); got {seq_len}"
            )
        # on the "meta" device there are no numbers to look at
        if not ids.is_meta and not 0 <= ids.min() <= ids.max() < self.vocab_size:
            raise IndexError(
                f"ids must be in 0..{self.vocab_size - 1}, because the table has "
                f"{self.vocab_size} rows; got {ids.min()} to {ids.max()}"
            )
        # (B, T, C); about 2 lines.
        ### BEGIN SOLUTION
        positions = torch.arange(seq_len, device=ids.device)
        return self.dropout(self.tok_emb(ids) + self.pos_emb(positions))
        ### END SOLUTION


def count_parameters(module: nn.Module) -> int:
    """The number of trainable elements in a module; a shared parameter counts once.

    Args:
        module: any module. The same `nn.Parameter` in two places is shared; two with equal
            values are not.

    Source: Press and Wolf (2017), "Using the Output Embedding to Improve Language Models",
    arXiv:1608.05859 (why a parameter is used twice).

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    # an int; 1 line.
    ### BEGIN SOLUTION
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
    ### END SOLUTION


def tied_logits(x: Tensor, weight: Tensor) -> Tensor:
    """The token table used a second time, as the output projection: one score per word.

    Args:
        x: the output of the last block, (B, T, C).
        weight: the token table, (V, C).

    Returns:
        (B, T, V): the dot product of every token with every row.

    Source: Press and Wolf (2017), arXiv:1608.05859, section 3.

    >>> table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> tied_logits(torch.tensor([[[1.0, 2.0]]]), table)
    tensor([[[1., 2., 3.]]])
    """
    # (B, T, V); 1 line.
    ### BEGIN SOLUTION
    return x @ weight.T
    ### END SOLUTION


def scalar_embedding(
    wte: list[list[float]], wpe: list[list[float]], token_id: int, pos_id: int
) -> list[float]:
    """The whole idea without tensors: a token row plus a position row.

    Args:
        wte: the token table, V lists of C numbers, or of anything that can be added.
        wpe: the position table, lists of C numbers.
        token_id, pos_id: the rows to take.

    Returns:
        A list of C sums, each made by Python's `+` with the token's entry on the left.

    Source: Karpathy (2026), "microgpt" (the first lines of its model).

    >>> scalar_embedding([[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.25]], token_id=1, pos_id=0)
    [3.5, 4.25]
    """
    # C numbers; 1 line.
    ### BEGIN SOLUTION
    return [t + p for t, p in zip(wte[token_id], wpe[pos_id], strict=True)]
    ### END SOLUTION
