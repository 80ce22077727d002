"""The grades of one student in Gradescope's `results.json`.

An exercise is a test there, because it is what earns points: all of them or none.
"""

import json

from course.core.syllabus import Status
from course.grading.grades import LessonGrade, StudentGrade
from course.grading.names import printable
from course.testing.messages.message import plain_message
from course.testing.result import ExerciseResult


def gradescope_results(student: StudentGrade) -> str:
    """Return the text of the file. Everything in it is plain text, which Gradescope escapes.

    Source: Gradescope, "Autograder Specifications", section "Output Format".
    """
    output = [f"{student.points} of {student.worth} points."]
    if student.own_notes:
        notes = (f"- {printable(note)}" for note in student.own_notes)
        output += ["", "What you handed in:", *notes]
    document = {
        "score": student.points,
        "execution_time": round(sum(one.result.seconds for one in student.lessons)),
        "output": "\n".join(output),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            _test(grade, number, exercise)
            for grade in student.lessons
            for number, exercise in enumerate(grade.result.exercises, start=1)
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _test(grade: LessonGrade, number: int, exercise: ExerciseResult) -> dict[str, object]:
    return {
        "number": f"{grade.lesson.number}.{number}",
        "name": f"{exercise.name}: {grade.lesson.exercise(exercise.name).title}",
        "score": exercise.points,
        "max_score": exercise.worth,
        "status": "passed" if exercise.status == Status.PASSED else "failed",
        "output": printable(plain_message(grade.result, exercise)).strip(),
    }
