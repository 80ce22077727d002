"""A dataset under its final name, whole and verified, or one sentence saying why not.

pooch downloads, and remotezip takes one file out of a zip on a server. All of it happens in the
hidden folder `.partial`, which vanishes in the end; a file moves to its final name only when its
SHA-256 is that of a published version.
"""

import io
import lzma
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import click

from course.data.reading import DataError, is_web_page
from course.data.sources import Dataset, is_url

PIP = "pip:"
"""How a place begins that is a Python package."""
TIMEOUT = (10, 30)  # seconds to connect, seconds of silence
LARGEST_ZIP = 1 << 30
"""How many bytes of a zip are fetched where the server sends no parts; GloVe's has 862 million."""

_SLACK = 1 << 16  # bytes by which another version of a file may be larger
_PIECE = 1 << 16
_HEADERS = {"User-Agent": "what-and-where course", "Accept-Encoding": "identity"}
_DAMAGED = (
    *(EOFError, RuntimeError, ValueError, struct.error),
    *(lzma.LZMAError, zipfile.BadZipFile, zlib.error),
)


class Unavailable(Exception):
    """A source that does not give what is wanted; the message says why."""


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
            try:
                if len(list(partial.iterdir())) > 1:
                    click.echo("an earlier download was interrupted; it starts again")
                _try_each(dataset, target, partial, mirror)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except Timeout:
        raise DataError(
            f"another run is already fetching into {folder}: wait until it has ended"
        ) from None
    except OSError as error:
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from None
    return target


def _try_each(dataset: Dataset, target: Path, partial: Path, mirror: str | None) -> None:
    for place in dataset.places(mirror):
        click.echo(f"{dataset.file}: from {place}")
        try:
            version = _install(dataset, target, place, partial)
        except Unavailable as trouble:
            _say(trouble)
        else:
            click.echo(f"{dataset.file}: ready ({version})")
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


def _say(what: object) -> None:
    """Print a line that may have words of a server, without what a terminal would obey."""
    click.echo("  " + "".join(c if c.isprintable() else "?" for c in str(what)))


def _install(dataset: Dataset, target: Path, place: str, partial: Path) -> str:
    """Fetch, unpack, verify, and only then give the file its name; return its version."""
    from remotezip import RemoteZipError
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    with TemporaryDirectory(dir=partial) as name:
        try:
            text = _fetched(dataset, place, Path(name))
        except (RequestException, RemoteZipError, HTTPError) as error:
            while error.__context__:  # the innermost says most
                error = error.__context__
            raise Unavailable(f"it could not be fetched ({error})") from None
        except _DAMAGED as error:
            raise Unavailable(f"it is truncated or damaged ({error})") from None
        if version := dataset.version_of(text):
            text.replace(target)
            return version
    raise Unavailable("it is not a published version of the file (its SHA-256 differs)")


def _fetched(dataset: Dataset, place: str, folder: Path) -> Path:
    """Return the file of a dataset that is at a place, fetched and unpacked into a folder."""
    text = folder / "text"
    with ExitStack() as opened:
        unpacking = opened.enter_context(_opened(dataset, place, folder, opened))
        file = opened.enter_context(_BoundedFile(text, dataset.size + _SLACK))
        bar = opened.enter_context(_progress("unpacking", dataset.size))
        while piece := unpacking.read(_PIECE):
            file.write(piece)
            bar.update(len(piece))
    return text


def _opened(dataset: Dataset, place: str, folder: Path, opened: ExitStack) -> BinaryIO:
    """Open the file of a dataset that is at a place: as it is, or packed by xz or in a zip."""
    if is_url(place) and place.endswith(".zip"):
        from remotezip import RangeNotSupported, RemoteZip

        try:
            archive = opened.enter_context(RemoteZip(place, headers=_HEADERS, timeout=TIMEOUT))
            return archive.open(_member(archive, dataset.file))
        except RangeNotSupported:
            _say("this server sends no parts of a file, so all of the zip is fetched")
    packed = _local(dataset, place, folder)
    if packed.suffix == ".xz":
        return lzma.open(packed)
    if packed.suffix not in (".zip", ".whl"):
        return open(packed, "rb")
    archive = opened.enter_context(zipfile.ZipFile(packed))
    return archive.open(_member(archive, dataset.file))


def _local(dataset: Dataset, place: str, folder: Path) -> Path:
    """Return the file that is at a place; if that is not on this machine, download it first."""
    if place.startswith(PIP):
        return _downloaded_by_pip(place.removeprefix(PIP), folder)
    if not is_url(place):
        return Path(place)
    from pooch import HTTPDownloader
    from requests import RequestException

    packed = folder / f"packed{Path(place).suffix}"
    limit = LARGEST_ZIP if packed.suffix in (".zip", ".whl") else dataset.size + _SLACK
    with _BoundedFile(packed, limit) as file, _progress("fetching", dataset.size) as bar:
        how = {"headers": _HEADERS, "timeout": TIMEOUT}
        try:
            HTTPDownloader(progressbar=bar, chunk_size=_PIECE, **how)(place, file, None)
        except RequestException:
            raise
        except ValueError as error:  # a Content-Length that is no number
            raise Unavailable(f"the server's answer makes no sense ({error})") from None
    with open(packed, "rb") as file:
        if is_web_page(file.read(_PIECE)):
            raise Unavailable("the server sent a web page, not the file")
    return packed


class _BoundedFile(io.BufferedWriter):
    """A new file that does not get larger than `limit` bytes, whatever a server sends."""

    def __init__(self, path: Path, limit: int) -> None:
        super().__init__(io.FileIO(path, "wb"))
        self._left = limit

    def write(self, piece: bytes) -> int:
        self._left -= len(piece)
        if self._left < 0:
            raise Unavailable("it is larger than the published file, so the rest was not fetched")
        return super().write(piece)


def _progress(label: str, total: int) -> Any:
    """Return a progress bar in bytes; it shows nothing where nobody is looking."""
    from tqdm import tqdm

    return tqdm(
        desc=f"  {label}", total=total, unit="B", unit_scale=True, disable=None, leave=False
    )


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


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the file in a zip that is called so, in any folder; or the only file there is."""
    files = [one for one in archive.infolist() if not one.is_dir()]
    called_so = [one for one in files if one.filename.rpartition("/")[2] == name]
    if not called_so and len(files) != 1:
        raise Unavailable(f"the zip has {len(files)} files, none of them called {name}")
    return (called_so or files)[0]  # a zip of one file may call it by another name
