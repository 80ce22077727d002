"""Several trainings at the same time, a process each, none of which outlives this one."""

import os
import signal
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any


def side_by_side(
    work: Callable[..., Any],
    names: Sequence[str],
    arguments: tuple = (),
    on_report: Callable[..., object] = lambda name, *report: None,
) -> list[Any]:
    """Return what `work(name, *arguments, tell)` returns for each name, in their order.

    As many are at work at a time as there are processors. An interrupt ends all of them, and so
    does the end of this process, however it comes: a report that nobody hears is an error.

    Args:
        work: a function of a module, so that another process can import it. What it gives to
            `tell`, what it returns and what it raises are pickled.
        on_report: called here with a name and what its work told.

    Raises:
        ChildProcessError: a process ended without a result; the system may have run out of memory.
        Exception: whatever one of them raised.
    """
    context, waiting, running, results = get_context("spawn"), list(names), {}, {}
    try:
        while waiting or running:
            while waiting and len(running) < (os.cpu_count() or 1):
                name = waiting.pop(0)
                here, there = context.Pipe(duplex=False)
                process = context.Process(target=_run, args=(there, work, name, arguments))
                running[here] = name, process
                process.start()
                there.close()  # or the end of that process would not be seen at this one
            for here in wait(list(running)):
                name, process = running[here]
                kind, what = _received(here, name)
                if kind == "raised":
                    raise what
                if kind == "told":
                    on_report(name, *what)
                else:
                    results[name] = what
                    process.join()
                    del running[here]
    finally:
        started = [process for _, process in running.values() if process.pid is not None]
        for process in started:
            process.terminate()
        for process in started:
            process.join()
    return [results[name] for name in names]


def _received(here: Connection, name: str) -> tuple[str, Any]:
    try:
        return here.recv()
    except EOFError:
        raise ChildProcessError(f"the training {name} ended without a result") from None


def _run(there: Connection, work: Callable[..., Any], name: str, arguments: tuple) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    try:
        there.send(("returned", work(name, *arguments, lambda *what: there.send(("told", what)))))
    except BrokenPipeError:  # nobody hears it any more
        return
    except Exception as error:
        there.send(("raised", error))
