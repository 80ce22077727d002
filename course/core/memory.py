"""The messages of an out-of-memory error, and how much memory there is."""

from contextlib import suppress
from pathlib import Path

_OF_CONTAINER = (  # limit and use of the memory of a container: cgroups of version 2, and of 1
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)


def ran_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception is an out-of-memory error of Python or PyTorch."""
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    try:
        message = str(error)
    except Exception:  # of a student's class
        return False
    return "can't allocate memory" in message or "std::bad_alloc" in message


def available_memory(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes of memory that are free, here and in the container around it, on Linux.

    Raises:
        OSError: the system has no such numbers.
    """
    lines = (proc / "meminfo").read_text(encoding="ascii").splitlines()
    free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    for limit, use in _OF_CONTAINER:
        with suppress(OSError, ValueError):  # there is none, or its limit is "max"
            free.append(int((cgroup / limit).read_bytes()) - int((cgroup / use).read_bytes()))
    if not free:
        raise OSError("/proc/meminfo does not tell how much memory is available")
    return max(0, min(free))
