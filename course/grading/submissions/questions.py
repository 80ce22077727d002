"""Questions that students hand in with their work, by `course submit --question`."""

import contextlib
import json
from collections.abc import Iterable

from course.building.submission import MAX_QUESTION, QUESTIONS
from course.grading.submissions.files import File
from course.syllabus import lessons


def questions_in(files: Iterable[File]) -> dict[str, str]:
    """Return what a student asks, by the exercise; what is no question is passed over."""
    found = {}
    for file in files:
        if file.path[-1].lower() == QUESTIONS:
            with contextlib.suppress(Exception):  # a forged file can fail in any way
                asked = json.loads(file.read())
                for lesson in lessons():
                    for name in (exercise.name for exercise in lesson.exercises):
                        text = asked.get(name)
                        if isinstance(text, str) and text.strip():
                            found[name] = text.strip()[:MAX_QUESTION]
    return found
