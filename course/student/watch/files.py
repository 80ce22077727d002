"""Which files were saved?"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from course import root

QUIET = 20
"""Milliseconds without a further change after which a save is taken to be complete."""


FOLDERS = ("exercises", "solutions", "tests")


def watch_files(tell: Callable[[str, object], None], stop: threading.Event) -> threading.Thread:
    """Tell, from another thread, what was written, moved or deleted, until it is to stop.

    The folders are watched, not the files: many editors write another file and rename it.

    Args:
        tell: is given "saved" and a set of paths, or "blind" and why nothing can be seen.
    """

    def work() -> None:
        try:
            for paths in _saves(stop):
                tell("saved", paths)
        except FileNotFoundError:
            missing = [folder for folder in FOLDERS if not (root() / folder).is_dir()]
            tell("blind", f"{', '.join(missing)}: missing; `course build` makes exercises/")
        except Exception as error:  # such as too many watched files, in the words of the system
            tell("blind", f"Files cannot be watched here: {error}")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _saves(stop: threading.Event) -> Iterator[set[Path]]:
    from watchfiles import watch

    changes = watch(
        *(root() / folder for folder in FOLDERS),
        watch_filter=lambda _, path: path.endswith(".py"),
        recursive=False,
        step=QUIET,
        debounce=10 * QUIET,
        stop_event=stop,
        raise_interrupt=False,
    )
    for some in changes:
        yield {Path(path) for _, path in some}
