"""A class is graded once, whole, and from where it stopped, whatever happens on the way."""

import json
import os
import shutil
import signal
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from classes import (
    ONE_WRONG,
    PATIENCE,
    SOLUTION,
    STUB,
    children_of,
    command_of,
    descendants_of,
    fields_of,
    grader,
    is_alive,
    needs_sandbox,
    session,
    wait_until,
    write_class,
)
from click.testing import CliRunner
from commands import course

from course import ROOT
from course.cli import main
from course.core.files import write_atomically
from course.core.syllabus import find_lesson
from course.grading.grades import grades_of
from course.grading.judge import grade as grading
from course.grading.judge import local
from course.grading.judge.cache import MAX_DAYS, Cache
from course.grading.judge.grade import GradingError, Store, grade_all
from course.grading.judge.schedule import UnitQueue
from course.grading.judge.unit import GradedResult, Unit, key_of, not_graded
from course.grading.reports.changes import Change
from course.grading.run import GradingOutcome, Request
from course.grading.sandbox.sandbox import SandboxError
from course.grading.submissions import Submission
from course.grading.submissions.process import read_class
from course.grading.summary import about_not_graded, summary
from course.testing.fair_play import guarded
from course.testing.result import from_text

pytestmark = needs_sandbox

SOURCES = {"ann": SOLUTION, "bob": f"{STUB}\nexec('')\n", "cyd": ONE_WRONG, "dan": "def ("}
"""One right, one not begun and with odd code, one with a mistake, one broken."""
SEED = 7
ENDLESS = "while True: pass\n"
POINTS = {"ann": 15, "bob": 0, "cyd": 13, "dan": 0}


