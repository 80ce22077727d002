"""What grading gives out says the same everywhere, and is safe whatever a student wrote."""

import base64
import csv
import hashlib
import json
import os
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import pytest
from course.grading.class_file.grades import grades_of
from course.grading.class_file.settings import (
    Assignment,
    ClassFile,
    Comment,
    Decision,
    Feedback,
    LateRule,
    Person,
)
from course.grading.reports.junit import junit_xml
from course.grading.reports.message import plain_message

from course.grading.names import WHOSE, feedback_path, file_stem
from course.grading.published import Published
from course.grading.reports import write_reports
from course.grading.reports.changes import Change
from course.grading.reports.feedback import feedback_page
from course.grading.reports.gradescope import gradescope_results
from course.grading.reports.overview import overview_page, projected_page
from course.grading.reports.tables import canvas_csv, grades_csv
from course.syllabus import Status, find_lesson, lessons
from course.testing import result as grading

MESSAGE = (
    "the values are not the ones they should be\n\n"
    "  called  rotate_half([3, 4])\n"
    "  got     [4, -3]\n"
    "  want    [-4, 3]"
)

PASSED, WRONG, TO_DO, NOT_RUN = Status.PASSED, Status.WRONG, Status.TO_DO, Status.NOT_RUN
ADVICE = "rotate_half negates the first half. Which half of the result carries the minus sign?"
BROKEN = "exercises/rope.py cannot be imported: NameError: name 'x' is not defined"
NASTY = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\x00\x1b[31m\ud800\uffff]]>&"


ALL = find_lesson("rope").points
LOOKUP = find_lesson("lookup").points
BOTH = ALL + LOOKUP
WORTH = {exercise.name: exercise.points for exercise in find_lesson("rope").exercises}
HALF = WORTH["rotate_half"]
BUT_ONE = ALL - HALF


def result(student="ann", lesson="rope", **outcomes) -> grading.LessonResult:
    """A lesson in which everything passed, but for the exercises named in `outcomes`."""
    exercises = [
        exercise(one.name, one.points, outcomes.get(one.name, PASSED))
        for one in find_lesson(lesson).exercises
    ]
    return grading.LessonResult(lesson, tuple(exercises), seconds=0.5, student=student, key="a key")


def exercise(name, worth, outcome, advice="", message=MESSAGE):
    """An exercise with two tests, the second of which decides."""
    tests = (
        grading.TestResult("test_it_is_fine", PASSED),
        grading.TestResult(
            "test_one_pair_makes_a_quarter_turn",
            outcome,
            "" if outcome == PASSED else message,
        ),
    )
    return grading.ExerciseResult(name, worth, tests, 2, advice)


def with_exercise(lesson_result, changed):
    """A result in which the exercise of that name is replaced."""
    exercises = tuple(
        changed if one.name == changed.name else one for one in lesson_result.exercises
    )
    return replace(lesson_result, exercises=exercises)


def not_tested(student="ann", lesson="rope", trouble=BROKEN, key="a key"):
    """A lesson whose module could not be tested at all."""
    exercises = tuple(
        grading.ExerciseResult(one.name, one.points) for one in find_lesson(lesson).exercises
    )
    return grading.LessonResult(lesson, exercises, trouble, seconds=0.1, student=student, key=key)


def hostile(student=NASTY):
    """A result in which every text that may come from a student is an attack."""
    wrong = exercise("rotate_half", HALF, WRONG, NASTY, f"{NASTY}\n\n  {NASTY}")
    return replace(with_exercise(result(student), wrong), notes=(NASTY,))


NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
KNOWN_MISTAKE = with_exercise(result(), exercise("rotate_half", HALF, WRONG, ADVICE))


