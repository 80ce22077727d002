"""The texts of the lessons: where their links lead, what they open with, and the glossary."""

import re

import pytest

from course import ROOT
from course.core.syllabus import lessons
from course.publishing.lab.script import rooms

LESSONS = ROOT / "course" / "lessons"
TEXTS = sorted([*LESSONS.glob("*.md"), *LESSONS.glob("*/README.md")])
GLOSSARY = (LESSONS / "glossary.md").read_text(encoding="utf-8")


def anchors(text: str) -> list[str]:
    """What GitHub and the site call the headings of a text."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_link_within_the_repository_leads_to_a_file_and_a_heading(path):
    """As GitHub shows the texts; the site's own links are another matter."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


def test_each_lesson_opens_with_a_scene_around_a_picture():
    for lesson in lessons():
        opening, *_ = lesson.text.read_text(encoding="utf-8").partition("**You will be able to**")
        block = r'\n<course-lab scene="(\w+)">\n\n!\[.+\]\(.+\.svg\)\n\n</course-lab>\n'
        found = re.search(block, opening)
        assert found and found[1] in rooms(), lesson.stem


def test_the_glossary_is_alphabetical_and_has_each_word_once():
    words = re.findall(r"^### (.+)$", GLOSSARY, re.MULTILINE)
    assert words == sorted(words, key=str.lower)
    assert len({word.lower() for word in words}) == len(words)


def test_each_entry_of_the_glossary_ends_with_the_lesson_that_uses_it_first():
    numbers = {lesson.stem: str(lesson.number) for lesson in lessons()}
    for entry in re.split(r"^### ", GLOSSARY, flags=re.MULTILINE)[1:]:
        body = entry.partition("\n## ")[0]  # the heading of the next group
        found = re.search(r"First in\s\[lesson (\d+)\]\((\w+)/README\.md\)\.\s*\Z", body)
        assert found, entry
        assert numbers[found[2]] == found[1], entry
