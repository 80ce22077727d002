"""A run of the grader: from the submissions of a class to its grades, reports and export."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from course.core.files import private_files, write_atomically, write_bytes_atomically
from course.core.syllabus import Lesson, counted_lessons, lessons
from course.grading.grades import Grades, grades_of
from course.grading.judge.grade import RESULTS, SEED, Store, grade_all, refuse_to_run_in
from course.grading.judge.local import local_judges
from course.grading.judge.schedule import judge_units
from course.grading.judge.unit import GradedResult, GradingError, Unit
from course.grading.lms.canvas import canvas_numbers, read_canvas
from course.grading.lms.export import columns_named, filled_in, find_people
from course.grading.lms.moodle import moodle_numbers, read_moodle
from course.grading.lms.table import ExportError, Table
from course.grading.reports import write_questions, write_reports
from course.grading.reports.changes import Change, changes, changes_csv
from course.grading.sandbox.sandbox import require_sandbox
from course.grading.submissions import Submission
from course.grading.submissions.process import read_class
from course.publishing.showing import answers


@dataclass(frozen=True)
class Request:
    """What to grade, and how.

    Attributes:
        named: the lessons to grade; empty if those that anybody handed in.
        lms, export: whose export to fill in, "canvas" or "moodle", and its file.
        columns: `LESSON=TITLE` for each column of the export.
        compare: the folder of an earlier run, to compare results with.
        questions: whether to write pages with questions about each hand-in.
    """

    submissions: Path
    out: Path
    named: Sequence[Lesson] = ()
    jobs: int = 1
    scheduler: str | None = None
    seed: int | None = None
    fresh: bool = False
    compare: Path | None = None
    lms: str = ""
    export: Path | None = None
    columns: Sequence[str] = ()
    questions: bool = False

    @property
    def filled_in(self) -> Path:
        """Return the file that the filled-in export becomes."""
        return self.out / f"{self.lms}.csv"


@dataclass(frozen=True)
class GradingOutcome:
    """What a run found and wrote.

    Attributes:
        notes: sentences about the class as a whole.
        changes: against the earlier run; None if none was compared.
        is_comparable: whether the earlier run has results that this version can read.
    """

    grades: Grades
    notes: Sequence[str]
    written: Sequence[Path]
    changes: Sequence[Change] | None
    is_comparable: bool

    @property
    def is_whole(self) -> bool:
        """Return whether everything could be graded."""
        return all(one.counts for student in self.grades.students for one in student.lessons)


def grade_class(
    request: Request, progress: Callable[[str, int, int], None] = lambda what, done, total: None
) -> GradingOutcome:
    """Grade a class, and write results, reports and the filled-in export.

    Args:
        progress: called with "Reading" or "Grading", how many are done, and of how many.

    Raises:
        GradingError, SubmissionsError: nothing can be graded.
        ExportError: the export cannot be filled in; nothing was graded or written.
        SandboxError: there is no sandbox here.
        OSError: a file cannot be read or written.
    """
    if not request.scheduler:
        require_sandbox()
    _check_folders(request)
    titles = columns_named(request.columns)
    named = [lesson.stem for lesson in request.named]
    if named and (others := [stem for stem in titles if stem not in named]):
        raise ExportError(
            f"--column names {others[0]}, but you are grading only {', '.join(named)}: name it "
            "with --lesson, too, or leave out its column"
        )
    table = Table(request.export.name, request.export.read_bytes()) if request.export else None
    is_canvas = request.lms == "canvas"
    find_numbers = canvas_numbers if is_canvas else moodle_numbers
    numbers = find_numbers(table).values() if table else ()
    submissions = read_class(request.submissions, partial(progress, "Reading"), numbers=numbers)
    wanted = list(request.named) or _lessons_in(submissions)
    export, rows, notes = None, {}, []
    if table:
        export = read_canvas(table, titles) if is_canvas else read_moodle(table, titles, wanted)
        rows, strangers, unclear = find_people(export, submissions)
        if strangers:
            notes.append(f"Students who are not in {export.table.name}: {'; '.join(strangers)}.")
        if unclear:
            notes.append(
                f"Students who fit more than one row of {export.table.name}, or the same row as "
                f"another student: {'; '.join(unclear)}. Fill in their points by hand."
            )
    store = Store(request.out)
    with private_files(), store.locked():
        seed = request.seed
        if request.compare and seed is None:
            seed = Store(request.compare).kept_seed()  # other inputs would be a difference, too
        seed = store.seed(seed)
        units = _units(submissions, wanted)
        jobs = max(1, min(request.jobs, len(units)))
        graded = grade_all(units, seed, jobs, request.fresh, request.scheduler)
        order = {lesson.stem: lesson.number for lesson in lessons()}
        results = []
        for result in graded:
            results.append(result)
            progress("Grading", len(results), len(units))
        results.sort(key=lambda result: (result.student, order[result.lesson]))
        before = Store(request.compare).results() if request.compare else []
        compared = {one.stem for one in request.named or counted_lessons()}
        found = changes(before, results, compared) if request.compare else None
        grades = grades_of(results, submissions, now=datetime.now(UTC))
        published = [found for one in wanted for found in _published(submissions, one)]
        store.write_results(results)
        written = write_reports(grades, request.out, published, notes)
        if request.questions:
            asked = _questions(units, results, seed, jobs)
            written.append(write_questions(asked, request.out))
        if found is not None:
            write_atomically(request.out / "changes.csv", changes_csv(found))
            written.append(request.out / "changes.csv")
        if export:
            data, about_export = filled_in(export, rows, grades)
            write_bytes_atomically(request.filled_in, data)
            written.append(request.filled_in)
            notes += about_export
    return GradingOutcome(grades, notes, written, found, bool(before))


def _check_folders(request: Request) -> None:
    """Make sure that a run overwrites nothing that it reads.

    Raises:
        GradingError: it would, or runs among them, or there is nothing to grade or to compare with.
    """
    out, compare, submissions = request.out, request.compare, request.submissions
    if all((submissions / name).is_file() for name in (SEED, RESULTS)):
        raise GradingError(
            f"{submissions} contains the results of an earlier run, not submissions: name the "
            "folder that you graded"
        )
    # where they lead; also one that leads to itself, where `resolve` fails
    real_out, real_submissions = (Path(os.path.realpath(one)) for one in (out, submissions))
    if real_out == real_submissions:
        raise GradingError(f"--out is the folder of submissions, {out}: choose another one")
    if real_out.is_relative_to(real_submissions):
        raise GradingError(
            f"--out {out} is inside {submissions}, so it would look like a student's "
            "folder; choose one outside"
        )
    if compare and os.path.realpath(compare) == str(real_out):
        raise GradingError(
            f"--compare and --out are both {compare}: choose another folder for --out"
        )
    if compare and Store(compare).kept_seed() is None:
        raise GradingError(f"--compare {compare}: this folder has no results of an earlier run")
    if request.export and os.path.realpath(request.export) == os.path.realpath(request.filled_in):
        raise GradingError(
            f"the filled-in export would replace {request.export}: choose another --out"
        )
    refuse_to_run_in(submissions)


def _lessons_in(submissions: Sequence[Submission]) -> list[Lesson]:
    """Return the lessons of which anybody handed something in; all of them if nobody did.

    Lessons beyond the course's total are graded only where they are named.
    """
    found = {stem for one in submissions for stem in one.named}
    counted = counted_lessons()
    return [lesson for lesson in counted if lesson.stem in found] or list(counted)


def _questions(
    units: Sequence[Unit], results: Iterable[GradedResult], seed: int, jobs: int
) -> list[GradedResult]:
    """Return for each module questions about what passes in it, in the order of the results."""
    passed = {
        (one.student, one.lesson): tuple(it.name for it in one.exercises if it.points)
        for one in results
    }
    asking = (replace(one, ask=passed[one.student, one.lesson]) for one in units)
    start = partial(local_judges, seed, jobs)
    asked = [result for _, result in judge_units((one for one in asking if one.ask), start)]
    order = {both: number for number, both in enumerate(passed)}
    return sorted(asked, key=lambda one: order[one.student, one.lesson])


def _units(submissions: Iterable[Submission], wanted: Iterable[Lesson]) -> list[Unit]:
    return [
        Unit(
            student=one.student,
            lesson=lesson.stem,
            source=one.modules.get(lesson.stem),
            unread=one.unread.get(lesson.stem, ""),
        )
        for one in submissions
        for lesson in wanted
    ]


def _published(submissions: Iterable[Submission], lesson: Lesson) -> Iterator[tuple[str, str]]:
    """Yield whose module has every answer of the reference, and a sentence: it proves nothing."""
    parts = [part for exercise in lesson.exercises for part in answers(exercise)]
    for one in submissions:
        text = one.modules.get(lesson.stem, b"").decode("utf-8", "replace").replace("\r\n", "\n")
        if all(part in text for part in parts):
            same = "contains every answer of the reference, word for word"
            yield one.student, f"`{lesson.stem}.py` {same}"
