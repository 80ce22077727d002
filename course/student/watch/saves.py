"""What was saved in a folder, found by looking: network drives and containers send no events."""

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

POLL_SECONDS = 0.04
"""The time between two looks at the files; a file that two in a row find the same is complete."""

SHARE = 0.01
"""Of the time, that looking may take: on a slow drive it is done less often."""

MOST_SECONDS = 0.5
"""The longest time between two looks, however slow the drive."""

OTHERS = 3
"""Every so many looks, all files are looked at, and not only the one that is worked on."""


class _Facts(NamedTuple):
    written: int
    size: int
    content: bytes | None = None  # of the file that is worked on

    def differ(self, other: "_Facts | None") -> bool:
        if other is None or self[:2] != other[:2]:
            return True
        return None not in (self.content, other.content) and self.content != other.content


class Saves:
    """The modules of a folder.

    Attributes:
        pause: seconds until it is time for the next look.
    """

    def __init__(self, folder: Path) -> None:
        self.pause = POLL_SECONDS
        self._folder = folder
        self._n_looks = 0
        self._before: dict[Path, _Facts] = {}
        self._seen = self._before = self._look(None)

    def since_last_time(self, at: Path) -> set[Path]:
        """Return the files that were saved or removed since they were last returned.

        Args:
            at: the one that is worked on. It is read each time: a drive may keep times in whole
                seconds only, and a network drive old ones until the file is opened.
        """
        start = time.perf_counter()
        now = self._look(at)
        rested = (time.perf_counter() - start) / SHARE
        self.pause = max(POLL_SECONDS, min(rested, MOST_SECONDS))
        changed = {path for path in now.keys() | self._seen if _differ(now, self._seen, path)}
        is_complete = not any(_differ(now, self._before, path) for path in changed)
        self._before = now
        if not is_complete:
            if all(path in now and now[path].size for path in changed):
                self.pause /= 8  # an editor that empties or renames a file first gets more time
            return set()
        self._seen = now
        return changed

    def skip(self, path: Path) -> None:
        """Don't return a file as it is now: the course itself has written it."""
        if facts := _facts(path, with_content=True):
            self._before[path] = self._seen[path] = facts

    def _look(self, at: Path | None) -> dict[Path, _Facts]:
        if self._n_looks % OTHERS == 0:
            found = {path: _facts(path) for path in self._folder.glob("*.py")}
        else:
            found = dict(self._before)
        self._n_looks += 1
        if at:
            found[at] = _facts(at, with_content=True)
        return {path: facts for path, facts in found.items() if facts}


def _facts(path: Path, with_content: bool = False) -> _Facts | None:
    with contextlib.suppress(OSError):  # an editor renames it just now
        content = path.read_bytes() if with_content and path.is_file() else None
        facts = path.stat()
        return _Facts(facts.st_mtime_ns, facts.st_size, content)
    return None


def _differ(now: dict[Path, _Facts], before: dict[Path, _Facts], path: Path) -> bool:
    if path not in now:
        return path in before
    return now[path].differ(before.get(path))
