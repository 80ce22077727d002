"""The datasets, the places that may have them and the versions of them: `sources.toml`."""

import hashlib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

TABLE = Path(__file__).with_name("sources.toml")
ORIGINAL = "original"


class Source(NamedTuple):
    """A place that may have a dataset, and the form of what is taken from there.

    `form` is "text", "xz", "zip" (all of it), "member" (the part of a zip that its directory names)
    or "head" (the beginning of a zip, up to the end of its first member).
    """

    place: str
    form: str


@dataclass(frozen=True)
class Dataset:
    """A text file that the course can use; `sources.toml` says what is what."""

    name: str
    title: str
    file: str
    size: int
    mirror: list[str]
    sources: list[str]
    versions: dict[str, str]
    heads: dict[str, int] = field(default_factory=dict)
    zip_size: int | None = None
    zip_sha256: str = ""

    def candidates(self, mirror: str | None = None) -> list[Source]:
        """List what to try, best first: in `mirror`, a URL or a folder, or in the public sources.

        A mirror's packed files may differ from the published ones in every byte (another zip
        program), so that only what they unpack to is compared with hashes.
        """
        places = self.sources
        if mirror and is_url(mirror):
            places = [f"{mirror.rstrip('/')}/{quote(name)}" for name in self.mirror]
        elif mirror:
            paths = [Path(mirror) / name for name in self.mirror]
            places = [str(path) for path in paths if path.is_file()]
        found = [Source(place, form) for place in places for form in self._forms(place)]
        # To fetch a whole zip for one member is the last resort.
        return sorted(found, key=lambda source: source.form == "zip" and is_url(source.place))

    def _forms(self, place: str) -> list[str]:
        if not place.endswith(".zip"):
            return ["xz" if place.endswith(".xz") else "text"]
        head = ["head"] if Path(place).name in self.heads else []
        return ["member", *head, "zip"] if is_url(place) else ["zip", *head]

    def version_of(self, path: Path) -> str | None:
        """Return the name of the published version that a file is, or None if it is none."""
        names = {sha256: name for name, sha256 in self.versions.items()}
        if noted := noted_sha256(path):
            names[noted] = ORIGINAL
        return names.get(file_sha256(path))


def load() -> dict[str, Dataset]:
    """Return all datasets by name, in the table's order.

    >>> list(load())
    ['tinyshakespeare', 'glove-50d', 'glove-100d', 'glove-200d', 'glove-300d']
    """
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return {name: Dataset(name, **facts) for name, facts in table.items()}


def is_url(place: str) -> bool:
    """Tell a URL from the path of a folder or file."""
    return "://" in place


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def note_path(path: Path) -> Path:
    """Return where the SHA-256 of a file that has no published one is noted."""
    return path.with_name(f"{path.name}.sha256")


def noted_sha256(path: Path) -> str:
    """Return the SHA-256 noted when a file without a published one was fetched, or ""."""
    note = note_path(path)
    return note.read_text("utf-8", errors="replace").split(" ")[0] if note.exists() else ""
