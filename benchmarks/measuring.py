"""What the benchmarks share: the machine in a line, and how time and memory are measured."""

import argparse
import ctypes
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn, TypeVar

CANNOT_RUN = 3
"""The exit status of a benchmark that lacks something here: nothing is wrong with it."""

T = TypeVar("T")


def cannot_run(sentence: str) -> NoReturn:
    """End the program and say what it lacks."""
    print(sentence, file=sys.stderr)
    raise SystemExit(CANNOT_RUN)


def positive(text: str) -> int:
    """A whole number from 1 on, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


# --- the machine ----------------------------------------------------------------------------


def machine() -> str:
    """Where this runs, and how busy it is, in a line."""
    cpu = _field(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine()
    parts = [f"{cpu}, {os.cpu_count()} processors"]
    if kibibytes := _field(Path("/proc/meminfo"), "MemTotal"):
        parts[0] += f", {int(kibibytes.split()[0]) / 2**20:.0f} GiB"
    parts.append(f"{platform.system()} {platform.release()}")
    parts.append(
        f"Python {platform.python_version()}, PyTorch {importlib.metadata.version('torch')}"
    )
    if hasattr(os, "getloadavg"):  # not on Windows
        parts.append(f"load at the start {os.getloadavg()[0]:.1f}")
    return "; ".join(parts)


def _field(file: Path, name: str) -> str:
    """What follows a name in a file of Linux's /proc, or nothing."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


# --- time -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock, and of the processors."""

    wall: float
    cpu: float


def median(times: list[Spent]) -> Spent:
    wall = statistics.median(spent.wall for spent in times)
    return Spent(wall, statistics.median(spent.cpu for spent in times))


def in_turns(
    works: dict[str, Callable[[], object]], rounds: int, at_least: float = 0.0
) -> dict[str, Spent]:
    """The median of what one call of each work spends in this process.

    The works take turns, so that a busy moment of the machine hits all alike. One turn repeats a
    short work until some `at_least` seconds have passed; the first turn of each does not count.
    """
    calls = dict.fromkeys(works, 1)
    for name, work in works.items():
        work()
        if at_least:
            calls[name] = max(1, round(at_least / max(_spent_in(work, 1).wall, 1e-9)))
    spent = defaultdict(list)
    for _ in range(rounds):
        for name, work in works.items():
            spent[name].append(_spent_in(work, calls[name]))
    return {name: median(times) for name, times in spent.items()}


def _spent_in(work: Callable[[], object], calls: int) -> Spent:
    cpu, start = time.process_time(), time.perf_counter()
    for _ in range(calls):
        work()
    wall = time.perf_counter() - start
    return Spent(wall / calls, (time.process_time() - cpu) / calls)


def spent_in_children(
    work: Callable[[], T], settle: Callable[[], object] = lambda: None
) -> tuple[T, Spent]:
    """What a work returns, and what it spent in processes that it started (not on Windows).

    The processor seconds of a process are known once it has ended: `settle` waits for those that
    outlive the work, after the clock has been read.
    """
    import resource

    def of_processors() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    cpu, start = of_processors(), time.perf_counter()
    result = work()
    wall = time.perf_counter() - start
    settle()
    return result, Spent(wall, of_processors() - cpu)


# --- memory ---------------------------------------------------------------------------------


def keep_freed_memory() -> None:
    """Have the process keep what it frees, where the C library is glibc.

    By default glibc hands a large freed block back to the system or keeps it, depending on what
    lies beside it, and getting it back page by page doubles the time of a call: by chance.
    """
    if platform.libc_ver()[0] == "glibc":
        trim_threshold, mmap_max = -1, -4  # M_TRIM_THRESHOLD and M_MMAP_MAX of mallopt(3)
        ctypes.CDLL(None).mallopt(trim_threshold, 2**30)
        ctypes.CDLL(None).mallopt(mmap_max, 0)


def allocated_peak(work: Callable[[], object]) -> int:
    """The most bytes that PyTorch held at once for a call, beyond those it held before.

    Exact, by PyTorch's own profiler: temporary tensors and the result, not what numpy allocates.
    """
    from torch.profiler import ProfilerActivity, profile

    with _silent(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        work()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    changes = [event for event in events if event["name"] == "[memory]"]
    held = peak = 0
    for change in sorted(changes, key=lambda event: event["ts"]):
        held += change["args"]["Bytes"]
        peak = max(peak, held)
    return peak


@contextmanager
def _silent() -> Iterator[None]:
    """Drop what is written to the error output: some builds of the profiler tell of each start."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def resident_growth(work: Callable[[T], object], warm_up: T, argument: T) -> int:
    """The most bytes that a call had resident in a fresh process, beyond those before it.

    The process calls work(warm_up) first, to load what it imports. Linux only; 0 elsewhere. What is
    mapped from a file counts as far as it was touched.
    """
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_growth, (work, warm_up, argument))


def _growth(work: Callable[[T], object], warm_up: T, argument: T) -> int:
    work(warm_up)
    before = process_bytes("VmRSS")
    work(argument)
    return max(0, process_bytes("VmHWM") - before)


def process_bytes(field: str, file: str = "status", process: int | str = "self") -> int:
    """A field of a Linux process's `/proc` files, such as VmHWM, the most that was resident.

    0 where it cannot be read: the process has ended, is somebody else's, or this is not Linux.
    """
    kibibytes = _field(Path(f"/proc/{process}/{file}"), f"{field}:")
    return int(kibibytes.split()[0]) * 1024 if kibibytes else 0
