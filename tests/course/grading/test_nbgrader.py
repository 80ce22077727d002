"""nbgrader's round trip with our judge, from `course nbgrader init` to grades: honest or not."""

import ast
import errno
import html
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import DEVNULL
from types import SimpleNamespace

import nbformat
import pytest
from classes import slow_in_sandbox, zipped
from click.testing import CliRunner
from nbconvert.filters import markdown2html
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from nbgrader import converters
from nbgrader.api import Gradebook
from nbgrader.apps import api, autogradeapp
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import compute_checksum, determine_grade, parse_utc
from traitlets.config import Config

from course.cli import nbgrader as command
from course.core.files import write_atomically
from course.core.stubs import stub_from
from course.core.syllabus import find_lesson, lessons
from course.grading.judge.unit import GradedResult
from course.grading.nbgrader import configure
from course.grading.nbgrader.autograde import Autograde
from course.grading.nbgrader.collect import Collect, Extractor
from course.grading.nbgrader.notebook import (
    NOT_FOUND,
    as_typed,
    count_own_words,
    find_answers,
    judged_notebook,
)
from course.grading.nbgrader.submissions import (
    MAX_FILE_BYTES,
    NotRead,
    is_plain,
    read_file,
    read_handed_in,
    submitted_students,
    submitted_time,
)
from course.publishing.building import notebooks

pytestmark = pytest.mark.usefixtures("own_cache")
ROPE = find_lesson("rope")
SOLUTION = ROPE.module("solutions").read_text(encoding="utf-8")
STUB = stub_from(SOLUTION, "rope")
POINTS = {exercise.name: exercise.points for exercise in ROPE.exercises}
NOTEBOOK = """\
# %% [markdown]
# # Rotary positions
#
# The score depends on *offsets*: $q^T R_{n-m} k$.

# %%
from course.student.notebook import exercises

exercises("rope").rotate_half

# %% [markdown] answer="why-relative" points=2
# Why does the score depend on the offset alone?
#
# ### BEGIN SOLUTION
# The hidden answer is that rotations add up.
# ### END SOLUTION
"""
"""A lesson's notebook, as the rooms hold them."""


# --- a class --------------------------------------------------------------------------------


def nbgrader(folder: Path, *arguments: str, status: int = 0) -> str:
    """What one of nbgrader's own commands says."""
    command = [sys.executable, "-m", "nbgrader", *arguments]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}  # nbgrader makes a gradebook with `alembic`
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def released(folder: Path) -> NotebookNode:
    return nbformat.read(folder / "release/5_rope/5_rope.ipynb", as_version=4)


def cell_called(notebook: NotebookNode, name: str) -> NotebookNode:
    return next(
        cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name
    )


def hand_in(
    folder: Path, student: str, source: str | None, notebook: NotebookNode | str | None
) -> Path:
    place = folder / "submitted" / student / "5_rope"
    place.mkdir(parents=True)
    if source is not None:
        (place / "rope.py").write_text(source, encoding="utf-8")
    if notebook is not None:
        text = notebook if isinstance(notebook, str) else json.dumps(notebook)
        (place / "5_rope.ipynb").write_text(text, encoding="utf-8")
    return place


def url_of(folder: Path) -> str:
    """Where the gradebook of a class is."""
    return f"sqlite:///{folder}/gradebook.db"


def scores(folder: Path) -> dict[str, dict[str, float | None]]:
    """The automatic score of every cell, by student."""
    with Gradebook(url_of(folder)) as book:
        return {
            submission.student.id: {
                grade.name: grade.auto_score for grade in submission.notebooks[0].grades
            }
            for submission in book.assignment_submissions("5_rope")
        }


def text_of(markdown: str) -> str:
    """What a reader sees of it."""
    return html.unescape(re.sub("<[^>]*>", "", markdown2html(markdown))).strip()


def warnings_in(said: str) -> str:
    """What nbgrader warns of, or calls an error, in the order of the alphabet."""
    found = {*re.findall(r"^\[\w+ \| (?:WARNING|ERROR)\] (.*)", said, re.MULTILINE)}
    return "\n".join(sorted(one for one in found if not one.startswith("Directory not found")))


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory) -> Path:
    """A class's folder as `course nbgrader init` makes it, with one assignment released."""
    sources = tmp_path_factory.mktemp("sources")
    for lesson in lessons():
        (sources / f"{lesson.notebook.stem}.py").write_text(NOTEBOOK, encoding="utf-8")
    folder = tmp_path_factory.mktemp("course") / "class"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks, "source_of", lambda stem: sources / f"{stem}.py")
        done = CliRunner().invoke(command.nbgrader, ["init", str(folder)])
    assert done.exit_code == 0, done.output
    nbgrader(folder, "generate_assignment", "5_rope")
    return folder


@pytest.fixture
def folder(laid_out, tmp_path) -> Path:
    """A copy of it, to work in."""
    return Path(shutil.copytree(laid_out, tmp_path / "class"))


