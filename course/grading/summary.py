"""The lines that a run of the grader prints at its end."""

from collections.abc import Iterator

from course.grading.grades import LessonStatus
from course.grading.names import first_few
from course.grading.run import GradingOutcome, Request
from course.testing.messages.wording import counted


def summary(outcome: GradingOutcome, request: Request) -> Iterator[str]:
    """Yield what was found, and where it is."""
    students = outcome.grades.students
    graded = [one for student in students for one in student.lessons]
    n_missing = sum(one.status == LessonStatus.NOT_HANDED_IN for one in graded)
    n_troubles = sum(
        bool(one.result.trouble) for one in graded if one.status == LessonStatus.GRADED
    )
    yield (
        f"students: {len(students)}, results: {len(graded)}; "
        f"modules not handed in: {n_missing}, not tested: {n_troubles}"
    )
    if len(students) == 1 and (folder := request.submissions / students[0].student).is_dir():
        yield f"one student, {folder.name}; if that is a folder of students, grade {folder}"
    noted = [student for student in students if student.notes]
    if noted:
        yield f"students with notes on their files: {len(noted)}; see index.html"
    empty = [
        student.student
        for student in noted
        if all(one.status == LessonStatus.NOT_HANDED_IN for one in student.lessons)
    ]
    if empty:
        yield f"students without a module: {first_few(empty)}; their pages say why"
    yield from outcome.notes
    yield from (f"  {path}" for path in outcome.written)
    if outcome.changes is not None:
        if not outcome.is_comparable:
            yield f"{request.compare} has no results that this version of the grader can read."
        exercises = counted(len(outcome.changes), "exercise")
        students = counted(len({one.student for one in outcome.changes}), "student")
        yield f"changed points: {exercises}, {students}"
    yield f"The inputs were drawn from the seed in {request.out / 'seed.txt'}."


def about_not_graded(outcome: GradingOutcome) -> Iterator[str]:
    """Yield what could not be graded, and the first few reasons."""
    failed = {
        student.student: [one for one in student.lessons if not one.counts]
        for student in outcome.grades.students
    }
    stems = {name: ", ".join(one.lesson.stem for one in own) for name, own in failed.items() if own}
    if stems:
        told = first_few([f"{name}'s {own}" for name, own in stems.items()], "; ")
        yield f"Not graded, so not in the totals: {told}. Their pages say why."
    troubles = dict.fromkeys(one.result.trouble for own in failed.values() for one in own)
    yield from (f"  {why}" for why in list(troubles)[:5])
