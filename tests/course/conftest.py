"""Fixtures for the tests of the course's own tools."""

import gc
import importlib.util
import os
import re
import shutil
import signal
import sys
import tempfile
from functools import cache
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock

from course import ROOT
from course.core.console import PREFIX
from course.core.files import write_atomically
from course.core.syllabus import lessons
from course.publishing.building import build
from course.publishing.building.notebooks import address, notebook_from
from course.testing.loading import load_module

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else what tests start ignores Ctrl+C
sys.path.append(str(Path(__file__).parent / "support"))  # what several tests use
os.environ[PREFIX] = ""  # as where the environment is activated
GOLDEN_LOCK = Path(tempfile.gettempdir()) / "course-golden.lock"


class _NotHere(pytest.Module):
    """A test file that is skipped without being read."""

    def collect(self):
        pytest.skip("classes are graded on Linux", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent) -> pytest.Module | None:
    """Elsewhere than on Linux, a file that imports the grader is skipped."""
    imports_grader = re.compile(r"^(from|import) course\.grading", re.MULTILINE)
    if sys.platform != "linux" and imports_grader.search(module_path.read_text(encoding="utf-8")):
        return _NotHere.from_parent(parent, path=module_path)
    return None


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory):
    """The grader's cache is these tests' own, and not that of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def golden():
    """`golden("help", {title: text})`: compare texts with those approved in golden/help.txt."""
    return _compare


def _compare(name: str, texts: dict[str, str]) -> None:
    path = Path(__file__).parent / "golden" / f"{name.replace(' ', '_')}.txt"
    now = {title: _without_spaces_at_the_end(text) for title, text in texts.items()}
    if os.environ.get("UPDATE_GOLDEN") and now.items() - _approved(path).items():
        with FileLock(GOLDEN_LOCK):
            texts = _approved(path) | now
            write_atomically(
                path, "\n".join(f"== {title}\n{text}" for title, text in texts.items())
            )
        pytest.fail(f"golden/{path.name} is renewed: read `git diff`, then run the test again")
    approved = _approved(path)
    before = "\n".join(f"== {title}\n{approved.get(title, '')}" for title in now)
    after = "\n".join(f"== {title}\n{text}" for title, text in now.items())
    assert after == before, "if the new words are meant: UPDATE_GOLDEN=1 pytest ..."


def _approved(path: Path) -> dict[str, str]:
    parts = re.split(r"^== (.*)\n", path.read_text("utf-8") if path.exists() else "", flags=re.M)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {title: _without_spaces_at_the_end(text) for title, text in pairs}


def _without_spaces_at_the_end(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip().splitlines())


@pytest.fixture
def edited():
    """`edited(path, old, new)`: other words in a file, until the test ends."""
    before = {}

    def edit(path: Path, old: str, new: str) -> None:
        text = path.read_text(encoding="utf-8")
        assert old in text
        before.setdefault(path, text)
        path.write_text(text.replace(old, new), encoding="utf-8")

    yield edit
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def server():
    """A web server on this machine: `url = server.add("/name", data, ranges=False)`."""
    from loopback import Server  # with what it needs

    with Server() as running:
        yield running


def _write_sources(place: Path) -> None:
    """Copy solutions, texts, their figures and scenes, and the known mistakes.

    What is found once per process is found in this repository, before another takes its place: the
    syllabus, and the solutions that a student's code must not open.
    """
    load_module(lessons()[0].module("solutions"))
    rooms = lessons()[0].room.parent
    modules = (lesson.module("solutions") for lesson in lessons())
    texts = [rooms / "README.md", *(lesson.text for lesson in lessons())]
    texts += [ROOT / "README.md", ROOT / "pyproject.toml"]
    kinds = ("*/figures/*.*", "*/*.js", "*/mistakes.txt", "*/styles.py", "*/notebook.py")
    in_rooms = [one for kind in kinds for one in rooms.glob(kind)]
    for source in (*modules, *texts, *in_rooms):
        copy = place / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")


@cache
def _notebook_once(source: str, stem: str, published_at: str) -> str:
    """A notebook, made once for all tests: making all takes seconds."""
    return notebook_from(source, stem)


class _Committed:
    """A figure as it is in this repository: `course build --check` draws all, for a minute."""

    def __init__(self, path: Path) -> None:
        self._text = path.read_text(encoding="utf-8")
        self.alt = unescape(re.search("<title>(.*)</title>", self._text)[1])

    def svg(self) -> str:
        return self._text

    def is_shown_by(self, svg: str) -> bool:
        from course.publishing.figures import Picture  # with Matplotlib
        from course.publishing.figures.record import decoded

        return Picture.is_shown_by(SimpleNamespace(alt=self.alt, record=decoded(self._text)), svg)


@cache
def _pictures(stem: str) -> dict[str, _Committed]:
    paths = (ROOT / "course" / "lessons" / stem / "figures").glob("*.svg")
    return {path.stem: _Committed(path) for path in paths}


def _build_in(place: Path, patch: pytest.MonkeyPatch) -> None:
    """Let `course build` work in a separate folder, and make once what takes seconds."""
    patch.setattr("course.ROOT", place)
    patch.setattr(build, "pictures", lambda lesson: _pictures(lesson.stem))
    patch.setattr(
        build, "notebook_from", lambda source, stem: _notebook_once(source, stem, address())
    )


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """A repository of solutions, texts and their figures alone, in a separate folder."""
    _write_sources(tmp_path)
    _build_in(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture(scope="session")
def _built_once(tmp_path_factory) -> Path:
    """Such a repository, whose modules and notebooks were built: that takes a while."""
    place = tmp_path_factory.mktemp("built")
    _write_sources(place)
    with pytest.MonkeyPatch.context() as patch:
        _build_in(place, patch)
        build.build()
    return place


@pytest.fixture
def built(_built_once, tmp_path, monkeypatch) -> Path:
    """A repository that is up to date, in a separate folder."""
    shutil.copytree(_built_once, tmp_path, dirs_exist_ok=True)
    _build_in(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data, which is too large for the repository."""
    if folder := os.environ.get("COURSE_REAL_DATA"):
        return Path(folder)
    pytest.skip("$COURSE_REAL_DATA does not name a folder with the real data")


