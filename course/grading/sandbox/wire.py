"""The bytes between the judge and a worker: plain values, and nothing that could do anything.

A message is a JSON text, followed by the memory of the tensors in it; the next one is sent when
this one was answered. What comes from a worker was written by a stranger: its size is bounded,
every field is checked, and reading it can only give a plain value or raise `WireError`.
"""

import json
import math
import socket
import struct
from collections.abc import Callable
from typing import Any

import torch

from course.testing.executor import GeneratorSeed, Ref
from course.testing.plain import Foreign

MAX_TEXT_BYTES = 2**20
MAX_MEMORY_BYTES = 64 * 2**20
MAX_ELEMENTS = 2**22
"""Of one tensor, and of its rows if they are empty: a test may well take it apart row by row."""
MAX_ELEMENTS_IN_ALL = 2**23
"""Of all tensors of a message; what is expanded takes no memory, until somebody looks at it."""
MAX_DIMENSIONS = 16
MAX_ITEMS = 1000
"""Of one dictionary: keys can be chosen so that each collides with all others."""
MAX_DEPTH = 40
MAX_HEX_DIGITS = 1000
"""Of one whole number; Python refuses to show numbers that are much longer."""

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
        *(torch.uint64, torch.uint32, torch.uint16),
        *(torch.complex64, torch.complex128),
    )
}
"""The dtypes that can cross, by name."""

_NAMES = {dtype: name for name, dtype in DTYPES.items()}
HEADER = struct.Struct("!II")  # the lengths of the text and of the memory


class WireError(Exception):
    """An error of what arrived, or was to be sent: it is no message."""


class ReceiveTimeout(Exception):
    """Nothing arrived, or could be sent, in time."""


class ConnectionClosed(Exception):
    """The other side closed the connection."""


# --- messages -------------------------------------------------------------------------------


SecondsLeft = Callable[[], float] | None
"""How long may still be waited, asked again before anybody gives up; None is for ever."""


def send(connection: socket.socket, message: bytes, seconds_left: SecondsLeft = None) -> None:
    """Send what `dumps` made; it must be on its way before no seconds are left.

    Raises:
        ReceiveTimeout, ConnectionClosed.
    """
    rest = memoryview(message)
    while rest:
        rest = rest[_in_time(connection, connection.send, rest, seconds_left) :]


def receive(
    connection: socket.socket, seconds_left: SecondsLeft = None
) -> tuple[bytearray, bytearray]:
    """Return the next message for `loads`; it must have arrived whole before no seconds are left.

    Raises:
        WireError, ReceiveTimeout, ConnectionClosed.
    """
    data = bytearray()
    while len(data) < HEADER.size:
        data += _some(connection, seconds_left)
    text_length, memory_length = HEADER.unpack_from(data)
    if text_length > MAX_TEXT_BYTES or memory_length > MAX_MEMORY_BYTES:
        raise WireError("a message is larger than any answer could be")
    memory_start = HEADER.size + text_length
    end = memory_start + memory_length
    while len(data) < end:
        data += _some(connection, seconds_left)
    if len(data) > end:
        raise WireError("more arrived than was asked for")
    return data[HEADER.size : memory_start], data[memory_start:]


def _some(connection: socket.socket, seconds_left: SecondsLeft) -> bytes:
    """Return what is there, as soon as something is."""
    data = _in_time(connection, connection.recv, 2**18, seconds_left)
    if not data:
        raise ConnectionClosed
    return data


def _in_time(
    connection: socket.socket, act: Callable[[Any], Any], given: Any, seconds_left: SecondsLeft
) -> Any:
    """Send or receive before no seconds are left, even if one byte after another comes."""
    while True:
        if seconds_left is not None:
            seconds = seconds_left()
            if seconds <= 0:
                raise ReceiveTimeout
            connection.settimeout(seconds)
        try:
            return act(given)
        except TimeoutError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            raise ConnectionClosed from None


