"""A text with the two kinds of lines that a report is made of, as pytest's terminal has them."""

import click


class Page:
    """Collects lines; `text` is what was written."""

    hasmarkup = True

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def write_line(self, line: str, red: bool = False, bold: bool = False) -> None:
        """A line, or several."""
        styled = click.style(line, fg="red" if red else None, bold=bold or None)
        self._lines.append(styled if red or bold else line)

    def write_sep(self, sign: str, title: str, red: bool = False) -> None:
        """A title in the middle of a line of signs."""
        side = sign * max((self._width - len(title) - 2) // 2, 1)
        self.write_line(f"{side} {title} {side}".ljust(self._width, sign), red=red)
