"""Other people's engines: a cluster, Gradescope's container, GitHub Classroom's workflow."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import yaml
from classes import ONE_WRONG, SOLUTION, STUB, copy_course, slow_in_sandbox, with_course
from commands import course

from course.core.files import write_atomically
from course.core.syllabus import find_lesson
from course.grading.engines import gradescope
from course.grading.judge import cluster
from course.grading.judge.grade import GradingError, grade_all
from course.grading.judge.judge import Judge
from course.grading.judge.schedule import judge_units
from course.grading.judge.unit import Unit

# --- a cluster ------------------------------------------------------------------------------

LEARNED = find_lesson("learned")
ALL = LEARNED.points
BUT_ONE = ALL - LEARNED.exercise("scalar_embedding").points
"""The points of `ONE_WRONG`."""

NOBODY = "tcp://127.0.0.1:9"


def judged_on_cluster(units, address):
    return judge_units(iter(units), lambda: cluster.cluster_judges(0, address))


def test_without_a_cluster_it_says_so(monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 0.5)
    for address in (NOBODY, "here", "foo://1:2"):
        with pytest.raises(GradingError, match=address):
            list(judged_on_cluster([Unit("ann", "rope", b"")], address))


def test_without_dask_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(GradingError, match=r'pip install -e "\.\[cluster\]"'):
        list(judged_on_cluster([Unit("ann", "rope", b"")], NOBODY))


def test_if_there_is_nothing_to_do_no_cluster_is_asked():
    assert list(grade_all([], 0, 1, scheduler=NOBODY)) == []


MORTAL = """
import os, signal
from course.grading.judge import cluster
from course.grading.judge.judge import Judge
class Mortal(Judge):
    def grade(self, unit):
        if unit.student == "the killer":
            os.kill(os.getpid(), signal.SIGKILL)
        if unit.student == "the breaker":
            raise RecursionError("too deep")
        return super().grade(unit)
cluster.Judge = Mortal
"""


@pytest.fixture(scope="module")
def dask_cluster(tmp_path_factory):
    """Two workers, each a process, which die of "the killer" and fail with "the breaker"."""
    from distributed import LocalCluster

    killer = tmp_path_factory.mktemp("preload") / "killer.py"
    write_atomically(killer, MORTAL)
    with (
        pytest.MonkeyPatch.context() as patch,
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            dashboard_address=None,
            silence_logs="CRITICAL",
            preload=[str(killer)],
            death_timeout=600,  # seconds, in which a worker must start on a busy machine
        ) as running,
    ):
        patch.setattr(cluster, "SECONDS_TO_CONNECT", 600)
        patch.setattr(cluster, "SECONDS_WITHOUT_WORKER", 600)  # each that dies is started again
        yield running


@pytest.fixture(scope="module")
def units() -> list[Unit]:
    sources = [SOLUTION, STUB, ONE_WRONG, "def (", "import os\nos._exit(3)", SOLUTION + "\n"]
    given = [source.encode() for source in sources]
    return [Unit(f"student {n}", "learned", source) for n, source in enumerate([*given, None])]


@pytest.fixture(scope="module")
def graded_here(units):
    with Judge() as judge:
        return {unit.student: replace(judge.grade(unit), seconds=0) for unit in units[:-1]}


@slow_in_sandbox
def test_a_cluster_finds_what_this_machine_finds_even_if_a_worker_dies(
    dask_cluster, units, graded_here
):
    address = dask_cluster.scheduler_address
    grading = grade_all(units, 0, 1, scheduler=address)
    results = [next(grading)]
    os.kill(next(iter(dask_cluster.workers.values())).pid, signal.SIGKILL)
    results += grading
    assert len(results) == len(units)
    found = {one.student: replace(one, seconds=0) for one in results}
    assert not found.pop(units[-1].student).handed_in
    assert found == graded_here
    again = list(grade_all(units, 0, 1, scheduler=NOBODY))
    assert len(again) == len(units)  # nobody is asked again


@slow_in_sandbox
def test_what_kills_every_worker_is_not_graded_and_the_others_are(
    dask_cluster, units, graded_here, monkeypatch
):
    monkeypatch.setattr(dask_cluster.scheduler, "allowed_failures", 0)
    killer = Unit("the killer", "learned", SOLUTION.encode())
    breaker = Unit("the breaker", "learned", SOLUTION.encode())
    given = [units[0], killer, breaker, units[1]]
    judged = list(judged_on_cluster(given, dask_cluster.scheduler_address))
    results = {unit.student: result for unit, result in judged}
    assert len(judged) == len(results) == 4
    for student, reason in (("the killer", "was killed."), ("the breaker", "Error: too deep.")):
        assert (results[student].key, results[student].points) == ("", 0)
        assert results[student].trouble.endswith(reason)
    for unit in units[:2]:
        assert replace(results[unit.student], seconds=0) == graded_here[unit.student]


@slow_in_sandbox
def test_workers_with_another_course_are_refused(dask_cluster, units, monkeypatch):
    monkeypatch.setattr(cluster, "key_of", lambda unit, seed: "that of another version")
    with pytest.raises(GradingError, match=r"the worker .* different version"):
        list(judged_on_cluster(units, dask_cluster.scheduler_address))


# --- Gradescope -----------------------------------------------------------------------------


def test_the_zip_is_the_same_each_time_and_holds_what_gradescope_runs():
    wanted = [find_lesson("rope")]
    packed = gradescope.autograder(wanted, "a b;c")
    assert packed == gradescope.autograder(wanted, "a b;c")
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in opened.infolist()}
        settings = opened.read("settings.sh")
        assert b"\r" not in opened.read("setup.sh") + opened.read("run_autograder")
    assert settings == b"lessons=(--lesson rope)\nexport PIP_EXTRA_INDEX_URL='a b;c'\n"
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert {"pyproject.toml", "course/cli/__init__.py", "tests/test_rope.py"} <= modes.keys()
    unwanted = [n for n in modes if "__pycache__" in n or n.startswith(("exercises", "tests/co"))]
    assert unwanted == []


@pytest.fixture(scope="module")
def container(tmp_path_factory) -> Path:
    """A folder like Gradescope's /autograder, but for the installed packages, which are ours."""
    folder = tmp_path_factory.mktemp("autograder")
    said = course("gradescope", "--lesson", "learned", "--out", str(folder / "autograder.zip"))
    assert "15 points" in said
    with zipfile.ZipFile(folder / "autograder.zip") as opened:
        opened.extractall(folder / "source")
    (folder / "results").mkdir()
    return folder


