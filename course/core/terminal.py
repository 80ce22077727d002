"""A terminal: its width, its keys one by one, and a screen that is drawn again in place."""

import contextlib
import os
import re
import sys
from collections.abc import Sequence
from shutil import get_terminal_size

_STYLE = re.compile(r"\x1b\[[\d;]*m")


def is_terminal() -> bool:
    """Return whether somebody types and reads here."""
    return bool(sys.stdin and sys.stdout) and sys.stdin.isatty() and sys.stdout.isatty()


def columns() -> int:
    """Return the width for text: that of the terminal, but 80 at most."""
    is_known = "COLUMNS" in os.environ or (sys.stdout is not None and sys.stdout.isatty())
    return max(20, min(80, get_terminal_size().columns)) if is_known else 80


def fitting(text: str) -> str:
    """Return a text with lines no longer than the terminal's, if it is one."""
    if not (sys.stdout and sys.stdout.isatty()):
        return text
    return "\n".join(folded(text, max(20, get_terminal_size().columns)))


def folded(text: str, width: int) -> list[str]:
    """Return lines that fit a width, broken between words, and indented as their line is.

    >>> folded("  read the lesson first", 14)
    ['  read the', '  lesson first']
    >>> folded("  got  1, 2, 3, 4", 14)  # below the value, if the line begins with its name
    ['  got  1, 2,', '       3, 4']
    """
    return [part for line in text.split("\n") for part in _folded(line, width)]


def _folded(line: str, width: int) -> list[str]:
    if visible_length(line) <= width:
        return [line]
    begins = re.match(r" *(?:[\w+]+ {2,})?", _STYLE.sub("", line))
    indent = " " * min(begins.end(), width // 2)
    lines, used = [""], 0
    for gap, word in re.findall(r"( *)([^ ]+)", line):
        if used and used + len(gap) + visible_length(word) > width:
            fits = len(indent) + visible_length(word) <= width
            lines.append(f"{indent if fits else ''}{word}")
            used = visible_length(lines[-1])
        else:
            lines[-1] += gap + word
            used += len(gap) + visible_length(word)
    return lines


class Wrapped:
    """Prints a text that comes in pieces, and breaks its lines between words.

    A word is printed once it is whole: before the next space, or by `flush`.
    """

    def __init__(self) -> None:
        self._column, self._gap, self._word = 0, "", ""

    def __call__(self, piece: str) -> None:
        for character in piece:
            if not character.isspace():
                self._word += character
                continue
            self.flush()
            self._gap += character
            if character == "\n":
                print(self._gap, end="", flush=True)
                self._column, self._gap = 0, ""

    def flush(self) -> None:
        """Print the last word."""
        if not self._word:
            return
        used = len(self._gap) + len(self._word)
        if self._column and self._column + used > columns():
            self._column, self._gap = 0, "\n"
            used = len(self._word)
        print(self._gap + self._word, end="", flush=True)
        self._column += used
        self._gap = self._word = ""


def visible_length(text: str) -> int:
    """Return how many columns a text takes."""
    return len(_STYLE.sub("", text))


# --- the screen -----------------------------------------------------------------------------

HOME, END_OF_LINE, BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
CTRL_C = "\x03"
MAX_WIDTH = 100
_LONGER_KEY = re.compile(r"\x1b[\[O][^a-zA-Z~]*[a-zA-Z~]")
"""An arrow and the like."""


class Screen:
    """A terminal whose keys come one by one, and a screen that is drawn again in place.

    What does not fit on the screen is a page that a key turns to. Used as a context: after it the
    terminal is as it was before.
    """

    def __init__(self) -> None:
        self._size = os.terminal_size((0, 0))
        self._page = 0
        self._shown = ("", "")
        self._settings: list | None = None

    def __enter__(self) -> "Screen":
        if os.name == "nt":
            import colorama  # click brings it along

            colorama.just_fix_windows_console()
        else:
            import termios
            import tty

            self._settings = termios.tcgetattr(0)
            tty.setcbreak(0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._settings:
            import termios

            termios.tcsetattr(0, termios.TCSADRAIN, self._settings)
        with contextlib.suppress(OSError):  # the terminal is gone
            print(flush=True)

    def pressed(self) -> str:
        """Return the keys that were pressed since the last call, without waiting for any.

        Raises:
            KeyboardInterrupt: Ctrl+C was pressed, or the terminal is gone.
        """
        keys = ""
        if os.name == "nt":
            import msvcrt

            while msvcrt.kbhit():
                keys += msvcrt.getwch()
            if CTRL_C in keys:
                raise KeyboardInterrupt
            return keys
        import select

        while select.select([0], [], [], 0)[0]:
            try:
                read = os.read(0, 80)
            except OSError:
                read = b""
            if not read:
                raise KeyboardInterrupt
            keys += read.decode("utf-8", errors="replace")
        return _LONGER_KEY.sub("", keys)

    def show(self, text: str, footer: str) -> None:
        """Show a text, and below it a footer."""
        if text != self._shown[0]:
            self._page = 0
        self._shown = text, footer
        self._draw()

    def turn_page(self) -> None:
        """Show the next part of a text that is longer than the screen, after the last the first."""
        self._page += 1
        self._draw()

    def is_resized(self) -> bool:
        """Return whether the terminal has another size than when it was last drawn."""
        return get_terminal_size() != self._size

    def _draw(self) -> None:
        self._size = get_terminal_size()
        width = max(20, self._size.columns)
        text, below = (folded(part, min(width, MAX_WIDTH)) for part in self._shown)
        room = max(3, self._size.lines - len(below) - 1)
        pages = _pages(text, room, width)
        if len(pages) > 1:
            pages = _pages(text, room - 1, width)
            number = self._page % len(pages) + 1
            to = "more" if number < len(pages) else "the first"
            text = [*pages[number - 1], f"-- page {number} of {len(pages)}, space for {to} --"]
        drawn = "\n".join(f"{line}{END_OF_LINE}" for line in [*text, "", *below])
        if os.environ.get("NO_COLOR"):
            drawn = _STYLE.sub("", drawn)
        sys.stdout.write(f"{HOME}{drawn}{BELOW}")
        sys.stdout.flush()


def _pages(lines: Sequence[str], n_rows: int, width: int) -> list[list[str]]:
    """Return lines as pages; a word that is longer than the screen is wide takes several rows."""
    pages, used = [[]], 0
    for line in lines:
        rows = max(1, -(-visible_length(line) // width))
        if used + rows > n_rows:
            pages.append([])
            used = 0
        pages[-1].append(line)
        used += rows
    return pages
