"""The end of a test run: what is wrong, named where it is a known mistake, and the board.

A pytest plugin beside `course.testing.plugin`, which runs the tests.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import click
import pytest

from course.core.syllabus import Status, find_lesson
from course.core.terminal import fitting
from course.mistakes.diagnosis import diagnoser
from course.student import progress
from course.student.board import course_board, lesson_board, next_steps
from course.student.report import report
from course.testing.plugin import FINDING, result_in, tests_own_exercises
from course.testing.result import LessonResult, merge_results
from course.testing.run import with_diagnosis


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Summary())


class Results:
    """A plugin that collects results from reports, which may come from other processes."""

    def __init__(self) -> None:
        self._parts: list[LessonResult] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a graded test."""
        if part := result_in(report):
            self._parts.append(part)

    def results(self) -> list[LessonResult]:
        """Return what was found so far, lesson by lesson."""
        return merge_results(self._parts)


class Summary(Results):
    """The results of a run, explained where a known mistake does that."""

    def __init__(self) -> None:
        super().__init__()
        self.explained: list[LessonResult] = []

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Name the mistakes behind what is wrong (under xdist no process has all the tests)."""
        self.explained = self.results()
        if session.config.option.usepdb or exitstatus == pytest.ExitCode.INTERRUPTED:
            return  # somebody who debugs or stops wants no further runs
        seen = defaultdict(list)
        for item in session.items:
            if finding := item.stash.get(FINDING, None):
                seen[finding.case.lesson, finding.case.exercise].append(finding)
        diagnose = diagnoser(session.config.option.seed)
        for place, result in enumerate(self.explained):
            exercises = []
            for one in result.exercises:
                own = seen[result.lesson, one.name]
                named = own and one.first_wrong
                exercises.append(with_diagnosis(one, diagnose(own)) if named else one)
            self.explained[place] = replace(result, exercises=tuple(exercises))

    def pytest_terminal_summary(self, terminalreporter, config: pytest.Config) -> None:
        """Show what was found, and what to do next."""
        if not self.explained:
            return
        ran = [name for result in self.explained for name in result.statuses]
        own, before = tests_own_exercises(config), dict.fromkeys(ran, Status.UNCHECKED)
        if own:
            progress.remember(self.explained)
            before = progress.status_of_all()
        known = before | progress.found_in(self.explained)
        parts = [report(self.explained), board_of(self.explained, known)]
        if own:
            parts.append(next_steps(known, prefer=tuple(ran)))
        text = "\n\n".join(filter(None, parts))
        shown = fitting(text if terminalreporter.hasmarkup else click.unstyle(text))
        terminalreporter.write_line(f"\n{shown}\n")


def board_of(results: Sequence[LessonResult], known: dict[str, Status]) -> str:
    """Return the board of one lesson in full, or of all of them in a line each."""
    if len(results) != 1:
        return course_board(known)
    lesson = find_lesson(results[0].lesson)
    return lesson_board(lesson, known, shown=results[0].statuses)