def run_autograder(container: Path, files: dict[str, str]) -> tuple[dict | None, str]:
    """The results of a submission of these files, if there are any, and what was printed."""
    submission, results = container / "submission", container / "results" / "results.json"
    shutil.rmtree(submission, ignore_errors=True)
    for name, text in {**files, "notes.txt": "see exercises"}.items():
        write_atomically(submission / name, text.replace("{results}", str(results)))
    done = subprocess.run(
        ["bash", str(container / "source" / "run_autograder")],
        env={**os.environ, "AUTOGRADER": str(container), "COURSE_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.stderr == ""
    assert (done.returncode == 0) == results.exists()
    return json.loads(results.read_text("utf-8")) if results.exists() else None, done.stdout


HOSTILE = """
import pathlib
for place in ["{results}", "/autograder/results/results.json", "/tmp/gotcha"]:
    try:
        pathlib.Path(place).write_text('{"score": 15}')
    except BaseException:
        pass
def scalar_embedding(*args, **kwargs):
    import os
    os.kill(os.getppid(), 9)
"""

CLONE = {"what-and-where/exercises/learned.py": ONE_WRONG, "solutions/learned.py": SOLUTION}
pytestmark = pytest.mark.usefixtures("own_cache")


@slow_in_sandbox
@pytest.mark.parametrize(
    ("files", "score"), [(CLONE, BUT_ONE), ({"learned.py": HOSTILE}, 0), ({}, 0)]
)
def test_gradescope_gets_its_results(container, files, score):
    results, _ = run_autograder(container, files)
    tests = results["tests"]
    assert results["stdout_visibility"] == "hidden"
    assert results["score"] == sum(test["score"] for test in tests) == score
    assert sum(test["max_score"] for test in tests) == ALL
    for test in tests:  # as the specification says
        assert test.keys() == {"number", "name", "score", "max_score", "status", "output"}
        assert test["score"] in (0, test["max_score"])
        assert test["status"] == ("passed" if test["score"] else "failed")
        assert isinstance(test["name"], str) and isinstance(test["output"], str)
    assert not Path("/tmp/gotcha").exists()


@pytest.mark.slow
def test_where_there_is_no_sandbox_gradescope_gets_no_result_but_the_reason(container):
    (container / "results" / "results.json").write_text("that of an earlier run", encoding="utf-8")
    code = container / "source" / "course" / "grading" / "sandbox" / "landlock.py"
    whole = code.read_text(encoding="utf-8")
    code.write_text(f'{whole}\ndef missing():\n    return ["Not here."]\n', encoding="utf-8")
    results, printed = run_autograder(container, {"learned.py": SOLUTION})
    code.write_text(whole, encoding="utf-8")
    assert results is None
    assert "Not here. " in printed


# --- GitHub Classroom -----------------------------------------------------------------------


@pytest.mark.slow
def test_the_workflow_reports_the_points_of_a_repository(tmp_path):
    """Its commands, run as GitHub does, in a copy of this repository with one module filled in."""
    path = Path(gradescope.__file__).with_name("classroom.yml")
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["on"] == ["push", "workflow_dispatch"]
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["env"] == {"LESSONS": "lookup"}
    checkout, setup, _, *commands = workflow["jobs"]["check"]["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert setup["uses"].startswith("actions/setup-python@")
    assert tuple(map(int, setup["with"]["python-version"].split("."))) >= (3, 11)

    repository = copy_course(tmp_path / "repository")
    for lesson, text in {"learned": ONE_WRONG, "lookup": "def ("}.items():
        write_atomically(repository / "exercises" / f"{lesson}.py", text)
    command, summary = tmp_path / "bin" / "course", tmp_path / "summary.md"
    write_atomically(command, f'#!/bin/sh\nexec "{sys.executable}" -m course "$@"\n')
    command.chmod(0o755)
    environment = with_course(
        repository,
        PATH=f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        GITHUB_STEP_SUMMARY=str(summary),
        LESSONS="learned lookup",
    )
    run = partial(subprocess.run, env=environment, cwd=repository, check=True, capture_output=True)
    done = [run(["bash", "-e", "-c", step["run"]], text=True) for step in commands]
    printed = "".join(one.stdout for one in done)
    total = sum(find_lesson(stem).points for stem in ("learned", "lookup"))
    assert f"::notice title=Autograding complete::Points {BUT_ONE}/{total}\n" in printed
    report = printed.partition("::notice title=Autograding report::")[2].partition("\n")[0]
    assert json.loads(report) == {"totalPoints": BUT_ONE, "maxPoints": total}
    assert f"3 learned: {BUT_ONE} of" in summary.read_text(encoding="utf-8")
