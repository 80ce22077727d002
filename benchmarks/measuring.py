"""What the benchmarks share: the machine in a line, and how time is measured."""

import argparse
import ctypes
import importlib.metadata
import os
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def arguments_of(description: str, **numbers: int) -> argparse.Namespace:
    """What the command line says: `--quick`, and numbers by name, each with its default."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=_positive, default=default, help=f"({default})")
    parser.add_argument("--quick", action="store_true", help="only see whether all of it works")
    return parser.parse_args()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def machine() -> str:
    """Where this runs, and how busy it is, in a line."""
    cpu = platform.processor() or platform.machine()
    if (info := Path("/proc/cpuinfo")).exists():
        names = [line for line in info.read_text("utf-8").splitlines() if "model name" in line]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    busy = f"; load at the start {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{cpu}, {os.cpu_count()} processors; {platform.system()} {platform.release()}; Python "
        f"{platform.python_version()}, PyTorch {importlib.metadata.version('torch')}{busy}"
    )


def keep_freed_memory() -> None:
    """Have the process keep what it frees, where the C library is glibc.

    By default glibc hands a large freed block back to the system or keeps it, depending on what
    is next to it, and getting it back page by page doubles the time of a call, by chance.
    """
    if platform.libc_ver()[0] == "glibc":
        trim_threshold, mmap_max = -1, -4  # M_TRIM_THRESHOLD and M_MMAP_MAX of mallopt(3)
        ctypes.CDLL(None).mallopt(trim_threshold, 2**30)
        ctypes.CDLL(None).mallopt(mmap_max, 0)


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock, and of the processors."""

    wall: float
    cpu: float


def in_turns(
    works: dict[str, Callable[[], object]], rounds: int, at_least: float = 0.0
) -> dict[str, Spent]:
    """The median of what one call of each work spends in this process.

    The works take turns, so that a busy moment of the machine hits all alike. One turn repeats a
    short work until some `at_least` seconds have passed; the first turn of each does not count.
    """
    calls = {}
    for name, work in works.items():
        work()
        calls[name] = max(1, round(at_least / max(_spent_in(work, 1).wall, 1e-9)))
    spent = defaultdict(list)
    for _ in range(rounds):
        for name, work in works.items():
            spent[name].append(_spent_in(work, calls[name]))
    return {
        name: Spent(
            statistics.median(one.wall for one in times),
            statistics.median(one.cpu for one in times),
        )
        for name, times in spent.items()
    }


def _spent_in(work: Callable[[], object], calls: int) -> Spent:
    cpu, start = time.process_time(), time.perf_counter()
    for _ in range(calls):
        work()
    wall = time.perf_counter() - start
    return Spent(wall / calls, (time.process_time() - cpu) / calls)


def spent_on_machine(work: Callable[[], T]) -> tuple[T, Spent]:
    """What a work returns, and what the whole machine spent meanwhile (Linux only).

    A process that nobody waits for, as a sandboxed worker's, is in no other count. So nothing else
    should run at the same time.
    """
    cpu, start = _busy_seconds(), time.perf_counter()
    result = work()
    return result, Spent(time.perf_counter() - start, _busy_seconds() - cpu)


def _busy_seconds() -> float:
    """How long all processors together were busy since the machine started."""
    line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    user, nice, system, _idle, _iowait, irq, softirq, *_ = map(int, line.split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
