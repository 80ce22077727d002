"""The notebooks as they look after a run with the reference, for who only reads them.

Model answers are not in it: a notebook is run as students get it, on the datasets that are there.
"""

import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert.filters import strip_ansi
from nbformat import NotebookNode

from course.building.notebooks import notebook_from, source_of, stems
from course.data import data_folder
from course.stubs import solution_of
from course.syllabus import lessons

SECONDS = 600
"""How long a cell may take, on a busy machine."""

SLIDER = "application/vnd.jupyter.widget-view+json"


class RunFailed(Exception):
    """A notebook that does not run with the reference, in one sentence."""


def executed_notebooks() -> dict[str, NotebookNode]:
    """Run every notebook, several at a time.

    Raises:
        RunFailed: a cell raises an error or does not end.
    """

    def run_one(stem: str) -> NotebookNode:
        source = source_of(stem).read_text(encoding="utf-8")
        return without_sliders(run_notebook(stem, notebook_from(source, stem)))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(stems(), pool.map(run_one, stems()), strict=True))


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
            raise RunFailed(f"notebooks/{stem}.ipynb does not run: {reason}") from None


def without_sliders(notebook: NotebookNode) -> NotebookNode:
    """Remove sliders: each needs a running kernel, and a page would fetch scripts for it."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)  # the time of day
            cell.outputs = [one for one in cell.outputs if SLIDER not in one.get("data", {})]
    return notebook
