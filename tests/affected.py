"""Run the fast tests that a change affects, and name the slow ones: `python tests/affected.py`.

A change is what differs from where this branch left main, committed or not. It affects a test file
that imports or names what was changed, directly or through others. A string names a file next to it
("page.html"), a path, a folder without modules ("lessons"), a module ("course.cli.grade") or, in a
test, a command ("grade"). Solutions, texts and mistakes count for the lessons that a test names.

With --near, for while you work, it runs only tests that import or name a file in a changed file's
folder themselves, or are of its lesson. Without it, most tests depend on most files.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = "tests/course/conftest.py"
PLAIN = {PurePath(one) for one in (".", "course", "tests", "tests/course")}
READ_ONLY = r"(solutions|exercises|notebooks|tests)/"
OF_A_LESSON = r"(solutions|exercises|notebooks|course/(mistakes|lessons|figures/texts))/|tests/t"


def git(*arguments: str) -> set[str]:
    command = ["git", "-c", "core.quotepath=off", *arguments]
    run = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return {*run.stdout.splitlines()}


@cache
def text(file: str) -> str:
    is_read = file.endswith((".py", ".html", ".js", ".css", ".toml", ".md"))
    return (ROOT / file).read_text(encoding="utf-8") if is_read and (ROOT / file).exists() else ""


def words(file: str) -> set[str]:
    return {*re.findall(r"\w+", text(file))}


@cache
def imports_and_strings(file: str) -> tuple[set[str], set[str]]:
    """Return the modules that a module imports, and its strings; of a page or script, its words."""
    if file.endswith((".html", ".js", ".css")):
        return set(), {*re.findall(r"[\w./-]+", text(file))}
    imported, strings, nodes = set(), set(), ()
    with suppress(SyntaxError):
        nodes = ast.walk(ast.parse(text(file) if file.endswith(".py") else ""))
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            imported |= {f"{start}{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.add(node.value.rstrip("/."))
    return imported, strings


class Map:
    """Which file depends on which."""

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.named = defaultdict(set)  # by the end of its path, or by a folder without modules
        for path in map(PurePath, files):
            for folder in {*path.parents} - PLAIN:
                is_package = f"{folder}/__init__.py" in files
                self.named[str(folder) if is_package else folder.name].add(str(path))
            for n in range(max(1, len(path.parts) - 1)):
                self.named["/".join(path.parts[n:])].add(str(path))
        table = tomllib.loads(text("course/syllabus.toml"))["lesson"]
        self.exercises = {one["stem"]: {e["name"] for e in one["exercises"]} for one in table}
        plugins = re.findall(r'"-p", "([\w.]+)"', text("pyproject.toml"))
        self.plugins = {f"{one.replace('.', '/')}.py" for one in plugins}
        self.commands = {}
        for line in text("course/cli/__init__.py").splitlines():
            if module := re.search(r'"(course\.[\w.]+)"', line):
                self.commands |= dict.fromkeys(re.findall(r'"(\w+)"', line), module[1])

    def lesson_of(self, file: str) -> str | None:
        """Return the lesson of a file of which every lesson has one."""
        parts = [re.sub(r"^(test|\d+)_|\.\w+$", "", part) for part in PurePath(file).parts]
        return next((p for p in parts if p in self.exercises and re.match(OF_A_LESSON, file)), None)

    @cache  # noqa: B019
    def runs(self, file: str) -> set[str]:
        """Return what a file imports or starts."""
        (names, strings), found = imports_and_strings(file), set()
        if file != "course/cli/__init__.py":  # which imports the command that is called
            names = names | {one for one in strings if re.fullmatch(r"course\.[\w.]+", one)}
            if "import_module" in words(file):
                found |= {f for f in self.files if PurePath(f).parent == PurePath(file).parent}
        if file.startswith("tests/"):
            called = {re.match(r"(?:course )?(\w*)", one)[1] for one in strings}
            called = {*self.commands} if "list_commands" in words(file) else called
            names |= {module for command, module in self.commands.items() if command in called}
            names |= {"course.__main__"} if "course" in strings else set()
            found |= self.plugins if self.lesson_of(file) or "pytest" in strings else set()
            found |= self.files & {f"tests/course/{one.partition('.')[0]}.py" for one in names}
            fixtures = {*re.findall(r"fixture.*\ndef (\w+)", text(CONFTEST))}
            found |= {CONFTEST} if fixtures & words(file) else set()
        split = [one.split(".") for one in names]
        paths = {"/".join(parts[:n]) for parts in split for n in range(1, len(parts) + 1)}
        return found | self.files & {f"{p}{end}" for p in paths for end in ("/__init__.py", ".py")}

    @cache  # noqa: B019
    def reads(self, file: str) -> set[str]:
        """Return what a file names."""
        strings = imports_and_strings(file)[1]
        paths = {os.path.normpath(PurePath(file).parent / one): one for one in strings}
        found = ({p} if p in self.files else self.named.get(paths[p], set()) for p in paths)
        return set().union(*found)

    def needs(self, test: str) -> set[str]:
        """Return all that a test file, or one with examples, depends on."""
        programs = {f for f in self.reads(test) if not re.match(OF_A_LESSON, f)}
        found, new = set(), {test} | programs
        while new:
            found |= new
            read = set().union(*map(self.reads, new))
            new = set().union(*map(self.runs, new), (f for f in read if not re.match(READ_ONLY, f)))
            new, found = new - found, found | read
        helpers = {f for f in self.runs(test) | programs if not f.startswith("course/")}
        said = set().union(*map(words, {test, *helpers} - {CONFTEST}))
        named = {stem for stem, names in self.exercises.items() if {stem, *names} & said}
        named = {*self.exercises} if {"lessons", "counted_lessons", "stems"} & said else named
        named |= {self.lesson_of(f) for stem in named for f in self.runs(f"solutions/{stem}.py")}
        found = {one for one in found if self.lesson_of(one) in {None, *named}}
        if found & {"course/testing/case.py", *self.plugins}:
            found |= {f"tests/test_{stem}.py" for stem in named}
        of_all = {f"solutions/{self.lesson_of(test)}.py", "pyproject.toml", CONFTEST, *self.plugins}
        return found | of_all

    def is_near(self, test: str, changed: set[str]) -> bool:
        """Return whether a test imports or names a file next to a change, or has its lesson."""
        lessons = {self.lesson_of(file) for file in changed} - {None}
        folders = {PurePath(file).parent for file in changed} - PLAIN
        own = {test} | self.reads(test) | self.runs(test)
        return bool(folders & {PurePath(f).parent for f in own}) or self.lesson_of(test) in lessons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--slow", action="store_true", help="run the slow ones, too")
    parser.add_argument("--near", action="store_true", help="only tests of the change itself")
    options, for_pytest = parser.parse_known_args()
    new = git("ls-files", "--others", "--exclude-standard")
    (base,) = git("merge-base", "main", "HEAD")
    changed = new | git("diff", "--name-only", "--no-renames", base)
    depends = Map(changed | git("ls-files"))
    tests = [f for f in sorted(depends.files) if re.fullmatch(r"tests/(course/)?test_\w+\.py", f)]
    tests += [f for f in sorted(depends.files) if f[0] in "cs" and ">>>" in text(f)]  # examples
    tests = [f for f in tests if text(f) and depends.needs(f) & changed]
    if options.near:
        tests = [f for f in tests if depends.is_near(f, changed)]
    for mark in () if options.slow else ("slow", "browser"):
        if marked := [f for f in tests if f"mark.{mark}" in text(f)]:
            print(f"To run as well: pytest -m {mark} {' '.join(marked)}\n", flush=True)
    if not tests:
        sys.exit("No test depends on what was changed." if changed else "Nothing was changed.")
    everything = ["-m", ""] if options.slow else []
    command = [sys.executable, "-m", "pytest", "-q", "--solutions", *everything, *for_pytest]
    sys.exit(subprocess.run([*command, *tests], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
