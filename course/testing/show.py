"""Values and calls in few words, for messages that fit a terminal."""

import itertools
from collections.abc import Iterable
from typing import Any

import torch

from course.testing.door import Call, Handle
from course.testing.executor import GeneratorSeed
from course.testing.plain import Foreign

CALLED, GOT, WANT = "called", "got", "want"
"""What begins a line of a message: a call, what it gave, and what it should have given."""

_SMALL = 16
"""A tensor with more elements is shown by its shape alone."""

_LONG = 40
"""Of a list with more items the first ones are shown."""


def labeled(label: str, text: str) -> str:
    """Return a line of a message."""
    return f"{label:<8}{text}"


def show(value: Any) -> str:
    """Return a value in one line, or a small matrix in a few.

    >>> show(torch.tensor([[1.0, 2.5], [0.0, -1.0]]))
    '[[1, 2.5], [0, -1]]'
    >>> show(torch.zeros(100, 7))
    'a tensor (100, 7) of float32'
    """
    if isinstance(value, torch.Tensor):
        return _show_tensor(value)
    if isinstance(value, Foreign):
        return with_article(value.type_name)
    if isinstance(value, Handle):
        return f"<{value.name}>"
    if isinstance(value, GeneratorSeed):
        return f"torch.Generator().manual_seed({value.seed})"
    if isinstance(value, tuple):
        return f"({_listed(map(show, value))})"
    if isinstance(value, list):
        return f"[{_listed(map(show, value))}]"
    if isinstance(value, dict):
        return f"{{{_listed(f'{show(key)}: {show(item)}' for key, item in value.items())}}}"
    if isinstance(value, float):
        return show_number(value)
    if isinstance(value, int) and value.bit_length() > 600:  # Python refuses to write the longest
        return f"an integer of {value.bit_length():,} bits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _listed(items: Iterable[str]) -> str:
    """Return the items with commas between; whatever their number, it takes no time."""
    items = iter(items)
    shown = list(itertools.islice(items, _LONG))
    return ", ".join([*shown, "..."] if next(items, None) is not None else shown)


def show_call(call: Call, made_by: Call | None = None) -> str:
    """Return a call as it is typed; a call of a module as `Name(2, 3)(x)` if its maker is known.

    >>> show_call(Call("f", (1,), {"x": 2.5}))
    'f(1, x=2.5)'
    """
    args = [show(arg) for arg in call.args]
    args += [f"{name}={show(value)}" for name, value in call.kwargs.items()]
    return f"{show_call(made_by) if made_by else call.name}({', '.join(args)})"


def show_number(number: float) -> str:
    """Return four significant digits, six from 1000 on: enough to compare, short enough to read.

    >>> show_number(0.84147), show_number(3.0), show_number(1e-6), show_number(10000.0)
    ('0.8415', '3', '1e-06', '10000')
    """
    number += 0.0  # no sign for zero
    return f"{number:.4g}" if abs(number) < 1000 else f"{number:g}"


def show_dtype(dtype: torch.dtype) -> str:
    """Return `float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def _show_tensor(tensor: torch.Tensor) -> str:
    description = f"a tensor {tuple(tensor.shape)} of {show_dtype(tensor.dtype)}"
    if tensor.device.type == "meta":
        return f"{description} on the meta device"
    if not is_shown_whole(tensor):
        return description
    note = "" if tensor.dtype in (torch.float32, torch.int64) else f" ({show_dtype(tensor.dtype)})"
    if tensor.numel() == 0:
        return f"an empty tensor {tuple(tensor.shape)}{note}"
    return _nested(tensor.tolist()) + note


def is_shown_whole(tensor: torch.Tensor) -> bool:
    """Return whether all numbers of a tensor are shown."""
    return tensor.numel() <= _SMALL and tensor.layout is torch.strided


def _nested(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    return show_number(value) if isinstance(value, float) else str(value)


def with_article(noun: str) -> str:
    """Return the name of a type with the article that one says aloud before it.

    >>> with_article("list"), with_article("int"), with_article("ndarray")
    ('a list', 'an int', 'an ndarray')
    """
    return f"{'an' if noun[:1] in 'aeio' or noun.startswith('nd') else 'a'} {noun}"
