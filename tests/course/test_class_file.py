"""A class's own file: what it says, whose work is whose, and the grades that come of it."""

import csv
import io
import subprocess
import zipfile
from datetime import UTC, datetime, timedelta, timezone
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from course.cli import main
from course.cli.grade import _lower_than_before
from course.grading.class_file.beginning import first_class_file
from course.grading.class_file.exports import ExportError, read_export, time_of
from course.grading.class_file.grades import (
    EXCUSED,
    NOT_DUE,
    NOT_GRADED,
    NOT_HANDED_IN,
    grades_of,
    lateness_of,
)
from course.grading.class_file.members import by_member, with_times
from course.grading.class_file.reading import ClassFileError, read_class_file
from course.grading.class_file.settings import ClassFile, LateRule, Person
from course.grading.names import WHOSE
from course.grading.reports.moodle import moodle_files
from course.grading.reports.spreadsheet import grades_xlsx
from course.grading.reports.tables import canvas_csv, differences_table, grades_csv
from course.grading.submissions import Submission, read_submissions
from course.grading.submissions.times import HandedIn
from course.syllabus import Status, find_lesson
from course.testing.result import ExerciseResult, LessonResult, TestResult

NOW = datetime(2026, 11, 1, tzinfo=UTC)
DUE = datetime(2026, 10, 5, 23, 59, tzinfo=UTC)
WHOLE = """
timezone = "Europe/Berlin"

[lessons.rope]
due = 2026-10-05
column = "RoPE (901)"

[lessons.lookup]

[late]
per_day = 10
at_most = 25
grace_minutes = 15
trust = ["git"]

[feedback]
points = false
hints = 2
reference_after = 2026-12-24T12:00:00Z

[extensions]
"jane" = { rope = 2026-10-12T08:00:00 }

[students]
"jane" = { name = "Jane Doe", id = "S1", email = "jane@x.org", section = "A", canvas = 4711 }
"joe" = { github = "JoeHub" }

[[decision]]
student = "jane"
exercise = "apply_rope"
points = 2
reason = "was right in the lab"
comment = "As shown in the lab."

[[decision]]
student = "joe"
lesson = "lookup"
excused = true
reason = "ill"

[[comment]]
student = "joe"
lesson = "rope"
text = "Come and see me."
"""


def written(folder, text=WHOLE):
    path = folder / "class.toml"
    path.write_text(text, encoding="utf-8")
    return path


def result(student, stem="rope", passed=(), key="k", **facts):
    """A result in which the exercises named passed, and the others did not."""
    exercises = [
        ExerciseResult(
            one.name,
            one.points,
            (TestResult("t", Status.PASSED if one.name in passed else Status.WRONG, "no"),),
            1,
        )
        for one in find_lesson(stem).exercises
    ]
    return LessonResult(stem, tuple(exercises), student=student, key=key, **facts)


def everything(stem="rope"):
    return [one.name for one in find_lesson(stem).exercises]


# --- what it says ---------------------------------------------------------------------------