class Page(HTMLParser):
    """A page taken apart; what is not well-formed, not safe or leads nowhere fails at once."""

    TAGS = (
        "html|head|meta|title|style|body|main|header|nav|section|h[1-4]|p|a|ul|li|table|thead|tbody"
        "|tr|th|td|div|span|strong|code|pre|kbd|dl|dt|dd|details|summary|small|q|mark|form|label"
        "|input|select|option|output|svg|rect|text|path|script"
    )
    ATTRIBUTES = (
        "lang|charset|http-equiv|content|name|id|class|href|aria-(label|labelledby|hidden)|role"
        "|scope|tabindex|open|hidden|type|value|data-(lesson|section|asks)|viewBox|x|y|width"
        "|height|d|text-anchor"
    )

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.words, self.headings = [], [], []
        self.ids, self.links, self.metas, self.labels = [], [], {}, []
        self.texts: dict[str, list[str]] = {}
        assert page.startswith("<!doctype html>")
        self.feed(page)
        self.close()
        assert not self.open
        assert len(self.ids) == len(set(self.ids))
        assert {link[1:] for link in self.links if link.startswith("#")} <= set(self.ids)
        assert self.headings[0] == 1
        assert self.headings.count(1) == 1
        steps = zip(self.headings, self.headings[1:], strict=False)
        assert all(after <= before + 1 for before, after in steps)
        trusted = dict.fromkeys(("style", "script"), "")
        for tag in trusted:
            if text := self.text(tag):
                digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                trusted[tag] = f"; {tag}-src 'sha256-{digest}'"
        assert self.metas["Content-Security-Policy"] == (
            f"default-src 'none'{trusted['style']}; base-uri 'none'; form-action 'none'"
            f"{trusted['script']}"
        )
        assert self.text("title")
        assert "@import" not in self.text("style")
        assert "url(" not in self.text("style")

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        assert re.fullmatch(self.TAGS, tag)
        assert all(re.fullmatch(self.ATTRIBUTES, name, re.IGNORECASE) for name in facts), facts
        if tag == "html":
            assert facts["lang"] == "en"
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.ids += [facts["id"]] if "id" in facts else []
        self.links += [facts["href"]] if "href" in facts else []
        self.labels += [facts["aria-label"]] if facts.get("role") == "img" else []
        self.metas[facts.get("http-equiv", facts.get("name"))] = facts.get("content")
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += (
            data.split() if self.open[-1:] not in (["style"], ["title"], ["script"]) else []
        )
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def text(self, tag: str) -> str:
        """What stands directly in the elements of one kind."""
        return "".join(self.texts.get(tag, []))

    def says(self, sentence: str) -> bool:
        """Whether a sentence can be read on the page, however its lines are broken."""
        return " ".join(sentence.split()) in " ".join(self.words)


def grades(*results, people=(), **settings):
    """The grades of a class; with settings, or people on the roster, it has a file of its own."""
    roster = {one.key: one for one in people}
    of_class = ClassFile(Path("class.toml"), roster, **settings) if people or settings else None
    return grades_of(results, of_class, now=NOW)


def ago(days, lesson_result, says="Moodle"):
    """A result of what was handed in so many days ago."""
    at = (NOW - timedelta(days=days)).isoformat()
    return replace(lesson_result, handed_in_at=at, says=says)


def asking(lesson_result, text):
    return replace(lesson_result, questions=(("rotate_half", text),))


def feedback(*own, **settings) -> Page:
    of_class = grades(*own, **settings)
    return Page(feedback_page(of_class.students[0], of_class))


def overview(*all_of_them, about_class=(), changes=None, **settings) -> Page:
    return Page(overview_page(grades(*all_of_them, **settings), (), about_class, changes))


def gradescope(*own, **settings) -> dict:
    of_class = grades(*own, **settings)
    return json.loads(gradescope_results(of_class.students[0], of_class.feedback))


def table(text: str) -> list[list[str]]:
    return list(csv.reader(text.removeprefix("\ufeff").splitlines()))


# --- what a student is told -----------------------------------------------------------------


def test_a_wrong_exercise_is_told_as_in_the_terminal():
    (wrong,) = (one for one in KNOWN_MISTAKE.exercises if one.status == WRONG)
    text = plain_message(KNOWN_MISTAKE, wrong)
    assert text.startswith("rotate_half negates the first half.")
    assert "one pair makes a quarter turn: the values are not the ones" in text
    assert "  called  rotate_half([3, 4])\n  got     [4, -3]" in text
    assert "course hint rotate_half" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_the_test_says_is_found_in_its_file():
    """The docstring of test_one_pair_makes_a_quarter_turn in tests/test_rope.py."""
    source = find_lesson("rope").tests.read_text(encoding="utf-8")
    says = re.search(r'def test_one_pair_makes_a_quarter_turn.*\n +"""([^".]+)', source)[1]
    assert feedback(KNOWN_MISTAKE).says(says)
    assert says.split()[0] in plain_message(KNOWN_MISTAKE, KNOWN_MISTAKE.exercises[1])


def test_the_page_shows_advice_message_and_hint():
    page = feedback(KNOWN_MISTAKE)
    assert page.says(ADVICE)
    assert page.says("the values are not the ones they should be")
    assert "called  rotate_half([3, 4])\ngot     [4, -3]\nwant    [-4, 3]" in page.text("pre")
    assert "course hint rotate_half" in page.text("kbd")
    assert page.says(f"{BUT_ONE} of {ALL} points")
    assert page.says(f"Of {len(WORTH)} exercises, {len(WORTH) - 1} passed, 1 is not right yet.")
    assert "#rope.rotate_half" in page.links  # what to do next
    assert not page.says("Well done")


def test_what_is_to_do_is_not_called_wrong():
    page = feedback(result(rotate_half=TO_DO, ntk_base=TO_DO))
    assert page.says(f"Of {len(WORTH)} exercises, {len(WORTH) - 2} passed, 2 are still to do.")
    assert page.says("Still to do ○ rotate_half")
    assert not page.says("Not right yet")
    assert "pre" not in page.texts


def test_who_passes_everything_is_told_so():
    page = feedback(result(), result(lesson="lookup"))
    assert page.says(f"{BOTH} of {BOTH} points Everything passes. Well done.")
    assert not page.says("Next:")


