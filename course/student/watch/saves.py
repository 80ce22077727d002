"""What was saved in a folder, found by looking: network drives and containers send no events."""

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

POLL_SECONDS = 0.04
"""The time between two looks at the files; a file that two in a row find the same is complete."""

SHARE = 0.01
"""Of the time, that looking may take: on a slow drive it is done less often."""

MOST_SECONDS = 0.5
"""The longest time between two looks, however slow the drive."""

OTHERS = 3
"""Every so many looks, all files are looked at, and not only the one that is worked on."""

_Found = dict[Path, tuple[int, bytes]]
"""When files were written, and what they hold: a drive may keep times in whole seconds only, and a
network drive old ones until a file is opened."""


class Saves:
    """The modules of a folder.

    Attributes:
        pause: seconds until it is time for the next look.
    """

    def __init__(self, folder: Path) -> None:
        self.pause = POLL_SECONDS
        self._folder = folder
        self._n_looks = 0
        self._seen = self._before = _read(folder.glob("*.py"))

    def since_last_time(self, at: Path) -> set[Path]:
        """Return the files that were saved or removed since they were last returned.

        Args:
            at: the one that is worked on.
        """
        start = time.perf_counter()
        now = self._look(at)
        rested = (time.perf_counter() - start) / SHARE
        self.pause = max(POLL_SECONDS, min(rested, MOST_SECONDS))
        changed = {path for path in now | self._seen if now.get(path) != self._seen.get(path)}
        is_complete = all(now.get(path) == self._before.get(path) for path in changed)
        self._before = now
        if not is_complete:
            if all(path in now and now[path][1] for path in changed):
                self.pause /= 8  # an editor that empties or renames a file first gets more time
            return set()
        self._seen = now
        return changed

    def _look(self, at: Path) -> _Found:
        self._n_looks += 1
        if self._n_looks % OTHERS == 0:
            return _read(self._folder.glob("*.py"))
        others = {path: found for path, found in self._before.items() if path != at}
        return others | _read([at])


def _read(paths: Iterable[Path]) -> _Found:
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):  # an editor renames it just now
            found[path] = path.stat().st_mtime_ns, path.read_bytes()
    return found
