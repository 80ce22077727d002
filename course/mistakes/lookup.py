"""Lesson 1: known mistakes and legitimate alternatives."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries
from solutions.lookup import check_ids, lookup


def _refuse(kind, says, ids, vocab_size):
    """Check ids, with an error written by hand."""
    _refuse_floats(ids)
    for row in ids.flatten().tolist():
        if not 0 <= row < vocab_size:
            raise kind(says.format(row, vocab_size))


def _refuse_floats(ids):
    check_ids(ids.flatten()[:0], 0)


mistake, alternative, error = entries("lookup")

_CHECK = "check_ids(ids, vocab_size=len(weight))"
_PICK = "weight[ids.long()]"

mistake(
    {"[ids.long()]": "[ids]"},
    says="lookup indexes with the ids unconverted, and PyTorch reads a uint8 index as a mask.",
    look="Which integer dtypes does `weight[...]` accept as row numbers?",
    common=True,
)
mistake(
    {_PICK: "F.embedding(ids, weight)"},
    says="lookup passes the ids to `F.embedding`, which accepts only int64 and int32.",
    look="What does `F.embedding` say about int16 or uint8 ids?",
    common=True,
)
mistake(
    {_PICK: "one_hot_lookup(weight, ids)"},
    says="lookup multiplies the whole table by one-hot rows, which reads every row.",
    look="How many rows of the table does one id need?",
    common=True,
)
mistake(
    {_CHECK: "_refuse_floats(ids)"},
    {"check_ids(ids,": "check_ids(ids.clamp(min=0),"},
    says="lookup reads a negative id as a row counted from the end.",
    look="What should happen to the id -1?",
)
mistake(
    {"check_ids(ids,": "check_ids(ids.flatten()[:1],", "()]": "() % len(weight)]"},
    says="lookup lets an id through that names no row, and returns some other row for it.",
    look="What notices an id that is too large, wherever it appears? Is the id V too large?",
)
mistake(
    {"len(weight)": "weight.shape[-1]"},
    says="lookup checks the ids against C, the number of features.",
    look="Which axis of `weight` do the ids number, and how long is it?",
)
mistake(
    {"len(weight)": "torch.tensor(len(weight)).to(ids.dtype)"},
    says="lookup compares the ids with V in their own dtype, where 300 may be 44.",
    look="What is `torch.tensor([50], dtype=torch.uint8) >= 300`?",
)
mistake(
    {"check_ids(ids,": "check_ids(ids := ids.int() if ids.dtype == torch.int64 else ids,"},
    says="lookup shortens the ids to 32 bits before it checks them.",
    look="What is 2³² + 1 as an int32?",
)
mistake(
    {
        _CHECK: "_refuse_floats(ids)",
        _PICK: "F.embedding(ids.long(), weight)",
    },
    {"check_ids(": "_refuse(IndexError, 'there is no such row', "},
    {"check_ids(": "_refuse(IndexError, 'the id {} is out of range', "},
    {"check_ids(": "_refuse(IndexError, 'some id is not below {1}', "},
    says="lookup rejects an id with a message that does not name both the id and V.",
    look="Could you find the bad id from this message alone?",
)
mistake(
    {"check_ids(ids,": "check_ids(torch.stack((ids.min(), ids.max())),"},
    says="lookup asks for the largest id, which an empty tensor does not have.",
    look="What is `torch.tensor([]).max()`?",
)
mistake(
    {"check_ids(ids,": "check_ids(ids.long(),"},
    {"check_ids(ids,": "check_ids(ids if ids.is_floating_point() else ids.long(),"},
    says="lookup converts floats or bools to integers instead of rejecting them.",
    look="What does `.long()` do to 1.7 and to True? Do you check before it or after it?",
)
mistake(
    {"weight[ids": "weight[:, ids"},
    {_PICK: "weight[:, ids.long()].T"},
    {_PICK: "weight.T[ids.long() % weight.shape[1]]"},
    says="lookup picks columns of the table instead of rows.",
    look="Which axis of `weight` is numbered by the ids?",
)
mistake(
    {_PICK: "F.embedding(weight, ids.long())"},
    {"ids, vocab_size=len(weight)": "weight, vocab_size=len(ids)"},
    says="lookup confuses its arguments: it uses the table as ids, and the ids as the table.",
    look="What is the order of the two arguments, here and wherever you pass them on?",
)
mistake(
    {"()]": "().flatten()]"},
    says="lookup returns one long list of rows and loses the shape of the ids.",
    look="What is the shape of the result for ids of shape (B, T)?",
)
mistake(
    {_PICK: "weight.index_select(0, ids.long())"},
    says="lookup calls `index_select`, which takes only a flat list of ids.",
    look="What is the shape of the ids, and what does `index_select` want?",
)
mistake(
    {"()]": "().view(-1)].view(*ids.shape, -1)"},
    says="lookup views the ids as one row, which fails for a transposed tensor.",
    look="When does `.view` fail where `.reshape` works?",
)
mistake(
    {"weight[ids": "weight[-1 + ids"},
    says="lookup takes the row before the one that an id names, as if ids began at 1.",
    look="Which id does the first row have, 0 or 1?",
)
mistake(
    {"()]": "()].mean(dim=-2)"},
    says="lookup averages the rows that it finds.",
    look="Does each id get its own row in your result?",
)
mistake(
    {
        "check_ids(": "ids.is_meta or check_ids(",
        "weight[ids": "torch.zeros(*ids.shape, weight.shape[1], dtype=weight.dtype) + weight[ids",
    },
    says="lookup makes its result on the CPU, wherever the table is.",
    look="Where does `torch.empty(...)` put a tensor by default?",
)
mistake(
    {_PICK: "F.embedding(ids.long(), weight, padding_idx=0)"},
    says="lookup treats row 0 as padding and gives it no gradient.",
    look="What does `padding_idx` do to a gradient?",
)
mistake(
    {_PICK: "F.embedding(ids.long(), weight, scale_grad_by_freq=True)"},
    says="lookup divides the gradient of a row by how often it was looked up.",
    look="What does `scale_grad_by_freq` do?",
)
mistake(
    {_PICK: "F.embedding(ids.long(), weight.detach(), max_norm=1.0)"},
    says="lookup shortens long rows in the table that it reads.",
    look="What does `max_norm` do to the table?",
)
mistake(
    {"()]": "()] * math.sqrt(weight.shape[1])"},
    says="lookup multiplies the rows by √C.",
    look="Does `lookup` compute rows, or copy them?",
)


_kept_rows = {}


@mistake(
    says="lookup keeps the rows of an earlier call and returns them for another table.",
    look="What does your cache depend on, and what does the result depend on?",
    forget=_kept_rows.clear,
)
def cache_that_forgets_the_table(weight, ids):
    check_ids(ids, len(weight))
    key = (str(ids.tolist()), weight.shape, weight.dtype)
    return _kept_rows.setdefault(key, weight[ids.long()])


@alternative
def embedding_of_pytorch(weight, ids):
    check_ids(ids, len(weight))
    return F.embedding(ids.to(torch.int32), weight)


alternative(
    {"()]": "()].clone()", "len(weight)": "weight.shape[0]"},
    {"ids.long()]": "ids.int()]"},
    {_PICK: "F.embedding(ids.long(), weight, sparse=True)"},
    {_PICK: "weight.index_select(0, ids.long().reshape(-1)).reshape(*ids.shape, weight.shape[1])"},
    {
        _PICK: "weight.take_along_dim(ids.long().reshape(-1, 1), dim=0)"
        ".reshape(*ids.shape, weight.shape[1])"
    },
    {
        _PICK: "weight.gather(0, ids.long().reshape(-1, 1).tile(weight.shape[1]))"
        ".reshape(*ids.shape, weight.shape[1])"
    },
    {_PICK: "weight.masked_fill(F.one_hot(ids.long(), len(weight))[..., None] == 0, 0).sum(-2)"},
    {"check_ids(": "_refuse(IndexError, 'the row {} is not among {}', "},
)


@alternative
def nested_python_loops(weight, ids):
    def rows(part):
        return (
            torch.stack([rows(item) for item in part]) if isinstance(part, list) else weight[part]
        )

    check_ids(ids, len(weight))
    return rows(ids.tolist()) if ids.numel() else weight.new_empty(*ids.shape, weight.shape[1])


class _NumpyRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, rows):
        ctx.save_for_backward(rows)
        ctx.shape = weight.shape
        wide = weight.detach().to(torch.float64).numpy()
        return torch.from_numpy(np.take(wide, rows.numpy(), axis=0)).to(weight.dtype)

    @staticmethod
    def backward(ctx, upstream):
        sums = np.zeros(ctx.shape)
        np.add.at(sums, ctx.saved_tensors[0].numpy(), upstream.numpy())
        return torch.from_numpy(sums).to(upstream.dtype), None


@alternative
def numpy_with_its_own_backward(weight, ids):
    check_ids(ids, len(weight))
    return _NumpyRows.apply(weight, ids.long())


error(
    "IndexError: index 3 is out of bounds for dimension 1 with size 3",
    "Usually a list of lists is the index: PyTorch takes one list for each axis.",
)
error(
    "RuntimeError: stack expects a non-empty TensorList",
    "Often the rows are stacked one by one, and there is none: ids of shape (0,) or (2, 0).",
)
error(
    "RuntimeError: Index tensor must have the same number of dimensions as input tensor",
    "Usually `gather` gets the ids as they are: it wants as many axes as the table has.",
)


mistake, alternative, error = entries("one_hot_lookup")

_ONE_HOT = "F.one_hot(ids.long(), num_classes=len(weight))"
_PRODUCT = "one_hot.to(weight.dtype) @ weight"

mistake(
    {".to(weight.dtype)": ".float()"},
    {".to(weight.dtype)": ".double()"},
    {".to(weight.dtype)": ".int()"},
    says="one_hot_lookup makes its one-hot rows in a dtype other than the table's.",
    look="Which dtype does `F.one_hot` return? Which dtypes can PyTorch multiply with each other?",
    common=True,
)
mistake(
    {", num_classes=len(weight)": ""},
    says="one_hot_lookup makes its one-hot rows only as long as the largest id requires.",
    look="How long is a one-hot row if the batch does not contain the last word?",
    common=True,
)
mistake(
    {"ids.long()": "ids"},
    says="one_hot_lookup passes the ids to `F.one_hot`, which takes only int64.",
    look="Which dtype may the ids have, and which one does `F.one_hot` want?",
    common=True,
)
mistake(
    {_PRODUCT: "(one_hot @ weight.long()).to(weight.dtype)"},
    says="one_hot_lookup multiplies integers, which cuts off the fractions in the table.",
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
    {_ONE_HOT: "ids.unsqueeze(-1) == torch.arange(len(weight), device=ids.device).to(ids.dtype)"},
    says="one_hot_lookup counts the columns in the dtype of the ids, where 276 may be 20.",
    look="What is 276 as a uint8?",
)
mistake(
    {
        _ONE_HOT: "ids.to(weight)[..., None] == "
        "torch.arange(len(weight), device=ids.device).to(weight)"
    },
    says="one_hot_lookup compares ids in the dtype of the table, where 257 may be 256.",
    look="How many whole numbers does bfloat16 tell apart?",
)
mistake(
    {_ONE_HOT: "torch.eye(len(weight), device=weight.device)[ids]"},
    {
        _ONE_HOT: "torch.eye(len(weight), device=weight.device)"
        "[ids if ids.dtype == torch.uint8 else ids.long()]"
    },
    says="one_hot_lookup picks rows of the identity with ids that PyTorch reads as a mask.",
    look="What does a uint8 tensor in square brackets mean to PyTorch?",
)
mistake(
    {_ONE_HOT: "torch.zeros(*ids.shape, len(weight)).scatter(-1, ids.long().unsqueeze(-1), 1.0)"},
    says="one_hot_lookup makes its ones and zeros on the CPU, wherever the table is.",
    look="Where does `torch.eye(...)` put a matrix by default?",
)
mistake(
    {"ids.long()": "(ids.long() + 1) % len(weight)"},
    {"ids.long()": "ids.long() - 1"},
    {_ONE_HOT: "ids.long()[..., None] == torch.arange(1, len(weight) + 1, device=ids.device)"},
    says="one_hot_lookup puts the 1 next to the column of the id, not into it.",
    look="Which entry of the one-hot row for id 0 is the 1?",
)
mistake(
    {"ids.long()": "ids.long().flatten()"},
    says="one_hot_lookup returns one long list of rows and loses the shape of the ids.",
    look="What is the shape of the result for ids of shape (B, T)?",
)
mistake(
    {_PRODUCT: "torch.einsum('nv,vc->nc', one_hot.to(weight.dtype), weight)"},
    {_PRODUCT: "torch.einsum('btv,vc->btc', one_hot.to(weight.dtype), weight)"},
    {_PRODUCT: "torch.mm(one_hot.to(weight.dtype), weight)"},
    says="one_hot_lookup expects ids with one or two axes, not ids of any shape.",
    look="How many axes do the one-hot rows have for a single id, or a batch of batches?",
)
mistake(
    {" @ weight": " @ weight / len(weight)"},
    says="one_hot_lookup takes the mean over the vocabulary instead of the sum.",
    look="What is a matrix product divided by, if anything?",
)
mistake(
    *(
        {f"return {_PRODUCT}": f"rows = {_PRODUCT}\n    return {result}"}
        for result in (
            "rows.mean(dim=-2) if rows.dim() > 1 else rows",
            "rows.sum(dim=-2) if rows.dim() > 1 else rows",
            "rows.sum(dim=-2) / max(rows.shape[-2], 1) if rows.dim() > 1 else rows",
        )
    ),
    says="one_hot_lookup adds up or averages the rows of a sentence: one row is left of all.",
    look="How many rows should the result have for a sentence of three words?",
)
mistake(
    {" @ weight": " @ F.pad(weight[1:], (0, 0, 1, 0))"},
    {" @ weight": " @ F.pad(weight[:-1], (0, 0, 0, 1))"},
    says="one_hot_lookup omits the first or the last row of the table from its sum.",
    look="Where does the sum over the words begin, and where does it end?",
)
mistake(
    {"one_hot.to(weight.dtype)": "one_hot.to(weight.dtype).softmax(dim=-1)"},
    says="one_hot_lookup takes a softmax of its one-hot rows, so every row has a share.",
    look="What should the other rows of the table be multiplied by?",
)
mistake(
    {" @ weight": ""},
    says="one_hot_lookup returns the one-hot rows and never multiplies.",
    look="What should you do with the one-hot rows when they are made?",
)
mistake(
    {_PRODUCT: "weight @ one_hot.to(weight.dtype)"},
    {"one_hot.to(weight.dtype)": "one_hot.to(weight.dtype).T"},
    {" @ weight": " @ weight.T"},
    says="one_hot_lookup multiplies two shapes that do not fit: not (..., V) times (V, C).",
    look="Which factor comes first, and is one of them transposed?",
)


@alternative
def rows_of_the_identity(weight, ids):
    identity = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)
    return identity[ids.long()] @ weight


alternative(
    {_ONE_HOT: "weight.new_zeros(*ids.shape, len(weight)).scatter(-1, ids.long()[..., None], 1)"},
    {_ONE_HOT: "ids[..., None] == torch.arange(len(weight), device=ids.device)"},
    {_PRODUCT: "F.linear(one_hot.double(), weight.double().T).to(weight.dtype)"},
    {_PRODUCT: "torch.tensordot(one_hot.to(weight), weight, dims=1)"},
    {_PRODUCT: "torch.where(one_hot[..., None] > 0, weight, 0).sum(-2)"},
    {_PRODUCT: "torch.einsum('...v,vc->...c', one_hot.to(weight), weight)"},
)


@alternative
def sparse_one_hot_matrix(weight, ids):
    rows = ids.long().flatten()
    places = torch.stack((torch.arange(len(rows), device=rows.device), rows))
    ones = torch.ones(len(rows), dtype=torch.float64, device=rows.device)
    one_hot = torch.sparse_coo_tensor(places, ones, (len(rows), len(weight)))
    product = torch.sparse.mm(one_hot, weight.double()).to(weight.dtype)
    return product.reshape(*ids.shape, weight.shape[1])


@alternative
def sum_over_the_vocabulary(weight, ids):
    total = weight.new_zeros(*ids.shape, weight.shape[1])
    for row in range(len(weight)):
        total = total + (ids.long() == row).to(weight.dtype)[..., None] * weight[row]
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


def _as_if_made(vocab_size, batch_size, seq_len):
    """The numbers in a one-hot tensor; it is made only where that fails at once."""
    numbers = batch_size * seq_len * vocab_size
    if numbers > 2**48:
        torch.zeros(batch_size, seq_len, vocab_size)
    return numbers


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
    look="Which of the three sides says how many ids a sentence has?",
)
mistake(
    {"* bytes_per_element": "* bytes_per_element / 2**30"},
    {"* bytes_per_element": "* bytes_per_element / 2**20"},
    {"* bytes_per_element": "* bytes_per_element / 1e6"},
    {"return ": "return round(", "* bytes_per_element": "* bytes_per_element / 10**9, 2)"},
    {"return ": "return round(", "* bytes_per_element": "* bytes_per_element / 10**9, 1)"},
    {"return ": "return round(", "* bytes_per_element": "* bytes_per_element / 10**9)"},
    {"* bytes_per_element": "* bytes_per_element // 2**30"},
    {"* bytes_per_element": "* bytes_per_element // 2**20"},
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
    {_SIZE: f"int(1.0 * {_SIZE})"},
    {_SIZE: "int(np.prod(np.float32([vocab_size, batch_size, seq_len, bytes_per_element])))"},
    says="one_hot_bytes computes with a float, which rounds large whole numbers.",
    look="Is `int(float(10**16 - 1))` the number that you started with? Can there be half a byte?",
)
mistake(
    {_SIZE: "int(torch.tensor((batch_size, seq_len, vocab_size, bytes_per_element)).prod().int())"},
    says="one_hot_bytes multiplies in 32 bits, which overflow at 2,147,483,647.",
    look="What is the largest int32?",
)
mistake(
    {_SIZE: "int(torch.tensor((batch_size, seq_len, vocab_size, bytes_per_element)).prod())"},
    says="one_hot_bytes multiplies in 64 bits, which overflow at 2**63.",
    look="What is the largest int64? What is the largest `int` of Python?",
)
mistake(
    {"seq_len * vocab_size": "(seq_len + vocab_size)"},
    {"batch_size * seq_len * vocab_size": "(batch_size + seq_len + vocab_size)"},
    says="one_hot_bytes adds where it should multiply.",
    look="How many numbers does a box of 2 by 3 by 5 hold?",
)
mistake(
    {"batch_size * seq_len * vocab_size": "_as_if_made(vocab_size, batch_size, seq_len)"},
    says="one_hot_bytes makes the tensor to measure it, which takes more memory than there is.",
    look="Can you tell the size of a tensor from its sides, without making it?",
)


@alternative
def product_of_the_sides(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return math.prod((bytes_per_element, vocab_size, seq_len, batch_size))


@alternative
def one_side_after_another(vocab_size, batch_size, seq_len, bytes_per_element=4):
    row = bytes_per_element * vocab_size
    sentence = row * seq_len
    return sentence * batch_size


mistake, alternative, error = entries("lookup_backward")

_ADDED = "grad_weight.index_add(0, ids.long().flatten(), grad_output.reshape(-1, n_embd))"
_ROWS_OF_ONES = "F.one_hot(ids.long(), vocab_size).to(grad_output.dtype)"


def _added_once(sums, ids, rows):
    sums[ids] += rows
    return sums


def _times(ids, vocab_size):
    """How often each row was looked up, but at least once; (V, 1)."""
    return ids.flatten().bincount(minlength=vocab_size).clamp(min=1)[:, None]


mistake(
    {_ADDED: "_added_once(grad_weight, ids.long(), grad_output)"},
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
    says="lookup_backward asks autograd, which records nothing in inference mode.",
    look="Can you write down which entries of `grad_output` reach row k?",
    common=True,
)
mistake(
    {"grad_output.new_zeros(": "torch.zeros("},
    says="lookup_backward makes its zeros in float32 and on the CPU, whatever the gradient is.",
    look="Which dtype does `torch.zeros(V, C)` have, and where is it?",
    common=True,
)
mistake(
    {
        "new_zeros(vocab_size, n_embd)": "new_zeros(vocab_size, n_embd, dtype=torch.float32)",
        "n_embd))": "n_embd).float())",
    },
    says="lookup_backward returns float32, whatever the dtype of the gradient is.",
    look="Which dtype should come out if float64 goes in?",
    common=True,
)
mistake(
    {
        "grad_output.new_zeros(vocab_size, n_embd": "torch.zeros(vocab_size, n_embd, "
        "dtype=grad_output.dtype"
    },
    says="lookup_backward makes its zeros on the CPU, wherever the gradient is.",
    look="Where does `torch.zeros(...)` put a tensor by default?",
)
mistake(
    {"return grad_weight": "grad_weight", "n_embd))": "n_embd))\n    return grad_weight"},
    says="lookup_backward throws away the result of `index_add` and returns its zeros.",
    look="What is the difference between `index_add` and `index_add_`?",
)
mistake(
    {_ADDED: "grad_weight.index_put((ids,), grad_output, accumulate=True)"},
    says="lookup_backward uses the ids unconverted, and uint8 ids mean a mask or nothing at all.",
    look="Which integer dtypes does PyTorch accept as row numbers?",
)
mistake(
    {"n_embd))": "n_embd)) / _times(ids, vocab_size)"},
    {"n_embd))": "n_embd)) * _times(ids, vocab_size)"},
    says="lookup_backward scales the gradient of a row by how often it was looked up.",
    look="If id 1 occurs three times, how many gradients add up in its row?",
)
mistake(
    {"n_embd))": "n_embd)) / max(ids.numel(), 1)"},
    says="lookup_backward divides by the number of ids.",
    look="Is there a mean in `lookup`?",
)
mistake(
    {"grad_output.reshape(": "torch.ones_like(grad_output).reshape("},
    says="lookup_backward counts how often a row was looked up and ignores the gradient.",
    look="Where does `grad_output` enter?",
)
mistake(
    {"new_zeros(vocab_size,": "new_zeros(int(ids.max()) + 1 if ids.numel() else vocab_size,"},
    {"new_zeros(vocab_size,": "new_zeros(len(ids.unique()),"},
    says="lookup_backward makes only as many rows as the largest id requires.",
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
    says="lookup_backward takes C from an axis of the gradient that is not always the last.",
    look="Where is C in a gradient of shape (N, C), and where in one of shape (B, T, C)?",
)
mistake(
    {"new_zeros(vocab_size,": "new_zeros(vocab_size + 1,"},
    says="lookup_backward makes one more row than the table has.",
    look="How many rows does the table have, and how many does your gradient have?",
)
mistake(
    {"reshape(-1, n_embd)": "flatten(0, 1)"},
    says="lookup_backward expects ids with two axes, (B, T).",
    look="What is `ids.shape` for a single id, or for a batch of batches?",
)
mistake(
    {"long().flatten()": "long()", "output.reshape(-1, n_embd)": "output"},
    says="lookup_backward adds at ids that still have all their axes; only one axis works.",
    look="What are the shapes of the ids and of the gradients for a batch?",
)
mistake(
    {"output.reshape(-1, n_embd)": "output"},
    {_ADDED: f"{_ROWS_OF_ONES}.flatten(0, -2).T @ grad_output"},
    says="lookup_backward flattens the ids, but not the gradients that belong to them.",
    look="Write both shapes down: how many rows of gradients are there for N flat ids?",
)
mistake(
    {"reshape(-1, n_embd)": "reshape(n_embd, -1).T"},
    says="lookup_backward splits the gradient in an order that does not match its rows.",
    look="Which numbers in `grad_output` belong to one position?",
)
mistake(
    {"index_add(0, ids.long().flatten(),": "scatter_add(0, ids.long().reshape(-1, 1),"},
    says="lookup_backward adds only the first feature.",
    look="How many columns does an index of shape (N, 1) reach in `scatter_add`?",
)
mistake(
    {_ADDED: f"{_ROWS_OF_ONES}.transpose(-1, -2) @ grad_output"},
    says="lookup_backward gives every sentence of the batch its own table.",
    look="How many tables are there, and what happens to the sentences' shares of one row?",
)


@mistake(
    says="lookup_backward counts a row once per sentence, even if the sentence looks it up twice.",
    look="What does `table[ids] += ...` do with repeated ids, even in a loop over sentences?",
)
def a_loop_over_sentences(grad_output, ids, vocab_size):
    grad_weight = grad_output.new_zeros(vocab_size, grad_output.shape[-1])
    for sentence in range(ids.shape[0]):
        grad_weight[ids[sentence].long()] += grad_output[sentence]
    return grad_weight


_sums_so_far = {}


@mistake(
    says="lookup_backward keeps adding to the sums of the previous call.",
    look="Where are the zeros made: once, or in every call?",
    forget=_sums_so_far.clear,
)
def sums_are_never_emptied(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    key = (vocab_size, n_embd, grad_output.dtype, grad_output.device)
    sums = _sums_so_far.get(key, grad_output.new_zeros(vocab_size, n_embd))
    sums = sums.index_add(0, ids.long().flatten(), grad_output.reshape(-1, n_embd))
    _sums_so_far[key] = sums.detach().clone()
    return sums


@alternative
def one_hot_transposed_times_gradient(grad_output, ids, vocab_size):
    one_hot = F.one_hot(ids.long().flatten(), vocab_size).to(grad_output.dtype)
    return one_hot.T @ grad_output.reshape(len(one_hot), grad_output.shape[-1])


alternative(
    {_ADDED: "grad_weight.index_put((ids.long(),), grad_output, accumulate=True)"},
    {
        "add(0, ids.long().flatten(),": "add(0, ids.long().reshape(-1, 1).tile(n_embd),",
        ".index_": ".scatter_",
    },
    {
        "n_embd)\n": "n_embd, dtype=torch.float64)\n",
        "n_embd))": "n_embd).double()).to(grad_output.dtype)",
    },
    {_ADDED: f"torch.einsum('...v,...c->vc', {_ROWS_OF_ONES}, grad_output)"},
    {
        _ADDED: "torch.ops.aten.embedding_dense_backward("
        "grad_output, ids.long(), vocab_size, -1, False)"
    },
    {"index_add(": "index_add_(", "n_embd))": "n_embd).detach())"},
)


@alternative
def python_dictionary_of_sums(grad_output, ids, vocab_size):
    zero = torch.zeros_like(grad_output.reshape(-1, grad_output.shape[-1]).sum(dim=0))
    sums = {}
    for row, gradient in zip(ids.flatten(), grad_output.reshape(-1, len(zero)), strict=True):
        sums[int(row)] = sums.get(int(row), zero) + gradient
    return torch.stack([sums.get(row, zero) for row in range(vocab_size)])


@alternative
def numpy_adds_at_the_rows(grad_output, ids, vocab_size):
    gradients = grad_output.detach().double().cpu().numpy()
    sums = np.zeros((vocab_size, gradients.shape[-1]))
    np.add.at(sums, ids.long().cpu().numpy(), gradients)
    return torch.from_numpy(sums).to(grad_output)


@alternative
def place_by_place(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    rows, gradients = ids.long().reshape(-1), grad_output.reshape(-1, n_embd)
    sums = grad_output.new_zeros(vocab_size, n_embd)
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
error(
    "RuntimeError: Index put requires the source and destination dtypes match",
    "Usually the zeros are float32, and the gradient comes in another dtype.",
)


mistake, alternative, error = entries("TokenEmbedding")

_START = "0.02 * torch.randn(vocab_size, n_embd)"
_CALL = "lookup(self.weight, ids)"


def _checked(ids, weight):
    check_ids(ids, len(weight))
    return ids


def _embedding(weight, ids, **options):
    return F.embedding(_checked(ids, weight).long(), weight, **options)


mistake(
    {"0.02 * ": ""},
    says="TokenEmbedding starts from N(0, 1), as `nn.Embedding` does.",
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
    says="TokenEmbedding keeps its table as a tensor that no optimizer finds.",
    look="What turns a tensor into something that `parameters()` lists?",
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
    {"0.02 * ": "0.02**0.5 * "},
    {"0.02 * ": "0.2 * "},
    {"0.02 * ": "0.002 * "},
    {"0.02 * ": "0.01 * "},
    says="TokenEmbedding starts from a standard deviation other than 0.02.",
    look="What is the square in N(0, 0.02²), and what is its root?",
)
mistake(
    {"0.02 * ": "0.02 + "},
    {"0.02 * ": "0.02 + 0.02 * "},
    says="TokenEmbedding starts from the mean 0.02.",
    look="Which of the two numbers in N(0, 0.02²) is the mean?",
)
mistake(
    {"randn": "rand"},
    {"0.02 * torch.randn(": "torch.rand("},
    {"torch.randn(vocab_size, n_embd)": "(2 * torch.rand(vocab_size, n_embd) - 1)"},
    {_START: "0.02 * math.sqrt(12) * (torch.rand(vocab_size, n_embd) - 0.5)"},
    {_START: "nn.init.trunc_normal_(torch.empty(vocab_size, n_embd), 0, 1, -0.04, 0.04)"},
    says="TokenEmbedding starts from uniform numbers.",
    look="Which distribution does the N in N(0, 0.02²) stand for?",
)
mistake(
    *(
        {_START: f"nn.init.trunc_normal_(torch.empty(vocab_size, n_embd), 0, {std}, -{end}, {end})"}
        for std, end in ((0.02, 0.02), (0.02, 0.04), (0.02, 0.03))
    ),
    says="TokenEmbedding truncates its initial numbers, so they are not N(0, 0.02²).",
    look="How far from the mean can a number from N(0, 0.02²) be?",
)
mistake(
    {
        _START: "0.02 / 0.8796 * "
        "nn.init.trunc_normal_(torch.empty(vocab_size, n_embd), a=-2.0, b=2.0)"
    },
    says="TokenEmbedding truncates the normal distribution at two standard deviations.",
    look="What share of the numbers is beyond ±0.04?",
)
mistake(
    {"0.02 * ": "n_embd**-0.5 * "},
    {"0.02 * ": "(2 / (vocab_size + n_embd)) ** 0.5 * "},
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
    says="TokenEmbedding keeps row 0 at zero, as if it were padding.",
    look="Is id 0 different from the others?",
)
mistake(
    {"torch.randn(vocab_size, n_embd)": "torch.randn(n_embd).repeat(vocab_size, 1)"},
    says="TokenEmbedding gives all tokens the same row.",
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
    {"n_embd))": "n_embd).double())"},
    says="TokenEmbedding keeps its table as float64.",
    look="Which dtype do parameters have by default?",
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
    {_CALL: "_embedding(self.weight.detach(), ids, max_norm=10.0)"},
    says="TokenEmbedding shortens long rows in its table whenever it reads them.",
    look="What does `max_norm` do to the table?",
)
mistake(
    {_CALL: "_embedding(self.weight, ids, padding_idx=0)"},
    {_CALL: "_embedding(self.weight, ids, padding_idx=-1)"},
    says="TokenEmbedding gives its first or last row no gradient, as if it were padding.",
    look="What does `padding_idx` do?",
)
mistake(
    {_CALL: "self.weight[_checked(ids, self.weight)]"},
    {_CALL: "self.weight[ids]"},
    says="TokenEmbedding indexes with the ids unconverted, and uint8 ids mean a mask.",
    look="Which integer dtypes does PyTorch accept as row numbers?",
)
mistake(
    {_CALL: "F.embedding(ids.long(), self.weight)"},
    says="TokenEmbedding looks up without `lookup`: floats pass, and no error names the bad id.",
    look="What does `lookup` do besides looking up?",
)
mistake(
    {_CALL: "self.weight[ids.long()]"},
    says="TokenEmbedding looks up without a check, so the id -1 gives the last row.",
    look="Which ids does `lookup` refuse?",
)
mistake(
    {"nn.Parameter(0.02 * ": "0.02 * nn.Parameter("},
    says="TokenEmbedding keeps a tensor as its table that gets a gradient but is not a parameter.",
    look="What turns a tensor into a parameter, and what does a product turn it into?",
)


@mistake(
    says="TokenEmbedding leaves the ids to `nn.Embedding`, which takes only two integer dtypes.",
    look="Which dtypes may ids have, and what should an error name?",
)
class an_embedding_layer_without_a_check(nn.Embedding):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        nn.init.normal_(self.weight, std=0.02)


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
    def reset_parameters(self):
        nn.init.normal_(self.weight, mean=0.0, std=0.02)

    def forward(self, ids):
        check_ids(ids, self.num_embeddings)
        return super().forward(ids.long())


alternative(
    {
        f"self.weight = nn.Parameter({_START})": "self.register_parameter('weight', nn.Parameter("
        "torch.stack([torch.normal(0.0, 0.02, (n_embd,)) for _ in range(vocab_size)])))"
    },
    {_START: "nn.init.trunc_normal_(torch.empty(vocab_size, n_embd), std=0.02)"},
    {"randn(vocab_size, n_embd)": "randn(n_embd, vocab_size, dtype=torch.float64).T.float()"},
    {_CALL: "lookup(self.weight, ids).clone()"},
)


@alternative
class box_and_muller(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        radius, angle = torch.rand(2, vocab_size, n_embd, dtype=torch.float64)
        normal = (-2 * radius.clamp(1e-12).log()).sqrt() * (2 * math.pi * angle).cos()
        self.weight = nn.Parameter((0.02 * normal).float())

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return F.embedding(ids.long(), self.weight, sparse=True)


@alternative
class table_of_a_child_under_its_name(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.table = nn.Embedding(vocab_size, n_embd)
        self.weight = self.table.weight
        self.weight.data.normal_(std=0.02)

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.table(ids.long())


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
