"""Single keys from a terminal, or letters from a pipe."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator

END = ""
"""What stands for the end of the input."""


@contextlib.contextmanager
def watch_keys(pressed: Callable[[str], None]) -> Iterator[None]:
    """Tell, from another thread, each key that is pressed, until the block ends."""
    if sys.stdin is None or sys.stdin.closed:
        yield
        return
    terminal = sys.stdin.isatty()
    if terminal and os.name == "nt":
        import msvcrt

        read, unbuffered = msvcrt.getwch, contextlib.nullcontext()
    else:
        read = _next_letter
        unbuffered = _without_enter() if terminal else contextlib.nullcontext()

    def work() -> None:
        key = None
        while key != END:
            key = read()
            pressed(key)

    with unbuffered:
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
