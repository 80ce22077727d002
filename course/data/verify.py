"""Is a file what was published? And which version of it?"""

import hashlib
from pathlib import Path

from course.data.sources import Dataset, Version


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def identify(dataset: Dataset, path: Path) -> Version | None:
    """Which published version of the dataset the file at `path` is, or None if it is none."""
    sizes = {version.size for version in dataset.versions}
    if None not in sizes and path.stat().st_size not in sizes:
        return None  # without reading it all
    sha256 = file_sha256(path)
    return version_of(dataset, sha256, vouched=sha256 == receipt(path))


def version_of(dataset: Dataset, sha256: str, vouched: bool) -> Version | None:
    """The version with this hash.

    Args:
        vouched: whether something else than a published hash, the zip that the text came from,
            proves that this is the version without one.
    """
    for version in dataset.versions:
        if version.sha256 == sha256:
            return version
    return unpublished(dataset) if vouched else None


def unpublished(dataset: Dataset) -> Version | None:
    """The version of which nobody publishes a hash, if there is one."""
    return next((version for version in dataset.versions if version.sha256 is None), None)


def receipt(path: Path) -> str:
    """The SHA-256 noted when a file without a published one was fetched, or ''."""
    note = _note(path)
    return note.read_text("utf-8", errors="replace").split(" ")[0] if note.exists() else ""


def write_receipt(path: Path, version: Version, sha256: str) -> None:
    """Note the hash in `NAME.sha256`, as `sha256sum` does, if nobody publishes it."""
    if version.sha256 is None:
        _note(path).write_text(f"{sha256}  {path.name}\n", "utf-8")
    else:
        _note(path).unlink(missing_ok=True)


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
