"""`course grade`: from a folder of submissions to points, messages and an overview."""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from course.syllabus import Lesson, chosen_lessons, counted_lessons, lessons
from course.testing.result import LessonResult

SECONDS_BETWEEN_LINES = 10
"""Of progress, where there is no terminal."""
MAX_CHANGES = 20
"""As many are told on the terminal."""


@click.command(short_help="Grade a class, safe from hostile code.")
@click.argument("submissions", type=click.Path(path_type=Path), required=False)
@click.option(
    "--lesson",
    "chosen",
    multiple=True,
    metavar=f"[{'|'.join(lesson.stem for lesson in lessons())}]",
    help="Grade this lesson only, by name or number; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("graded"),
    show_default=True,
    help="Where results and reports go.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=os.cpu_count() or 1,
    help="Judges side by side.  [default: one per processor]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Let a dask cluster grade, whose scheduler has this address.",
)
@click.option(
    "--seed",
    type=int,
    help="Decides what inputs are drawn.  [default: as the last time in this folder, else secret]",
)
@click.option(
    "--resume/--fresh", default=True, help="Keep results that are up to date, or grade all anew."
)
@click.option(
    "--compare",
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Say who gains or loses points against the results in this folder, an earlier --out.",
)
@click.option(
    "--class",
    "class_path",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The class's own file.  [default: class.toml beside the submissions, if there is one]",
)
@click.option("--self-test", is_flag=True, help="Try to break out of the sandbox, and report.")
@click.option("--unsandboxed", is_flag=True, help="Grade without a sandbox. Only code you trust.")
def grade(submissions: Path | None, self_test: bool, **options: Any) -> None:
    """Grade the SUBMISSIONS of a class: a folder or a zip with a folder, a zip or files each.

    Each module runs in a process of its own that can neither see nor change anything; the tests
    run outside of it. What was graded before and did not change is not graded again.

    \b
    Examples:
      course grade submissions/
      course grade submissions.zip --lesson rope --out rope-graded
      course grade submissions/ --scheduler tcp://192.168.1.10:8786
      course grade submissions/ --out again --compare graded
      course grade rope-submissions/ --lesson rope --class fall/class.toml
      course grade --self-test
    """
    from course.grading.judge.import_path import UnsafePlace, safe_import_path
    from course.grading.sandbox.sandbox import SandboxError, SandboxMissing

    _open_standard_streams()
    try:
        if self_test:
            if submissions or options["chosen"]:
                raise click.UsageError("--self-test grades nothing: leave the rest out")
            sys.exit(_self_test())
        if submissions is None:
            raise click.UsageError("name the folder, or the zip, that holds the SUBMISSIONS")
        with safe_import_path(submissions):
            sys.exit(_grade(submissions, **options))
    except UnsafePlace as error:
        raise click.ClickException(str(error)) from None
    except SandboxMissing as error:
        raise click.ClickException(
            f"{error} Strangers' code is not run without a sandbox; `--unsandboxed` grades code "
            "that you trust as your own."
        ) from None
    except SandboxError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        raise click.ClickException(
            "Stopped. What was graded so far is kept: run the same command again to go on."
        ) from None
    except BrokenPipeError:  # nobody reads on, as after `| head`: click ends quietly
        raise
    except OSError as error:
        raise click.ClickException(
            f"{error.filename or options['out']}: {error.strerror or error}. Nothing that was "
            "graded is lost: run the same command again when that is mended."
        ) from None


