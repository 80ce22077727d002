"""The end of a test run: what is wrong, in full but without repetition, and a short board."""

import textwrap

import click

from course import progress
from course.board import course_board, lesson_board, next_steps
from course.syllabus import lessons
from course.testing.diagnosis import Diagnosis


class Tally:
    """The graded tests of a run, by exercise (a pytest plugin, so that reports reach it)."""

    def __init__(self) -> None:
        self.tests: dict[tuple[str, str], list[dict]] = {}
        self.diagnoses: dict[tuple[str, str], Diagnosis | None] = {}
        """The mistakes that explain what is wrong, where one does."""

    def pytest_runtest_logreport(self, report) -> None:
        """Note one graded test: its lesson, exercise, outcome, message, ..."""
        facts = getattr(report, "course", None)
        if facts:
            self.tests.setdefault((facts["lesson"], facts["exercise"]), []).append(facts)

    def wrong(self) -> list[tuple[str, str]]:
        """The exercises, each with its lesson, of which a test found something wrong."""
        return [key for key, tests in self.tests.items() if _status(tests) == progress.WRONG]

    def status(self) -> dict[str, str]:
        """The status of every exercise of which a test ran."""
        return {exercise: _status(tests) for (_, exercise), tests in self.tests.items()}

    def remember(self) -> None:
        """Keep the status of the exercises for the next board."""
        found: dict[str, dict[str, str]] = {}
        for (lesson, exercise), tests in self.tests.items():
            status = _status(tests)
            if status != progress.UNCHECKED:
                found.setdefault(lesson, {})[exercise] = status
        if found:
            progress.remember(found)


def _status(tests: list[dict]) -> str:
    """Passed only if every test of the exercise ran and passed."""
    outcomes = [test["outcome"] for test in tests]
    if "wrong" in outcomes:
        return progress.WRONG
    if "to do" in outcomes:
        return progress.TO_DO
    return progress.PASSED if len(outcomes) == tests[0]["of"] else progress.UNCHECKED


def print_summary(terminal, tally: Tally, own: bool) -> None:
    """For each exercise one wrong test in full, the names of the others; then the board.

    Args:
        own: whether the student's own exercises ran; then the board says what comes next.
    """
    shown: set[str] = set()
    for key, tests in tally.tests.items():
        wrong = [test for test in tests if test["outcome"] == "wrong"]
        diagnosis = tally.diagnoses.get(key)
        wrong.sort(key=lambda test: test["only_prints"])  # a forgotten print matters least
        if diagnosis:
            wrong.sort(key=lambda test: test["test"] not in diagnosis.explains)
        if wrong and wrong[0]["text"] not in shown:
            shown.add(wrong[0]["text"])
            _print_wrong(terminal, wrong, diagnosis)
    if tally.tests:
        ran = tally.status()
        known = progress.status_of_all() | ran if own else ran
        _write(terminal, f"\n{_board(ran, known)}\n")
        if own:
            _write(terminal, next_steps(known, prefer=tuple(ran)))


def _print_wrong(terminal, wrong: list[dict], diagnosis: Diagnosis | None) -> None:
    first, others = wrong[0], wrong[1:]
    terminal.write_line("")
    if first["not_loaded"]:  # it is about the whole file: no single test can add to it
        terminal.write_line(_wrapped(first["text"].partition("\n")[0]), red=True, bold=True)
        terminal.write_line(first["text"].partition("\n")[2])
        return
    terminal.write_sep("-", f"{first['exercise']}: {_words(first['test'])}", red=True)
    sentence, _, details = first["text"].partition("\n")
    if diagnosis:
        terminal.write_line(_wrapped(diagnosis.mistake.says), red=True, bold=True)
        terminal.write_line(_wrapped(diagnosis.mistake.look))
        terminal.write_line("")
        terminal.write_line(_wrapped(sentence, indent="  "))
    else:
        terminal.write_line(_wrapped(sentence), red=True, bold=True)
    if details:
        terminal.write_line(details)
    if first["why"]:
        terminal.write_line("")
        terminal.write_line(textwrap.indent(textwrap.dedent(first["why"]), "  "))
    if first["printed"]:
        terminal.write_line("\n  your code printed")
        lines = first["printed"].splitlines()
        shown = [*lines[:20], f"... and {len(lines) - 20} more lines"] if len(lines) > 20 else lines
        terminal.write_line(textwrap.indent("\n".join(shown), "    "))
    terminal.write_line("")
    terminal.write_line(f"  look at {first['where']}")
    if first["only_prints"]:
        return
    terminal.write_line(f"  hint    course hint {first['exercise']}")
    names = dict.fromkeys(_words(test["test"].partition("[")[0]) for test in others)
    names.pop(_words(first["test"].partition("[")[0]), None)
    if names:
        terminal.write_line(_wrapped(f"also wrong: {', '.join(names)}", indent="  "))


def _board(ran: dict[str, str], known: dict[str, str]) -> str:
    """One lesson in full, or all of them in a line each."""
    run = [one for one in lessons() if any(e.name in ran for e in one.exercises)]
    return lesson_board(run[0], known, shown=ran) if len(run) == 1 else course_board(known)


def _write(terminal, text: str) -> None:
    terminal.write_line(text if terminal.hasmarkup else click.unstyle(text))


def _words(test: str) -> str:
    """`test_first_half[4]` as words."""
    return test.removeprefix("test_").replace("_", " ")


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 80, initial_indent=indent, subsequent_indent=indent)
