"""Exercises as cards in the texts, and the texts as pages that know what has passed."""

import os
import re
import webbrowser
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from commands import course

from course.core.syllabus import Status, find_lesson, lessons
from course.publishing.site.markup import with_cards
from course.student import progress, texts

each_lesson = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)


@each_lesson
def test_each_exercise_has_a_card_with_what_it_costs_and_its_command(lesson):
    text = with_cards(lesson.text.read_text(encoding="utf-8"), lesson)
    cards = re.findall(r'<div class="exercise".*?</div>', text, re.DOTALL)
    found = [name for card in cards for name in re.findall(r"</strong> <code>(\w+)</code>", card)]
    assert found == [one.name for one in lesson.exercises]
    for exercise in lesson.exercises:
        (card,) = [card for card in cards if f"</strong> <code>{exercise.name}</code>" in card]
        assert f"{exercise.minutes} minutes, {exercise.points} point" in card
        assert re.search(rf"^course check (\w+\.)?{exercise.name}$", card, re.MULTILINE)
        assert "passed" not in card
        assert not re.search(r"[.!?] +\([a-z]", card)  # about a command that isn't there


def test_words_around_and_in_a_card_stay():
    text = "Before.\n\n**Do it.** `rotate_half` turns.\n`course check rotate_half`\n\nAfter.\n"
    shown = with_cards(text, find_lesson("rope"))
    assert shown.startswith("Before.\n\n<div") and shown.endswith("</div>\n\nAfter.\n")
    assert "\n\n`rotate_half` turns.\n\n```sh\ncourse check rotate_half\n```\n" in shown
    other = "`course check one_hot_lookup` is of another lesson.\n"
    assert with_cards(other, find_lesson("rope")) == other


def test_what_has_passed_is_told_in_words():
    rope, mark = (
        find_lesson("rope"),
        r'(\w+)</code> <span>[^<]*</span> <strong class="mark">([^<,]*)',
    )
    text = rope.text.read_text(encoding="utf-8")
    passed, wrong = (
        re.findall(mark, with_cards(text, rope, {"rotate_half": status}))
        for status in (Status.PASSED, Status.WRONG)
    )
    assert passed == [("rotate_half", "✓ passed")] and wrong == []


class Links(HTMLParser):
    """The places of a page, and what it links to or shows."""

    def __init__(self, path):
        super().__init__()
        self.places, self.links = {""}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places.add(found.get("id", ""))
        self.links += [found[name] for name in ("href", "src") if name in found]


@pytest.fixture
def root(repository, monkeypatch):
    """A course in which rotate_half has passed."""
    every = {one.name: Status.TO_DO for lesson in lessons() for one in lesson.exercises}
    found = every | {"rotate_half": Status.PASSED}
    monkeypatch.setattr(progress, "status_of_all", lambda: found)
    return repository


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


def test_all_texts_are_pages_and_no_link_between_them_is_broken():
    folder = texts.write_texts({})
    pages = {path: Links(path) for path in folder.rglob("*.html")}
    assert {folder / lesson.stem / "README.html" for lesson in lessons()} <= pages.keys()
    for file, page in pages.items():
        for link in page.links:
            path, _, place = unquote(link).partition("#")
            if not re.match(r"https?:", link):
                led_to = Path(os.path.normpath(file.parent / path)) if path else file
                assert led_to.exists(), f"{file}: {link}"
                if led_to in pages:
                    assert place in pages[led_to].places, f"{file}: {link}"
    text = (folder / "rope" / "README.html").read_text(encoding="utf-8")
    assert text.count("<math") > 50 and "$$" not in text and len(text) < 500_000


def test_open_text_opens_the_page_at_the_exercise(root, opened):
    said = course("open", "text", "rotate_half")
    (address,) = opened
    assert address.endswith("rope/README.html#write-rotate-half") and address in said
    page = root / ".course" / "texts" / "rope" / "README.html"
    assert page.read_text(encoding="utf-8").count("✓ passed") == 1
    course("open", "text")  # what is next
    assert opened[1].endswith(f"#write-{lessons()[0].exercises[0].name}")
    course("open", "text", "3")
    assert opened[2].endswith("learned/README.html")


def test_a_text_that_cannot_be_opened_is_one_sentence(root, opened):
    (root / ".course").mkdir(exist_ok=True)
    (root / ".course" / "texts").write_text("a file", encoding="utf-8")
    said = course("open", "text", "rope", status=1)
    assert "cannot be written" in said and said.count("\n") == 1 and not opened


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), [(1100, "light"), (360, "dark")])
def test_a_command_is_copied_and_the_page_fits_its_window(browse, theme, width):
    folder = texts.write_texts({"rotate_half": Status.PASSED})
    page = browse(
        folder / "rope" / "README.html",
        color_scheme=theme,
        viewport={"width": width, "height": 800},
        permissions=["clipboard-read", "clipboard-write"],
    )
    card = page.locator(".exercise", has=page.locator("#write-rotate-half"))
    assert card.is_visible() and "✓ passed" in card.inner_text()
    card.get_by_role("button", name="copy").click()
    card.get_by_role("button", name="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "course check rotate_half"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