def _open_standard_streams() -> None:
    """Open those that are closed (`>&-`): else what is opened next would be taken for them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")


def _grade(
    submissions: Path,
    *,
    chosen: tuple[str, ...],
    out: Path,
    jobs: int,
    scheduler: str | None,
    seed: int | None,
    resume: bool,
    compare: Path | None,
    class_path: Path | None,
    unsandboxed: bool,
) -> int:
    from course.grading.class_file.grades import grades_of
    from course.grading.class_file.reading import ClassFileError, read_class_file
    from course.grading.class_file.settings import NAME
    from course.grading.judge.grade import Store, grade_all
    from course.grading.judge.unit import GradingError, Settings
    from course.grading.reports import pages_of_others, write_reports
    from course.grading.reports.changes import changes
    from course.grading.sandbox.sandbox import SandboxMissing, missing
    from course.grading.submissions import SubmissionsError, modules_beside, read_submissions

    if not (unsandboxed or scheduler) and (lacking := missing()):
        raise SandboxMissing(" ".join(lacking))
    if unsandboxed:
        click.secho("No sandbox: what is graded can do all that you can.", fg="red", err=True)
    try:
        named = chosen_lessons(chosen)
        if out.resolve().is_relative_to(submissions.resolve()):
            raise click.UsageError(
                f"--out {out} lies within {submissions}, where it would be taken for a student's; "
                "choose a folder outside"
            )
        if compare and compare.resolve() == out.resolve():
            raise click.UsageError(f"--compare {compare} is --out: name another folder by --out")
        if compare and not (compare / "seed.txt").exists():
            raise click.UsageError(f"--compare {compare}: no class was graded into that folder")
        beside_them = submissions.resolve().parent / NAME
        class_path = class_path or (beside_them if beside_them.is_file() else None)
        class_file = read_class_file(class_path) if class_path else None
        handed_in = list(read_submissions(submissions, ask_times=class_file is not None))
        notes, strangers = [], []
        if class_file:
            handed_in, notes, strangers = _of_class(handed_in, class_file, submissions)
        if beside := modules_beside(submissions):
            notes.append(
                f"Beside the students' folders: {_first_five(beside)}. No name says whose that is, "
                "so it was not graded; a module belongs in a folder with the student's name."
            )
        wanted = named or _lessons_in(handed_in)
        store = Store(out)
        with store.locked():
            if compare and seed is None:
                seed = Store(compare).seed(None)  # other inputs would be a difference, too
            settings = Settings(store.seed(seed), confined=not unsandboxed)
            kept = _kept(store, class_file) if class_file else {}
            units = _units(handed_in, wanted, kept)
            jobs = max(1, min(jobs, len(units)))
            graded = grade_all(units, store, settings, jobs, not resume, scheduler)
            results = _with_progress(graded, len(units))
            now = {(one.student, one.lesson) for one in results}
            notes += _lower_than_before(kept, results)
            results += [kept[one] for one in kept if one not in now]
            found = None
            if compare:
                before = list(Store(compare).kept())
                found = changes(before, results)
            grades = grades_of(results, class_file, now=datetime.now(UTC))
            published = _published(handed_in, wanted)
            written = write_reports(grades, out, published, notes, found)
    except (ClassFileError, GradingError, SubmissionsError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    _say(submissions, results, grades, written, [*notes, *strangers])
    if others := pages_of_others(grades, out):
        click.echo(
            f"Older pages of students who are not among these are in there: {len(others)}, such as "
            f"{others[0]}."
        )
    if compare:
        if not before:
            click.echo(f"{compare} has no result that this version of the grader can read.")
        _say_changes(found, out)
    click.echo(f"The inputs were drawn from the seed in {out / 'seed.txt'}.")
    if not_graded := _not_graded(results):
        click.secho(
            f"Not graded, and left out of the totals: {not_graded}. Their pages say why.",
            fg="red",
            err=True,
        )
        for why in [*dict.fromkeys(one.trouble for one in results if not one.key)][:5]:
            click.secho(f"  {why}", fg="red", err=True)
    return 1 if not_graded else 0


def _lessons_in(handed_in: Sequence) -> list[Lesson]:
    """Return the lessons of which anybody handed something in; all of them if nobody did.

    Lessons beyond the course's total are graded only where they are named.
    """
    found = {stem for one in handed_in for stem in (*one.modules, *one.refused)}
    counted = counted_lessons()
    return [lesson for lesson in counted if lesson.stem in found] or list(counted)


def _of_class(handed_in: list, class_file: Any, submissions: Path) -> tuple[list, list, list]:
    """Return submissions by the roster, with platforms' times; notes; one on who is not on it."""
    from course.grading.class_file.exports import ExportError, read_export
    from course.grading.class_file.members import by_member, with_times

    try:
        exports = {
            stem: read_export(one.export)
            for stem, one in class_file.assignments.items()
            if one.export
        }
    except ExportError as error:
        raise click.ClickException(f"{class_file.path.name}: {error}") from None
    place = submissions.resolve().name
    handed_in, strangers = by_member(handed_in, class_file, exports, place)
    handed_in, notes = with_times(handed_in, class_file, exports)
    if not (strangers and class_file.people):
        return handed_in, notes, []
    told = (
        f"Not on the roster of {class_file.path.name}: {_first_five(strangers)}. They are graded "
        "all the same, and stand at the end; `folder = ...` or `github = ...` there says whose "
        "it is."
    )
    return handed_in, notes, [told]


