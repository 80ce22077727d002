"""Grade on many machines: the same units, judged by the workers of a `dask.distributed` cluster.

The cluster carries units there and results back, and does again what was lost with a worker. Each
worker is a process with its own judge, which runs students' code in sandboxes of that machine, so
the cluster itself never meets it. On every machine there must be this course, at the
same version:

    dask scheduler
    dask worker ADDRESS --nworkers auto --nthreads 1
    course grade submissions/ --scheduler ADDRESS
"""

import asyncio
import functools
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from course.grading.judge.judge import Judge
from course.grading.judge.schedule import Judges
from course.grading.judge.unit import GradedResult, GradingError, Unit, key_of
from course.grading.sandbox.sandbox import SandboxError

if TYPE_CHECKING:
    from distributed import Client

SECONDS_TO_CONNECT = 15
SECONDS_WITHOUT_WORKER = 60
"""How long a cluster may have no worker at all before nobody waits for it any longer."""


@contextmanager
def cluster_judges(seed: int, address: str) -> Iterator[Judges]:
    """Have the workers of a cluster judge, as one executor.

    Args:
        address: of the cluster's scheduler, "tcp://192.168.1.10:8786".

    Raises:
        GradingError: there is no such cluster, it was lost, or its workers cannot grade.
    """
    with _connect(address) as client:
        from distributed import KilledWorker

        executor = client.get_executor(pure=False)

        def check() -> None:
            if not client.nthreads():
                raise GradingError(
                    f"the cluster at {address} has no workers; `dask worker {address} --nthreads 1`"
                    " starts one"
                )

        try:
            yield Judges(
                lambda _, unit: executor.submit(_grade, unit, key_of(unit, seed), seed),
                count=1,
                capacity=lambda: 2 * max(1, len(client.nthreads())),
                losses=(KilledWorker, SandboxError),
                seconds=SECONDS_WITHOUT_WORKER,
                check=check,
            )
        except GradingError:
            raise
        except Exception as error:
            reason = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
            raise GradingError(
                f"the cluster failed: {reason}; the results so far are saved, so start again"
            ) from None


def _connect(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise GradingError(
            'a cluster needs dask.distributed; install it with `pip install -e ".[cluster]"`'
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


# --- on a worker ----------------------------------------------------------------------------

_turn = threading.Lock()
"""A judge does one thing at a time, however many threads its worker has."""


def _grade(unit: Unit, key: str, seed: int) -> GradedResult:
    """Judge a unit.

    Args:
        key: the key that the result must have, or else this is another course.

    Raises:
        GradingError: this worker cannot judge anything.
        SandboxError: it could not judge this unit.
    """
    with _turn:
        trouble = ""
        try:
            judge = _judge(seed)
        except Exception as error:
            trouble = f"cannot grade: {error}"
        if not trouble and key_of(unit, seed) != key:
            trouble = (
                "has a different version of the course, Python, PyTorch or NumPy: install the same "
                "ones everywhere, and restart the workers"
            )
        if trouble:
            from distributed import get_worker

            raise GradingError(f"the worker {get_worker().address} {trouble}")
        try:
            return judge.grade(unit)
        except Exception as error:
            judge.close()  # the next unit gets a new one
            _judge.cache_clear()
            raise SandboxError(f"{type(error).__name__}: {error}") from None


@functools.lru_cache(maxsize=1)
def _judge(seed: int) -> Judge:
    return Judge(seed)
