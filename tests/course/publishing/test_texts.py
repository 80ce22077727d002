"""The texts of the lessons: where their links lead, what they open with, and the glossary."""

import re

from course import ROOT
from course.core.syllabus import lessons
from course.publishing.lab.script import rooms

LESSONS = ROOT / "course" / "lessons"
GLOSSARY = (LESSONS / "glossary.md").read_text(encoding="utf-8")


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
