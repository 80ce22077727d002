"""The numbers of the figures to play with that come from training: `trained.json`, next to this.

`course.experiments.instrument.numbers` makes them. Tensors are 8-bit whole numbers with one scale
each, in base64.
"""

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

FILE = Path(__file__).with_suffix(".json")


def unpacked(tensor: dict[str, Any]) -> Tensor:
    """Return the numbers of a packed tensor, float32."""
    whole = np.frombuffer(base64.b64decode(tensor["base64"]), np.int8).reshape(tensor["shape"])
    return torch.from_numpy(whole * np.float32(tensor["scale"]))


@cache
def committed() -> dict[str, Any]:
    """Return the numbers of `trained.json`."""
    return json.loads(FILE.read_text(encoding="utf-8"))