@pytest.fixture(scope="module")
def few_to_search() -> None:
    """pytest ends each run inside of a test with five searches for garbage: not among all here."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """Debian's Chromium where there is one, else Playwright's own; it calls nobody.

    Its fonts are Matplotlib's, whatever the machine has: `$COURSE_TEST_FONT` or DejaVu Sans.
    """
    pytest.importorskip("playwright", reason='pip install -e ".[browser]" brings Playwright')
    from playwright.sync_api import sync_playwright

    flags = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    silent = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or playwright.chromium.executable_path
        if not Path(program).exists():
            pytest.skip("there is no Chromium here; `playwright install chromium` fetches one")
        browser = playwright.chromium.launch(
            executable_path=program,
            args=[*flags, *silent],
            env=os.environ | {"FONTCONFIG_FILE": _fonts(tmp_path_factory.mktemp("fonts"))},
            timeout=600_000,
        )
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium):
    """`browse(path, **options)`: a page from its file, without motion; nothing may go wrong on it.

    A script that `watch` names runs before those of the page.
    """
    contexts, troubles = [], []

    def open_page(path: Path, watch: str = "", **options):
        context = chromium.new_context(**{"reduced_motion": "reduce", **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(180_000)  # for whatever should happen at all
        page.add_init_script(watch)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on("request", lambda one: one.url.startswith("file:") or troubles.append(one.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def _fonts(folder: Path) -> str:
    """Write a configuration in which one of Matplotlib's fonts is that of all texts but code."""
    name = os.environ.get("COURSE_TEST_FONT", "DejaVu Sans")
    others = "" if name == "DejaVu Sans" else "<glob>*/DejaVuSans[.-]*</glob>"
    fonts = (
        Path(importlib.util.find_spec("matplotlib").origin).parent / "mpl-data" / "fonts" / "ttf"
    )
    aliases = {"sans-serif": name, "serif": name, "Verdana": name, "monospace": "DejaVu Sans Mono"}
    config = f"<dir>{fonts}</dir><cachedir>{folder}</cachedir>"
    config += f"<selectfont><rejectfont>{others}</rejectfont></selectfont>"
    for family, font in aliases.items():
        prefer = f"<prefer><family>{font}</family></prefer>"
        config += f'<alias binding="same"><family>{family}</family>{prefer}</alias>'
    file = folder / "fonts.conf"
    file.write_text(f"<?xml version='1.0'?><fontconfig>{config}</fontconfig>", encoding="utf-8")
    return str(file)
