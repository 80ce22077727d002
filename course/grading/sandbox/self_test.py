"""The self-test: tries all escapes from the sandbox, on the machine that will grade."""

from dataclasses import dataclass
from pathlib import Path

from course import root
from course.grading.sandbox import escapes
from course.grading.sandbox.fork_server import ForkServer
from course.grading.sandbox.remote import RemoteExecutor, RemoteModule
from course.testing.clock import TimeIsUp
from course.testing.outcomes import StudentError, Wrong

SECONDS_PER_ATTEMPT = 5
REFUSALS = {"OSError", "RuntimeError", "ValueError"}
"""What is raised where something is refused; what is not refused succeeds, or ends the worker."""


@dataclass(frozen=True)
class SelfTest:
    """An end of an attempt.

    Attributes:
        sentence: what was attempted.
        closed: whether the sandbox held.
        detail: what refused the attempt, or what it got hold of.
    """

    sentence: str
    closed: bool
    detail: str


def self_test() -> list[SelfTest]:
    """Make all attempts in a worker, as a student's module would.

    Where there are no namespaces, the attempt that they alone refuse is left out.

    Raises:
        SandboxError: there is no sandbox to test; why, in sentences.
    """
    source = Path(escapes.__file__).read_bytes()
    with ForkServer() as fork_server:
        module = RemoteModule(fork_server, source, "exercises/escapes.py")
        try:
            outcomes = [try_inside(module, sentence) for sentence in escapes.ATTEMPTS]
        finally:
            module.end()
    return [one for one in outcomes if one.closed or one.sentence != escapes.SEE_A_NAME]


def try_inside(module: RemoteModule, sentence: str) -> SelfTest:
    """Make an attempt in a worker."""
    executor = RemoteExecutor(module)
    try:
        with executor.limited(SECONDS_PER_ATTEMPT):
            said, _ = executor.call("attempt", (sentence, str(root())), {})
        return SelfTest(sentence, False, str(said))
    except StudentError as error:
        return SelfTest(sentence, not REFUSALS.isdisjoint(error.kinds), str(error))
    except (TimeIsUp, Wrong) as error:
        return SelfTest(sentence, False, f"its worker did not survive that: {error}")