# --- a class, graded ------------------------------------------------------------------------

EVIL_HTML = "<script>evil()</script><img src=x onerror=evil()>"
EVIL_MARKDOWN = (
    f"{EVIL_HTML}\n\n[click](javascript:evil()) ![x](/formgrader/?path=/tmp) <http://evil.org>\n\n"
    "![x](attachment:evil.svg)"
)
FORGED = f"{STUB}\nprint('20 of 20 points')\nimport warnings; warnings.warn('20 points')\n"
WARNED = f"{SOLUTION}\nimport warnings; warnings.warn('noise')\n"
LEFT_OUT = ("<b>", "=1+1", "li\nam", "max")
"""Students with a name that is none, and one whose folder is a link to another's."""


def with_answer(notebook: NotebookNode, text: str) -> NotebookNode:
    cell_called(notebook, "why-relative").source = text
    return notebook


def faked(notebook: NotebookNode) -> NotebookNode:
    """Full points everywhere, in every way that a notebook could claim them, and scripts."""
    kinds = [{"solution": True}, {"grade": False}, {"locked": False}, {"schema_version": 1}, {}]
    for name, change in zip(POINTS, [*kinds, {}, {}], strict=True):
        cell = cell_called(notebook, name)
        cell.source = "100"
        cell.outputs = [new_output("execute_result", {"text/plain": "100"}, execution_count=1)]
        cell.metadata.nbgrader.update({"points": 100, **change})
    cell_called(notebook, "alibi_bias").cell_type = "markdown"
    cell_called(notebook, "ntk_base").metadata.nbgrader = {}
    kinds = ["text/html", "image/svg+xml", "application/javascript", "text/markdown", "text/latex"]
    outputs = [new_output("display_data", {kind: EVIL_HTML}) for kind in kinds]
    answer = cell_called(notebook, "why-relative")
    answer["attachments"] = {"evil.svg": {"image/svg+xml": EVIL_HTML}}
    notebook.cells += [new_code_cell(EVIL_HTML, outputs=outputs), new_raw_cell(EVIL_HTML)]
    notebook.cells += [new_code_cell("from course.student import notebook\nnotebook.check = print")]
    notebook.metadata["title"] = notebook.metadata["language_info"]["name"] = EVIL_HTML
    return with_answer(notebook, EVIL_MARKDOWN)


def partly_right() -> str:
    """A module in which two exercises are right, one is wrong, and the others are still to do."""
    right = [
        ast.get_source_segment(SOLUTION, node)
        for node in ast.parse(SOLUTION).body
        if getattr(node, "name", "") in ("rope_tables", "alibi_bias")
    ]
    wrong = "x1, x2 = x.chunk(2, dim=-1); return torch.cat((x2, -x1), dim=-1)"
    return "\n\n".join([STUB, *right, f"def rotate_half(x):\n    {wrong}\n"])


@pytest.fixture(scope="module")
def graded(laid_out, tmp_path_factory) -> Path:
    """A class, graded."""
    folder = tmp_path_factory.mktemp("graded") / "class"
    shutil.copytree(laid_out, folder)
    for student, source, notebook in (
        ("ann", WARNED, with_answer(released(folder), "Rotations *add up*.")),
        ("bob", partly_right(), released(folder)),
        ("emil", SOLUTION, "{ this is not JSON"),
        ("fay", SOLUTION, None),
        ("hal", FORGED, faked(released(folder))),
        ("jon", None, released(folder)),
        *((name, SOLUTION, released(folder)) for name in LEFT_OUT[:3]),
    ):
        hand_in(folder, student, source, notebook)
    bob, jon = (folder / "submitted" / name / "5_rope" for name in ("bob", "jon"))
    (bob / "timestamp.txt").write_text("2026-11-20 10:00:00.000000 UTC", encoding="utf-8")
    os.mkfifo(jon / "timestamp.txt")
    (folder / "submitted/max").symlink_to("ann")
    said = nbgrader(folder, "autograde", "5_rope", status=1)  # for there is one left out
    (folder / "said.txt").write_text(said, encoding="utf-8")
    return folder


def autograded(folder: Path, student: str) -> NotebookNode:
    path = folder / "autograded" / student / "5_rope" / "5_rope.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


NOTHING = dict.fromkeys(POINTS, 0)
NOT_ANSWERED, TO_BE_READ = 0, None


@slow_in_sandbox
def test_scores_are_the_judges_whatever_the_notebook_says(graded):
    expected = {
        **dict.fromkeys(["ann", "emil", "fay"], POINTS | {"why-relative": TO_BE_READ}),
        "bob": NOTHING | {"rope_tables": 3, "alibi_bias": 3, "why-relative": NOT_ANSWERED},
        "hal": NOTHING | {"why-relative": TO_BE_READ},
        "jon": NOTHING | {"why-relative": NOT_ANSWERED},
    }
    assert scores(graded) == expected
    with Gradebook(url_of(graded)) as book:
        totals = {one.student.id: one.score for one in book.assignment_submissions("5_rope")}
    assert totals == {name: sum(filter(None, own.values())) for name, own in expected.items()}


