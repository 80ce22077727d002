"""All benchmarks that can run here, one after the other, as one Markdown text.

    python -m benchmarks [--out FILE] [--quick] [--otter PATH/bin/otter] [--glove TEXT]

What cannot run here is named, with what it lacks. If a benchmark fails, because an answer is wrong
or a program breaks, nothing is written.
"""

import argparse
import datetime
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

from benchmarks.measuring import CANNOT_RUN, machine
from course import ROOT
from course.system.files import write_whole

PROGRAMS = {
    "grading": "Grading a class",
    "loop": "From a save to the verdict",
    "formulations": "Our formulas and those of others",
    "glove_open": "Opening and querying GloVe vectors",
    "skipgram": "Training skip-gram",
    "gpt": "Training a small GPT",
}
"""By name, in the order of the report: what each program is about."""

PACKAGES = ("torch", "numpy", "pytest", "nbgrader", "pandas", "polars", "gensim")


class Failed(Exception):
    """A benchmark went wrong; the message says which and why."""


def report(options: dict[str, list[str]]) -> str:
    """The whole text, given more options for programs."""
    parts = [f"# Benchmarks\n\n{datetime.date.today()}. {machine()}.\n\n{_versions()}\n"]
    for name, title in PROGRAMS.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        command = ["-m", f"benchmarks.{name}", *options.get(name, [])]
        said = f"## {title}\n\n    python {' '.join(command)}\n"
        parts.append(f"{said}\n{printed_by(command)}\n")
    return "\n".join(parts)


def printed_by(command: list[str]) -> str:
    """What a program of Python prints, or a sentence about what it lacks here.

    Raises:
        Failed: it ended otherwise.
    """
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode == CANNOT_RUN:
        return f"Not run: {done.stderr.strip()}"
    if done.returncode:
        last = "\n".join(done.stderr.splitlines()[-15:])
        raise Failed(f"python {' '.join(command)} failed, so nothing is written:\n{last}")
    return done.stdout.strip()


def _versions() -> str:
    """What is installed here of what is compared."""
    found = [
        f"{package} {importlib.metadata.version(package)}"
        for package in PACKAGES
        if importlib.util.find_spec(package)
    ]
    return f"{platform.python_implementation()} {platform.python_version()}, {', '.join(found)}."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run all benchmarks.")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here (default: print)")
    parser.add_argument("--quick", action="store_true", help="only see whether all of it works")
    parser.add_argument("--otter", type=Path, metavar="PROGRAM", help="if it is not on the PATH")
    parser.add_argument("--glove", type=Path, metavar="TEXT", help="a GloVe text")
    arguments = parser.parse_args()
    if arguments.glove and not arguments.glove.is_file():
        parser.error(f"there is no text {arguments.glove}")
    if arguments.out and (arguments.out.is_dir() or not arguments.out.absolute().parent.is_dir()):
        parser.error(f"{arguments.out} cannot be written: it is a folder, or its folder is missing")
    options = {name: ["--quick"] if arguments.quick else [] for name in PROGRAMS}
    if arguments.otter:
        options["grading"] += ["--otter", str(arguments.otter.absolute())]
    if arguments.glove:
        options["glove_open"] += [str(arguments.glove.absolute())]
    try:
        text = report(options)
        if arguments.out:
            write_whole(arguments.out, text)
        else:
            print(text)
    except (Failed, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
