"""The page of the lab in a real browser: its numbers are PyTorch's, and hands can use it.

They need Playwright (`pip install -e ".[browser]"`) and a Chromium, and run with `-m browser`.
"""

import base64
import math
import statistics
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch

from course.lab.numbers import BASES, LONGEST, N_HEADS, WIDTHS, export_numbers, packed
from course.lab.page import page_with
from course.syllabus import find_lesson
from course.testing.executor import load_module

pytestmark = pytest.mark.browser

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SCHEMES = ("learned", "sinusoidal", "RoPE", "ALiBi")
SENTENCES = (
    "the cat sat on the mat .",
    "king",
    "no word of this is known , no zebra and no quagga",
)
PATIENCE = 10
"""Seconds for whatever should happen at all."""

REDRAW = 100
"""Milliseconds that a redraw may take on a busy machine; at rest it is a tenth of that."""


@pytest.fixture(scope="module")
def numbers():
    return export_numbers()


@pytest.fixture(scope="module")
def address(numbers, tmp_path_factory):
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(page_with(numbers), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(chromium, address, numbers, tmp_path):
    """`opened(viewport=..., color_scheme=...)`: the page, on which nothing may go wrong.

    Its numbers are others with `changed={...}`.
    """
    contexts, troubles, standard = [], [], address

    def open_page(changed=None, **options):
        address = standard
        if changed:
            path = tmp_path / "changed.html"
            path.write_text(page_with(numbers | changed), encoding="utf-8")
            address = path.as_uri()
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on(
            "request",
            lambda asked: (
                asked.url == address or asked.url.startswith("data:") or troubles.append(asked.url)
            ),
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def computing(chromium, address):
    """A page whose functions are called, and whose controls stay as they are."""
    page = chromium.new_page()
    page.goto(address)
    yield page
    page.close()


@pytest.fixture
def page(opened):
    return opened(viewport=DESKTOP)


# --- the numbers are PyTorch's --------------------------------------------------------------------


def tensor(packed):
    floats = np.frombuffer(base64.b64decode(packed["base64"]), "<f4").reshape(packed["shape"])
    return torch.from_numpy(floats.astype("float64"))


@cache
def solved(stem):
    return load_module(find_lesson(stem).module("solutions"))


class Expected:
    """What the page should show, by PyTorch in float64, from the reference's functions."""

    def __init__(self, numbers, words, width, base, head, with_words, projected):
        self.tables = {name: tensor(one) for name, one in numbers["trained"][width].items()}
        known, strangers = numbers["words"], [w for w in words if w not in numbers["words"]]
        order = list(dict.fromkeys(strangers))
        self.tokens = torch.stack(
            [
                self.tables["tokens"][known.index(word)]
                if word in known
                else self.tables["strangers"][order.index(word)]
                for word in words
            ]
        )
        self.width, self.base, self.head = width, base, head
        self.with_words, self.projected = with_words, projected

    def added(self, scheme, start):
        places = slice(start, start + len(self.tokens))
        if scheme == "learned":
            return self.tables["positions"][places]
        if scheme == "sinusoidal":
            table = solved("sinusoidal").sinusoidal_encoding(LONGEST, self.width, self.base)
            return table[places].double()
        return torch.zeros_like(self.tokens)

    def scores(self, scheme, start):
        rope, places = solved("rope"), slice(start, start + len(self.tokens))
        x = self.tokens
        if not self.with_words:
            x = x[:1].expand_as(x) if scheme == "RoPE" else torch.zeros_like(x)
        x = x + self.added(scheme, start)
        query, key = (x @ self.tables["wq"], x @ self.tables["wk"]) if self.projected else (x, x)
        if scheme == "RoPE":
            turn = rope.RotaryEmbedding(LONGEST, self.width, self.base)
            query, key = turn(query, start), turn(key, start)
        scores = query @ key.T / math.sqrt(self.width)
        if scheme == "ALiBi":
            scores = scores + rope.alibi_bias(N_HEADS, LONGEST)[self.head - 1, places, places]
        return scores

    def largest_change(self, scheme):
        last = LONGEST - len(self.tokens)
        moved = torch.stack([self.scores(scheme, start) for start in range(last + 1)])
        return (moved - moved[0]).abs().max()


COMPUTED = """([sentence, width, base, head, start, withWords, projected]) => {
    const words = wordsIn(sentence);
    const chosen = { words, width, base, head, start, withWords, projected };
    return { words, schemes: Object.fromEntries([...SCHEMES, "none"].map(scheme => {
        const found = scores(chosen, scheme, start);
        const sum = plus(tokenRows(chosen), positionRows(chosen, scheme, start));
        return [scheme, {
            scores: found, weights: causalWeights(found), sum,
            change: largestChange(chosen, scheme),
            cosine: cosine(sum[0], sum.at(-1)),
        }];
    })) };
}"""


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_is_that_of_torch(computing, numbers, width, base):
    places = zip(SENTENCES, (9, 63, 40), (1, 3, 8), strict=True)
    for (sentence, start, head), *switches in product(places, (False, True), (False, True)):
        asked = [sentence, width, base, head, start, *switches]
        found = computing.evaluate(COMPUTED, asked)
        right = Expected(numbers, found["words"], width, base, head, *switches)
        for scheme, shown in found["schemes"].items():
            scores = right.scores(scheme, start)
            later = torch.ones_like(scores, dtype=torch.bool).triu(1)
            sums = right.tokens + right.added(scheme, start)
            wanted = {
                "scores": scores,
                "weights": scores.masked_fill(later, -math.inf).softmax(-1),
                "sum": sums,
                "cosine": torch.cosine_similarity(sums[0], sums[-1], dim=0),
                "change": right.largest_change(scheme),
            }
            for name, want in wanted.items():
                got = torch.tensor(shown[name], dtype=torch.float64)
                assert got.shape == want.shape
                assert (got - want).abs().max() < 1e-6, (name, scheme, asked)


def test_the_slowest_hand_turns_as_the_formula_says(computing):
    for width, base in product(WIDTHS, BASES):
        turn = computing.evaluate(f"slowestTurn({{ width: {width}, base: {base} }})")
        assert turn == pytest.approx((LONGEST - 1) * base ** (-(width - 2) / width), abs=1e-6)


def test_only_rope_and_alibi_stay_relative_behind_a_projection(computing):
    for width, base, sentence in product(WIDTHS, BASES, (SENTENCES[0], SENTENCES[2])):
        settings = f"{{ words: wordsIn('{sentence}'), width: {width}, base: {base}, "
        settings += "head: 1, start: 0, withWords: false, projected: "
        raw = computing.evaluate(f"steadySchemes({settings} false }})")
        assert raw == ["sinusoidal", "RoPE", "ALiBi"]
        assert computing.evaluate(f"steadySchemes({settings} true }})") == ["RoPE", "ALiBi"]


def test_a_color_is_that_of_the_notebooks(page):
    import matplotlib

    norm = matplotlib.colors.Normalize(-2, 2)
    for value in (-2, -1.3, 0, 0.4, 2):
        want = matplotlib.colors.to_hex(matplotlib.colormaps["coolwarm"](norm(value)))
        assert page.evaluate(f"colorOf({value}, 2, true)") == want


# --- hands on it ----------------------------------------------------------------------------------


def changes(page):
    names, values = (page.locator(f"#changes {tag}").all_text_contents() for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def drawn(page, canvas):
    return page.locator(f"#{canvas}").evaluate("canvas => canvas.toDataURL()")


def test_the_point_is_discovered_by_a_guess(page):
    assert changes(page) == {"learned": "0.4", "sinusoidal": "0", "RoPE": "0", "ALiBi": "0"}
    guess = page.locator('[data-question="projected"]')
    assert guess.get_by_role("button").is_disabled()
    guess.get_by_label("sinusoidal, RoPE and ALiBi").check()
    assert "It is" not in guess.inner_text()
    guess.get_by_role("button").click()
    assert "Not quite. It is: RoPE and ALiBi." in guess.inner_text()
    after = changes(page)
    assert (after["RoPE"], after["ALiBi"]) == ("0", "0")
    assert float(after["sinusoidal"]) > 1
    assert page.get_by_label("with Wq, Wk", exact=True).is_checked()
    guess.get_by_role("button", name="Guess again").click()
    assert "It is" not in guess.inner_text()


@pytest.mark.parametrize("name", ["repeated", "slowest", "projected", "untrained"])
def test_each_guess_is_answered_once_it_is_made(page, name):
    guess = page.locator(f'[data-question="{name}"]')
    right = page.evaluate(f"QUESTIONS.{name}.answer(settings).right")
    guess.locator(f'input[value="{right}"]').check()
    guess.get_by_role("button").click()
    assert "Your guess is right" in guess.inner_text()
    assert guess.locator("label.right").count() == 1
    assert guess.locator("p").nth(1).inner_text() != ""
    if name == "slowest":  # it is computed for what is chosen
        page.evaluate("set({ width: 4, base: 10 })")
        assert right == "little"
        assert page.evaluate(f"QUESTIONS.{name}.answer(settings).right") == "much"


def test_what_is_said_of_untrained_rows_holds_at_every_width(computing):
    for width, sentence in product(WIDTHS, (SENTENCES[0], SENTENCES[2])):
        settings = f"{{ ...settings, width: {width}, words: wordsIn('{sentence}') }}"
        assert computing.evaluate(f"QUESTIONS.untrained.answer({settings}).right") == "blind"


def test_a_sentence_of_ones_own(page):
    box = page.get_by_label("Your sentence")
    box.fill("Dog bites man, man bites dog!")
    words = page.evaluate("settings.words")
    assert words == ["dog", "bites", "man", ",", "man", "bites", "dog", "!"]
    assert page.locator("#tokens button").count() == 8
    assert "has no “,”, “!”: random rows stand in." in page.locator("#sentence-note").inner_text()
    assert "“dog” stands at positions 0 and 6" in page.locator("main").inner_text()
    box.fill("one two three four five six seven eight nine ten eleven twelve thirteen")
    assert page.evaluate("settings.words.length") == 12
    assert "The first 12 words are shown." in page.locator("#sentence-note").inner_text()
    assert page.locator('[data-question="repeated"]').is_hidden()
    box.fill("  ")
    assert page.evaluate("settings.words.length") == 12
    assert "at least one word" in page.locator("#sentence-note").inner_text()
    box.fill("<b>the</b> the")
    assert page.evaluate("settings.words") == ["b", "the", "b", "the"]


@pytest.mark.parametrize(
    ("slider", "keys", "text", "canvas"),
    [
        ("Width", ["ArrowLeft"], "16 features", "rows"),
        ("Base", ["ArrowRight"], "500,000", "hands"),
        ("First position", ["ArrowRight", "ArrowRight"], "2", "rows"),
        ("ALiBi head", ["End"], "8 (slope 1/256)", "scores-ALiBi"),
        ("Position of", ["ArrowRight"], "5", "hands"),
    ],
)
def test_a_slider_moves_by_keys_and_changes_its_figure(page, slider, keys, text, canvas):
    page.get_by_label("sinusoidal", exact=True).check()
    page.get_by_role("tab", name="Sum").click()
    before = drawn(page, canvas)
    page.get_by_label(slider).focus()
    for key in keys:
        page.keyboard.press(key)
    value = page.locator("div", has=page.get_by_label(slider)).last.locator(".value")
    assert value.inner_text() == text
    assert drawn(page, canvas) != before


def test_tabs_by_keys(page):
    before = drawn(page, "rows")
    page.get_by_role("tab", name="Token").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    tab = page.get_by_role("tab", name="Sum")
    assert tab.evaluate("tab => tab === document.activeElement")
    assert tab.get_attribute("aria-selected") == "true"
    assert drawn(page, "rows") != before
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Token").get_attribute("aria-selected") == "true"
    assert drawn(page, "rows") == before


def place_of(page, canvas, cell):
    """The middle of a cell, scrolled into view, in pixels of the window."""
    page.locator(f"#{canvas}").scroll_into_view_if_needed()
    box = page.locator(f"#{canvas}").bounding_box()
    x, y = page.evaluate(f"middleOf(document.getElementById('{canvas}'), {list(cell)})")
    return box["x"] + x, box["y"] + y


def tip(page, canvas):
    return page.locator(f"#{canvas} + .tip").inner_text()


def test_the_number_under_the_pointer(page):
    value = page.evaluate("tokenRows(settings)[4][7]")
    page.mouse.move(*place_of(page, "rows", (4, 7)))
    assert tip(page, "rows") == f"“the” at 4, feature 7: {page.evaluate(f'shown({value}, 4)')}"
    page.mouse.move(*place_of(page, "scores-ALiBi", (3, 1)))
    assert tip(page, "scores-ALiBi") == "query “on” (3), key “cat” (1): −1"
    assert tip(page, "rows") == ""
    page.mouse.move(*place_of(page, "hands", (0, 0)))
    assert tip(page, "hands").startswith("pair 0: feature 0 is −0.757, feature 1 is −0.654")
    page.evaluate("set({ width: 8 })")
    assert tip(page, "hands") == ""  # it no longer holds


def test_the_number_under_a_finger(opened):
    page = opened(viewport=PHONE, has_touch=True, is_mobile=True)
    page.touchscreen.tap(*place_of(page, "scores-ALiBi", (2, 0)))
    assert tip(page, "scores-ALiBi") == "query “sat” (2), key “the” (0): −1"


def test_the_number_under_the_arrow_keys(page):
    page.locator("#scores-ALiBi").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    assert tip(page, "scores-ALiBi") == "query “the” (0), key “cat” (1): 0"
    page.keyboard.press("Escape")
    assert tip(page, "scores-ALiBi") == ""


def test_a_word_shows_its_hands_and_turns_them_dragged_or_by_keys(page):
    word = page.locator("#tokens button").nth(2)
    word.scroll_into_view_if_needed()
    word.hover()
    assert page.evaluate("settings.place") == 2
    before, box = drawn(page, "hands"), word.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=5)
    assert page.evaluate("settings.place") == 7
    assert word.locator("small").inner_text() == "7"
    assert drawn(page, "hands") != before
    page.mouse.move(x - 600, y, steps=5)
    assert page.evaluate("settings.place") == 0
    page.mouse.up()
    page.mouse.move(x, y + 300)
    assert page.evaluate("settings.place") == 0
    page.locator("#tokens button").nth(1).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.evaluate("[settings.probe, settings.place]") == [1, 2]


def test_hands_of_each_scheme(page):
    seen = set()
    for scheme in SCHEMES:
        page.get_by_label(scheme, exact=True).check()
        assert page.locator("#hands").is_visible() == (scheme != "ALiBi")
        if scheme != "ALiBi":
            seen.add(drawn(page, "hands"))
    assert len(seen) == 3


def test_everything_is_reached_by_the_tab_key(page):
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.name"))
    for name in ("sentence", "scheme", "width", "base", "start", "head", "rows", "hands", "place"):
        assert name in reached
    assert {"withWords", "projected", "view", "tab-token"} <= reached
    assert {f"scores-{scheme}" for scheme in SCHEMES} <= reached


# --- as it looks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "viewport", [DESKTOP, PHONE, {"width": 320, "height": 600}], ids=lambda size: f"{size['width']}"
)
def test_nothing_is_wider_than_the_window(opened, viewport, color_scheme):
    page = opened(viewport=viewport, color_scheme=color_scheme)
    page.get_by_label("Your sentence").fill("incomprehensibilities of the the antidisestablishment")
    for state in ("{}", "{ width: 4 }", "{ scheme: 'RoPE', base: 500000, view: 'weights' }"):
        page.evaluate(f"set({state})")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= viewport["width"]
        for canvas in page.locator("canvas:visible").all():
            box = canvas.bounding_box()
            assert box["width"] > 0
            assert box["x"] + box["width"] <= viewport["width"]


def test_every_figure_is_described(page):
    labels = [canvas.get_attribute("aria-label") for canvas in page.locator("canvas").all()]
    assert len(set(labels)) == 6
    assert all(len(label) > 40 for label in labels)


def test_dark_and_light_are_both_drawn(opened):
    light, dark = (opened(viewport=DESKTOP, color_scheme=one) for one in ("light", "dark"))
    assert drawn(light, "rows") != drawn(dark, "rows")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert light.evaluate(ground) == "rgb(255, 255, 255)"
    assert dark.evaluate(ground) == "rgb(22, 24, 27)"
    light.emulate_media(color_scheme="dark")
    as_dark = "drawn => document.getElementById('rows').toDataURL() === drawn"
    light.wait_for_function(as_dark, arg=drawn(dark, "rows"))  # the page hears of it a frame later


def test_settings_wait_at_the_bottom_of_a_phone(opened):
    page = opened(viewport=PHONE)
    assert not page.get_by_label("Width").is_visible()
    page.locator("summary").click()
    assert page.get_by_label("Width").is_visible()
    box = page.locator("aside").bounding_box()
    assert box["y"] + box["height"] == pytest.approx(PHONE["height"], abs=1)


def test_in_a_frame_of_another_page_it_scrolls_by_itself(chromium, address, tmp_path):
    host = tmp_path / "host.html"
    frame = f'<iframe src="{address}" title="lab" width="700" height="500"></iframe>'
    host.write_text(frame, encoding="utf-8")
    page = chromium.new_page()
    page.goto(host.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("#scores-RoPE").scroll_into_view_if_needed()
    assert inside.locator("#scores-RoPE").is_visible()
    assert page.frames[1].evaluate("document.documentElement.scrollWidth") <= 700
    assert page.evaluate("scrollY") == 0
    page.close()


def test_a_redraw_is_quick(page):
    times = page.evaluate(
        """() => Array.from({ length: 40 }, (_, start) => {
            const before = performance.now();
            set({ start });
            return performance.now() - before;
        })"""
    )
    print(f"redraw: median {statistics.median(times):.1f} ms, most {max(times):.1f} ms")
    assert statistics.median(times) < REDRAW


def test_numbers_that_are_none_are_left_blank(opened, numbers):
    """As with a student's formula that divides by zero."""
    broken = packed(torch.full((LONGEST, 32), math.nan))
    waves = numbers["sinusoidal"] | {32: dict.fromkeys(BASES, broken)}
    page = opened({"sinusoidal": waves}, viewport=DESKTOP)
    assert changes(page)["sinusoidal"] == "not a number"
    assert changes(page)["RoPE"] == "0"
    assert page.evaluate("limitOf([[NaN, -3], [Infinity, 1]])") == 3


def test_what_was_borrowed_and_found_wrong_stands_on_the_page(opened):
    facts = {
        "mine": True,
        "yours": ["rotate_half", "rope_tables"],
        "borrowed": ["apply_rope"],
        "foundWrong": ["rotate_half"],
        "unchecked": ["rope_tables"],
    }
    said = opened(facts).locator("#origin").inner_text()
    assert "Borrowed from the reference, because yours are to do: apply_rope." in said
    assert "The last check found wrong: rotate_half." in said
    assert "Made with your own rotate_half, rope_tables." in said
    assert "Not checked since you wrote it: rope_tables." in said