@slow_in_sandbox
def test_what_is_odd_is_a_sentence(graded, golden):
    said = (graded / "said.txt").read_text(encoding="utf-8")
    assert "Traceback" not in said and "SAWarning" not in said
    assert f"jon: 0 of {ROPE.points} points: rope.py was not handed in." in said
    warnings = re.sub(r"lines \d+ and \d+", "lines N and N", warnings_in(said))
    golden("what nbgrader says of a class", {"autograde": warnings})
    cells = autograded(graded, "emil").cells
    assert "is not a notebook, or has no cells" in html.unescape(cells[0].source)


@slow_in_sandbox
def test_graders_see_the_released_notebook_with_answers_as_typed_and_the_module(graded):
    names = [cell.metadata.get("nbgrader") for cell in released(graded).cells]
    for student in scores(graded):
        notebook = autograded(graded, student)
        cells = [cell for cell in notebook.cells if cell.metadata]
        assert [cell.metadata.nbgrader for cell in cells] == list(filter(None, names))
        for name in POINTS:
            assert cell_called(notebook, name).source == f'check("{name}")'
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert {kind for output in outputs for kind in output.get("data", {})} == {"text/plain"}
        assert not any(cell.get("attachments") for cell in notebook.cells)
    ann, fay = (autograded(graded, one) for one in ("ann", "fay"))
    assert ann.cells[0].source.startswith("# Rotary positions")
    assert text_of(cell_called(ann, "why-relative").source) == "Rotations *add up*."
    assert text_of(cell_called(fay, "why-relative").source) == NOT_FOUND
    assert ann.cells[-1].source.endswith(WARNED)
    assert (graded / "autograded/bob/5_rope/timestamp.txt").exists()


@slow_in_sandbox
def test_feedback_has_the_judges_messages_and_nothing_that_runs_or_is_secret(graded):
    nbgrader(graded, "generate_feedback", "5_rope")
    pages = {
        path.parent.parent.name: path.read_text(encoding="utf-8")
        for path in (graded / "feedback").rglob("5_rope.html")
    }
    assert pages.keys() == scores(graded).keys()
    for sentence in (
        "Which half of the result carries the minus sign?",
        "called  rotate_half(",
        "apply_rope is still to do.",
        "rope_tables passed.",
    ):
        assert sentence in html.unescape(pages["bob"])
    n_scripts = pages["fay"].count("<script")  # nbconvert's own
    for student, page in pages.items():
        assert page.count("<script") == n_scripts, student
        assert not re.search(r"<[^>]*(onerror|javascript:|/formgrader|evil)", page), student
        assert "hidden answer" not in page, student
    assert "evil()" in html.unescape(pages["hal"])
    assert '<div style="overflow: auto">' in pages["ann"]
    files = {path.name for path in (graded / "feedback").rglob("*.*")}
    assert files <= {"5_rope.html", "timestamp.txt"}


@slow_in_sandbox
def test_scores_by_hand_stay_and_a_second_run_changes_nothing(graded, tmp_path):
    folder = tmp_path / "class"
    shutil.copytree(graded, folder, ignore=shutil.ignore_patterns("timestamp.txt", *LEFT_OUT))
    for student in ("bob", "emil", "hal", "jon"):
        shutil.rmtree(folder / "submitted" / student)

    def answers(book):
        return [book.find_grade("why-relative", "5_rope", "5_rope", one) for one in ("ann", "fay")]

    def answers_after_grading():
        nbgrader(folder, "autograde", "5_rope")
        with Gradebook(url_of(folder)) as book:
            return [(one.manual_score, one.needs_manual_grade) for one in answers(book)]

    with Gradebook(url_of(folder)) as book:
        for grade in answers(book):
            assert grade.needs_manual_grade
            grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()
    assert answers_after_grading() == [(1.5, False)] * 2
    changed = with_answer(released(folder), "Rotations add up to the offset.")
    nbformat.write(changed, folder / "submitted/ann/5_rope/5_rope.ipynb")
    assert answers_after_grading() == [(1.5, True), (1.5, False)]  # ann's is another now
    with Gradebook(url_of(folder)) as book:
        assert book.find_submission("5_rope", "ann").score == ROPE.points + 1.5


