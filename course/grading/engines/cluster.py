"""Grade on many machines: the same units, judged by the workers of a `dask.distributed` cluster.

The cluster carries units there and results back, and does again what was lost with a worker. Each
worker is a process with a judge of its own, and keeps students' code in sandboxes of its own
machine, so the cluster itself never meets it. On every machine there must be this course, at the
same version:

    dask scheduler
    PYTHONSAFEPATH=1 dask worker ADDRESS --nworkers auto --nthreads 1
    course grade submissions/ --scheduler ADDRESS
"""

import asyncio
import functools
import logging
import threading
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from course.grading.judge.grade import GradingError, Settings
from course.grading.judge.import_path import safe_import_path
from course.grading.judge.judge import Judge
from course.grading.judge.unit import Unit, key_of, not_graded
from course.testing.result import LessonResult

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
            for alone, _ in suspicious:  # so that it is clear whose fault it is
                for lost, reason in (yield from _judged(client, iter([alone]), settings)):
                    yield lost, not_graded(lost, f"It could not be graded: {reason}.")


def _connect(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise GradingError(
            "a cluster needs dask.distributed: install the course with "
            '`pip install -e ".[cluster]"`'
        ) from None
    try:
        asyncio.run(_greet(address))  # a `Client` that finds nobody can wait forever to be closed
    except (OSError, ValueError, TypeError):
        raise GradingError(f"no scheduler of a dask cluster answers at {address}") from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we say it shorter
    return Client(address, timeout=SECONDS_TO_CONNECT)


async def _greet(address: str) -> None:
    from distributed import Security
    from distributed.comm import connect

    secrets = Security().get_connection_args("client")
    connection = await connect(address, timeout=SECONDS_TO_CONNECT, **secrets)
    await connection.close()


def _judged(
    client: "Client", units: Iterator[Unit], settings: Settings
) -> Generator[tuple[Unit, LessonResult], None, list[tuple[Unit, str]]]:
    """Have all units judged; return those that have no result, and why, as part of a sentence."""
    from distributed import KilledWorker

    lost: list[tuple[Unit, str]] = []
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
            except KilledWorker:
                result = "whatever judged it was killed"
            except GradingError:
                raise
            except Exception as error:
                raise _broken(error) from None
            if isinstance(result, str):
                lost.append((unit, result))
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
        raise _broken(error) from None


def _number_of_workers(client: "Client") -> int:
    try:
        return len(client.nthreads())
    except Exception as error:
        raise _broken(error) from None


def _broken(error: Exception) -> GradingError:
    reason = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
    return GradingError(
        f"the cluster cannot go on: {reason}; what was graded is kept, so begin again"
    )


# --- on a worker ----------------------------------------------------------------------------

_turn = threading.Lock()
"""A judge does one thing at a time, however many threads its worker has."""


def _grade(unit: Unit, key: str, settings: Settings) -> LessonResult | str:
    """Judge a unit; if that fails, say why.

    Args:
        key: the key that the result must have, or else this is another course.

    Raises:
        GradingError: this worker cannot judge anything.
    """
    with _turn, safe_import_path():
        trouble = ""
        try:
            judge = _judge(settings)
        except Exception as error:
            trouble = f"cannot grade: {error}"
        if not trouble and key_of(unit, settings.seed) != key:
            trouble = (
                "has another version of the course: install the same everywhere, and start the "
                "workers anew"
            )
        if trouble:
            raise GradingError(f"the worker {_address()} {trouble}")
        try:
            return judge.grade(unit)
        except Exception as error:
            judge.close()  # the next unit gets a new one
            _judge.cache_clear()
            return f"{type(error).__name__}: {error}"


@functools.lru_cache(maxsize=1)
def _judge(settings: Settings) -> Judge:
    return Judge(settings.seed, settings.limits, settings.confined)


def _address() -> str:
    from distributed import get_worker

    return get_worker().address
