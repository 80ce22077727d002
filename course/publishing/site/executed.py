"""The notebooks as they look after a run with the reference, for who only reads them.

Model answers are not in it: a notebook is run as students get it, on the datasets that are there.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert.filters import strip_ansi
from nbformat import NotebookNode

from course import root
from course.core import answers
from course.core.files import write_atomically
from course.core.stubs import solution_of
from course.core.syllabus import lessons
from course.data import data_folder
from course.publishing.building.notebooks import notebook_from, source_of, stems

SECONDS = 600
"""How long a cell may take, on a busy machine."""


class SiteError(Exception):
    """A reason to stop a build of the site, in one sentence."""


def executed_notebooks(kept: Path) -> dict[str, NotebookNode]:
    """Run every notebook, several at a time; one that ran before on the same code and data is kept.

    Args:
        kept: the folder of those that ran.

    Raises:
        SiteError: a cell raises an error or does not end.
    """
    kept.mkdir(parents=True, exist_ok=True)
    around = _what_notebooks_meet()

    def run_one(stem: str) -> NotebookNode:
        text = notebook_from(answers.text(source_of(stem)), stem)
        key = hashlib.sha256(f"{around}\n{text}".encode()).hexdigest()[:16]
        file = kept / f"{stem}-{key}.ipynb"
        if not file.exists():
            ran = nbformat.writes(run_notebook(stem, text))
            for older in kept.glob(f"{stem}-????????????????.ipynb"):
                older.unlink()
            write_atomically(file, ran)
        return nbformat.read(file, as_version=4)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(stems(), pool.map(run_one, stems()), strict=True))


def _what_notebooks_meet() -> str:
    """Return a hash of all that decides what a notebook shows, but for its own text."""
    content = root() / "course" / "lessons"
    machinery = [one for one in (root() / "course").rglob("*.py") if content not in one.parents]
    files = [*machinery, *(root() / "solutions").glob("*.py"), *content.glob("*/figures/*.json")]
    digest = hashlib.sha256(f"{sys.version} {version('torch')} {version('matplotlib')}".encode())
    for file in sorted(files):
        digest.update(f"{file} ".encode() + hashlib.sha256(file.read_bytes()).digest())
    for data in sorted(data_folder().glob("*")):
        facts = data.stat()
        digest.update(f"{data} {facts.st_size} {facts.st_mtime_ns}".encode())
    return digest.hexdigest()


def run_notebook(stem: str, text: str) -> NotebookNode:
    """Run a notebook next to the reference's modules, without a network."""
    notebook = nbformat.reads(text, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for lesson in lessons():
            module = Path(folder, f"{lesson.stem}.py")
            module.write_text(solution_of(lesson.stem), encoding="utf-8")
        where = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=where)
        alone = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
        alone |= {"COURSE_DATA": str(data_folder().resolve())}
        try:
            # what the kernel itself says is for nobody; what cells say is in the notebook
            return client.execute(env=os.environ | alone, stderr=subprocess.DEVNULL)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            reason = strip_ansi(str(error)).strip().splitlines()[-1]
            raise SiteError(f"notebooks/{stem}.ipynb does not run: {reason}") from None
