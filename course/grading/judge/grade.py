"""Grade a whole class: each unit once, on all processors, whatever happens on the way.

A result is a file, written whole as soon as it is there, under a name that says whose it is; in
it stands what it depends on. So whoever is interrupted begins again, and only what is missing or
out of date is done.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from course.grading.judge.fitness import Fitness
from course.grading.judge.judges import UnableToJudge, judged
from course.grading.judge.unit import Unit, judging_key, key_of
from course.grading.names import file_stem
from course.grading.sandbox.sandbox import Limits
from course.system.files import write_whole
from course.testing.result import LessonResult, from_text, to_text


class GradingError(Exception):
    """Why grading cannot go on, in one sentence."""


@dataclass(frozen=True)
class Settings:
    """How to grade.

    Attributes:
        seed: another one gives the tests other inputs.
        limits: what one worker may use, if it is not the usual.
        confined: whether workers are confined; only ever False for code that one trusts.
    """

    seed: int = 0
    limits: Limits | None = None
    confined: bool = True


class Store:
    """The folder of the results."""

    def __init__(self, out: Path) -> None:
        self._out = out

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one that grades into this folder.

        Raises:
            GradingError: another grader is at it.
        """
        self._out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._out / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise GradingError(f"another grader is at work in {self._out}") from None
        try:
            yield
        finally:
            lock.release()

    def seed(self, chosen: int | None) -> int:
        """The seed to grade with: the chosen one, else that of the last time, else a new one.

        Nobody can know a new one beforehand, and prepare answers for its inputs.
        """
        file = self._out / "seed.txt"
        if chosen is not None:
            seed = chosen
        elif file.exists():
            try:
                seed = int(file.read_text(encoding="utf-8"))
            except ValueError:
                raise GradingError(
                    f"{file} should hold a whole number; name one by --seed"
                ) from None
        else:
            seed = secrets.randbits(128)  # so many cannot be tried, whatever is seen of the inputs
        write_whole(file, f"{seed}\n")
        return seed

    def kept(self) -> Iterator[LessonResult]:
        """Return all results that are there and whole, up to date or not."""
        for path in sorted((self._out / "results").glob("*/*.json")):
            with suppress(OSError, ValueError):
                yield from_text(path.read_text(encoding="utf-8"))

    def is_examined(self, key: str) -> bool:
        """Test that the grader was found fit to judge a lesson, as it is now."""
        return key in self._examined()

    def note_examined(self, key: str) -> None:
        """Keep that it was."""
        write_whole(self._out / "examined.txt", "\n".join([*self._examined()[-99:], key, ""]))

    def _examined(self) -> list[str]:
        try:
            return (self._out / "examined.txt").read_text(encoding="utf-8").split()
        except (OSError, UnicodeError):
            return []

    def find(self, unit: Unit, key: str) -> LessonResult | None:
        """The result of a unit, if it is there, whole and up to date."""
        try:
            result = from_text(self._file(unit).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        same = (result.student, result.lesson, result.key) == (unit.student, unit.lesson, key)
        if not same:
            return None
        return replace(result, notes=unit.notes, canvas_id=unit.canvas_id, late=unit.late)

    def keep(self, unit: Unit, result: LessonResult) -> None:
        """Write a result."""
        write_whole(self._file(unit), to_text(result))

    def _file(self, unit: Unit) -> Path:
        return self._out / "results" / unit.lesson / f"{file_stem(unit.student)}.json"


def grade_all(
    units: Iterable[Unit],
    store: Store,
    settings: Settings,
    jobs: int,
    fresh: bool = False,
    scheduler: str | None = None,
) -> Iterator[tuple[LessonResult, bool]]:
    """The result of each unit as it comes, and whether it was there already.

    Args:
        jobs: how many judges work side by side.
        fresh: grade again what is there already.
        scheduler: the address of a dask cluster that judges, instead of this machine.

    Raises:
        GradingError: the graded tests refuse the reference, or accept a stub, among others.
    """
    fitness = Fitness()

    def missing() -> Iterator[Unit]:
        for unit in units:
            key = judging_key(unit.lesson, settings.seed)
            if fresh or not store.is_examined(key):
                yield from fitness.units(unit.lesson)
            known = None if fresh else store.find(unit, key_of(unit, settings.seed))
            if known is None:
                yield unit
            else:
                found.append(known)

    found: list[LessonResult] = []
    for unit, result in _as_far_as_able(_judges(settings, jobs, scheduler)(missing())):
        if fitness.is_about(unit):
            if trouble := fitness.trouble(unit, result):
                raise GradingError(trouble)
            if fitness.is_shown(unit.lesson):
                store.note_examined(judging_key(unit.lesson, settings.seed))
            continue
        yield from ((known, True) for known in found)
        found.clear()
        if result.key:
            store.keep(unit, result)
        yield result, False
    yield from ((known, True) for known in found)


def _as_far_as_able(
    judged: Iterator[tuple[Unit, LessonResult]],
) -> Iterator[tuple[Unit, LessonResult]]:
    try:
        yield from judged
    except UnableToJudge as error:
        raise GradingError(f"nothing can be graded here: {error}") from None


def _judges(
    settings: Settings, jobs: int, scheduler: str | None
) -> Callable[[Iterator[Unit]], Iterator[tuple[Unit, LessonResult]]]:
    """Who grades: processes of this machine, or a cluster."""
    if scheduler is None:
        return partial(judged, settings=settings, jobs=jobs)
    from course.grading.engines.cluster import judged_on_cluster

    return partial(judged_on_cluster, settings=settings, address=scheduler)
