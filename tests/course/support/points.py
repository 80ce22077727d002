"""The line of points that ends a run."""

from course.core.syllabus import find_lesson


def line_of_points(stem: str, *wrong: str) -> str:
    """The line of one who passes all of a lesson but these exercises."""
    lesson = find_lesson(stem)
    points = lesson.points - sum(lesson.exercise(name).points for name in wrong)
    return f"{lesson.number} {stem}: {points} of {lesson.points} points"
