"""The figures to play with: a student's own functions in them, and numbers that come from training.

Those in a browser need Playwright and a Chromium, as in test_lab_scenes.py.
"""

import cmath
import math
import re
import runpy
import sys
from unittest.mock import Mock

import pytest
import torch

from course import ROOT
from course.core.stubs import stub_from
from course.core.syllabus import Status, find_lesson
from course.publishing.figures.measured import committed, unpacked
from course.publishing.lab.script import examples, write_lab
from course.student import texts
from course.student.exercises import (
    passing_exercises,
    reference_exercises,
    written_exercises,
)
from course.student.instrument import own
from course.student.instrument.own import shown_scenes
from course.student.instrument.scene import NotShown, own_scenes

STEMS = ("learned", "sinusoidal", "rope", "longer")
AS_IT_IS = " => "
BACKWARDS = "torch.cat((-x2, x1) => torch.cat((x2, -x1)"
WRONG_BASE = "return base ** => return (base / 10) **"
LOOPS = "return self.weight[:seq_len] => while True: pass"
RAISES = "turns = trained_length => turns = trained_lengths"


@pytest.fixture
def student(repository):
    """`student(rope="return x1 => return x2")` writes modules; others are stubs.

    A module is the reference with one text replaced by another, or given as a whole. Nothing is
    loaded yet: what an earlier test loaded does not count.
    """
    passing_exercises.cache_clear()

    def write(**modules):
        (repository / "exercises").mkdir(exist_ok=True)
        for stem in STEMS:
            text = (repository / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
            change = modules.get(stem)
            if change is None:
                text = stub_from(text, stem)
            elif " => " in change:
                old, new = change.split(" => ")
                assert old in text
                text = text.replace(old, new)
            else:
                text = change
            text = text.replace("from solutions.", "from exercises.")
            (repository / "exercises" / f"{stem}.py").write_text(text, encoding="utf-8")

    write()
    return write


def reference(scene):
    stem, drawn = own_scenes()[scene]
    return drawn.numbers(reference_exercises(find_lesson(stem)))


@pytest.fixture
def changed(student):
    """`changed("rope", "old => new")`: the numbers of a scene from the reference with this edit."""

    def numbers(scene, change):
        stem, drawn = own_scenes()[scene]
        student(**{stem: change})
        return drawn.numbers(written_exercises(find_lesson(stem).module(), find_lesson(stem)))

    return numbers


# --- what is drawn, and what it claims ------------------------------------------------------------


def angle(row, pair):
    """Where a hand points, in radians: rows hold all that is to the right, then all that is up."""
    return math.atan2(row[len(row) // 2 + pair], row[pair])


def test_hands_and_rows_are_where_their_formula_says():
    for pair in range(4):
        speed = 10000 ** (-2 * pair / 8)
        for scene, name, word in (
            ("clock", "hands", [1] * 4 + [0] * 4),
            ("rope", "query", examples()["query"]),
            ("rope", "key", examples()["key"]),
        ):
            hands = reference(scene)[name]
            for position in (0, 1, 20, 63):
                want = cmath.rect(1, position * speed + angle(word, pair))
                assert cmath.rect(1, angle(hands[position], pair)) == pytest.approx(want, abs=1e-4)
    yarn = reference("longer")["yarn"]
    assert yarn[0].tolist() == pytest.approx([10000 ** (-i / 8) for i in range(8)])
    assert yarn[-1, 0] == 1 and yarn[-1, 7].item() == pytest.approx(10000 ** (-7 / 8) / 8)
    trained = unpacked(committed()["learned"]["positions"])
    assert torch.equal(reference("learned")["rows"], trained)


def claims_on(scene, own):
    return own_scenes()[scene][1].claims(own, reference(scene))


@pytest.mark.parametrize("scene", own_scenes())
def test_no_claim_breaks_on_the_reference(scene):
    claims = claims_on(scene, reference(scene))
    assert claims and not any(broken for _, broken in claims)


@pytest.mark.parametrize(
    ("scene", "change", "claim", "words"),
    [
        ("rope", BACKWARDS, 0, "yours turn clockwise"),
        ("clock", "(angles.sin(), angles.cos()) => (angles.cos(), angles.sin())", 0, "clockwise"),
        ("rope", "torch.cat((-x2, x1) => torch.cat((0 * x2, 0 * x1)", 0, "don't turn"),
        ("rope", "even_numbers / head_dim => even_numbers / head_dim / 2", 1, "5.73.*18.1"),
        ("clock", WRONG_BASE, 1, "pair 1 .*5.73.*10.2"),
        ("rope", "return x * cos => x = 2 * x\n    return x * cos", 2, "off by up to"),
        ("rope", "outer(positions, => outer(positions**2,", 3, "changes by up to"),
        ("learned", "weight[:seq_len] => weight[:seq_len].roll(-1, 0)", 0, "Position 0 .* row 1"),
        ("learned", "return self.weight[ => return 2 * self.weight[", 0, "other"),
        ("longer", "(1 - keep) / factor => (1 - keep)", 0, "pair 7 .*0.00226.*0.0181"),
    ],
)
def test_a_wrong_function_breaks_the_claim_that_it_is_about(changed, scene, change, claim, words):
    broken = [broken for _, broken in claims_on(scene, changed(scene, change))]
    assert re.search(words, broken[claim]) and not any(broken[:claim])


@pytest.mark.parametrize(
    ("scene", "change", "sentence"),
    [
        ("rope", "x.chunk(2, dim=-1) => x.chunk(1, dim=-1)", "raises ValueE"),
        ("clock", "flatten(-2).float() => flatten(-2).T", "returns (8, 64)"),
        (
            "rope",
            "return angles.cos().float(), angles.sin().float() => return angles",
            "(64, 8) and (64, 8), and rope_tables returns (64, 8)",
        ),
        ("clock", "return base ** => return None **", "raises TypeError"),
        ("clock", "flatten(-2).float() => flatten(-2) * 1j", "complex"),
        ("clock", "flatten(-2).float() => flatten(-2) / 0", "NaN"),
        ("learned", "(max_seq_len, n_embd)) => (max_seq_len + 1, n_embd))", "(64, 32)"),
        ("longer", "return theta * (keep => return [1.0] if True else (keep", "returns a list"),
    ],
)
def test_what_cannot_be_drawn_gets_one_sentence(changed, scene, change, sentence):
    with pytest.raises(NotShown) as told:
        changed(scene, change)
    assert sentence in str(told.value)
    assert "\n" not in str(told.value) and str(told.value).endswith(".")


def test_public_pages_get_nothing_of_a_student(tmp_path):
    write_lab(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"lab.js", "lab.css", "lab-numbers.js"}


# --- a student's files ----------------------------------------------------------------------------


def found(status=(), tell=print):
    return shown_scenes(dict(status), tell)


def marks(scene):
    return [one["mark"] for one in scene["says"]]


def test_nothing_is_said_or_run_before_something_is_written(student, monkeypatch):
    monkeypatch.setattr(own, "results", None)
    assert found() == {}


@pytest.mark.slow
def test_what_is_wrong_comes_first_and_a_mark_is_green_only_where_all_is_right(student):
    far_off = "angles.cos()) => angles.cos() * (angles < 500))"
    student(rope=BACKWARDS, learned=AS_IT_IS, sinusoidal=far_off)
    scenes = found()
    assert marks(scenes["learned"]) == ["✓"] and "Pale" not in scenes["learned"]["drawn"]
    rope = scenes["rope"]
    assert marks(rope) == ["✗", "✗"] and "Pale" in rope["drawn"]
    assert "minus sign" in rope["says"][0]["text"] and "clockwise" in rope["says"][1]["text"]
    query = rope["numbers"]["query"]
    assert angle(query[1], 0) - angle(query[0], 0) == pytest.approx(-1, abs=1e-3)
    # the same picture, and not all tests pass
    assert "✗" in marks(scenes["clock"]) and "Pale" not in scenes["clock"]["drawn"]


@pytest.mark.slow
def test_what_is_not_written_is_borrowed(student, repository):
    to_do = 'raise NotImplementedError("TODO rope.rotate_half")'
    stub = (repository / "exercises" / "rope.py").read_text(encoding="utf-8")
    code = "first, second = x.chunk(2, dim=-1)\n    return torch.cat((-second, first), dim=-1)"
    student(rope=stub.replace(to_do, code))
    (scene,) = found().values()
    assert scene["drawn"] == (
        "Drawn with your rotate_half, and with the reference's rope_tables and apply_rope."
    )
    assert marks(scene) == ["✓"]


@pytest.mark.slow
def test_the_same_files_are_run_once_and_what_has_passed_is_not_tested_again(
    student, repository, monkeypatch
):
    student(learned=AS_IT_IS)
    told = []
    first = found(tell=told.append)
    assert "learned" in told[0]
    monkeypatch.setattr(own, "results", None)
    assert found(tell=told.append) == first and len(told) == 1
    (repository / ".course" / "own.json").write_text('{"learned": 1}', encoding="utf-8")
    with pytest.raises(TypeError):  # it is run again: what was kept is damaged
        found(tell=told.append)
    student(learned="return self.weight => return 1 * self.weight")
    with pytest.raises(TypeError):
        found(tell=told.append)
    ended = Mock(return_value=[{"ended": 1, "log": ""}])
    monkeypatch.setattr(own, "results", ended)
    found({"LearnedPositionalEmbedding": Status.PASSED})
    assert ended.call_args[0][1][0]["tested"] == []


@pytest.mark.slow
def test_a_file_that_cannot_be_run_gets_one_sentence_and_runs_elsewhere(student):
    student(
        rope="def (",
        learned="import nowhere; nowhere.go()",
        sinusoidal="import signal\nsignal.raise_signal(9)",
        longer="import sys\nsys.ran_here = True",
    )
    scenes = found()
    for scene, sentence in {
        "rope": "exercises/rope.py",
        "learned": "exercises/learned.py imports nowhere",
        "clock": "exercises/sinusoidal.py was killed by the system",
    }.items():
        told = scenes[scene]
        assert marks(told) == ["✗"] and sentence in told["says"][0]["text"]
        assert told["numbers"] is None and "the reference" in told["drawn"]
    assert "has no" in scenes["longer"]["says"][0]["text"] and not hasattr(sys, "ran_here")


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture
def opened(browse, student):
    """`opened("rope", rope=BACKWARDS)`: the page of a student."""

    def open_page(stem, **modules):
        student(**modules)
        page = browse(texts.write_texts({}) / stem / "README.html")
        page.locator(".lab svg").first.wait_for()
        return page

    return open_page


def turn_to(page, stem):
    """Open the page of another lesson beside it."""
    page.goto(re.sub(r"\w+/README.html$", f"{stem}/README.html", page.url))
    page.locator(".lab svg").first.wait_for()


def hands_of(page, look, pale=False):
    """The angles of the hands of a word on the dials, by pair."""
    return page.evaluate(
        """([look, pale]) => [...document.querySelector(".lab").querySelectorAll(`.hand.${look}`)]
          .filter((hand) => Boolean(hand.closest(".ghost")) === pale)
          .map((hand) => ["x1", "y1", "x2", "y2"].map((name) => hand[name].baseVal.value))
          .map(([x1, y1, x2, y2]) => Math.atan2(y1 - y2, x2 - x1))""",
        [look, pale],
    )


def says(page):
    return page.locator(".lab .own li").all_inner_texts()


def turned(page, before, look, pale=False):
    """By how much pair 0 has turned since."""
    step = hands_of(page, look, pale)[0] - before
    return cmath.phase(cmath.rect(1, step))


def press(page, name, key):
    page.get_by_role("slider", name=name, exact=True).press(key)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


@pytest.mark.browser
def test_a_backwards_turn_turns_backwards_and_its_sentence_comes_first(opened, changed):
    page = opened("rope", rope=BACKWARDS)
    wrong, right = changed("rope", BACKWARDS), reference("rope")
    for look, name, position in (("query", "query", 20), ("key", "key", 12)):
        for numbers, pale in ((wrong, False), (right, True)):
            want = [angle(numbers[name][position].tolist(), pair) for pair in range(4)]
            assert hands_of(page, look, pale) == pytest.approx(want, abs=1e-3)
    before = [hands_of(page, "query", pale)[0] for pale in (False, True)]
    press(page, "The query", "ArrowRight")
    assert turned(page, before[0], "query") == pytest.approx(-1, abs=1e-3)
    assert turned(page, before[1], "query", pale=True) == pytest.approx(1, abs=1e-3)
    first, second, _ = says(page)
    assert first.startswith("✗ rotate_half") and "backwards" in first and "clockwise" in second
    above, figure = (page.locator(f".lab {part}").first.bounding_box() for part in (".own", "svg"))
    assert above["y"] < figure["y"]
    assert page.locator(".lab .own .right").count() == 0
    pairs = [(numbers["query"][21], numbers["key"][12]) for numbers in (wrong, right)]
    scores = [(query @ key).item() / math.sqrt(8) for query, key in pairs]
    seen = page.locator(".lab .seen").first.inner_text().replace("−", "-")
    assert [f"{score:.2f}" for score in scores] == re.findall(r"-?\d+\.\d\d", seen)


@pytest.mark.browser
def test_right_functions_are_drawn_where_the_reference_is_and_marked(opened):
    page = opened("rope", **dict.fromkeys(STEMS, AS_IT_IS))
    for stem, look in (("rope", "query"), ("sinusoidal", "where"), ("longer", "where")):
        turn_to(page, stem)
        own_hands = hands_of(page, look) + (hands_of(page, "wrong") if stem == "longer" else [])
        pale = hands_of(page, look, pale=True)
        assert sorted(own_hands) == pytest.approx(sorted(pale), abs=2e-3) and len(pale) >= 4
        mark, drawn = says(page)
        assert mark.startswith("✓") and "Pale" not in drawn
        assert page.locator(".lab .own .right").count() == 1


@pytest.mark.browser
def test_each_scene_draws_what_is_wrong_or_says_why_it_does_not(opened, changed):
    """A wrong base, one that never ends, and one that raises, in one folder."""
    page = opened("sinusoidal", sinusoidal=WRONG_BASE, learned=LOOPS, longer=RAISES)
    hands = changed("clock", WRONG_BASE)["hands"]
    want = [angle(hands[20].tolist(), pair) for pair in range(4)]
    assert hands_of(page, "where") == pytest.approx(want, abs=1e-3)
    assert "inverse_frequencies" in says(page)[0] and "10.2" in says(page)[1]
    for stem, sentence in (("learned", "didn't finish"), ("longer", "trained_lengths")):
        turn_to(page, stem)
        mark, drawn = says(page)
        assert mark.startswith("✗") and sentence in mark and "the reference" in drawn
        assert page.locator(".lab .ghost").count() == 0
    turn_to(page, "rope")
    assert says(page) == [] and page.locator(".lab .ghost").count() == 0  # nothing is written


@pytest.mark.browser
def test_own_rows_are_added_to_the_word(opened):
    reverse = "return self.weight[:seq_len] => return self.weight[:seq_len].flip(0)"
    page = opened("learned", learned=reverse)
    table = unpacked(committed()["learned"]["positions"])
    heights = page.evaluate(
        """() => [...document.querySelectorAll(".lab rect.filled.where")]
          .filter((bar) => !bar.style.opacity && !bar.closest(".ghost"))
          .map((bar) => bar.height.baseVal.value)"""
    )
    row = table.flip(0)[3].abs()
    assert heights == pytest.approx((row * heights[0] / row[0]).tolist(), abs=0.1)
    assert "not its row 3" in page.locator(".lab .seen").inner_text()


# --- the numbers that come from training ----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("stem", ["learned", "skipgram", "gpt"])
def test_the_committed_numbers_are_those_of_a_new_training(stem):
    def close(one, other):
        if isinstance(one, dict) and "base64" in one:
            kept, new = unpacked(one), unpacked(other)
            torch.testing.assert_close(kept, new, rtol=0, atol=0.1 * new.abs().max().item())
        elif isinstance(one, dict):
            assert one.keys() == other.keys()
            for name in one:
                close(one[name], other[name])
        else:
            assert one == other

    script = runpy.run_path(str(ROOT / "course" / "lessons" / stem / "measure.py"))
    kept = committed()[stem]
    close(kept, {"how": kept["how"], **script["to_play_with"](False)})
