"""The results of one student in Gradescope's `results.json`.

An exercise is a test there, for it is what earns points: all of them or none.
"""

import json
from collections.abc import Sequence

from course.grading.names import printable
from course.grading.reports.classroom import points_of
from course.grading.reports.message import notes_about, plain_message
from course.syllabus import Status, find_lesson
from course.testing.result import ExerciseResult, LessonResult


def gradescope_results(results: Sequence[LessonResult]) -> str:
    """Return the text of the file. Everything in it is plain text, which Gradescope escapes.

    Source: Gradescope, "Autograder Specifications", section "Output Format".
    """
    points, worth = points_of(results)
    document = {
        "score": points,
        "execution_time": round(sum(result.seconds for result in results)),
        "output": "\n".join([f"{points} of {worth} points.", *_about_files(results)]),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            _test(result, exercise, place)
            for result in results
            for place, exercise in enumerate(result.exercises, start=1)
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _about_files(results: Sequence[LessonResult]) -> list[str]:
    notes = [f"- {printable(note)}" for note in notes_about(results)]
    return ["", "What you handed in:", *notes] if notes else []


def _test(result: LessonResult, exercise: ExerciseResult, place: int) -> dict:
    return {
        "number": f"{find_lesson(result.lesson).number}.{place}",
        "name": f"{exercise.name}: {find_lesson(result.lesson).exercise(exercise.name).title}",
        "score": exercise.points,
        "max_score": exercise.worth,
        "status": "passed" if exercise.status == Status.PASSED else "failed",
        "output": plain_message(result, exercise),
    }
