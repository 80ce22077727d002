"""An export of an LMS comes back with the points filled in, and every other byte as it was."""

import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from classes import STUB, slow_in_sandbox, write_class
from click.testing import CliRunner

from course.cli.grade import grade
from course.core.syllabus import Status, find_lesson
from course.grading.grades import grades_of
from course.grading.judge.unit import Unit, not_graded
from course.grading.lms.canvas import read_canvas
from course.grading.lms.export import columns_named, filled_in, find_people
from course.grading.lms.moodle import read_moodle
from course.grading.lms.table import ExportError, Table
from course.grading.submissions import Submission
from course.testing.result import TestResult

pytestmark = pytest.mark.usefixtures("own_cache")

ROPE = find_lesson("rope")


def result(student, share=1.0, stem="rope", **facts):
    """A result with about this share of the points: the first exercises passed."""
    lesson, exercises, earned = find_lesson(stem), [], 0
    for one in not_graded(Unit(student, stem, b""), "").exercises:
        passes = earned + one.worth <= share * lesson.points
        earned += one.worth * passes
        test = TestResult("test", Status.PASSED if passes else Status.WRONG, "no")
        exercises.append(replace(one, tests=(test,), n_tests=1))
    return replace(
        not_graded(Unit(student, stem, b""), ""), exercises=tuple(exercises), key="k", **facts
    )


HALF = result("jane", 0.5).points / ROPE.points


def submission(student, canvas="", moodle=""):
    return Submission(student, {}, (), canvas_id=canvas, moodle_id=moodle)


def fill_in(lms, data, results, submissions, columns=()):
    """Fill in an export; the notes include who was not found."""
    titles, table = columns_named(columns), Table("export.csv", data)
    graded = [find_lesson(stem) for stem in dict.fromkeys(one.lesson for one in results)]
    canvas = lms == "canvas"
    export = read_canvas(table, titles) if canvas else read_moodle(table, titles, graded)
    rows, strangers, unclear = find_people(export, submissions)
    filled, notes = filled_in(export, rows, grades_of(results, submissions, now=datetime.now(UTC)))
    return filled, [*notes, *strangers, *(f"unclear: {one}" for one in unclear)]


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,RoPE (90121),"Essay, ""free"" (90122)",Final Score
,,,,,Manual Posting,,
    Points Possible,,,,,<max>,10.0,(read only)
