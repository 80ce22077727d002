"""The end of a test run: what is wrong, in full but without repetition, and a short board."""

import re
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
            not_run = sum(test["outcome"] == "not run" for test in tests)
            _print_wrong(terminal, wrong, diagnosis, not_run)
    for sentence in _printed_at_import(tally):
        terminal.write_line("")
        terminal.write_line(_wrapped(sentence))
    if tally.tests:
        ran = tally.status()
        known = progress.status_of_all() | ran if own else ran
        _write(terminal, f"\n{_board(ran, known)}\n")
        if own:
            _write(terminal, f"{next_steps(known, prefer=tuple(ran))}\n")


def _printed_at_import(tally: Tally) -> list[str]:
    """A sentence for each file that prints when it is loaded; that costs nothing."""
    printed = {
        test["where"].partition(":")[0]: test.get("printed_at_import", "").strip()
        for tests in tally.tests.values()
        for test in tests
    }
    return [
        f'{file} prints "{text.splitlines()[0][:60]}" when it is loaded; that costs no points, but '
        "take it out when you are done"
        for file, text in printed.items()
        if text
    ]


def _print_wrong(terminal, wrong: list[dict], diagnosis: Diagnosis | None, not_run: int) -> None:
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
    if not_run:
        tests = "1 other test" if not_run == 1 else f"{not_run} other tests"
        terminal.write_line(f"  not run: {tests} of {first['exercise']}, after this one")
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
    """The name of a test as words; a name has no room for the signs that a number needs.

    >>> _words("test_error_is_below_1e_4[7-3]"), _words("test_std_is_002")
    ('error is below 1e-4 [7-3]', 'std is 0.02')
    """
    name, bracket, parameters = test.removeprefix("test_").partition("[")
    words = re.sub(r"\b0(\d+)\b", r"0.\1", name.replace("_", " "))
    words = re.sub(r"\b1e (\d)", r"1e-\1", words)
    return f"{words} [{parameters}" if bracket else words


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 80, initial_indent=indent, subsequent_indent=indent)