@slow_in_sandbox
def test_who_is_killed_runs_the_command_again(folder):
    for number in range(4):
        hand_in(folder, f"student{number}", SOLUTION, released(folder))
    command = [sys.executable, "-m", "nbgrader", "autograde", "5_rope"]
    running = subprocess.Popen(command, cwd=folder, stdout=DEVNULL, stderr=DEVNULL)
    end = time.monotonic() + 900
    while running.poll() is None and time.monotonic() < end:
        if any((folder / "autograded").glob("*/5_rope/5_rope.ipynb")):
            break
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    assert 0 < len(list((folder / "autograded").glob("*/5_rope/5_rope.ipynb"))) < 4
    nbgrader(folder, "autograde", "5_rope")
    right = {**POINTS, "why-relative": NOT_ANSWERED}
    assert scores(folder) == {f"student{number}": right for number in range(4)}


@pytest.mark.slow
def test_without_our_judge_no_command_of_nbgraders_goes_on(folder, tmp_path):
    notebook = released(folder)
    notebook.cells = [new_code_cell(f"open({str(tmp_path / 'was run')!r}, 'w')"), *notebook.cells]
    hand_in(folder, "hal", SOLUTION, notebook)
    (folder / "course.py").write_text("", encoding="utf-8")  # which keeps ours from being found
    said = nbgrader(folder, "autograde", "5_rope", status=1)
    assert "students' notebooks" in said.splitlines()[-1]
    assert not (tmp_path / "was run").exists()


# --- before and after -----------------------------------------------------------------------


@pytest.mark.slow
def test_students_get_stubs_and_no_answers_and_validate_tells_them_apart(laid_out, tmp_path):
    files = {path.name: path for path in (laid_out / "release/5_rope").iterdir()}
    assert files.keys() == {"5_rope.ipynb", "rope.py"}
    assert files["rope.py"].read_text(encoding="utf-8") == STUB
    assert "hidden answer" not in files["5_rope.ipynb"].read_text(encoding="utf-8")
    names = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in released(laid_out).cells}
    assert names >= {*POINTS, "why-relative"}
    assert (laid_out / "source/5_rope/rope.py").read_text(encoding="utf-8") == STUB
    solved = tmp_path / "5_rope.ipynb"
    shutil.copy(laid_out / "source/5_rope/5_rope.ipynb", solved)
    (tmp_path / "rope.py").write_text(SOLUTION, encoding="utf-8")
    said = nbgrader(laid_out, "validate", str(solved))
    assert "Success!" in said
    said = nbgrader(laid_out, "validate", "release/5_rope/5_rope.ipynb")
    assert "VALIDATION FAILED ON 8 CELL(S)" in said  # the answer is missing, too


AT = "5_rope+2026-11-20 10:00:00.000000 UTC+x"
"""How the name of a submission in the exchange ends."""


@pytest.fixture
def inbound(tmp_path, monkeypatch) -> Path:
    """Where students put what they hand in, by the exchange, of an assignment with two files."""
    monkeypatch.setattr("nbgrader.api.get_alembic_version", lambda: "")  # it takes seconds
    for name in ("5_rope.ipynb", "rope.py"):
        write_atomically(tmp_path / "class/release/5_rope" / name, "released")
    inbound = tmp_path / "exchange/what-and-where/inbound"
    inbound.mkdir(parents=True)
    (tmp_path / "exchange").chmod(0o777)
    return inbound


def collected(inbound: Path) -> Path:
    """The folder `submitted/`, after collecting."""
    exchange, folder = inbound.parents[1], inbound.parents[2] / "class"
    course = CourseDirectory(root=str(folder), assignment_id="5_rope", course_id="what-and-where")
    Collect(coursedir=course, root=str(exchange), check_owner=False).start()
    return folder / "submitted"


def complaints_in(caplog: pytest.LogCaptureFixture) -> str:
    """The warnings and errors of a command that ran in this process."""
    said = (one.getMessage() for one in caplog.records if one.levelname != "INFO")
    return "\n".join(sorted(said))


def test_what_is_collected_is_what_was_released_and_no_link_is_followed(
    inbound, tmp_path, caplog, golden
):
    for student in ("ann", "bob", "cid", "eve"):
        for name in ("5_rope.ipynb", "rope.py", "more.py"):
            write_atomically(inbound / f"{student}+{AT}" / name, f"{student}'s")
        write_atomically(inbound / f"{student}+{AT}/timestamp.txt", "2020-01-01 00:00:00 UTC")
    write_atomically(tmp_path / "secret", "instructor's")
    for student, link in (("bob", os.symlink), ("cid", os.link)):
        (inbound / f"{student}+{AT}/rope.py").unlink()
        link(tmp_path / "secret", inbound / f"{student}+{AT}/rope.py")
    os.truncate(inbound / f"eve+{AT}/5_rope.ipynb", MAX_FILE_BYTES + 1)
    write_atomically(inbound / f"eve+{AT}/submission_secret.txt", "ab12")
    submitted = collected(inbound)
    files = {path.parent.name: {*os.listdir(path)} for path in submitted.glob("*/5_rope")}
    of_nbgrader = {"submission_secret.txt", "timestamp.txt"}
    assert files == {
        "ann": {"5_rope.ipynb", "rope.py", *of_nbgrader},
        "bob": {"5_rope.ipynb", *of_nbgrader},
        "eve": {"rope.py", *of_nbgrader},
    }
    texts = {path.read_text(encoding="utf-8") for path in submitted.rglob("*.*")}
    assert texts >= {"ann's", "eve's", "ab12", "2026-11-20 10:00:00.000000 UTC"}
    assert "instructor's" not in texts
    golden("what nbgrader says of a class", {"collect": complaints_in(caplog)})


