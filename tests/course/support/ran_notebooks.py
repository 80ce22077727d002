"""What came out of a notebook that was run, in the form of its file."""

import json
import re
from collections.abc import Mapping
from typing import Any


def outputs(notebook: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def showing(notebook: Mapping[str, Any], kind: str, words: str = "") -> int:
    """How many outputs of a kind hold these words."""
    shown = (output.get("data", {}) for output in outputs(notebook))
    return sum(kind in data and words in "".join(data[kind]) for data in shown)


def complaints(notebook: Mapping[str, Any]) -> list[Any]:
    """Errors, whatever was written to stderr, and warnings."""
    found = [one for one in outputs(notebook) if one["output_type"] == "error"]
    found += [one for one in outputs(notebook) if one.get("name") == "stderr"]
    return found + re.findall(r".{,80}\bWarning\b", json.dumps(notebook))


def points_earned(notebook: Mapping[str, Any]) -> dict[str, int]:
    """The points of each exercise that a cell checks."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: int("".join(output["data"]["text/plain"]))
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if "nbgrader" in cell["metadata"] and output["output_type"] == "execute_result"
    }
