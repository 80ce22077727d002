"""What is said after an update, in ASCII, so that any console can show it."""

from course.student.update.plan import Plan, Work
from course.student.update.version import Version


def report(plan: Plan, version: Version, kept: str | None, *, dry: bool) -> list[str]:
    """What came, what was merged, what to look at, and how to undo it; a line each."""
    something = plan.course or version.finish or any(work.changes for work in plan.work)
    came = f"{'would come' if dry else 'came'} from {version.name}"
    lines = [came if something else f"nothing new from {version.name}, but something is left"]
    lines += _course_lines(plan)
    for work in plan.work:
        lines += _work_lines(work)
    if version.finish:
        lines.append(f"  {version.moves}")
    look = [line for work in plan.work for line in _look_at(work)]
    if version.knows_base and plan.edited:
        look.append(
            f"{_list(plan.edited)}: the course's version took the place of yours, "
            f"which {'would be' if dry else 'is'} kept"
        )
    if "pyproject.toml" in plan.course:
        look.append("pyproject.toml changed; run: python -m pip install -q -e .")
    if any(work.changes and work.path.endswith(".ipynb") for work in plan.work):
        look.append("a notebook that is open in JupyterLab: load it again before you save it")
    if look:
        lines += ["", "look at", *(f"  {line}" for line in look)]
    if dry:
        lines += ["", "nothing was written: without --dry-run it will be"]
    elif kept:
        lines += ["", f"your files as they were: course reset --restore {kept}"]
    return lines


def _course_lines(plan: Plan) -> list[str]:
    parts: dict[str, int] = {}
    for path in plan.course.keys() - {"exercises/.stubs"}:
        part = path.split("/")[0] if "/" in path else "other files"
        if path.startswith("course/lessons/"):
            part = "lessons"
        parts[part] = parts.get(part, 0) + 1
    said = ", ".join(f"{part} {count}" for part, count in sorted(parts.items()))
    return [f"  files of the course: {said}"] if parts else []


def _work_lines(work: Work) -> list[str]:
    if not work.changes:
        return []
    if work.merged:
        return [f"  {work.path}: merged with yours", *(f"    {note}" for note in work.merged.notes)]
    if work.before is None:
        return [f"  {work.path}: new"]
    what = "removed" if work.after is None else "the new one"
    return [f"  {work.path}: {what}, for you had not edited it"]


def _look_at(work: Work) -> list[str]:
    if work.trouble and not work.beside:
        return [f"{work.path} {work.trouble}; yours stays"]
    if work.trouble:
        mend = ", mend yours and say `course update` again" if work.base is not None else ""
        return [
            f"{work.path} {work.trouble}, so yours stays as it is; the course's new one is "
            f"{work.place_beside}: compare them{mend}"
        ]
    if work.merged is None:
        return []
    lines = [f"{work.path}: {warning}" for warning in work.merged.warnings]
    for conflict in work.merged.conflicts:
        lines.append(
            f"{work.path}: {conflict}, so yours stays; compare with {work.place_beside}, "
            "take over what you want, then delete that file"
        )
    return lines


def _list(paths: list[str]) -> str:
    shown = paths[:5]
    more = [f"{len(paths) - 5} more"] if len(paths) > 5 else []
    return ", ".join([*shown, *more])