def test_what_is_no_submission_keeps_nobody_from_being_collected(inbound, caplog, golden):
    names = [f"<b>+{AT}", f"=1+{AT}", f"\x1b]0;eve\x07+{AT}", f"e\nve+{AT}", f"Zoë van Dyk+{AT}"]
    names += ["eve+5_rope+yesterday+x", "eve+5_rope+", "eve+5_rope+2026-11-20 10:00:00 x:y+x"]
    for name in (*names, "ann+5_rope+2026-11-19 10:00:00 UTC+x"):
        (inbound / name).mkdir()
    write_atomically(inbound / f"ann+{AT}", "later, but no folder")
    (inbound / f"cleo+{AT}").symlink_to(f"Zoë van Dyk+{AT}")
    assert sorted(os.listdir(collected(inbound))) == ["Zoë van Dyk", "ann"]
    golden("what nbgrader says of a class", {"collect from an odd inbox": complaints_in(caplog)})


DOWNLOAD = {
    "ann_123_700_5_rope.ipynb": "ann's",
    "ann_123_701_rope-1.py": "ann's",
    "bob_124_702_work.zip": zipped({"5_rope/rope.py": "bob's", "5_rope/5_rope.ipynb": "bob's"}),
    "cleo_125_703_work.zip": zipped({"gina_126_704_rope.py": "cleo's", "../gina/rope.py": "evil"}),
    "dan_127_705_work.zip": b"no zip",
    "eve_128_706_work.zip": zipped({"rope.py": bytes(50 << 20)}),
    "fay_129_707_rope.py": "fay's",
    "kim_131_710_rope.py": "one Kim's",
    "kim_132_711_rope.py": "the other Kim's",
    "guy_130_708_5_rope.ipynb": "guy's",
    "guy_130_709_work.7z": b"7z\xbc\xaf\x27\x1c",
    "rope.py": "nobody's",
    "x$(y)/rope.py": "no name",
}


@pytest.mark.slow
def test_zip_collect_takes_what_a_learning_platform_gives(folder, golden):
    archive = folder / "downloaded/5_rope/archive"
    archive.mkdir(parents=True)
    (archive / "submissions.zip").write_bytes(zipped(DOWNLOAD))
    said = nbgrader(folder, "zip_collect", "5_rope")
    collected = {
        str(path.relative_to(folder / "submitted")): path.read_text(encoding="utf-8")
        for path in (folder / "submitted").rglob("*.*")
    }
    assert collected == {
        **{f"{name}/5_rope/rope.py": f"{name}'s" for name in ("ann", "bob", "cleo", "fay")},
        **{f"{name}/5_rope/5_rope.ipynb": f"{name}'s" for name in ("ann", "bob")},
        "kim~131/5_rope/rope.py": "one Kim's",
        "kim~132/5_rope/rope.py": "the other Kim's",
    }
    golden("what nbgrader says of a class", {"zip_collect": warnings_in(said)})


def test_the_one_zip_that_a_platform_gave_is_one_students(tmp_path):
    """Whoever has a folder bob/ in a zip does not hand in for Bob."""
    archive, out = tmp_path / "archive", tmp_path / "out"
    for folder in (archive, out):
        folder.mkdir()
    (archive / "annlee_1234_3456_work.zip").write_bytes(zipped({"bob/rope.py": "hers"}))
    parent = SimpleNamespace(coursedir=SimpleNamespace(assignment_id="5_rope"))
    collector = SimpleNamespace(parent=parent, log=logging.getLogger())
    Extractor.extract(collector, str(archive), str(out))
    assert [path.name for path in out.iterdir()] == ["annlee"]


def test_if_a_notebook_cannot_be_made_nothing_is(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "source_of", lambda stem: tmp_path / f"none/{stem}.py")
    done = CliRunner().invoke(command.nbgrader, ["init", str(tmp_path / "class")])
    assert done.exit_code == 1
    assert "1_lookup.py" in done.output
    assert list(tmp_path.iterdir()) == []


# --- harmless names, texts and files --------------------------------------------------------


