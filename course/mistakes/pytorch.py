"""What errors of PyTorch say about the tensors that an exercise gave it, whatever the exercise."""

import re


def in_plain_words(message: str) -> str:
    """Return what an error says about its tensors, and what to look at; nothing if it is unknown.

    >>> in_plain_words("mat1 and mat2 shapes cannot be multiplied (4x3 and 5x2)")
    'The product adds up over axes of lengths 3 and 5: write both shapes down.'
    >>> in_plain_words("list index out of range")
    ''
    """
    for begins, means in _MEANS.items():
        if found := re.match(begins, message):
            return means.format(*found.groups())
    return ""


_MEANS = {
    r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)": (
        "The product adds up over axes of lengths {0} and {1}: write both shapes down."
    ),
    r"size mismatch, got input \(\d+\), mat \(\d+x(\d+)\), vec \((\d+)\)": (
        "The product adds up over axes of lengths {0} and {1}: write both shapes down."
    ),
    r"Expected size for first two dimensions of batch2 tensor to be: "
    r"\[(\d+, \d+)\] but got: \[(\d+, \d+)\]": (
        "Batch and inner axis of the product have lengths {0} on the left and {1} on the right: "
        "write both shapes down."
    ),
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton "
    r"dimension (\d+)": (
        "Axis {2} is {0} long in one tensor and {1} in the other: write both shapes down, and "
        "align them at their last axes."
    ),
    r"(?:expected m1 and m2 to have the same dtype, but got: (.+) != (.+)"
    r"|expected scalar type (\w+) but found (\w+))": (
        "Two tensors of different dtypes are multiplied. Which one should change?"
    ),
    r"view size is not compatible": (
        "`view` was asked for numbers that are not in this order in memory; `reshape` copies them."
    ),
    r"shape '\[(.*)\]' is invalid for input of size (\d+)": (
        "The sizes in [{0}] do not multiply to the {1} numbers that there are."
    ),
    r"cannot reshape tensor of 0 elements": (
        "Where there are no numbers, PyTorch cannot work out a size of -1: write the size itself."
    ),
    r"Sizes of tensors must match except in dimension (\d+)": (
        "The parts are joined along axis {0}, and differ along another one. Which axis should grow?"
    ),
    r"Boolean value of Tensor with more than one value": (
        "An `if`, `and`, `or` or `not` asks a whole tensor for one answer; each entry has its own."
    ),
    r"'torch.Size' object is not callable": (
        "`shape` takes no parentheses: write `x.shape`, or `x.shape[0]` for the length of one axis."
    ),
    r"'Tensor' object is not callable": (
        "A tensor is called like a function. Entries are in square brackets, as in `x[0]`; to "
        "multiply, write `*` or `@`."
    ),
    r"selected index k out of range": "`topk` is asked for more entries than there are.",
}
