"""A student's own functions in the figures to play with: their numbers, and what is wrong.

They run in the warm process, one run for each scene and a limited time: what they raise, print,
change or never finish affects neither the page nor the other scenes.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from course.core import answers
from course.core.files import write_atomically
from course.core.stubs import stubs_in
from course.core.syllabus import Lesson, Status, find_lesson
from course.mistakes.diagnosis import diagnoser
from course.publishing.figures.words import listing
from course.student.exercises import reference_exercises, written_exercises
from course.student.instrument.scene import NotShown, differ, own_scenes
from course.student.progress import load, save
from course.student.warm.process import how_it_ended, results
from course.student.warm.server import Run
from course.testing import run as testing
from course.testing.case import Case, collect
from course.testing.messages.wording import STATUS_WORDS
from course.testing.outcomes import Wrong
from course.testing.result import ExerciseResult
from course.testing.source import imported_from_earlier

_HERE = Path(__file__).parent
SECONDS_TO_DRAW, SECONDS_TO_TEST = 6, 30
"""How long the functions of one scene may take."""


Tell = Callable[[str], object]


def write_own(folder: Path, status: Mapping[str, str], tell: Tell) -> None:
    """Write `own.js`, which tells the scenes of a page of the student's own functions.

    Args:
        status: of every exercise, by name; what has passed is not tested again.
        tell: is told what takes a while.

    Raises:
        OSError: it cannot be written.
    """
    text = json.dumps(shown_scenes(status, tell), ensure_ascii=False)
    write_atomically(folder / "own.js", f"window.COURSE_OWN = {text};\n")


def shown_scenes(status: Mapping[str, str], tell: Tell) -> dict[str, dict[str, Any]]:
    """Return for each scene of which an exercise was begun what to draw and to say.

    Results are kept until a file that they depend on changes.

    Returns:
        numbers: as in `OwnScene`, in lists, or None if there are none; says: sentences, each with
        its mark, what is wrong first; drawn: whose functions are drawn.
    """
    begun = {scene: names for scene in own_scenes() if (names := _begun(scene))}
    requests = {scene: _request(scene, names, status) for scene, names in begun.items()}
    keys = {scene: _key(request, status) for scene, request in requests.items()}
    kept = load("own")
    known = {scene: kept[scene] for scene in begun if _is_of(kept.get(scene), keys[scene])}
    missing = [scene for scene in begun if scene not in known]
    if missing:
        lessons = listing([own_scenes()[scene][0] for scene in missing])
        tell(f"running your functions of {lessons} for the figures")
        found = results(__name__, [requests[scene] for scene in missing])
        for scene, message in zip(missing, found, strict=True):
            shown = _shown(scene, begun[scene], message)
            known[scene] = {"key": keys[scene], "shown": shown}
        save("own", known)
    return {scene: known[scene]["shown"] for scene in begun}


def _is_of(kept: Any, key: str) -> bool:
    """Return whether what was kept belongs to a key; whatever is damaged does not."""
    return isinstance(kept, dict) and kept.get("key") == key and "shown" in kept


def _begun(scene: str) -> list[str]:
    """Return the exercises of a scene that are more than stubs."""
    stem, drawn = own_scenes()[scene]
    lesson = find_lesson(stem)
    if not lesson.module().is_file():
        return []
    stubs = stubs_in(lesson.module().read_bytes(), lesson)
    return [name for name in drawn.exercises if name not in stubs]


def _request(scene: str, names: list[str], status: Mapping[str, str]) -> dict[str, Any]:
    stem, _ = own_scenes()[scene]
    tested = [name for name in names if status.get(name) != Status.PASSED]
    module = str(find_lesson(stem).module())
    return {"lesson": stem, "module": module, "scene": scene, "tested": tested}


def _key(request: dict[str, Any], status: Mapping[str, str]) -> str:
    """Return a hash of all that a run depends on."""
    lesson, earlier = find_lesson(request["lesson"]), imported_from_earlier(request["lesson"])
    passed = [status.get(name) == Status.PASSED for names in earlier.values() for name in names]
    digest = hashlib.sha256(json.dumps([request, passed]).encode())
    for path in (
        *(lesson.module(), lesson.module("solutions"), lesson.tests),
        *(find_lesson(stem).module() for stem in earlier),
        lesson.room / "mistakes.txt",
        lesson.room / "styles.py",
        answers.pack(),
        *sorted(_HERE.glob("*.py")),
        *sorted(lesson.room.parent.glob("*/own.py")),
        lesson.room / "figures" / "to_play_with.json",
    ):
        digest.update(path.read_bytes() if path.is_file() else b"missing")
    return digest.hexdigest()


def _shown(scene: str, names: list[str], message: dict[str, Any]) -> dict[str, Any]:
    """Return what to draw and to say, from the message of a run."""
    stem, drawn_of = own_scenes()[scene]
    match message:
        case {"done": found}:
            pass
        case {"ended": code, "log": log}:
            doing = f"While the page called {listing(names)}"
            ended = how_it_ended(code, log, doing, find_lesson(stem).module())
            what, _, place = ended.partition("\n  at")
            found = {"trouble": what + f" It was at {place.strip()}" * bool(place)}
    tested = found.get("tested", {})
    wrong = [one for one in tested.values() if one["mark"] != STATUS_WORDS[Status.PASSED].mark]
    broken = [breaks for _, breaks in found.get("claims", ()) if breaks]
    says = wrong or ([{"mark": "✗", "text": found["trouble"]}] if found.get("trouble") else [])
    says += [{"mark": "✗", "text": sentence} for sentence in broken[:1]]
    if not says:
        says = [{"mark": "✓", "text": " ".join(claim for claim, _ in found["claims"])}]
    borrowed = [name for name in drawn_of.exercises if name not in names]
    others = f", and with the reference's {listing(borrowed)}" if borrowed else ""
    drawn = f"Drawn with your {listing(names)}{others}."
    if found.get("numbers") is None:
        drawn = "Yours can't be drawn: the figure shows the reference."
    elif found["differ"]:
        drawn += " Pale: the reference."
    return {"numbers": found.get("numbers"), "says": says, "drawn": drawn}


# --- in the warm process ------------------------------------------------------------------------


def warm_up(lesson: Lesson) -> list[Case]:
    """Return the tests of a lesson."""
    return collect([lesson.tests])


def perform(
    run: Run,
    cases: Sequence[Case],
    lesson: str,
    module: str,
    scene: str,
    tested: list[str],
) -> dict[str, Any]:
    """Return a scene's numbers and claims, or the trouble with them, and what the tests find."""
    path, (_, drawn) = Path(module), own_scenes()[scene]
    run.end_after(SECONDS_TO_DRAW)
    found: dict[str, Any] = {}
    try:
        own = drawn.numbers(written_exercises(path, find_lesson(lesson)))
        right = drawn.numbers(reference_exercises(find_lesson(lesson)))
        found["differ"] = differ(own, right)
        found["claims"] = drawn.claims(own, right)
        found["numbers"] = {
            name: [[round(number, 7) for number in row] for row in table.tolist()]
            for name, table in own.items()
        }
    except Wrong as wrong:  # the file cannot be run
        return {"trouble": f"{str(wrong).partition(chr(10))[0].rstrip('.')}."}
    except NotShown as trouble:
        found["trouble"] = str(trouble)
    run.end_after(SECONDS_TO_TEST)
    asked = [case for case in cases if case.exercise in tested]
    result = testing.run(testing.open_module(path, 0), asked, diagnoser(seed=0), run.printed)
    found["tested"] = {one.name: _told(one) for one in result.exercises}
    return found


def _told(one: ExerciseResult) -> dict[str, str]:
    """Return the mark of an exercise, and what is wrong with it."""
    words, first = STATUS_WORDS[one.status], one.first_wrong
    if one.advice:
        return {"mark": words.mark, "text": one.advice}
    says = one.remark or (first.message if first else words.one)
    says = says.partition("\n")[0].rstrip(".:")
    return {"mark": words.mark, "text": f"{one.name}: {says}; `course check {one.name}` says more."}
