"""A class is graded once, whole, and from where it stopped, whatever happens on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from course.cli.grade import _not_graded, _say, grade
from course.grading.judge import judges
from course.grading.judge.grade import GradingError, Settings, Store, grade_all
from course.grading.judge.unit import Unit, key_of, not_graded
from course.grading.reports import pages_of_others
from course.grading.results import from_text
from course.grading.sandbox.remote import SECONDS_TO_LOAD
from course.grading.sandbox.sandbox import missing
from course.syllabus import find_lesson, stub_from
from course.system.files import write_whole
from course.testing.honesty import honest

pytestmark = pytest.mark.skipif(bool(missing()), reason=" ".join(missing()))

SOLUTION = find_lesson("learned").module("solutions").read_text(encoding="utf-8")
STUB = stub_from(SOLUTION, "learned")
POINTS = {"ann": 15, "bob": 0, "cyd": 13, "dan": 0}


@pytest.fixture(scope="module")
def submissions(tmp_path_factory) -> Path:
    """Four students: one right, one not begun, one with a mistake, one broken."""
    folder = tmp_path_factory.mktemp("submissions")
    one_wrong = SOLUTION.replace("[t + p for t, p", "[t - p for t, p")
    sources = {"ann": SOLUTION, "bob": STUB, "cyd": one_wrong, "dan": "def ("}
    for student, source in sources.items():
        (folder / student).mkdir()
        (folder / student / "learned.py").write_text(source, encoding="utf-8")
    return folder


def units(folder: Path) -> list[Unit]:
    return [
        Unit(student.name, "learned", (student / "learned.py").read_bytes())
        for student in sorted(folder.iterdir())
    ]


def graded(folder: Path, out: Path, **options) -> dict[str, int]:
    """Points by student; everybody has exactly one result."""
    found = [result for result, _ in grade_all(units(folder), Store(out), Settings(), 1, **options)]
    assert len(found) == len({result.student for result in found})
    return {result.student: result.points for result in found}


@pytest.mark.slow
def test_everybody_gets_a_result_and_a_second_run_does_nothing(submissions, tmp_path, monkeypatch):
    assert graded(submissions, tmp_path) == POINTS
    monkeypatch.setattr(judges, "_with_judges", None)  # nobody is to be asked again
    assert graded(submissions, tmp_path) == POINTS


@pytest.mark.slow
def test_only_what_changed_or_is_broken_is_graded_again(submissions, tmp_path):
    graded(submissions, tmp_path)
    first, second = (tmp_path / "results" / "learned" / f"{name}.json" for name in ("ann", "bob"))
    first.write_bytes(first.read_bytes()[: first.stat().st_size // 2])
    second.write_text("{}", encoding="utf-8")
    *others, last = units(submissions)
    changed = Unit(last.student, last.lesson, last.source + b"\n")
    again = list(grade_all([*others, changed], Store(tmp_path), Settings(), 1))
    assert {result.student: result.points for result, _ in again} == POINTS
    assert {result.student for result, was_there in again if was_there} == {"cyd"}


@pytest.mark.slow
def test_a_fresh_run_grades_everything_again(submissions, tmp_path):
    graded(submissions, tmp_path)
    results = grade_all(units(submissions), Store(tmp_path), Settings(), 1, fresh=True)
    assert [was_there for _, was_there in results] == [False] * 4


@pytest.mark.slow
@pytest.mark.parametrize("with_nurseries", [False, True])
def test_a_judge_that_is_killed_loses_nothing(submissions, tmp_path, with_nurseries):
    """All judges are killed at once when the first result has come, and what they come from."""
    results = grade_all(units(submissions), Store(tmp_path), Settings(), 2)
    found = [next(results)[0]]
    children = _children_of(os.getpid())
    (server,) = [p for p in children if "forkserver" in _command_of(p)]
    (nursery,) = [p for p in children if "course.grading.sandbox.nursery" in _command_of(p)]
    to_kill = _children_of(server)
    if with_nurseries:
        to_kill += [nursery, *_children_of(nursery)]
    assert to_kill
    for process in to_kill:
        os.kill(process, signal.SIGKILL)
    found += [result for result, _ in results]
    assert {result.student: result.points for result in found} == POINTS
    assert len(found) == 4


@pytest.mark.slow
def test_a_nursery_that_is_killed_loses_nothing(submissions, tmp_path):
    """A judge without workers cannot go on, so another one takes its place."""
    results = grade_all(units(submissions), Store(tmp_path), Settings(), 1)
    found = [next(results)[0]]
    (shared,) = [p for p in _children_of(os.getpid()) if "nursery" in _command_of(p)]
    (nursery,) = _children_of(shared)
    os.kill(nursery, signal.SIGKILL)
    found += [result for result, _ in results]
    assert {result.student: result.points for result in found} == POINTS
    assert len(found) == 4


def test_one_grader_at_a_time(tmp_path):
    with Store(tmp_path).locked():
        second = Store(tmp_path).locked()
        with pytest.raises(GradingError, match="another grader is at work"):
            second.__enter__()


def test_what_was_not_graded_is_not_kept(tmp_path):
    unit = Unit("ann", "learned", b"")
    result = not_graded(unit, "The grader itself was killed.")
    assert result.key == ""
    store = Store(tmp_path)
    store.keep(unit, result)
    assert store.find(unit, key_of(unit, 0)) is None


def test_a_seed_is_secret_until_it_is_drawn_and_then_kept(tmp_path):
    first, other = Store(tmp_path / "a"), Store(tmp_path / "b")
    drawn = first.seed(None)
    assert drawn == first.seed(None) != other.seed(None)
    assert first.seed(7) == first.seed(None) == 7
    (tmp_path / "a" / "seed.txt").write_text("seven", encoding="utf-8")
    with pytest.raises(GradingError, match="should hold a whole number"):
        first.seed(None)


def run(*arguments: str):
    return CliRunner().invoke(grade, list(map(str, arguments)))


@pytest.mark.slow
def test_the_command_says_what_it_found(submissions, tmp_path):
    result = run(submissions, "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "students: 4, results: 4; modules not handed in: 0, with trouble: 1" in result.output
    assert (tmp_path / "out" / "grades.csv").exists()
    assert "Older pages" not in result.output
    shutil.copytree(submissions / "ann", tmp_path / "class" / "ann")
    result = run(tmp_path / "class", "--out", tmp_path / "out", "--jobs", 1)
    assert "Older pages of students who are not among these are in there: 3, such as" in (
        result.output
    )


def test_a_folder_one_too_high_is_pointed_out(tmp_path, capsys):
    (tmp_path / "class" / "submissions").mkdir(parents=True)
    one = not_graded(Unit("submissions", "rope", None), "")
    _say(tmp_path / "class", [one], [])
    assert f"of several, grade {tmp_path / 'class' / 'submissions'}" in capsys.readouterr().out
    _say(tmp_path / "class", [one, replace(one, student="ann")], [])
    _say(tmp_path / "class" / "submissions", [one], [])
    assert "of several" not in capsys.readouterr().out


def test_the_command_speaks_of_notes(capsys, tmp_path):
    unit = Unit("ann", "rope", None, notes=("work.rar is neither a lesson nor a zip",))
    _say(tmp_path, [not_graded(unit, ""), not_graded(replace(unit, lesson="lookup"), "")], [])
    assert "students with notes on what they handed in: 1; index.html" in capsys.readouterr().out
    _say(tmp_path, [not_graded(replace(unit, notes=()), "")], [])
    assert "notes" not in capsys.readouterr().out


def test_whose_work_holds_no_module_is_named(capsys, tmp_path):
    lacks = "rope.py was not handed in."
    ann = not_graded(Unit("ann", "rope", None, notes=("ann.zip is damaged, or is no zip",)), lacks)
    nothing_odd = replace(ann, student="bob", notes=())
    has_another = replace(ann, student="cyd", lesson="lookup", trouble="")
    _say(tmp_path, [ann, nothing_odd, replace(ann, student="cyd"), has_another], [])
    assert "no module was found in the work of: ann; their" in capsys.readouterr().out
    _say(tmp_path, [replace(ann, student=f"s{i}") for i in range(7)], [])
    assert "in the work of: s0, s1, s2, s3, s4 and 2 more; their" in capsys.readouterr().out
    _say(tmp_path, [nothing_odd], [])
    assert "no module" not in capsys.readouterr().out


def test_what_was_not_graded_is_told_by_student():
    ann = not_graded(Unit("ann", "lookup", None), "Two claim it.")
    results = [ann, replace(ann, lesson="rope"), replace(ann, student="bob", key="graded")]
    assert _not_graded(results) == "ann's lookup, rope"
    many = [replace(ann, student=f"s{i}") for i in range(7)]
    assert _not_graded(many).endswith("s4's lookup and 2 more")


@pytest.mark.slow
def test_the_id_on_canvas_is_that_of_the_latest_download(tmp_path):
    for name in ("ann_123_700_learned.py", "ann_124_700_learned.py"):
        (tmp_path / name[:7]).mkdir()
        (tmp_path / name[:7] / name).write_text(STUB, encoding="utf-8")
        result = run(tmp_path / name[:7], "--out", tmp_path / "out", "--jobs", 1)
        assert result.exit_code == 0, result.output
        assert f"\nann,{name[4:7]},,," in (tmp_path / "out" / "canvas.csv").read_text("utf-8")


def test_modules_beside_the_students_folders_are_named(submissions, tmp_path, monkeypatch):
    monkeypatch.setattr("course.grading.judge.grade.grade_all", lambda *_: iter(()))
    shutil.copytree(submissions, tmp_path / "class")
    assert "Beside" not in run(tmp_path / "class", "--out", tmp_path / "out").output
    for name in ("lookup.py", "rope (1).py"):
        (tmp_path / "class" / name).write_text(STUB, encoding="utf-8")
    result = run(tmp_path / "class", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "Beside the students' folders: lookup.py, rope (1).py. No name says" in result.output
    assert "lookup.py, rope (1).py" in (tmp_path / "out" / "index.html").read_text("utf-8")


@pytest.mark.slow
def test_who_is_late_is_told_though_the_module_was_graded_before(tmp_path):
    for mark, cell in (("", ""), ("_LATE", "yes"), ("", "")):
        shutil.rmtree(tmp_path / "class", ignore_errors=True)
        (tmp_path / "class").mkdir()
        (tmp_path / "class" / f"ann{mark}_123_700_learned.py").write_text(STUB, encoding="utf-8")
        run(tmp_path / "class", "--out", tmp_path / "out", "--jobs", 1)
        assert f"\nann,0,{find_lesson('learned').points},{cell}," in (
            tmp_path / "out" / "grades.csv"
        ).read_text("utf-8")
        page = (tmp_path / "out" / "feedback" / "ann.html").read_text("utf-8")
        assert ("learned.py was handed in late" in page) == bool(mark)


def test_pages_of_those_who_left_are_spoken_of(tmp_path):
    for student in ("ann", "bob"):
        write_whole(tmp_path / "feedback" / f"{student}.html", "")
    left = pages_of_others([not_graded(Unit("ann", "rope", b""), "")], tmp_path)
    assert left == [tmp_path / "feedback" / "bob.html"]


def test_a_lesson_that_is_named_twice_counts_once(tmp_path, monkeypatch):
    submissions = tmp_path / "class"
    (submissions / "ann").mkdir(parents=True)
    wanted = []
    monkeypatch.setattr("course.cli.grade._units", lambda _, lessons: wanted.append(lessons))
    run(submissions, "--out", tmp_path / "out", *("--lesson", "rope", "--lesson", "5") * 2)
    assert [[lesson.stem for lesson in lessons] for lessons in wanted] == [["rope"]]


def test_the_class_is_read_once(submissions, tmp_path, monkeypatch):
    from course.grading import submissions as reader

    real, read = reader.read_submissions, []
    monkeypatch.setattr(reader, "read_submissions", lambda path: read.append(path) or real(path))
    monkeypatch.setattr("course.grading.judge.grade.grade_all", lambda *_: iter(()))
    assert run(submissions, "--out", tmp_path / "out").exit_code == 0
    assert read == [submissions]


@pytest.mark.slow
def test_what_cannot_be_read_here_is_not_graded_and_said(submissions, tmp_path, monkeypatch):
    """Once it was graded; then its file can no longer be read. Its old points do not stand."""
    assert run(submissions, "--out", tmp_path, "--jobs", 1).exit_code == 0
    real_open = os.open

    def refuse(path, *rest):
        if str(path).endswith("cyd/learned.py"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *rest)

    monkeypatch.setattr("course.grading.submissions.files.os.open", refuse)
    result = run(submissions, "--out", tmp_path, "--jobs", 1)
    assert result.exit_code == 1
    assert "Not graded, and left out of the totals: cyd's learned. Their pages" in result.output
    rows = (tmp_path / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[:3] for row in rows[3:4]] == [["cyd", "0", "0"]]
    page = (tmp_path / "feedback" / "cyd.html").read_text(encoding="utf-8")
    assert "The grader could not read learned.py (Permission denied)." in page
    assert "counts neither for nor against you" in page


@pytest.mark.slow
def test_a_lesson_that_nobody_handed_in_readably_is_not_passed_over(tmp_path):
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (tmp_path / "class" / "ann" / "learned.py").write_text(STUB, encoding="utf-8")
    (tmp_path / "class" / "ann" / "rope.py").write_text("", encoding="utf-8")
    os.link(tmp_path / "class" / "ann" / "rope.py", tmp_path / "backup")
    result = run(tmp_path / "class", "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "students: 1, results: 2; modules not handed in: 0" in result.output
    of = find_lesson("learned").points + find_lesson("rope").points
    assert f"\nann,0,{of}," in (tmp_path / "out" / "grades.csv").read_text("utf-8-sig")


@pytest.mark.slow
def test_what_two_sources_claim_is_not_graded_and_said(submissions, tmp_path):
    shutil.copytree(submissions, tmp_path / "class")
    shutil.make_archive(str(tmp_path / "class" / "ann"), "zip", submissions / "bob")
    result = run(tmp_path / "class", "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 1
    assert "ann/ and ann.zip both claim the name ann: keep one." in result.output
    rows = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == ["ann", "bob", "cyd", "dan"]
    worth = {one.name: one.points for one in find_lesson("learned").exercises}
    total = sum(worth.values())
    points = [row.split(",")[1:3] for row in rows[1:4:2]]
    assert points == [["0", "0"], [str(total - worth["scalar_embedding"]), str(total)]]
    login = (tmp_path / "out" / "canvas.csv").read_text(encoding="utf-8").splitlines()[2]
    assert login == "ann,,ann,ann,,"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere"),
        ([], "name the folder, or the zip, that holds the SUBMISSIONS"),
        ([".", "--lesson", "roap"], 'there is no lesson "roap"; did you mean "rope"?'),
        ([".", "--jobs", "0"], "0 is not in the range"),
        (["--self-test", "--lesson", "rope"], "--self-test grades nothing: leave the rest out"),
    ],
)
def test_bad_input_is_a_sentence(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code != 0
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_a_machine_without_a_sandbox_refuses(submissions, tmp_path, monkeypatch):
    monkeypatch.setattr("course.grading.sandbox.sandbox.missing", lambda: ["Something is missing."])
    result = run(submissions, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "Something is missing. Strangers' code is not run without a sandbox" in result.output
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own; `small_disk.resize("64k")` makes it small or large."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command here to make a small disk with")
    if mounted.returncode:
        pytest.skip(f"only root may make a small disk to fill: {mounted.stderr.strip()}")

    def resize(size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)

    yield SimpleNamespace(folder=folder, resize=resize)
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_loses_nothing(submissions, small_disk):
    out = small_disk.folder / "out"
    arguments = [str(submissions), "--lesson", "learned", "--out", str(out), "--jobs", "1"]
    for size in ("4k", "24k", "48k", "80k"):
        small_disk.resize(size)
        result = CliRunner().invoke(grade, arguments)
        assert result.exit_code == 1
        assert "No space left on device. Nothing that was graded is lost" in result.output
        for file in out.rglob("*.json"):
            json.loads(file.read_text(encoding="utf-8"))
        assert [file.name for file in out.rglob(".*")] in ([], [".lock"])
    small_disk.resize("10m")
    result = CliRunner().invoke(grade, arguments)
    assert result.exit_code == 0, result.output
    assert graded(submissions, out) == POINTS
    assert (out / "index.html").read_text(encoding="utf-8").endswith("</html>")


@pytest.mark.slow
def test_a_grader_that_is_killed_goes_on_where_it_was(submissions, tmp_path):
    command = [sys.executable, "-m", "course", "grade", str(submissions), "--out", str(tmp_path)]
    sessions: list[int] = []
    for seconds in (1.0, 3.0, 4.5, 5.0, 5.5, 6.0):
        process = subprocess.Popen(
            [*command, "--jobs", "1"], stdout=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(seconds)
        process.kill()
        process.wait()
        sessions.append(process.pid)
        for path in (tmp_path / "results").rglob("*.json"):
            from_text(path.read_text(encoding="utf-8"))  # none is half-written
    subprocess.run([*command, "--jobs", "1"], check=True, stdout=subprocess.DEVNULL)
    assert graded(submissions, tmp_path) == POINTS
    assert [p for p in _processes() if _fields_of(p)[3] in sessions] == []


@pytest.mark.slow
def test_workers_and_judges_end_within_two_seconds_of_a_killed_grader(tmp_path):
    """While one module loops for ever, and another's judge computes."""
    for name in ("eve", "mal"):
        (tmp_path / "class" / name).mkdir(parents=True)
        endless = f"{SOLUTION}\n# {name}\n\nwhile True:\n    pass\n"
        (tmp_path / "class" / name / "learned.py").write_text(endless, encoding="utf-8")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "course",
            "grade",
            str(tmp_path / "class"),
            "--out",
            str(tmp_path / "out"),
            "--jobs",
            "2",
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not (busy := _busy_workers(process.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        started = _descendants(process.pid)
        assert set(busy) <= set(started)
    finally:
        process.kill()
        process.wait()
    time.sleep(2)
    assert [_command_of(p) for p in started if _fields_of(p)[0] not in ("gone", "Z")] == []


def _busy_workers(grader: int) -> list[int]:
    """Processes that lead a session of their own, as workers do, and compute."""
    return [
        process
        for process in _descendants(grader)
        if _fields_of(process)[3] == process and _fields_of(process)[0] == "R"
    ]


def _descendants(parent: int) -> list[int]:
    children = _children_of(parent)
    return [*children, *(one for child in children for one in _descendants(child))]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.5, 4.0, 6.0])
