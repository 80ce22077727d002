"""The process that workers are forked from: PyTorch is loaded, and nothing worth knowing.

It is a separate program, forked for each judge that comes, so that PyTorch is loaded only once.
Each fork serves its judge over one connection: it spawns workers, kills them, and tells how they
ended.
"""

import contextlib
import ctypes
import gc
import os
import socket
import tempfile
from pathlib import Path

import torch

from course.grading.sandbox.namespaces import end_with_parent
from course.grading.sandbox.sandbox import ProcessLimits, SandboxError, enter_namespaces, spawn
from course.grading.sandbox.start import ENDED, start_fork_server, stop_fork_server
from course.grading.sandbox.wire import ConnectionClosed, dumps, loads, receive, send
from course.grading.sandbox.worker import serve

SECONDS_TO_END = 2.0
"""How long a worker may take that has closed its connection: to give memory back takes time."""

ForkedWorker = tuple[int, socket.socket]
"""A worker, seen from the judge: its number, and our end of the connection to it."""


def _received_socket(connection: socket.socket, size: int) -> tuple[bytes, socket.socket | None]:
    """Return so many bytes, and the socket with them; none if the other side has gone."""
    try:
        said, descriptors, _, _ = socket.recv_fds(connection, size, 1)
    except ConnectionResetError:  # it went before it read what we had sent
        return b"", None
    return said, socket.socket(fileno=descriptors[0]) if descriptors else None


class ForkServer(contextlib.AbstractContextManager):
    """A fork server, seen from the judge. Use it in a `with` block, or `close` it.

    Args:
        limits: as of `start_fork_server`, if there is none to share.
        shared: the connection to one that was started for several judges.

    Attributes:
        process: the fork server, unless others use it, too.

    Raises:
        SandboxError: this machine cannot confine workers.
    """

    def __init__(
        self, limits: ProcessLimits | None = None, shared: socket.socket | None = None
    ) -> None:
        self.process = None
        if shared is None:
            self.process, shared = start_fork_server(limits)
        self.shared = shared
        self._connection, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(shared, [b"."], [theirs.fileno()])

    def __exit__(self, *_: object) -> None:
        self.close()

    def spawn(self) -> ForkedWorker:
        """Return a new worker.

        Raises:
            SandboxError: the fork server has ended.
        """
        with contextlib.suppress(ConnectionClosed):  # then there is no answer either
            send(self._connection, dumps("spawn"))
        number, worker = _received_socket(self._connection, 16)
        if worker is None:
            raise SandboxError(ENDED)
        return int(number), worker

    def kill(self, worker: ForkedWorker, has_hung_up: bool = False) -> tuple[str, bool]:
        """End a worker; return what ended it, and whether the machine did.

        What ended it is the rest of a sentence that begins "the code". A worker that has hung up is
        about to end: it gets the time for that.

        Raises:
            SandboxError: the fork server has ended.
        """
        number, connection = worker
        connection.close()
        try:
            send(self._connection, dumps([number, has_hung_up]))
            why, was_lost = loads(*receive(self._connection))
        except ConnectionClosed:
            raise SandboxError(ENDED) from None
        return why, was_lost

    def close(self) -> None:
        """End the fork server, and with it all its workers."""
        self._connection.close()
        if self.process is not None:
            stop_fork_server(self.process, self.shared)


def main(descriptor: int, cpu_seconds: int, memory_bytes: int) -> None:
    """Be the fork server."""
    _warm_up()
    limits = ProcessLimits(cpu_seconds, memory_bytes)
    connection = socket.socket(fileno=descriptor)
    with contextlib.suppress(OSError):  # nobody waits for it any longer
        connection.sendall(_trouble(limits).encode() + b"\n")
    connection = _connection_to_one_judge(connection)
    enter_namespaces()
    workers = {}
    with contextlib.suppress(ConnectionClosed, ConnectionError):  # the judge has gone
        while True:
            request = loads(*receive(connection))
            if request == "spawn":
                try:
                    worker = spawn(serve, limits)
                except OSError:  # the machine has no process or memory left: this judge is told so
                    break
                workers[worker.pid] = worker
                number = str(worker.pid).encode()
                socket.send_fds(connection, [number], [worker.connection.fileno()])
                worker.connection.close()
            else:
                pid, has_hung_up = request
                worker = workers.pop(pid)
                worker.kill(SECONDS_TO_END if has_hung_up else 0.0)
                send(connection, dumps([worker.why_it_ended(), worker.was_lost]))
    for worker in workers.values():
        worker.kill()
    os._exit(0)


def _trouble(limits: ProcessLimits) -> str:
    """Confine one worker, which answers; or else return why that failed, in sentences."""
    try:
        with spawn(lambda connection: connection.sendall(b"here"), limits) as worker:
            worker.connection.settimeout(_SECONDS_TO_ANSWER)
            if worker.connection.recv(4) == b"here":
                return ""
            worker.kill(SECONDS_TO_END)
        return f"No worker could be started here: the code {worker.why_it_ended()}."
    except (SandboxError, OSError) as error:
        return f"No worker could be started here: {error}."


_SECONDS_TO_ANSWER = 30


def _connection_to_one_judge(connection: socket.socket) -> socket.socket:
    """Fork this process for each judge that comes; the fork returns the connection to that one.

    When nobody is left who could come, this process ends, after all of its forks.
    """
    shared = os.getpid()
    while True:
        _, judge = _received_socket(connection, 1)
        if judge is None:
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.wait()
            os._exit(0)
        if os.fork() == 0:
            if not end_with_parent(shared):
                os._exit(0)
            connection.close()
            return judge
        judge.close()


def _warm_up() -> None:
    """Do now what each worker would do for the first time, and make it cheap to fork."""
    import resource  # noqa: F401

    tempfile.tempdir = (
        "/tmp"  # or `tempfile` looks for a folder that it can write to, and finds none
    )
    torch.set_num_threads(1)
    torch.empty(2, device="meta") + 1
    _rehearse()
    gc.freeze()  # or each worker's collector would copy all of this memory, by touching it
    gc.enable()
    _join_pages()


def _rehearse() -> None:
    """Train something: what is imported and cached on the way is then there."""
    layer = torch.nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    torch.optim.Adam(layer.parameters()).step()


def _join_pages() -> None:
    """Have this memory in pages of 2 MB, where the kernel can: forking copies a table of pages."""
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        span, access, _, _, file, *name = line.split()
        if access == "rw-p" and file == "0" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in span.split("-"))
            first = -(-start // _LARGE_PAGE) * _LARGE_PAGE
            for page in range(first, end - _LARGE_PAGE + 1, _LARGE_PAGE):
                libc.madvise(page, _LARGE_PAGE, _COLLAPSE)


_LARGE_PAGE = 2**21
_COLLAPSE = 25
"""MADV_COLLAPSE of madvise(2), since Linux 6.1; an older kernel refuses, and nothing is lost."""
