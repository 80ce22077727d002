"""Grade a whole class: each unit once, on all processors, whatever happens on the way.

A result is a file, written whole as soon as it is there, under a name that says whose it is; in
it stands what it depends on. So whoever is interrupted begins again, and only what is missing or
out of date is done.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from course.grading.judge.local import local_judges
from course.grading.judge.reference_check import NOBODY, check_units, verify_check
from course.grading.judge.schedule import judge_units
from course.grading.judge.signing import is_signed, sign
from course.grading.judge.unit import (
    GradedResult,
    GradingError,
    Settings,
    Unit,
    judging_key,
    key_of,
)
from course.grading.names import file_stem
from course.system.files import write_atomically
from course.testing.result import from_text, to_text

_LONG = 2**64
"""A seed of that many possible ones cannot be found by trying."""
_SIGNATURE = re.compile(r'"key": "[0-9a-f]+(\.[0-9a-f]+)"')


class Store:
    """The folder of the results."""

    def __init__(self, out: Path) -> None:
        self._out = out

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one that grades into this folder.

        Raises:
            GradingError: another grader is at it, or there are links, which may lead to anyone's.
        """
        inside = [*self._out.glob("*"), *(self._out / "results").glob("*")]
        if link := next((path for path in (self._out, *inside) if path.is_symlink()), None):
            raise GradingError(
                f"{link} is a link, and the grader follows no links: choose another --out"
            )
        self._out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._out / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise GradingError(f"another grader is already using {self._out}") from None
        try:
            yield
        finally:
            lock.release()

    def seed(self, chosen: int | None) -> int:
        """Return the chosen seed, which is stretched, else that of the last time, else a new one.

        Nobody can know a new one beforehand, and prepare answers for its inputs.
        """
        seed = self.kept_seed() if chosen is None else _stretched(chosen)
        if seed is None:
            seed = secrets.randbits(128)  # so many cannot be tried, whatever is seen of the inputs
        write_atomically(self._out / "seed.txt", f"{seed}\n{sign(f'seed {seed}')}\n")
        return seed

    def kept_seed(self) -> int | None:
        """Return the seed of the last time, if this user has graded into the folder."""
        with suppress(OSError, ValueError):
            seed, signature = (self._out / "seed.txt").read_text(encoding="utf-8").split()
            if is_signed(f"seed {seed}", signature):
                return int(seed)
        return None

    def results(self) -> Iterator[GradedResult]:
        """Yield all results that this user's grader wrote, up to date or not."""
        for path in sorted((self._out / "results").glob("*/*.json")):
            with suppress(OSError, ValueError):
                yield _signed_result(path)

    def passed_checks(self) -> list[str]:
        """Return the keys of the lessons whose integrity checks were passed."""
        with suppress(OSError, ValueError):
            lines = (self._out / "examined.txt").read_text(encoding="utf-8").splitlines()
            signed = (line.split() for line in lines)
            return [key for key, signature in signed if is_signed(f"examined {key}", signature)]
        return []

    def add_passed_check(self, key: str) -> None:
        """Keep one more of these keys."""
        lines = [f"{one} {sign(f'examined {one}')}" for one in [*self.passed_checks()[-99:], key]]
        write_atomically(self._out / "examined.txt", "\n".join([*lines, ""]))

    def read(self, unit: Unit, key: str) -> GradedResult | None:
        """Return the result of a unit, if it is there, whole and up to date."""
        try:
            result = _signed_result(self._file(unit))
        except (OSError, ValueError):
            return None
        if (result.student, result.lesson, result.key) != (unit.student, unit.lesson, key):
            return None
        return result

    def write(self, unit: Unit, result: GradedResult) -> None:
        """Write a result, signed."""
        text, key = to_text(result), f'"key": "{result.key}'
        write_atomically(self._file(unit), text.replace(key, f"{key}.{sign(text)}", 1))

    def _file(self, unit: Unit) -> Path:
        return self._out / "results" / unit.lesson / f"{file_stem(unit.student)}.json"


def _stretched(seed: int) -> int:
    """Return a seed of 128 bits for a short one: each guess at it takes a fifth of a second."""
    if seed >= _LONG:
        return seed
    data = hashlib.scrypt(
        str(seed).encode(), salt=b"what-and-where", n=2**16, r=8, p=1, maxmem=2**27, dklen=16
    )
    return int.from_bytes(data)


def _signed_result(path: Path) -> GradedResult:
    """Return the result in a file, whose signature is behind its key.

    Raises:
        OSError, ValueError: it is not there, or damaged, or not this user's.
    """
    text = path.read_text(encoding="utf-8")
    if match := _SIGNATURE.search(text):
        unsigned = text[: match.start(1)] + text[match.end(1) :]
        if is_signed(unsigned, match[1][1:]):
            return from_text(unsigned, GradedResult)
    raise ValueError("not signed by this user")


def grade_all(
    units: Iterable[Unit],
    store: Store,
    settings: Settings,
    jobs: int,
    fresh: bool = False,
    scheduler: str | None = None,
) -> Iterator[tuple[GradedResult, bool]]:
    """Yield the result of each unit as it comes, and whether it was there already.

    Args:
        jobs: how many judges work side by side.
        fresh: grade again what is there already.
        scheduler: the address of a dask cluster that judges, instead of this machine.

    Raises:
        GradingError: the graded tests refuse the reference, or accept a stub, among others.
    """
    unchecked: dict[str, set[Unit]] = {}
    found: list[GradedResult] = []

    def missing() -> Iterator[Unit]:
        for unit in units:
            key = judging_key(unit.lesson, settings.seed)
            if unit.lesson not in unchecked and (fresh or key not in store.passed_checks()):
                both = check_units(unit.lesson)
                unchecked[unit.lesson] = set(both)
                yield from both
            known = None if fresh else store.read(unit, key_of(unit, settings.seed))
            if known is None:
                yield unit
            else:
                found.append(known)

    start = partial(local_judges, settings, jobs)
    if scheduler is not None:
        from course.grading.judge.cluster import cluster_judges  # with PyTorch

        start = partial(cluster_judges, settings, scheduler)
    for unit, result in judge_units(missing(), start):
        if unit.student == NOBODY:
            verify_check(unit, result)
            unchecked[unit.lesson].discard(unit)
            if not unchecked[unit.lesson]:
                store.add_passed_check(judging_key(unit.lesson, settings.seed))
            continue
        yield from ((known, True) for known in found)
        found.clear()
        if result.key:
            store.write(unit, result)
        yield result, False
    yield from ((known, True) for known in found)