def dumps(value: Any) -> bytes:
    """Return a plain value as a message.

    Raises:
        WireError: it is too large.
    """
    memory: list[bytes] = []
    text = _encode(_written(value, memory)).encode()
    length = sum(map(len, memory))
    if len(text) > MAX_TEXT_BYTES or length > MAX_MEMORY_BYTES:
        raise WireError("the value is too large to be sent")
    return b"".join((HEADER.pack(len(text), length), text, *memory))


def loads(text: bytes, memory: bytearray) -> Any:
    """Return the value of a message.

    Raises:
        WireError: it is none.
    """
    try:
        return _read(_decode(text.decode()), _Memory(memory), MAX_DEPTH)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError, RuntimeError) as error:
        raise WireError(f"what arrived is no message: {type(error).__name__}") from None


_encode = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_BARE = frozenset({type(None), bool, float, str})
"""What JSON has, too."""


# --- writing --------------------------------------------------------------------------------


def _written(value: Any, memory: list[bytes]) -> Any:
    """Return a value for JSON: what JSON does not know becomes an object {kind: content}."""
    if type(value) in _BARE:
        return value
    if isinstance(value, list):  # mostly of bare items: to ask about each of them takes long
        return [item if type(item) in _BARE else _written(item, memory) for item in value]
    if isinstance(value, torch.Tensor):
        return _written_tensor(value, memory)
    if isinstance(value, tuple):
        return {"tuple": [_written(item, memory) for item in value]}
    if isinstance(value, dict):
        items = value.items()
        return {"dict": [[_written(key, memory), _written(item, memory)] for key, item in items]}
    if isinstance(value, int):
        return value if abs(value) < 2**63 else {"int": _hex(value)}
    if isinstance(value, float | str):
        return value
    if isinstance(value, Ref):
        return {"ref": [value.number, value.type_name]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, bytes):
        memory.append(value)
        return {"bytes": len(value)}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, GeneratorSeed):
        return {"generator": value.seed}
    if isinstance(value, Foreign):
        return {"foreign": value.type_name}
    raise TypeError(f"a {type(value).__name__} is not plain")


def _hex(number: int) -> str:
    digits = hex(number)
    if len(digits) > MAX_HEX_DIGITS:
        raise WireError("the number is too large to be sent")
    return digits


def _written_tensor(tensor: torch.Tensor, memory: list[bytes]) -> dict:
    name = _NAMES.get(tensor.dtype)
    if tensor.layout is not torch.strided or not (tensor.is_cpu or tensor.is_meta) or not name:
        layout = str(tensor.layout).removeprefix("torch.")
        return {"foreign": f"{layout} tensor of {tensor.dtype} on {tensor.device}"}
    shape = list(tensor.shape)
    if n_elements(shape) > MAX_ELEMENTS:
        raise WireError("the tensor is too large to be sent")
    if tensor.is_meta:
        return {"meta": [name, shape]}
    if tensor.is_contiguous():
        whole, stride = tensor, None
    else:  # a non-contiguous argument is to arrive as one
        whole, stride = _underlying(tensor), list(tensor.stride())
    memory.append(_bytes_of(whole))
    return {"tensor": [name, shape, stride, len(memory[-1])]}


def _underlying(tensor: torch.Tensor) -> torch.Tensor:
    """Return all elements in memory from the first to the last that a tensor reaches."""
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.as_strided((last + 1 if tensor.numel() else 0,), (1,))


def _bytes_of(tensor: torch.Tensor) -> bytes:
    bare = tensor.detach() if tensor.requires_grad else tensor
    if bare.dtype is torch.bfloat16:  # numpy has no such numbers
        bare = bare.view(torch.int16)
    return bare.numpy().tobytes()


# --- reading --------------------------------------------------------------------------------


class _Memory:
    """The memory of the tensors of a message, taken piece by piece."""

    def __init__(self, data: bytearray) -> None:
        self._data = data
        self._used = 0
        self._elements = 0

    def count(self, elements: int) -> None:
        """Count so many elements more."""
        self._elements += elements
        if self._elements > MAX_ELEMENTS_IN_ALL:
            raise ValueError("more numbers than anybody looks at")

    def take(self, length: int) -> bytearray:
        piece = self._data[self._used : self._used + length]
        if length < 0 or len(piece) != length:
            raise ValueError("a tensor names memory that is not there")
        self._used += length
        return piece


