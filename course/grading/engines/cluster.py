"""Grade on many machines: the same units, judged by the workers of a `dask.distributed` cluster.

The cluster carries units there and results back, and does again what was lost with a worker. Each
worker is a process with a judge of its own, and keeps students' code in sandboxes of its own
machine, so the cluster itself never meets it. On every machine there must be this course, at the
same version:

    dask scheduler
    dask worker ADDRESS --nworkers auto --nthreads 1
    course grade submissions/ --scheduler ADDRESS
"""

import functools
import logging
import threading
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from course.grading.grade import GradingError, Settings
from course.grading.judge import Judge, Unit, key_of, not_graded
from course.grading.results import LessonResult
from course.grading.sandbox import SandboxError

if TYPE_CHECKING:
    from distributed import Client, Future

SECONDS_TO_CONNECT = 15
SECONDS_WITHOUT_WORKER = 60
"""How long a cluster may have no worker at all before nobody waits for it any longer."""


def judged_on_cluster(
    units: Iterator[Unit], settings: Settings, address: str
) -> Iterator[tuple[Unit, LessonResult]]:
    """Every unit with its result, as they come.

    Args:
        address: of the cluster's scheduler, "tcp://192.168.1.10:8786".

    Raises:
        GradingError: there is no such cluster, it was lost, or its workers cannot grade.
    """
    for unit in units:  # if there is none, no cluster is needed
        with _connect(address) as client:
            suspicious = yield from _judged(client, chain([unit], units), settings)
            for lost in suspicious:  # one by one, so that it is clear whose fault it is
                if (yield from _judged(client, iter([lost]), settings)):
                    yield lost, not_graded(lost, "Whatever judged it was lost, every time.")


def _connect(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise GradingError(
            "a cluster needs dask.distributed: install the course with "
            '`pip install -e ".[cluster]"`'
        ) from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we say it shorter
    try:
        return Client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError):
        raise GradingError(f"no scheduler of a dask cluster answers at {address}") from None


def _judged(
    client: "Client", units: Iterator[Unit], settings: Settings
) -> Generator[tuple[Unit, LessonResult], None, list[Unit]]:
    """Have all units judged; return those whose judges were lost."""
    from distributed import KilledWorker

    lost: list[Unit] = []
    busy: dict[Future, Unit] = {}
    while True:
        room = 2 * max(1, _number_of_workers(client)) - len(busy)
        for unit in islice(units, max(0, room)):  # a few in advance, so that nobody waits
            key = key_of(unit, settings.seed)
            busy[client.submit(_grade, unit, key, settings, pure=False)] = unit
        if not busy:
            return lost
        for future in _first_done(client, busy):
            unit = busy.pop(future)
            try:
                result = future.result()
            except (KilledWorker, SandboxError):
                lost.append(unit)
            except GradingError:
                raise
            except Exception as error:
                raise _broken(client, error) from None
            else:
                yield unit, result


def _first_done(client: "Client", busy: "Iterable[Future]") -> "Iterable[Future]":
    """Wait until something is done; nothing, if that takes long."""
    from distributed import wait

    try:
        return wait(list(busy), SECONDS_WITHOUT_WORKER, return_when="FIRST_COMPLETED").done
    except TimeoutError:
        if _number_of_workers(client):
            return []
        address = client.scheduler.address
        raise GradingError(
            f"the cluster at {address} has no workers; `dask worker {address} --nthreads 1` "
            "starts one"
        ) from None
    except Exception as error:
        raise _broken(client, error) from None


def _number_of_workers(client: "Client") -> int:
    try:
        return len(client.nthreads())
    except Exception as error:
        raise _broken(client, error) from None


def _broken(client: "Client", error: Exception) -> GradingError:
    reason = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
    return GradingError(
        f"the cluster cannot go on: {reason}; what was graded is kept, so begin again"
    )


# --- on a worker ----------------------------------------------------------------------------

_turn = threading.Lock()
"""A judge does one thing at a time, however many threads its worker has."""


def _grade(unit: Unit, key: str, settings: Settings) -> LessonResult:
    """Judge a unit whose result must have this key, or else this is another course."""
    with _turn:
        try:
            judge = _judge(settings)
        except Exception as error:
            raise GradingError(f"{_this_worker()} cannot grade: {error}") from None
        if key_of(unit, settings.seed) != key:
            raise GradingError(
                f"{_this_worker()} has another version of the course: install the same "
                "everywhere, and start the workers anew"
            )
        try:
            return judge.grade(unit)
        except Exception:
            judge.close()  # whatever happened, the next unit gets a new one
            _judge.cache_clear()
            raise


@functools.lru_cache(maxsize=1)
def _judge(settings: Settings) -> Judge:
    return Judge(settings.seed, settings.limits, settings.confined)


def _this_worker() -> str:
    from distributed import get_worker

    return f"the worker {get_worker().address}"
