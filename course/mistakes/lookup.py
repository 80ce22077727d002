"""Lesson 1: known mistakes and legitimate alternatives."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries
from solutions.lookup import check_ids

mistake, alternative, error = entries("lookup")


@mistake(
    says="lookup indexes with the ids as they come, and a uint8 index is a mask to PyTorch.",
    look="Which integer dtypes does `weight[...]` accept as row numbers?",
    common=True,
)
def ids_as_a_mask(weight, ids):
    check_ids(ids, len(weight))
    return weight[ids]


@mistake(
    says="lookup hands the ids to `F.embedding`, which accepts int64 and int32 only.",
    look="What does `F.embedding` say about int16 or uint8 ids?",
    common=True,
)
def ids_of_two_dtypes_only(weight, ids):
    check_ids(ids, len(weight))
    return F.embedding(ids, weight)


@mistake(
    says="lookup takes a negative id for a row counted from the end.",
    look="What should happen to the id -1?",
)
def negative_ids_wrap(weight, ids):
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers; got {ids.dtype}")
    return weight[ids.long()]


@mistake(
    says="lookup forces an id outside of the table onto its first or last row.",
    look="Who would notice an id that is too large?",
)
def ids_are_clamped(weight, ids):
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers; got {ids.dtype}")
    return weight[ids.long().clamp(0, len(weight) - 1)]


@mistake(
    says="lookup lets an id through that names no row, and gives some row for it.",
    look="Who would notice an id that is too large, wherever it stands?",
)
def ids_modulo_the_table(weight, ids):
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers; got {ids.dtype}")
    return weight[ids.long() % len(weight)]


@mistake(
    says="lookup compares the ids with V in their own dtype, where 300 may be 44.",
    look="What is `torch.tensor([50], dtype=torch.uint8) >= 300`?",
)
def compared_in_the_dtype_of_the_ids(weight, ids):
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers; got {ids.dtype}")
    bad = ids[(ids < 0) | (ids >= torch.tensor(len(weight)).to(ids.dtype))]
    if bad.numel():
        raise IndexError(f"id {bad[0].item()} names none of the {len(weight)} rows")
    return weight[ids.long()]


@mistake(
    says="lookup shortens the ids to 32 bits before it checks them.",
    look="What is 2³² + 1 as an int32?",
)
def ids_cut_to_32_bits(weight, ids):
    ids = ids.int() if ids.dtype == torch.int64 else ids
    check_ids(ids, len(weight))
    return weight[ids.long()]


@mistake(
    says="The message of the IndexError names neither the id nor V, and PyTorch's own does not.",
    look="Could you find the bad id with the help of this message alone?",
)
def error_without_numbers(weight, ids):
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers; got {ids.dtype}")
    return F.embedding(ids.long(), weight)


@mistake(
    says="lookup names the bad id but not how many rows there are.",
    look="Which two numbers does the reader of the message need?",
)
def error_without_the_size(weight, ids):
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers; got {ids.dtype}")
    for row in ids.flatten().tolist():
        if not 0 <= row < len(weight):
            raise IndexError(f"the id {row} is out of range")
    return weight[ids.long()]


@mistake(
    says="lookup raises ValueError for an id that is out of range.",
    look="Which exception does Python raise for `[1, 2, 3][7]`?",
)
def value_error_for_the_range(weight, ids):
    try:
        check_ids(ids, len(weight))
    except IndexError as error:
        raise ValueError(str(error)) from None
    return weight[ids.long()]


@mistake(
    says="lookup lets the id V pass its check.",
    look="What is the largest id of a table with V rows?",
)
def one_id_too_many(weight, ids):
    check_ids(ids, len(weight) + 1)
    return torch.cat((weight, weight[-1:]))[ids.long()]


@mistake(
    says="lookup lets an id through that names no row, and gives some row for it.",
    look="Who would notice an id that is too large, wherever it stands?",
)
def first_id_is_checked(weight, ids):
    check_ids(ids.flatten()[:1], len(weight))
    return weight[ids.long() % len(weight)]


@mistake(
    says="lookup asks for the largest id, which an empty tensor does not have.",
    look="What is `torch.tensor([]).max()`?",
)
def empty_ids_crash(weight, ids):
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers; got {ids.dtype}")
    if ids.min() < 0 or ids.long().max() >= len(weight):
        raise IndexError(f"{ids.min()}..{ids.max()} is more than the {len(weight)} rows have")
    return weight[ids.long()]


@mistake(
    says="lookup rounds floating ids down instead of refusing them.",
    look="What does `.long()` do to 1.7, before your check or after it?",
)
def floats_are_cut_off(weight, ids):
    ids = ids if ids.dtype == torch.bool else ids.long()
    check_ids(ids, len(weight))
    return weight[ids]


@mistake(
    says="lookup takes True and False for the rows 1 and 0.",
    look="Is torch.bool a floating dtype?",
)
def bools_are_numbers(weight, ids):
    if ids.is_floating_point():
        raise TypeError(f"ids must be integers; got {ids.dtype}")
    check_ids(ids.long(), len(weight))
    return weight[ids.long()]


@mistake(
    says="lookup multiplies the whole table by one-hot rows, which reads every row.",
    look="How many rows of the table does one id need?",
    common=True,
)
def whole_table_is_multiplied(weight, ids):
    check_ids(ids, len(weight))
    return F.one_hot(ids.long(), len(weight)).to(weight.dtype) @ weight


@mistake(
    says="lookup picks columns of the table instead of rows.",
    look="Which axis of `weight` is numbered by the ids?",
)
def columns_instead_of_rows(weight, ids):
    check_ids(ids, len(weight))
    return weight.T[ids.long() % weight.shape[1]]


@mistake(
    says="lookup picks columns of the table instead of rows.",
    look="Which axis of `weight` is numbered by the ids?",
)
def columns_by_an_index_after_a_colon(weight, ids):
    check_ids(ids, len(weight))
    return weight[:, ids.long()]


@mistake(
    says="lookup picks columns of the table instead of rows.",
    look="Which axis of `weight` is numbered by the ids?",
)
def columns_by_ids_of_whatever_dtype(weight, ids):
    check_ids(ids, len(weight))
    return weight[:, ids]


@mistake(
    says="lookup picks columns of the table instead of rows.",
    look="Which axis of `weight` is numbered by the ids?",
)
def columns_turned_into_rows(weight, ids):
    check_ids(ids, len(weight))
    columns = weight[:, ids.long()]
    return columns.permute(*reversed(range(columns.dim())))


@mistake(
    says="lookup counts the rows from 1.",
    look="Which row does id 0 name?",
)
def rows_counted_from_1(weight, ids):
    check_ids(ids, len(weight))
    return weight[ids.long() - 1]


@mistake(
    says="lookup takes the table for the ids, and the ids for the table.",
    look="In which order do the two arguments come, here and wherever you pass them on?",
)
def arguments_swapped(ids, weight):
    check_ids(ids, len(weight))
    return weight[ids.long()]


@mistake(
    says="lookup takes the table for the ids, and the ids for the table.",
    look="In which order do the two arguments come, here and wherever you pass them on?",
)
def ids_indexed_by_the_table(weight, ids):
    check_ids(ids, len(weight))
    return ids[weight.long()]


@mistake(
    says="lookup takes the table for the ids, and the ids for the table.",
    look="In which order do the two arguments come, here and wherever you pass them on?",
)
def arguments_of_f_embedding_swapped(weight, ids):
    check_ids(ids, len(weight))
    return F.embedding(weight, ids.long())


@mistake(
    says="lookup gives one long list of rows and forgets the shape of the ids.",
    look="What is the shape of the result for ids of shape (B, T)?",
)
def shape_is_lost(weight, ids):
    check_ids(ids, len(weight))
    return weight[ids.long().flatten()]


@mistake(
    says="lookup drops axes of length 1 from its result.",
    look="What is the shape of the result for a batch of one sentence?",
)
def axes_of_length_1_are_lost(weight, ids):
    check_ids(ids, len(weight))
    return weight[ids.long()].squeeze()


@mistake(
    says="lookup expects ids with two axes, (B, T).",
    look="What is `ids.shape` for a single id, or for a batch of batches?",
)
def two_axes_only(weight, ids):
    check_ids(ids, len(weight))
    batch, length = ids.shape
    return weight[ids.long().reshape(-1)].reshape(batch, length, -1)


@mistake(
    says="lookup views the ids as one row, which a transposed tensor does not allow.",
    look="When does `.view` fail where `.reshape` works?",
)
def view_of_transposed_ids(weight, ids):
    check_ids(ids, len(weight))
    return weight[ids.long().view(-1)].view(*ids.shape, -1)


@mistake(
    says="lookup cuts the result off from the table, so that no gradient comes back.",
    look="What do `.detach()`, `.data` and `torch.no_grad()` cut?",
)
def table_is_detached(weight, ids):
    check_ids(ids, len(weight))
    return weight.detach()[ids.long()]


@mistake(
    says="lookup always returns float32.",
    look="Which dtype does the table have?",
)
def always_float32(weight, ids):
    check_ids(ids, len(weight))
    return weight[ids.long()].float()


@mistake(
    says="lookup makes its result on the CPU, wherever the table is.",
    look="Where does `torch.empty(...)` put a tensor if you do not say?",
)
def result_on_the_cpu(weight, ids):
    rows = ids.long()
    if rows.device.type != "meta":
        check_ids(ids, len(weight))
    return torch.zeros(*ids.shape, weight.shape[1], dtype=weight.dtype) + weight[rows]


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


@mistake(
    says="lookup takes row 0 for padding and gives it no gradient.",
    look="What does `padding_idx` do to a gradient?",
)
def row_0_as_padding(weight, ids):
    check_ids(ids, len(weight))
    return F.embedding(ids.long(), weight, padding_idx=0)


@alternative
def f_embedding(weight, ids):
    check_ids(ids, len(weight))
    return F.embedding(ids.to(torch.int32), weight)


@alternative
def sparse_gradient(weight, ids):
    check_ids(ids, len(weight))
    return F.embedding(ids.long(), weight, sparse=True)


@alternative
def index_select(weight, ids):
    check_ids(ids, len(weight))
    return (
        weight.index_select(0, ids.long().reshape(-1))
        .unflatten(0, ids.shape or (1,))
        .reshape(*ids.shape, weight.shape[1])
    )


@alternative
def gather(weight, ids):
    check_ids(ids, len(weight))
    places = ids.long().reshape(-1, 1).expand(-1, weight.shape[1])
    return weight.gather(0, places).reshape(*ids.shape, -1 if ids.numel() else weight.shape[1])


@alternative
def nested_python_loops(weight, ids):
    def rows(part):
        if isinstance(part, list):
            return torch.stack([rows(item) for item in part]) if part else None
        if not 0 <= part < len(weight):
            raise IndexError(f"there is no row {part} among {len(weight)} rows")
        return weight[part]

    if ids.dtype not in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        raise TypeError(f"row numbers are whole; these are {ids.dtype}")
    if not ids.numel():
        return weight.new_empty(*ids.shape, weight.shape[1])
    return rows(ids.tolist())


@alternative
def chosen_by_where_and_summed(weight, ids):
    check_ids(ids, len(weight))
    chosen = ids.long().unsqueeze(-1) == torch.arange(len(weight), device=ids.device)
    return torch.where(chosen.unsqueeze(-1), weight, 0).sum(dim=-2)


@alternative
def own_check_then_pytorch_for_the_rest(weight, ids):
    if torch.is_floating_point(ids) or ids.dtype is torch.bool:
        raise TypeError(f"ids are {ids.dtype}, but must be whole numbers")
    for row in ids.flatten().tolist():
        if row < 0:
            raise IndexError(f"negative id {row}, for a table of {len(weight)} rows")
    return weight[ids.long()]


class _NumpyRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, rows):
        ctx.save_for_backward(rows)
        ctx.shape = weight.shape
        wide = weight.detach().to(torch.float64).numpy()
        return torch.from_numpy(np.take(wide, rows.numpy(), axis=0)).to(weight.dtype)

    @staticmethod
    def backward(ctx, upstream):
        (rows,) = ctx.saved_tensors
        sums = np.zeros(ctx.shape)
        np.add.at(sums, rows.numpy(), upstream.numpy())
        return torch.from_numpy(sums).to(upstream.dtype), None


@alternative
def numpy_with_its_own_backward(weight, ids):
    check_ids(ids, len(weight))
    return _NumpyRows.apply(weight, ids.long())


mistake, alternative, error = entries("one_hot_lookup")


@mistake(
    says="one_hot_lookup makes its one-hot rows as float32, whatever the table is.",
    look="Can a float32 matrix be multiplied by a float64 one?",
    common=True,
)
def one_hot_rows_in_float32(weight, ids):
    return F.one_hot(ids.long(), len(weight)).float() @ weight


@mistake(
    says="one_hot_lookup multiplies in float32 and so returns another dtype.",
    look="Which dtype should the result have for a float64 table?",
)
def product_in_float32(weight, ids):
    return F.one_hot(ids.long(), len(weight)).float() @ weight.float()


@mistake(
    says="one_hot_lookup returns the right dtype but rounds to float32 on the way.",
    look="What is lost between float64 and float32?",
)
def rounded_on_the_way(weight, ids):
    return (F.one_hot(ids.long(), len(weight)).float() @ weight.float()).to(weight.dtype)


@mistake(
    says="one_hot_lookup makes its one-hot rows only as long as the largest id asks for.",
    look="How long is a one-hot row if the batch does not hold the last word?",
    common=True,
)
def one_hot_rows_too_short(weight, ids):
    return F.one_hot(ids.long()).to(weight.dtype) @ weight


@mistake(
    says="one_hot_lookup makes its one-hot rows only as long as the largest id asks for.",
    look="How long is a one-hot row if the batch does not hold the last word?",
)
def one_hot_rows_too_short_for_int64_ids_only(weight, ids):
    return F.one_hot(ids).to(weight.dtype) @ weight


@mistake(
    says="one_hot_lookup multiplies whole numbers with a floating table, which PyTorch refuses.",
    look="Which dtype does `F.one_hot` return, and which one has the table?",
)
def one_hot_rows_left_as_integers(weight, ids):
    return F.one_hot(ids.long(), len(weight)) @ weight


@mistake(
    says="one_hot_lookup passes the ids to `F.one_hot`, which takes int64 only.",
    look="Which dtype may the ids have, and which one does `F.one_hot` want?",
    common=True,
)
def int64_ids_only(weight, ids):
    return F.one_hot(ids, len(weight)).to(weight.dtype) @ weight


@mistake(
    says="one_hot_lookup counts the columns in the dtype of the ids, where 276 may be 20.",
    look="What is 276 as a uint8?",
)
def columns_counted_in_the_dtype_of_the_ids(weight, ids):
    columns = torch.arange(len(weight)).to(ids.dtype)
    return (ids.unsqueeze(-1) == columns).to(weight.dtype) @ weight


@mistake(
    says="one_hot_lookup compares ids in the dtype of the table, where 257 may be 256.",
    look="How many whole numbers does bfloat16 tell apart?",
)
def ids_compared_as_floats(weight, ids):
    columns = torch.arange(len(weight), device=weight.device).to(weight.dtype)
    return (ids.to(weight.dtype).unsqueeze(-1) == columns).to(weight.dtype) @ weight


@mistake(
    says="one_hot_lookup picks rows of the identity with ids that PyTorch reads as a mask.",
    look="What does a uint8 tensor in square brackets mean to PyTorch?",
)
def identity_indexed_by_a_mask(weight, ids):
    ids = ids if ids.dtype == torch.uint8 else ids.long()
    return torch.eye(len(weight), dtype=weight.dtype, device=weight.device)[ids] @ weight


@mistake(
    says="one_hot_lookup puts the 1 one column too far to the right.",
    look="Which entry of the one-hot row for id 0 is the 1?",
)
def one_column_off(weight, ids):
    return F.one_hot((ids.long() + 1) % len(weight), len(weight)).to(weight.dtype) @ weight


@mistake(
    says="one_hot_lookup multiplies whole numbers, which cuts the table's fractions off.",
    look="What is a weight of 0.7 as an integer?",
)
def product_of_integers(weight, ids):
    return (F.one_hot(ids.long(), len(weight)) @ weight.long()).to(weight.dtype)


@mistake(
    says="one_hot_lookup cuts the table off, so that no gradient comes back to it.",
    look="What do `.detach()`, `.data` and `torch.no_grad()` cut?",
)
def table_is_detached_from_the_product(weight, ids):
    return F.one_hot(ids.long(), len(weight)).to(weight.dtype) @ weight.data


@mistake(
    says="one_hot_lookup gives one long list of rows and forgets the shape of the ids.",
    look="What is the shape of the result for ids of shape (B, T)?",
)
def shape_is_lost_in_the_product(weight, ids):
    return F.one_hot(ids.long().flatten(), len(weight)).to(weight.dtype) @ weight


@mistake(
    says="one_hot_lookup makes the identity matrix on the CPU, wherever the table is.",
    look="Where does `torch.eye(...)` put a matrix if you do not say?",
)
def identity_on_the_cpu(weight, ids):
    return torch.eye(len(weight), dtype=weight.dtype)[ids.long()] @ weight


@alternative
def rows_of_the_identity(weight, ids):
    identity = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)
    return identity[ids.long()] @ weight


@alternative
def scattered_ones_and_einsum(weight, ids):
    one_hot = weight.new_zeros(*ids.shape, len(weight))
    one_hot = one_hot.scatter(-1, ids.long().unsqueeze(-1), 1.0)
    return torch.einsum("...v,vc->...c", one_hot, weight)


@alternative
def compared_with_all_columns(weight, ids):
    columns = torch.arange(len(weight), device=ids.device)
    return torch.matmul((ids[..., None] == columns).to(weight), weight)


@alternative
def linear_layer_in_float64(weight, ids):
    one_hot = F.one_hot(ids.to(torch.int64), weight.shape[0]).double()
    return F.linear(one_hot, weight.double().T).to(weight.dtype)


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


# --- one_hot_bytes ----------------------------------------------------------------------------


mistake, alternative, error = entries("one_hot_bytes")


@mistake(
    says="one_hot_bytes counts the numbers, not their bytes.",
    look="How many bytes does one float32 take?",
    common=True,
)
def numbers_not_bytes(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return batch_size * seq_len * vocab_size


@mistake(
    says="one_hot_bytes counts 4 bytes per number, whatever is asked for.",
    look="Where do you use `bytes_per_element`?",
)
def always_4_bytes(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return batch_size * seq_len * vocab_size * 4


@mistake(
    says="one_hot_bytes assumes 8 bytes per number if nothing is said.",
    look="Which default does the signature promise?",
)
def eight_bytes_by_default(vocab_size, batch_size, seq_len, bytes_per_element=8):
    return batch_size * seq_len * vocab_size * bytes_per_element


@mistake(
    says="one_hot_bytes answers in GiB.",
    look="Which unit does the name of the function promise?",
    common=True,
)
def in_gibibytes(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return batch_size * seq_len * vocab_size * bytes_per_element / 2**30


@mistake(
    says="one_hot_bytes answers in bits.",
    look="In which unit is the answer?",
)
def in_bits(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return batch_size * seq_len * vocab_size * bytes_per_element * 8


@mistake(
    says="one_hot_bytes returns a float, which cannot hold every large whole number.",
    look="Can there be half a byte?",
)
def a_float(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return batch_size * seq_len * vocab_size * float(bytes_per_element)


@mistake(
    says="one_hot_bytes goes through a float, which rounds large whole numbers.",
    look="Is `int(float(10**16 - 1))` the number that you began with?",
)
def rounded_by_a_float(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return int(batch_size * seq_len * vocab_size * float(bytes_per_element))


@mistake(
    says="one_hot_bytes multiplies in 32 bits, which overflow at 2 147 483 647.",
    look="What is the largest int32?",
)
def overflow_of_32_bits(vocab_size, batch_size, seq_len, bytes_per_element=4):
    sizes = torch.tensor([batch_size, seq_len, vocab_size, bytes_per_element])
    return int(sizes.prod().int())


@mistake(
    says="one_hot_bytes counts one sentence instead of the batch.",
    look="What are the three sides of the one-hot tensor?",
)
def one_sentence(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return seq_len * vocab_size * bytes_per_element


@mistake(
    says="one_hot_bytes counts the ids, not their one-hot rows.",
    look="How many numbers stand for one id?",
)
def ids_only(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return batch_size * seq_len * bytes_per_element


def _as_if_made(vocab_size, batch_size, seq_len):
    """The numbers in a one-hot tensor; it is made only where that fails at once."""
    numbers = batch_size * seq_len * vocab_size
    if numbers > 2**48:
        torch.zeros(batch_size, seq_len, vocab_size)
    return numbers


@mistake(
    says="one_hot_bytes makes the tensor to measure it, which takes more memory than there is.",
    look="Can you tell the size of a tensor from its sides, without making it?",
)
def measured_on_the_tensor_itself(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return _as_if_made(vocab_size, batch_size, seq_len) * bytes_per_element


@mistake(
    says="one_hot_bytes makes the tensor to measure it, which takes more memory than there is.",
    look="Can you tell the size of a tensor from its sides, without making it?",
)
def measured_on_a_tensor_of_float32(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return _as_if_made(vocab_size, batch_size, seq_len) * 4


@alternative
def product_of_the_sides(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return math.prod((bytes_per_element, vocab_size, seq_len, batch_size))


@alternative
def asked_of_a_tensor_without_memory(vocab_size, batch_size, seq_len, bytes_per_element=4):
    one_hot = torch.empty(batch_size, seq_len, vocab_size, dtype=torch.int8, device="meta")
    return one_hot.numel() * bytes_per_element


@alternative
def numpy_int64(vocab_size, batch_size, seq_len, bytes_per_element=4):
    sides = np.array([vocab_size, batch_size, seq_len, bytes_per_element], dtype=np.int64)
    return int(sides.prod())


mistake, alternative, error = entries("lookup_backward")


@mistake(
    says="lookup_backward assigns to repeated rows, so that only one gradient of them survives.",
    look="What does `table[[1, 1]] = rows` leave in row 1?",
    common=True,
)
def last_one_wins(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    grad_weight = grad_output.new_zeros(vocab_size, n_embd)
    for row, gradient in zip(ids.flatten().tolist(), grad_output.reshape(-1, n_embd), strict=True):
        grad_weight[row] = gradient
    return grad_weight


@mistake(
    says="lookup_backward keeps only one of the gradients that a repeated row gets.",
    look="What does `table[[1, 1]] += 1` leave in row 1?",
    common=True,
)
def repeated_rows_are_added_once(grad_output, ids, vocab_size):
    grad_weight = grad_output.new_zeros(vocab_size, grad_output.shape[-1])
    grad_weight[ids.long()] += grad_output
    return grad_weight


@mistake(
    says="lookup_backward keeps only one of the gradients that a repeated row gets.",
    look="What does `table[[1, 1]] += 1` leave in row 1?",
)
def repeated_rows_are_added_once_for_ids_in_int64(grad_output, ids, vocab_size):
    grad_weight = torch.zeros(vocab_size, grad_output.shape[-1], dtype=grad_output.dtype)
    grad_weight[ids] += grad_output
    return grad_weight


@mistake(
    says="lookup_backward assigns to repeated rows, so that only one gradient of them survives.",
    look="What does `table[[1, 1]] = rows` leave in row 1?",
)
def last_one_wins_for_ids_in_int64(grad_output, ids, vocab_size):
    grad_weight = torch.zeros(vocab_size, grad_output.shape[-1], dtype=grad_output.dtype)
    grad_weight[ids] = grad_output
    return grad_weight


@mistake(
    says="lookup_backward averages the gradients of a repeated row.",
    look="If a word is used twice, does the loss depend on its row half as much?",
)
def mean_instead_of_sum(grad_output, ids, vocab_size):
    one_hot = F.one_hot(ids.long().flatten(), vocab_size).to(grad_output.dtype)
    sums = one_hot.T @ grad_output.reshape(-1, grad_output.shape[-1])
    return sums / one_hot.sum(dim=0).clamp(min=1)[:, None]


@mistake(
    says="lookup_backward divides by the number of ids.",
    look="Is there a mean in `lookup`?",
)
def divided_by_the_number_of_ids(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = grad_output.new_zeros(vocab_size, n_embd)
    sums = sums.index_add(0, ids.long().flatten(), grad_output.reshape(-1, n_embd))
    return sums / max(ids.numel(), 1)


@mistake(
    says="lookup_backward counts how often a row was looked up and ignores the gradient.",
    look="Where does `grad_output` enter?",
)
def counts_of_the_rows(grad_output, ids, vocab_size):
    counts = torch.bincount(ids.long().flatten(), minlength=vocab_size).to(grad_output.dtype)
    return counts[:, None].expand(-1, grad_output.shape[-1]) + 0 * grad_output.sum()


@mistake(
    says="lookup_backward makes only as many rows as the largest id asks for.",
    look="How many rows has the table, whatever was looked up?",
)
def rows_up_to_the_largest_id(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    vocab_size = int(ids.max()) + 1 if ids.numel() else vocab_size
    sums = grad_output.new_zeros(vocab_size, n_embd)
    return sums.index_add(0, ids.long().flatten(), grad_output.reshape(-1, n_embd))


@mistake(
    says="lookup_backward leaves row 0 without a gradient, as if it were padding.",
    look="Is id 0 different from the others?",
)
def row_0_is_padding(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = grad_output.new_zeros(vocab_size, n_embd)
    sums = sums.index_add(0, ids.long().flatten(), grad_output.reshape(-1, n_embd))
    return torch.cat((torch.zeros_like(sums[:1]), sums[1:]))


@mistake(
    says="lookup_backward asks autograd, which records nothing in inference mode.",
    look="Can you write down which entries of `grad_output` reach row k?",
    common=True,
)
def autograd_does_the_work(grad_output, ids, vocab_size):
    weight = grad_output.new_zeros(vocab_size, grad_output.shape[-1]).requires_grad_()
    output = weight[ids.long()]
    return torch.autograd.grad(output, weight, grad_output, create_graph=True)[0]


@mistake(
    says="lookup_backward adds in float32, whatever the dtype of the gradient is.",
    look="Which dtype does `torch.zeros(V, C)` have?",
    common=True,
)
def sums_in_float32(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = torch.zeros(vocab_size, n_embd, device=grad_output.device)
    return sums.index_add(0, ids.long().flatten(), grad_output.reshape(-1, n_embd).float())


@mistake(
    says="lookup_backward returns the right dtype but rounds to float32 on the way.",
    look="What is lost between float64 and float32?",
)
def sums_rounded_to_float32(grad_output, ids, vocab_size):
    return sums_in_float32(grad_output, ids, vocab_size).to(grad_output.dtype)


@mistake(
    says="lookup_backward makes its zeros on the CPU, wherever the gradient is.",
    look="Where does `torch.zeros(...)` put a tensor if you do not say?",
)
def zeros_on_the_cpu(grad_output, ids, vocab_size):
    sums = torch.zeros(vocab_size, grad_output.shape[-1], dtype=grad_output.dtype)
    return sums.index_put((ids.long(),), grad_output, accumulate=True)


@mistake(
    says="lookup_backward indexes with the ids as they come, and uint8 means a mask.",
    look="Which integer dtypes does PyTorch accept as row numbers?",
)
def ids_as_they_come(grad_output, ids, vocab_size):
    sums = grad_output.new_zeros(vocab_size, grad_output.shape[-1])
    return sums.index_put((ids,), grad_output, accumulate=True)


@mistake(
    says="lookup_backward views the gradient as rows, which a transposed tensor does not allow.",
    look="When does `.view` fail where `.reshape` works?",
)
def view_of_the_gradient(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = grad_output.new_zeros(vocab_size, n_embd)
    return sums.index_add(0, ids.long().flatten(), grad_output.view(-1, n_embd))


@mistake(
    says="lookup_backward expects ids with two axes, (B, T).",
    look="What is `ids.shape` for a single id, or for a batch of batches?",
)
def ids_with_two_axes(grad_output, ids, vocab_size):
    sums = grad_output.new_zeros(vocab_size, grad_output.shape[-1])
    return sums.index_add(0, ids.long().flatten(), grad_output.flatten(0, 1))


@mistake(
    says="lookup_backward adds the first feature only.",
    look="How many columns does an index of shape (N, 1) reach in `scatter_add`?",
)
def first_column_only(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = grad_output.new_zeros(vocab_size, n_embd)
    return sums.scatter_add(0, ids.long().reshape(-1, 1), grad_output.reshape(-1, n_embd))


@mistake(
    says="lookup_backward returns the gradient transposed, (C, V).",
    look="Which axis of the table do the ids number?",
)
def transposed_gradient(grad_output, ids, vocab_size):
    one_hot = F.one_hot(ids.long().flatten(), vocab_size).to(grad_output.dtype)
    return grad_output.reshape(-1, grad_output.shape[-1]).T @ one_hot


@mistake(
    says="lookup_backward scales every gradient by how often its row occurs in the batch.",
    look="If id 1 occurs three times, how many gradients does its row get?",
)
def added_once_too_often(grad_output, ids, vocab_size):
    one_hot = F.one_hot(ids.long().flatten(), vocab_size).to(grad_output.dtype)
    sums = one_hot.T @ grad_output.reshape(-1, grad_output.shape[-1])
    return sums * one_hot.sum(dim=0).clamp(min=1)[:, None]


_sums_so_far = {}


@mistake(
    says="lookup_backward goes on adding to the sums of the call before.",
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


@mistake(
    says="lookup_backward assigns to repeated rows, so that only one gradient of them survives.",
    look="What arrives at a row that was looked up twice?",
)
def scattered_without_adding(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    places = ids.long().reshape(-1, 1).expand(-1, n_embd)
    grad_weight = grad_output.new_zeros(vocab_size, n_embd)
    return grad_weight.scatter(0, places, grad_output.reshape(-1, n_embd))


@mistake(
    says="lookup_backward gives every sentence of the batch a table of its own.",
    look="How many tables are there, and what happens to the sentences' shares of one row?",
)
def a_table_for_every_sentence(grad_output, ids, vocab_size):
    one_hot = F.one_hot(ids.long(), vocab_size).to(grad_output.dtype)
    return one_hot.transpose(-1, -2) @ grad_output


@mistake(
    says="lookup_backward counts a row that a sentence looks up twice only once in that sentence.",
    look="What does `table[ids] += ...` do with repeated ids, even in a loop over sentences?",
)
def repeated_rows_of_a_sentence_are_added_once(grad_output, ids, vocab_size):
    grad_weight = grad_output.new_zeros(vocab_size, grad_output.shape[-1])
    for sentence in range(ids.shape[0]):
        grad_weight[ids[sentence].long()] += grad_output[sentence]
    return grad_weight


@alternative
def one_hot_transposed_times_gradient(grad_output, ids, vocab_size):
    one_hot = F.one_hot(ids.long().flatten(), vocab_size).to(grad_output.dtype)
    return one_hot.T @ grad_output.reshape(len(one_hot), grad_output.shape[-1])


@alternative
def index_put_that_accumulates(grad_output, ids, vocab_size):
    sums = grad_output.new_zeros(vocab_size, grad_output.size(-1))
    return sums.index_put((ids.long(),), grad_output, accumulate=True)


@alternative
def scatter_add_in_place(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = torch.zeros((vocab_size, n_embd), dtype=grad_output.dtype, device=grad_output.device)
    places = ids.long().reshape(-1, 1).expand(-1, n_embd)
    return sums.scatter_add_(0, places, grad_output.reshape(-1, n_embd))


@alternative
def scatter_reduce_in_float64(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = grad_output.new_zeros(vocab_size, n_embd, dtype=torch.float64)
    places = ids.long().reshape(-1, 1).expand(-1, n_embd)
    rows = grad_output.reshape(-1, n_embd).double()
    return sums.scatter_reduce(0, places, rows, reduce="sum").to(grad_output.dtype)


@alternative
def python_dictionary_of_sums(grad_output, ids, vocab_size):
    zero = torch.zeros_like(grad_output.reshape(-1, grad_output.shape[-1]).sum(dim=0))
    sums = {}
    for row, gradient in zip(
        ids.flatten().tolist(), grad_output.reshape(-1, len(zero)), strict=True
    ):
        sums[row] = sums.get(row, zero) + gradient
    return torch.stack([sums.get(row, zero) for row in range(vocab_size)])


@alternative
def einsum_over_places(grad_output, ids, vocab_size):
    chosen = ids.long().unsqueeze(-1) == torch.arange(vocab_size, device=ids.device)
    return torch.einsum("...v,...c->vc", chosen.to(grad_output.dtype), grad_output)


@alternative
def the_kernel_of_pytorch(grad_output, ids, vocab_size):
    return torch.ops.aten.embedding_dense_backward(grad_output, ids.long(), vocab_size, -1, False)


@alternative
@torch.no_grad()
def added_without_a_graph(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = grad_output.new_zeros(vocab_size, n_embd)
    return sums.index_add_(0, ids.long().flatten(), grad_output.reshape(-1, n_embd))


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


class _Table(nn.Module):
    """A right `TokenEmbedding`, for mistakes that differ from it in one place."""

    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.weight = nn.Parameter(self.start(vocab_size, n_embd))

    def start(self, vocab_size, n_embd):
        return 0.02 * torch.randn(vocab_size, n_embd)

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.weight[ids.long()]


mistake, alternative, error = entries("TokenEmbedding")


@mistake(
    says="TokenEmbedding starts from N(0, 1), as `nn.Embedding` does.",
    look="Which standard deviation is asked for?",
    common=True,
)
class standard_deviation_of_1(_Table):
    def start(self, vocab_size, n_embd):
        return torch.randn(vocab_size, n_embd)


@mistake(
    says="TokenEmbedding takes the variance 0.02² for the standard deviation.",
    look="Does `torch.normal` want the standard deviation or its square?",
    common=True,
)
class variance_for_standard_deviation(_Table):
    def start(self, vocab_size, n_embd):
        return torch.normal(0.0, 0.02**2, (vocab_size, n_embd))


@mistake(
    says="TokenEmbedding takes the standard deviation 0.02 for the variance.",
    look="What is the square in N(0, 0.02²)?",
)
class root_of_the_standard_deviation(_Table):
    def start(self, vocab_size, n_embd):
        return 0.02**0.5 * torch.randn(vocab_size, n_embd)


@mistake(
    says="TokenEmbedding starts from uniform numbers.",
    look="Which distribution does the N in N(0, 0.02²) stand for?",
)
class uniform_start(_Table):
    def start(self, vocab_size, n_embd):
        return 0.02 * math.sqrt(12) * (torch.rand(vocab_size, n_embd) - 0.5)


@mistake(
    says="TokenEmbedding starts from uniform numbers.",
    look="Which distribution does the N in N(0, 0.02²) stand for?",
)
class uniform_start_above_zero(_Table):
    def start(self, vocab_size, n_embd):
        return 0.02 * torch.rand(vocab_size, n_embd)


@mistake(
    says="TokenEmbedding starts from uniform numbers.",
    look="Which distribution does the N in N(0, 0.02²) stand for?",
)
class uniform_start_from_0_to_1(_Table):
    def start(self, vocab_size, n_embd):
        return torch.rand(vocab_size, n_embd)


@mistake(
    says="TokenEmbedding starts from uniform numbers.",
    look="Which distribution does the N in N(0, 0.02²) stand for?",
)
class uniform_start_within_the_standard_deviation(_Table):
    def start(self, vocab_size, n_embd):
        return 0.02 * (2 * torch.rand(vocab_size, n_embd) - 1)


@mistake(
    says="TokenEmbedding cuts the normal distribution off at two standard deviations.",
    look="Which share of normal numbers lies beyond ±0.04?",
)
class tails_cut_off(_Table):
    def start(self, vocab_size, n_embd):
        numbers = nn.init.trunc_normal_(torch.empty(vocab_size, n_embd), a=-2.0, b=2.0)
        return 0.02 / 0.8796 * numbers


@mistake(
    says="TokenEmbedding starts with a spread that depends on the width.",
    look="Does 0.02 depend on C?",
)
class spread_by_the_width(_Table):
    def start(self, vocab_size, n_embd):
        return torch.randn(vocab_size, n_embd) / math.sqrt(n_embd)


@mistake(
    says="TokenEmbedding starts from zero, where all tokens are the same.",
    look="How would two tokens ever become different?",
)
class start_from_zero(_Table):
    def start(self, vocab_size, n_embd):
        return torch.zeros(vocab_size, n_embd)


@mistake(
    says="TokenEmbedding keeps row 0 at zero, as if it were padding.",
    look="Is id 0 different from the others?",
)
class zero_row_for_padding(_Table):
    def start(self, vocab_size, n_embd):
        numbers = 0.02 * torch.randn(vocab_size, n_embd)
        numbers[0] = 0
        return numbers


@mistake(
    says="TokenEmbedding gives all tokens the same row.",
    look="How many numbers did you draw?",
)
class one_row_for_all(_Table):
    def start(self, vocab_size, n_embd):
        return (0.02 * torch.randn(n_embd)).repeat(vocab_size, 1)


@mistake(
    says="TokenEmbedding seeds the global generator.",
    look="Who else draws random numbers in this program?",
)
class global_seed_inside(_Table):
    def start(self, vocab_size, n_embd):
        torch.manual_seed(0)
        return 0.02 * torch.randn(vocab_size, n_embd)


@mistake(
    says="TokenEmbedding draws from a generator of its own, so manual_seed has no say.",
    look="Which generator does `torch.manual_seed` seed?",
)
class generator_of_its_own(_Table):
    def start(self, vocab_size, n_embd):
        generator = torch.Generator()
        generator.seed()
        return 0.02 * torch.randn(vocab_size, n_embd, generator=generator)


@mistake(
    says="TokenEmbedding holds its table transposed, (C, V).",
    look="Which axis of `weight` do the ids number?",
)
class table_on_its_side(_Table):
    def start(self, vocab_size, n_embd):
        return 0.02 * torch.randn(n_embd, vocab_size)

    def forward(self, ids):
        check_ids(ids, self.weight.shape[1])
        return self.weight.T[ids.long()]


@mistake(
    says="TokenEmbedding keeps its table as a tensor that no optimizer finds.",
    look="What turns a tensor into something that `parameters()` lists?",
    common=True,
)
class plain_tensor_as_table(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.weight = 0.02 * torch.randn(vocab_size, n_embd)

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.weight[ids.long()]


@mistake(
    says="TokenEmbedding keeps its table as a tensor that no optimizer finds.",
    look="What turns a tensor into something that `parameters()` lists?",
)
class buffer_as_table(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.register_buffer("weight", 0.02 * torch.randn(vocab_size, n_embd))

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.weight[ids.long()]


@mistake(
    says="TokenEmbedding has a table that is frozen.",
    look="What does `requires_grad=False` say to the optimizer?",
)
class frozen_table(_Table):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        self.weight.requires_grad_(False)


@mistake(
    says="TokenEmbedding holds its table under another name.",
    look="Which names does `named_parameters()` list?",
    common=True,
)
class table_inside_of_a_child(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, n_embd)
        nn.init.normal_(self.embedding.weight, std=0.02)

    def forward(self, ids):
        check_ids(ids, self.embedding.num_embeddings)
        return self.embedding(ids.long())


@mistake(
    says="TokenEmbedding holds its table under another name.",
    look="Which names does `named_parameters()` list?",
)
class table_called_table(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))

    def forward(self, ids):
        check_ids(ids, len(self.table))
        return self.table[ids.long()]


@mistake(
    says="TokenEmbedding adds a bias, a second parameter.",
    look="What does a table hold besides its rows?",
)
class a_bias_as_well(_Table):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        self.bias = nn.Parameter(torch.zeros(n_embd))

    def forward(self, ids):
        return super().forward(ids) + self.bias


_shared = {}


@mistake(
    says="TokenEmbedding shares one table among all modules of the same size.",
    look="Is the table made once for the class or once for each object?",
    forget=_shared.clear,
)
class table_shared_by_all(_Table):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        self.weight = _shared.setdefault((vocab_size, n_embd), self.weight)


@mistake(
    says="TokenEmbedding looks up in a copy that it made at the start.",
    look="What does forward return after the optimizer has changed `weight`?",
)
class copy_made_at_the_start(_Table):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        self.rows = self.weight.detach().clone()

    def forward(self, ids):
        check_ids(ids, len(self.rows))
        return self.rows[ids.long()] + 0 * self.weight[ids.long()]


@mistake(
    says="TokenEmbedding detaches the rows, so that the table never learns.",
    look="Where is the way of the gradient cut?",
)
class rows_are_detached(_Table):
    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.weight.data[ids.long()]


@mistake(
    says="TokenEmbedding multiplies the rows by √C.",
    look="Is there a factor in `lookup`?",
)
class scaled_by_the_root_of_the_width(_Table):
    def forward(self, ids):
        return super().forward(ids) * math.sqrt(self.weight.shape[1])


@mistake(
    says="TokenEmbedding drops some of the features at random.",
    look="What else does forward do besides looking up?",
)
class dropout_on_the_rows(_Table):
    def forward(self, ids):
        return F.dropout(super().forward(ids), 0.1, self.training)


@mistake(
    says="TokenEmbedding shortens long rows in its table whenever it reads them.",
    look="What does `max_norm` do to the table?",
)
class rows_are_shortened(_Table):
    def forward(self, ids):
        check_ids(ids, len(self.weight))
        with torch.no_grad():
            return F.embedding(ids.long(), self.weight, max_norm=10.0)


@mistake(
    says="TokenEmbedding divides the gradient of a row by how often it was looked up.",
    look="What does `scale_grad_by_freq` do?",
)
class gradient_divided_by_frequency(_Table):
    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return F.embedding(ids.long(), self.weight, scale_grad_by_freq=True)


@mistake(
    says="TokenEmbedding gives row 0 no gradient, as if it were padding.",
    look="What does `padding_idx` do?",
)
class row_0_never_learns(_Table):
    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return F.embedding(ids.long(), self.weight, padding_idx=0)


@mistake(
    says="TokenEmbedding indexes with the ids as they come, and uint8 means a mask.",
    look="Which integer dtypes does PyTorch accept as row numbers?",
)
class ids_index_as_they_come(_Table):
    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.weight[ids]


@mistake(
    says="TokenEmbedding looks up without a check, so that the id -1 gives the last row.",
    look="Which ids does `lookup` refuse?",
)
class no_check_at_all(_Table):
    def forward(self, ids):
        return self.weight[ids.long()]


@mistake(
    says="TokenEmbedding passes floats and bools on as if they were ids.",
    look="Which dtypes does `lookup` refuse?",
)
class no_check_of_the_dtype(_Table):
    def forward(self, ids):
        return super().forward(ids.long())


@mistake(
    says="TokenEmbedding keeps a tensor as its table that takes a gradient, but is no parameter.",
    look="What turns a tensor into a parameter, and what does a product turn it into?",
)
class parameter_multiplied_afterwards(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, n_embd)) * 0.02

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.weight[ids.long()]


@mistake(
    says="TokenEmbedding gives its last row no gradient, as if it were padding.",
    look="Which rows of the table should learn?",
)
class last_row_never_learns(_Table):
    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return F.embedding(ids.long(), self.weight, padding_idx=-1)


@mistake(
    says="TokenEmbedding leaves the ids to `nn.Embedding`, which takes two integer dtypes only.",
    look="Which dtypes may ids have, and what should an error name?",
)
class an_embedding_layer_without_a_check(nn.Embedding):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        nn.init.normal_(self.weight, std=0.02)


@alternative
class subclass_of_nn_embedding(nn.Embedding):
    def reset_parameters(self):
        nn.init.normal_(self.weight, mean=0.0, std=0.02)

    def forward(self, ids):
        check_ids(ids, self.num_embeddings)
        return super().forward(ids.long())


@alternative
class registered_parameter(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.vocab_size = vocab_size
        rows = [torch.normal(0.0, 0.02, (n_embd,)) for _ in range(vocab_size)]
        self.register_parameter("weight", nn.Parameter(torch.stack(rows)))

    def forward(self, ids):
        check_ids(ids, self.vocab_size)
        flat = self.weight.index_select(0, ids.long().reshape(-1))
        return flat.reshape(*ids.shape, self.weight.shape[-1])


@alternative
class sparse_gradients_and_distant_truncation(_Table):
    def start(self, vocab_size, n_embd):
        return nn.init.trunc_normal_(torch.empty(vocab_size, n_embd), std=0.02)

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return F.embedding(ids.long(), self.weight, sparse=True)


@alternative
class box_and_muller(_Table):
    def start(self, vocab_size, n_embd):
        radius = (
            -2 * torch.rand(vocab_size, n_embd, dtype=torch.float64).clamp(1e-12).log()
        ).sqrt()
        angle = 2 * math.pi * torch.rand(vocab_size, n_embd, dtype=torch.float64)
        return (0.02 * radius * angle.cos()).float()


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


@alternative
class drawn_in_float64_and_moved_here(_Table):
    def start(self, vocab_size, n_embd):
        return torch.randn(n_embd, vocab_size, dtype=torch.float64).T.mul(0.02).float()
