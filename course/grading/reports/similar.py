"""The page of modules to look at by hand: pairs that are alike, and published answers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from course.grading.class_file.grades import Grades, StudentGrade
from course.grading.reports.page import render
from course.grading.reports.to_do import by_sentence
from course.grading.similarity.answers import Known
from course.grading.similarity.copies import Resemblance
from course.grading.similarity.source import read_source
from course.messages.wording import counted
from course.syllabus import Lesson, lessons

CONTEXT = 2
"""Lines that are shown around what is alike."""
MAX_LINE, MAX_LINES = 200, 150
"""The characters of a line, and the lines of one side, that are shown."""
MAX_CHARACTERS = 1_000_000
"""Of all code on the page; of further pairs it has the numbers of their lines."""


@dataclass(frozen=True)
class Line:
    """A line of a module: its number, its text, and whether it is alike; the number 0 is a gap."""

    number: int
    text: str
    alike: bool


@dataclass(frozen=True)
class Pair:
    """Two modules that are alike, with the lines that show it; none, if the page is full."""

    lesson: Lesson
    first: StudentGrade
    second: StudentGrade
    resemblance: Resemblance
    sides: tuple[tuple[Line, ...], ...]


def to_look_at(
    grades: Grades,
    resemblances: Mapping[str, Sequence[Resemblance]],
    known: Sequence[Known],
) -> list[tuple[str, StudentGrade]]:
    """Return what is to be looked at, in sentences, each with a student."""
    find = _finder(grades)
    alike = {
        (stem, name): None
        for stem, pairs in resemblances.items()
        for pair in pairs
        for name in (pair.first, pair.second)
    }
    return [
        *((f"`{stem}.py` is like another's", find(name)) for stem, name in alike),
        *((f"`{one.lesson}.py` has a published answer", find(one.student)) for one in known),
    ]


def similar_page(
    grades: Grades,
    resemblances: Mapping[str, Sequence[Resemblance]],
    known: Sequence[Known],
    modules: Mapping[tuple[str, str], bytes],
) -> str:
    """Return the page, as HTML.

    Args:
        modules: what was handed in, by student and lesson; without it, lines have only numbers.
    """
    find = _finder(grades)
    rewritten = [one for one in known if one.answers]
    n_answers = Counter()
    for one in rewritten:
        n_answers[one.student] += len(one.answers)
    return render(
        "similar.html",
        pairs=_pairs(find, resemblances, modules),
        verbatim=by_sentence(
            (f"`{one.lesson}.py`", find(one.student)) for one in known if not one.answers
        ),
        by_number=sorted(  # the most answers first, however many students have them
            by_sentence((counted(n, "answer"), find(name)) for name, n in n_answers.items()),
            key=lambda said: -n_answers[said.students[0].student],
        ),
        by_answer=by_sentence(
            (answer, find(one.student)) for one in rewritten for answer in one.answers
        ),
    )


def _finder(grades: Grades):
    students = {one.student: one for one in grades.students}
    return lambda name: students.get(name) or StudentGrade(name, None, ())


def _pairs(find, resemblances, modules) -> list[Pair]:
    pairs, room = [], MAX_CHARACTERS
    for lesson in lessons():
        for one in resemblances.get(lesson.stem, ()):
            places = [(one.first, [part.first for part in one.fragments])]
            places.append((one.second, [part.second for part in one.fragments]))
            sides = [
                _side(modules.get((name, lesson.stem), b""), spans)
                for name, spans in places
                if room > 0
            ]
            room -= sum(len(line.text) + 50 for side in sides for line in side)
            first, second = find(one.first), find(one.second)
            pairs.append(Pair(lesson, first, second, one, tuple(sides) if all(sides) else ()))
    return pairs


def _side(module: bytes, spans: Iterable[tuple[int, int]]) -> tuple[Line, ...]:
    """Return the lines of one module that are alike, with those around them."""
    lines = read_source(module).text.split("\n") if module else []
    alike = {number for begin, end in spans for number in range(begin, end + 1)}
    around = {one + by for one in alike for by in range(-CONTEXT, CONTEXT + 1)}
    shown, last = [], 0
    for number in sorted(around & set(range(1, len(lines) + 1)))[:MAX_LINES]:
        if number > last + 1:
            shown.append(Line(0, "", False))
        shown.append(Line(number, lines[number - 1][:MAX_LINE], number in alike))
        last = number
    return tuple(shown)
