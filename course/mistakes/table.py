"""Read a lesson's table of mistakes; README.md says how one is written."""

import re
from collections.abc import Iterator
from typing import NamedTuple


class TableError(ValueError):
    """A line of a table that means nothing; the sentence begins with its file and number."""


class Entry(NamedTuple):
    """A mistake (!), an alternative (+), an error (E), mistakes handed on (>) or taken over (<)."""

    mark: str
    exercise: str
    place: str
    name: str  # of a definition in styles.py, of the other exercise, or the error's message
    edits: dict[str, str]  # new text by old text
    below: list[str]  # the indented lines, the same list for all edits above them

    @property
    def sentences(self) -> tuple[bool, str, str, str]:
        """Return whether it is common, what it does, where to look, and what it has to forget."""
        says, _, rest = " ".join(self.below).partition(" ? ")
        look, _, forget = rest.partition(" forget: ")
        if self.mark in "!E" and not (says and (look or self.mark == "E")):
            raise TableError(f"{self.place}: its sentence, or its question (? ...), is missing")
        return says.startswith("* "), says.removeprefix("* "), look, forget


def read_table(text: str, file: str) -> list[Entry]:
    """Return the entries of a table, one for each edit; raise TableError if it cannot be read."""
    entries, below, names, exercise, last = [], [], {}, "", ""
    for number, line in _whole_lines(text):
        mark, _, rest = line.partition(" ")
        try:
            if line.startswith("    ") and last in ("!", "E", "<"):
                below.append(line.strip())
            elif mark == "==":
                exercise, names, last = rest, {}, ""
            elif mark[:1] == "$" and rest.startswith("= "):
                names[mark[1:]] = _plain(rest[2:], names)
            elif exercise and mark in ("!", "+", ">", "<", "E"):
                below = below if mark == last == "!" and not below else []
                last, place = mark, f"{file}:{number}"
                name, _, edits = rest.partition(" ") if mark in "<>" else ("", "", rest)
                made = [(rest, {})] if mark == "E" else [_made(one, names) for one in _each(edits)]
                entries += [Entry(mark, exercise, place, name or a, b, below) for a, b in made]
            else:
                raise TableError(f"a line can't begin with {line[:8]!r} here")
        except TableError as error:
            raise TableError(f"{file}:{number}: {error}") from None
    return entries


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line, with what goes on below it, and its number; no comments."""
    number, whole = 0, ""
    for n, line in enumerate([*text.splitlines(), ""], start=1):
        part = line.strip()
        if whole and part.startswith("|"):
            whole += "\n" + part[1:]
        elif whole.endswith(("\\", "&&", "||")):
            whole = whole.removesuffix("\\") + part
        else:
            if whole:
                yield number, whole
            number, whole = n, "" if line.startswith("#") else line.rstrip()


def _each(text: str) -> Iterator[str]:
    """Yield a text once for each of {one || another}; several of these go together."""
    choice = r"\{([^{}]*\|\|[^{}]*)\}"
    counts = {one.count("||") for one in re.findall(choice, text)} if "||" in text else {0}
    if len(counts) != 1:
        raise TableError("`||` belongs between { and }; several of these are equally long")
    for n in range(max(counts) + 1):
        yield re.sub(choice, lambda found, n=n: found[1].split("||")[n].strip(" "), text)


def _made(text: str, names: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Return the name of a definition in styles.py, if that is what a text is, and its edits."""
    edits: dict[str, str] = {}
    for one in text.split("&&") if text and not text.isidentifier() else []:
        old, arrow, new = (_plain(part, names) for part in one.partition("=>"))
        if not (arrow and old) or old in edits:
            raise TableError(f"{one.strip()!r} is neither a new `old text => new text` nor a name")
        edits[old] = new
    return "" if edits else text, edits


def _plain(text: str, names: dict[str, str]) -> str:
    r"""Return what a text stands for: without blanks and `...` around it, with \n and names."""
    text = text.strip(" ").replace(r"\\n", "\0").replace(r"\n", "\n").replace("\0", r"\n")
    text = text[1:-1] if text[:1] == "`" == text[-1:] else text
    name = r"\$([A-Z][A-Z0-9_]*)"
    for unknown in {*re.findall(name, text)} - names.keys() if "$" in text else ():
        raise TableError(f"${unknown} is not defined above it")
    return re.sub(name, lambda found: names[found[1]], text) if "$" in text else text
