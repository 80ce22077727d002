"""What grading gives out says the same everywhere, and is safe whatever a student wrote."""

import csv
import json
import os
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import PurePosixPath
from xml.etree import ElementTree

import pytest

from course.grading.names import WHOSE, file_stem
from course.grading.reports import write_reports
from course.grading.reports.classroom import by_student, points_of
from course.grading.reports.feedback import feedback_page
from course.grading.reports.gradescope import gradescope_results
from course.grading.reports.junit import junit_xml
from course.grading.reports.message import plain_message
from course.grading.reports.overview import overview_page
from course.grading.reports.tables import canvas_csv, grades_csv
from course.grading.similarity.answers import Known
from course.grading.similarity.copies import Fragment, Resemblance
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


KNOWN_MISTAKE = with_exercise(result(), exercise("rotate_half", HALF, WRONG, ADVICE))


class Page(HTMLParser):
    """A page taken apart; what is not well-formed, not safe or leads nowhere fails at once."""

    TAGS = (
        "html|head|meta|title|style|body|main|header|nav|section|h[1-4]|p|a|ul|li|table|thead|tbody"
        "|tr|th|td|div|span|strong|code|pre|kbd|dl|dt|dd|details|summary"
    )
    ATTRIBUTES = (
        "lang|charset|http-equiv|content|name|id|class|href|aria-(label|labelledby|hidden)|role"
        "|scope|tabindex|style"
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
        assert self.metas["Content-Security-Policy"] == (
            "default-src 'none'; style-src 'unsafe-inline'"
        )
        assert self.text("title")
        assert "@import" not in self.text("style")
        assert "url(" not in self.text("style")

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        assert re.fullmatch(self.TAGS, tag)
        assert all(re.fullmatch(self.ATTRIBUTES, name) for name in facts)
        if tag == "html":
            assert facts["lang"] == "en"
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.ids += [facts["id"]] if "id" in facts else []
        self.links += [facts["href"]] if "href" in facts else []
        self.labels += [facts["aria-label"]] if facts.get("role") == "img" else []
        assert re.fullmatch(r"flex:\d+", facts.get("style", "flex:1"))
        self.metas[facts.get("http-equiv", facts.get("name"))] = facts.get("content")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data.split() if self.open[-1:] not in (["style"], ["title"]) else []
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def text(self, tag: str) -> str:
        """What stands directly in the elements of one kind."""
        return "".join(self.texts.get(tag, []))

    def says(self, sentence: str) -> bool:
        """Whether a sentence can be read on the page, however its lines are broken."""
        return " ".join(sentence.split()) in " ".join(self.words)


def feedback(*own) -> Page:
    return Page(feedback_page(own[0].student, own))


def overview(*all_of_them, resemblances=None) -> Page:
    return Page(overview_page(by_student(all_of_them), resemblances or {}))


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
    assert page.says("○ to do")
    assert not page.says("wrong")
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
    output = json.loads(gradescope_results(own))["output"]
    assert output == f"{BOTH} of {BOTH} points.\n\nWhat you handed in:\n- {RENAMED}"
    for suite in ElementTree.fromstring(junit_xml(by_student(own)).encode()):
        assert suite.find("properties/property[@name='note']").attrib["value"] == RENAMED


def test_lessons_that_were_not_handed_in_come_last_and_in_one_line_each():
    missing = not_tested(lesson="lookup", trouble="lookup.py was not handed in.")
    page = feedback(missing, result(rotate_half=WRONG))
    text = " ".join(page.words)
    assert page.says("Not handed in Nothing of this could be tested, so it earned no points yet.")
    assert text.index("exercises/rope.py") < text.index("Not handed in")
    assert text.endswith("1 An embedding is a table, not a layer: lookup.py was not handed in.")


def test_what_could_not_be_used_is_not_called_missing():
    missing = not_tested(trouble="rope.py was not handed in.")
    assert feedback(missing).says("rope.py was not handed in.")
    unused = replace(missing, notes=("rope.py is larger than 1 MB",))
    for said in (feedback(unused).says, json.dumps(gradescope_results([unused])).__contains__):
        assert said("No rope.py that can be graded was handed in.")
        assert said("rope.py is larger than 1 MB")
        assert not said("rope.py was not handed in")


def test_what_is_for_the_instructor_is_not_on_the_students_page():
    note = f"{WHOSE}: ann_1; another student's name looks the same"
    own = replace(result(), notes=(note, RENAMED))
    for text in (gradescope_results([own]), junit_xml(by_student([own]))):
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
    write_reports([result(name) for name in NAMES], {}, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    pages = {f"feedback/{path.name}" for path in (tmp_path / "out/feedback").iterdir()}
    assert len(pages) == len(NAMES)
    page = Page((tmp_path / "out/index.html").read_text(encoding="utf-8"))
    assert {link for link in page.links if not link.startswith("#")} == pages
    assert all(len(PurePosixPath(link).parts) == 2 for link in pages)


def test_nothing_that_a_student_wrote_becomes_markup():
    looks_like = Resemblance(NASTY, "ann", 0.9, (Fragment((1, 2), (3, 4)),))
    broken = not_tested("bob", trouble=f"{NASTY}\n{NASTY}")
    class_page = overview(hostile(), broken, resemblances={"rope": [looks_like]})
    known = [Known(NASTY, "rope", ()), Known(f"{NASTY}2", "rope", ("`rope_tables`",))]
    known_page = with_known(["ann"], known, [(f"`rope.py` has `{NASTY}`", NASTY)])
    for page in (feedback(hostile()), feedback(broken), class_page, known_page):
        assert page.says("</pre><script>alert(1)</script>")  # as text
        assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", " ".join(page.words))
    assert feedback(hostile()).text("li").startswith("</pre><script>")  # a note


def test_junit_is_valid_whatever_the_messages_hold():
    every = "".join(map(chr, [*range(0x250), *range(0xD7F0, 0xE010), *range(0xFFF0, 0x10010)]))
    wrong = exercise("rotate_half", HALF, WRONG, message=every)
    text = junit_xml(by_student([hostile(), with_exercise(result(every), wrong)]))
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert len(root.findall("testsuite")) == 2


def test_a_message_does_nothing_in_a_terminal_either():
    for one in (*hostile().exercises, *not_tested(trouble=NASTY).exercises):
        text = plain_message(not_tested(trouble=NASTY), one)
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\n=1", "＝1"])
def test_no_cell_is_a_formula(name):
    for text in (grades_csv(by_student([result(name)])), canvas_csv(by_student([result(name)]))):
        cells = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
        assert any(cell.startswith("'") for cell in cells)
        assert not any(cell.lstrip().startswith(tuple("=+-@\t\r＝")) for cell in cells)


def test_all_files_can_be_written_and_read_whatever_is_in_them(tmp_path):
    written = write_reports([hostile()], {}, tmp_path)
    assert all(path.exists() for path in written)
    for path in tmp_path.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert "\x00" not in text
        assert "\x1b" not in text


# --- tables ---------------------------------------------------------------------------------


def test_grades_have_a_column_for_each_lesson_and_exercise():
    header, ann = table(grades_csv(by_student([result(rotate_half=WRONG)])))
    row = dict(zip(header, ann, strict=True))
    assert len(header) == 5 + sum(1 + len(lesson.exercises) for lesson in lessons())
    assert row["page"] == "feedback/ann.html"
    assert (row["student"], row["total"], row["of"]) == ("ann", str(BUT_ONE), str(ALL))
    names = ("rope", "rope.rotate_half", "rope.ntk_base")
    assert [row[name] for name in names] == [str(BUT_ONE), "0", str(WORTH["ntk_base"])]


def test_what_canvas_marks_as_late_is_told_of_the_lesson():
    own = [result("ann", "lookup"), replace(result("ann"), late=True), result("bob")]
    header, ann, bob = table(grades_csv(by_student(own)))
    assert header[:4] == ["student", "total", "of", "late"]
    assert [row[:4] for row in (ann, bob)] == [
        ["ann", str(BOTH), str(BOTH), "yes"],
        ["bob", str(ALL), str(ALL), ""],
    ]
    says = "rope.py was handed in late, says Canvas"
    assert feedback(*own[:2]).says(f"What you handed in {says}")
    assert not feedback(own[2]).says("late")
    assert overview(*own).says(f"{says} ann")
    assert grading.from_text(grading.to_text(own[1])).late


def test_what_nobody_handed_in_is_a_note_about_the_class():
    page = Page(overview_page(by_student([result()]), {}, about_class=["Nobody's: <b>.py."]))
    assert page.says("Notes Nobody's: <b>.py.")
    assert page.says("0 sentences about what could not be tested, 1 note")


def test_a_lesson_beyond_the_hundred_is_in_no_total_but_its_own():
    own = [result("ann"), result("ann", "gpt")]
    header, ann = table(grades_csv(by_student(own)))
    row = dict(zip(header, ann, strict=True))
    of_gpt = find_lesson("gpt").points
    assert (row["total"], row["of"], row["gpt"]) == (str(ALL), str(ALL), str(of_gpt))
    assert feedback(*own).says(f"{ALL} of {ALL} points")
    assert overview(*own).says(f"on average {ALL}.0 of {ALL} points")
    assert points_of(own[1:]) == (of_gpt, of_gpt)


def test_not_graded_is_empty_and_not_handed_in_is_0():
    missing = not_tested("bob", "lookup", "lookup.py was not handed in.")
    killed = not_tested("bob", "learned", "The grader itself was killed.", key="")
    own = [result("bob"), missing, killed]
    header, bob = table(grades_csv(by_student(own)))
    row = dict(zip(header, bob, strict=True))
    assert (row["lookup"], row["lookup.lookup"]) == ("0", "0")
    assert (row["learned"], row["learned.GPTEmbedding"], row["skipgram"]) == ("", "", "")
    assert (row["total"], row["of"]) == (str(ALL), str(BOTH))
    assert points_of(own) == (ALL, BOTH)
    assert feedback(*own).says(f"{ALL} of {BOTH} points")


def test_grades_open_in_excel_with_every_name():
    text = grades_csv(by_student([result("Zoë, Müller")]))
    assert text.startswith("\ufeff")
    assert '"Zoë, Müller"' in text


def test_canvas_finds_students_and_assignments():
    own = [result("doe, jane", rotate_half=TO_DO), result("bob", "lookup")]
    header, possible, bob, jane = table(canvas_csv(by_student(own)))
    assert header[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert header[5:] == ["What and Where 1: lookup", "What and Where 5: rope"]
    assert possible == ["Points Possible", "", "", "", "", str(LOOKUP), str(ALL)]
    assert bob == ["bob", "", "bob", "bob", "", str(LOOKUP), ""]
    assert jane == ["doe, jane", "", "doe, jane", "doe, jane", "", "", str(BUT_ONE)]


def test_canvas_knows_by_its_own_id_whom_it_has_called_so():
    own = [replace(result("doejane"), canvas_id="12345")]
    assert table(canvas_csv(by_student(own)))[2][:5] == ["doejane", "12345", "", "", ""]


def test_canvas_gets_no_lesson_that_nobody_has_begun():
    names = [exercise.name for exercise in find_lesson("lookup").exercises]
    stub = result(lesson="lookup", **dict.fromkeys(names, TO_DO))
    own = [result(), stub, not_tested(lesson="skipgram", trouble="skipgram.py was not handed in.")]
    assert table(canvas_csv(by_student(own)))[0][5:] == ["What and Where 5: rope"]


def test_canvas_gets_0_where_nobody_has_done_more_than_the_stub():
    to_do = dict.fromkeys((one.name for one in find_lesson("rope").exercises), TO_DO)
    own = [result("ann", **to_do), not_tested("ann", "lookup", "lookup.py was not handed in.")]
    header, _, ann = table(canvas_csv(by_student(own)))
    assert (header[5:], ann[5:]) == (["What and Where 5: rope"], ["0"])


def test_canvas_keeps_what_it_has_where_nothing_was_handed_in():
    own = [result("ann"), not_tested("bob", "rope", "rope.py was not handed in.")]
    *_, ann, bob = table(canvas_csv(by_student(own)))
    assert (ann[5:], bob[5:]) == ([str(ALL)], [""])
    *_, bob = table(canvas_csv(by_student([result("ann"), not_tested("bob", "rope", "Broken.")])))
    assert bob[5:] == ["0"]


def test_no_student_can_say_what_points_are_possible():
    """Canvas takes each row for it whose first cell holds these words."""
    rows = table(canvas_csv(by_student([result("my Points Possible")])))
    assert sum("Points Possible" in row[0] for row in rows) == 1


# --- Gradescope and JUnit -------------------------------------------------------------------


def test_gradescope_gets_points_and_messages_by_exercise():
    document = json.loads(gradescope_results([KNOWN_MISTAKE]))
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
    ann, bob = ElementTree.fromstring(junit_xml(by_student(own)).encode())
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


def test_the_overview_counts_how_every_exercise_ended():
    page = overview(
        result("ann"),
        result("bob", rotate_half=WRONG),
        result("cy", rotate_half=TO_DO),
        not_tested("dee"),
    )
    average = f"on average {(ALL + 2 * BUT_ONE) / 4:.1f} of {ALL} points"
    assert page.says(f"4 students, {average}")
    assert page.says(f"3 of 4 modules could be tested; {average}")
    assert page.labels[1] == "1 passed, 1 wrong, 1 to do, 1 not tested"
    assert page.says("rotate_half 1 1 1 1")


def test_who_was_not_graded_does_not_count_in_the_average_of_the_class():
    page = overview(result("ann"), replace(not_tested("dee"), key=""))
    assert page.says(f"2 students, on average {ALL}.0 of {ALL} points")
    assert page.says(f"1 of 2 modules could be tested; on average {ALL}.0 of {ALL} points")


def test_the_overview_names_the_most_frequent_mistakes_first():
    rare, frequent = ("a rare one.", ["ann"]), ("a frequent one.", ["bob", "cy", "dee", "eve"])
    page = overview(
        result("fay", rotate_half=WRONG),
        *(
            with_exercise(result(student), exercise("rotate_half", HALF, WRONG, advice))
            for advice, students in (rare, frequent)
            for student in students
        ),
    )
    text = " ".join(page.words)
    assert page.says("a frequent one. 4 students bob , cy , dee , eve a rare one. ann")
    assert page.says(f"No known mistake explains this: {MESSAGE.partition(chr(10))[0]} fay")
    in_class = text.partition("To talk about in class")[2].partition("Exercises")[0]
    assert "a frequent one." in in_class
    assert "a rare one." not in in_class


def test_the_overview_shows_what_no_known_mistake_explains():
    def wrong(student, message):
        return with_exercise(
            result(student),
            exercise("rotate_half", HALF, WRONG, message=f"{message}\n\n  got  1"),
        )

    two = [wrong("ann", "it is late"), wrong("bob", "it is late"), wrong("cy", "it is <b>cold")]
    page = overview(*two)
    assert page.says("No known mistake explains these: it is late ann , bob it is <b>cold cy")
    page = overview(*(wrong(f"s{n:02}", f"it is {n} o'clock") for n in range(22)))
    assert page.says("it is 19 o'clock s19 and 2 more")


def test_the_overview_says_who_may_need_help_with_what():
    page = overview(
        result("ann"),
        result("bob", rotate_half=WRONG, ntk_base=WRONG, alibi_bias=TO_DO),
        not_tested("cy"),
    )
    earned = ALL - sum(WORTH[name] for name in ("rotate_half", "ntk_base", "alibi_bias"))
    assert page.says(f"cy 0 of {ALL} not tested: rope")
    assert page.says(f"bob {earned} of {ALL} rotate_half, ntk_base 1 to do")
    assert page.says(f"1 to do ann {ALL} of {ALL} nothing")


def test_the_overview_tells_troubles_and_notes_once():
    note = "rope.py was found twice"
    page = overview(
        *(replace(not_tested("ann", stem), notes=(note,)) for stem in ("rope", "lookup")),
        replace(result("bob"), notes=(note,)),
    )
    assert page.says(f"{note} ann , bob")
    assert page.says(f"{BROKEN} ann")
    assert " ".join(page.words).count(note) == 1


def test_pairs_are_to_be_looked_at_and_no_verdict():
    fragments = (Fragment((10, 20), (14, 24)), Fragment((30, 31), (40, 41)))
    pair = Resemblance("ann", "bob", 0.834, fragments)
    page = overview(result("ann"), result("bob"), resemblances={"rope": [pair], "lookup": []})
    assert page.says("never a verdict")
    assert page.says("ann bob 83 % 10–20 and 14–24; 30–31 and 40–41")
    assert page.says("Look side by side : 1 pair")
    assert overview(result()).says("No two modules share much code")


CONCEALED = "`rope.py` has `exec`: what code it may make of that is compared with nobody's."


def with_known(students, known, concealed=()):
    return Page(overview_page(by_student(map(result, students)), {}, known, concealed))


def test_published_answers_are_to_be_looked_at_and_no_verdict():
    verbatim = [Known(student, "rope", ()) for student in ("ann", "bob")]
    rewritten = [
        Known("cy", "skipgram", ("`analogy`",)),
        Known("dee", "rope", ("`rope_tables`",)),
        Known("dee", "skipgram", ("`analogy`", "`SkipGram`, the other style")),
    ]
    page = with_known(["ann", "bob", "cy", "dee"], [*verbatim, *rewritten])
    assert page.says("Published answers : 4 students")
    assert page.says("something to look at, never a verdict")
    assert page.says("Module Students rope.py ann , bob")
    assert page.says("How many Students 3 answers dee 1 answer cy")
    assert page.says(
        "Which Students analogy cy , dee rope_tables dee SkipGram , the other style dee"
    )


def test_a_class_without_published_answers_is_told_so_in_a_sentence():
    page = with_known(["ann"], [])
    assert page.says("Published answers : 0 students")
    assert page.says("Nobody handed in an answer of the reference that is long enough")
    assert not page.says("word for word")
    assert not page.says("How many")


def test_what_may_be_concealed_is_a_note_of_the_class():
    page = with_known(["ann", "bob"], [], [(CONCEALED, "bob")])
    assert page.says("Notes rope.py has exec : what code it may make of that is compared with")
    assert page.says("1 note")


def test_what_is_to_be_looked_at_is_on_the_page_of_the_class_alone(tmp_path):
    known = [Known("ann", "rope", ("`rope_tables`",))]
    write_reports([result("ann")], {}, tmp_path, known, [(CONCEALED, "ann")])
    for path in tmp_path.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        of_class = path.name == "index.html"
        assert ("compared with nobody" in text) == ('<h2 id="known">' in text) == of_class, path


def test_answers_of_three_hundred_students_take_few_rows():
    known = [
        Known(f"s{n}", lesson.stem, tuple(f"`{one.name}`" for one in lesson.exercises[: n % 7]))
        for n in range(300)
        for lesson in lessons()
    ]
    html = overview_page(by_student([result(f"s{n}") for n in range(300)]), {}, known)
    section = html.partition('aria-labelledby="known"')[2]
    assert section.count("<tr>") < 10 * len(lessons())
    assert with_known(["ann"], known).says("Published answers : 300 students")


def test_an_empty_class_is_said_to_be_one():
    assert overview().says("Nothing was graded.")


def test_a_class_of_500_is_one_page_below_2_mb_and_quick():
    start = time.process_time()
    many = [
        replace(
            with_exercise(
                result(f"student number {n}", lesson.stem, **dict.fromkeys(wrong, WRONG)),
                exercise(wrong[0], 2, WRONG, f"advice {n % 7}"),
            ),
            notes=(f"note {n} {'of many words ' * 50}",),
        )
        for n in range(500)
        for lesson in lessons()
        for wrong in [[one.name for one in lesson.exercises]]  # all of them
    ]
    page = overview_page(by_student(many), {})
    assert len(page.encode("utf-8")) < 2_000_000
    assert time.process_time() - start < 4


def test_every_file_is_replaced_in_one_step(tmp_path, monkeypatch):
    replaced = []
    replace_file = os.replace

    def noted(draft, path):
        replaced.append(path)
        replace_file(draft, path)

    monkeypatch.setattr("os.replace", noted)
    write_reports([result(), result("bob")], {}, tmp_path)
    assert set(replaced) == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert len(replaced) == 4 + 2 * 2