@pytest.fixture(scope="module")
def submissions(tmp_path_factory) -> Path:
    return write_class(tmp_path_factory.mktemp("class") / "submissions", SOURCES)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch) -> Path:
    """The folder of the cache, where nothing is yet."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "what-and-where"


def units(folder: Path) -> list[Unit]:
    return [
        Unit(student.name, "learned", (student / "learned.py").read_bytes())
        for student in sorted(folder.iterdir())
    ]


def graded(folder: Path) -> dict[str, int]:
    """Points by student; everybody has exactly one result."""
    found = list(grade_all(units(folder), SEED, 1))
    assert len(found) == len({result.student for result in found})
    return {result.student: result.points for result in found}


@pytest.fixture(scope="module")
def graded_once(submissions, tmp_path_factory) -> SimpleNamespace:
    """The class, graded by the command: what it said, its results, and what the cache has."""
    folder = tmp_path_factory.mktemp("graded")
    out, cache = folder / "out", folder / "what-and-where"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        said = run(submissions, "--seed", SEED, out=out)
        return SimpleNamespace(said=said, out=out, cache=cache)


@pytest.fixture
def out(graded_once, tmp_path, cache) -> Path:
    """A copy of all that, to go on with."""
    shutil.copytree(graded_once.cache, cache)
    return Path(shutil.copytree(graded_once.out, tmp_path / "out"))


@pytest.mark.slow
def test_the_command_says_what_it_found(graded_once, out):
    said = graded_once.said
    assert "students: 4, results: 4;" in said and "not tested: 1" in said
    assert (out / "grades.csv").exists()
    for path in graded_once.out.parent.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    page = (out / "index.html").read_text(encoding="utf-8")
    ann_alone = "<code>learned.py</code> contains every answer of the reference, word for word: <a"
    assert page.count(ann_alone) == page.count("contains every answer") == 1


@pytest.mark.slow
def test_a_second_run_does_nothing(submissions, out, monkeypatch):
    monkeypatch.setattr(grading, "local_judges", pytest.fail)  # nobody is to be asked again
    assert graded(submissions) == POINTS
    shutil.rmtree(out)  # whatever folder it was graded into
    run(submissions, "--seed", SEED, out=out)
    assert [one.student for one in Store(out).results()] == list(SOURCES)


@pytest.mark.slow
def test_only_what_changed_or_is_broken_is_graded_again_unless_all_of_it_is_to_be(
    submissions, out, cache, monkeypatch
):
    asked: list[str] = []

    def judge_units(units, _):
        for unit in units:
            asked.append(unit.student)
            yield unit, replace(not_graded(unit, ""), key=key_of(unit, SEED))

    monkeypatch.setattr(grading, "judge_units", judge_units)
    monkeypatch.setattr(grading, "verify_check", lambda *_: None)
    first, second, *others, last = units(submissions)
    files = [cache / f"{key_of(unit, SEED)}.json" for unit in (first, second)]
    files[0].write_bytes(files[0].read_bytes()[: files[0].stat().st_size // 2])
    files[1].write_text("{}", encoding="utf-8")
    changed = replace(last, source=last.source + b"\n")
    again = list(grade_all([first, second, *others, changed], SEED, 1))
    assert sorted(result.student for result in again) == list(POINTS)
    assert asked == ["", "bob", "dan"]  # ann's text is the reference, the first of all
    list(grade_all(units(submissions), SEED, 1, fresh=True))
    assert asked[3:] == ["", "", *POINTS]


@pytest.mark.slow
def test_a_run_is_compared_with_an_earlier_one(submissions, out, tmp_path):
    later, second = Path(shutil.copytree(submissions, tmp_path / "class")), tmp_path / "second"
    (later / "bob" / "learned.py").write_text(SOLUTION, encoding="utf-8")
    said = run(later, "--compare", out, out=second)
    exercises = [one.name for one in find_lesson("learned").exercises]
    assert f"changed points: {len(exercises)} exercises, 1 student" in said
    assert (out / "seed.txt").read_bytes() == (second / "seed.txt").read_bytes()
    rows = (second / "changes.csv").read_text("utf-8").splitlines()[1:]
    assert [row.split(",")[:3] for row in rows] == [["bob", "learned", one] for one in exercises]


def own_children() -> tuple[int, int]:
    """The processes that judges, and that fork servers are forked from."""
    children = children_of(os.getpid())
    (server,) = [p for p in children if "forkserver" in command_of(p)]
    (fork_server,) = [p for p in children if "course.grading.sandbox.fork_server" in command_of(p)]
    return server, fork_server


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["judges", "their fork server"])
def test_what_is_killed_loses_nothing(submissions, whose):
    """When the first result has come. Without workers a judge ends: another takes its place."""
    results = grade_all(units(submissions), 0, 1)
    found = [next(results)]
    to_kill = children_of(own_children()[whose != "judges"])
    assert to_kill
    for process in to_kill:
        os.kill(process, signal.SIGKILL)
    found += results
    assert {result.student: result.points for result in found} == POINTS
    assert len(found) == 4


@pytest.mark.slow
def test_what_judges_are_forked_from_is_killed_and_no_other_error_comes(submissions):
    """The next judge cannot be started; Click would say "Aborted!" or nothing at all."""
    results = grade_all(units(submissions), 0, 1)
    found = [next(results)]
    server, _ = own_children()
    for process in [server, *children_of(server)]:
        os.kill(process, signal.SIGKILL)
    try:  # the judge that was at work may have finished, or another one may take its place
        found += results
    except SandboxError as error:
        assert "was killed" in str(error)
    else:
        assert len(found) == len(units(submissions)) and all(one.key for one in found)


def test_one_grader_at_a_time(tmp_path):
    with Store(tmp_path).locked():
        second = Store(tmp_path).locked()
        with pytest.raises(GradingError, match="another grader"):
            second.__enter__()


def test_what_was_not_graded_is_not_kept(cache):
    Cache().write(not_graded(Unit("ann", "learned", b""), "The grader itself was killed."))
    assert list(cache.iterdir()) == []


def test_a_seed_is_secret_until_it_is_drawn_and_then_kept(tmp_path):
    first, other = Store(tmp_path / "a"), Store(tmp_path / "b")
    drawn = first.seed(None)
    assert drawn == first.seed(None) != other.seed(None)
    assert max(drawn, other.seed(None)).bit_length() > 100  # nobody can try them all
    assert first.seed(-7) == first.seed(None) == -7
    for damaged in ("seven", "", "7\n7", "7" * 101):
        (tmp_path / "a" / "seed.txt").write_text(damaged, encoding="utf-8")
        assert first.kept_seed() is None
        assert first.seed(None) not in (-7, drawn)


def test_a_result_is_anybodys_who_hands_in_the_same_text():
    ann, bob = Unit("ann", "rope", b"a stub"), Unit("bob", "rope", b"a stub")
    key = key_of(ann, 7)
    result = replace(not_graded(ann, ""), key=key)
    Cache().write(result)
    assert Cache().read(bob, key_of(bob, 7)) == replace(result, student="bob")
    others = [replace(ann, source=source) for source in (b"", b"another")]
    keys = {key_of(ann, 8), *(key_of(other, 7) for other in others)}
    assert len(keys) == 3 and not any(Cache().read(ann, another) for another in keys)


def test_a_text_of_several_students_is_judged_once_and_none_never(monkeypatch):
    asked: list[Unit] = []

    def judge_units(units, _):
        asked.extend(units)
        for unit in asked:
            yield unit, replace(not_graded(unit, ""), key="a")

    monkeypatch.setattr(grading, "judge_units", judge_units)
    monkeypatch.setattr(grading, "verify_check", lambda *_: None)
    same = [Unit(name, "rope", b"a stub") for name in ("ann", "bob", "cyd")]
    others = [Unit("dan", "rope", None, unread="The disk is gone."), Unit("eve", "rope", None)]
    results = list(grade_all([*same, *others], SEED, 1))
    assert [unit.student for unit in asked[2:]] == ["ann"]
    assert {one.student: (one.trouble, bool(one.key), one.handed_in) for one in results} == {
        **dict.fromkeys(["ann", "bob", "cyd"], ("", True, True)),
        "dan": ("The disk is gone.", False, True),
        "eve": ("rope.py was not handed in.", True, False),
    }


def test_a_damaged_result_is_ignored_and_an_old_one_is_removed(cache):
    unit = Unit("ann", "rope", b"a stub")
    key, other = key_of(unit, 7), key_of(unit, 8)
    Cache().write(replace(not_graded(unit, ""), key=key))
    file = cache / f"{key}.json"
    text = file.read_text(encoding="utf-8")
    (cache / f"{other}.json").write_text(text, encoding="utf-8")
    assert Cache().read(unit, other) is None
    odd = ('{"version": 1}', '{"exercises": [{}], "notes": 3}', "null", "9" * 5000, "[" * 100_000)
    for damaged in (text[:-20], "", *odd):
        file.write_text(damaged, encoding="utf-8")
        assert Cache().read(unit, key) is None
    days = 24 * 60 * 60
    os.utime(file, times=(file.stat().st_mtime - (MAX_DAYS + 1) * days,) * 2)
    Cache()
    assert [path.name for path in cache.iterdir()] == [f"{other}.json"]


def test_a_cache_that_others_can_use_is_refused(cache, tmp_path, monkeypatch):
    is_refused = partial(pytest.raises, GradingError, match="yours alone")
    Cache()
    cache.chmod(0o770)
    with is_refused():
        Cache()
    cache.chmod(0o700)
    with monkeypatch.context() as patch, is_refused():
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        Cache()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "what-and-where").symlink_to(cache)
    with is_refused():
        Cache()


def test_without_a_folder_for_caches_it_is_in_the_users_own(tmp_path, monkeypatch):
    """A relative one would be in the current folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for given in ("", "here"):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        Cache()
        assert [path.name for path in tmp_path.iterdir()] == ["home"]
        assert (tmp_path / "home" / ".cache" / "what-and-where").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["seed.txt", "results.jsonl"])