def _kept(store: Any, class_file: Any) -> dict[tuple[str, str], LessonResult]:
    """Return what students on the roster handed in before, as in earlier weeks of the term."""
    return {
        (one.student, one.lesson): one
        for one in store.kept()
        if one.handed_in and one.student in class_file.people
    }


def _lower_than_before(
    kept: Mapping[tuple[str, str], LessonResult], results: Sequence[LessonResult]
) -> list[str]:
    """Return a note on whose points fell by what came now, as a zip of all lessons may do."""
    fell = [
        f"{one.student}'s {one.lesson} {before.points} -> {one.points}"
        for one in results
        if (before := kept.get((one.student, one.lesson))) and one.key
        if one.points < before.points
    ]
    if not fell:
        return []
    told = _first_five(fell, separator="; ")
    return [f"Lower than before in this folder, for something else was handed in: {told}."]


def _units(
    handed_in: Sequence, wanted: list[Lesson], kept: Mapping[tuple[str, str], LessonResult]
) -> list:
    """Return what is to be graded; that a lesson is missing now takes nothing away from before."""
    from course.grading.judge.unit import Unit

    units = []
    for one in handed_in:
        for lesson in wanted:
            stem, time = lesson.stem, one.times.get(lesson.stem)
            is_there = stem in one.modules or stem in one.unread or stem in one.refused
            if not is_there and (one.student, stem) in kept:
                continue
            names = {exercise.name for exercise in lesson.exercises}
            unit = Unit(
                student=one.student,
                lesson=stem,
                source=one.modules.get(stem),
                notes=one.notes,
                unread=one.unread.get(stem, ""),
                refused=one.refused.get(stem, ""),
                canvas_id=one.canvas_id,
                handed_in_at=time.at.isoformat() if time and time.at else "",
                says=time.says if time else "",
                late=bool(time and time.marked_late),
                questions=tuple(pair for pair in one.questions.items() if pair[0] in names),
            )
            units.append(unit)
    return units


def _published(handed_in: Sequence, wanted: list[Lesson]) -> list:
    """Return the modules that have published answers."""
    from course.grading.published import find_published

    return [
        found
        for stem in (lesson.stem for lesson in wanted)
        for found in find_published(
            stem, {one.student: one.modules[stem] for one in handed_in if stem in one.modules}
        )
    ]


