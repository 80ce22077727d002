"""The grades of one student in Gradescope's `results.json`.

An exercise is a test there, for it is what earns points: all of them or none, unless the
instructor decided something else. What counts is what is given there.
"""

import json
from collections.abc import Sequence

from course.grading.class_file.grades import (
    NOT_GRADED,
    ExerciseGrade,
    LessonGrade,
    StudentGrade,
)
from course.grading.class_file.settings import Feedback
from course.grading.names import printable
from course.grading.reports.message import decided, notes_about, plain_message, times_in_words
from course.syllabus import Status


def gradescope_results(student: StudentGrade, feedback: Feedback | None = None) -> str:
    """Return the text of the file. Everything in it is plain text, which Gradescope escapes.

    Where students see no points yet, they see no test either, for each has its points beside it:
    what is wrong is in the output then.

    Source: Gradescope, "Autograder Specifications", section "Output Format".
    """
    shown = feedback or Feedback()
    tests = [
        (lesson, place, exercise)
        for lesson in student.lessons
        for place, exercise in enumerate(lesson.exercises, start=1)
        if exercise.points is not None or (lesson.status == NOT_GRADED and not exercise.decision)
    ]
    output = [f"{student.points} of {student.worth} points."] if shown.points else []
    output += _about_files(student.lessons, shown.points)
    if not shown.points:
        output += [f"\n{_title(*one)}: {_output(one[0], one[2], shown)}" for one in tests]
    document = {
        "score": student.points,
        "execution_time": round(sum(result.seconds for result in student.results)),
        "output": "\n".join(output),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible" if shown.points else "after_published",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "number": f"{lesson.lesson.number}.{place}",
                "name": _title(lesson, place, exercise),
                "score": exercise.points or 0,
                "max_score": exercise.worth,
                "status": "passed" if exercise.points == exercise.worth else "failed",
                "output": _output(lesson, exercise, shown),
            }
            for lesson, place, exercise in tests
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _title(grade: LessonGrade, _: int, exercise: ExerciseGrade) -> str:
    known = {one.name: one.title for one in grade.lesson.exercises}
    return f"{exercise.name}: {known.get(exercise.name, '')}"


def _about_files(grades: Sequence[LessonGrade], points: bool) -> list[str]:
    notes = [f"- {printable(note)}" for note in notes_about(grades)]
    for one in grades:
        if times := times_in_words(one, points):
            notes.append(f"- {one.lesson.stem}.py: {times}")
        notes += [f"- {one.lesson.stem}.py: {printable(comment.text)}" for comment in one.comments]
    return ["", "What you handed in:", *notes] if notes else []


def _output(grade: LessonGrade, exercise: ExerciseGrade, shown: Feedback) -> str:
    result = grade.result
    found = [one for one in result.exercises if one.name == exercise.name] if result else []
    by_hand = exercise.decision
    parts = [f"{decided(exercise, shown.points)} {printable(by_hand.comment)}"] if by_hand else []
    if not found:
        parts.append("" if by_hand else "Nothing was handed in.")
    elif found[0].status != Status.PASSED:
        wrong = plain_message(result, found[0])
        parts.append(wrong if shown.messages else f"It is not right yet: {found[0].status}.")
    elif not shown.points:
        parts.append("It passed.")
    return "\n\n".join(part.strip() for part in parts if part.strip())
