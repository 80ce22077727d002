"""Two notebooks in a real browser: JupyterLab as `course open` starts it, and Chromium.

All of them run in test_site_in_browser.py, once, for the site.
They need Playwright (`pip install -e ".[browser]"`) and a Chromium, and run with `-m browser`.
"""

import ast
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from ran_notebooks import complaints, points_earned, showing

from course import ROOT
from course.core.stubs import solution_of, stub_from
from course.core.syllabus import Lesson, lessons

pytestmark = pytest.mark.browser

OPENED_HERE = ("8_gpt", "positions_lab")
"""A lesson that builds on others, and what is not graded and has the most sliders."""

TO_DO = {exercise.name for lesson in lessons() for exercise in lesson.exercises[::2]}
"""The exercises that are stubs: every other one, so that some are called by those filled in."""

PATIENCE = 600
"""Seconds for whatever should happen at all; to wait so long is to fail."""

OPENED = "globalThis.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel"
RUN = """() => {
    jupyterapp.commands.execute("notebook:run-all-cells").then(fine => { window.allRan = fine });
}"""
FIGURES = """cell => [...cell.querySelectorAll(".jp-OutputArea img")].map(
    image => image.complete && image.naturalWidth > 0 ? image.src : null
)"""
REDRAWN = f"""([cell, before]) => {{
    const now = ({FIGURES})(cell);
    return !now.includes(null) && now.join() !== before.join();
}}"""


@dataclass
class Notebook:
    """A notebook that was run from top to bottom, on its page."""

    stem: str
    page: Any
    asked: list[str]
    content: dict[str, Any]

    def sources(self, kind: str) -> list[str]:
        return ["".join(c["source"]) for c in self.content["cells"] if c["cell_type"] == kind]

    def wait(self, condition: str, argument: Any, complaint: str) -> None:
        """Wait until something is true on the page, or fail with this complaint."""
        from playwright.sync_api import TimeoutError

        try:
            self.page.wait_for_function(condition, arg=argument, timeout=1000 * PATIENCE)
        except TimeoutError:
            pytest.fail(f"{complaint} within {PATIENCE} s")


def half_done(lesson: Lesson) -> str:
    """Return the text of a module in which the second half of the exercises are stubs."""
    solution = solution_of(lesson.stem)
    stub = stub_from(solution, lesson.stem)
    definitions = [
        ast.get_source_segment(stub, node)
        for node in ast.parse(stub).body
        if getattr(node, "name", None) in TO_DO
    ]
    return "\n\n\n".join([solution, *definitions]) + "\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A copy of the repository in which a student has filled in the first half of each module."""
    copy = tmp_path_factory.mktemp("repository")
    for folder in ("course", "exercises", "solutions", "tests", "notebooks"):
        ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for lesson in lessons():
        (copy / "exercises" / f"{lesson.stem}.py").write_text(half_done(lesson), encoding="utf-8")
    return copy