@pytest.mark.parametrize("kind", ["a pipe", "a link", "a folder", "a huge file"])
def test_only_regular_files_of_an_earlier_run_are_read(tmp_path, monkeypatch, name, kind):
    """And nobody waits for a pipe."""
    monkeypatch.setattr(grading, "MAX_BYTES", 10_000)
    store, file, results = Store(tmp_path), tmp_path / name, [replace(ANN, key="a")]
    store.seed(SEED)
    store.write_results(results)
    assert (store.kept_seed(), store.results()) == (SEED, results)
    if kind == "a huge file":
        os.truncate(file, 10_001)
    else:
        there = file.rename(tmp_path / "elsewhere")
        makers = {"a pipe": os.mkfifo, "a folder": os.mkdir, "a link": partial(os.symlink, there)}
        makers[kind](file)
    left = (None, results) if name == "seed.txt" else (SEED, [])
    assert (store.kept_seed(), store.results()) == left


@pytest.mark.parametrize("place", ["the current folder", "the import path", "the course"])
def test_the_grader_does_not_run_among_the_submissions(tmp_path, monkeypatch, place):
    class_ = write_class(tmp_path / "class", {"ann": STUB})
    if place == "the current folder":
        monkeypatch.chdir(class_ / "ann")
    elif place == "the import path":
        monkeypatch.syspath_prepend(str(class_ / "ann" / "site-packages"))
    else:
        class_ = ROOT  # its parent may be where tests write, too
    said = run(class_, out=tmp_path / "out", status=1)
    assert "which is in the submissions" in said.replace("\n", " ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["out", "out/feedback", "out/.lock", "out/seed.txt"])
def test_no_link_in_the_folder_of_results_is_followed(tmp_path, place):
    (tmp_path / "mine").mkdir()
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).symlink_to(tmp_path / "mine")
    with pytest.raises(GradingError, match="is a link"), Store(tmp_path / "out").locked():
        pass
    assert list((tmp_path / "mine").iterdir()) == []


