"""The graded tests of some modules, run on copies of them in a process of its own.

So what is tested is what was read, and whatever a module does to its process matters to nobody.
"""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from course import root
from course.syllabus import find_lesson
from course.testing.result import LessonResult, from_text, merged, to_text

SECONDS = 300
"""How long all tests together may take."""


def run(
    modules: Mapping[str, bytes], *, diagnosed: bool = False
) -> tuple[dict[str, LessonResult], bool]:
    """Test modules, given by the stem of their lesson.

    Args:
        diagnosed: look for the known mistake of each wrong exercise, which takes a second or two.

    Returns:
        The result of each lesson, by stem, and whether the tests came to their end; if not,
        exercises are missing.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder, found = Path(scratch) / "exercises", Path(scratch) / "found"
        folder.mkdir()
        found.touch()
        for stem, source in modules.items():
            (folder / f"{stem}.py").write_bytes(source)
        how = "diagnosed" if diagnosed else "plain"
        command = [sys.executable, "-m", __name__, how, str(folder), str(found), *modules]
        nothing = subprocess.DEVNULL
        try:
            status = subprocess.run(
                command, cwd=root(), stdin=nothing, stdout=nothing, stderr=nothing, timeout=SECONDS
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
        lines = found.read_text(encoding="utf-8").splitlines(keepends=True)
    parts = [from_text(line) for line in lines if line.endswith("\n")]  # the last may be cut off
    return {result.lesson: result for result in merged(parts)}, status == 0


def _main(how: str, folder: str, found: str, *stems: str) -> None:
    """Run the tests in this process, and write the result of each exercise as soon as it is there.

    Each line holds one exercise of one lesson.
    """
    import torch

    from course.mistakes.diagnosis import diagnoser
    from course.testing import run as testing
    from course.testing.case import by_exercise, collect

    torch.set_num_threads(1)  # as in `course check`
    diagnose = diagnoser(seed=0) if how == "diagnosed" else lambda findings: None
    for stem in stems:
        cases = collect([find_lesson(stem).tests])
        module = testing.open_module(Path(folder) / f"{stem}.py", 0, lambda: "")
        for own in by_exercise(cases).values():
            with open(found, "a", encoding="utf-8") as lines:
                lines.write(to_text(testing.run(module, own, diagnose)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