NAMES = ["ann", "jane_doe-2", "Zoë van Dyk", "Zoe\u0308", "नमिता", "李", "O.Brien+1@uni.nl"]
NAMES += ["bob~999"]
NO_NAMES = ["", ".", "..", "=1+1", "+1", "-x", "@sum", " ann", "ann ", "a/b", "a|b", "a;b", "a\\b"]
NO_NAMES += ["~", "~bob"]
NO_NAMES += ["<b>", "a&b", 'a"b', "a'b", "a`b", "*", "al[i]ce", "a?", "a#b", "a%b", "a,b", "a$b"]
NO_NAMES += ["a\nb", "a\n", "a\x1bb", "a\u202eb", "a\udc80b", "a\u2028b", "\u0301a", "\uff1d1"]


@pytest.mark.parametrize("name", NAMES + NO_NAMES)
def test_a_name_is_no_more_than_a_name(name):
    assert is_plain(name) is (name in NAMES)


EVIL_NAMES = ("<img src=x onerror=evil()>#", "=1+1", "al[i]ce", "*", "ev\nil")


def test_formgrader_uses_our_ways_too(monkeypatch):
    for module, name in (
        (api, "Autograde"),
        (autogradeapp, "Autograde"),
        *((api.NbGraderAPI, f"get_submitted_{what}") for what in ("students", "timestamp")),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))  # so that it is set back
    configure(Config())
    assert api.Autograde is autogradeapp.Autograde is Autograde
    assert api.NbGraderAPI.get_submitted_students is submitted_students
    assert api.NbGraderAPI.get_submitted_timestamp is submitted_time


@pytest.mark.parametrize("assignment", ["5_rope", "*"])
def test_formgrader_and_autograde_know_students_with_plain_names_alone(
    assignment, tmp_path, caplog
):
    left_out = (*EVIL_NAMES, "eve", "fay", "gus")
    for student in ("ann", "Zoë van Dyk", *EVIL_NAMES):
        (tmp_path / "submitted" / student / "5_rope").mkdir(parents=True)
    for link, target in (("eve", "ann"), ("fay/5_rope", "../ann/5_rope")):
        (tmp_path / "submitted/fay").mkdir(exist_ok=True)
        (tmp_path / "submitted" / link).symlink_to(target)
    write_atomically(tmp_path / "submitted/gus/5_rope", "no folder")
    formgrader = api.NbGraderAPI(CourseDirectory(root=str(tmp_path)))
    assert submitted_students(formgrader, assignment) == {"ann", "Zoë van Dyk"}
    assert all(f"{f'submitted/{one}/5_rope'!r} was left out" in caplog.text for one in left_out)
    grader = grader_of("5_rope", tmp_path)
    folders, said = grader.submitted()
    assert (folders.keys(), len(said)) == ({"ann", "Zoë van Dyk"}, len(left_out))
    grader.coursedir.student_id = "an*"
    assert grader.submitted()[0].keys() == {"ann"}


@pytest.mark.parametrize(
    ("text", "believed"),
    [
        ("2026-11-20 10:00:00.123456 UTC\n", True),
        ("2026-11-20 10:00:00 +0100", True),
        ("2026-11-20 10:00:00 -03", True),  # as in Brazil
        ("2026-11-20 10:00:00 ../pipe", False),  # nbgrader would look for a file of that name
        ("2026-99-99 10:00:00", False),
        ("0001-01-01 00:00:00 +2359", False),
        ("yesterday", False),
        ("", False),
        (None, False),
    ],
)
def test_a_time_is_believed_only_if_it_is_one(text, believed, tmp_path):
    place = hand_in(tmp_path, "ann", None, None)
    if text is None:
        os.mkfifo(place / "timestamp.txt")
    else:
        (place / "timestamp.txt").write_text(text, encoding="utf-8")
    handed_in = read_handed_in(place, ROPE)
    assert handed_in.texts == ({"timestamp.txt": text.strip()} if believed else {})
    assert any("timestamp.txt" in remark for remark in handed_in.remarks) is not believed
    formgrader = api.NbGraderAPI(CourseDirectory(root=str(tmp_path)))
    time = submitted_time(formgrader, "5_rope", "ann")
    assert time == (parse_utc(text.strip()) if believed else None)
    assert submitted_time(formgrader, "5_rope", "nobody") is None


def answer_cell(source: object, kind: str = "markdown", **nbgrader: object) -> dict:
    """A cell as a student hands it in."""
    return {"cell_type": kind, "source": source, "metadata": {"nbgrader": nbgrader}}


def released_answer(text: str) -> NotebookNode:
    """The cell that students get for an answer."""
    cell = new_markdown_cell(text)
    cell.metadata["nbgrader"] = {"grade_id": "why", "grade": True, "solution": True, "points": 2}
    cell.metadata["nbgrader"]["checksum"] = compute_checksum(cell)
    return cell


STARTED, ANSWERED = "Why? YOUR ANSWER", "Because."
RESULT = GradedResult("rope", student="ann")


def judged(cells: list[dict], remarks: tuple[str, ...] = ()) -> NotebookNode:
    """The notebook of a student who handed in these cells, of a question."""
    released = new_notebook(cells=[new_markdown_cell("# Rotary"), released_answer(STARTED)])
    return judged_notebook(released, find_answers(cells, released.cells), RESULT, remarks, "")


