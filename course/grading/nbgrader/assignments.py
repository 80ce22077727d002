"""Which assignments of nbgrader's are lessons, and what the cells of one may be."""

from collections.abc import Iterable

from course.syllabus import Lesson, lessons


def lesson_of(assignment: str) -> Lesson | None:
    """The lesson that an assignment is, by its name.

    >>> lesson_of("5_rope").stem
    'rope'
    >>> lesson_of("homework")
    """
    return next((lesson for lesson in lessons() if lesson.text.stem == assignment), None)


def foreign_tests(lesson: Lesson, tests: Iterable[str]) -> str:
    """A sentence about the test cells that nobody could grade, for they are no exercises; or "".

    Args:
        tests: the names of the cells that are to be graded automatically.
    """
    exercises = {exercise.name for exercise in lesson.exercises}
    foreign = [name for name in tests if name not in exercises]
    if not foreign:
        return ""
    return (
        f"no exercise of {lesson.stem} is called {' or '.join(foreign)}, so there are no tests for "
        "a cell of that name: let it be graded by hand"
    )
