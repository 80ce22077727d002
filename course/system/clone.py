"""The clone of the course that a command is run in, if it is not the one that was installed.

With two clones and one environment, a student means the files of the current folder.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from course import root

OWNER = "COURSE_ENVIRONMENT_OF"
"""The environment variable with the clone whose environment runs the commands of another one."""


def other_clone(folder: Path | None = None) -> Path | None:
    """Return the clone around a folder, the current one by default, unless it is this one."""
    with contextlib.suppress(OSError):  # the current folder was deleted
        here = (folder or Path.cwd()).resolve()
        for place in (here, *here.parents):
            if (place / "course" / "syllabus.toml").is_file() and (place / "exercises").is_dir():
                return None if place.samefile(root()) else place
    return None


def run_in(clone: Path, module: str, arguments: Sequence[str]) -> NoReturn:
    """Run a module with another clone's code instead of this process, and say so in a line."""
    print(f"({_sentence(clone, root())})", file=sys.stderr, flush=True)
    given = os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, [str(clone), given]))
    environment = {**os.environ, "PYTHONPATH": path, OWNER: str(root())}
    command = [sys.executable, "-m", module, *arguments]
    if os.name != "nt":
        os.execve(sys.executable, command, environment)
    process = subprocess.Popen(command, env=environment)  # Windows cannot replace a process
    while True:
        with contextlib.suppress(KeyboardInterrupt):  # which is for that one
            sys.exit(process.wait())


def whose_environment() -> str:
    """Return a sentence if this environment belongs to another clone; or nothing."""
    owner = os.environ.get(OWNER)
    return _sentence(root(), Path(owner)) if owner else ""


def _sentence(clone: Path, owner: Path) -> str:
    return f"This is {clone}, whose exercises are used; the environment belongs to {owner}."