def test_a_whole_file_is_read(tmp_path):
    found = read_class_file(written(tmp_path))
    assert found.people["jane"] == Person(
        "jane", "Jane Doe", "S1", "jane@x.org", section="A", canvas="4711"
    )
    summer = timezone(timedelta(hours=2))
    assert found.due("joe", "rope") == datetime(2026, 10, 5, 23, 59, 59, tzinfo=summer)
    assert found.due("jane", "rope") == datetime(2026, 10, 12, 8, tzinfo=summer)
    assert found.due("joe", "lookup") is None
    assert found.late == LateRule(10, 25, 15, frozenset({"git"}))
    assert (found.feedback.points, found.feedback.messages, found.feedback.hints) == (
        False,
        True,
        2,
    )
    assert [(one.exercise, one.points) for one in found.decisions] == [
        ("apply_rope", 2),
        ("", None),
    ]
    assert found.comments[0].text == "Come and see me."


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[late]", "[Late]", "line 10, Late: is not known here; did you mean late?"),
        ("per_day", "perday", "line 11, late.perday: is not known here; did you mean per_day?"),
        (
            "per_day = 10",
            "per_day = 101",
            "line 11, late.per_day: has to be a number from 0 to 100",
        ),
        ('["git"]', '["me"]', "line 14, late.trust: has to be a list of some of git, zip"),
        ("Europe/Berlin", "Berlin", "line 2, timezone: has to be the name of a time zone"),
        ("lessons.rope", "lessons.rop", "lessons.rop: there is no lesson rop; did you mean rope?"),
        ("2026-10-05", '"2026-10-05"', "line 5, lessons.rope.due: has to be a date without quotes"),
        ("hints = 2", "hints = 4", "line 18, feedback.hints: has to be a whole number from 0 to 3"),
        ("points = false", "points = 0", "line 17, feedback.points: has to be true or false"),
        ("10-12T08", "10-02T08", "line 22, extensions.jane.rope: is earlier than the date of all"),
        (
            '"jane" = { r',
            '"jan" = { r',
            "extensions.jan: there is no student jan; did you mean jane",
        ),
        ("{ rope =", "{ lookup =", "extensions.jane.lookup: has nothing to extend: lookup has no"),
        ('"joe" = {', '"<b>" = {', "line 26, students.<b>: is no key: use letters, digits"),
        ('"JoeHub"', '"J", canvas = "4711"', "line 26, students.joe: has the canvas of jane"),
        ('"JoeHub"', '"J", id = "S1"', "line 26, students.joe: has the id of jane"),
        ("section", "sektion", "students.jane.sektion: is not known here; did you mean section?"),
        (
            'exercise = "apply_',
            'exercise = "aply_',
            "line 30, decision.exercise: there is no exerc",
        ),
        (
            "points = 2\n",
            "points = 200\n",
            "line 31, decision.points: has to be a number from 0 to",
        ),
        (
            "points = 2\n",
            "points = 2\nexcused = true\n",
            "decision: needs either points or excused",
        ),
        ('reason = "ill"', "", "line 35, decision: needs a reason"),
        (
            'text = "Come',
            'txt = "Come',
            "line 44, comment.txt: is not known here; did you mean text",
        ),
        ("[[comment]]", "[comment]", "line 41, comment: has to be written [[comment]]"),
        ("hints = 2", "hints = ", "class.toml, line 18, hints =: is no TOML: "),
        ("2026-10-05", "2026-13-05", "class.toml, line 5, due = 2026-13-05: is no TOML: "),
        ("hints = 2", "points = true", "line 18, points = true: stands there for the second time"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_key(tmp_path, old, new, says):
    assert WHOLE.count(old) >= 1
    with pytest.raises(ClassFileError) as error:
        read_class_file(written(tmp_path, WHOLE.replace(old, new, 1)))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_two_decisions_on_one_exercise_are_refused(tmp_path):
    again = '[[decision]]\nstudent = "jane"\nexercise = "apply_rope"\npoints = 1\nreason = "x"\n'
    with pytest.raises(ClassFileError, match="is the second for jane and apply_rope"):
        read_class_file(written(tmp_path, WHOLE + again))


@pytest.mark.parametrize("data", [b"\xff\xfe[\x00", "# é".encode("latin-1")])
def test_a_file_in_another_encoding_is_refused(tmp_path, data):
    (tmp_path / "class.toml").write_bytes(data)
    with pytest.raises(ClassFileError, match="not saved as UTF-8"):
        read_class_file(tmp_path / "class.toml")


# --- grades ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "says", "late", "days", "percent"),
    [
        (-1, "Moodle", False, 0, 0),
        (15, "Moodle", False, 0, 0),
        (16, "Moodle", True, 1, 10),
        (15 + 24 * 60, "Moodle", True, 1, 10),
        (16 + 24 * 60, "Moodle", True, 2, 20),
        (16 + 9 * 24 * 60, "Moodle", True, 10, 25),
        (16, "git", True, 1, 10),
        (-1, "zip", None, None, 0),
        (16, "zip", None, None, 0),
    ],
)
def test_lateness_is_counted_in_days_begun(tmp_path, minutes, says, late, days, percent):
    rule = LateRule(10, 25, 15, frozenset({"git"}))
    class_file = ClassFile(tmp_path / "class.toml", late=rule)
    found = lateness_of(DUE, HandedIn(DUE + timedelta(minutes=minutes), says), class_file)
    assert (found.is_late, found.days, found.percent) == (late, days, percent)


