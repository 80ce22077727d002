"""Lesson 1: known mistakes and legitimate alternatives."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries
from solutions.lookup import check_ids, lookup

mistake, alternative, error = entries("lookup")

_PICK = "weight[ids]"

mistake(
    {_PICK: "one_hot_lookup(weight, ids)"},
    {_PICK: "torch.einsum('...v,vc->...c', F.one_hot(ids, len(weight)).float(), weight)"},
    says="lookup computes with every row of the table, also with those that no id names.",
    look="How many rows of the table does one id need?",
    common=True,
)
mistake(
    {_PICK: "weight[:, ids]"},
    {_PICK: "weight[:, ids].T"},
    {_PICK: "weight.T[ids % weight.shape[1]]"},
    says="lookup picks columns of the table instead of rows.",
    look="Which axis of `weight` is numbered by the ids?",
    common=True,
)
mistake(
    {_PICK: "F.embedding(weight, ids)"},
    {"ids, vocab_size=len(weight)": "weight, vocab_size=len(ids)"},
    says="lookup confuses its arguments: it uses the table as ids, and the ids as the table.",
    look="What is the order of the two arguments, here and wherever you pass them on?",
    common=True,
)
mistake(
    {_PICK: "weight[ids.flatten()]"},
    {_PICK: "weight.index_select(0, ids.flatten())"},
    says="lookup returns one long list of rows and loses the shape of the ids.",
    look="What is the shape of the result for ids of shape (B, T)?",
    common=True,
)
mistake(
    {_PICK: "weight.index_select(0, ids)"},
    {_PICK: "torch.stack([weight[int(row)] for row in ids])"},
    says="lookup takes only ids with a single axis.",
    look="What is the shape of the ids of a batch, and what does your way of reading want?",
)
mistake(
    {"vocab_size=len(weight)": "vocab_size=weight.shape[-1]"},
    says="lookup checks the ids against C, the number of features.",
    look="Which axis of `weight` do the ids number, and how long is it?",
)
mistake(
    {_PICK: "weight[ids - 1]"},
    says="lookup takes the row before the one that an id names, as if ids began at 1.",
    look="Which id does the first row have, 0 or 1?",
)
mistake(
    {_PICK: "weight[ids].mean(dim=-2)"},
    {_PICK: "weight[ids].sum(dim=-2)"},
    {_PICK: "F.embedding_bag(ids, weight)"},
    says="lookup adds up or averages the rows that it finds.",
    look="Does each id get its own row in your result?",
)
mistake(
    {_PICK: "F.embedding(ids, weight, padding_idx=0)"},
    {_PICK: "F.embedding(ids, weight, padding_idx=-1)"},
    says="lookup gives the first or the last row no gradient.",
    look="Which rows does your code treat unlike the others? What does `padding_idx` do?",
)
mistake(
    {_PICK: "F.embedding(ids, weight, scale_grad_by_freq=True)"},
    says="lookup divides the gradient of a row by how often it was looked up.",
    look="Which arguments does `F.embedding` need here, and what do the others do?",
)
mistake(
    {_PICK: "F.embedding(ids, weight.detach(), max_norm=1.0)"},
    says="lookup shortens long rows in the table that it reads.",
    look="What does `max_norm` do to the table?",
)
mistake(
    {_PICK: "weight[ids] * math.sqrt(weight.shape[1])"},
    says="lookup multiplies the rows by √C.",
    look="Does `lookup` compute rows, or copy them?",
)


@alternative
def embedding_of_pytorch(weight, ids):
    check_ids(ids, len(weight))
    return F.embedding(ids, weight)


alternative(
    {_PICK: "F.embedding(ids, weight, sparse=True)"},
    {_PICK: "weight.index_select(0, ids.view(-1)).view(*ids.shape, -1)"},
    {_PICK: "weight.gather(0, ids.reshape(-1, 1).tile(weight.shape[1])).reshape(*ids.shape, -1)"},
    {_PICK: "torch.stack([weight[row] for row in ids.flatten()]).unflatten(0, ids.shape)"},
)
error(
    "IndexError: index 3 is out of bounds for dimension 1 with size 3",
    "Usually a list of lists is the index: PyTorch takes one list for each axis.",
)
error(
    "RuntimeError: Index tensor must have the same number of dimensions as input tensor",
    "Usually `gather` gets the ids as they are: it wants as many axes as the table has.",
)


mistake, alternative, error = entries("one_hot_lookup")

_ONE_HOT = "F.one_hot(ids, num_classes=len(weight))"
_PRODUCT = "one_hot.float() @ weight"

mistake(
    {".float()": ""},
    {".float()": ".double()"},
    {".float()": ".int()"},
    says="one_hot_lookup multiplies one-hot rows whose dtype isn't the table's.",
    look="Which dtype does `F.one_hot` return? Which dtypes can PyTorch multiply with each other?",
    common=True,
)
mistake(
    {", num_classes=len(weight)": ""},
    {"len(weight)": "int(ids.max()) + 1"},
    says="one_hot_lookup makes its one-hot rows only as long as the largest id requires.",
    look="How long is a one-hot row if the batch does not contain the last word?",
    common=True,
)
mistake(
    {_PRODUCT: "(one_hot @ weight.long()).float()"},
    says="one_hot_lookup cuts off the fractions in the table.",
    look="What is a weight of 0.7 as an integer?",
)
mistake(
    {"len(weight)": "len(weight) + 1"},
    says="one_hot_lookup makes its one-hot rows V + 1 numbers long.",
    look="How many ids are there from 0 to V - 1?",
)
mistake(
    {"len(weight)": "weight.shape[1]"},
    {"len(weight)": "weight.shape[1]", "@ weight": "@ weight.T"},
    says="one_hot_lookup makes its one-hot rows C numbers long.",
    look="Which axis of the table do the ids number?",
)
mistake(
    {"one_hot(ids,": "one_hot((ids + 1) % len(weight),"},
    {"one_hot(ids,": "one_hot(ids - 1,"},
    {_ONE_HOT: "ids[..., None] == torch.arange(1, len(weight) + 1)"},
    says="one_hot_lookup puts the 1 next to the column of the id, not into it.",
    look="Which entry of the one-hot row for id 0 is the 1?",
)
mistake(
    {"one_hot(ids,": "one_hot(ids.flatten(),"},
    says="one_hot_lookup returns one long list of rows and loses the shape of the ids.",
    look="What is the shape of the result for ids of shape (B, T)?",
)
mistake(
    {_PRODUCT: "torch.einsum('nv,vc->nc', one_hot.float(), weight)"},
    {_PRODUCT: "torch.einsum('btv,vc->btc', one_hot.float(), weight)"},
    {_PRODUCT: "torch.mm(one_hot.float(), weight)"},
    says="one_hot_lookup expects ids with one or two axes, not ids of any shape.",
    look="How many axes do the one-hot rows have for ids (T,), and for ids (B, T)?",
)
mistake(
    {" @ weight": " @ weight / len(weight)"},
    says="one_hot_lookup takes the mean over the vocabulary instead of the sum.",
    look="What is a matrix product divided by, if anything?",
)
mistake(
    {_PRODUCT: "(one_hot.float() @ weight).mean(dim=-2)"},
    {_PRODUCT: "(one_hot.float() @ weight).sum(dim=-2)"},
    says="one_hot_lookup adds up or averages the rows of a text: one row is left of all.",
    look="How many rows should the result have for a text of three words?",
)
mistake(
    {" @ weight": " @ F.pad(weight[1:], (0, 0, 1, 0))"},
    {" @ weight": " @ F.pad(weight[:-1], (0, 0, 0, 1))"},
    says="one_hot_lookup omits the first or the last row of the table from its sum.",
    look="Where does the sum over the words begin, and where does it end?",
)
mistake(
    {"one_hot.float()": "one_hot.float().softmax(dim=-1)"},
    says="one_hot_lookup takes a softmax of its one-hot rows, so every row has a share.",
    look="What should the other rows of the table be multiplied by?",
)
mistake(
    {" @ weight": ""},
    says="one_hot_lookup returns the one-hot rows and never multiplies.",
    look="What should you do with the one-hot rows when they are made?",
)
mistake(
    {_PRODUCT: "weight @ one_hot.float()"},
    {"one_hot.float()": "one_hot.float().T"},
    {" @ weight": " @ weight.T"},
    says="one_hot_lookup multiplies two shapes that do not fit: not (..., V) times (V, C).",
    look="Which factor comes first, and is one of them transposed?",
)


@alternative
def rows_of_the_identity(weight, ids):
    return torch.eye(len(weight))[ids] @ weight


@alternative
def a_one_into_zeros(weight, ids):
    one_hot = torch.zeros(*ids.shape, len(weight))
    one_hot.scatter_(-1, ids.unsqueeze(-1), 1.0)
    return torch.matmul(one_hot, weight)


alternative(
    {_ONE_HOT: "ids[..., None] == torch.arange(len(weight))"},
    {_PRODUCT: "F.linear(one_hot.type(torch.float32), weight.T)"},
    {_PRODUCT: "torch.tensordot(one_hot.float(), weight, dims=1)"},
    {_PRODUCT: "torch.where(one_hot[..., None] > 0, weight, 0).sum(-2)"},
)


@alternative
def sum_over_the_vocabulary(weight, ids):
    total = torch.zeros(*ids.shape, weight.shape[1])
    for row in range(len(weight)):
        total = total + (ids == row).float()[..., None] * weight[row]
    return total


error(
    "RuntimeError: self must be a matrix",
    "Usually you used `torch.mm`: one-hot rows of ids (B, T) have three axes, (B, T, V).",
)
error(
    "RuntimeError: Index tensor must have the same number of dimensions as self tensor",
    "Usually `scatter` gets the ids as they are: (...) where the one-hot rows are (..., V).",
)


mistake, alternative, error = entries("one_hot_bytes")

_SIZE = "batch_size * seq_len * vocab_size * bytes_per_element"

mistake(
    {" * bytes_per_element": ""},
    says="one_hot_bytes counts the numbers, not their bytes.",
    look="How many bytes does one float32 take?",
    common=True,
)
mistake(
    *({"* bytes_per_element": f"* {n_bytes}"} for n_bytes in (2, 4, 8)),
    says="one_hot_bytes multiplies by a fixed number of bytes, whatever `bytes_per_element` is.",
    look="Where do you use `bytes_per_element`?",
)
mistake(
    {"vocab_size * bytes_per_element": "(vocab_size * bytes_per_element + 8)"},
    says="one_hot_bytes counts the ids, too, at 8 bytes each.",
    look="Which tensor does the docstring ask for, the ids or what is made of them?",
)
mistake(
    {"seq_len * vocab_size": "vocab_size * vocab_size"},
    {"batch_size * seq_len": "vocab_size"},
    says="one_hot_bytes counts a one-hot row for every word of the vocabulary, not of the batch.",
    look="Which of the three sides says how many ids a text has?",
)
mistake(
    *(
        {"* bytes_per_element": f"* bytes_per_element {unit}"}
        for unit in ("/ 2**30", "/ 2**20", "/ 1e6", "/ 1e9", "// 2**30", "// 2**20")
    ),
    {"return ": "return round(", "* bytes_per_element": "* bytes_per_element / 10**9, 2)"},
    says="one_hot_bytes answers in a unit larger than bytes, such as GiB.",
    look="Which unit does the name of the function promise?",
    common=True,
)
mistake(
    {"* bytes_per_element": "* bytes_per_element * 8"},
    says="one_hot_bytes answers in bits.",
    look="Which unit does the name of the function promise?",
)
mistake(
    {"* bytes_per_element": "* bytes_per_element // 8"},
    says="one_hot_bytes treats `bytes_per_element` as bits.",
    look="What is the unit of `bytes_per_element`?",
)
mistake(
    {_SIZE: "int(np.prod(np.float32([vocab_size, batch_size, seq_len, bytes_per_element])))"},
    {_SIZE: "int(torch.tensor((batch_size, seq_len, vocab_size, bytes_per_element)).prod().int())"},
    says="one_hot_bytes computes in 32 bits, too few for a large whole number.",
    look="What is the largest int32? Which is the first whole number that float32 skips?",
)
mistake(
    {_SIZE: "1.0 * batch_size * seq_len * vocab_size * bytes_per_element"},
    {_SIZE: "int(batch_size * seq_len * vocab_size * (8 * bytes_per_element) / 8)"},
    says="one_hot_bytes computes with a float, which rounds a large whole number.",
    look="Which of your operations gives a float, and how many digits does a float hold?",
)
mistake(
    {"seq_len * vocab_size": "(seq_len + vocab_size)"},
    {"batch_size * seq_len * vocab_size": "(batch_size + seq_len + vocab_size)"},
    says="one_hot_bytes adds where it should multiply.",
    look="How many numbers does a box of 2 by 3 by 5 hold?",
)
mistake(
    {
        "batch_size * seq_len * vocab_size": "torch.empty(batch_size, seq_len, vocab_size).numel()",
    },
    says="one_hot_bytes makes the tensor to measure it, which takes more memory than there is.",
    look="Can you tell the size of a tensor from its sides, without making it?",
)


@alternative
def product_of_the_sides(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return math.prod((bytes_per_element, vocab_size, seq_len, batch_size))


@alternative
def measured_without_memory(vocab_size, batch_size, seq_len, bytes_per_element=4):
    sizes = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32, 8: torch.int64}
    shape = batch_size, seq_len, vocab_size
    one_hot = torch.empty(shape, dtype=sizes[bytes_per_element], device="meta")
    return one_hot.element_size() * one_hot.nelement()


alternative({_SIZE: f"np.prod([{_SIZE.replace(' *', ',')}])"})


mistake, alternative, error = entries("lookup_backward")

_ADDED = "grad_weight.index_add(0, ids.flatten(), grad_output.reshape(-1, n_embd))"
_ONE_HOT_ROWS = "F.one_hot(ids, vocab_size).float()"


def _added_once(sums, ids, rows):
    sums[ids] += rows
    return sums


def _times(ids, vocab_size):
    """How often each row was looked up, but at least once; (V, 1)."""
    return ids.flatten().bincount(minlength=vocab_size).clamp(min=1)[:, None]


mistake(
    {_ADDED: "_added_once(grad_weight, ids, grad_output)"},
    {_ADDED: "grad_weight.index_put((ids,), grad_output)"},
    says="lookup_backward keeps only one of the gradients that a repeated row gets.",
    look="What does `table[[1, 1]] = rows` leave in row 1, and what does `+= rows`?",
    common=True,
)
mistake(
    {
        # the product instead of a third argument, for which PyTorch loads sympy in 0.3 s
        _ADDED: "torch.autograd.grad((lookup(grad_weight.requires_grad_(), ids) * grad_output)"
        ".sum(), grad_weight)[0]"
    },
    says="lookup_backward asks autograd, which records nothing inside `torch.no_grad()`.",
    look="Can you write down which entries of `grad_output` reach row k?",
    common=True,
)
mistake(
    {"return grad_weight": "grad_weight", "n_embd))": "n_embd))\n    return grad_weight"},
    says="lookup_backward returns its zeros, to which nothing was added.",
    look="What is the difference between `index_add` and `index_add_`?",
    common=True,
)
mistake(
    {"n_embd))": "n_embd)) / _times(ids, vocab_size)"},
    {"n_embd))": "n_embd)) * _times(ids, vocab_size)"},
    {_ADDED: f"{_ADDED[:-1]}) / _times(ids, vocab_size) ** 0.5"},
    says="lookup_backward scales the gradient of a row by how often it was looked up.",
    look="If id 1 occurs three times, how many gradients add up in its row?",
)
mistake(
    {"n_embd))": "n_embd)) / ids.numel()"},
    says="lookup_backward divides by the number of ids.",
    look="Is there a mean in `lookup`?",
)
mistake(
    {"grad_output.reshape(": "torch.ones_like(grad_output).reshape("},
    says="lookup_backward counts how often a row was looked up and ignores the gradient.",
    look="Where does `grad_output` enter?",
)
mistake(
    {"zeros(vocab_size,": "zeros(int(ids.max()) + 1,"},
    {"zeros(vocab_size,": "zeros(len(ids.unique()),"},
    says="lookup_backward makes only as many rows as this batch requires.",
    look="How many rows does the table have, whatever was looked up?",
)
mistake(
    {"flatten(),": "flatten()[1:],", "reshape(-1, n_embd)": "reshape(-1, n_embd)[1:]"},
    {"flatten(),": "flatten()[:-1],", "reshape(-1, n_embd)": "reshape(-1, n_embd)[:-1]"},
    says="lookup_backward leaves out the first or the last gradient.",
    look="Where does the loop over the ids begin, and where does it end?",
)
mistake(
    {"shape[-1]": "shape[1]"},
    {"shape[-1]": "shape[2]"},
    {"reshape(-1, n_embd)": "flatten(0, 1)"},
    says="lookup_backward expects ids with a fixed number of axes, such as (B, T).",
    look="What is the shape of the gradient for ids (N,), and for ids (B, T)? Where is C?",
)
mistake(
    {"zeros(vocab_size,": "zeros(vocab_size + 1,"},
    says="lookup_backward makes one more row than the table has.",
    look="How many rows does the table have, and how many does your gradient have?",
)
mistake(
    {"ids.flatten()": "ids", "output.reshape(-1, n_embd)": "output"},
    says="lookup_backward adds at ids that still have all their axes; only one axis works.",
    look="What are the shapes of the ids and of the gradients for a batch?",
)
mistake(
    {"output.reshape(-1, n_embd)": "output"},
    {_ADDED: f"{_ONE_HOT_ROWS}.flatten(0, -2).T @ grad_output"},
    says="lookup_backward flattens the ids, but not the gradients that belong to them.",
    look="Write both shapes down: how many rows of gradients are there for N flat ids?",
)
mistake(
    {"reshape(-1, n_embd)": "reshape(n_embd, -1).T"},
    says="lookup_backward splits the gradient in an order that does not match its rows.",
    look="Which numbers in `grad_output` belong to one position?",
)
mistake(
    {"index_add(0, ids.flatten(),": "scatter_add(0, ids.reshape(-1, 1),"},
    says="lookup_backward adds only the first feature.",
    look="How many columns does an index of shape (N, 1) reach in `scatter_add`?",
)
mistake(
    {_ADDED: f"{_ONE_HOT_ROWS}.transpose(-1, -2) @ grad_output"},
    says="lookup_backward gives every text of the batch its own table.",
    look="How many tables are there, and what happens to the texts' shares of one row?",
)


def _added_text_by_text(sums, texts, gradients):
    for text, gradient in zip(texts, gradients, strict=True):
        sums[text] += gradient
    return sums


mistake(
    {_ADDED: "_added_text_by_text(grad_weight, ids, grad_output)"},
    {
        _ADDED: "_added_text_by_text(grad_weight, ids.reshape(-1, ids.shape[-1]), "
        "grad_output.reshape(-1, ids.shape[-1], n_embd))"
    },
    says="lookup_backward counts a row once per text, even if the text looks it up twice.",
    look="What does `table[ids] += ...` do with repeated ids, even in a loop over texts?",
)


_sums_so_far = {}


@mistake(
    says="lookup_backward keeps adding to the sums of the previous call.",
    look="Where are the zeros made: once, or in every call?",
    forget=_sums_so_far.clear,
)
def sums_are_never_emptied(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = _sums_so_far.setdefault((vocab_size, n_embd), torch.zeros(vocab_size, n_embd))
    sums.index_add_(0, ids.flatten(), grad_output.reshape(-1, n_embd))
    return sums.clone()


@alternative
def one_hot_transposed_times_gradient(grad_output, ids, vocab_size):
    one_hot = F.one_hot(ids.flatten(), vocab_size).float()
    return one_hot.T @ grad_output.reshape(-1, grad_output.shape[-1])


alternative(
    {"index_add(": "index_add_("},
    {_ADDED: "grad_weight.index_put_((ids,), grad_output, accumulate=True)"},
    {"index_add(0, ids.flatten(),": "scatter_add(0, ids.reshape(-1, 1).tile(n_embd),"},
    {_ADDED: f"torch.einsum('...v,...c->vc', {_ONE_HOT_ROWS}, grad_output)"},
    {_ADDED: "torch.ops.aten.embedding_dense_backward(grad_output, ids, vocab_size, -1, False)"},
)


@alternative
def numpy_adds_at_the_rows(grad_output, ids, vocab_size):
    sums = np.zeros((vocab_size, grad_output.shape[-1]), dtype=np.float32)
    np.add.at(sums, ids.numpy(), grad_output.detach().numpy())
    return torch.from_numpy(sums)


@alternative
def one_id_after_another(grad_output, ids, vocab_size):
    rows, gradients = ids.reshape(-1), grad_output.reshape(-1, grad_output.shape[-1])
    sums = torch.zeros(vocab_size, grad_output.shape[-1])
    for i in range(len(rows)):
        sums[rows[i]] += gradients[i]
    return sums


error(
    "IndexError: index_add_(): Index is supposed to be a vector",
    "Usually the ids still have all their axes, (B, T), where `index_add` wants one.",
)
error(
    "RuntimeError: index_add_(): Number of indices (12) should be equal to source.size(dim): (3)",
    "Usually the gradient is not cut into rows (N, C), one for each id: which axis of it is C?",
)
error(
    "RuntimeError: Index tensor must have the same number of dimensions as self tensor",
    "Usually `scatter_add` gets N flat ids, where the rows that it adds are (N, C).",
)


mistake, alternative, error = entries("TokenEmbedding")

_START = "0.02 * torch.randn(vocab_size, n_embd)"
_CALL = "lookup(self.weight, ids)"
_EMPTY = "torch.empty(vocab_size, n_embd)"
_IN_2000 = *range(5, 38, 4), *range(43, 104, 4)
STANDARD_DEVIATIONS = *(n / 2000 for n in _IN_2000), 0.1, 0.02**0.5, 0.2
"""Wrong ones, so near to each other that for any other small one there is one within 0.001."""

mistake(
    {"0.02 * ": ""},
    {"0.02 * ": "0.02 + "},
    says="TokenEmbedding starts from the standard deviation 1, as `nn.Embedding` does.",
    look="Which standard deviation does the exercise ask for?",
    common=True,
)
mistake(
    {"0.02 * ": "0.02**2 * "},
    says="TokenEmbedding uses the variance 0.02² as the standard deviation.",
    look="Does `torch.normal` want the standard deviation or its square?",
    common=True,
)
mistake(
    {"nn.Parameter(": "torch.as_tensor("},
    {"nn.Parameter(0.02 * ": "0.02 * nn.Parameter("},
    says="TokenEmbedding keeps its table as a tensor that no optimizer finds.",
    look="What turns a tensor into something that `parameters()` lists, and what does a product?",
    common=True,
)
mistake(
    {"self.weight = ": "self.table = ", "lookup(self.weight": "lookup(self.table"},
    {
        "self.weight = nn.": "self.embedding = nn.Embedding(vocab_size, n_embd)\n"
        "        self.embedding.weight = nn.",
        "lookup(self.weight": "lookup(self.embedding.weight",
    },
    says="TokenEmbedding stores its table under another name.",
    look="Which names does `named_parameters()` list?",
    common=True,
)
mistake(
    *({"0.02 * ": f"{std} * "} for std in STANDARD_DEVIATIONS),
    says="TokenEmbedding starts from a standard deviation other than 0.02.",
    look="What is the square in N(0, 0.02²), and what is its root?",
)
mistake(
    {"0.02 * ": "0.02 + 0.02 * "},
    says="TokenEmbedding starts from the mean 0.02.",
    look="Which of the two numbers in N(0, 0.02²) is the mean?",
)
mistake(
    {"randn": "rand"},
    {"0.02 * torch.randn(": "torch.rand("},
    {"torch.randn(vocab_size, n_embd)": "(2 * torch.rand(vocab_size, n_embd) - 1)"},
    {_START: "0.02 * math.sqrt(12) * (torch.rand(vocab_size, n_embd) - 0.5)"},
    says="TokenEmbedding starts from uniform numbers.",
    look="Which distribution does the N in N(0, 0.02²) stand for?",
)
mistake(
    *(
        {_START: f"nn.init.trunc_normal_({_EMPTY}, std={std}, a=-{end}, b={end})"}
        for std, end in ((0.02, 0.02), (0.02, 0.04), (0.0227, 0.0455))
    ),
    says="TokenEmbedding cuts off its initial numbers at two standard deviations or fewer.",
    look="What share of the numbers from N(0, 0.02²) is beyond ±0.04?",
)
mistake(
    {"0.02 * ": "n_embd**-0.5 * "},
    {_START: f"nn.init.xavier_normal_({_EMPTY})"},
    {_START: f"nn.init.kaiming_normal_({_EMPTY})"},
    says="TokenEmbedding starts with a spread that depends on the sizes of the table.",
    look="Does 0.02 depend on C or on V?",
)
mistake(
    {"randn": "zeros"},
    {"randn": "ones"},
    says="TokenEmbedding starts with the same number everywhere, so all tokens are the same.",
    look="How would two tokens ever become different?",
)
mistake(
    {"torch.randn(vocab_size, n_embd)": "F.pad(torch.randn(vocab_size, n_embd)[1:], (0, 0, 1, 0))"},
    says="TokenEmbedding starts with zeros in row 0.",
    look="Is id 0 different from the others?",
)
mistake(
    {"torch.randn(vocab_size, n_embd)": "torch.randn(n_embd).repeat(vocab_size, 1)"},
    {"torch.randn(vocab_size, n_embd)": "torch.randn(64, n_embd)[torch.arange(vocab_size) % 64]"},
    says="TokenEmbedding starts with the same row for several tokens.",
    look="How many numbers did you draw?",
)
mistake(
    {"n_embd))": "n_embd, generator=torch.Generator().manual_seed(0)))"},
    says="TokenEmbedding draws from its own generator, so manual_seed has no effect.",
    look="Which generator does `torch.manual_seed` seed?",
)
mistake(
    {"(vocab_size, n_embd)": "(n_embd, vocab_size)", "(self.weight,": "(self.weight.T,"},
    says="TokenEmbedding holds its table transposed, (C, V).",
    look="Which axis of `weight` do the ids number?",
)
mistake(
    {
        "n_embd))": "n_embd))\n        self.bias = nn.Parameter(torch.zeros(n_embd))",
        _CALL: "lookup(self.weight, ids) + self.bias",
    },
    says="TokenEmbedding adds a bias, a second parameter.",
    look="What does a table contain besides its rows?",
)
mistake(
    {
        "n_embd))": "n_embd))\n        self.rows = self.weight.detach().clone()",
        _CALL: "lookup(self.rows, ids) + 0 * lookup(self.weight, ids)",
    },
    says="TokenEmbedding looks up in a copy that it made at the start.",
    look="What does forward return after the optimizer has changed `weight`?",
)
mistake(
    {_CALL: "F.dropout(lookup(self.weight, ids), 0.1)"},
    {_CALL: "F.dropout(lookup(self.weight, ids))"},
    says="TokenEmbedding drops some of the features at random.",
    look="What else does forward do besides looking up?",
)
mistake(
    {_CALL: "F.embedding(ids, self.weight.detach(), max_norm=1.0)"},
    says="TokenEmbedding shortens long rows in its table whenever it reads them.",
    look="What does `max_norm` do to the table?",
)
mistake(
    {_CALL: "F.embedding(ids, self.weight, padding_idx=0)"},
    {_CALL: "F.embedding(ids, self.weight, padding_idx=-1)"},
    says="TokenEmbedding gives its first or last row no gradient, as if it were padding.",
    look="What does `padding_idx` do?",
)


_shared = {}


@mistake(
    says="TokenEmbedding shares one table among all modules of the same size.",
    look="Is the table made once for the class or once for each object?",
    forget=_shared.clear,
)
class table_shared_by_all(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        drawn = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))
        self.weight = _shared.setdefault((vocab_size, n_embd), drawn)

    def forward(self, ids):
        return lookup(self.weight, ids)


@alternative
class subclass_of_nn_embedding(nn.Embedding):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        nn.init.normal_(self.weight, std=0.02)


alternative(
    {_CALL: "self.weight[ids]"},
    {_CALL: "F.one_hot(ids, len(self.weight)).float() @ self.weight"},
    {
        _START: "torch.normal(0.0, 0.02, (vocab_size, n_embd))",
        _CALL: "F.embedding(ids, self.weight)",
    },
    {_START: f"nn.init.trunc_normal_({_EMPTY}, std=0.02, a=-0.06, b=0.06)"},
    {
        f"self.weight = nn.Parameter({_START})": "table = nn.Embedding(vocab_size, n_embd)\n"
        "        nn.init.normal_(table.weight, mean=0.0, std=0.02)\n"
        "        self.weight = table.weight"
    },
)


@alternative
class table_of_a_child_under_its_name(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.table = nn.Embedding(vocab_size, n_embd, sparse=True)
        self.weight = self.table.weight
        self.weight.data.normal_(std=0.02)

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.table(ids)


error(
    "AttributeError: cannot assign parameters before Module.__init__() call",
    "Usually `super().__init__()` is missing, or comes after the parameter.",
)
error(
    "NameError: name 'weight' is not defined",
    "Usually forward asks for the table as if it were a plain name: what does it belong to?",
)
error(
    "TypeError: 'Parameter' object is not callable",
    "Often the table is called as if it were an `nn.Embedding`: a parameter is a tensor.",
)
error(
    "TypeError: object of type 'Embedding' has no len()",
    "Often a whole `nn.Embedding` is passed in place of its table: which of the two is a tensor?",
)