@pytest.mark.parametrize(
    ("cells", "shown", "score"),
    [
        ([answer_cell(STARTED, grade_id="why")], STARTED, NOT_ANSWERED),
        ([answer_cell("", grade_id="why")], STARTED, NOT_ANSWERED),
        ([answer_cell([], grade_id="why")], STARTED, NOT_ANSWERED),
        ([answer_cell(STARTED, grade_id="why", points=9, solution=False)], STARTED, NOT_ANSWERED),
        ([answer_cell(ANSWERED, grade_id="why", grade=False, locked=True)], ANSWERED, TO_BE_READ),
        ([answer_cell(ANSWERED, "code", grade_id="why")], ANSWERED, TO_BE_READ),
        ([answer_cell(list(ANSWERED), grade_id="why")], ANSWERED, TO_BE_READ),
        ([answer_cell(one, grade_id="why") for one in (STARTED, ANSWERED)], ANSWERED, TO_BE_READ),
        ([answer_cell(half, grade_id="why") for half in ("One", "two")], "One\ntwo", TO_BE_READ),
        ([], NOT_FOUND, TO_BE_READ),  # no notebook, or one that cannot be read
        ([answer_cell(ANSWERED)], NOT_FOUND, TO_BE_READ),
        ([answer_cell(ANSWERED, grade_id="because")], NOT_FOUND, TO_BE_READ),
        ([answer_cell([[ANSWERED]], grade_id="why")], NOT_FOUND, TO_BE_READ),
        ([{"input": ANSWERED, **answer_cell(None, grade_id="why")}], NOT_FOUND, TO_BE_READ),
        ([{"cells": [answer_cell(ANSWERED, grade_id="why")]}], NOT_FOUND, TO_BE_READ),
    ],
)
def test_an_answer_that_cannot_be_found_is_for_a_human_to_look_for(cells, shown, score):
    answer = cell_called(judged(cells), "why")
    assert text_of(answer.source) == shown
    assert determine_grade(answer) == (score, 2)


def test_words_of_a_students_own_are_not_dropped_in_silence():
    released = [new_markdown_cell("# Rotary"), released_answer(STARTED)]
    own = [{"cell_type": "markdown", "source": one} for one in ("# Rotary", "My own", " ")]
    code = {"cell_type": "code", "source": "1 + 1"}
    assert count_own_words([*own, code, answer_cell(ANSWERED, grade_id="why")], released) == 1


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"cells": {}}', '{"worksheets": [{"cells": []}]}', "[" * 100_000]
)
def test_what_is_no_notebook_has_no_cells(text, tmp_path):
    handed_in = read_handed_in(hand_in(tmp_path, "ann", None, text), ROPE)
    assert handed_in.cells == []
    assert handed_in.remarks[-1].startswith("5_rope.ipynb ")


def test_of_an_endless_notebook_the_answers_are_shown(tmp_path):
    noise = {"cell_type": "code", "source": "x" * 20_000, "outputs": [{"text": "*" * 20_000}]}
    notebook = judged([*[noise] * 400, answer_cell("*" * 10**6, grade_id="why")])
    assert "&#42;&#42;" in cell_called(notebook, "why").source
    assert len(nbformat.writes(notebook)) < 200_000


def test_a_formula_stays_one_but_becomes_no_link():
    typed = r"$q^T k$ $\href{javascript:evil()}{x}$ \\style{} $\let\x=\href$ \hrefs \cos"
    typed += r" $\def\cos{1}$"
    shown = html.unescape(as_typed(typed))
    assert "$q^T k$" in shown and r"\cos" in shown
    assert not re.search(r"\\(href|style|let|def)", shown)


@pytest.mark.parametrize("typed", [r"$\smash{\raise 2em{\rlap{x}}}$", "</div>", "- x\n\n</div>"])
def test_an_answer_stays_in_its_own_box(typed):
    """A formula may move what it draws, and would cover the score next to the answer."""
    page = markdown2html(
        cell_called(judged([answer_cell(typed, grade_id="why")]), "why").source
    ).strip()
    assert page.startswith('<div style="overflow: auto">') and page.endswith("</div>")
    assert page.count("</div") == 1


@pytest.mark.parametrize(
    "text",
    [
        EVIL_MARKDOWN,
        "# title\n\n- list\n1. two\n\n---\n\n> quote\n\n```\ncode\n```\n\n    indented\n\ttab",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\nTitle\n=====\n\nterm\n: definition\n\n~~gone~~",
        r"\[x\] \\[y\\] $q^T k$ $$z$$ \begin{a}b\end{a} &lt;b&gt; &#60;",
        "www.evil.org https://evil.org a@evil.org\n\n[x]: //evil.org\n\n[x]\n\n[^1]\n\n[^1]: x",
        "<!-- x\n\n--> <![CDATA[ x ]]> <?php x ?> </p><b>\n<div>\n</div",
        "a  \nb\\\nc * * *\n_ _ _\n+ x\n* y\n10) z",
    ],
)
def test_a_text_is_shown_as_it_was_typed(text):
    page = markdown2html(as_typed(text))
    assert set(re.findall(r"</?(\w+)", page)) <= {"p", "br"}
    seen = html.unescape(re.sub("<[^>]*>", "", page)).replace("\N{NO-BREAK SPACE}", " ")
    assert seen.split() == text.split()


