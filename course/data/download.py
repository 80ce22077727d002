"""A dataset under its final name, whole and verified, or one sentence saying why not.

A file is fetched and unpacked in the hidden folder `.partial` and moved to its final name only when
its SHA-256 is that of a published version. What an interrupted run fetched stays in `.partial`, and
the next run goes on from there.
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from course.data.fetch import (
    Damaged,
    DataError,
    Unavailable,
    Unreachable,
    ensure_space,
    fetch,
    fetch_tail,
    forget,
    size_of,
)
from course.data.sources import ORIGINAL, Dataset, Source, file_sha256, is_url, note_path
from course.data.unpack import member_span, unpacked

TAIL = 1 << 16  # bytes at the end of a zip, where its directory is


def obtain(dataset: Dataset, folder: Path, mirror: str | None = None) -> Path:
    """Return the dataset's file in `folder`; fetch it, and print how it goes, if it is not there.

    Args:
        mirror: a URL or a local folder to use instead of the public sources.

    Raises:
        DataError: it cannot be had; the message is one sentence.
    """
    target = folder / dataset.file
    try:
        if not _is_there(dataset, target):
            if mirror and not is_url(mirror) and not Path(mirror).is_dir():
                raise DataError(f"the mirror {mirror} is no folder and no URL")
            with _alone(dataset, folder / ".partial"):
                if not _is_there(dataset, target):  # another run may have fetched it meanwhile
                    _try_each(dataset, target, mirror)
    except OSError as error:
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from None
    return target


def _is_there(dataset: Dataset, target: Path) -> bool:
    version = dataset.version_of(target) if target.exists() else None
    if version:
        click.echo(f"{dataset.file}: already there and whole ({version})")
    return version is not None


@contextmanager
def _alone(dataset: Dataset, partial: Path) -> Iterator[None]:
    """Hold the lock for one file: of two runs that want it, one fetches and the other waits.

    The lock is the operating system's, so that it ends with its process however that ends.
    """
    from filelock import FileLock, Timeout

    partial.mkdir(parents=True, exist_ok=True)
    lock = FileLock(partial / f"{dataset.file}.lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        click.echo(f"{dataset.file}: another run is fetching it; waiting for that one")
        lock.acquire(poll_interval=0.2)
    try:
        yield
    finally:
        lock.release()


def _try_each(dataset: Dataset, target: Path, mirror: str | None) -> None:
    if target.exists():
        click.echo(f"{dataset.file}: there, but not as published; fetching it again")
    unreachable = set()
    for source in dataset.candidates(mirror):
        if source.place in unreachable:
            continue
        try:
            version = _install(dataset, target, source)
        except Unavailable as trouble:
            if isinstance(trouble, Unreachable):
                unreachable.add(source.place)
            click.echo(f"  {source.place}: {trouble}")
        else:
            click.echo(f"{dataset.file}: ready ({version})")
            for path in (target.parent / ".partial").glob(f"{dataset.file}.*"):
                if path.suffix != ".lock":
                    path.unlink()
            return
    if mirror is None:
        raise DataError(
            f"none of the known sources gave {dataset.file}; try again later, or name a folder "
            "or server that has it by --mirror"
        )
    raise DataError(
        f"the mirror {mirror} gave no usable {dataset.file} (looked for: "
        f"{', '.join(dataset.mirror)}), and with a mirror nothing else is tried"
    )


def _install(dataset: Dataset, target: Path, source: Source) -> str:
    """Bring a version from one source; if what was resumed is damaged, once more from the start."""
    # Each source has a partial file of its own, since the bytes differ.
    key = hashlib.sha256(f"{source.form} {source.place}".encode()).hexdigest()[:8]
    part = target.parent / ".partial" / f"{dataset.file}.{key}.part"
    have = size_of(part)
    going_on = f", going on after {have / 1e6:.1f} MB" if have else ""
    click.echo(f"{dataset.file}: from {source.place}{going_on}")
    try:
        return _bring(dataset, target, source, part)
    except Damaged as damage:
        forget(part)
        if not have:
            raise  # all of it came just now: the server has nothing better
        click.echo(f"  what an earlier run left is damaged ({damage}); starting again")
        return _bring(dataset, target, source, part)


def _bring(dataset: Dataset, target: Path, source: Source, part: Path) -> str:
    """Fetch, unpack, verify, and only then give the file its name; return its version."""
    packed, zip_size = Path(source.place), None
    if is_url(source.place):
        packed, zip_size = part, _fetch(dataset, source, part)
    if source.form == "zip":
        zip_size = size_of(packed)
    text = part.with_name(f"{dataset.file}.text")
    ensure_space(text.parent, dataset.size)
    if source.form != "text":
        click.echo(f"{dataset.file}: unpacking")
    with unpacked(packed, source.form, dataset.file) as unpacking, open(text, "wb") as file:
        shutil.copyfileobj(unpacking, file, 1 << 18)
    version, note = dataset.version_of(text), note_path(target)
    if version:
        note.unlink(missing_ok=True)
    elif _vouches(dataset, source, packed, zip_size):
        version = ORIGINAL
        note.write_text(f"{file_sha256(text)}  {target.name}\n", "utf-8")  # as sha256sum does
    else:
        why = _unknown(dataset, text)
        text.unlink()
        raise Damaged(why)
    text.replace(target)
    return version


def _vouches(dataset: Dataset, source: Source, packed: Path, zip_size: int | None) -> bool:
    """Tell whether a text without a published SHA-256 came out of the published zip."""
    if zip_size is None or zip_size != dataset.zip_size:
        return False
    return source.form == "member" or file_sha256(packed) == dataset.zip_sha256


def _fetch(dataset: Dataset, source: Source, part: Path) -> int | None:
    """Fetch what the source has to `part`; return the size of the zip that a member came from."""
    start, length, zip_size = 0, None, None
    if source.form == "head":
        length = dataset.heads[Path(source.place).name]
    elif source.form == "member":
        tail, zip_size = fetch_tail(source.place, TAIL)
        start, length = member_span(tail, zip_size, dataset.file)
    fetch(source.place, part, dataset.file, dataset.size, start, length)
    return zip_size


def _unknown(dataset: Dataset, text: Path) -> str:
    if dataset.zip_size:
        return (
            "it is no version with a published SHA-256, and the original, which has none, is "
            "believed only out of the published zip"
        )
    return (
        f"what it holds is no published version (its SHA-256 begins with {file_sha256(text)[:8]})"
    )