def _read(value: Any, memory: _Memory, depth: int) -> Any:
    kind = type(value)  # JSON gives no subclasses
    if kind in _BARE:
        return value
    if kind is int:
        return _whole(value)
    if depth == 0:
        raise ValueError("nested too deeply")
    if kind is list:
        return [item if type(item) in _BARE else _read(item, memory, depth - 1) for item in value]
    ((kind, content),) = value.items()
    return READERS[kind](content, memory, depth - 1)


def _read_tensor(content: list, memory: _Memory, depth: int) -> torch.Tensor:
    dtype, shape, stride, length = _only(list, content)
    dtype, shape, piece = DTYPES[dtype], _shape(shape), memory.take(_whole(length))
    memory.count(n_elements(shape))
    count = math.prod(shape)
    if stride is not None:
        stride = [_whole(step) for step in _only(list, stride)]
        if len(stride) != len(shape) or any(step < 0 for step in stride):
            raise ValueError("no strides of this shape")
        reach = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
        count = reach + 1 if count else 0
    if len(piece) != count * dtype.itemsize:
        raise ValueError("a tensor's memory does not fit its shape")
    if dtype is torch.bool:
        piece = piece.translate(_ONE_IF_NOT_ZERO)
    flat = torch.frombuffer(piece, dtype=dtype) if count else torch.empty(0, dtype=dtype)
    return flat.reshape(shape) if stride is None else flat.as_strided(shape, stride)


_ONE_IF_NOT_ZERO = bytes([0] + [1] * 255)


def _read_meta(content: list, memory: _Memory, depth: int) -> torch.Tensor:
    dtype, shape = _only(list, content)
    return torch.empty(_shape(shape), dtype=DTYPES[dtype], device="meta")


def _read_dict(content: list, memory: _Memory, depth: int) -> dict:
    if len(_only(list, content)) > MAX_ITEMS:
        raise ValueError("too large a dictionary")
    return {_read(key, memory, depth): _read(item, memory, depth) for key, item in content}


def _read_int(content: str, *_: Any) -> int:
    if len(_only(str, content)) > MAX_HEX_DIGITS:
        raise ValueError("too large a number")
    return int(content, 16)


def _name_of_type(value: Any) -> str:
    """Return the name of a class; one that is a sentence would speak as the grader."""
    name = _only(str, value)
    return name if not name or (name.isidentifier() and len(name) <= 50) else "object"


def _read_ref(content: list, *_: Any) -> Ref:
    number, type_name = _only(list, content)
    return Ref(_whole(number), _name_of_type(type_name))


def _read_complex(content: list, *_: Any) -> complex:
    real, imaginary = _only(list, content)
    return complex(float(real), float(imaginary))


READERS = {
    "tensor": _read_tensor,
    "meta": _read_meta,
    "tuple": lambda content, *rest: tuple(_read(item, *rest) for item in _only(list, content)),
    "dict": _read_dict,
    "int": _read_int,
    "complex": _read_complex,
    "bytes": lambda content, memory, _: bytes(memory.take(_whole(content))),
    "dtype": lambda content, *_: DTYPES[content],
    "ref": _read_ref,
    "generator": lambda content, *_: GeneratorSeed(_whole(content)),
    "foreign": lambda content, *_: Foreign(_name_of_type(content)),
}


def _shape(value: Any) -> list[int]:
    if len(_only(list, value)) > MAX_DIMENSIONS:
        raise ValueError("no shape of a tensor")
    if any(type(size) is not int or size < 0 for size in value):
        raise ValueError("no size of an axis")
    if n_elements(value) > MAX_ELEMENTS:
        raise ValueError("too large a tensor, however little memory it takes")
    return value


def n_elements(shape: list[int]) -> int:
    """Return the number of elements, or of rows, which somebody may list, if they are empty."""
    return math.prod(max(size, 1) for size in shape)


def _whole(value: Any) -> int:
    if type(value) is not int or abs(value) >= 2**63:
        raise TypeError("not a whole number")
    return value


def _only(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"not a {kind.__name__}")
    return value