def run(submissions: Path | str, *arguments: object, out: Path, status: int = 0) -> str:
    """What the command that grades prints."""
    options = ["grade", submissions, "--out", out, "--jobs", 1, *arguments]
    return course(*map(str, options), status=status)


ANN = not_graded(Unit("ann", "rope", None), "rope.py was not handed in.")
BOB, CYD = replace(ANN, student="bob"), replace(ANN, student="cyd")
CLASS = replace(ANN, student="submissions")
CLASSES = {
    "a folder one too high": [CLASS],
    "two students": [CLASS, ANN],
    "notes": [ANN, replace(ANN, lesson="lookup")],
    "nothing odd": [BOB],
    "not graded": [replace(BOB, trouble="It was killed.")],
    "not tested": [replace(BOB, key="a", trouble="rope.py is empty.")],
    "no module": [ANN, BOB, CYD, replace(CYD, lesson="lookup", trouble="")],
    "many without": [replace(ANN, student=f"ann {i}") for i in range(7)],
}


def last_words(results, submissions=Path("class"), **found) -> str:
    """What is printed at the end of a run in which every ann handed in work.rar."""
    students = dict.fromkeys(one.student for one in results)
    odd = ("work.rar is no zip",)
    handed_in = [Submission(one, {}, odd if one.startswith("ann") else ()) for one in students]
    grades = grades_of(results, handed_in, now=datetime.now(UTC))
    outcome = GradingOutcome(grades, [], [], None, False)
    request = Request(submissions, Path("out"), compare=Path("before"))
    outcome = replace(outcome, **found)
    return "\n".join([*summary(outcome, request), *about_not_graded(outcome)])


