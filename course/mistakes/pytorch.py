"""What errors of PyTorch say about the tensors that an exercise gave it, whatever the exercise."""

import functools
import re


def in_plain_words(message: str) -> str:
    """Return what an error says about its tensors, and what to look at; nothing if it is unknown.

    >>> in_plain_words("mat1 and mat2 shapes cannot be multiplied (4x3 and 5x2)")
    'The product adds up over axes of lengths 3 and 5: write both shapes down.'
    >>> in_plain_words("list index out of range")
    ''
    """
    for begins, means in _table().items():
        if found := re.match(begins, message):
            return means.format(*found.groups())
    return ""


@functools.cache
def _table() -> dict[str, str]:
    """Return what an error means, by a regular expression for its beginning."""
    means = {}
    for errors, sentence in re.findall(r"((?:^\S.*\n)+)((?:^    .+\n)+)", _ERRORS, re.MULTILINE):
        means |= dict.fromkeys(errors.splitlines(), " ".join(sentence.split()))
    return means


_ERRORS = r"""
mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)
size mismatch, got input \(\d+\), mat \(\d+x(\d+)\), vec \((\d+)\)
    The product adds up over axes of lengths {0} and {1}: write both shapes down.
Expected size for first two dimensions of batch2 tensor to be: \[(.+?)\] but got: \[(.+?)\]
    Batch and inner axis of the product have lengths {0} on the left and {1} on the right: write
    both shapes down.
The size of tensor a \((\d+)\) must match .* tensor b \((\d+)\) at non-singleton dimension (\d+)
    Axis {2} is {0} long in one tensor and {1} in the other: write both shapes down, and align them
    at their last axes.
expected m1 and m2 to have the same dtype, but got: .+ != .+
expected scalar type \w+ but found \w+
    Two tensors of different dtypes are multiplied. Which one should change?
view size is not compatible
    `view` was asked for numbers that are not in this order in memory; `reshape` copies them.
shape '\[([\d, -]*)\]' is invalid for input of size (\d+)
    The sizes in [{0}] do not multiply to the {1} numbers that there are.
\w+\(\): argument '\w+' failed to unpack .* got float
\w+\(\): argument '\w+' must be tuple of ints, but found element of type float
    A size is a float: `/` always gives one; `//` gives an integer.
cannot reshape tensor of 0 elements
    Where there are no numbers, PyTorch cannot work out a size of -1: write the size itself.
Sizes of tensors must match except in dimension (\d+)
    The parts are joined along axis {0}, and differ along another one. Which axis should grow?
Boolean value of Tensor with more than one value
    An `if`, `and`, `or` or `not` asks a whole tensor for one answer; each entry has its own.
'torch.Size' object is not callable
    `shape` takes no parentheses: write `x.shape`, or `x.shape[0]` for the length of one axis.
'Tensor' object is not callable
    A tensor is called like a function. Entries are in square brackets, as in `x[0]`; to multiply,
    write `*` or `@`.
selected index k out of range
    `topk` is asked for more entries than there are.
'torch.dtype' object is not callable
    A dtype is not a function: `x.dtype` takes no parentheses, and `x.to(torch.float32)` converts a
    tensor.
.*builtin_function_or_method
    A function or method is named but not called: add its parentheses, as in `x.size(0)`.
.*torch\.return_types\.(max|min|sort|topk|median|mode)
    Along an axis, `{0}` returns two tensors, the values and their indices: choose one of them,
    `.values` or `.indices`.
The shape of the mask \[([\d, ]*)\] at index (\d+) does not match .* \[([\d, ]*)\] at index \2
    A mask in square brackets is aligned with the first axes: [{0}] with [{2}]. `x[..., mask]`
    aligns it with the last ones, and `x.masked_fill(mask, ...)` broadcasts it.
(?:cat|concat|concatenate|stack)\(\): argument 'tensors' \(position 1\) must be tuple
    The tensors to join are one argument, a tuple or a list: `torch.cat((a, b), dim=...)`.
transpose\(\) (?:takes 2|missing)
    A tensor's `transpose` takes the two axes that it swaps. `x.mT` swaps the last two, and
    `x.permute(...)` puts all axes in a new order.
1D tensors expected, but got
    `dot` multiplies two vectors only; use `@` for matrices.
mean\(\): could not infer output dtype
"\w*softmax\w*" not implemented for
    PyTorch computes this only of floating numbers. Where should the tensor become floating?
tensors used as indices must be long
    Only tensors of integers or booleans may be in square brackets; this one is neither.
a (?:view of a )?leaf Variable that requires grad is being used in an in-place operation
    `+=`, assigning to entries, and methods that end in `_` change a tensor in place, which PyTorch
    forbids here, because the tensor needs a gradient. Make a new one: `x = x + 1`.
'Tensor' object has no attribute 'astype'
    A tensor is converted by `x.to(torch.float32)`, or in short by `x.float()` or `x.long()`.
'Tensor' object has no attribute 'copy'
    A tensor is copied by `x.clone()`.
module 'torch' has no attribute 'array'
    `torch.tensor([...])` makes a tensor of a list, as `np.array` makes an array.
(?:Tensor\.)?\w+\(\) got an unexpected keyword argument 'keepdims'
    PyTorch calls this argument `keepdim`.
(softmax|log_softmax|normalize)\(\) got an unexpected keyword argument 'axis'
    PyTorch's `{0}` calls this argument `dim`.
(sqrt|exp|log2?|sin|cos|tanh?|floor|ceil)\(\): argument 'input' .* must be Tensor, not (?:int|float)
    `torch.{0}` takes a tensor; for a single number, use `math.{0}`.
.*must be Tensor, not numpy
expected Tensor as element \d+ in argument \d+, but got numpy
unsupported operand type\(s\) for .*: 'numpy.ndarray' and 'Tensor'
    PyTorch gets a NumPy array instead of a tensor: `torch.from_numpy(array)` converts it.
Can't call numpy\(\) on Tensor that requires grad
    NumPy computes no gradients. Use PyTorch's own function, such as `torch.sqrt` for `np.sqrt`.
only one element tensors can be converted to Python scalars
    `int`, `float` and the functions of `math` take one number, not a whole tensor; `torch.sqrt` and
    the like take every entry.
"""
