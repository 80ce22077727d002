"""The exercises of a lesson as cards in its text, where it asks for them."""

import re
from collections.abc import Mapping

from course.core.syllabus import Exercise, Lesson, Status, name_for_check
from course.testing.messages.wording import counted

_COMMAND = re.compile(r",?\s*`course check ([\w.]+)`")


def with_cards(text: str, lesson: Lesson, status: Mapping[str, str] | None = None) -> str:
    """Return a lesson's text, in Markdown, with a card around each paragraph that asks to write.

    Such a paragraph holds `course check NAME`, once for each exercise.

    Args:
        status: of the exercises, by name; what passed is marked.
    """
    asked = {name_for_check(one): one for one in lesson.exercises}
    paragraphs = text.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        names = [name for name in _COMMAND.findall(paragraph) if name in asked]
        if names and not paragraph.startswith(("#", "<", "`", "|")):
            words = _COMMAND.sub("", paragraph).removeprefix("**Do it.** ")
            commands = "\n".join(f"course check {name}" for name in names)
            card = [
                f'<div class="exercise" role="group" aria-label="Exercise: {", ".join(names)}">',
                *(_head(asked[name], (status or {}).get(asked[name].name, "")) for name in names),
                words,
                f"```sh\n{commands}\n```",
                "</div>",
            ]
            paragraphs[number] = "\n\n".join(card)
    return "\n\n".join(paragraphs)


def anchor(exercise: Exercise) -> str:
    """Return the name of an exercise's card on its page."""
    return f"write-{exercise.name.lower().replace('_', '-')}"


def _head(exercise: Exercise, status: str) -> str:
    mark = ' <strong class="mark">✓ passed</strong>' if status == Status.PASSED else ""
    title = exercise.title[0].upper() + exercise.title[1:]
    cost = f"{exercise.minutes} minutes, {counted(exercise.points, 'point')}"
    return (
        f'<p class="about" id="{anchor(exercise)}"><strong>{title}</strong> '
        f"<code>{exercise.name}</code> <span>{cost}</span>{mark}</p>"
    )