def test_the_last_words_of_a_run(golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("class", "submissions").mkdir(parents=True)
    said = {title: last_words(results) for title, results in CLASSES.items()}
    lost = Change("bob", "rope", "rotate_half", 3, 0, "The student handed in another module.")
    said["pages"] = last_words([BOB], written=["out/index.html"])
    gone = [Change("cyd", "rope", one, 3, "", "It is gone.") for one in ("a", "b")]
    said["compared"] = last_words([BOB], changes=[lost, *gone], is_comparable=True)
    said["nothing to compare with"] = last_words([BOB], changes=[])
    golden("last words of a run", {title: text.replace("\\", "/") for title, text in said.items()})


@pytest.mark.slow
def test_what_canvas_says_is_told_though_the_module_was_graded_before(out, tmp_path):
    """Who is late: as in the latest download."""
    for number, mark, cell in ((123, "", ""), (124, "_LATE", "yes"), (125, "", "")):
        name = f"ann{mark}_{number}_700_learned.py"
        write_atomically(tmp_path / f"class {number}" / name, SOLUTION)
        run(tmp_path / f"class {number}", out=out)
        assert f"\nann,15,15,{cell}," in (out / "grades.csv").read_text("utf-8")


def test_modules_beside_the_students_folders_are_named(submissions, tmp_path, monkeypatch):
    def grade_none(units, *_):
        return [not_graded(unit, unit.unread) for unit in units]

    monkeypatch.setattr("course.grading.run.grade_all", grade_none)
    shutil.copytree(submissions, tmp_path / "class")
    for name in ("lookup.py", "rope (1).py"):
        write_atomically(tmp_path / "class" / name, STUB)
    said = run(tmp_path / "class", out=tmp_path / "out", status=1)
    for name in ("lookup.py", "rope (1).py"):
        assert f"{name} is not in a folder with its student's name" in said
        assert name in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_a_lesson_that_is_named_twice_counts_once(tmp_path, monkeypatch):
    (tmp_path / "class" / "ann").mkdir(parents=True)
    wanted = []
    monkeypatch.setattr("course.grading.run.grade_all", lambda *_: iter(()))
    monkeypatch.setattr(
        "course.grading.run._units", lambda _, lessons: wanted.append(lessons) or []
    )
    run(tmp_path / "class", *("--lesson", "rope", "--lesson", "5") * 2, out=tmp_path / "out")
    assert [[lesson.stem for lesson in lessons] for lessons in wanted] == [["rope"]]


@pytest.mark.slow
def test_what_cannot_be_read_here_is_not_graded_and_said(submissions, out, monkeypatch):
    """Once it was graded; then its file can no longer be read. Its old points don't count."""
    why = "The grader could not read learned.py (Permission denied)."

    def with_cyd_unread(*arguments, **others):
        class_ = read_class(*arguments, **others)
        unread = {"modules": {}, "unread": {"learned": why}}
        return [replace(one, **unread) if one.student == "cyd" else one for one in class_]

    monkeypatch.setattr("course.grading.run.read_class", with_cyd_unread)
    said = run(submissions, out=out, status=1)
    assert "Not graded" in said and "cyd's learned" in said
    assert "\ncyd,0,0," in (out / "grades.csv").read_text(encoding="utf-8")
    assert why in (out / "feedback" / "cyd.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_lesson_that_nobody_handed_in_readably_is_not_passed_over(out, tmp_path):
    write_class(tmp_path / "class", {"ann": SOLUTION})
    (tmp_path / "class" / "ann" / "rope.py").symlink_to("learned.py")
    assert "Not graded, so not in the totals: ann's rope" in run(
        tmp_path / "class", out=out, status=1
    )
    earned = find_lesson("learned").points
    assert f"\nann,{earned},{earned},," in (out / "grades.csv").read_text("utf-8-sig")


REFUSED = [
    *("grade nowhere", "grade", "grade . --lesson roap", "grade . --jobs 0", "grade circle.zip"),
    *("grade --self-test --lesson rope", "grade graded", "grade . --out ."),
    *(
        "grade class --out class/out",
        "grade class --out a.csv/out",
        f"grade class --out {'x' * 300}",
    ),
    *("grade class --compare nowhere", "grade class --compare other --out other"),
    *("grade class --moodle nowhere.csv", "grade class --canvas a.csv --moodle a.csv"),
    *("grade class --column rope=A", "grade class --canvas graded/canvas.csv --column rope=A"),
    *("gradescope --lesson roap", "gradescope --out nowhere/a.zip"),
    *("nbgrader init class", "nbgrader init a.csv", "nbgrader init circle.zip"),
]


@pytest.mark.parametrize("command", REFUSED)
def test_bad_input_is_a_sentence_and_changes_nothing(command, golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_class(tmp_path / "class", {"ann": STUB})
    Path("circle.zip").symlink_to("circle.zip")
    for name in ("graded/seed.txt", "graded/results.jsonl", "other/results.jsonl"):
        write_atomically(Path(name), "")
    for name in ("a.csv", "graded/canvas.csv"):
        write_atomically(Path(name), "Student,ID,A\nPoints Possible,,10\nann,1,\n")

    def files() -> dict[str, bytes | None]:
        return {str(one): one.read_bytes() if one.is_file() else None for one in Path().rglob("*")}

    before = files()
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code != 0 and "Traceback" not in result.output
    assert files() == before
    said = result.output.replace(f"{tmp_path}/", "")
    golden("commands that are refused", {command.replace("x" * 300, "x..."): said})


def test_a_machine_without_a_sandbox_refuses(submissions, tmp_path, monkeypatch):
    monkeypatch.setattr("course.grading.sandbox.sandbox.missing", lambda: ["Something is missing."])
    assert "Something is missing." in run(submissions, out=tmp_path / "out", status=1)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a separate disk; `small_disk.resize("64k")` makes it small or large."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may make a small disk to fill, by the command `mount`")

    def resize(size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)

    yield SimpleNamespace(folder=folder, resize=resize)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_loses_nothing(submissions, small_disk, monkeypatch):
    out = small_disk.folder / "out"
    monkeypatch.setenv("XDG_CACHE_HOME", str(small_disk.folder))
    for size in ("4k", "24k", "80k"):  # enough for nothing, for some results, for some reports
        small_disk.resize(size)
        said = run(submissions, "--seed", SEED, out=out, status=1)
        assert "No space left on device" in said
        for file in small_disk.folder.rglob("*.json"):
            json.loads(file.read_text(encoding="utf-8"))
        assert [file.name for file in small_disk.folder.rglob(".*")] in ([], [".lock"])
    small_disk.resize("10m")
    run(submissions, "--seed", SEED, out=out)
    assert graded(submissions) == POINTS
    assert (out / "index.html").read_text(encoding="utf-8").endswith("</html>")


def wait_for_results(out: Path, cache: Path, count: int) -> None:
    """Wait until the grader has started and has kept so many results."""
    wait_until(lambda: (out / "seed.txt").exists() and len([*cache.glob("*.json")]) >= count)


@pytest.mark.slow
def test_a_grader_that_is_killed_goes_on_where_it_was(submissions, tmp_path, cache):
    """The reference and the stub count as well, and the reference is ann's."""
    sessions: list[int] = []
    for count in (0, 4):
        process = subprocess.Popen(
            grader(submissions, tmp_path, "--jobs", "1", "--seed", str(SEED)),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for_results(tmp_path, cache, count)
        process.kill()
        process.wait()
        sessions.append(process.pid)
        for path in cache.glob("*.json"):
            from_text(path.read_text(encoding="utf-8"), GradedResult)  # none is half-written
    assert graded(submissions) == POINTS
    wait_until(lambda: not any(map(session, sessions)))


@pytest.mark.slow
def test_workers_and_judges_end_with_a_killed_grader(tmp_path, cache):
    """While one module loops for ever, and another's judge computes."""
    endless = {name: f"{ENDLESS}# {name}\n" for name in ("eve", "mal")}
    submissions = write_class(tmp_path / "class", endless)
    command = grader(submissions, tmp_path / "out", "--jobs", "2")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def busy_workers() -> list[int]:
        """Processes that lead their own session, as workers do, and compute."""
        facts = {one: fields_of(one) for one in descendants_of(process.pid)}
        return [
            one for one, (state, _, _, session) in facts.items() if (state, session) == ("R", one)
        ]

    try:
        wait_for_results(tmp_path / "out", cache, 2)  # of the reference and the stub
        busy = wait_until(busy_workers)
        started = descendants_of(process.pid)
        assert set(busy) <= set(started)
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not any(map(is_alive, started)))


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 5])
def test_ctrl_c_stops_everybody_with_a_sentence(submissions, tmp_path, cache, count):
    """Ctrl+C when there are so many results; nobody waits for the endless module of another."""
    shutil.copytree(submissions, tmp_path / "class")
    write_class(tmp_path / "class", {"eve": ENDLESS})
    out = tmp_path / "out"
    process = subprocess.Popen(
        grader(tmp_path / "class", out, "--jobs", "2", "--seed", str(SEED)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    wait_for_results(out, cache, count)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, said
    assert "Traceback" not in said
    assert said.rstrip().endswith(" to continue.")
    wait_until(lambda: not session(process.pid))
    assert not (cache / f"{key_of(Unit('eve', 'learned', ENDLESS.encode()), SEED)}.json").exists()


def test_a_judge_gets_the_lessons_that_it_knows():
    """Two judges in turn: none begins a lesson that the other one knows while there is another."""
    units = [Unit(f"student {n}", stem, b"") for n in range(5) for stem in ("rope", "lookup")]
    waiting = UnitQueue(iter(units), at_most=6)
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

    with pytest.raises(KeyboardInterrupt):
        local.uninterrupted(begin)
    assert done == [True]


def test_a_judge_can_leave_while_a_mistake_is_tried_out():
    leave = os._exit
    with guarded("a known mistake"):
        assert os._exit is not leave
        assert local.leave_process is leave