def test_a_module_that_does_not_load_is_told_once():
    page = feedback(not_tested(trouble=f"{BROKEN}\n  exercises/rope.py:3: x"))
    assert page.says(BROKEN)
    assert page.text("pre") == "exercises/rope.py:3: x"
    assert " ".join(page.words).count("cannot be imported") == 1
    assert page.says(f"0 of {ALL} points")


RENAMED = "rope (1).py was taken for rope.py"


def test_what_is_odd_about_the_files_is_told_once():
    own = [replace(result(lesson=stem), notes=(RENAMED,)) for stem in ("lookup", "rope")]
    assert feedback(*own).says(f"What you handed in {RENAMED}")
    assert " ".join(feedback(*own).words).count(RENAMED) == 1
    assert not feedback(result()).says("What you handed in")
    output = gradescope(*own)["output"]
    assert output == f"{BOTH} of {BOTH} points.\n\nWhat you handed in:\n- {RENAMED}"
    for suite in ElementTree.fromstring(junit_xml(grades(*own)).encode()):
        assert suite.find("properties/property[@name='note']").attrib["value"] == RENAMED


def test_lessons_that_were_not_handed_in_come_later_and_in_one_line_each():
    missing = not_tested(lesson="lookup", trouble="lookup.py was not handed in.")
    page = feedback(missing, result(rotate_half=WRONG))
    text = " ".join(page.words)
    assert text.index("exercises/rope.py") < text.index("Not handed in")
    assert page.says("1 An embedding is a table, not a layer: lookup.py was not handed in.")


def test_what_could_not_be_used_is_not_called_missing():
    missing = not_tested(trouble="rope.py was not handed in.")
    assert feedback(missing).says("rope.py was not handed in.")
    unused = replace(missing, notes=("rope.py is larger than 1 MB",))
    for said in (feedback(unused).says, json.dumps(gradescope(unused)).__contains__):
        assert said("No rope.py that can be graded was handed in.")
        assert said("rope.py is larger than 1 MB")
        assert not said("rope.py was not handed in")


def test_what_is_for_the_instructor_is_not_on_the_students_page():
    note = f"{WHOSE}: ann_1; another student's name looks the same"
    own = replace(result(), notes=(note, RENAMED))
    for text in (json.dumps(gradescope(own)), junit_xml(grades(own))):
        assert RENAMED in text
        assert "another student" not in text
    assert not feedback(own).says("another student")
    assert feedback(own).says(RENAMED)


# --- hostile names and texts ----------------------------------------------------------------

NAMES = [
    *("../x", "..", ".", "", "CON", "con", "nul", "a/b", "a\\b", "a:b", "index", "LPT1", "com1"),
    *("Ann", "ann", "ANN", "änn", "a\u0308nn", "王小明", "x" * 300, "x" * 299, "<b>", "a b", "a-b"),
    *("-rf", "~", "~root", ".htaccess", "a.html", "a\x00b", "a\nb", "\ud800", "ann~0123456789ab"),
]


def test_names_of_files_are_safe_and_distinct():
    stems = [file_stem(name) for name in NAMES]
    assert len({stem.casefold() for stem in stems}) == len(NAMES)
    for stem in stems:
        assert re.fullmatch("[a-z0-9_][a-z0-9_-]*(~[0-9a-f]{12})?", stem)
        assert len(stem) < 60
        assert not re.fullmatch(r"con|nul|com\d|lpt\d|index", stem)


