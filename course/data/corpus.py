"""The text that lessons train on: TinyShakespeare when it has been fetched, the kingdom if not."""

from dataclasses import dataclass

from course.data import data_folder
from course.data.kingdom import kingdom_text


@dataclass(frozen=True)
class Corpus:
    """A text and the name to call it by in figures and messages."""

    name: str
    text: str


def load_corpus() -> Corpus:
    """Return `tinyshakespeare.txt` in the data folder if it is there, else the toy kingdom."""
    path = data_folder() / "tinyshakespeare.txt"
    if path.exists():
        # Bytes, decoded here: text mode would turn a "\r\n" into "\n" without saying so.
        return Corpus("tinyshakespeare", path.read_bytes().decode("utf-8"))
    return Corpus("kingdom", kingdom_text())
