"""The text that lessons train on: TinyShakespeare when it has been fetched, the kingdom if not."""

from dataclasses import dataclass

from course.core.console import typed
from course.data import data_folder
from course.data.kingdom import kingdom_text
from course.data.reading import read_text


@dataclass(frozen=True)
class Corpus:
    """A text and the name to call it by in figures and messages."""

    name: str
    text: str


def load_corpus() -> Corpus:
    """Return `tinyshakespeare.txt` in the data folder if it is there, else the toy kingdom.

    Raises:
        DataError: the file is there and cannot be used; the message says why.
    """
    path = data_folder() / "tinyshakespeare.txt"
    if path.exists():
        fetch = f"delete it, then fetch it with: {typed('course data tinyshakespeare')}"
        return Corpus("tinyshakespeare", read_text(path, fetch))
    return Corpus("kingdom", kingdom_text())
