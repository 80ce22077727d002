"""The events that a watcher hears of: saved files, and pressed keys. A thread each tells it."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from course import root

FOLDERS = ("exercises", "solutions", "tests")

QUIET = 20
"""Milliseconds without a further change after which a save is taken to be complete."""

END = ""
"""The key that stands for the end of the input."""

Tell = Callable[[str, object], None]


def watch_files(tell: Tell, stop: threading.Event) -> threading.Thread:
    """Tell, from another thread, what was written, moved or deleted, until it is to stop.

    The folders are watched, not the files: many editors write another file and rename it.

    Args:
        tell: is given "saved" and a set of paths, or "blind" and why nothing can be seen.
    """

    def work() -> None:
        try:
            from watchfiles import watch

            for changes in watch(
                *(root() / folder for folder in FOLDERS),
                watch_filter=lambda _, path: path.endswith(".py"),
                recursive=False,
                step=QUIET,
                debounce=10 * QUIET,
                stop_event=stop,
                raise_interrupt=False,
            ):
                tell("saved", {Path(path) for _, path in changes})
        except FileNotFoundError:
            missing = [folder for folder in FOLDERS if not (root() / folder).is_dir()]
            tell("blind", f"{', '.join(missing)}: missing; `course build` makes exercises/")
        except Exception as error:  # such as too many watched files, in the words of the system
            tell("blind", f"Files cannot be watched here: {error}")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def watch_keys(tell: Tell) -> Iterator[None]:
    """Tell, from another thread, "key" and each key of a terminal or letter of a pipe.

    At the end of the block the terminal is as it was. (`click.getchar` would not do: while it
    waits, the terminal is raw, so what is printed makes stairs; and it does not read a pipe.)
    """
    if sys.stdin is None or sys.stdin.closed:
        yield
        return
    terminal = sys.stdin.isatty()
    if terminal and os.name == "nt":
        from msvcrt import getwch as read
    else:
        read = _next_letter

    def work() -> None:
        key = None
        while key != END:
            key = read()
            tell("key", key)

    with _without_enter() if terminal and os.name != "nt" else contextlib.nullcontext():
        threading.Thread(target=work, daemon=True).start()
        yield


def _next_letter() -> str:
    try:
        return os.read(sys.stdin.fileno(), 1).decode("ascii", errors="replace")
    except OSError:  # the terminal is gone
        return END


@contextlib.contextmanager
def _without_enter() -> Iterator[None]:
    """Let the terminal hand on each key at once, and show none of them."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
