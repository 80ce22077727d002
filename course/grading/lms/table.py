"""A CSV whose cells are edited in place: the bytes of all other cells stay as they are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_NUMBER = re.compile(
    r"(?:\d{1,9}|\d{1,3}(?:,\d{3})+(?=\.)|\d{1,3}(?:\.\d{3})+(?=,))(?:([.,])\d{1,9})?"
)
"""Thousands may be grouped, but only before the other sign: who can tell what 1,500 is?"""


class ExportError(Exception):
    """A sentence on why an export cannot be read or filled in."""


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    start: int
    end: int
    is_quoted: bool


class Table:
    """The rows of a CSV; that with the titles is row 0.

    Args:
        name: the name of the file, for sentences.
        data: the file, in UTF-8, UTF-16 with a byte order mark, or any superset of ASCII.

    Attributes:
        rows: the texts of the cells, without quotes and outer spaces.

    Raises:
        ExportError: the file has no columns, or a quote is never closed.
    """

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._mark = next((mark for mark in _BYTE_ORDER_MARKS if data.startswith(mark)), b"")
        self._encoding = _BYTE_ORDER_MARKS.get(self._mark, "utf-8")
        data = data.removeprefix(self._mark)
        try:
            self._text = data.decode(self._encoding)
        except UnicodeDecodeError:
            self._encoding = "latin-1"  # each byte becomes a character, and comes back as it was
            self._text = data.decode(self._encoding)
        self._delimiter, rows = max(
            ((delimiter, _rows(self._text, delimiter)) for delimiter in ",;\t"),
            key=lambda found: _n_regular_cells(found[1]),
        )
        if not _n_regular_cells(rows):
            raise ExportError(
                f"{name} is not a CSV file: it has no columns, or a quote is never closed"
            )
        self._cells = [row for row in rows if len(row) > 1]
        self.rows = [[cell.text for cell in row] for row in self._cells]
        numbers = (_NUMBER.fullmatch(text) for row in self.rows for text in row)
        separators = [match[1] for match in numbers if match and match[1]]
        n_commas = separators.count(",")
        n_points = len(separators) - n_commas
        is_german = n_commas > n_points or (n_commas == n_points and self._delimiter == ";")
        self._decimal_separator = "," if is_german else "."

    def text(self, row: int, column: int) -> str | None:
        """Return the text of a cell; None if the row is too short to have it."""
        return self.rows[row][column] if column < len(self.rows[row]) else None

    def with_numbers(self, numbers: Mapping[tuple[int, int], float]) -> bytes:
        """Return the bytes of the file with numbers in some cells, by their row and column."""
        parts, end = [], 0
        for (row, column), number in sorted(numbers.items()):
            cell = self._cells[row][column]
            parts += [self._text[end : cell.start], self._written(number, cell.is_quoted)]
            end = cell.end
        parts.append(self._text[end:])
        return self._mark + "".join(parts).encode(self._encoding)

    def _written(self, number: float, is_quoted: bool) -> str:
        text = f"{number:.2f}".rstrip("0").rstrip(".").replace(".", self._decimal_separator)
        return f'"{text}"' if is_quoted or self._delimiter in text else text


def number_in(text: str | None) -> float | None:
    """Return the number that a text is; None if it is anything else.

    >>> number_in("12,50"), number_in("1,500.00"), number_in("EX")
    (12.5, 1500.0, None)
    """
    if not _NUMBER.fullmatch(text or ""):
        return None
    *groups, last = re.split("[.,]", text)
    return float(f"{''.join(groups)}.{last}" if groups else last)


def _rows(text: str, delimiter: str) -> list[list[_Cell]]:
    """Return the cells of each row; nothing if a quote is never closed."""
    unquoted = rf"[^{delimiter}\r\n]*"
    pattern = re.compile(rf'(?:"((?:[^"]|"")*+)")?({unquoted})({delimiter}|\r\n|\n|\r|\Z)')
    rows: list[list[_Cell]] = [[]]
    at = 0
    while match := pattern.match(text, at):
        quoted, rest, end = match.groups()
        if quoted is None and rest.startswith('"'):
            return []
        value = rest if quoted is None else quoted.replace('""', '"') + rest
        rows[-1].append(_Cell(value.strip(), match.start(), match.end(2), quoted is not None))
        at = match.end()
        if end == "":
            return rows
        if end != delimiter:
            rows.append([])
    return []


def _n_regular_cells(rows: list[list[_Cell]]) -> int:
    """Return the number of cells in rows as long as the first one, if that has several."""
    first = len(rows[0]) if rows else 0
    return sum(len(row) for row in rows if len(row) == first > 1)
