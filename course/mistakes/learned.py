"""Lesson 3: known mistakes and legitimate alternatives."""

import itertools
import math
import operator

import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries
from solutions.learned import GPTEmbedding, LearnedPositionalEmbedding

# --- LearnedPositionalEmbedding -----------------------------------------------------------------


mistake, alternative, error = entries("LearnedPositionalEmbedding")


@mistake(
    says="LearnedPositionalEmbedding takes rows 1 to seq_len; position 0 is left out.",
    look="Which row belongs to the first token?",
)
class counts_positions_from_one(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        super().forward(seq_len)
        return self.weight[
            torch.arange(1, seq_len + 1, device=self.weight.device) % len(self.weight)
        ]


@mistake(
    says="LearnedPositionalEmbedding takes the last rows of the table instead of the first.",
    look="Print `module(1)` beside `module.weight[0]`.",
)
class last_rows(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        super().forward(seq_len)
        return self.weight[len(self.weight) - seq_len :]


@mistake(
    says="LearnedPositionalEmbedding gives one row of its table, not the first `seq_len` rows.",
    look="What shape should come back, and how many rows is that?",
    common=True,
)
class one_row(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        super().forward(seq_len)
        return self.weight[seq_len - 1]


@mistake(
    says="LearnedPositionalEmbedding gives one row of its table, not the first `seq_len` rows.",
    look="What shape should come back, and how many rows is that?",
)
class one_row_behind_the_last(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        super().forward(seq_len)
        return self.weight[seq_len]


@mistake(
    says="LearnedPositionalEmbedding puts a batch axis in front of its rows.",
    look="What shape does the contract promise, and who adds the batch axis later?",
)
class with_a_batch_axis(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(seq_len).unsqueeze(0)


@mistake(
    says="LearnedPositionalEmbedding gives back fewer rows than asked for when the table is short.",
    look="What does a slice do when its end lies beyond the last row?",
    common=True,
)
class slices_without_a_check(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        return self.weight[:seq_len]


@mistake(
    says="LearnedPositionalEmbedding refuses a long sequence, but lets a negative length through.",
    look="What does `weight[:-1]` give?",
    common=True,
)
class negative_lengths_pass(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        if seq_len > len(self.weight):
            raise ValueError(f"seq_len is at most {len(self.weight)}; got {seq_len}")
        return self.weight[:seq_len]


@mistake(
    says="LearnedPositionalEmbedding refuses the full length, which its table can serve.",
    look="How many rows has the table, and how many does this length need?",
)
class full_length_refused(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        if not 0 <= seq_len < len(self.weight):
            raise ValueError(f"seq_len must be below {len(self.weight)}; got {seq_len}")
        return self.weight[:seq_len]


@mistake(
    says="LearnedPositionalEmbedding refuses length 0, for which (0, C) is the right answer.",
    look="Which lengths does the rule exclude?",
)
class length_zero_refused(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        if not 0 < seq_len <= len(self.weight):
            raise ValueError(f"seq_len must be 1 to {len(self.weight)}; got {seq_len}")
        return self.weight[:seq_len]


@mistake(
    says="LearnedPositionalEmbedding raises an error that does not say which length the table has.",
    look="Which two numbers does the reader of the message need?",
)
class message_without_the_limit(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        if not 0 <= seq_len <= len(self.weight):
            raise ValueError(f"this sequence length is not allowed: {seq_len}")
        return self.weight[:seq_len]


@mistake(
    says="LearnedPositionalEmbedding raises IndexError where ValueError is promised.",
    look="Which exception does the contract name?",
)
class raises_index_error(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        if not 0 <= seq_len <= len(self.weight):
            raise IndexError(f"seq_len is at most {len(self.weight)}; got {seq_len}")
        return self.weight[:seq_len]


@mistake(
    says="LearnedPositionalEmbedding draws its table with standard deviation 1.",
    look="What does N(0, 0.02²) mean for `torch.randn`?",
    common=True,
)
class standard_normal(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        self.weight = nn.Parameter(torch.randn(max_seq_len, n_embd))


@mistake(
    says="LearnedPositionalEmbedding takes 0.02 for the variance of its table.",
    look="Which of the two is squared in N(0, 0.02²)?",
)
class variance_for_deviation(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        nn.init.normal_(self.weight, std=0.02**0.5)


@mistake(
    says="LearnedPositionalEmbedding draws its table from a uniform distribution.",
    look="Which function of torch.nn.init draws from a normal one?",
)
class uniform_draw(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        nn.init.uniform_(self.weight, -0.02 * 3**0.5, 0.02 * 3**0.5)


@mistake(
    says="LearnedPositionalEmbedding draws its table from a uniform distribution.",
    look="Which function of torch.nn.init draws from a normal one?",
)
class uniform_draw_above_zero(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        nn.init.uniform_(self.weight, 0.0, 0.02)


@mistake(
    says="LearnedPositionalEmbedding draws its table from a uniform distribution.",
    look="Which function of torch.nn.init draws from a normal one?",
)
class uniform_draw_within_the_deviation(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        nn.init.uniform_(self.weight, -0.02, 0.02)


@mistake(
    says="LearnedPositionalEmbedding starts with a table of zeros.",
    look="What should the table hold before the first step of training?",
)
class starts_at_zero(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        nn.init.zeros_(self.weight)


@mistake(
    says="LearnedPositionalEmbedding draws one row and repeats it for every position.",
    look="Do two rows of `module.weight` differ?",
)
class one_row_repeated(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        self.weight = nn.Parameter(0.02 * torch.randn(1, n_embd).repeat(max_seq_len, 1))


@mistake(
    says="LearnedPositionalEmbedding seeds PyTorch itself, so every table is the same.",
    look="Who decides about the seed: the module or its caller?",
)
class seeds_itself(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        torch.manual_seed(1337)
        super().__init__(max_seq_len, n_embd)


@mistake(
    says="LearnedPositionalEmbedding keeps its table in a buffer or a plain tensor, which no "
    "optimizer sees.",
    look="What makes a tensor show up in `module.parameters()`?",
)
class table_in_a_buffer(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        del self.weight
        self.register_buffer("weight", 0.02 * torch.randn(max_seq_len, n_embd))


@mistake(
    says="LearnedPositionalEmbedding freezes its table, so nothing is learned.",
    look="Does `module.weight.requires_grad` hold?",
)
class frozen_table(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        self.weight.requires_grad_(False)


@mistake(
    says="LearnedPositionalEmbedding cuts its rows off from the table: they pass no gradient back.",
    look="What do `.detach()`, `.data` and `torch.no_grad()` do to training?",
)
class detached_rows(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(seq_len).detach()


@mistake(
    says="LearnedPositionalEmbedding holds its table under another name than `weight`.",
    look="Which name does the parameter carry in `module.named_parameters()`?",
)
class weight_one_level_down(nn.Module):
    def __init__(self, max_seq_len, n_embd):
        super().__init__()
        self.emb = nn.Embedding(max_seq_len, n_embd)
        nn.init.normal_(self.emb.weight, std=0.02)

    def forward(self, seq_len):
        if not 0 <= seq_len <= len(self.emb.weight):
            raise ValueError(f"seq_len is at most {len(self.emb.weight)}; got {seq_len}")
        return self.emb.weight[:seq_len]


@mistake(
    says="LearnedPositionalEmbedding holds its table under another name than `weight`.",
    look="Which name does the parameter carry in `module.named_parameters()`?",
)
class weight_called_table(nn.Module):
    def __init__(self, max_seq_len, n_embd):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_seq_len, n_embd))

    def forward(self, seq_len):
        if not 0 <= seq_len <= len(self.table):
            raise ValueError(f"seq_len is at most {len(self.table)}; got {seq_len}")
        return self.table[:seq_len]


@mistake(
    says="LearnedPositionalEmbedding stores one column per position instead of one row.",
    look="What shape has `module.weight`?",
)
class transposed_table(nn.Module):
    def __init__(self, max_seq_len, n_embd):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(n_embd, max_seq_len))

    def forward(self, seq_len):
        if not 0 <= seq_len <= self.weight.shape[1]:
            raise ValueError(f"seq_len is at most {self.weight.shape[1]}; got {seq_len}")
        return self.weight[:, :seq_len].T


@mistake(
    says="LearnedPositionalEmbedding keeps the rows of its first call and never looks again.",
    look="What changes between two calls while a model is trained?",
)
class remembers_old_rows(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        if not hasattr(self, "kept"):
            self.kept = {}
        if seq_len not in self.kept:
            self.kept[seq_len] = super().forward(seq_len).clone()
        return self.kept[seq_len]


_every_table = []


@mistake(
    says="LearnedPositionalEmbedding reads the table of whichever module was made last.",
    look="Is the table stored in `self`, or somewhere that all modules share?",
)
class shares_the_latest_table(LearnedPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        _every_table.append(self.weight)

    def forward(self, seq_len):
        super().forward(seq_len)
        return _every_table[-1][:seq_len]


@mistake(
    says="LearnedPositionalEmbedding always answers in float32, whatever its table is kept in.",
    look="Which dtype has the result after `module.to(torch.float64)`?",
)
class always_float32(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(seq_len).float()


@mistake(
    says="LearnedPositionalEmbedding copies its rows into a new tensor, float32 on the CPU.",
    look="Which dtype and device does `torch.zeros` choose when nothing is said?",
)
class copied_into_zeros(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        rows = torch.zeros(seq_len, self.weight.shape[1])
        rows[:] = super().forward(seq_len)
        return rows


@mistake(
    says="LearnedPositionalEmbedding scales its rows by √C.",
    look="Is anything done to the rows on their way out?",
)
class scaled_rows(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(seq_len) * self.weight.shape[1] ** 0.5


@alternative
class an_embedding_layer_itself(nn.Embedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd, sparse=True)
        nn.init.normal_(self.weight, mean=0.0, std=0.02)

    def forward(self, seq_len):
        if seq_len < 0 or seq_len > self.num_embeddings:
            raise ValueError(f"no {seq_len} positions in a table of {self.num_embeddings}")
        return super().forward(torch.arange(seq_len, device=self.weight.device))


@alternative
class narrow_and_keyword_names(nn.Module):
    def __init__(self, max_seq_len, n_embd):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.weight = nn.Parameter(torch.empty(max_seq_len, n_embd).normal_(0, 0.02))

    def forward(self, seq_len):
        if seq_len not in range(self.max_seq_len + 1):
            raise ValueError(f"seq_len {seq_len} is outside 0..{self.max_seq_len}")
        return self.weight.narrow(0, 0, seq_len)


@alternative
class positions_as_a_one_hot_product(nn.Module):
    def __init__(self, max_seq_len, n_embd):
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.zeros(max_seq_len, n_embd)))
        with torch.no_grad():
            self.weight.copy_(torch.normal(0.0, 0.02, (max_seq_len, n_embd)))

    def forward(self, seq_len):
        rows = self.weight.shape[0]
        if seq_len > rows:
            raise ValueError(f"a sequence of {seq_len} does not fit a table of {rows} positions")
        if seq_len < 0:
            raise ValueError(f"a length is 0 to {rows}, so never negative; got {seq_len}")
        return torch.eye(seq_len, rows, dtype=self.weight.dtype, device=self.weight.device).mm(
            self.weight
        )


@alternative
class a_buffer_of_positions(nn.Module):
    def __init__(self, max_seq_len, n_embd):
        super().__init__()
        self.weight = nn.Parameter(
            torch.stack([torch.randn(n_embd) / 50 for _ in range(max_seq_len)])
        )
        self.register_buffer("positions", torch.arange(max_seq_len), persistent=False)

    def forward(self, seq_len):
        limit = self.positions.numel()
        if not -1 < seq_len < limit + 1:
            raise ValueError(f"seq_len: 0 <= {seq_len} <= {limit} does not hold")
        return F.embedding(self.positions[:seq_len], self.weight)


@mistake(
    says="LearnedPositionalEmbedding leaves row 0 out and starts with row 1.",
    look="Which row belongs to the first token?",
)
class row_zero_left_out(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        super().forward(seq_len)
        return self.weight[1 : seq_len + 1]


# --- GPTEmbedding -------------------------------------------------------------------------------


def _refuse_bad(module, ids):
    """Raise what the reference raises, without a draw: a student's code draws its dropout once."""
    mode = module.dropout.training
    module.dropout.training = False
    try:
        GPTEmbedding.forward(module, ids)
    finally:
        module.dropout.training = mode


mistake, alternative, error = entries("GPTEmbedding")


@mistake(
    says="GPTEmbedding adds a position row chosen by the token's id, not by its place.",
    look="What does the second table count: words or places?",
    common=True,
)
class positions_from_the_ids(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb(ids.long() % len(self.pos_emb.weight))
        return self.dropout(self.tok_emb(ids.long()) + rows)


@mistake(
    says="GPTEmbedding adds a position row chosen by the token's id, not by its place.",
    look="What does the second table count: words or places?",
)
class positions_from_ids_of_any_size(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(ids.long()))


@mistake(
    says="GPTEmbedding adds the position row of its length to every token of a sentence.",
    look="Do two tokens of the same word get different rows at different places?",
)
class one_position_for_all(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb.weight[ids.shape[1] - 1])


@mistake(
    says="GPTEmbedding counts positions from 1.",
    look="Which row belongs to the first token of a sentence?",
)
class positions_from_one(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = (torch.arange(ids.shape[1], device=ids.device) + 1) % len(self.pos_emb.weight)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))


@mistake(
    says="GPTEmbedding counts positions from 1.",
    look="Which row belongs to the first token of a sentence?",
)
class positions_from_one_to_behind_the_table(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.arange(1, ids.shape[1] + 1, device=ids.device)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))


@mistake(
    says="GPTEmbedding counts positions through the batch; the second sentence starts later.",
    look="At which position does every sentence start?",
)
class positions_run_on_through_the_batch(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.arange(ids.numel(), device=ids.device).view(ids.shape)
        rows = self.pos_emb(positions % len(self.pos_emb.weight))
        return self.dropout(self.tok_emb(ids.long()) + rows)


@mistake(
    says="GPTEmbedding numbers the sentences of the batch, not the tokens of a sentence.",
    look="Which axis of (B, T) is the position?",
)
class positions_along_the_batch(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.arange(ids.shape[0], device=ids.device) % len(self.pos_emb.weight)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions)[:, None])


@mistake(
    says="GPTEmbedding numbers the sentences of the batch, not the tokens of a sentence.",
    look="Which axis of (B, T) is the position?",
)
class as_many_positions_as_sentences(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.arange(ids.shape[0], device=ids.device)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))


@mistake(
    says="GPTEmbedding numbers the sentences of the batch, not the tokens of a sentence.",
    look="Which axis of (B, T) is the position?",
)
class as_many_positions_as_sentences_on_the_default_device(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.arange(ids.shape[0])
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))


@mistake(
    says="GPTEmbedding counts positions backwards from the end of a sentence.",
    look="Which row belongs to the first token of a sentence?",
)
class positions_backwards(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.arange(ids.shape[1] - 1, -1, -1, device=ids.device)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))


@mistake(
    says="GPTEmbedding keeps the positions of its first call for all later ones.",
    look="What happens when the second batch has sentences of another length?",
)
class positions_of_the_first_call(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        if not hasattr(self, "positions"):
            self.positions = torch.arange(ids.shape[1], device=ids.device)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(self.positions))


@mistake(
    says="GPTEmbedding makes its positions on the default device, not on that of the ids.",
    look="On which device does `torch.arange` put its numbers when nothing is said?",
    common=True,
)
class positions_on_the_default_device(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.arange(ids.shape[1])
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))


@mistake(
    says="GPTEmbedding counts positions in the dtype of the ids, where 128 or 256 may not exist.",
    look="What is the largest number in int8, and in uint8?",
)
class positions_in_the_dtype_of_ids(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.arange(ids.shape[1], device=ids.device).to(ids.dtype)
        rows = self.pos_emb(positions.long() % len(self.pos_emb.weight))
        return self.dropout(self.tok_emb(ids.long()) + rows)


@mistake(
    says="GPTEmbedding leaves the position rows out.",
    look="Does the result change when the same words come in another order?",
)
class no_positions(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        return self.dropout(self.tok_emb(ids.long()))


@mistake(
    says="GPTEmbedding multiplies token rows and position rows instead of adding them.",
    look="How are the two rows put together?",
)
class product_of_rows(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb(torch.arange(ids.shape[1], device=ids.device))
        return self.dropout(self.tok_emb(ids.long()) * rows)


@mistake(
    says="GPTEmbedding puts the two rows side by side instead of adding them.",
    look="What width comes out, and what width should?",
)
class rows_side_by_side(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb(torch.arange(ids.shape[1], device=ids.device))
        tokens = self.tok_emb(ids.long())
        return self.dropout(torch.cat((tokens, rows.expand_as(tokens)), dim=-1))


@mistake(
    says="GPTEmbedding scales the token rows by √C, as the first transformer did; GPT-2 does not.",
    look="Is anything done to the token rows before the sum?",
)
class scaled_token_rows(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb(torch.arange(ids.shape[1], device=ids.device))
        return self.dropout(self.tok_emb(ids.long()) * self.tok_emb.embedding_dim**0.5 + rows)


@mistake(
    says="GPTEmbedding normalizes the sum.",
    look="What is done to the sum besides dropout?",
)
class normalized_sum(GPTEmbedding):
    def forward(self, ids):
        return F.layer_norm(super().forward(ids), (self.tok_emb.embedding_dim,))


@mistake(
    says="GPTEmbedding gives back (T, B, C).",
    look="Print the shape for two sentences of five tokens.",
)
class time_first(GPTEmbedding):
    def forward(self, ids):
        return super().forward(ids).transpose(0, 1)


def _without_dropout(module, ids):
    rows = module.pos_emb(torch.arange(ids.shape[1], device=ids.device))
    return module.tok_emb(ids.long()) + rows


@mistake(
    says="GPTEmbedding ignores its argument dropout.",
    look="Where is dropout applied?",
)
class no_dropout(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        return _without_dropout(self, ids)


@mistake(
    says="GPTEmbedding drops elements in evaluation mode, too.",
    look="What does `F.dropout` do when its `training` is left at its default?",
    common=True,
)
class dropout_in_evaluation(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        return F.dropout(_without_dropout(self, ids), self.dropout.p)


@mistake(
    says="GPTEmbedding drops elements of the two rows separately, before they are added.",
    look="In which order come the sum and dropout?",
)
class dropout_before_the_sum(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb(torch.arange(ids.shape[1], device=ids.device))
        return self.dropout(self.tok_emb(ids.long())) + self.dropout(rows)


@mistake(
    says="GPTEmbedding applies dropout to the token rows alone.",
    look="In which order come the sum and dropout?",
)
class dropout_on_tokens_alone(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb(torch.arange(ids.shape[1], device=ids.device))
        return self.dropout(self.tok_emb(ids.long())) + rows


@mistake(
    says="GPTEmbedding drops the same elements in every sentence of the batch.",
    look="What shape has the mask, and what shape has the sum?",
)
class one_mask_for_the_batch(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        total = _without_dropout(self, ids)
        return total * self.dropout(torch.ones_like(total[:1]))


@mistake(
    says="GPTEmbedding drops whole tokens instead of single elements.",
    look="What shape has the mask, and what shape has the sum?",
)
class drops_whole_tokens(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        total = _without_dropout(self, ids)
        return total * self.dropout(torch.ones_like(total[..., :1]))


@mistake(
    says="GPTEmbedding drops whole features instead of single elements.",
    look="What shape has the mask, and what shape has the sum?",
)
class drops_whole_features(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        total = _without_dropout(self, ids)
        return total * self.dropout(torch.ones_like(total[:, :1]))


@mistake(
    says="GPTEmbedding does not scale what dropout keeps.",
    look="What is the mean of an element over many draws, with and without dropout?",
)
class kept_values_not_scaled(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        total = _without_dropout(self, ids)
        return total * (torch.rand_like(total) >= self.dropout.p) if self.training else total


@mistake(
    says="GPTEmbedding takes dropout for the share to keep.",
    look="With dropout=0.1, how many of ten elements are zeroed?",
)
class keeps_the_share_to_drop(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        p = self.dropout.p
        return F.dropout(_without_dropout(self, ids), 1 - p if p else 0.0, self.training)


@mistake(
    says="GPTEmbedding draws its dropout mask once and keeps it.",
    look="Where is the mask drawn: in __init__ or in forward?",
)
class dropout_drawn_once(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        total = _without_dropout(self, ids)
        if not self.training:
            return total
        if not hasattr(self, "mask") or self.mask.shape != total.shape:
            self.mask = self.dropout(torch.ones_like(total))
        return total * self.mask


@mistake(
    says="GPTEmbedding leaves its position table at the draw of `nn.Embedding`, which has std 1.",
    look="Which of the two tables is drawn with 0.02?",
    common=True,
)
class positions_at_default_init(GPTEmbedding):
    def __init__(self, *sizes, dropout=0.0):
        _at_default_init(self, *sizes, dropout)
        nn.init.normal_(self.tok_emb.weight, std=0.02)


@mistake(
    says="GPTEmbedding leaves its token table at nn.Embedding's own draw, which has std 1.",
    look="Which of the two tables is drawn with 0.02?",
)
class tokens_at_default_init(GPTEmbedding):
    def __init__(self, *sizes, dropout=0.0):
        _at_default_init(self, *sizes, dropout)
        nn.init.normal_(self.pos_emb.weight, std=0.02)


@mistake(
    says="GPTEmbedding leaves both tables at the draw of `nn.Embedding`, which has std 1.",
    look="With which standard deviation does `nn.Embedding` draw, and with which should you?",
)
class tables_at_default_init(GPTEmbedding):
    def __init__(self, *sizes, dropout=0.0):
        _at_default_init(self, *sizes, dropout)


def _at_default_init(module, vocab_size, block_size, n_embd, dropout):
    nn.Module.__init__(module)
    module.tok_emb = nn.Embedding(vocab_size, n_embd)
    module.pos_emb = nn.Embedding(block_size, n_embd)
    module.dropout = nn.Dropout(dropout)


@mistake(
    says="GPTEmbedding starts with position rows of zero.",
    look="What do both tables hold before training?",
)
class positions_start_at_zero(GPTEmbedding):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        nn.init.zeros_(self.pos_emb.weight)


@mistake(
    says="GPTEmbedding draws its tables between two bounds, evenly.",
    look="Which distribution is N(0, 0.02²)?",
)
class uniform_tables(GPTEmbedding):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for weight in self.parameters():
            nn.init.uniform_(weight, -0.0346, 0.0346)


@mistake(
    says="GPTEmbedding seeds PyTorch itself, so every model starts the same.",
    look="Who decides about the seed: the module or its caller?",
)
class seeds_while_it_is_made(GPTEmbedding):
    def __init__(self, *args, **kwargs):
        torch.manual_seed(42)
        super().__init__(*args, **kwargs)


@mistake(
    says="GPTEmbedding seeds PyTorch in every call, so dropout repeats itself.",
    look="Who decides about the seed: the module or its caller?",
)
class seeds_in_forward(GPTEmbedding):
    def forward(self, ids):
        torch.manual_seed(0)
        return super().forward(ids)


@mistake(
    says="GPTEmbedding fills both tables from one draw.",
    look="Does drawing the second table start the generator anew?",
)
class both_tables_from_one_draw(GPTEmbedding):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__(vocab_size, block_size, n_embd, dropout)
        draw = 0.02 * torch.randn(max(vocab_size, block_size), n_embd)
        self.tok_emb.weight.data = draw[:vocab_size].clone()
        self.pos_emb.weight.data = draw[:block_size].clone()


@mistake(
    says="GPTEmbedding saves a table of positions along with its two weights.",
    look="Which keys has `module.state_dict()`, and what keeps a buffer out of it?",
)
class positions_are_saved(GPTEmbedding):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__(vocab_size, block_size, n_embd, dropout)
        self.register_buffer("positions", torch.arange(block_size))


@mistake(
    says="GPTEmbedding keeps its tables as bare parameters, so that their keys lack `.weight`.",
    look="Which keys has `module.state_dict()`? Which kind of module holds its table in `weight`?",
)
class tables_without_a_module(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        self.tok_emb = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))
        self.pos_emb = nn.Parameter(0.02 * torch.randn(block_size, n_embd))
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        return self.dropout(self.tok_emb[ids.long()] + self.pos_emb[: ids.shape[1]])


@mistake(
    says="GPTEmbedding keeps its tables as bare parameters, so that their keys lack `.weight`.",
    look="Which keys has `module.state_dict()`? Which kind of module holds its table in `weight`?",
)
class tables_without_a_module_checked(tables_without_a_module):
    def forward(self, ids):
        _refuse_outside_of(self.tok_emb, self.pos_emb, ids)
        return super().forward(ids)


@mistake(
    says="GPTEmbedding keeps its tables as bare parameters, so that their keys lack `.weight`.",
    look="Which keys has `module.state_dict()`? Which kind of module holds its table in `weight`?",
)
class tables_without_a_module_read_as_modules(tables_without_a_module):
    def forward(self, ids):
        _refuse_outside_of(self.tok_emb.weight, self.pos_emb.weight, ids)
        return super().forward(ids)


@mistake(
    says="GPTEmbedding swaps vocab_size and block_size.",
    look="Which of the two tables has a row per word?",
)
class swapped_sizes(GPTEmbedding):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__(block_size, vocab_size, n_embd, dropout)


@mistake(
    says="GPTEmbedding makes one row more per table than it was asked for.",
    look="How many rows have ids 0..V-1?",
)
class one_row_too_many(GPTEmbedding):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__(vocab_size, block_size + 1, n_embd, dropout)


@mistake(
    says="GPTEmbedding freezes its position table.",
    look="Which parameters require a gradient?",
)
class frozen_positions(GPTEmbedding):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.pos_emb.weight.requires_grad_(False)


@mistake(
    says="GPTEmbedding cuts the position rows off from their table: they never learn.",
    look="What does `.detach()` do to training?",
)
class detached_positions(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb.weight[: ids.shape[1]].detach()
        return self.dropout(self.tok_emb(ids.long()) + rows)


@mistake(
    says="GPTEmbedding treats word 0 as padding, so its row never learns.",
    look="What does `padding_idx` do to a gradient?",
)
class word_zero_is_padding(GPTEmbedding):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tok_emb.padding_idx = 0


@mistake(
    says="GPTEmbedding cuts a long sentence short instead of refusing it.",
    look="What happens to the tokens beyond block_size?",
)
class cuts_long_sentences(GPTEmbedding):
    def forward(self, ids):
        return super().forward(ids[:, : len(self.pos_emb.weight)])


@mistake(
    says="GPTEmbedding gives all tokens beyond block_size the last position.",
    look="What should happen to a sentence that is too long?",
)
class clamped_positions(GPTEmbedding):
    def forward(self, ids):
        positions = torch.arange(ids.shape[1], device=ids.device)
        rows = self.pos_emb(positions.clamp(max=len(self.pos_emb.weight) - 1))
        return self.dropout(self.tok_emb(ids.long()) + rows)


@mistake(
    says="GPTEmbedding refuses a sentence of exactly block_size tokens.",
    look="How many position rows does a sentence of block_size tokens need?",
)
class full_block_refused(GPTEmbedding):
    def forward(self, ids):
        if ids.shape[1] >= len(self.pos_emb.weight):
            raise ValueError(f"at most {len(self.pos_emb.weight)} tokens; got {ids.shape[1]}")
        return super().forward(ids)


@mistake(
    says="GPTEmbedding lets the position table raise IndexError for a sentence that is too long.",
    look="Which error is promised for T > block_size, and which for an id?",
)
class index_error_for_long_sentences(GPTEmbedding):
    def forward(self, ids):
        positions = torch.arange(ids.shape[1], device=ids.device)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb(positions))


@mistake(
    says="GPTEmbedding refuses a long sentence without saying how long one may be.",
    look="Which two numbers does the reader of the message need?",
)
class message_without_block_size(GPTEmbedding):
    def forward(self, ids):
        if ids.shape[1] > len(self.pos_emb.weight):
            raise ValueError(f"the sentence is too long: {ids.shape[1]} tokens")
        return super().forward(ids)


@mistake(
    says="GPTEmbedding takes a negative id for a row counted from the end.",
    look="What does `weight[-1]` give?",
)
class negative_ids_wrap(GPTEmbedding):
    def forward(self, ids):
        ids = ids.long()
        return super().forward(torch.where(ids < 0, ids + len(self.tok_emb.weight), ids))


@mistake(
    says="GPTEmbedding replaces an unknown id by the last word.",
    look="What should happen to an id that has no row?",
)
class clamped_ids(GPTEmbedding):
    def forward(self, ids):
        return super().forward(ids.long().clamp(0, len(self.tok_emb.weight) - 1))


@mistake(
    says="GPTEmbedding raises ValueError for an unknown id, where IndexError is promised.",
    look="Which error is promised for T > block_size, and which for an id?",
)
class value_error_for_ids(GPTEmbedding):
    def forward(self, ids):
        try:
            return super().forward(ids)
        except IndexError as error:
            raise ValueError(str(error)) from None


@mistake(
    says="GPTEmbedding compares ids with the vocabulary's size in the ids' own small dtype.",
    look="What is 300 in uint8?",
)
class compares_in_uint8(GPTEmbedding):
    def forward(self, ids):
        if (ids >= torch.tensor(len(self.tok_emb.weight)).to(ids.dtype)).any():
            raise IndexError(f"ids must be below {len(self.tok_emb.weight)}")
        return super().forward(ids)


@mistake(
    says="GPTEmbedding shortens its ids to int32 before it checks them, so a huge one turns small.",
    look="What is 2³² + 1 in int32?",
)
class shortens_ids_to_int32(GPTEmbedding):
    def forward(self, ids):
        return super().forward(ids.int())


@mistake(
    says="GPTEmbedding hands small integers to nn.Embedding, which takes int32 and int64 only.",
    look="Which dtypes may the ids have?",
)
class int64_ids_alone(GPTEmbedding):
    def forward(self, ids):
        self.tok_emb(ids)
        return super().forward(ids)


@mistake(
    says="GPTEmbedding indexes its table with uint8 ids, which PyTorch reads as a mask.",
    look="What does `weight[ids]` do when ids are uint8?",
)
class uint8_ids_are_a_mask(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        return self.dropout(self.tok_emb.weight[ids] + self.pos_emb.weight[: ids.shape[1]])


@mistake(
    says="GPTEmbedding fails on empty ids, because it asks for their largest.",
    look="What is the maximum of no numbers?",
)
class empty_ids_fail(GPTEmbedding):
    def forward(self, ids):
        if ids.max() >= len(self.tok_emb.weight):
            raise IndexError(f"ids must be below {len(self.tok_emb.weight)}; got {ids.max()}")
        return super().forward(ids)


@mistake(
    says="GPTEmbedding always answers in float32, whatever its tables are kept in.",
    look="Which dtype has the result after `module.to(torch.bfloat16)`?",
)
class result_always_float32(GPTEmbedding):
    def forward(self, ids):
        return super().forward(ids).float()


@mistake(
    says="GPTEmbedding keeps the sum of its first call with the same ids.",
    look="What changes between two calls while a model is trained?",
)
class remembers_old_sums(GPTEmbedding):
    def forward(self, ids):
        key = (ids.shape, *ids.flatten().tolist())
        if self.training and self.dropout.p:
            return super().forward(ids)
        if not hasattr(self, "kept"):
            self.kept = {}
        if key not in self.kept:
            self.kept[key] = super().forward(ids)
        return self.kept[key]


@alternative
class embedding_layers_let_pytorch_check(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        self.block_size, self.p = block_size, dropout
        self.tok_emb = nn.Embedding(vocab_size, n_embd, sparse=True)
        self.pos_emb = nn.Embedding(block_size, n_embd)
        self.apply(self._init)

    def _init(self, module):
        if isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx):
        _, t = idx.size()
        if t > self.block_size:
            raise ValueError(
                f"cannot embed a sequence of {t}: block size is only {self.block_size}"
            )
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
        return F.dropout(self.tok_emb(idx.long()) + self.pos_emb(pos), self.p, self.training)


class _Table(nn.Module):
    def __init__(self, rows, n_embd):
        super().__init__()
        self.weight = nn.Parameter(torch.normal(0.0, 0.02, (rows, n_embd)))


@alternative
class raw_tables_and_a_mask_by_hand(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        self.tok_emb, self.pos_emb = _Table(vocab_size, n_embd), _Table(block_size, n_embd)
        self.keep = 1 - dropout

    def forward(self, ids):
        (n_batch, length), block = ids.shape, self.pos_emb.weight.shape[0]
        if length > block:
            raise ValueError(f"length {length} exceeds block size {block}")
        for word in ids.flatten().tolist():
            if word < 0 or word >= len(self.tok_emb.weight):
                raise IndexError(f"word {word} has no row")
        rows = self.tok_emb.weight.index_select(0, ids.reshape(-1).to(torch.int64))
        x = rows.view(n_batch, length, rows.shape[1]) + self.pos_emb.weight[:length]
        if self.training and self.keep < 1:
            x = torch.where(torch.rand_like(x) < self.keep, x / self.keep, 0)
        return x


@alternative
class one_hot_products_and_a_bernoulli_mask(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        self.V, self.T, self.p = vocab_size, block_size, dropout
        self.pos_emb, self.tok_emb = _Table(block_size, n_embd), _Table(vocab_size, n_embd)

    def forward(self, ids):
        ids = ids.to(torch.int64)
        if ids.shape[-1] > self.T:
            raise ValueError(f"T = {ids.shape[-1]} > {self.T} = block_size")
        if torch.any(ids < 0) or torch.any(ids >= self.V):
            raise IndexError(f"token ids run from 0 to {self.V - 1}")
        tok, pos = self.tok_emb.weight, self.pos_emb.weight
        x = F.one_hot(ids, self.V).to(tok) @ tok + pos[None].narrow(1, 0, ids.shape[-1])
        if self.training:
            x = x * torch.bernoulli(torch.full_like(x, 1 - self.p)).div(1 - self.p)
        return x


@alternative
class a_buffer_of_positions_that_is_not_saved(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        self.drop = nn.Sequential(nn.Identity(), nn.Dropout(dropout))
        self.tok_emb = nn.Embedding.from_pretrained(torch.randn(vocab_size, n_embd) * 0.02, False)
        self.pos_emb = nn.Embedding.from_pretrained(torch.randn(block_size, n_embd) * 0.02, False)
        self.register_buffer("place", torch.arange(block_size), persistent=False)

    def forward(self, ids):
        if len(self.place) < ids.shape[1]:
            raise ValueError(f"block_size={len(self.place)}, but there are {ids.shape[1]} tokens")
        positions = self.place[: ids.shape[1]].expand(ids.shape)
        return self.drop(self.pos_emb(positions).add(self.tok_emb(ids.long())))


@alternative
class positions_counted_from_the_ids(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        positions = torch.ones_like(ids, dtype=torch.int64).cumsum(dim=1) - 1
        return self.dropout(F.embedding(ids.long(), self.tok_emb.weight) + self.pos_emb(positions))


@alternative
class positions_brought_to_the_ids(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        tokens = torch.cat((self.tok_emb.weight, self.pos_emb.weight))
        places = len(self.tok_emb.weight) + torch.arange(ids.shape[1]).to(ids.device)
        return self.dropout(tokens[ids.long()] + tokens[places])


def _refuse_outside_of(tokens, positions, ids):
    """Raise what the reference raises, for tables under whatever names."""
    vocab_size, block_size = len(tokens), len(positions)
    if ids.shape[1] > block_size:
        raise ValueError(f"at most {block_size} tokens; got {ids.shape[1]}")
    outside = [row for row in ids.flatten().tolist() if not 0 <= row < vocab_size]
    if outside:
        raise IndexError(f"ids must lie in 0..{vocab_size - 1}; got {outside[0]}")


@mistake(
    says="GPTEmbedding holds its tables under other names than tok_emb.weight, pos_emb.weight.",
    look="Which keys has `module.state_dict()`, and which should it have?",
)
class tables_under_other_names(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.02)

    def forward(self, ids):
        _refuse_outside_of(self.wte.weight, self.wpe.weight, ids)
        rows = self.wpe(torch.arange(ids.shape[1], device=ids.device))
        return self.dropout(self.wte(ids.long()) + rows)


@mistake(
    says="GPTEmbedding holds its tables under other names than tok_emb.weight, pos_emb.weight.",
    look="Which keys has `module.state_dict()`, and which should it have?",
)
class tables_under_other_names_looked_for_in_vain(tables_under_other_names):
    def forward(self, ids):
        _refuse_outside_of(self.tok_emb.weight, self.pos_emb.weight, ids)
        return super().forward(ids)


@mistake(
    says="GPTEmbedding adds its whole position table, which fits sentences of block_size only.",
    look="How many position rows does a sentence of T tokens need?",
)
class whole_position_table(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        return self.dropout(self.tok_emb(ids.long()) + self.pos_emb.weight)


@mistake(
    says="GPTEmbedding cuts the token rows off from their table: they never learn.",
    look="What does `.detach()` do to training?",
)
class detached_tokens(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb(torch.arange(ids.shape[1], device=ids.device))
        return self.dropout(self.tok_emb(ids.long()).detach() + rows)


@mistake(
    says="GPTEmbedding drops a tenth of the elements if nobody says how many.",
    look="Which default does the argument dropout have?",
)
class a_tenth_by_default(GPTEmbedding):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.1):
        super().__init__(vocab_size, block_size, n_embd, dropout)


@mistake(
    says="GPTEmbedding takes the last rows of its position table instead of the first.",
    look="Which row belongs to the first token of a sentence shorter than block_size?",
)
class last_position_rows(GPTEmbedding):
    def forward(self, ids):
        _refuse_bad(self, ids)
        rows = self.pos_emb.weight[len(self.pos_emb.weight) - ids.shape[1] :]
        return self.dropout(self.tok_emb(ids.long()) + rows)


@mistake(
    says="GPTEmbedding passes no gradient back in evaluation mode.",
    look="What does evaluation mode switch off: dropout or gradients?",
)
class no_gradient_in_evaluation(GPTEmbedding):
    def forward(self, ids):
        with torch.set_grad_enabled(self.training):
            return super().forward(ids)


# --- count_parameters ---------------------------------------------------------------------------


mistake, alternative, error = entries("count_parameters")


@mistake(
    says="count_parameters counts the tensors, not the numbers in them.",
    look="How many numbers are there in a 3 × 2 matrix?",
)
def counts_tensors(module):
    return sum(1 for p in module.parameters() if p.requires_grad)


@mistake(
    says="count_parameters counts frozen parameters, too.",
    look="Which attribute of a parameter says whether it is trained?",
    common=True,
)
def counts_frozen_ones(module):
    return sum(p.numel() for p in module.parameters())


@mistake(
    says="count_parameters counts frozen parameters only.",
    look="What does `requires_grad` say?",
)
def counts_only_frozen_ones(module):
    return sum(p.numel() for p in module.parameters() if not p.requires_grad)


@mistake(
    says="count_parameters counts whatever would be saved, buffers and shared tables included.",
    look="Is everything in a state dict trained?",
    common=True,
)
def counts_the_state_dict(module):
    return sum(tensor.numel() for tensor in module.state_dict().values())


@mistake(
    says="count_parameters counts buffers along with the parameters.",
    look="Does an optimizer ever change a buffer?",
)
def counts_buffers(module):
    tensors = itertools.chain((p for p in module.parameters() if p.requires_grad), module.buffers())
    return sum(tensor.numel() for tensor in tensors)


@mistake(
    says="count_parameters counts a shared parameter once for each place that shares it.",
    look="How many numbers does a tied table hold?",
)
def counts_shared_ones_twice(module):
    named = module.named_parameters(remove_duplicate=False)
    return sum(p.numel() for _, p in named if p.requires_grad)


@mistake(
    says="count_parameters counts a shared parameter once for each place that shares it.",
    look="How many numbers does a tied table hold?",
    common=True,
)
def adds_up_module_by_module(module):
    own = sum(p.numel() for p in module.parameters(recurse=False) if p.requires_grad)
    return own + sum(adds_up_module_by_module(child) for child in module.children())


@mistake(
    says="count_parameters looks at a module's own parameters, not into the modules within.",
    look="Where does a Sequential keep its parameters?",
)
def stays_at_the_surface(module):
    return sum(p.numel() for p in module.parameters(recurse=False) if p.requires_grad)


@mistake(
    says="count_parameters looks one level down, and no deeper.",
    look="What about a layer in a list in a block?",
)
def one_level_down(module):
    found = dict.fromkeys(module.parameters(recurse=False))
    for child in module.children():
        found.update(dict.fromkeys(child.parameters(recurse=False)))
    return sum(p.numel() for p in found if p.requires_grad)


@mistake(
    says="count_parameters takes two parameters for one because they look alike.",
    look="What makes two parameters the same parameter?",
)
def same_shape_same_parameter(module):
    return sum(math.prod(s) for s in {p.shape for p in module.parameters() if p.requires_grad})


@mistake(
    says="count_parameters takes two parameters for one because they look alike.",
    look="What makes two parameters the same parameter?",
)
def equal_values_same_parameter(module):
    found = []
    for p in module.parameters():
        if p.requires_grad and not any(p.shape == q.shape and torch.equal(p, q) for q in found):
            found.append(p)
    return sum(p.numel() for p in found)


@mistake(
    says='count_parameters takes the memory address for the parameter; on "meta" all have 0.',
    look="Which address does `data_ptr()` give for a tensor without data?",
)
def same_address_same_parameter(module):
    return sum({p.data_ptr(): p.numel() for p in module.parameters() if p.requires_grad}.values())


@mistake(
    says="count_parameters multiplies rows and columns, which only a matrix has.",
    look="What are the shapes of a bias and of a single number?",
)
def rows_times_columns(module):
    return sum(p.shape[0] * p.shape[-1] for p in module.parameters() if p.requires_grad and p.dim())


@mistake(
    says="count_parameters counts rows.",
    look="What does `len` give for a matrix?",
)
def counts_rows(module):
    return sum(len(p) if p.dim() else 1 for p in module.parameters() if p.requires_grad)


@mistake(
    says="count_parameters counts bytes, not elements.",
    look="How many bytes has a float32?",
)
def counts_bytes(module):
    return sum(p.numel() * p.element_size() for p in module.parameters() if p.requires_grad)


@mistake(
    says="count_parameters counts the elements that differ from zero.",
    look="Is a weight that happens to be zero trained?",
)
def counts_what_is_not_zero(module):
    return sum(int(torch.count_nonzero(p)) for p in module.parameters() if p.requires_grad)


@mistake(
    says="count_parameters gives back a tensor instead of an int.",
    look="What type has the result?",
)
def counts_in_a_tensor(module):
    return torch.tensor([p.numel() for p in module.parameters() if p.requires_grad] + [0]).sum()


@mistake(
    says="count_parameters gives the number in millions.",
    look="What unit does the answer have?",
)
def counts_in_millions(module):
    return sum(p.numel() for p in module.parameters() if p.requires_grad) / 1e6


@mistake(
    says="count_parameters thaws the whole module before it counts.",
    look="What should the module look like after it was counted?",
)
def thaws_the_module(module):
    count = sum(p.numel() for p in module.parameters() if p.requires_grad)
    module.requires_grad_(True)
    return count


@alternative
def a_set_of_identities(module):
    sizes = {id(p): p.numel() for _, p in module.named_parameters() if p.requires_grad}
    return sum(sizes.values())


@alternative
def a_walk_over_all_modules(module):
    seen, total = set(), 0
    for part in module.modules():
        for p in part._parameters.values():
            if p is not None and p.requires_grad and p not in seen:
                seen.add(p)
                total += math.prod(p.shape)
    return total


@alternative
def trainable_ones_through_filter(module):
    trainable = filter(operator.attrgetter("requires_grad"), module.parameters())
    return sum(map(torch.numel, trainable))


@mistake(
    says="count_parameters counts what is called weight and leaves the biases out.",
    look="Which parameters of `nn.Linear` are trained?",
)
def counts_weights_alone(module):
    named = module.named_parameters()
    return sum(p.numel() for name, p in named if p.requires_grad and name.endswith("weight"))


# --- tied_logits --------------------------------------------------------------------------------


mistake, alternative, error = entries("tied_logits")


@mistake(
    says="tied_logits multiplies by the table as it is, which fits only if V = C.",
    look="Which axis of the table is summed over?",
    common=True,
)
def forgets_to_transpose(x, weight):
    return x @ weight


@mistake(
    says="tied_logits leaves the table as it is whenever its shape lets it.",
    look="What happens when V = C?",
)
def transposes_by_shape(x, weight):
    return x @ (weight if weight.shape[0] == x.shape[-1] else weight.T)


@mistake(
    says="tied_logits turns the scores into probabilities.",
    look="Are logits taken before or after the softmax?",
    common=True,
)
def with_softmax(x, weight):
    return (x @ weight.T).softmax(dim=-1)


@mistake(
    says="tied_logits gives log-probabilities, not scores.",
    look="Are logits taken before or after the softmax?",
)
def with_log_softmax(x, weight):
    return (x @ weight.T).log_softmax(dim=-1)


@mistake(
    says="tied_logits divides the scores by √C, as attention does.",
    look="Does the definition contain a scale?",
)
def scaled_like_attention(x, weight):
    return x @ weight.T / x.shape[-1] ** 0.5


@mistake(
    says="tied_logits compares directions: it divides the table's rows by their lengths.",
    look="Does the length of a row matter for a dot product?",
)
def cosines_of_rows(x, weight):
    return x @ F.normalize(weight, dim=-1).T


@mistake(
    says="tied_logits scores the last token of each sentence alone.",
    look="For how many tokens does a model predict while it is trained?",
)
def last_token_alone(x, weight):
    return x[:, -1:] @ weight.T


@mistake(
    says="tied_logits mixes up tokens and words: it gives (B, V, T).",
    look="Print the shape of the result.",
)
def words_before_tokens(x, weight):
    return weight @ x.transpose(1, 2)


@mistake(
    says="tied_logits gives (B·T, V).",
    look="Print the shape of the result.",
)
def batch_and_time_in_one(x, weight):
    return x.flatten(0, 1) @ weight.T


@mistake(
    says="tied_logits reshapes (V, B·T) into (B, T, V) instead of moving the axes.",
    look="Does `view` move numbers, or only rename their places?",
)
def reshaped_instead_of_transposed(x, weight):
    return (weight @ x.reshape(-1, x.shape[-1]).T).view(*x.shape[:2], len(weight))


@mistake(
    says="tied_logits reads the table's memory as (C, V) instead of transposing it.",
    look="Does `view` move numbers, or only rename their places?",
    common=True,
)
def table_reshaped(x, weight):
    return x @ weight.reshape(weight.shape[1], weight.shape[0])


@mistake(
    says="tied_logits cuts the table off, so it learns as input only.",
    look="Which arguments should get a gradient?",
)
def detached_table(x, weight):
    return x @ weight.detach().T


@mistake(
    says="tied_logits cuts x off, so nothing before the projection learns.",
    look="Which arguments should get a gradient?",
)
def detached_x(x, weight):
    return x.detach() @ weight.T


@mistake(
    says="tied_logits computes in float32 and stays there.",
    look="Which dtype has the result for float64 arguments?",
)
def in_float32(x, weight):
    return x.float() @ weight.float().T


@mistake(
    says="tied_logits makes a new Linear with random weights instead of using the table.",
    look="Where do the numbers of the output projection come from?",
)
def an_untied_layer(x, weight):
    return nn.Linear(weight.shape[1], weight.shape[0], bias=False).to(weight)(x)


@mistake(
    says="tied_logits takes the mean of the products instead of their sum.",
    look="What is a dot product?",
)
def mean_of_products(x, weight):
    return (x.unsqueeze(2) * weight).mean(dim=-1)


@mistake(
    says="tied_logits subtracts the mean score of each token.",
    look="What is done to the scores after the product?",
)
def centered_scores(x, weight):
    scores = x @ weight.T
    return scores - scores.mean(dim=-1, keepdim=True)


@mistake(
    says="tied_logits builds its result on the CPU, number by number.",
    look="On which device is the result when x is on a GPU?",
)
def numbers_on_the_cpu(x, weight):
    scores = torch.empty(*x.shape[:2], len(weight), dtype=x.dtype)
    for word in range(len(weight)):
        scores[..., word] = (x * weight[word]).sum(-1)
    return scores


@alternative
def as_a_linear_layer(x, weight):
    return F.linear(x, weight)


@alternative
def as_einsum(x, weight):
    return torch.einsum("btc, vc -> btv", x, weight)


@alternative
def products_summed(x, weight):
    return (x[:, :, None, :] * weight[None, None]).sum(-1)


@alternative
def word_by_word_in_float64(x, weight):
    scores = [(x.double() * row).sum(dim=-1) for row in weight.double()]
    return torch.stack(scores, dim=-1).to(x.dtype)


@alternative
def batched_products(x, weight):
    return torch.bmm(x, weight.mT.expand(len(x), -1, -1))


@mistake(
    says="tied_logits normalises the tokens and the rows: cosines instead of dot products.",
    look="Does a row twice as long give another score?",
)
def cosines_of_tokens_and_rows(x, weight):
    return F.normalize(x, dim=-1) @ F.normalize(weight, dim=-1).T


@mistake(
    says="tied_logits copies the table into a new layer, so no gradient comes back to it.",
    look="Which tensor learns: the table that was given, or a layer's own weight?",
)
def table_copied_into_a_layer(x, weight):
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    with torch.no_grad():
        layer.weight.copy_(weight)
    return layer(x)


# --- scalar_embedding ---------------------------------------------------------------------------


mistake, alternative, error = entries("scalar_embedding")


@mistake(
    says="scalar_embedding joins the two rows into one long list.",
    look="What does `+` do between two lists?",
    common=True,
)
def joins_the_rows(wte, wpe, token_id, pos_id):
    return wte[token_id] + wpe[pos_id]


@mistake(
    says="scalar_embedding mixes up the two ids.",
    look="Which id numbers words, and which numbers places?",
)
def swaps_the_ids(wte, wpe, token_id, pos_id):
    return [t + p for t, p in zip(wte[pos_id], wpe[token_id], strict=True)]


@mistake(
    says="scalar_embedding ignores the position and always takes row 0.",
    look="What changes when the same word stands elsewhere?",
)
def always_position_zero(wte, wpe, token_id, pos_id):
    return [t + p for t, p in zip(wte[token_id], wpe[0], strict=True)]


@mistake(
    says="scalar_embedding counts positions from 1.",
    look="Which row belongs to position 0?",
)
def position_off_by_one(wte, wpe, token_id, pos_id):
    return [t + p for t, p in zip(wte[token_id], wpe[pos_id - 1], strict=True)]


@mistake(
    says="scalar_embedding leaves the position row out.",
    look="Which rows are added?",
)
def token_row_alone(wte, wpe, token_id, pos_id):
    return list(wte[token_id])


@mistake(
    says="scalar_embedding multiplies where it should add.",
    look="How are the two rows put together?",
)
def multiplies(wte, wpe, token_id, pos_id):
    return [t * p for t, p in zip(wte[token_id], wpe[pos_id], strict=True)]


@mistake(
    says="scalar_embedding averages the two rows instead of adding them.",
    look="How are the two rows put together?",
)
def averages(wte, wpe, token_id, pos_id):
    return [(t + p) / 2 for t, p in zip(wte[token_id], wpe[pos_id], strict=True)]


@mistake(
    says="scalar_embedding adds into the token table itself, so the word changes for good.",
    look="Is the row a copy, or is it the table's own?",
    common=True,
)
def adds_into_the_table(wte, wpe, token_id, pos_id):
    row = wte[token_id]
    for i, p in enumerate(wpe[pos_id]):
        row[i] = row[i] + p
    return row


@mistake(
    says="scalar_embedding turns everything into floats, which autograd cannot follow.",
    look="What is lost when a scalar that learns becomes a float?",
)
def turns_into_floats(wte, wpe, token_id, pos_id):
    return [float(t) + float(p) for t, p in zip(wte[token_id], wpe[pos_id], strict=True)]


@mistake(
    says="scalar_embedding goes through tensors, so floats lose half of their digits.",
    look="Which precision has `torch.tensor(0.1)`?",
)
def through_tensors(wte, wpe, token_id, pos_id):
    return (torch.tensor(wte[token_id]) + torch.tensor(wpe[pos_id])).tolist()


@mistake(
    says="scalar_embedding takes a column of each table instead of a row.",
    look="What does the first index of a list of lists select?",
)
def columns_of_the_tables(wte, wpe, token_id, pos_id):
    return [t[token_id % len(t)] + p[pos_id % len(p)] for t, p in zip(wte, wpe, strict=False)]


@mistake(
    says="scalar_embedding adds every number of one row to every number of the other.",
    look="How many numbers should come back?",
)
def every_pair(wte, wpe, token_id, pos_id):
    return [t + p for t in wte[token_id] for p in wpe[pos_id]]


@mistake(
    says="scalar_embedding adds all of it up to one number.",
    look="How many numbers should come back?",
)
def adds_up_to_one_number(wte, wpe, token_id, pos_id):
    return sum(wte[token_id]) + sum(wpe[pos_id])


@mistake(
    says="scalar_embedding gives back an iterator, which is empty after one pass.",
    look="What does `map` or a generator expression make?",
)
def gives_an_iterator(wte, wpe, token_id, pos_id):
    return map(operator.add, wte[token_id], wpe[pos_id])


@mistake(
    says="scalar_embedding leaves the last number out.",
    look="Where does the loop end?",
)
def last_number_missing(wte, wpe, token_id, pos_id):
    return [wte[token_id][i] + wpe[pos_id][i] for i in range(max(1, len(wte[token_id]) - 1))]


@alternative
def by_index(wte, wpe, token_id, pos_id):
    result = []
    for i in range(len(wte[token_id])):
        result.append(wte[token_id][i] + wpe[pos_id][i])
    return result


@alternative
def by_operator(wte, wpe, token_id, pos_id):
    return list(map(operator.add, wte[token_id], wpe[pos_id]))


@alternative
def by_sum_of_pairs(wte, wpe, token_id, pos_id):
    return [sum(pair[1:], pair[0]) for pair in zip(wte[token_id], wpe[pos_id], strict=False)]


@alternative
def into_a_copy(wte, wpe, token_id, pos_id):
    total = wte[token_id].copy()
    for i, p in enumerate(wpe[pos_id]):
        total[i] = total[i] + p
    return total


@mistake(
    says="scalar_embedding adds with `sum`, which starts from the number 0.",
    look="What does `sum` add the first of your two elements to?",
)
def sums_that_start_from_zero(wte, wpe, token_id, pos_id):
    return [sum(pair) for pair in zip(wte[token_id], wpe[pos_id], strict=True)]
