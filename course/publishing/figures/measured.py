"""What figures of texts draw: what the reference computes, and numbers that were measured once.

Those of a figure to play with are in `figures/to_play_with.json` of a lesson's room; the tensors in
it are 8-bit whole numbers, with one scale each, in base64.
"""

import argparse
import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course import root
from course.core.syllabus import lessons
from course.data.reading import DataError
from course.testing.loading import load_module


def reference(stem: str) -> ModuleType:
    """Return `solutions/<stem>.py` as a module.

    Raises:
        Wrong: it cannot be run.
    """
    return load_module(root() / "solutions" / f"{stem}.py")


def measured(stem: str, name: str) -> dict:
    """Return `course/lessons/<stem>/figures/<name>.json`: numbers too expensive to recompute.

    Its first key, `how`, says how to measure them again.
    """
    path = root() / "course" / "lessons" / stem / "figures" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def committed() -> dict[str, dict[str, Any]]:
    """Return the numbers of figures to play with, of each lesson that has some, by its stem."""
    name = "to_play_with"
    stems = [one.stem for one in lessons() if (one.room / "figures" / f"{name}.json").exists()]
    return {stem: measured(stem, name) for stem in stems}


def packed(tensor: Tensor) -> dict[str, Any]:
    """Return a tensor in a quarter of its bytes.

    >>> packed(torch.tensor([[0.0, 1.0]]))
    {'shape': [1, 2], 'scale': 0.007874, 'base64': 'AH8='}
    """
    scale = max(round(tensor.abs().max().item() / 127, 6), 1e-6)
    whole = (tensor.detach() / scale).round().clamp(-127, 127).to(torch.int8).contiguous().numpy()
    coded = base64.b64encode(whole.tobytes()).decode("ascii")
    return {"shape": list(tensor.shape), "scale": scale, "base64": coded}


def unpacked(tensor: dict[str, Any]) -> Tensor:
    """Return the numbers of a packed tensor, float32."""
    whole = np.frombuffer(base64.b64decode(tensor["base64"]), np.int8).reshape(tensor["shape"])
    return torch.from_numpy(whole * np.float32(tensor["scale"]))


def measure(about: str, *figures: Callable[[bool], dict[str, Any]]) -> None:
    """Run a lesson's `measure.py`: print the files of its figures, or write them.

    Args:
        about: the script's docstring, which `--help` prints.
        figures: functions that return the numbers of the file with their name; they get True if
            small settings will do.
    """
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, formatter_class=formatter)
    parser.add_argument("--quick", action="store_true", help="use small settings, as the tests do")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write files instead of printing")
    arguments, failed = parser.parse_args(), []
    script = Path(sys.argv[0]).resolve().relative_to(root())
    for figure in figures:
        try:
            entries = {"how": f"python {script.as_posix()}", **figure(arguments.quick)}
            lines = (
                f' "{name}": {json.dumps(one, ensure_ascii=False)}' for name, one in entries.items()
            )
            text = "{\n" + ",\n".join(lines) + "\n}"
            if arguments.to:
                path = arguments.to / f"{figure.__name__}.json"
                path.write_text(f"{text}\n", encoding="utf-8")
            else:
                print(text)
        except (OSError, DataError) as error:
            failed.append(f"{figure.__name__}.json: {error}")
    if failed:
        sys.exit("\n".join(failed))
