"""What a student's code prints goes into a file instead of the terminal."""

import os
import sys
from collections.abc import Callable
from pathlib import Path


def collect_printed(path: Path) -> Callable[[], str]:
    """From now on, what this process prints goes into a file, and there is nothing to read from.

    Returns:
        A function that gives what was printed since it was last called.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    file = open(path, "w+", encoding="utf-8", errors="replace", newline="\n")  # noqa: SIM115
    os.dup2(nothing, 0)
    os.dup2(file.fileno(), 1)  # for whatever prints without Python
    os.dup2(nothing, 2)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = file
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    read_so_far = 0

    def printed() -> str:
        nonlocal read_so_far
        file.flush()
        with open(path, "rb") as written:
            written.seek(read_so_far)
            new = written.read()
        read_so_far += len(new)
        return new.decode("utf-8", errors="replace")

    return printed