def test_a_mark_without_a_time_costs_nothing_and_an_unknown_time_is_never_on_time(tmp_path):
    class_file = ClassFile(tmp_path / "class.toml", late=LateRule(10))
    marked = lateness_of(DUE, HandedIn(None, "Canvas", True), class_file)
    assert (marked.is_late, marked.days, marked.percent) == (True, None, 0)
    assert lateness_of(DUE, None, class_file).is_late is None


def test_grades_are_what_was_judged_then_decided_then_late(tmp_path):
    class_file = read_class_file(written(tmp_path))
    late = {"handed_in_at": "2026-10-14T00:00:00+02:00", "says": "Moodle"}
    results = [
        result("jane", passed=["rotate_half", "ntk_base"], **late),
        result("joe", passed=everything()),
        result("joe", "lookup", passed=everything("lookup")),
    ]
    grades = grades_of(results, class_file, now=NOW)
    jane, joe = grades.students
    worth = {one.name: one.points for one in find_lesson("rope").exercises}
    judged = worth["rotate_half"] + worth["ntk_base"]
    rope = next(one for one in jane.lessons if one.lesson.stem == "rope")
    assert rope.judged == judged  # two days begun cost 20 %, of what was judged alone
    assert rope.points == pytest.approx(judged * 0.8 + 2)
    assert (rope.lost, rope.worth) == (pytest.approx(judged * 0.2), sum(worth.values()))
    assert {one.lesson.stem: one.status for one in joe.lessons}["lookup"] == EXCUSED
    assert (joe.points, joe.worth) == (sum(worth.values()),) * 2
    assert results[2].points == find_lesson("lookup").points  # what was judged stays


def test_who_handed_nothing_in_has_a_row_and_a_zero_once_it_was_due(tmp_path):
    class_file = read_class_file(written(tmp_path))
    rope = find_lesson("rope").points
    for now, status, worth in ((NOW, NOT_HANDED_IN, rope), (DUE - timedelta(9), NOT_DUE, 0)):
        grades = grades_of([result("stranger", passed=everything())], class_file, now=now)
        joe = next(one for one in grades.students if one.student == "joe")
        (lesson,) = (one for one in joe.lessons if one.lesson.stem == "rope")
        assert (lesson.status, lesson.points, lesson.worth) == (status, 0, worth)
        assert grades.students[-1].student == "stranger"


def test_what_the_machine_could_not_grade_counts_neither_way_but_what_is_decided_of_it(tmp_path):
    class_file = read_class_file(written(tmp_path))
    grades = grades_of([result("jane", key="", trouble="no memory")], class_file, now=NOW)
    (lesson,) = grades.students[0].lessons
    assert (lesson.status, lesson.judged) == (NOT_GRADED, None)
    worth = {one.name: one.points for one in find_lesson("rope").exercises}
    assert (lesson.points, lesson.worth) == (2, worth["apply_rope"])


# --- whose it is ----------------------------------------------------------------------------

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,RoPE rope (901)
    Points Possible,,,,,17
