"""The graded tests of some modules, run on copies of them in a process of its own.

So what is tested is what was read, and whatever a module does to its process matters to nobody.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from course import root
from course.syllabus import find_lesson

NOT_LOADED = "cannot be loaded"
"""The status of every exercise of a module that cannot."""

SECONDS = 300
"""How long all tests together may take."""


def run(modules: Mapping[str, bytes]) -> tuple[dict[str, str], bool]:
    """Test modules, given by the stem of their lesson.

    Returns:
        The status of every exercise that was tested, by name, and whether the tests came to their
        end; if not, exercises are missing.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder, found = Path(scratch) / "exercises", Path(scratch) / "found"
        folder.mkdir()
        found.touch()
        for stem, source in modules.items():
            (folder / f"{stem}.py").write_bytes(source)
        command = [sys.executable, "-m", __name__, str(folder), str(found), *modules]
        nothing = subprocess.DEVNULL
        try:
            status = subprocess.run(
                command, cwd=root(), stdin=nothing, stdout=nothing, stderr=nothing, timeout=SECONDS
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
        lines = found.read_text(encoding="utf-8").splitlines(keepends=True)
    statuses: dict[str, str] = {}
    for line in lines:
        if line.endswith("\n"):  # the last one may have been cut off
            statuses.update(json.loads(line))
    return statuses, status in (0, 1)


def _main(folder: str, found: str, *stems: str) -> int:
    """Run the tests in this process, and write a line for every one, as soon as it has ended."""
    import pytest

    from course.student.report import Tally

    class Written(Tally):
        """Keeps the status of an exercise up to date in a file."""

        def pytest_runtest_logreport(self, report) -> None:
            super().pytest_runtest_logreport(report)
            if facts := getattr(report, "course", None):
                name = facts["exercise"]
                status = NOT_LOADED if facts["not_loaded"] else self.status()[name]
                with open(found, "a", encoding="utf-8") as lines:
                    lines.write(json.dumps({name: status}) + "\n")

    return pytest.main(
        [
            *("-c", str(root() / "pyproject.toml"), "--rootdir", str(root()), "-q"),
            *("-p", "no:cacheprovider", "--modules", folder),
            *(str(find_lesson(stem).tests) for stem in stems),
        ],
        plugins=[Written()],
    )


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
