"""JupyterLab, started with a notebook of the course.

nbgrader brings extensions of JupyterLab for those who hand out and collect assignments with it.
The settings in `jupyter_config/` leave them out here, where nobody needs them; `jupyter lab` by
itself has them.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from course import root
from course.core.console import PREFIX, command_prefix

_SETTINGS = Path(__file__).with_name("jupyter_config")


def start(notebook: Path, *options: str) -> subprocess.Popen:
    """Start JupyterLab with a notebook, and with options for JupyterLab.

    It is served from the root, because a notebook links to its text and its module. Ctrl+C ends it
    without a question, which few would see in time.
    """
    own = os.environ.get("JUPYTER_CONFIG_PATH")
    quietly = ("--LabApp.log_level=WARN", "--ServerApp.log_level=WARN")
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root()}"),
            *("--ServerApp.answer_yes=True", *quietly, str(notebook), *options),
        ],
        cwd=root(),
        # a notebook names commands as they are to be typed in this terminal
        env={
            **os.environ,
            "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, [own, str(_SETTINGS)])),
            PREFIX: command_prefix(),
        },
    )


def wait_for(server: subprocess.Popen) -> int:
    """Wait until JupyterLab has ended, and return its exit status; Ctrl+C ends it."""
    try:
        return server.wait()
    except KeyboardInterrupt:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return server.wait(10)  # from a terminal, it has heard Ctrl+C as well, and ends kernels
        server.terminate()
        return server.wait()
