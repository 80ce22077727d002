"""Several trainings at the same time, a process each, none of which outlives this one."""

import os
import signal
from collections.abc import Callable, Hashable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any


def side_by_side(
    work: Callable[..., Any],
    names: Sequence[Hashable],
    arguments: tuple = (),
    on_report: Callable[..., object] = lambda name, *report: None,
) -> list[Any]:
    """Return what `work(name, *arguments, tell)` returns for each name, in their order.

    Each processor gets a share of them, in a process of its own. An interrupt ends all of these,
    and so does the end of this process, however it comes: a report that nobody hears is an error.

    Args:
        work: a function of a module, so that another process can import it. What it gives to
            `tell`, what it returns and what it raises are pickled.
        on_report: called here with a name and what its work told.

    Raises:
        ChildProcessError: a process ended without a result; the system may have run out of memory.
        Exception: whatever one of them raised.
    """
    n = min(os.cpu_count() or 1, len(names))
    context, running, results = get_context("spawn"), {}, {}
    try:
        for share in (names[i::n] for i in range(n)):
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(there, work, share, arguments))
            process.start()
            running[here] = process, share
            there.close()  # or the end of that process would not be seen at this one
        while len(results) < len(names):
            for here in wait(list(running)):
                process, share = running[here]
                try:
                    kind, name, what = here.recv()
                except EOFError:
                    name = next(one for one in share if one not in results)
                    raise ChildProcessError(f"the training {name} ended without a result") from None
                if kind == "raised":
                    raise what
                if kind == "told":
                    on_report(name, *what)
                else:
                    results[name] = what
                    if name == share[-1]:
                        process.join()
                        del running[here]
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join()
    return [results[name] for name in names]


def _run(
    there: Connection, work: Callable[..., Any], names: Sequence[Hashable], arguments: tuple
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    for name in names:
        try:
            made = work(name, *arguments, lambda *what, name=name: there.send(("told", name, what)))
            there.send(("returned", name, made))
        except BrokenPipeError:  # nobody hears it any more
            return
        except Exception as error:
            there.send(("raised", name, error))
            return