"Doe, Jane",4711,S1,jane@x.org,A and B,<jane>,7.5,88.1
"Żółć, Łukasz",4712,,lz,A,<lz>,"two
lines, and ""quotes"" too",
"Roe, Bob",4713,S3,bob,B,<bob>,,0
"Student, Test",4799,,,A,,,
"""
MOODLE = """\
Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,\
Last modified (submission),Feedback comments
Participant 501,Jane Doe,jane@x.org,Submitted for grading,<jane>,<max>,Yes,\
"Tuesday, 6 October 2026, 2:14 PM",
Participant 502,Łukasz Żółć,lz@x.org,No submission,<lz>,<max>,Yes,-,"a comment
of two lines, with ; and ""quotes"" too"
Participant 503,Bob Roe,bob@x.org,No submission,<bob>,<max>,No,-,
"""
GERMAN = """\
ID;Vollständiger Name;E-Mail-Adresse;Status;Bewertung;Höchste Bewertung;\
Bewertung kann geändert werden;Zuletzt geändert (Abgabe);Feedback als Kommentar
Teilnehmer/in501;Jane Doe;jane@x.org;Zur Bewertung abgegeben;<jane>;<max>;Ja;\
Dienstag, 6. Oktober 2026, 14:14;
Teilnehmer/in502;Łukasz Żółć;lz@x.org;Keine Abgabe;<lz>;<max>;Ja;-;"gut; sehr
gut"
Teilnehmer/in503;Bob Roe;bob@x.org;Keine Abgabe;<bob>;<max>;Nein;-;
"""
FRENCH = """\
Identifiant,Nom complet,Adresse de courriel,Statut,Note,Note maximale,La note peut être modifiée
Participant 501,Jane Doe,jane@x.org,Remis pour évaluation,<jane>,<max>,Oui
Participant 502,Łukasz Żółć,lz@x.org,Aucun travail remis,<lz>,<max>,Oui
Participant 503,Bob Roe,bob@x.org,Aucun travail remis,<bob>,<max>,Non
"""
JAPANESE = """\
識別子,フルネーム,メールアドレス,ステータス,評点,最大評点,評点変更可
参加者 501,Jane Doe,jane@x.org,評定のために提出済み,<jane>,<max>,はい
参加者 502,Łukasz Żółć,lz@x.org,未提出,<lz>,<max>,はい
参加者 503,Bob Roe,bob@x.org,未提出,<bob>,<max>,いいえ
"""
GRADEBOOK = """\
"First name","Last name","ID number","Email address","Assignment: RoPE (Real)","Course total (Real)"
"Jane","Doe","S1","jane@x.org","<jane>","50.00"
"Łukasz","Żółć","","lz@x.org","<lz>","50.00"
"Bob","Roe","S3","bob@x.org","<bob>","50.00"
"""
BRIGHTSPACE = """\
OrgDefinedId,Username,Last Name,First Name,RoPE Points Grade <Numeric MaxPoints:20>,End-of-Line
#S1000,#jane,Doe,Jane,<jane>,#
#S1001,#lz,Żółć,Łukasz,<lz>,#
#S1002,#bob,Roe,Bob,<bob>,#
"""


def separated(text, delimiter):
    """Put another delimiter for the commas that are in no quotes."""
    return re.sub(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', delimiter, text)


C, D = ("rope=RoPE (90121)",), ("rope=Assignment: RoPE (Real)",)
E = ("rope=RoPE Points Grade <Numeric MaxPoints:20>",)
AT_50, AT_100 = (f"{HALF * most:.2f}".rstrip("0").rstrip(".") for most in (50, 100))
HALF_OF_ALL = f"{HALF * ROPE.points:g}"
GERMAN_HALF = AT_50.replace(".", ",")
FRENCH_HALF = f'"{GERMAN_HALF}"' if "," in GERMAN_HALF else GERMAN_HALF


class Case(NamedTuple):
    """An export, and the cells of three students before and after.

    Jane handed in half, by the LMS's number; Łukasz everything, by his name; Bob nothing.
    """

    text: str
    maximum: str
    before: tuple[str, str, str] = ("", "", "")
    after: tuple[str, str] = (AT_50, "50")
    encoding: str = "utf-8"
    line_end: str = "\n"
    columns: tuple[str, ...] = ()

    @property
    def lms(self) -> str:
        return "canvas" if self.text.startswith("Student") else "moodle"


SEMICOLONS = separated(CANVAS, ";")
LOCKED = MOODLE.replace("Yes", "No", 1)
EMPTY_COLUMN = MOODLE.replace("Grade,", "Group,Grade,", 1)
EMPTY_COLUMN = EMPTY_COLUMN.replace("<", ",<").replace(",,<max>", ",<max>")
LATIN = GERMAN.replace("Łukasz Żółć", "Zoë")
DASHES, NINES = ("-", "-", "-"), ("9.00", "9.00", "9.00")
CASES = {
    "Canvas": Case(CANVAS, "50.0", columns=C),
    "Canvas, numbers before": Case(CANVAS, "50", ("1", "2", "3"), columns=C),
    "Canvas, excused": Case(CANVAS, "50.0", ("EX", "", "EX"), ("EX", "50"), columns=C),
    "Canvas, BOM": Case(CANVAS, "50.0", ("", "9.0", ""), (AT_50, "50"), "utf-8-sig", "\r\n", C),
    "Canvas, CR": Case(CANVAS, "50.0", line_end="\r", columns=C),
    "Canvas, UTF-16": Case(CANVAS, "50.0", encoding="utf-16", line_end="\r\n", columns=C),
    "Canvas, commas": Case(SEMICOLONS, "50,0", ("", "12,5", "7,0"), (GERMAN_HALF, "50"), columns=C),
    "Canvas, tabs": Case(separated(CANVAS, "\t"), "50.0", columns=C),
    "Moodle": Case(MOODLE, "100.00", after=(AT_100, "100")),
    "Moodle, locked": Case(LOCKED, "100.00", ("4.00", "", ""), ("4.00", "100")),
    "Moodle, dashes": Case(MOODLE, "50.00", DASHES, (AT_50, "50"), "utf-8-sig", "\r\n"),
    "Moodle, the column named": Case(MOODLE, "50.00", columns=("5=Grade",)),
    "Moodle, an empty column and all grades the same": Case(EMPTY_COLUMN, "50.00", NINES),
    "Moodle in German": Case(GERMAN, "50,00", ("", "12,50", ""), (GERMAN_HALF, "50")),
    "Moodle, Latin-1": Case(LATIN, "50,00", after=(GERMAN_HALF, "50"), encoding="latin-1"),
    "Moodle in French": Case(FRENCH, '"50,00"', ("", '"12,50"', ""), (FRENCH_HALF, '"50"')),
    "Moodle in Japanese": Case(JAPANESE, "50.00"),
    "Gradebook": Case(GRADEBOOK, "", DASHES, (HALF_OF_ALL, str(ROPE.points)), columns=D),
    "Brightspace": Case(BRIGHTSPACE, "", after=(HALF_OF_ALL, str(ROPE.points)), columns=E),
}


def written(case, jane, lz, bob):
    text = case.text.replace("<max>", case.maximum)
    for name, cell in (("jane", jane), ("lz", lz), ("bob", bob)):
        text = text.replace(f"<{name}>", cell)
    return text.replace("\n", case.line_end).encode(case.encoding)


@pytest.mark.parametrize("name", CASES)
def test_points_are_filled_in_and_all_other_bytes_stay(name):
    case = CASES[name]
    before, after = written(case, *case.before), written(case, *case.after, case.before[2])
    lz = "Zoë" if "Zoë" in case.text else "Łukasz Żółć"
    submissions = [submission("Jane Doe", "4711", "501"), submission(lz)]
    if case.text in (GRADEBOOK, BRIGHTSPACE):
        submissions[0] = submission("Jane Doe", moodle="777")  # of an assignment, not of the course
    results = [result("Jane Doe", 0.5), result(lz)]
    filled, notes = fill_in(case.lms, before, results, submissions, case.columns)
    assert filled == after
    assert lz not in notes and "Jane Doe" not in notes
    again, _ = fill_in(case.lms, filled, results, submissions, case.columns)
    assert again == filled


def test_only_what_was_handed_in_and_graded_is_filled_in():
    case = CASES["Canvas, numbers before"]
    results = [
        replace(result("jane"), trouble="rope.py was not handed in."),
        replace(result("lz"), key="", trouble="The worker was killed."),
        result("bob", stem="lookup"),
    ]
    submissions = [submission("jane", "4711"), submission("lz", "4712"), submission("bob", "4713")]
    before = written(case, *case.before)
    filled, _ = fill_in("canvas", before, results, submissions, C)
    assert filled == before


@pytest.mark.parametrize(
    ("student", "is_found"),
    [
        ({"student": "anything", "canvas": "4711"}, True),
        ({"student": "doejane", "canvas": "4798"}, False),  # Canvas knows that it is another
        ({"student": "doejane"}, True),
        ({"student": "Jane Doe"}, True),
        ({"student": "S1"}, True),
        ({"student": "jane"}, True),  # the login without the domain
        ({"student": "A and B"}, False),
        ({"student": "mallory"}, False),
    ],
)
def test_students_are_found_by_number_else_by_a_name(student, is_found):
    before = written(CASES["Canvas"], "", "", "")
    own = submission(**student)
    filled, notes = fill_in("canvas", before, [result(own.student)], [own], C)
    assert (filled != before) == is_found
    assert (own.student in notes) != is_found


WU = "First name,Last name,A\nAn,Wu,\n"
TWO_OF_ROPE = "Student,ID,A,B\nPoints Possible,,10,10\nDoe,1,EX,\nRoe,2,,EX\n"
POINTS = "Student,ID,A\nPoints Possible,,{}\njane,1,\n"
ROWS = {  # an export, who handed in with which number, and the columns
    "a name that two have finds nobody": (
        'Student,ID,A\nPoints Possible,,10\n"Wu, An",1,\n"Wu, An",2,\n',
        {"wuan": ""},
    ),
    "two of one name have one row": (WU, {"An Wu~7": "7", "An Wu~8": "8"}),
    "one of that name": (WU, {"An Wu~7": "7"}),
    "two of one row do not keep the class from its points": (
        'Student,ID,A\nPoints Possible,,10\n"Jane, B",1,\nRoe,2,\nDoe,3,4\n',
        {"B Jane": "", "janeb": "", "Roe": "", "doe~3": "3", "evil": "3"},
    ),
    "a name that is the number of another finds nobody": (
        "Student,ID,SIS User ID,A\nPoints Possible,,,10\nDoe,1,2,\nRoe,2,3,\n",
        {"2": "", "3": ""},
    ),
    "two lessons have their columns": (
        "Student,ID,A,B\nPoints Possible,,10,20\njane,1,,\n",
        {"jane": "1"},
        *("lookup=A", "rope=B"),
    ),
    "what is locked is told for each lesson": (
        TWO_OF_ROPE,
        {"Doe": "", "Roe": ""},
        *("rope=A", "lookup=B"),
    ),
    "1,500.00": (POINTS.format('"1,500.00"'), {"jane": "1"}),
    "1.500,00": (POINTS.format('"1.500,00"'), {"jane": "1"}),
    "12.50000": (POINTS.format("12.50000"), {"jane": "1"}),
    "what Canvas would ignore is said": (
        "Student,ID,Final essay\nPoints Possible,,10\njane,1,\nbob,2\n",
        {"jane": "1", "bob": "2"},
        "rope=Final essay",
    ),
}


@pytest.mark.parametrize("title", ROWS)
def test_students_get_their_own_rows(title, golden):
    text, handed_in, *columns = ROWS[title]
    lms = "canvas" if text.startswith("Student") else "moodle"
    own = [submission(name, **{lms: number}) for name, number in handed_in.items()]
    columns = columns or ["rope=A"]
    stems = [one.partition("=")[0] for one in columns]
    results = [result(name, stem=stem) for name in handed_in for stem in stems]
    filled, notes = fill_in(lms, text.encode(), results, own, columns)
    golden("rows of an export", {title: "\n".join([filled.decode(), *notes])})


def test_a_cell_of_an_endless_text_takes_no_time():
    text = f"Identifier,Name,Grade,Maximum\n{'x' * 10**6},Jane,,10\n"
    with pytest.raises(ExportError, match="does not look like"):
        read_moodle(Table("export.csv", text.encode()), {}, [ROPE])


A = "rope=A"
ONE = "Student,ID,A,A b,A b\nPoints Possible,,10,5,5\njane,1,,,\n"
REFUSED = {
    "no title": ("canvas", ONE, "rope"),
    "no lesson": ("canvas", ONE, "roap=A"),
    "a lesson twice": ("canvas", ONE, "rope=A", "5=B"),
    "a column twice": ("canvas", ONE, "rope=A", "lookup=A"),
    "no such column": ("canvas", ONE, "rope=AA"),
    "a part of a title": ("canvas", ONE.replace(",A,", ",Rotary (90121),"), "rope=rotary"),
    "a column of another lesson": ("canvas", ONE, "lookup=A"),
    "two such columns": ("canvas", ONE, "rope=A b"),
    "no columns named": ("canvas", ONE),
    "no maximum": ("canvas", ONE.replace("10", "0"), "rope=A"),
    "no gradebook": ("canvas", MOODLE, "rope=Grade"),
    "no table": ("canvas", "jane\n", "rope=A"),
    "an open quote": ("canvas", f'{ONE}"bob,2\n', "rope=A"),
    "a student twice": ("canvas", f"{ONE}jane,1,,,\n", "rope=A"),
    "no row of points": ("canvas", "Student,ID,A\njane,1,\nbob,,7\n", "rope=A"),
    "no worksheet": ("moodle", ONE),
    "an empty worksheet": ("moodle", MOODLE.partition("\n")[0] + "\n"),
    "a column of words": ("moodle", MOODLE, "rope=Full name"),
    "no maximum grade": ("moodle", re.sub("<max>|<jane>", "", MOODLE), "rope=Grade"),
    "percentages": ("moodle", "Name,A\njane,80 %\n", "rope=A"),
    "more than the points": ("moodle", "Name,A\njane,88.0\n", "rope=A"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_filled_in_is_one_sentence_and_grades_and_writes_nothing(
    name, tmp_path, monkeypatch, golden
):
    lms, text, *columns = REFUSED[name]
    graded = []
    monkeypatch.setattr("course.grading.run.grade_all", lambda *_: graded.append(True) or iter(()))
    monkeypatch.setattr("course.grading.run.require_sandbox", lambda: None)
    monkeypatch.chdir(tmp_path)
    for student in ("B Jane", "janeb", "jane"):
        write_class(tmp_path / "class", {student: STUB})
    Path("export.csv").write_text(text, encoding="utf-8")
    options = [f"--{lms}", "export.csv", *(word for one in columns for word in ("--column", one))]
    ran = CliRunner().invoke(grade, ["class", "--lesson", "rope", *options])
    assert ran.exit_code == 1
    golden("exports that cannot be filled in", {name: ran.output.splitlines()[-1]})
    assert sum(line.startswith("Error") for line in ran.output.splitlines()) == 1
    assert not graded
    assert sorted(os.listdir()) == ["class", "export.csv"]
    assert Path("export.csv").read_text(encoding="utf-8") == text


def test_a_worksheet_of_moodle_is_of_one_lesson():
    results = [result("Jane Doe"), result("Jane Doe", stem="lookup")]
    with pytest.raises(ExportError, match=r"one assignment.* 2 lessons"):
        fill_in("moodle", written(CASES["Moodle"], "", "", ""), results, [submission("Jane Doe")])


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b'a;b\n"', b"\x00", b"one\ntwo\n"])
def test_what_is_no_table_is_refused(data):
    with pytest.raises(ExportError, match="is not a CSV"):
        Table("export.csv", data)


@slow_in_sandbox
def test_the_export_comes_back_beside_the_reports(tmp_path, monkeypatch):
    from classes import ONE_WRONG, SOLUTION

    monkeypatch.chdir(tmp_path)
    write_class(tmp_path / "class", {"Jane Doe": SOLUTION, "Bob Roe": ONE_WRONG, "mallory": STUB})
    text = written(CASES["Moodle"], "", "", "")
    Path("worksheet.csv").write_bytes(text)
    ran = CliRunner().invoke(grade, ["class", "--jobs", "1", "--moodle", "worksheet.csv"])
    assert ran.exit_code == 0, ran.output
    assert "worksheet.csv: mallory." in ran.output
    assert "1 grade filled in, 0 replaced" in ran.output
    assert "learned: locked or excused, so not changed: Bob Roe." in ran.output
    assert Path("graded/moodle.csv").read_bytes() == written(CASES["Moodle"], "100", "", "")
    assert Path("worksheet.csv").read_bytes() == text
    assert "worksheet.csv: mallory." in Path("graded/index.html").read_text("utf-8")