def _with_progress(graded: Iterator[tuple[LessonResult, bool]], total: int) -> list[LessonResult]:
    """Return all results, in the order of students and lessons, with a bar while they come."""
    start = said_at = time.monotonic()
    results, done_now, is_seen = [], 0, sys.stdout.isatty()

    def rate(_: object) -> str:
        return f"{done_now / (time.monotonic() - start):.1f} a second" if done_now else ""

    with click.progressbar(
        graded,
        length=total,
        label="Grading" if is_seen else None,
        show_pos=True,
        show_eta=True,
        item_show_func=rate,
        hidden=not is_seen,
    ) as bar:
        for result, was_there in bar:
            results.append(result)
            done_now += not was_there
            if not is_seen and time.monotonic() - said_at > SECONDS_BETWEEN_LINES:
                said_at = time.monotonic()
                click.echo(f"Grading: {len(results)} of {total}, {rate(None)}", err=True)
    order = {lesson.stem: lesson.number for lesson in lessons()}
    return sorted(results, key=lambda result: (result.student, order[result.lesson]))


def _say(
    submissions: Path,
    results: list[LessonResult],
    grades: Any,
    written: list[Path],
    notes: Sequence[str],
) -> None:
    from course.grading.class_file.grades import NOT_HANDED_IN

    students = {result.student for result in results}
    statuses = [one.status for student in grades.students for one in student.lessons]
    missing = statuses.count(NOT_HANDED_IN)  # who is on the roster and sent nothing, too
    troubles = sum(bool(result.trouble and result.handed_in) for result in results)
    click.echo(
        f"students: {len(grades.students)}, results: {len(results)}; "
        f"modules not handed in: {missing}, with trouble: {troubles}"
    )
    if len(students) == 1 and (submissions / min(students)).is_dir():
        name = min(students)
        click.echo(
            f"one student, {name}: if that is a folder of several, grade {submissions / name}"
        )
    noted = dict.fromkeys(result.student for result in results if result.notes)
    if noted:
        click.echo(f"students with notes on what they handed in: {len(noted)}; index.html has them")
    with_module = {result.student for result in results if result.handed_in}
    if empty := [student for student in noted if student not in with_module]:
        click.echo(f"no module was found in the work of: {_first_five(empty)}; their pages say why")
    for note in notes:
        click.echo(note)
    for path in written:
        click.echo(f"  {path}")


def _not_graded(results: list[LessonResult]) -> str:
    """Return what could not be graded, by student."""
    stems: dict[str, list[str]] = {}
    for result in results:
        if not result.key:
            stems.setdefault(result.student, []).append(result.lesson)
    told = [f"{student}'s {', '.join(own)}" for student, own in stems.items()]
    return _first_five(told, separator="; ")


def _first_five(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first five, and how many there are beyond them."""
    others = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return separator.join(names[:5]) + others


def _say_changes(found: Sequence, out: Path) -> None:
    from course.grading.reports.changes import changes_csv
    from course.system.files import write_whole

    write_whole(out / "changes.csv", changes_csv(found))
    students = {change.student for change in found}
    click.echo(f"changed: {len(found)} exercises of {len(students)} students")
    for one in found[:MAX_CHANGES]:
        click.echo(
            f"  {one.student}: {one.lesson}.{one.exercise} {one.before or 0} -> {one.after or 0}. "
            f"{one.why}"
        )
    click.echo(f"  {out / 'changes.csv'}")


def _self_test() -> int:
    from course.grading.sandbox.escapes import ATTEMPTS
    from course.grading.sandbox.self_test import self_test

    outcomes = self_test()
    for outcome in outcomes:
        mark = "closed" if outcome.closed else click.style("OPEN", fg="red", bold=True)
        click.echo(f"  {mark:<7} {outcome.sentence}")
        if not outcome.closed:
            click.echo(f"          {outcome.detail}")
    n_open = sum(not outcome.closed for outcome in outcomes)
    click.echo(f"{len(outcomes) - n_open} of {len(outcomes)} attempts to escape are refused")
    if len(outcomes) < len(ATTEMPTS):
        click.echo(
            "There are no namespaces for us here: a module can see whether a file of a known name "
            "exists, and how large it is."
        )
    return 1 if n_open else 0
