"""The section "Common mistakes" of a lesson's text, written from the catalogue of mistakes."""

from course.building.marked import written_between
from course.syllabus import Exercise, Lesson

BEGIN = "<!-- common mistakes, written by course build -->\n"
END = "<!-- end of common mistakes -->\n"

_OPENING = """
## Common mistakes

What goes wrong most often, exercise by exercise, with a question to ask yourself. Try first: a test
that recognizes one of these tells you so.
"""

_FOLDED = """
<details>
<summary><code>{name}</code></summary>

{items}
</details>
"""


def with_common_mistakes(text: str, lesson: Lesson) -> str:
    """A lesson's text in which the part between the two markers is written anew.

    Raises:
        ValueError: the markers are not there once each, in this order.
    """
    lists = "".join(_common_mistakes(exercise) for exercise in lesson.exercises)
    return written_between(text, BEGIN, END, f"{_OPENING}{lists}\n")


def _common_mistakes(exercise: Exercise) -> str:
    """The common mistakes of one exercise, folded under its name."""
    from course.mistakes import mistakes  # brings torch: import it only when needed

    items = "".join(
        f"- {mistake.says.replace(exercise.name, 'It', 1)}\n  {mistake.look}\n"
        for mistake in mistakes(exercise.lesson)
        if mistake.exercise == exercise.name and mistake.common
    )
    return _FOLDED.format(name=exercise.name, items=items)
