"""The end of a test run: what is wrong, in full but without repetition, and a short board."""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

from course.mistakes.diagnosis import Diagnosis, diagnose, suspects
from course.student import progress
from course.student.board import course_board, lesson_board, next_steps
from course.syllabus import lessons
from course.testing.case import Case
from course.testing.examine import Finding, lines_of_definitions, lines_to_do_once_begun
from course.testing.opened import Opened


def facts_of(case: Case, opened: Opened, found: Finding | None, printed: str, of: int) -> dict:
    """What a report says about a graded test, in plain values.

    Args:
        found: how it ended; None if the module could not be loaded.
        printed: what the student's code printed meanwhile.
        of: how many tests the exercise has.
    """
    path = opened.path
    return {
        "lesson": path.stem,
        "exercise": case.exercise,
        "test": case.name,
        "why": case.why,
        "where": f"{path.parent.name}/{path.name}{_line_of(path, case.exercise)}",
        "outcome": found.outcome if found else "wrong",
        "text": found.text if found else opened.refusal,
        "not_loaded": found is None,
        "printed": printed,
        "printed_at_import": opened.printed,
        "remark": _remark(path, case, found.outcome) if found else "",
        "of": of,
    }


def _remark(path: Path, case: Case, outcome: str) -> str:
    """What the text of an exercise that did not pass has, and its tests do not tell; or nothing."""
    if outcome == "passed" or not path.exists():
        return ""
    source, file = path.read_bytes(), f"{path.parent.name}/{path.name}"
    defined = lines_of_definitions(source, case.exercise)
    if len(defined) > 1:
        lines = " and ".join(map(str, defined))
        return f"{file} defines {case.exercise} on lines {lines}: Python uses only the last one"
    begun = lines_to_do_once_begun(source, case.lesson, case.exercise) if outcome == "to do" else []
    if begun:
        raises = "raise" if len(begun) > 1 else "raises"
        where = f"{file}:{' and '.join(map(str, begun))}"
        return f"{case.exercise} is still to do: {where} {raises} NotImplementedError"
    return ""


def _line_of(path: Path, exercise: str) -> str:
    """ ":31" for a definition on line 31 of a file, the last if it has several; else nothing."""
    lines = lines_of_definitions(path.read_bytes(), exercise) if path.exists() else []
    return f":{lines[-1]}" if lines else ""


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
            self.note(facts)

    def note(self, facts: dict) -> None:
        """Note a graded test; the facts are those of `facts_of`."""
        self.tests.setdefault((facts["lesson"], facts["exercise"]), []).append(facts)

    def wrong(self) -> list[tuple[str, str]]:
        """The exercises, each with its lesson, of which a test found something wrong."""
        return [key for key, tests in self.tests.items() if _status(tests) == progress.WRONG]

    def name_the_mistake(
        self, stem: str, exercise: str, seen: Sequence[Finding], seed: int
    ) -> None:
        """Find the known mistake that explains what these tests found wrong with an exercise."""
        findings = [one for one in seen if (one.case.lesson, one.case.exercise) == (stem, exercise)]
        if findings:  # none if the module could not be loaded
            known = suspects([one.case for one in findings], seed)
            self.diagnoses[stem, exercise] = diagnose(findings, known)

    def status(self) -> dict[str, str]:
        """The status of every exercise of which a test ran."""
        return {exercise: _status(tests) for (_, exercise), tests in self.tests.items()}

    def found(self) -> dict[str, dict[str, str]]:
        """What is to be remembered: by lesson, the status of the exercises that ran as a whole."""
        found: dict[str, dict[str, str]] = {}
        for (lesson, exercise), tests in self.tests.items():
            status = _status(tests)
            if status != progress.UNCHECKED:
                found.setdefault(lesson, {})[exercise] = status
        return found

    def remember(self) -> None:
        """Keep the status of the exercises for the next board."""
        if found := self.found():
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
    print_wrong(terminal, tally)
    print_remarks(terminal, tally)
    print_printed(terminal, tally)
    if tally.tests:
        ran = tally.status()
        known = progress.status_of_all() | ran if own else ran
        _write(terminal, f"\n{board_of(ran, known)}\n")
        if own:
            _write(terminal, f"{next_steps(known, prefer=tuple(ran))}\n")


def print_wrong(terminal, tally: Tally, only: tuple[str, str] | None = None) -> None:
    """For each exercise, or for only one, one wrong test in full and the names of the others."""
    shown: set[str] = set()
    for key, tests in tally.tests.items():
        wrong = [test for test in tests if test["outcome"] == "wrong"]
        diagnosis = tally.diagnoses.get(key)
        if diagnosis:
            wrong.sort(key=lambda test: test["test"] not in diagnosis.explains)
        if wrong and wrong[0]["text"] not in shown and only in (None, key):
            shown.add(wrong[0]["text"])
            not_run = sum(test["outcome"] == "not run" for test in tests)
            _print_exercise(terminal, wrong, diagnosis, not_run)


def print_remarks(terminal, tally: Tally) -> None:
    """A sentence for each exercise that is begun and still to do, or defined more than once."""
    remarks = {test.get("remark", "") for tests in tally.tests.values() for test in tests}
    for sentence in sorted(remarks - {""}):
        terminal.write_line("")
        terminal.write_line(_wrapped(sentence))


def print_printed(terminal, tally: Tally) -> None:
    """Write a sentence for each file that prints when it is loaded, and each right exercise."""
    for (who, when), text in _printed(tally).items():
        if lines := text.strip().splitlines():
            sentence = (
                f'{who} prints "{lines[0][:60]}"{when}; that costs no points, but take it out '
            )
            terminal.write_line("")
            terminal.write_line(_wrapped(f"{sentence}when you are done"))


def _printed(tally: Tally) -> dict[tuple[str, str], str]:
    """Return what each file printed, and when; a wrong exercise shows that with its test."""
    printed: dict[tuple[str, str], str] = {}
    for tests in tally.tests.values():
        for test in tests:
            file = test["where"].partition(":")[0]
            printed[file, " when it is loaded"] = test.get("printed_at_import", "")
            if _status(tests) == progress.PASSED and test["printed"]:
                printed.setdefault((file, " while it is tested"), test["printed"])
    return printed


def _print_exercise(terminal, wrong: list[dict], diagnosis: Diagnosis | None, not_run: int) -> None:
    first, others = wrong[0], wrong[1:]
    terminal.write_line("")
    if first["not_loaded"]:  # it is about the whole file: no single test can add to it
        sentence, _, details = first["text"].partition("\n")
        terminal.write_line(_wrapped(sentence), red=True, bold=True)
        for line in details.splitlines():
            terminal.write_line(textwrap.fill(line, 80, subsequent_indent="    "))
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
    terminal.write_line(f"  hint    course hint {first['exercise']}")
    if not_run:
        tests = "1 other test" if not_run == 1 else f"{not_run} other tests"
        terminal.write_line(f"  not run: {tests} of {first['exercise']}, to save time")
    names = dict.fromkeys(_words(test["test"].partition("[")[0]) for test in others)
    names.pop(_words(first["test"].partition("[")[0]), None)
    if names:
        terminal.write_line(_wrapped(f"other tests that fail: {', '.join(names)}", indent="  "))


def board_of(ran: dict[str, str], known: dict[str, str]) -> str:
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
