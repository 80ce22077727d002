"""The datasets, the places that may have them and the versions of them: `sources.toml`."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

TABLE = Path(__file__).with_name("sources.toml")


@dataclass(frozen=True)
class Dataset:
    """A file that the course can use; `sources.toml` says what is what."""

    name: str
    title: str
    file: str
    size: int
    mirror: list[str]
    sources: list[str]
    versions: dict[str, str]

    def places(self, mirror: str | None = None) -> list[str]:
        """List what to try, best first: in `mirror`, a URL or a folder, or the public sources.

        A mirror's packed files may differ from the published ones in every byte (another zip
        program), so that only what they unpack to is compared with hashes.
        """
        if mirror is None:
            return self.sources
        if is_url(mirror):
            return [f"{mirror.rstrip('/')}/{quote(name)}" for name in self.mirror]
        return [str(path) for name in self.mirror if (path := Path(mirror) / name).is_file()]

    def version_of(self, path: Path) -> str | None:
        """Return the name of the published version that a file is, or None if it is none."""
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        return next((name for name, sha256 in self.versions.items() if sha256 == found), None)


def load() -> dict[str, Dataset]:
    """Return all datasets by name, in the table's order.

    >>> list(load())
    ['tinyshakespeare', 'glove', 'analogies', 'smollm2']
    """
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return {name: Dataset(name, **facts) for name, facts in table.items()}


def is_url(place: str) -> bool:
    """Tell a URL from the path of a folder or file."""
    return "://" in place