def test_ctrl_c_stops_everybody_with_a_sentence(submissions, tmp_path, seconds):
    with_a_slow_one = shutil.copytree(submissions, tmp_path / "submissions")
    (with_a_slow_one / "eve").mkdir()
    slow = f"{SOLUTION}\n\nimport time\n\ntime.sleep(6)\n"
    (with_a_slow_one / "eve" / "learned.py").write_text(slow, encoding="utf-8")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "course", "grade", str(with_a_slow_one)]
    process = subprocess.Popen(
        [*command, "--out", str(out), "--jobs", "2", "--fresh"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
    said, _ = process.communicate(timeout=60)
    assert process.returncode != 0, said
    assert "Traceback" not in said
    assert said.rstrip().endswith("run the same command again to go on.") or seconds == 1.5
    deadline = time.monotonic() + 20
    while left := [p for p in _processes() if _fields_of(p)[3] == process.pid]:
        assert time.monotonic() < deadline, [_command_of(p) for p in left]
        time.sleep(0.1)
    assert graded(submissions, out) == POINTS


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_an_endless_loop(tmp_path):
    for student in ("ann", "bob"):
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "learned.py").write_text("while True: pass\n", "utf-8")
    command = [sys.executable, "-m", "course", "grade", str(tmp_path / "class")]
    process = subprocess.Popen([*command, "--out", str(tmp_path / "out")], start_new_session=True)
    time.sleep(8)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(SECONDS_TO_LOAD / 2) == 1


def test_a_judge_gets_the_lessons_that_it_knows():
    """Two judges in turn: none begins a lesson that the other one knows while there is another."""
    units = [Unit(f"student {n}", stem, b"") for n in range(5) for stem in ("rope", "lookup")]
    waiting = judges._Waiting(iter(units), at_most=6)
    given = [(judge, waiting.next_for(judge)) for _ in range(4) for judge in (0, 1)]
    assert [unit.lesson for judge, unit in given if judge == 0] == ["rope"] * 4
    assert [unit.lesson for judge, unit in given if judge == 1] == ["lookup"] * 4
    rest = [waiting.next_for(0), waiting.next_for(0)]
    assert [unit.lesson for unit in rest] == ["rope", "lookup"]
    assert waiting.next_for(0) is None is waiting.next_for(1)
    assert sorted(map(str, [unit for _, unit in given] + rest)) == sorted(map(str, units))


def test_ctrl_c_counts_once_what_was_begun_is_done():
    """A pool whose judge is only half started would never end."""
    done = []

    def begin() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append(True)

    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background
    try:
        with pytest.raises(KeyboardInterrupt):
            judges._without_interruption(begin)
    finally:
        signal.signal(signal.SIGINT, inherited)
    assert done == [True]


def test_a_judge_can_leave_while_a_mistake_is_tried_out():
    leave = os._exit
    with honest("a known mistake"):
        assert os._exit is not leave
        assert judges._leave is leave


@pytest.mark.parametrize("out", ["graded", "."])
def test_results_do_not_go_among_the_submissions(submissions, out):
    result = CliRunner().invoke(grade, [str(submissions), "--out", str(submissions / out)])
    assert result.exit_code == 2
    assert "would be taken for a student's" in " ".join(result.output.split())
    assert not (submissions / "graded").exists()


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _children_of(parent: int) -> list[int]:
    return [process for process in _processes() if _fields_of(process)[1] == parent]


def _fields_of(process: int) -> list:
    """State, parent, group and session of a process; see proc(5)."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return ["gone", 0, 0, 0]
    state, *numbers = text.rpartition(")")[2].split()[:4]
    return [state, *map(int, numbers)]


def _command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