def test_every_student_gets_a_page_to_which_the_overview_leads(tmp_path):
    write_reports(grades(*map(result, NAMES)), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    pages = {f"feedback/{path.name}" for path in (tmp_path / "out/feedback").iterdir()}
    assert len(pages) == len(NAMES)
    page = Page((tmp_path / "out/index.html").read_text(encoding="utf-8"))
    links = {link for link in page.links if not link.startswith("#")}
    assert links == pages | {"project.html"}
    assert all(len(PurePosixPath(link).parts) == 2 for link in pages)


def test_nothing_that_a_student_wrote_becomes_markup(tmp_path):
    own = [asking(hostile(), NASTY), not_tested("bob", trouble=f"{NASTY}\n{NASTY}")]
    published = [Published(NASTY, "rope", ()), Published("bob", "rope", ("`rope_tables`",))]
    named = Person("bob", NASTY, section=NASTY)
    said = Decision("bob", "rope", "rotate_half", 1, NASTY, NASTY)
    of_class = grades(
        *own,
        people=[named],
        decisions=(said,),
        comments=(Comment("bob", "rope", NASTY),),
    )
    change = Change(NASTY, "rope", "rotate_half", 0, 3, NASTY)
    write_reports(of_class, tmp_path, published, [NASTY], [change])
    for path in tmp_path.rglob("*.html"):
        page = Page(path.read_text(encoding="utf-8"))
        assert (
            page.says("</pre><script>alert(1)</script>") or path.name == "project.html"
        )  # as text
        assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", " ".join(page.words))
    assert len(list(tmp_path.rglob("*.html"))) == 4


def test_junit_is_valid_whatever_the_messages_hold():
    every = "".join(map(chr, [*range(0x250), *range(0xD7F0, 0xE010), *range(0xFFF0, 0x10010)]))
    wrong = exercise("rotate_half", HALF, WRONG, message=every)
    text = junit_xml(grades(hostile(), with_exercise(result(every), wrong)))
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert len(root.findall("testsuite")) == 2


def test_a_message_does_nothing_in_a_terminal_either():
    for one in (*hostile().exercises, *not_tested(trouble=NASTY).exercises):
        text = plain_message(not_tested(trouble=NASTY), one)
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\n=1", "＝1"])
def test_no_cell_is_a_formula(name):
    for text in (grades_csv(grades(result(name))), canvas_csv(grades(result(name)))):
        cells = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
        assert any(cell.startswith("'") for cell in cells)
        assert not any(cell.lstrip().startswith(tuple("=+-@\t\r＝")) for cell in cells)


def test_all_files_can_be_written_and_read_whatever_is_in_them(tmp_path):
    written = write_reports(grades(hostile()), tmp_path)
    assert all(path.exists() for path in written)
    for path in tmp_path.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert "\x00" not in text
        assert "\x1b" not in text


# --- tables ---------------------------------------------------------------------------------


def test_grades_have_a_column_for_each_lesson_and_exercise():
    header, ann = table(grades_csv(grades(result(rotate_half=WRONG))))
    row = dict(zip(header, ann, strict=True))
    assert len(header) == 5 + sum(1 + len(lesson.exercises) for lesson in lessons())
    assert row["page"] == "feedback/ann.html"
    assert (row["student"], row["total"], row["of"]) == ("ann", str(BUT_ONE), str(ALL))
    names = ("rope", "rope.rotate_half", "rope.ntk_base")
    assert [row[name] for name in names] == [str(BUT_ONE), "0", str(WORTH["ntk_base"])]


def test_what_canvas_marks_as_late_is_told_of_the_lesson():
    own = [result("ann", "lookup"), replace(result("ann"), late=True, says="Canvas"), result("bob")]
    header, ann, bob = table(grades_csv(grades(*own)))
    assert header[:4] == ["student", "total", "of", "late"]
    assert [row[:4] for row in (ann, bob)] == [
        ["ann", str(BOTH), str(BOTH), "yes"],
        ["bob", str(ALL), str(ALL), ""],
    ]
    says = "Handed in late, says Canvas"
    assert feedback(*own[:2]).says(says)
    assert f"h{says[1:]}" in gradescope(*own[:2])["output"]
    assert not feedback(own[2]).says("late")
    assert overview(*own).says(f"ann rope h{says[1:]}")
    assert grading.from_text(grading.to_text(own[1])).late


def test_a_lesson_beyond_the_hundred_is_in_no_total_but_its_own():
    own = [result("ann"), result("ann", "gpt")]
    header, ann = table(grades_csv(grades(*own)))
    row = dict(zip(header, ann, strict=True))
    of_gpt = find_lesson("gpt").points
    assert (row["total"], row["of"], row["gpt"]) == (str(ALL), str(ALL), str(of_gpt))
    assert feedback(*own).says(f"{ALL} of {ALL} points")
    assert overview(*own).says(f"median {ALL} of {ALL} points")
    alone = grades(own[1]).students[0]
    assert (alone.points, alone.worth) == (of_gpt, of_gpt)


def test_not_graded_is_empty_and_not_handed_in_is_0():
    missing = not_tested("bob", "lookup", "lookup.py was not handed in.")
    killed = not_tested("bob", "learned", "The grader itself was killed.", key="")
    own = [result("bob"), missing, killed]
    header, bob = table(grades_csv(grades(*own)))
    row = dict(zip(header, bob, strict=True))
    assert (row["lookup"], row["lookup.lookup"]) == ("0", "0")
    assert (row["learned"], row["learned.GPTEmbedding"], row["skipgram"]) == ("", "", "")
    assert (row["total"], row["of"]) == (str(ALL), str(BOTH))
    assert feedback(*own).says(f"{ALL} of {BOTH} points")


def test_grades_open_in_excel_with_every_name():
    text = grades_csv(grades(result("Zoë, Müller")))
    assert text.startswith("\ufeff")
    assert '"Zoë, Müller"' in text


def test_canvas_finds_students_and_assignments():
    own = [result("doe, jane", rotate_half=TO_DO), result("bob", "lookup")]
    header, possible, bob, jane = table(canvas_csv(grades(*own)))
    assert header[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert header[5:] == ["What and Where 1: lookup", "What and Where 5: rope"]
    assert possible == ["Points Possible", "", "", "", "", str(LOOKUP), str(ALL)]
    assert bob == ["bob", "", "bob", "bob", "", str(LOOKUP), ""]
    assert jane == ["doe, jane", "", "doe, jane", "doe, jane", "", "", str(BUT_ONE)]


def test_canvas_knows_by_its_own_id_whom_it_has_called_so():
    own = [replace(result("doejane"), canvas_id="12345")]
    assert table(canvas_csv(grades(*own)))[2][:5] == ["doejane", "12345", "", "", ""]


def test_canvas_gets_no_lesson_that_nobody_has_begun():
    names = [exercise.name for exercise in find_lesson("lookup").exercises]
    stub = result(lesson="lookup", **dict.fromkeys(names, TO_DO))
    own = [result(), stub, not_tested(lesson="skipgram", trouble="skipgram.py was not handed in.")]
    assert table(canvas_csv(grades(*own)))[0][5:] == ["What and Where 5: rope"]


def test_canvas_gets_0_where_nobody_has_done_more_than_the_stub():
    to_do = dict.fromkeys((one.name for one in find_lesson("rope").exercises), TO_DO)
    own = [result("ann", **to_do), not_tested("ann", "lookup", "lookup.py was not handed in.")]
    header, _, ann = table(canvas_csv(grades(*own)))
    assert (header[5:], ann[5:]) == (["What and Where 5: rope"], ["0"])


def test_canvas_keeps_what_it_has_where_nothing_was_handed_in():
    own = [result("ann"), not_tested("bob", "rope", "rope.py was not handed in.")]
    *_, ann, bob = table(canvas_csv(grades(*own)))
    assert (ann[5:], bob[5:]) == ([str(ALL)], [""])
    *_, bob = table(canvas_csv(grades(result("ann"), not_tested("bob", "rope", "Broken."))))
    assert bob[5:] == ["0"]


def test_no_student_can_say_what_points_are_possible():
    """Canvas takes each row for it whose first cell holds these words."""
    rows = table(canvas_csv(grades(result("my Points Possible"))))
    assert sum("Points Possible" in row[0] for row in rows) == 1


# --- Gradescope and JUnit -------------------------------------------------------------------


def test_gradescope_gets_points_and_messages_by_exercise():
    document = gradescope(KNOWN_MISTAKE)
    assert document["score"] == BUT_ONE
    assert sum(test["max_score"] for test in document["tests"]) == ALL
    assert sum(test["score"] for test in document["tests"]) == document["score"]
    test = document["tests"][1]
    assert (test["number"], test["status"]) == ("5.2", "failed")
    assert test["name"].startswith("rotate_half: ")
    assert test["output"] == plain_message(KNOWN_MISTAKE, KNOWN_MISTAKE.exercises[1])
    formats = {document[f"{what}_format"] for what in ("output", "test_output", "test_name")}
    assert formats == {"text"}
    assert document["tests"][0] | {"status": "passed", "output": ""} == document["tests"][0]


def test_junit_tells_wrong_from_to_do_from_not_tested():
    own = [result(rotate_half=WRONG, ntk_base=TO_DO), not_tested("bob")]
    ann, bob = ElementTree.fromstring(junit_xml(grades(*own)).encode())
    assert ann.attrib["name"] == "ann: rope"
    counts = [ann.attrib[key] for key in ("tests", "failures", "skipped", "errors")]
    assert counts == [str(len(WORTH)), "1", "1", "0"]
    failure = ann.find("testcase[@name='rotate_half']/failure")
    assert failure.attrib["message"].startswith("one pair makes a quarter turn")
    assert failure.attrib["message"].endswith("not the ones they should be")
    assert "want    [-4, 3]" in failure.text
    assert ann.find("testcase[@name='ntk_base']/skipped") is not None
    assert len(ann.find("testcase[@name='apply_rope']")) == 0
    assert (bob.attrib["errors"], bob.find("testcase/error").text) == (str(len(WORTH)), BROKEN)
    points = ann.find("properties/property[@name='points']")
    assert points.attrib["value"] == str(BUT_ONE - WORTH["ntk_base"])


# --- the class ------------------------------------------------------------------------------


def wrong(student, advice="", message=MESSAGE):
    return with_exercise(result(student), exercise("rotate_half", HALF, WRONG, advice, message))


def test_the_overview_counts_how_every_exercise_ended():
    page = overview(
        result("ann"),
        result("bob", rotate_half=WRONG),
        result("cy", rotate_half=TO_DO),
        not_tested("dee"),
    )
    assert page.says(f"4 students, median {BUT_ONE} of {ALL} points")
    assert page.says("rotate_half 1 1 1 1")
    (histogram,) = page.labels
    tenth = min(10 * BUT_ONE // ALL, 9)
    assert histogram.startswith(f"Students by their share of {ALL} points: 1 with 0 to 10 %,")
    assert f"{3 if tenth == 9 else 2} with {10 * tenth} to {10 * tenth + 10} %" in histogram


def test_who_was_not_graded_does_not_count_in_the_median():
    page = overview(result("ann"), replace(not_tested("dee"), key=""))
    assert page.says(f"median {ALL} of {ALL} points, 1 student")


def test_the_most_frequent_misconception_comes_first_with_an_example():
    rare = wrong("fay", "a rare one.")
    frequent = [wrong(student, "a frequent one.") for student in ("bob", "cy", "dee")]
    page = overview(rare, *frequent, result("gus", rotate_half=WRONG))
    example = "called rotate_half([3, 4]) got [4, -3] want [-4, 3]"
    assert page.says(f"3 a frequent one. rope {example} bob ; cy ; dee 1")
    assert page.says("the test “one pair makes a quarter turn” does not pass")


def test_an_example_names_nobody():
    """That of bob does, in his own words: another's is shown, and where there is none, none is."""
    own = [wrong("bob", "alike.", f"{MESSAGE}\n  it is Bob"), wrong("cy", "alike.")]
    assert overview(*own).says("called rotate_half")
    alone = overview(own[0])
    assert alone.says("1 alike.")
    assert not alone.says("called")
    assert not Page(projected_page(grades(own[0]))).says("called")


def test_who_must_act_is_said_by_turns():
    note = "rope (1).py was taken for rope.py"
    page = overview(
        *(replace(not_tested("ann", stem), notes=(note,)) for stem in ("rope", "lookup")),
        asking(replace(result("bob"), notes=(note, f"{WHOSE}: nobody can tell")), "Why?"),
        replace(not_tested("cy", trouble="The grader itself was killed."), key=""),
        not_tested("dee", trouble="rope.py was not handed in."),
        people=[Person(one) for one in ("ann", "bob", "cy")],
        about_class=["Nobody's: <b>.py."],
    )
    text = " ".join(page.words)
    order = [
        "You 1 question waiting for an answer",
        "rotate_half : Why?: bob",
        "1 module not graded",
        "The grader itself was killed.: cy",
        "2 notes on whose work something is",
        f"{WHOSE}: nobody can tell: bob",
        "Nobody's: <b>.py.",
        "1 student not on the roster",
        "Students 1 module that cannot be tested",
        f"{BROKEN}: ann",
        "modules not handed in",
        f"{note}: ann ; bob",
    ]
    places = [text.find(one) for one in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)
    assert text.count(note) == 1


def test_an_uncertain_time_is_for_the_instructor_to_judge():
    due = {"rope": Assignment("rope", NOW - timedelta(days=3))}
    own = [ago(1, result("ann")), ago(1, result("bob"), "zip"), result("cy")]
    page = overview(*own, assignments=due, late=LateRule(10, 50))
    assert page.says("2 modules handed in at an uncertain time")
    assert page.says("says zip, which is not taken for certain: bob")
    assert page.says("due 28 Nov 2026 12:00, handed in at an unknown time: cy")
    said = "due 28 Nov 2026 12:00, handed in 30 Nov 2026 12:00, says Moodle, 2 days late"
    assert page.says(f"ann rope {said}, which costs 20 % {ALL} {0.8 * ALL:g}")


def test_points_of_the_table_are_an_independent_sum():
    """Of made-up classes: judged, decided, late, excused, not handed in."""
    own = [
        replace(result(f"s{n}", stem, **{name: WRONG for name in names[: n % 3]}), late=False)
        for stem in ("lookup", "rope")
        for names in [[one.name for one in find_lesson(stem).exercises]]
        for n in range(6)
        if not (n == 5 and stem == "rope")
    ]
    decided = Decision("s0", "rope", "rotate_half", 0.5, "half of it")
    excused = Decision("s1", "lookup", "", None, "ill")
    due = {stem: Assignment(stem, NOW - timedelta(days=9)) for stem in ("lookup", "rope")}
    own = [ago(8.1, one) if (one.student, one.lesson) == ("s2", "rope") else one for one in own]
    of_class = grades(
        *own,
        people=[Person(f"s{n}") for n in range(6)],
        decisions=(decided, excused),
        assignments=due,
        late=LateRule(per_day=10),
    )
    page = overview_page(of_class, (), ())
    html = re.findall(
        r'<tr><th scope="row"><a href="([^"]+)">s\d</a></th><td class="s">([^<]*)', page
    )
    judged = {}
    for one in own:
        judged[one.student, one.lesson] = sum(
            each.worth for each in one.exercises if each.status == PASSED
        )
    wanted = {f"s{n}": sum(judged.get((f"s{n}", stem), 0) for stem in due) for n in range(6)}
    wanted["s0"] -= HALF - 0.5
    wanted["s1"] -= judged["s1", "lookup"]
    wanted["s2"] -= judged["s2", "rope"] * 0.1
    assert {path: float(points) for path, points in html} == {
        feedback_path(name): pytest.approx(points) for name, points in wanted.items()
    }
    for student in of_class.students:
        points = f"{wanted[student.student]:.2f}".rstrip("0").rstrip(".")
        assert Page(feedback_page(student, of_class)).says(f"{points} of {student.worth} points")
    assert Page(page).says(f"Judged {HALF}, counts 0.5 of {HALF}. half of it")
    assert Page(page).says(f"Excused: judged {judged['s1', 'lookup']}, counts neither way. ill")


def test_changes_are_told_by_what_made_them():
    why = "The same module passes what refused it: test_sign."
    found = [Change(one, "rope", "rotate_half", 0, 3, why) for one in ("ann", "bob")]
    page = overview(result("ann"), result("bob"), changes=[*found])
    assert page.says(f"rope.rotate_half +3 {why} ann ; bob")
    assert overview(result("ann"), changes=[]).says("Nobody gained or lost anything.")
    assert not overview(result("ann")).says("earlier run")


def test_nobody_is_named_where_a_class_looks_on(tmp_path):
    people = [Person(f"key{n}", f"Zebulon Quist{n}", email=f"z{n}@x.org") for n in range(9)]
    own = [wrong(one.key, "a frequent one.", f"{MESSAGE}\n  {one.name}") for one in people]
    of_class = grades(*own, people=people)
    write_reports(of_class, tmp_path)
    text = (tmp_path / "project.html").read_text(encoding="utf-8")
    assert Page(text).says("9 a frequent one.")
    assert not re.search(r"key\d|Zebulon|Quist|z\d@|feedback/", text)
    assert "Zebulon" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_projected_page_says_how_many_mistakes_it_leaves_out():
    names = [(lesson.stem, one.name) for lesson in lessons() for one in lesson.exercises]
    for n, said in ((10, False), (12, True)):
        own = [result(f"s{i}", stem, **{name: WRONG}) for i, (stem, name) in enumerate(names[:n])]
        page = Page(projected_page(grades(*own)))
        assert page.says(f"The 10 most frequent of {n}.") == said


# --- published answers ------------------------------------------------------------------------


def test_published_answers_are_named_on_the_page_of_the_class_alone(tmp_path):
    students = ["ann", "bob", "cy", "dee"]
    published = [Published(student, "rope", ()) for student in ("ann", "bob")]
    published += [Published(student, "rope", ("`rope_tables`",)) for student in ("cy", "dee")]
    write_reports(grades(*map(result, students)), tmp_path, published)
    for path in tmp_path.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert ("published answer" in text.lower()) == (path.name == "index.html"), path
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert page.says("4 modules with published answers")
    assert page.says("never a verdict")
    assert page.says("rope.py has published answers: rope_tables")
    assert page.says("word for word")


def test_an_empty_class_is_said_to_be_one():
    assert overview().says("Nothing was graded.")


def test_a_class_of_500_is_one_page_below_2_mb_and_quick():
    start = time.process_time()
    many = [
        replace(
            with_exercise(
                result(f"student number {n}", lesson.stem, **dict.fromkeys(names, WRONG)),
                exercise(names[0], 2, WRONG, f"advice {n % 7}"),
            ),
            notes=(f"note {n} {'of many words ' * 50}",),
        )
        for n in range(500)
        for lesson in lessons()
        for names in [[one.name for one in lesson.exercises]]  # all of them
    ]
    page = overview_page(grades(*many))
    assert len(page.encode("utf-8")) < 2_000_000
    assert time.process_time() - start < 4


def test_every_file_is_replaced_in_one_step(tmp_path, monkeypatch):
    replaced = []
    replace_file = os.replace

    def noted(draft, path):
        replaced.append(path)
        replace_file(draft, path)

    monkeypatch.setattr("os.replace", noted)
    write_reports(grades(result(), result("bob")), tmp_path)
    assert set(replaced) == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert len(replaced) == 5 + 2 * 2


# --- what a class's file lets students see --------------------------------------------------


def test_without_points_no_number_tells_them():
    """But for those of a message, of a date, and of the student's own name."""
    due = {"rope": Assignment("rope", NOW - timedelta(days=3))}
    decision = Decision("ann", "rope", "ntk_base", 1, "a reason", "Have a look at the base.")
    own = ago(0, result(rotate_half=WRONG, ntk_base=TO_DO))
    of_class = grades(
        own,
        feedback=Feedback(points=False, messages=False),
        assignments=due,
        late=LateRule(10),
        decisions=(decision,),
    )
    html = feedback_page(of_class.students[0], of_class)
    page = Page(html)
    times = "Due 28 Nov 2026 12:00, handed in 1 Dec 2026 12:00, says Moodle, 3 days late."
    assert page.says(times)
    words = " ".join(page.words).replace(times, "")
    assert not re.search(r"\d|points|%", words), words
    assert page.text("title") == "What and Where: ann"
    assert page.says("Some exercises passed, some are not right yet, some are still to do.")
    assert page.says("Counts by the instructor's decision. Have a look at the base.")
    assert not page.says("a reason")
    given = gradescope(own, feedback=Feedback(points=False))
    assert given["visibility"] == "after_published"
    assert "want    [-4, 3]" in given["output"]
    assert "points" not in given["output"]


def test_without_messages_there_are_statuses_alone():
    page = feedback(KNOWN_MISTAKE, feedback=Feedback(messages=False))
    assert page.says(f"Not right yet rotate_half ({HALF} points) Passed")
    assert not page.says("one pair makes")
    broken = feedback(not_tested(), feedback=Feedback(messages=False))
    assert broken.says("nothing of this lesson could be tested")
    assert not broken.says("NameError")
    assert "one pair makes" not in json.dumps(
        gradescope(KNOWN_MISTAKE, feedback=Feedback(messages=False))
    )


@pytest.mark.parametrize("n", range(4))
def test_hints_are_shown_up_to_a_level_where_something_is_not_right_yet(n):
    page = feedback(result(rotate_half=WRONG, ntk_base=TO_DO), feedback=Feedback(hints=n))
    rope = find_lesson("rope")
    for name in WORTH:
        for place, hint in enumerate(rope.exercise(name).hints):
            shown = "".join(hint.replace("`", "").split()) in "".join(page.words)
            assert shown == (name in ("rotate_half", "ntk_base") and place < n)


def test_the_reference_is_shown_from_its_date_on_but_not_before_a_students_own():
    later = {"rope": Assignment("rope", NOW + timedelta(days=1))}
    for after, shown in ((None, False), (NOW + timedelta(hours=1), False), (NOW, True)):
        page = feedback(result(), feedback=Feedback(reference_after=after))
        assert page.says("The course's own answers") == ("def rotate_half" in page.text("pre"))
        assert page.says("The course's own answers") == shown
    extended = feedback(
        not_tested(trouble="rope.py was not handed in."),
        feedback=Feedback(reference_after=NOW),
        assignments=later,
    )
    assert not extended.says("The course's own answers")


def test_an_excused_exercise_is_not_asked_for():
    excused = [Decision("ann", "rope", one, None, "ill") for one in ("rotate_half", "ntk_base")]
    page = feedback(result(rotate_half=WRONG, ntk_base=TO_DO), decisions=tuple(excused))
    for words in ("Next:", "Not right yet", "Still to do"):
        assert not page.says(words)


def test_the_same_message_is_told_once():
    page = feedback(result(rotate_half=WRONG, ntk_base=WRONG))
    assert page.text("pre").count("want    [-4, 3]") == 1
    assert page.says("the same in ntk_base")


def test_who_is_on_the_roster_and_handed_in_nothing_has_a_page(tmp_path):
    people = [Person("ann", "Ann Lee"), Person("bob", "Bob Ray")]
    due = {"rope": Assignment("rope", NOW - timedelta(days=1))}
    write_reports(grades(result("ann"), people=people, assignments=due), tmp_path)
    page = Page((tmp_path / "feedback/bob.html").read_text(encoding="utf-8"))
    assert page.says(f"Bob Ray 0 of {ALL} points Nothing was tested.")
    assert page.says("Not handed in 5 Rotate queries and keys")


def test_decisions_comments_and_answers_stand_beside_what_was_judged():
    decision = Decision(
        "ann", "rope", "rotate_half", 2, "the test was strict", "Fine by the paper."
    )
    page = feedback(
        asking(result(rotate_half=WRONG), "Is a sign not a convention?"),
        decisions=(decision,),
        comments=(Comment("ann", "rope", "Well written."),),
    )
    assert page.says(f"rotate_half : Judged 0, counts 2 of {HALF}. Fine by the paper.")
    assert page.says("Well written.")
    assert page.says("rotate_half : Is a sign not a convention? Fine by the paper. Well written.")
    assert not page.says("a strict test")


# --- in a browser ---------------------------------------------------------------------------


@pytest.mark.browser
def test_the_table_sorts_and_filters_by_keyboard(chromium, tmp_path):
    people = [
        Person(key, section=section) for key, section in (("ann", "A"), ("bob", "B"), ("cy", "A"))
    ]
    own = [result("ann", rotate_half=WRONG), result("bob"), result("cy", ntk_base=TO_DO)]
    write_reports(grades(*own, people=people), tmp_path)
    page = chromium.new_page()
    said = []
    page.on("console", lambda one: said.append(one.text))
    page.goto((tmp_path / "index.html").as_uri())

    def shown():
        return page.locator("#matrix tbody tr:visible th a").all_inner_texts()

    assert shown() == ["ann", "bob", "cy"]
    sort = page.locator("#matrix thead th:nth-child(2) button")
    for order in ("ascending", "descending"):
        sort.focus()
        page.keyboard.press("Enter")
        assert page.locator("#matrix [aria-sort]").get_attribute("aria-sort") == order
        points = list(map(int, page.locator("#matrix tbody td:nth-child(2)").all_inner_texts()))
        assert points == sorted(points, reverse=order == "descending")
    page.select_option("#section", "A")
    assert sorted(shown()) == ["ann", "cy"]
    page.select_option("#status", "w")
    assert shown() == ["ann"]
    assert page.inner_text("#count") == "1 of 3"
    page.select_option("#status", "")
    page.fill("#text", "CY")
    assert shown() == ["cy"]
    page.select_option("#lesson", "-")
    assert page.locator("#matrix thead th:visible").count() == 3
    assert not said
    page.close()


@pytest.mark.browser
def test_the_table_is_read_without_the_script(chromium, tmp_path):
    write_reports(grades(result("ann", rotate_half=WRONG)), tmp_path)
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto((tmp_path / "index.html").as_uri())
    assert page.locator("#matrix td.w").inner_text() == "✗"
    assert not page.locator("form").is_visible()
    page.context.close()
