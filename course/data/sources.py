"""What can be fetched and from where: `sources.toml` as Python objects."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import quote

TABLE = Path(__file__).with_name("sources.toml")

Kind = Literal["text", "xz", "zip", "member"]


@dataclass(frozen=True)
class Version:
    """One content that may stand under a dataset's file name; `sources.toml` says what is what."""

    name: str
    size: int | None = None
    sha256: str | None = None
    zip_size: int | None = None
    zip_sha256: str | None = None


@dataclass(frozen=True)
class Source:
    """One place to fetch a dataset from: a URL, or the path of a file in a local mirror."""

    url: str
    kind: Kind
    size: int | None = None
    sha256: str | None = None
    offset: int | None = None
    deflated: int | None = None
    crc32: int | None = None

    @property
    def is_local(self) -> bool:
        return not is_url(self.url)

    @property
    def file_name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Dataset:
    """A text file that the course can use, the versions known of it and where they are."""

    name: str
    title: str
    file: str
    mirror: tuple[str, ...]
    versions: tuple[Version, ...]
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        """The size to plan with: that of the largest version, or 0 if no size is known."""
        return max(version.size or 0 for version in self.versions)


def load() -> dict[str, Dataset]:
    """All datasets by name, in the table's order.

    >>> list(load())
    ['tinyshakespeare', 'glove-50d', 'glove-100d', 'glove-200d', 'glove-300d']
    """
    with open(TABLE, "rb") as file:
        table = tomllib.load(file)
    return {name: _dataset(name, facts) for name, facts in table.items()}


def _dataset(name: str, facts: dict) -> Dataset:
    versions = tuple(Version(**version) for version in facts["versions"])
    sources = tuple(Source(**source) for source in facts["sources"])
    return Dataset(name, facts["title"], facts["file"], tuple(facts["mirror"]), versions, sources)


def is_url(place: str) -> bool:
    """Whether `place` is a URL, not a folder."""
    return "://" in place


def mirror_sources(dataset: Dataset, mirror: str) -> list[Source]:
    """Where in `mirror`, a URL or a folder, the dataset may be: best first.

    Only the names come from the table. A mirror's packed files may differ from the published ones
    in every byte (another zip program), so that only what they unpack to is compared with hashes.
    """
    return [source for name in dataset.mirror for source in _named(name, dataset, mirror)]


def _named(name: str, dataset: Dataset, mirror: str) -> list[Source]:
    in_url, in_folder = f"{mirror.rstrip('/')}/{quote(name)}", str(Path(mirror) / name)
    url = in_url if is_url(mirror) else in_folder
    if not name.endswith(".zip"):
        return [Source(url, "xz" if name.endswith(".xz") else "text")]
    # The zip's directory says where the member is; a zip that was cut off has lost it, and then the
    # offset of the published zip may help; a server without Range has to send the zip whole.
    known = [replace(s, url=url) for s in dataset.sources if s.offset and s.file_name == name]
    return [Source(url, "member"), *known, Source(url, "zip")]
