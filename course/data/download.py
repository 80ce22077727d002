"""A dataset under its final name, whole and verified, or one sentence saying why not.

A file is fetched and unpacked in the hidden folder `.partial` and moved to its final name only when
its SHA-256 is that of a published version. What an interrupted run fetched stays in `.partial`, and
the next run goes on from there.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from course.data.errors import Absent, Damaged, DataError, Unavailable, Unreachable
from course.data.fetch import Listener, ensure_space, forget, size_of
from course.data.packs import fetched_pack, local_pack
from course.data.sources import Dataset, Source, Version, is_url, mirror_sources
from course.data.unpack import CHUNK, Pack, text_of
from course.data.verify import file_sha256, identify, unpublished, version_of, write_receipt


@dataclass(frozen=True)
class Job:
    """One dataset on its way into a folder."""

    dataset: Dataset
    folder: Path
    mirror: str | None
    listener: Listener

    @property
    def target(self) -> Path:
        return self.folder / self.dataset.file

    @property
    def partial(self) -> Path:
        return self.folder / ".partial"

    def part(self, source: Source) -> Path:
        """Where this source's bytes gather: each has its own file, since the bytes differ."""
        key = hashlib.sha256(f"{source.kind} {source.url}".encode()).hexdigest()[:8]
        return self.partial / f"{self.dataset.file}.{key}.part"

    def say(self, state: str) -> None:
        self.listener.say(f"{self.dataset.file}: {state}")


def obtain(
    dataset: Dataset, folder: Path, mirror: str | None = None, listener: Listener | None = None
) -> Path:
    """The dataset's file in `folder`, fetched if it is not there yet.

    Args:
        mirror: a URL or a local folder to use instead of the public sources.
        listener: who is told how it goes.

    Raises:
        DataError: it cannot be had; the message is one sentence.
    """
    job = Job(dataset, folder, mirror, listener or Listener())
    try:
        if not _is_there(job):
            sources = _sources(job)
            with _alone(job):
                if not _is_there(job):  # another run may have fetched it meanwhile
                    _try_each(job, sources)
                    _clean_up(job)
    except OSError as error:
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from None
    return job.target


def _is_there(job: Job) -> bool:
    version = identify(job.dataset, job.target) if job.target.exists() else None
    if version:
        job.say(f"already there and whole ({version.name})")
    return version is not None


# --- one source after the other --------------------------------------------------------------


def _sources(job: Job) -> Iterable[Source]:
    if job.mirror is None:
        return job.dataset.sources
    if not is_url(job.mirror) and not Path(job.mirror).is_dir():
        raise DataError(f"the mirror {job.mirror} is no folder and no URL")
    return mirror_sources(job.dataset, job.mirror)


def _try_each(job: Job, sources: Iterable[Source]) -> None:
    if job.target.exists():
        job.say("there, but not as published; fetching it again")
    unreachable = set()
    for source in sources:
        if source.url in unreachable:
            continue
        try:
            return _install(job, source)
        except Unavailable as trouble:
            if isinstance(trouble, Unreachable):
                unreachable.add(source.url)
            if not (isinstance(trouble, Absent) and source.is_local):
                job.listener.say(f"  {source.url}: {trouble}")
    raise DataError(_none_left(job))


def _none_left(job: Job) -> str:
    if job.mirror is None:
        return (
            f"none of the known sources gave {job.dataset.file}; try again later, or name a folder "
            "or server that has it by --mirror"
        )
    return (
        f"the mirror {job.mirror} gave no usable {job.dataset.file} (looked for: "
        f"{', '.join(job.dataset.mirror)}), and with a mirror nothing else is tried"
    )


def _install(job: Job, source: Source) -> None:
    """Fetch from one source; if what was resumed turns out damaged, once more from the start."""
    part = job.part(source)
    resumed = size_of(part) > 0
    try:
        version = _bring(job, source)
    except Damaged as damage:
        forget(part)
        if not resumed:
            raise  # all of it came just now: the server has nothing better
        job.listener.say(f"  what an earlier run left is damaged ({damage}); starting again")
        version = _bring(job, source)
    job.say(f"ready ({version.name})")


def _bring(job: Job, source: Source) -> Version:
    """Fetch, unpack, verify, and only then give the file its name."""
    pack = _pack(job, source)
    if source.sha256 and file_sha256(pack.path) != source.sha256:
        raise Damaged("its SHA-256 is wrong")
    text, sha256 = _text(job, pack, job.part(source))
    version = version_of(job.dataset, sha256, _vouched(job.dataset, pack))
    if version is None:
        text.unlink()
        raise Damaged(_unknown(job.dataset, sha256))
    write_receipt(job.target, version, sha256)
    text.replace(job.target)
    return version


def _pack(job: Job, source: Source) -> Pack:
    if source.is_local:
        pack = local_pack(job.dataset, source)
        job.say(f"from {source.url}")
        return pack
    part = job.part(source)
    have = size_of(part)
    job.say(f"from {source.url}" + (f", going on after {have / 1e6:.1f} MB" if have else ""))
    return fetched_pack(job.dataset, source, part, job.listener)


def _text(job: Job, pack: Pack, part: Path) -> tuple[Path, str]:
    """The text in a file in `.partial`, and its SHA-256."""
    if pack.kind == "text" and pack.path == part:
        return part, file_sha256(part)
    ensure_space(job.partial, job.dataset.size)
    if pack.kind != "text":
        job.say("unpacking")
    text = job.partial / f"{job.dataset.file}.text"
    return text, _write(text_of(pack), text)


def _write(chunks: Iterator[bytes], path: Path) -> str:
    """Write the chunks to a file; the SHA-256 of them all."""
    digest = hashlib.sha256()
    with open(path, "wb", buffering=CHUNK) as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
    return digest.hexdigest()


def _vouched(dataset: Dataset, pack: Pack) -> bool:
    """Whether the zip that a text came from stands for a text without a published hash."""
    version = unpublished(dataset)
    if version is None or pack.zip_size != version.zip_size:
        return False
    return pack.kind == "member" or file_sha256(pack.path) == version.zip_sha256


def _unknown(dataset: Dataset, sha256: str) -> str:
    if unpublished(dataset):
        return (
            "it is no version with a published SHA-256, and the original, which has none, is "
            "believed only out of the published zip"
        )
    return f"what it holds is no published version (its SHA-256 begins with {sha256[:8]})"


# --- the hidden folder -----------------------------------------------------------------------


@contextmanager
def _alone(job: Job) -> Iterator[None]:
    """Hold the lock for one file: of two runs that want it, one fetches and the other waits.

    The lock is the operating system's, so that it ends with its process however that ends.
    """
    from filelock import FileLock, Timeout

    job.partial.mkdir(parents=True, exist_ok=True)
    lock = FileLock(job.partial / f"{job.dataset.file}.lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        job.say("another run is fetching it; waiting for that one")
        lock.acquire(poll_interval=0.2)
    try:
        yield
    finally:
        lock.release()


def _clean_up(job: Job) -> None:
    """What is left of other sources and of earlier runs is of no more use."""
    for path in job.partial.glob(f"{job.dataset.file}.*"):
        if path.suffix != ".lock":
            path.unlink()
