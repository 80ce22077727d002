"""What grading gives out says the same everywhere, and is safe whatever a student wrote."""

import base64
import csv
import hashlib
import json
import os
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from pathlib import PurePosixPath

import pytest

from course.core.syllabus import Status, find_lesson, lessons
from course.grading.grades import grades_of
from course.grading.judge.unit import GradedResult
from course.grading.names import OWNER_UNCLEAR, file_stem
from course.grading.reports import write_questions, write_reports
from course.grading.reports.feedback import feedback_page
from course.grading.reports.gradescope import gradescope_results
from course.grading.reports.overview import overview_page
from course.grading.reports.tables import grades_csv
from course.grading.submissions import Submission
from course.testing import result as grading
from course.testing.messages.message import plain_message
from course.testing.show import CALLED, GOT, WANT, labeled

DETAILS = {CALLED: "rotate_half([3, 4])", GOT: "[4, -3]", WANT: "[-4, 3]"}
MESSAGE = "the values are not the ones they should be\n\n" + "\n".join(
    f"  {labeled(*one)}" for one in DETAILS.items()
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


def result(student="ann", lesson="rope", **outcomes) -> GradedResult:
    """A lesson in which everything passed, but for the exercises named in `outcomes`."""
    exercises = [
        exercise(one.name, one.points, outcomes.get(one.name, PASSED))
        for one in find_lesson(lesson).exercises
    ]
    return GradedResult(lesson, tuple(exercises), seconds=0.5, student=student, key="a key")


def exercise(name, worth, outcome, advice="", message=MESSAGE):
    """An exercise with two tests, the second of which decides."""
    tests = (
        grading.TestResult("test_it_is_fine", PASSED),
        grading.TestResult(
            "test_one_pair_makes_a_quarter_turn", outcome, "" if outcome == PASSED else message
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
    return GradedResult(lesson, exercises, trouble, seconds=0.1, student=student, key=key)


def hostile(student=NASTY):
    """A result in which every text that may come from a student is an attack."""
    wrong = exercise("rotate_half", HALF, WRONG, NASTY, f"{NASTY}\n\n  {NASTY}")
    return with_exercise(result(student), wrong)


RENAMED = "rope (1).py was graded as rope.py"
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
KNOWN_MISTAKE = with_exercise(result(), exercise("rotate_half", HALF, WRONG, ADVICE))


class Page(HTMLParser):
    """A page taken apart; what is not well-formed, not safe or leads nowhere fails at once."""

    TAGS = (
        "html|head|meta|title|style|body|main|header|nav|section|h[1-4]|p|a|ul|li|table|thead|tbody"
        "|tr|th|td|div|span|strong|code|pre|kbd|dl|dt|dd|details|summary|small|q|mark|form|label"
        "|input|select|option|output|script"
    )
    ATTRIBUTES = (
        "lang|charset|http-equiv|content|name|id|class|href|aria-(label|labelledby|hidden)|role"
        "|scope|tabindex|open|hidden|type|value|data-lesson"
    )

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.words, self.headings = [], [], []
        self.ids, self.links, self.metas = [], [], {}
        self.texts: dict[str, list[str]] = {}
        assert page.startswith("<!doctype html>")
        self.html = page
        self.feed(page.replace("<wbr>", ""))
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
        """The text directly inside the elements of one kind."""
        return "".join(self.texts.get(tag, []))

    def says(self, sentence: str) -> bool:
        """Whether a sentence can be read on the page, however its lines are broken."""
        return " ".join(sentence.split()) in " ".join(self.words)


def grades(*results, notes=None, late=()):
    """The grades of a class.

    Args:
        notes: what is odd about the files of each student.
        late: the students whose work Canvas marks as late.
    """
    submissions = [
        Submission(
            name,
            {},
            (notes or {}).get(name, ()),
            late=frozenset(one.stem for one in lessons() if name in late),
        )
        for name in dict.fromkeys(one.student for one in results)
    ]
    return grades_of(results, submissions, now=NOW)


def feedback(*own, notes=()) -> Page:
    return Page(feedback_page(grades(*own, notes={own[0].student: notes}).students[0]))


def overview(*all_of_them, **known) -> Page:
    return Page(overview_page(grades(*all_of_them, **known)))


def gradescope(*own, notes=()) -> dict:
    of_class = grades(*own, notes={own[0].student: notes})
    return json.loads(gradescope_results(of_class.students[0]))


def as_text(page: str) -> str:
    """Return what a page says, a line for each of its parts."""
    page = re.sub(r"(?s)<(style|script|head|svg)\b.*?</\1>|<wbr>", "", page)
    page = re.sub(
        r"</?(p|h\d|li|ul|tr|div|section|d[ltd]|pre|summary|details|nav)\b[^>]*>", "\n", page
    )
    lines = unescape(re.sub(r"<[^>]+>", " ", page)).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


def part_of(page: str, name: str) -> str:
    """The text of one part of the overview."""
    _, _, rest = page.partition(f'<h2 id="{name}">')
    return as_text(rest.partition("<h2")[0])


def test_the_words_of_a_students_page(golden):
    missing = not_tested(lesson="lookup", trouble="lookup.py was not handed in.")
    own = {
        "a known mistake": [KNOWN_MISTAKE],
        "all passes": [result(), result(lesson="lookup")],
        "to do": [result(rotate_half=TO_DO, ntk_base=TO_DO)],
        "cannot be loaded": [not_tested(trouble=f"{BROKEN}\n  exercises/rope.py:3: x")],
        "one not handed in": [missing, result()],
    }
    of_all = {title: grades(*results, notes={"ann": (RENAMED,)}) for title, results in own.items()}
    too_large = not_tested(trouble="rope.py was not handed in.")
    of_all["too large"] = grades(too_large, notes={"ann": ("rope.py is larger than 1 MB",)})
    golden("student page", {t: as_text(feedback_page(g.students[0])) for t, g in of_all.items()})


def of_others(student, message="the sign is wrong", advice=""):
    return with_exercise(result(student), exercise("rotate_half", HALF, WRONG, advice, message))


def test_the_words_of_the_overview(golden):
    of_class = grades(
        KNOWN_MISTAKE, result("bob", rotate_half=WRONG), not_tested("cy"), late=["bob"]
    )
    page = overview_page(of_class, (), (f"{RENAMED}.",))
    golden("overview page", {"a class": as_text(page), "nobody": as_text(overview_page(grades()))})


def test_who_has_to_act_is_said_by_turns(golden):
    page = overview_page(
        grades(
            *(not_tested("ann", stem) for stem in ("rope", "lookup")),
            result("bob"),
            replace(not_tested("cy", trouble="The grader itself was killed."), key=""),
            not_tested("dee", trouble="rope.py was not handed in."),
            notes={"ann": (RENAMED,), "bob": (RENAMED, f"{OWNER_UNCLEAR}: nobody can tell")},
        ),
        (),
        ["Nobody's: <b>.py."],
    )
    golden("overview page", {"who has to act": part_of(page, "act")})


def test_the_most_frequent_misconception_comes_first_and_how_it_ended_tells_others(golden):
    own = [of_others("fay", advice="a rare one.")]
    own += [of_others(student, MESSAGE, "a frequent one.") for student in ("bob", "cy", "dee")]
    own += [of_others("gus"), of_others("hal", "rotate_half raised Zebulon: hello")]
    own += [of_others("ivy", "rotate_half did not come to an end in 30 s")]
    own += [of_others("jim", "rotate_half was refused: “rotate_half called sys.exit(0); a”")]
    own += [of_others("kim", "rotate_half raised FileNotFoundError: /etc")]
    page = overview_page(grades(*own))
    assert "Zebulon" not in page
    golden("overview page", {"misconceptions": part_of(page, "misconceptions")})


# --- what a student is told -----------------------------------------------------------------


def test_what_the_test_says_is_found_in_its_file():
    """The docstring of test_one_pair_makes_a_quarter_turn in tests/test_rope.py."""
    source = find_lesson("rope").tests.read_text(encoding="utf-8")
    says = re.search(r'def test_one_pair_makes_a_quarter_turn.*\n +"""([^".]+)', source)[1]
    page = feedback(KNOWN_MISTAKE)
    assert page.says(says) and "#rope.rotate_half" in page.links  # what to do next
    assert says.split()[0] in plain_message(KNOWN_MISTAKE, KNOWN_MISTAKE.exercises[1])


def test_what_a_file_tells_of_what_earned_nothing_is_on_every_page():
    told = "rope.py defines rotate_half on lines 50 and 238: Python uses only the last one"
    own = with_exercise(result(), replace(exercise("rotate_half", HALF, TO_DO), about_file=told))
    assert told in as_text(feedback_page(grades(own).students[0]))
    assert told in as_text(overview_page(grades(own)))
    assert told in gradescope(own)["output"]


def test_what_is_for_the_instructor_is_not_on_the_students_page():
    note = f"{OWNER_UNCLEAR}: `course submit` gives every zip the name submission.zip"
    page = " ".join(feedback(result(), notes=(note, RENAMED)).words)
    for text in (page, json.dumps(gradescope(result(), notes=(note, RENAMED)))):
        assert RENAMED in text and "every zip" not in text


@pytest.mark.parametrize(
    "other",
    [
        not_tested(lesson="lookup", trouble="lookup.py was not handed in."),
        replace(not_tested(lesson="lookup", trouble="The grader was killed."), key=""),
        result(lesson="lookup", one_hot_bytes=TO_DO),
        result(lesson="gpt", GPT=WRONG),  # beyond the total
    ],
)
def test_nobody_passes_everything_with_a_lesson_that_does_not(other):
    assert feedback(result()).says("Everything passes. Well done!")
    assert not feedback(result(), other).says("Well done")


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
        assert re.fullmatch("[a-z0-9_][a-z0-9_-]*(~[0-9a-f]{20})?", stem)
        assert len(stem) < 70
        assert not re.fullmatch(r"con|nul|com\d|lpt\d|index", stem)


def test_every_student_gets_a_page_to_which_the_overview_leads(tmp_path):
    write_reports(grades(*map(result, NAMES)), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    pages = {f"feedback/{path.name}" for path in (tmp_path / "out/feedback").iterdir()}
    assert len(pages) == len(NAMES)
    page = Page((tmp_path / "out/index.html").read_text(encoding="utf-8"))
    links = {link for link in page.links if not link.startswith("#")}
    assert links == pages
    assert all(len(PurePosixPath(link).parts) == 2 for link in pages)


def test_nothing_that_a_student_wrote_becomes_markup(tmp_path):
    own = [hostile(), not_tested("bob", trouble=f"{NASTY}\n{NASTY}")]
    published = [(NASTY, NASTY), ("bob", "`rope.py` contains every answer")]
    of_class = grades(*own, notes={NASTY: (NASTY,)})
    written = write_reports(of_class, tmp_path, published, [NASTY])
    assert all(path.exists() for path in written)
    for path in tmp_path.rglob("*.*"):
        assert not set("\x00\x1b") & set(path.read_text(encoding="utf-8"))
    for path in tmp_path.rglob("*.html"):
        page = Page(path.read_text(encoding="utf-8"))
        assert page.says("</pre><script>alert(1)</script>")  # as text
        assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", " ".join(page.words))
    assert len(list(tmp_path.rglob("*.html"))) == 3


def test_a_message_does_nothing_in_a_terminal_either():
    for one in (hostile(), not_tested(trouble=NASTY)):
        document = gradescope(one)
        for text in (document["output"], *(test["output"] for test in document["tests"])):
            assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\n=1", "＝1"])
def test_no_cell_is_a_formula(name):
    text = grades_csv(grades(result(name)))
    cells = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
    assert any(cell.startswith("'") for cell in cells)
    assert not any(cell.lstrip().startswith(tuple("=+-@\t\r＝")) for cell in cells)


# --- tables ---------------------------------------------------------------------------------


MISSING = not_tested("bob", "lookup", "lookup.py was not handed in.")
KILLED = not_tested("bob", "learned", "The grader itself was killed.", key="")
CLASS = [
    *(result("ann", rotate_half=WRONG), result("ann", "gpt")),  # beyond the total
    *(result("bob"), MISSING, KILLED),
    *(
        replace(KILLED, student="cy"),
        not_tested("dee"),
        result("Zoë, Müller"),
        result("eve", "gpt"),
    ),
]


def test_the_tables_of_a_class(golden):
    """What was not graded is empty, and doesn't count; what wasn't handed in is 0."""
    text = grades_csv(grades(*CLASS, late=["ann"]))
    assert text.startswith("\ufeff")  # for Excel
    rows = [*csv.DictReader(text.removeprefix("\ufeff").splitlines(), strict=True)]
    assert len(rows[0]) == 5 + sum(1 + len(lesson.exercises) for lesson in lessons())
    graded = re.compile(r"[a-z]+|(rope|lookup|learned)\.\w+")
    shown = [
        f"{row['student']}: "
        + ", ".join(
            f"{title} {cell or '-'}" for title, cell in row.items() if graded.fullmatch(title)
        )
        for row in rows
    ]
    shown += re.findall("median [^<]*", overview_page(grades(*CLASS, late=["ann"])))
    golden("overview page", {"the table of grades and the median": "\n".join(shown)})


# --- Gradescope -----------------------------------------------------------------------------


def test_gradescope_gets_points_and_messages_by_exercise(golden):
    document = gradescope(KNOWN_MISTAKE)
    assert document["score"] == sum(test["score"] for test in document["tests"]) == BUT_ONE
    document["tests"][2:] = []
    golden("student page", {"Gradescope's results": json.dumps(document, indent=1)})


# --- the class ------------------------------------------------------------------------------


@pytest.mark.parametrize("got", ["'Bob'", "a Bob", "[4,\n          Bob]", "its process says: “of”"])
def test_an_example_has_no_word_that_a_student_wrote(got):
    """Another student's is shown; where there is none, none is."""
    own = [of_others("bob", MESSAGE.replace("[4, -3]", got), "a mistake.")]
    assert overview(*own, of_others("cy", MESSAGE, "a mistake.")).says("got [4, -3]")
    alone = overview(*own)
    assert alone.says("1 a mistake.") and not alone.says("called")


def test_an_example_whose_values_look_the_same_is_left_out():
    for got, is_shown in (("tensor (5, 8)", False), ("tensor (5, 7)", True)):
        message = f"no\ncalled rotate_half(x)\ngot    a {got}\nwant   a tensor (5, 8)"
        assert overview(of_others("ann", message)).says("called rotate_half(x)") == is_shown


def test_names_are_folded_away_in_what_is_shown_to_a_class():
    html = overview_page(grades(*(of_others(f"Zebulon{n}", advice="a mistake.") for n in range(3))))
    shown = html.partition('id="misconceptions"')[2].partition('id="act"')[0]
    assert "Zebulon" in shown
    folded = r"<details><summary>Who</summary>.*?</details>"
    assert "Zebulon" not in re.sub(folded, "", shown, flags=re.DOTALL)


# --- published answers ------------------------------------------------------------------------


def test_published_answers_are_named_on_the_page_of_the_class_alone(tmp_path, golden):
    students = ["ann", "bob", "cy", "dee"]
    published = [(one, "`rope.py` contains every answer") for one in students]
    write_reports(grades(*map(result, students)), tmp_path, published)
    for path in tmp_path.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert ("published answer" in text.lower()) == (path.name == "index.html"), path
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    golden("overview page", {"published answers": part_of(page, "act")})


@pytest.mark.slow
def test_a_class_of_500_is_one_page_below_250_kb_a_lesson_and_quick():
    start = time.process_time()
    many = [
        with_exercise(
            result(f"student number {n}", lesson.stem, **dict.fromkeys(names, WRONG)),
            exercise(names[0], 2, WRONG, f"advice {n % 7}"),
        )
        for n in range(500)
        for lesson in lessons()
        for names in [[one.name for one in lesson.exercises]]  # all of them
    ]
    notes = {one.student: (f"note of {one.student} {'of many words ' * 50}",) for one in many}
    page = overview_page(grades(*many, notes=notes))
    assert len(page.encode("utf-8")) < 250_000 * len(lessons())
    assert time.process_time() - start < 10


def test_every_file_is_replaced_in_one_step(tmp_path, monkeypatch):
    replaced = []
    replace_file = os.replace

    def noted(draft, path):
        replaced.append(path)
        replace_file(draft, path)

    monkeypatch.setattr("os.replace", noted)
    write_reports(grades(result(), result("bob")), tmp_path)
    assert set(replaced) == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert len(replaced) == 2 + 2 * 2


# --- in a browser ---------------------------------------------------------------------------


@pytest.mark.browser
def test_the_table_sorts_and_filters_by_keyboard(chromium, tmp_path):
    own = [result("ann", rotate_half=WRONG), result("bob"), result("cy", ntk_base=TO_DO)]
    write_reports(grades(*own), tmp_path)
    page = chromium.new_page()
    said = []
    page.on("console", lambda one: said.append(one.text))
    page.goto((tmp_path / "index.html").as_uri())

    def shown():  # the table's inner text is empty until it is laid out, when it comes into sight
        return page.locator("#matrix tbody tr:visible th a").all_text_contents()

    assert shown() == ["ann", "bob", "cy"]
    sort = page.locator("#matrix thead th:nth-child(2) button")
    for order in ("ascending", "descending"):
        sort.focus()
        page.keyboard.press("Enter")
        assert page.locator("#matrix [aria-sort]").get_attribute("aria-sort") == order
        points = list(map(int, page.locator("#matrix tbody td:nth-child(2)").all_text_contents()))
        assert points == sorted(points, reverse=order == "descending")
    page.select_option("#status", "w")
    assert shown() == ["ann"]
    assert page.inner_text("#count") == "1 of 3"
    page.select_option("#status", "")
    page.fill("#text", "CY")
    assert shown() == ["cy"]
    page.select_option("#lesson", "-")
    assert page.locator("#matrix thead th:visible").count() == 3
    page.select_option("#lesson", "rope")
    assert page.locator("#matrix thead th:visible").count() == 3 + len(WORTH)
    assert not said
    page.close()


@pytest.mark.browser
def test_the_table_is_read_without_the_script(chromium, tmp_path):
    write_reports(grades(result("ann", rotate_half=WRONG)), tmp_path)
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto((tmp_path / "index.html").as_uri())
    assert page.locator("#matrix td.w").text_content() == "✗"
    assert not page.locator("form").is_visible()
    page.context.close()


def test_a_page_of_questions_shows_code_as_text(tmp_path):
    asked = ("rotate_half", "Your line\n\n    x  # </pre><script>alert(1)</script>", "`<b>`.")
    results = [GradedResult("rope", student="<i>ann</i>", questions=(asked,))]
    results.append(replace(results[0], lesson="lookup", questions=(), trouble="it takes too long"))
    (page,) = write_questions(results, tmp_path).iterdir()
    text = page.read_text(encoding="utf-8")
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)" in text and "<code>&lt;b&gt;</code>" in text
    assert "<script" not in text and "<i>" not in text
    assert "There is no question about <code>lookup</code>: it takes too long." in text
