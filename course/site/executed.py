"""The notebooks as they look after a run with the reference, for who only reads them.

A run takes minutes, so what it gave is kept in `.course/site/` until something changes that it
depends on. Model answers are not in it: a notebook is run as students get it, on the datasets that
were fetched.
"""

import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert.filters import strip_ansi
from nbformat import NotebookNode

from course import root
from course.building.notebooks import notebook_from, source_of, stems
from course.data import data_folder
from course.syllabus import lessons
from course.system.files import write_whole

SECONDS = 600
"""How long a cell may take, on a busy machine."""

_SLIDER = "application/vnd.jupyter.widget-view+json"
_USES = ("numpy", "torch", "matplotlib", "ipykernel")
_NOT_USED = {"cli", "grading", "lab", "site"}
"""Folders of `course/` whose code no notebook runs."""


def folder() -> Path:
    """Return where executed notebooks are kept for the next build."""
    return root() / ".course" / "site"


class RunFailed(Exception):
    """A notebook that does not run with the reference, in one sentence."""


def executed_notebooks() -> dict[str, NotebookNode]:
    """Return every notebook, run: those that are not kept are run now, several at a time.

    Raises:
        RunFailed: a cell raises an error or does not end.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(stems(), pool.map(_executed, stems()), strict=True))


def _executed(stem: str) -> NotebookNode:
    text = notebook_from(source_of(stem).read_text(encoding="utf-8"), stem)
    kept = folder() / f"{stem}-{_run_key(text)}.ipynb"
    if not kept.exists():
        ran = nbformat.writes(_without_sliders(_run(stem, text)))
        for older in folder().glob(f"{stem}-*.ipynb"):
            older.unlink()
        write_whole(kept, ran)
    return nbformat.reads(kept.read_text(encoding="utf-8"), as_version=4)


def _run_key(text: str) -> str:
    """Name all that a run depends on: the notebook, its code, its packages and its datasets."""
    course = root() / "course"
    paths = [
        path
        for pattern in ("*.py", "*.toml", "*.json")
        for path in course.rglob(pattern)
        if path.relative_to(course).parts[0] not in _NOT_USED
    ]
    for lesson in lessons():
        paths += lesson.module("solutions"), lesson.tests
    digest = hashlib.sha256(text.encode("utf-8"))
    for path in sorted(paths):
        digest.update(path.relative_to(root()).as_posix().encode("utf-8"))
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _USES]
    sizes = [f"{path.name} {path.stat().st_size}" for path in sorted(data_folder().glob("*.txt"))]
    digest.update("\n".join([platform.python_version(), *versions, *sizes]).encode("utf-8"))
    return digest.hexdigest()[:20]


def _run(stem: str, text: str) -> NotebookNode:
    """Run a notebook beside the reference's modules, without a network."""
    notebook = nbformat.reads(text, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for lesson in lessons():
            shutil.copy(lesson.module("solutions"), folder)
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        alone = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
        alone |= {"COURSE_DATA": str(data_folder().resolve())}
        try:
            # what the kernel itself says is for nobody; what cells say is in the notebook
            return client.execute(env=os.environ | alone, stderr=subprocess.DEVNULL)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            reason = strip_ansi(str(error)).strip().splitlines()[-1]
            raise RunFailed(f"notebooks/{stem}.ipynb does not run: {reason}") from None


def _without_sliders(notebook: NotebookNode) -> NotebookNode:
    """Remove sliders: each needs a running kernel, and a page would fetch scripts for it."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)  # the time of day
            cell.outputs = [one for one in cell.outputs if _SLIDER not in one.get("data", {})]
    return notebook