def grader_of(assignment: str, folder: Path) -> Autograde:
    return Autograde(coursedir=CourseDirectory(root=str(folder), assignment_id=assignment))


def test_an_assignment_of_ones_own_is_graded_by_nbgrader_with_a_warning(
    tmp_path, monkeypatch, caplog
):
    started = []
    monkeypatch.setattr(converters.Autograde, "start", lambda self: started.append(self))
    grader = grader_of("essay", tmp_path)
    grader.start()
    assert started == [grader]
    assert "essay is not a lesson" in caplog.text


def test_without_a_sandbox_nothing_is_graded(tmp_path, monkeypatch):
    monkeypatch.setattr("course.grading.sandbox.sandbox.missing", lambda: ["There is no sandbox."])
    with pytest.raises(NbGraderException, match="There is no sandbox"):
        grader_of("5_rope", tmp_path).start()


@slow_in_sandbox
def test_what_cannot_be_graded_so_is_a_sentence(folder):
    def is_refused(sentence: str) -> None:
        with pytest.raises(NbGraderException, match=sentence):
            grader_of("5_rope", folder).start()

    hand_in(folder, "ann", SOLUTION, None)
    source = folder / "source/5_rope/5_rope.ipynb"
    source.write_text(source.read_text("utf-8").replace('"ntk_base"', '"mine"'), "utf-8")
    shutil.copy(source, source.with_name("essay.ipynb"))
    nbgrader(folder, "generate_assignment", "5_rope", "--force")
    is_refused("5_rope must have")
    with Gradebook(url_of(folder)) as book:
        book.remove_notebook("essay", "5_rope")
    is_refused("rope has no exercise called mine")
    shutil.rmtree(folder / "release")
    is_refused("run `nbgrader generate_assignment 5_")


@slow_in_sandbox
def test_what_cannot_be_read_costs_its_owner_no_points(folder, monkeypatch, caplog):
    """A file that another student gave a second name; a file that this machine cannot read."""
    caplog.set_level("INFO")
    module = hand_in(folder, "ann", SOLUTION, None) / "rope.py"
    grader_of("5_rope", folder).start()
    fstat, others = os.fstat, hand_in(folder, "eve", None, None)

    def failing(handle: int) -> os.stat_result:
        if os.path.samestat(fstat(handle), module.stat()):
            raise PermissionError(errno.EACCES, "Permission denied")
        return fstat(handle)

    os.link(module, others / "anything.txt")
    for why in ("rope.py has another name", "[Errno 13] Permission denied"):
        with pytest.raises(NbGraderException, match=r"^ann was not graded$"):
            grader_of("5_rope", folder).start()
        assert f"ann was not graded: It cannot be read: {why}" in caplog.text
        assert scores(folder)["ann"] == {**POINTS, "why-relative": TO_BE_READ}
        (others / "anything.txt").unlink(missing_ok=True)
        monkeypatch.setattr(os, "fstat", failing)
    assert "ann: 0 of" not in caplog.text


def test_a_module_in_another_encoding_is_no_zero(tmp_path):
    (hand_in(tmp_path, "ann", None, None) / "rope.py").write_text("x = 1", encoding="utf-16")
    with pytest.raises(OSError, match="is not saved as UTF-8"):
        read_handed_in(tmp_path / "submitted/ann/5_rope", ROPE)


def test_of_a_folder_its_own_files_are_read_and_no_more(tmp_path):
    inside = tmp_path / "inside"
    write_atomically(inside / "folder/file", "")
    write_atomically(inside / "file", "12345")
    write_atomically(tmp_path / "outside", "secret")
    (inside / "link").symlink_to(inside / "file")
    os.mkfifo(inside / "pipe")
    os.link(tmp_path / "outside", inside / "hard")
    (tmp_path / "door").symlink_to(inside)
    assert read_file(inside, "file", 5) == b"12345"
    for folder, name, why in (
        *((inside, name, "is a link, or not a file") for name in ("link", "folder", "pipe")),
        (inside, "nothing", "was not handed in"),
        (inside, "file", "is larger than"),
        (tmp_path / "door", "file", "is a link, or not a file"),
        (inside, "hard", "has another name elsewhere"),
    ):
        with pytest.raises(OSError if name == "hard" else NotRead, match=f"{name} {why}"):
            read_file(folder, name, 4)
