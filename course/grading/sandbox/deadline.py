"""A clock for deadlines that stops while the machine is busy with others, or suspended.

Where more processes want to run than there are processors, each waits its turn. Linux counts how
long; see `schedstat` in https://docs.kernel.org/scheduler/sched-stats.html. It does not count how
long a process was stopped: by Ctrl+Z, by a batch system, with its container or its machine.
"""

import time
from pathlib import Path


class Clock:
    """Seconds, less those that the process in question and this one waited for a processor.

    What is waited is looked up only when a deadline seems to be reached: it takes 20 microseconds.
    Seconds while this process was stopped do not count either, if it is asked before each wait.
    """

    def __init__(self) -> None:
        self._excused = 0.0
        self._asked = time.monotonic(), time.thread_time()
        self._waited = {_SELF: _seconds_waited(_SELF)}

    def watch(self, pid: int) -> None:
        """Leave out, from now on, what this process waits, a new one."""
        self._waited = {_SELF: self._waited[_SELF], str(pid): 0.0}

    def now(self) -> float:
        """Return the time, to set a deadline by."""
        (before, busy_before), self._asked = self._asked, (time.monotonic(), time.thread_time())
        now, busy = self._asked
        idle = (now - before) - (busy - busy_before)
        if idle > 2 * SECONDS_AT_A_TIME:  # nobody waited so long
            self._excused += idle - SECONDS_AT_A_TIME
        return now - self._excused

    def seconds_until(self, deadline: float) -> float:
        """Return the seconds that may be waited before it is asked again; none if it is over."""
        left = deadline - self.now()
        if left <= 0:
            self._look()
            left = deadline - self.now()
        return min(left, SECONDS_AT_A_TIME)

    def _look(self) -> None:
        for process, before in self._waited.items():
            self._waited[process] = max(before, _seconds_waited(process))
            self._excused += self._waited[process] - before


SECONDS_AT_A_TIME = 2.0
"""So long a wait may be; the time of one that took twice as long was not the student's."""

_SELF = "thread-self"


def _seconds_waited(process: str) -> float:
    """Return how long a process was ready to run and did not; 0 where nobody counts it."""
    try:
        fields = Path("/proc", process, "schedstat").read_bytes().split()
        return int(fields[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