"Doe, Jane",4711,S1,jane@x.org,A,
"Żółć, Łukasz",4712,S2,lz,B,
"=1+1, Bob",4713,S3,bob,B,
"Student, Test",99,,,A,
"""
MOODLE = """\
Identifier,Full name,ID number,Email address,Status,Grade,Maximum grade,Grade can be changed,\
Last modified (submission),Last modified (grade),Feedback comments
Participant 501,Jane Doe,S1,jane@x.org,Submitted,,34.00,Yes,"Tuesday, 6 October 2026, 2:14 PM",-,
Participant 502,Łukasz Żółć,S2,lz@x.org,Submitted,,34.00,Yes,"wtorek, 6 października 2026",-,
Participant 503,=1+1 Bob,S3,bob@x.org,No submission,,34.00,Yes,-,-,
Participant 504,Eve New,S9,eve@x.org,No submission,5.00,34.00,No,-,-,
"""
CLASSROOM = """\
assignment_name,assignment_url,starter_code_url,github_username,roster_identifier,\
student_repository_name,student_repository_url,submission_timestamp,points_awarded,points_available
RoPE,u,u,JaneHub,jane@x.org,org/rope-5-JaneHub,u,2026-10-06 12:14:00 UTC,0,17
RoPE,u,u,lz,lz@x.org,org/rope-5-lz,u,,0,17
"""


def exported(folder, text, name="export.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8-sig")
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_exports_are_recognized_and_read(tmp_path, delimiter):
    def people(text):
        rows = csv.reader(io.StringIO(text))
        again = io.StringIO()
        csv.writer(again, delimiter=delimiter).writerows(rows)
        return list(read_export(exported(tmp_path, again.getvalue())).rows())

    canvas = [row.person for row in people(CANVAS)]
    assert [(one.key, one.canvas) for one in canvas] == [
        ("jane", "4711"),
        ("lz", "4712"),
        ("bob", "4713"),
    ]
    moodle = people(MOODLE)
    assert [row.number for row in moodle] == ["501", "502", "503", "504"]
    assert (moodle[1].person.name, moodle[2].time) == ("Łukasz Żółć", "")
    classroom = people(CLASSROOM)
    assert [row.repository for row in classroom] == ["rope-5-JaneHub", "rope-5-lz"]
    cut_off = people('identifier,github_username,github_id,name\n"jane@x.org\n')
    assert [row.person.email for row in cut_off] == ["jane@x.org"]
    with pytest.raises(ExportError, match="is no table of Canvas's"):
        people("name,points\nJane,3\n")
    with pytest.raises(ExportError, match="names no student"):
        people(MOODLE.splitlines()[0])


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(ClassFileError, match=r"class\.toml is empty"):
        read_class_file(written(tmp_path, "# nothing\n"))


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("Wednesday, 10 June 2026, 2:14 PM", "2026-06-10T14:14:00+00:00"),
        ("Wednesday, June 10, 2026, 2:14 PM", "2026-06-10T14:14:00+00:00"),
        ("2026-06-10T14:14:00Z", "2026-06-10T14:14:00+00:00"),
        ("2026-06-10 14:14:00 UTC", "2026-06-10T14:14:00+00:00"),
        ("2026-06-10 14:14:00 +0200", "2026-06-10T14:14:00+02:00"),
        ("środa, 10 czerwca 2026", None),
        ("-", None),
    ],
)
def test_times_of_platforms_are_told_or_unknown(text, hour):
    found = time_of(text, UTC)
    assert (found and found.isoformat()) == hour


ROSTER = """
timezone = "UTC"
[lessons.rope]
due = 2026-10-05
export = "export.csv"
[students]
"jane" = { name = "Jane Doe", id = "S1", email = "Jane@X.org", canvas = "4711", github = "janehub" }
"lz" = { name = "Łukasz Żółć", email = "lz@x.org", folder = "Group 7" }
"bob" = { name = "=1+1 Bob", email = "bob@x.org" }
"""


def class_and_exports(folder, text):
    exported(folder, text)
    class_file = read_class_file(written(folder, ROSTER))
    return class_file, {"rope": read_export(class_file.assignments["rope"].export)}


@pytest.mark.parametrize(
    ("export", "place", "submission", "key"),
    [
        (CANVAS, "x", {"student": "doejane", "canvas_id": "4711"}, "jane"),
        (CANVAS, "x", {"student": "jane", "canvas_id": "4799"}, None),
        (MOODLE, "x", {"student": "Jane Doe", "moodle_id": "501"}, "jane"),
        (MOODLE, "x", {"student": "Tutorial 2-Jane Doe~501", "moodle_id": "501"}, "jane"),
        (MOODLE, "x", {"student": "Jane Doe", "moodle_id": "777"}, "jane"),
        (MOODLE, "x", {"student": "Mallory", "moodle_id": "501"}, None),
        (CLASSROOM, "x", {"student": "rope-5-JaneHub"}, "jane"),
        (MOODLE, "hw5-submissions", {"student": "hw5-janehub"}, "jane"),
        (MOODLE, "hw5-submissions", {"student": "hw6-janehub"}, None),
        (MOODLE, "x", {"student": "JANE"}, "jane"),
        (MOODLE, "x", {"student": "Group 7"}, "lz"),
        (MOODLE, "x", {"student": "lz"}, None),
    ],
)
def test_a_submission_finds_its_student(tmp_path, export, place, submission, key):
    class_file, exports = class_and_exports(tmp_path, export)
    one = Submission(modules={"rope": b""}, notes=(), **submission)
    (found,), strangers = by_member([one], class_file, exports, place)
    assert (found.student, strangers) == ((key, []) if key else (found.student, [one.student]))
    assert key or found.student not in class_file.people


def test_whose_work_it_is_is_asked_only_where_the_roster_does_not_tell(tmp_path):
    class_file, exports = class_and_exports(tmp_path, MOODLE)
    notes = (f"{WHOSE}: x; another student's name looks the same", "rope.py is empty")
    jane = Submission("Jane Doe", {"rope": b""}, notes, moodle_id="501")
    stranger = Submission("mallory", {"rope": b""}, notes)
    found, _ = by_member([jane, stranger], class_file, exports, "x")
    assert [one.notes for one in found] == [notes[1:], notes]


def test_a_stranger_never_takes_the_place_of_a_student(tmp_path):
    class_file, exports = class_and_exports(tmp_path, CANVAS)
    forged = Submission("jane", {"rope": b"x"}, (), canvas_id="4799")
    own = Submission("doejane", {"rope": b"y"}, (), canvas_id="4711")
    found, strangers = by_member([forged, own], class_file, exports, "x")
    assert {one.student: one.modules["rope"] for one in found} == {
        "jane (not on the roster)": b"x",
        "jane": b"y",
    }
    assert strangers == ["jane"]


def test_parts_of_one_student_are_put_together_and_two_of_one_lesson_are_not_graded(tmp_path):
    class_file, exports = class_and_exports(tmp_path, CLASSROOM)
    parts = [
        Submission("rope-5-JaneHub", {"rope": b"r"}, ("a",)),
        Submission("janehub", {"lookup": b"l"}, ("b",)),
    ]
    (one,), _ = by_member(parts, class_file, exports, "x")
    assert (one.modules, one.notes, one.unread) == ({"rope": b"r", "lookup": b"l"}, ("a", "b"), {})
    parts.append(Submission("jane", {"rope": b"other"}, ()))
    (one,), _ = by_member(parts, class_file, exports, "x")
    assert one.modules == {"lookup": b"l"}
    assert one.unread["rope"] == "rope-5-JaneHub and jane both hold rope.py of jane: keep one."


def test_a_platforms_word_goes_before_a_zips_and_one_that_cannot_be_read_is_said(tmp_path):
    class_file, exports = class_and_exports(tmp_path, MOODLE)
    own = {"rope": HandedIn(DUE, "zip")}
    jane = Submission("jane", {"rope": b""}, (), times=own)
    lz = Submission("lz", {"rope": b""}, (), times=own)
    (jane, lz), notes = with_times([jane, lz], class_file, exports)
    at = datetime(2026, 10, 6, 14, 14, tzinfo=UTC)
    assert jane.times["rope"] == HandedIn(at, "Moodle")
    assert lz.times["rope"].says == "zip"
    assert "1 times cannot be read" in notes[0] and "wtorek" in notes[0]
    link = Submission("jane", {}, (), refused={"rope": "is a link"})
    assert with_times([link], class_file, exports)[0][0].times["rope"] == HandedIn(at, "Moodle")


# --- times ----------------------------------------------------------------------------------


def test_git_says_when_a_module_was_committed_and_runs_nothing_of_a_clone(tmp_path):
    clone, ran = tmp_path / "class" / "jane", tmp_path / "ran"
    (clone / "exercises").mkdir(parents=True)
    (clone / "exercises" / "rope.py").write_text("x = 1\n", encoding="utf-8")
    when = {"GIT_COMMITTER_DATE": "2026-10-04T12:00:00Z", "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z"}

    def git(*words):
        who = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")
        subprocess.run(
            ["git", "-C", clone, *who, *words], check=True, env={"PATH": "/usr/bin", **when}
        )

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n", encoding="utf-8")
    program.chmod(0o755)
    for setting in ("core.fsmonitor", "gpg.program", "core.sshCommand", "core.pager"):
        git("config", setting, str(program))
    git("config", "log.showSignature", "true")
    (one,) = read_submissions(tmp_path / "class", ask_times=True)
    assert one.times["rope"] == HandedIn(datetime(2026, 10, 4, 12, tzinfo=UTC), "git")
    assert not ran.exists()
    (clone / ".git" / "HEAD").write_text("ref: ../../secret\n", encoding="utf-8")
    (one,) = read_submissions(tmp_path / "class", ask_times=True)
    assert "rope" not in one.times


def test_a_timestamp_counts_only_where_nbgrader_put_it(tmp_path):
    for top in ("submitted", "elsewhere"):
        folder = tmp_path / top / "jane" / "5_rope"
        folder.mkdir(parents=True)
        (folder / "rope.py").write_text("x = 1\n", encoding="utf-8")
        (folder / "timestamp.txt").write_text("2026-10-04 12:00:00.5 UTC\n", encoding="utf-8")
    (one,) = read_submissions(tmp_path / "submitted", ask_times=True)
    assert "rope" not in one.times
    (tmp_path / "nbgrader_config.py").touch()
    (one,) = read_submissions(tmp_path / "submitted", ask_times=True)
    assert one.times["rope"].says == "nbgrader"
    assert one.times["rope"].at == datetime(2026, 10, 4, 12, 0, 0, 500_000, tzinfo=UTC)
    (one,) = read_submissions(tmp_path / "elsewhere", ask_times=True)
    assert "rope" not in one.times


def test_a_zip_says_when_its_file_was_written(tmp_path):
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(tmp_path / "class" / "jane.zip", "w") as opened:
        opened.writestr(zipfile.ZipInfo("rope.py", (2026, 10, 4, 12, 0, 0)), "x = 1\n")
    (one,) = read_submissions(tmp_path / "class", ask_times=True)
    assert one.times["rope"] == HandedIn(datetime(2026, 10, 4, 12).astimezone(), "zip")


# --- tables ---------------------------------------------------------------------------------


def rows(text):
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


@pytest.fixture
def graded(tmp_path):
    class_file, _ = class_and_exports(tmp_path, MOODLE)
    late = {"handed_in_at": "2026-10-06T14:14:00+00:00", "says": "Moodle"}
    jane = result("jane", passed=everything(), canvas_id="4711", **late)
    return grades_of([jane], class_file, now=NOW)


def test_tables_have_everybody_on_the_roster(graded):
    table = {one["student"]: one for one in rows(grades_csv(graded))}
    rope = str(find_lesson("rope").points)
    assert [(one["rope"], one["total"], one["of"]) for one in table.values()] == [
        (rope, rope, rope),
        ("0", "0", rope),
        ("0", "0", rope),
    ]
    assert table["jane"]["late"] == "rope: 1 day"
    assert table["bob"]["name"] == "'=1+1 Bob"
    canvas = rows(canvas_csv(graded))
    assert [one["Student"] for one in canvas] == [
        *("Points Possible", "Jane Doe", "Łukasz Żółć", "'=1+1 Bob")
    ]
    assert canvas[1]["ID"] == "4711"


def test_moodles_worksheet_comes_back_with_grades_and_nothing_else_changed(graded):
    files = moodle_files(graded, {one.student: f"<p>{one.student}" for one in graded.students})
    before, after = rows(MOODLE), rows(files["rope.csv"].decode("utf-8"))
    assert [one.pop("Grade") for one in after] == ["34.00", "0.00", "0.00", "5.00"]
    assert [{key: one[key] for key in one if key != "Grade"} for one in before] == after
    with zipfile.ZipFile(io.BytesIO(files["rope-feedback.zip"])) as opened:
        assert opened.namelist()[0] == "Jane Doe_501_assignsubmission_file_/feedback.html"
        assert len(opened.namelist()) == 3


def test_moodles_worksheet_has_what_was_said_to_the_student(tmp_path):
    class_and_exports(tmp_path, MOODLE)
    decision = 'exercise = "apply_rope"\npoints = 1\nreason = "lab"\ncomment = "As you showed."\n'
    comment = 'lesson = "rope"\ntext = "Well done."\n'
    text = f'[[decision]]\nstudent = "jane"\n{decision}[[comment]]\nstudent = "jane"\n{comment}'
    class_file = read_class_file(written(tmp_path, ROSTER + text))
    jane = result("jane", passed=everything())
    filled_in = moodle_files(grades_of([jane], class_file, now=NOW), {})["rope.csv"].decode()
    assert rows(filled_in)[0]["Feedback comments"] == "apply_rope: As you showed.\nWell done."


def test_moodles_worksheet_says_once_why_a_lesson_is_excused(tmp_path):
    class_and_exports(tmp_path, MOODLE)
    ill = 'lesson = "rope"\nexcused = true\nreason = "ill"\ncomment = "Get well."\n'
    text = f'{ROSTER}[[decision]]\nstudent = "jane"\n{ill}'
    class_file = read_class_file(written(tmp_path, text))
    jane = result("jane", passed=everything())
    filled_in = moodle_files(grades_of([jane], class_file, now=NOW), {})["rope.csv"].decode()
    before, after = rows(MOODLE)[0], rows(filled_in)[0]
    assert after == before | {"Feedback comments": "Get well."}


def test_the_spreadsheet_holds_the_same_and_computes_nothing(graded):
    with zipfile.ZipFile(io.BytesIO(grades_xlsx(graded))) as opened:
        texts = ElementTree.fromstring(opened.read("xl/sharedStrings.xml"))
        sheet = opened.read("xl/worksheets/sheet1.xml").decode()
    assert "=1+1 Bob" in ["".join(one.itertext()) for one in texts]
    assert "<f>" not in sheet


def test_what_counts_otherwise_than_judged_is_listed_with_its_reason(tmp_path):
    class_file = read_class_file(written(tmp_path))
    late = {"handed_in_at": "2026-10-14T00:00:00+02:00", "says": "Moodle"}
    grades = grades_of([result("jane", passed=["rotate_half"], **late)], class_file, now=NOW)
    found = differences_table(grades)[1:]
    assert ["jane", "rope", "apply_rope", 0, 2, "was right in the lab"] in found
    assert [row[-1] for row in found if row[2] == ""] == ["2 days late: -20 %"]
    assert rows(canvas_csv(grades))[0]["RoPE (901)"] == str(find_lesson("rope").points)


def test_canvas_gets_the_share_of_its_column_where_a_part_is_excused(tmp_path):
    excused = WHOLE.replace("points = 2\n", "excused = true\n")
    class_file = read_class_file(written(tmp_path, excused))
    passed = [name for name in everything() if name != "apply_rope"]
    grades = grades_of([result("jane", passed=passed)], class_file, now=NOW)
    assert float(rows(canvas_csv(grades))[1]["RoPE (901)"]) == find_lesson("rope").points


def test_points_that_fall_by_what_came_now_are_told():
    kept = {("jane", "rope"): result("jane", passed=everything())}
    now = [result("jane", passed=["ntk_base"]), result("joe")]
    (note,) = _lower_than_before(kept, now)
    worth = {one.name: one.points for one in find_lesson("rope").exercises}
    assert f"jane's rope {sum(worth.values())} -> {worth['ntk_base']}." in note
    assert _lower_than_before(kept, [result("jane", passed=everything())]) == []


# --- the commands ---------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(main, ["class", *map(str, words)])


@pytest.mark.parametrize("text", [CANVAS, MOODLE, CLASSROOM])
def test_a_class_file_begins_from_an_export_and_is_never_replaced(tmp_path, text):
    export, out = exported(tmp_path, text), tmp_path / "class.toml"
    begun = run("init", export, "--out", out)
    assert begun.exit_code == 0, begun.output
    people = read_class_file(out).people
    assert len(people) == len([*read_export(export).rows()])
    assert run("check", out).exit_code == 0
    before = out.read_bytes()
    more = exported(
        tmp_path, text.replace("org/rope-5-lz,", "org/rope-5-new,").replace("lz", "new")
    )
    again = run("init", more, "--out", out)
    assert (again.exit_code, out.read_bytes()) == (0, before)
    assert f"of {len(people)} students" in again.output


def test_a_class_file_begins_from_folders(tmp_path):
    for name in ("jane", "Łukasz Żółć"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "rope.py").write_text("x\n", encoding="utf-8")
    assert run("init", tmp_path / "class", "--out", tmp_path / "class.toml").exit_code == 0
    assert {*read_class_file(tmp_path / "class.toml").people} == {"jane", "Łukasz Żółć"}


def test_hostile_names_make_a_file_that_can_be_read(tmp_path):
    nasty = ['"', "\\", "a\nb", "=1+1", "'''", "\x7f", "]]", "jane", "JANE", "ключ"]
    people = [Person(f"k{number}", name) for number, name in enumerate(nasty)]
    people += [Person("same", "a"), Person("Same", "b")]
    found = read_class_file(written(tmp_path, first_class_file(people))).people
    assert [one.name for one in found.values()] == [one.name for one in people]


@pytest.mark.parametrize("words", [("init", "none.csv"), ("check", "none.toml")])
def test_what_is_not_there_is_one_sentence(words):
    said = run(*words)
    assert (
        said.exit_code == 1
        and said.output.startswith("Error: none")
        and "\n" not in said.output[:-1]
    )