@pytest.fixture(scope="module")
def lab(repository):
    """What JupyterLab noted about itself, started by `course open` without a network."""
    own, nowhere = repository / "jupyter", "http://127.0.0.1:9"
    settings = own / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(
        json.dumps({"fetchNews": "false", "checkForUpdates": False}), encoding="utf-8"
    )
    environment = {
        "PYTHONPATH": str(repository),
        "COURSE_DATA": str(own / "no data"),
        "IPYTHONDIR": str(own / "ipython"),
        **{f"JUPYTER_{name.upper()}_DIR": str(own / name) for name in ("config", "data")},
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        **dict.fromkeys(("http_proxy", "https_proxy"), nowhere),
    }
    with (repository / "log").open("w", encoding="utf-8") as log:
        options = ["--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"]
        process = subprocess.Popen(
            [sys.executable, "-m", "course", "open", "rope", *options],
            cwd=repository,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        server = noted_by(process, own / "runtime")
        if server is None:
            pytest.fail((repository / "log").read_text(encoding="utf-8"))
        yield server
        os.kill(server["pid"], signal.SIGTERM)  # JupyterLab ends its kernels first
        process.wait(PATIENCE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def noted_by(process: subprocess.Popen, folder: Path) -> dict[str, Any] | None:
    """What a Jupyter server notes about itself as soon as it listens; None if it does not."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        for note in folder.glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):  # not written to its end
                return json.loads(note.read_text(encoding="utf-8"))
        time.sleep(0.1)
    return None


@pytest.fixture(scope="module", params=OPENED_HERE)
def notebook(request, lab, repository, chromium) -> Iterator[Notebook]:
    """A notebook, opened alone and run."""
    path = repository / "notebooks" / f"{request.param}.ipynb"
    path = path.relative_to(lab["root_dir"]).as_posix()
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    notebook = Notebook(request.param, page, asked=[], content={})
    page.on("request", lambda asked: notebook.asked.append(asked.url))
    page.on("websocket", lambda asked: notebook.asked.append(asked.url))
    address = f"{lab['url']}lab/tree/{path}?reset&token={lab['token']}"
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(address)
    notebook.wait(f"{OPENED}?.status === 'idle'", None, "no kernel was ready")
    page.evaluate(RUN)
    notebook.wait("window.allRan !== undefined", None, "the cells were not run")
    notebook.content = page.evaluate("jupyterapp.shell.currentWidget.context.model.toJSON()")
    yield notebook
    page.evaluate("jupyterapp.serviceManager.sessions.shutdownAll()")
    page.close()


def test_every_cell_runs_earns_its_points_and_asks_nothing_of_another_machine(notebook, lab):
    assert complaints(notebook.content) == []
    assert notebook.page.evaluate("window.allRan")
    graded = [
        one
        for lesson in lessons()
        if lesson.notebook.stem == notebook.stem
        for one in lesson.exercises
    ]
    earned = {one.name: 0 if one.name in TO_DO else one.points for one in graded}
    assert points_earned(notebook.content) == earned
    asked, here = [urlsplit(url) for url in notebook.asked], urlsplit(lab["url"]).netloc
    assert any(url.scheme == "ws" for url in asked)
    assert [url for url in asked if url.scheme not in ("data", "blob") and url.netloc != here] == []


def test_every_figure_is_seen_and_described(notebook):
    count = showing(notebook.content, "text/html", "<img")
    assert count >= 2
    seen = f"count => {{ const seen = ({FIGURES})(document); return !seen.includes(null) "
    seen += "&& seen.length === count }"
    notebook.wait(seen, count, f"{count} figures were not to be seen")
    images = notebook.page.locator(".jp-OutputArea img").all()
    assert all(len(image.get_attribute("alt")) > 20 for image in images)


def test_every_slider_changes_its_figure_in_place(notebook):
    count = showing(notebook.content, "application/vnd.jupyter.widget-view+json")
    assert count >= 1
    ready = "count => document.querySelectorAll('.noUi-handle').length === count"
    notebook.wait(ready, count, f"{count} sliders were not to be seen")
    for number, slider in enumerate(notebook.page.locator(".noUi-handle").all(), start=1):
        cell = slider.evaluate_handle("handle => handle.closest('.jp-Cell')")
        before = cell.evaluate(FIGURES)
        at_end = slider.get_attribute("aria-valuenow") == slider.get_attribute("aria-valuemax")
        slider.focus()
        notebook.page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
        notebook.wait(REDRAWN, [cell, before], f"slider {number} changed no figure")
        after = cell.evaluate(FIGURES)
        assert len(after) == len(before)
        assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
        assert slider.evaluate("handle => handle === document.activeElement")


def test_what_is_borrowed_is_told_in_a_banner(notebook):
    used = set(re.findall(r"\b\w+\.(\w+)", "\n".join(notebook.sources("code"))))
    banners = notebook.page.locator(".jp-OutputArea-output", has_text="is borrowed").all()
    told = set()
    for banner in banners:
        banner.scroll_into_view_if_needed()
        assert banner.bounding_box()["height"] > 10
        told.add(banner.text_content().partition(" is borrowed")[0])
    assert told == TO_DO & used
