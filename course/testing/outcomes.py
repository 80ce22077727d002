"""The outcomes of a graded test besides "passed": something wrong, still to do, or not run."""


class Wrong(AssertionError):
    """A failure of the student's code to meet its contract; the message says how it shows."""


class Stopped(Wrong):
    """A failure that ends the exercise: the student's code was stopped, or ended its process."""


class TimedOut(Stopped):
    """A failure of the student's code to come to an end.

    Attributes:
        where: the line of the student's file that was running, as "file:line: text", if known.
    """

    def __init__(self, text: str, where: str = "") -> None:
        super().__init__(text)
        self.where = where


class NotRun(Exception):
    """A test that was left out, because the others of its exercise took too long already."""

    def __init__(self, exercise: str) -> None:
        super().__init__(f"{exercise} took too long in other tests, so this one was not run")


class ToDo(Exception):
    """A stub that the student's code reached, `NotImplementedError("TODO lesson.exercise")`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is still to do")
        self.name = name


class StudentError(Exception):
    """An exception that the student's code raised, described in plain values.

    Attributes:
        kinds: the names of its class and of the classes that one derives from.
        message: what it says.
        where: the line of the student's file that began it, then the deepest if that is another
            one, as "file:line: text".
        is_by_hand: whether a `raise` outside of libraries raised it, if that was in this process.
    """

    def __init__(
        self, kinds: tuple[str, ...], message: str, where: str, is_by_hand: bool = False
    ) -> None:
        super().__init__(f"{kinds[0]}: {message}" if message else kinds[0])
        self.kinds = kinds
        self.message = message
        self.where = where
        self.is_by_hand = is_by_hand
