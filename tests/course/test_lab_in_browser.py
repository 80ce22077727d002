"""The page of the lab in a real browser: its numbers are PyTorch's, and hands can use it.

They need Playwright (`pip install -e ".[browser]"`) and a Chromium, and run with `-m browser`.
"""

import base64
import math
import statistics
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course.lab.numbers import LONGEST, SENTENCE, export_numbers, packed
from course.lab.page import page_with
from course.lab.training import SCHEMES, SIZE, trained
from course.syllabus import find_lesson
from course.testing.loading import load_module

pytestmark = pytest.mark.browser

DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
WORDS = SENTENCE.split()
SWAPPED = ["paris", "closed", "its", "bells", ".", "rome", "rang", "its"]
HEAD_DIM = SIZE.n_embd // SIZE.n_heads
PATIENCE = 10
"""Seconds for whatever should happen at all."""

REDRAW = 100
"""Milliseconds that a redraw may take on a busy machine; at rest it is a fifth of that."""


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
    """`opened(step, mine={...}, viewport=...)`: the page at a step; nothing may go wrong on it."""
    contexts, troubles, standard = [], [], address

    def open_page(step="", mine=None, **options):
        address = standard
        if mine:
            path = tmp_path / "mine.html"
            whole = {"positions": {}, "troubles": {}, "losses": {}, "exercises": []} | mine
            path.write_text(page_with(numbers | {"mine": whole}), encoding="utf-8")
            address = path.as_uri()
        context = chromium.new_context(**({"viewport": DESKTOP} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on(
            "request",
            lambda asked: asked.url.startswith((address, "data:")) or troubles.append(asked.url),
        )
        page.goto(f"{address}#{step}" if step else address)
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


# --- the numbers are PyTorch's --------------------------------------------------------------------


def tensor(packed):
    floats = np.frombuffer(base64.b64decode(packed["base64"]), "<f4").reshape(packed["shape"])
    return torch.from_numpy(floats.astype("float64"))


@cache
def solved(stem):
    return load_module(find_lesson(stem).module("solutions"))


class Expected:
    """What a model makes of words at some positions: by PyTorch in float64, from its weights."""

    def __init__(self, numbers, scheme, words, positions):
        self.scheme, self.positions = scheme, torch.tensor(positions)
        model = numbers["models"][scheme]
        self.weights = {name: tensor(one) for name, one in model.items() if isinstance(one, dict)}
        ids = [numbers["words"].index(word) for word in words]
        self.x = model["loudness"] * self.weights["tokens"][ids]
        if scheme == "learned":
            self.x = self.x + tensor(numbers["positions"]["learned"])[self.positions]
        if scheme == "sinusoidal":
            waves = solved("sinusoidal").sinusoidal_encoding(LONGEST, SIZE.n_embd)
            self.x = self.x + waves.double()[self.positions]

    def normed(self, x, which):
        return F.rms_norm(x, (SIZE.n_embd,), self.weights["norms"][which], eps=1.1920929e-7)

    def heads(self):
        """Return queries, keys and values, (H, T, D) each."""
        qkv = self.normed(self.x, 0) @ self.weights["qkv"].T
        q, k, v = qkv.unflatten(-1, (3, SIZE.n_heads, HEAD_DIM)).permute(1, 2, 0, 3)
        if self.scheme == "rope":
            rope = solved("rope")
            cos, sin = (one.double()[self.positions] for one in rope.rope_tables(LONGEST, HEAD_DIM))
            q, k = rope.apply_rope(q, cos, sin), rope.apply_rope(k, cos, sin)
        return q, k, v

    def scores(self):
        q, k, _ = self.heads()
        scores = q @ k.mT / math.sqrt(HEAD_DIM)
        if self.scheme == "alibi":
            bias = solved("rope").alibi_bias(SIZE.n_heads, LONGEST).double()
            scores = scores + bias[:, self.positions][:, :, self.positions]
        return scores

    def attention(self):
        scores = self.scores()
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return scores.masked_fill(later, -math.inf).softmax(-1)

    def next_word(self):
        seen = (self.attention() @ self.heads()[2]).transpose(0, 1).flatten(-2)
        x = self.x + seen @ self.weights["out"].T
        x = x + F.gelu(self.normed(x, 1) @ self.weights["widen"].T) @ self.weights["narrow"].T
        return (self.normed(x, 2) @ self.weights["tokens"].T)[-1].softmax(-1)


LONG = "the queen sat on the throne . king sees the old cat"
PLACES = (
    (WORDS, [*range(8)]),
    (SWAPPED, [*range(9, 16), 40]),
    (LONG.split(), [*range(52, 64)]),
)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_number_is_that_of_torch(computing, numbers, scheme):
    """Scores, weights, queries and keys of all heads, and each word's probability to come next."""
    for words, positions in PLACES:
        right = Expected(numbers, scheme, words, positions)
        q, k, _ = right.heads()
        found = computing.evaluate(
            """([scheme, words, positions]) => ({
                heads: [0, 1, 2, 3].map((head) => attention(scheme, head, words, positions)),
                next: nextWord(scheme, words, positions),
            })""",
            [scheme, words, positions],
        )
        wanted = {"scores": right.scores(), "weights": right.attention(), "queries": q, "keys": k}
        for name, want in wanted.items():
            got = torch.tensor([head[name] for head in found["heads"]], dtype=torch.float64)
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(
            torch.tensor(found["next"], dtype=torch.float64),
            right.next_word(),
            rtol=1e-5,
            atol=1e-7,
        )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_says_what_the_trained_model_says(computing, numbers, scheme):
    for words in (WORDS, SWAPPED):
        ids = torch.tensor([[numbers["words"].index(word) for word in words]])
        want = trained(scheme)(ids)[0, -1].softmax(-1)
        got = computing.evaluate(
            "([scheme, words]) => nextWord(scheme, words, [...words.keys()])", [scheme, words]
        )
        torch.testing.assert_close(torch.tensor(got), want, rtol=1e-3, atol=1e-5)


def along_the_text(numbers, scheme, head, bare, words, apart):
    """Return the scores of (query, key) words, that far apart, with the key at 0, 1, 2, ..."""
    found = []
    for key in range(LONGEST - apart):
        if scheme == "alibi":
            bias = solved("rope").alibi_bias(SIZE.n_heads, LONGEST)
            found.append(float(bias[head, key + apart, key]))
            continue
        right = Expected(numbers, scheme, [words[1], words[0]], [key, key + apart])
        if scheme in ("learned", "sinusoidal"):  # positions alone
            ids = [numbers["words"].index(words[1]), numbers["words"].index(words[0])]
            loudness = numbers["models"][scheme]["loudness"]
            right.x = right.x - loudness * right.weights["tokens"][ids]
        if bare:
            unit = torch.ones(3, SIZE.n_embd, dtype=torch.float64)
            eye = torch.eye(SIZE.n_embd, dtype=torch.float64).repeat(3, 1)
            right.weights |= {"norms": unit, "qkv": eye}
        found.append(float(right.scores()[head, 1, 0]))
    return found


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_score_of_a_pair_along_the_text_is_that_of_torch(computing, numbers, scheme, bare):
    words = ("its", "closed")
    for head in range(SIZE.n_heads):
        got = computing.evaluate(
            """([scheme, head, bare, words]) => Array.from({ length: 60 }, (_, key) =>
                pairScore(scheme, head, bare, words, key + 4, key))""",
            [scheme, head, bare, words],
        )
        want = along_the_text(numbers, scheme, head, bare, words, apart=4)
        assert got == pytest.approx(want, rel=1e-5, abs=1e-6)


def shown_percent(share):
    if 0.995 < share < 1:
        return "> 99 %"
    return "< 1 %" if 0 < share < 0.005 else f"{round(100 * share)} %"


def is_shown(text, value, digits):
    """Return if a text shows a number, rounded; a tie may go either way."""
    got = float(text.replace("−", "-"))
    return abs(got - value) <= 0.5 * 10**-digits + 1e-6


def test_what_is_displayed_is_what_torch_finds(opened, numbers):
    """Every number of free play, for each scheme, each head and both switches."""
    page = opened(6)
    compared = 0
    best = {}
    page.locator(".handle.both").focus()
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    where = [*range(9, 17)]
    for scheme in SCHEMES:
        page.get_by_label(page.evaluate(f"CALLED.{scheme}"), exact=True).check()
        right = Expected(numbers, scheme, WORDS, where)
        chances = right.next_word()
        best[scheme] = numbers["words"][int(chances.argmax())], float(chances.max())
        rows = page.locator("#next .said").last.locator("div").all_inner_texts()
        for word, text in (row.split("\n") for row in rows):
            chance = float(chances[numbers["words"].index(word)])
            assert text == shown_percent(chance)
            compared += 1
        for head in range(SIZE.n_heads):
            page.locator("#head").get_by_label(str(head + 1), exact=True).check()
            bars = page.locator("#words .bar small").all_inner_texts()
            weights = right.attention()[head, -1].tolist()
            assert bars == [shown_percent(weight) for weight in weights]
            scores = right.scores()[head]
            cells = page.locator("#matrix text[data-cell]").evaluate_all(
                "cells => cells.map(cell => [cell.dataset.cell, cell.textContent])"
            )
            assert len(cells) == 36
            for cell, text in cells:
                query, key = map(int, cell.split())
                assert is_shown(text, float(scores[query, key]), 1)
            chosen = page.locator("#matrix-note strong").inner_text()
            assert is_shown(chosen, float(scores[7, 6]), 2)
            compared += len(bars) + len(cells) + 1
            if scheme == "rope":
                q, k = right.heads()[0][head, 7], right.heads()[1][head, 6]
                for pair, text in enumerate(angles(page)):
                    features = [pair, pair + HEAD_DIM // 2]
                    a, b = k[features], q[features]
                    turn = math.atan2(float(a[0] * b[1] - a[1] * b[0]), float(a @ b))
                    degrees, part = text.removeprefix("k to q ").split("°: ")
                    assert is_shown(degrees, math.degrees(turn), 0)
                    assert is_shown(part, float(a @ b) / math.sqrt(HEAD_DIM), 2)
                    compared += 2
                assert is_shown(score(page), float(scores[7, 6]), 2)
            for bare in (True, False):
                page.evaluate(f"set({{ bare: {str(bare).lower()} }})")
                got = note(page)
                for other in SCHEMES:
                    found = along_the_text(numbers, other, head, bare, ("its", "closed"), apart=1)
                    most = max(abs(one - found[0]) for one in found)
                    text = got[page.evaluate(f"CALLED.{other}")]
                    if most < 5e-5:
                        assert text == "0"
                    else:
                        assert is_shown(text.removeprefix("< "), most, 2) or text == "< 0.01"
                    compared += 1
    for row in compared_by_scheme(page):
        cells = row.split("\t")
        scheme = next(one for one in SCHEMES if page.evaluate(f"CALLED.{one}") == cells[0])
        word, share = best[scheme]
        assert cells[2] == f"{word} {shown_percent(share)}"
        compared += 1
    for scheme, model in numbers["models"].items():
        called = page.evaluate(f"CALLED.{scheme}")
        assert f"{called} {model['losses'][-1]:.2f}" in page.locator("#cliff-note").inner_text()
        compared += 1
    print(f"{compared} displayed numbers compared")
    assert compared > 60


def test_a_color_is_that_of_the_notebooks(computing):
    import matplotlib

    from course.figures.palette import SIGNED

    for share in (0.0, 0.25, 0.5, 0.9, 1.0):
        color = matplotlib.colors.to_hex(matplotlib.colormaps[SIGNED](share))
        assert computing.evaluate(f"colorOf({2 * share - 1}, 1)") == color
    assert computing.evaluate("colorOf(NaN, 1)") == "none"


def test_the_error_function_is_that_of_torch(computing):
    places = torch.linspace(-7, 7, 101, dtype=torch.float64)
    got = torch.tensor(computing.evaluate("places => places.map(erf)", places.tolist()))
    torch.testing.assert_close(got.double(), places.erf(), rtol=1e-6, atol=1e-6)


def test_a_small_share_is_never_called_none(computing):
    shown = computing.evaluate("[0, 1e-9, 0.004, 0.426, 0.9951, 1 - 1e-9, 1, NaN].map(percent)")
    assert shown == ["0 %", "< 1 %", "< 1 %", "43 %", "> 99 %", "> 99 %", "100 %", "not a number"]


# --- the story ------------------------------------------------------------------------------------


def middle(locator):
    locator.scroll_into_view_if_needed()
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def word(page, number):
    return page.locator(f'#words [data-number="{number}"] button')


def drag(page, start, end, steps=6):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=steps)
    page.mouse.up()


def order(page):
    return page.evaluate("sentence().join(' ')")


def test_without_positions_an_exchange_changes_nothing(opened):
    page = opened()
    before = page.locator("#words .bar small").all_inner_texts()
    assert page.locator("#outcome").inner_text() == ""
    drag(page, middle(word(page, 6)), middle(word(page, 1)))
    assert order(page) == " ".join(SWAPPED)
    said = page.locator("#outcome").inner_text()
    assert "Largest change of a bar: 0." in said and "The model says gates" in said
    now = page.locator("#words .bar small").all_inner_texts()
    assert (now[1], now[6]) == (before[6], before[1])  # they went along with their words
    assert now[2:6] == before[2:6] and now[1] != now[6]


def test_a_word_is_dragged_back_and_the_last_one_stays(opened):
    page = opened()
    page.mouse.move(*middle(word(page, 6)))
    page.mouse.down()
    page.mouse.move(*middle(word(page, 1)), steps=4)
    assert order(page) == " ".join(SWAPPED)
    page.mouse.move(*middle(page.locator("#words > div").nth(6)), steps=4)
    page.mouse.up()
    assert order(page) == SENTENCE
    drag(page, middle(word(page, 7)), middle(word(page, 0)))
    drag(page, middle(word(page, 0)), middle(word(page, 7)))
    assert order(page) == SENTENCE


def test_words_move_by_keys_and_keep_the_focus(opened):
    page = opened()
    word(page, 6).focus()
    for _ in range(5):
        page.keyboard.press("Shift+ArrowLeft")
    assert order(page) == "paris closed rang its bells . rome its"
    assert page.evaluate("document.activeElement.textContent") == "closed"
    for _ in range(9):
        page.keyboard.press("Shift+ArrowRight")
    assert order(page) == SENTENCE  # not past the last word
    page.keyboard.press("ArrowLeft")
    assert order(page) == SENTENCE
    assert page.evaluate("document.activeElement.textContent") == WORDS[5]
    assert page.locator("#words [tabindex='0']").all_inner_texts() == [WORDS[5]]


def test_words_are_dragged_by_a_finger(opened, chromium):
    page = opened(viewport=PHONE, has_touch=True, is_mobile=True)
    word(page, 6).scroll_into_view_if_needed()
    (x, y), (to_x, to_y) = middle(word(page, 6)), middle(word(page, 1))
    touch = page.context.new_cdp_session(page)

    def send(kind, *points):
        touch.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]},
        )

    send("touchStart", (x, y))
    assert to_y < y - 50  # from a line up to another, and the page does not scroll instead
    for share in (0.2, 0.4, 0.6, 0.8, 1):
        send("touchMove", (x + share * (to_x - x), y + share * (to_y - y)))
    send("touchEnd")
    assert order(page) == " ".join(SWAPPED)


def test_each_scheme_tells_the_two_orders_apart(opened):
    page = opened(2)
    rows = {row.split("\t")[0]: row.split("\t") for row in compared_by_scheme(page)}
    assert rows["no positions"][3] == "0"
    assert rows["no positions"][1] == rows["no positions"][2]
    for scheme in ("learned", "sinusoidal", "RoPE", "ALiBi"):
        _, before, after, change = rows[scheme]
        assert before.startswith("gates") and after.startswith("bells")
        assert int(change.removesuffix(" points")) > 30


def compared_by_scheme(page):
    cells = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText).join('\\t'))"
    return [row[2:] for row in page.locator("#compared tbody tr").evaluate_all(cells)]


def test_a_scheme_is_chosen_and_seen_in_every_view(opened):
    page = opened(2)
    seen = set()
    for scheme in ("no positions", "learned", "sinusoidal", "RoPE", "ALiBi"):
        page.get_by_label(scheme, exact=True).check()
        assert page.locator("#compared .chosen th").inner_text()[2:] == scheme
        assert f"({scheme}; head" in page.locator("#words-note").inner_text()
        seen.add(page.locator("#matrix svg").inner_html())
    assert len(seen) == 5


def test_one_color_scale_for_all_schemes(opened):
    page = opened(2)
    ends = set()
    for scheme in ("no positions", "learned", "sinusoidal", "RoPE", "ALiBi"):
        page.get_by_label(scheme, exact=True).check()
        ends.add(tuple(page.locator("#matrix svg text.left").all_text_contents()))
    assert len(ends) == 1 and "score" in ends.pop()
    assert "q · k / √D, less ALiBi's penalty" in page.locator("#matrix-note").inner_text()


def test_what_is_pointed_at_is_lit_in_every_view(opened):
    page = opened(6)
    page.get_by_label("RoPE", exact=True).check()
    page.locator('#matrix rect[data-cell="6 1"]').hover()
    assert page.locator("#words .query button").inner_text() == "closed"
    assert page.locator("#words .key button").inner_text() == "rang"
    assert page.locator("#matrix text.q.bold.right").text_content() == "closed"
    hands = page.locator("#hands svg").get_attribute("aria-label")
    assert hands.startswith("Hands of query “closed” at 6 and key “rang” at 1.")
    assert "query “closed”" in page.locator("#matrix-note").inner_text().lower()
    page.mouse.move(5, 5)
    assert page.locator("#words .query button").inner_text() == "its"
    page.locator('#hands [data-pair="1"]').hover()
    assert page.locator("#hands .lit").get_attribute("data-pair") == "1"
    faint = page.locator("#curves path.curve.faint").evaluate_all(
        "paths => paths.map(path => path.dataset.pair)"
    )
    assert faint == ["0", "2", "3"]


def test_what_keys_go_to_is_lit_as_well(opened):
    page = opened(6)
    word(page, 2).focus()
    assert page.locator("#words .key button").inner_text() == "closed"  # as chosen
    page.keyboard.press("ArrowRight")
    assert page.locator("#words .key button").inner_text() == "bells"
    assert "key “bells”" in page.locator("#hands svg").get_attribute("aria-label")
    page.locator("#hands").focus()
    assert page.locator("#words .key button").inner_text() == "closed"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#hands .lit").get_attribute("data-pair") == "1"
    assert page.locator("#curves path.curve.faint").count() == 3


def test_a_score_is_chosen_by_keys_and_by_a_click(opened):
    page = opened(2)
    page.locator("#matrix").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("litPlaces()")[0] == 6
    label = page.locator("#matrix svg").get_attribute("aria-label")
    query, key = page.evaluate("litPlaces()")
    score = page.evaluate("attentionNow().scores")[query][key]
    assert f"{score:.2f}".replace("-", "−") in label
    page.locator('#matrix rect[data-cell="3 2"]').click()
    page.mouse.move(5, 5)
    assert page.evaluate("litPlaces()") == [3, 2]


def angles(page):
    return page.locator("#hands text.accent").all_text_contents()


def score(page):
    return page.locator("#hands-note strong").inner_text()


def test_both_move_and_no_angle_changes(opened):
    page = opened(3)
    before, stood = angles(page), score(page)
    x, y = middle(page.locator(".handle.both"))
    page.mouse.move(x, y)
    page.mouse.down()
    for moved in (80, 200, 350):
        page.mouse.move(x + moved, y, steps=3)
        assert angles(page) == before and score(page) == stood
    page.mouse.up()
    assert page.evaluate("positions()")[0] > 15
    page.locator(".handle.q").focus()
    page.keyboard.press("ArrowRight")
    assert angles(page) != before and score(page) != stood


def test_query_and_key_are_moved_by_dragging_and_no_word_passes_another(opened):
    page = opened(3)
    drag(page, middle(page.locator(".handle.q")), (1100, middle(page.locator(".handle.q"))[1]))
    far = page.evaluate("positions()")
    assert far[:7] == [*range(7)] and far[7] > 40
    assert page.locator('#words [data-number="7"] .place').inner_text() == str(far[7])
    drag(page, middle(page.locator(".handle.k")), (2000, middle(page.locator(".handle.k"))[1]))
    where = page.evaluate("positions()")
    assert where[7] == far[7] and where[6] == far[7] - 1
    assert where == sorted(set(where))


def test_the_curve_is_the_score_at_each_distance(opened):
    page = opened(3)
    parts = page.evaluate("partsByDistance()")
    for apart in (1, 5, 20, 50):
        page.evaluate(f"set({{ start: 0, gap: {apart - 1} }})")
        assert float(score(page).replace("−", "-")) == pytest.approx(sum(parts[apart]), abs=0.006)


def note(page):
    said = page.locator("#shift-note").inner_text().partition("score: ")[2].rstrip(".")
    return dict(part.rsplit(" ", 1) for part in said.split(", "))


def test_a_projection_takes_from_sinusoids_what_it_leaves_to_rope(opened):
    page = opened(4)
    bare = note(page)
    level = ("no positions", "RoPE", "ALiBi")
    assert bare["sinusoidal"] == "0" != bare["learned"]
    assert all(bare[scheme] == "0" for scheme in level)
    page.get_by_label("with the trained W").check()
    through = note(page)
    assert all(through[scheme] == "0" for scheme in level)
    assert float(through["sinusoidal"]) > 1
    page.locator(".handle.both").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".handle.k").inner_text() == "closed, k 7"
    page.keyboard.press("End")
    assert page.locator(".handle.q").inner_text() == f"its, q {LONGEST - 1}"
    assert note(page) == through


def test_losses_are_shown_as_far_as_one_reads(opened, numbers):
    page = opened(5)
    slider = page.get_by_label("Read up to")
    ends = page.locator("#cliff path.curve").evaluate_all(
        "paths => paths.map(path => path.getBBox().width)"
    )
    slider.focus()
    page.keyboard.press("End")
    assert page.locator("#reach-now").inner_text() == "128 words"
    wide = page.locator("#cliff path.curve").evaluate_all(
        "paths => paths.map(path => path.getBBox().width)"
    )
    assert all(after > 5 * before for before, after in zip(ends, wide, strict=True))
    said = page.locator("#cliff-note").inner_text()
    for scheme, model in numbers["models"].items():
        called = page.evaluate(f"CALLED.{scheme}")
        assert f"{called} {model['losses'][-1]:.2f}" in said


# --- guesses --------------------------------------------------------------------------------------

RIGHT = {1: "bells", 2: "it stays", 3: "RoPE's, not the sinusoids'", 4: "ALiBi alone"}


@pytest.mark.parametrize("step", RIGHT)
def test_a_guess_is_answered_once_and_stays_as_it_was_told(opened, step):
    page = opened(step)
    form = page.locator(f'[data-guess="{step}"]')
    assert form.is_hidden()  # first it shows, then it asks
    page.evaluate("set({ start: 1 })")
    button = form.get_by_role("button")
    assert button.is_disabled()
    form.get_by_label(RIGHT[step], exact=True).check()
    button.click()
    told = form.inner_text()
    assert page.evaluate("document.activeElement.role") == "status"
    assert f"✓ Right: {RIGHT[step]}." in told
    page.evaluate(
        "set({ words: ['the', 'king', 'sees', 'dog'], order: [0, 1, 2, 3], query: 3, key: 2 })"
    )
    page.evaluate("set({ bare: false, start: 7, scheme: 'alibi', chosenHead: 1 })")
    assert form.inner_text() == told
    page.evaluate("goTo(6)")
    page.evaluate(f"goTo({step})")
    assert form.inner_text() == told
    assert all(radio.is_disabled() for radio in form.locator("input").all())


@pytest.mark.parametrize("step", RIGHT)
def test_a_wrong_guess_is_told_what_is_right(opened, step):
    page = opened(step)
    form = page.locator(f'[data-guess="{step}"]')
    page.evaluate("set({ start: 1 })")
    wrong = next(text for text in form.locator("label").all_inner_texts() if text != RIGHT[step])
    form.get_by_label(wrong, exact=True).check()
    form.get_by_role("button").click()
    assert f"✗ Not quite: {RIGHT[step]}." in form.inner_text()
    assert form.locator("label.right").inner_text() == RIGHT[step]


def test_step_3_asks_once_both_have_moved(opened):
    page = opened(3)
    page.locator(".handle.q").press("ArrowRight")
    assert page.locator("[data-guess]").count() == 0
    page.locator("#words [tabindex='0']").focus()
    page.keyboard.press("Tab")  # the next stop
    page.keyboard.press("ArrowRight")
    assert page.locator('[data-guess="3"]').is_visible()


# --- on the page ----------------------------------------------------------------------------------


def test_steps_by_links_by_the_address_and_onward(opened):
    page = opened()
    assert page.locator("#steps [aria-current]").inner_text() == "1 Order"
    for step in ("2 Positions", "3 Hands", "4 Projections", "5 Longer", "Free play"):
        page.get_by_role("button", name="Next →").click()
        assert page.locator("#steps [aria-current]").inner_text() == step
    assert page.get_by_role("button", name="Next →").is_hidden()
    page.get_by_role("link", name="Hands").click()
    page.locator("#hands").wait_for()
    assert page.url.endswith("#3")
    page.goto(page.url.replace("#3", "#5"))
    page.locator("#cliff").wait_for()
    assert page.locator("#hands").is_hidden()
    page.get_by_role("link", name="Play with all of it").click()
    page.locator("#hands").wait_for()
    page.locator("#matrix").wait_for()


def test_a_step_begins_at_its_top(opened):
    for step in ("", 3):
        page = opened(step, viewport=PHONE)
        page.wait_for_timeout(300)  # the browser itself goes to the address after all is loaded
        assert page.evaluate("scrollY") == 0
        page.evaluate("scrollTo(0, 500)")
        page.get_by_role("link", name="Order").click()
        assert page.evaluate("scrollY") == 0


def test_a_step_plays_by_itself_until_it_is_stopped(opened):
    for step, moves in ((1, "state.order.join()"), (3, "state.start"), (5, "state.reach")):
        page = opened(step)
        before = page.evaluate(moves)
        page.get_by_role("button", name="Show me").click()
        page.wait_for_function(f"before => {moves} !== before", arg=before)
        page.get_by_role("button", name="Stop").click()
        stood = page.evaluate(moves)
        page.wait_for_timeout(300)
        assert page.evaluate(moves) == stood


def test_nothing_moves_by_itself_where_that_is_not_wished(opened):
    page = opened(1, reduced_motion="reduce")
    assert page.get_by_role("button", name="Show me").is_hidden()
    word(page, 6).focus()
    page.keyboard.press("Shift+ArrowLeft")
    assert page.evaluate("document.getAnimations().length") == 0


def test_a_sentence_of_ones_own(opened):
    page = opened(6)
    box = page.get_by_label("Your sentence")
    box.fill("The KING sees a zebra . zebra")
    assert page.evaluate("state.words") == ["the", "king", "sees", "a", "."]
    said = page.locator("#sentence-note").inner_text()
    assert "The models do not know “zebra”: left out." in said
    box.fill("the cat " * 8)
    assert page.evaluate("state.words.length") == 12
    assert "The first 12 words are taken." in page.locator("#sentence-note").inner_text()
    box.fill("zebra")
    assert page.evaluate("state.words.length") == 12
    assert "the last sentence stays" in page.locator("#sentence-note").inner_text()
    box.fill("<b>the</b> queen")
    assert page.evaluate("state.words") == ["the", "queen"]
    page.locator("summary").click()
    page.locator("#vocabulary").get_by_role("button", name="sat", exact=True).click()
    assert page.evaluate("state.words") == ["the", "queen", "sat"]


def test_heads_and_first_positions_are_chosen(opened):
    page = opened(6)
    page.get_by_label("ALiBi", exact=True).check()
    page.locator("#head").get_by_label("4", exact=True).check()
    assert "head 4 of 4" in page.locator("#words-note").inner_text()
    page.locator(".handle.both").focus()
    page.keyboard.press("End")
    assert page.evaluate("positions()")[-1] == LONGEST - 1
    places = page.locator("#words .place").all_inner_texts()
    assert places == [str(place) for place in range(LONGEST - 8, LONGEST)]


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_is_wider_than_the_window(opened, width, color_scheme):
    page = opened(viewport={"width": width, "height": 800}, color_scheme=color_scheme)
    for step in range(1, 7):
        page.evaluate(f"goTo({step})")
        if step == 6:
            page.get_by_label("Your sentence").fill("remembered princess remembered greece " * 3)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, step
        for svg in page.locator("svg:visible").all():
            box = svg.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width + 0.5
            assert svg.get_attribute("role") == "img"
            assert len(svg.get_attribute("aria-label")) > 20


def test_words_in_drawings_are_large_enough_and_none_is_cut_off(opened):
    for viewport in (DESKTOP, PHONE):
        page = opened(6, viewport=viewport)
        cut = page.locator("svg").evaluate_all(
            """svgs => svgs.flatMap(svg => {
                const frame = svg.getBoundingClientRect();
                return [...svg.querySelectorAll('text')].filter(text => {
                    const box = text.getBoundingClientRect();
                    const small = parseFloat(getComputedStyle(text).fontSize) < 12;
                    return small || box.left < frame.left - 1 || box.right > frame.right + 1
                        || box.bottom > frame.bottom + 2 || box.top < frame.top - 2;
                }).map(text => svg.parentElement.id + ': ' + text.textContent);
            })"""
        )
        assert cut == []


def test_everything_is_reached_by_the_tab_key(opened):
    page = opened(6)
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(70):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.name"
                " || document.activeElement.className || document.activeElement.textContent"
            )
        )
    wanted = {"sentence", "scheme", "head", "matrix", "hands", "bare", "reach"}
    wanted |= {"handle q", "handle k", "handle both", WORDS[0]}
    assert wanted <= reached


def test_a_redraw_is_quick(opened):
    page = opened(6)
    times = page.evaluate(
        """() => Array.from({ length: 40 }, (_, start) => {
            const before = performance.now();
            set({ start });
            return performance.now() - before;
        })"""
    )
    print(f"redraw: median {statistics.median(times):.1f} ms, most {max(times):.1f} ms")
    assert statistics.median(times) < REDRAW


# --- a student's own functions --------------------------------------------------------------------


def rotations(change=lambda matrices: matrices):
    """RoPE's matrices at all positions, changed, as the page gets them."""
    rope = solved("rope")
    units = torch.eye(HEAD_DIM)[:, None].repeat(1, LONGEST, 1)
    tables = rope.rope_tables(LONGEST, HEAD_DIM)
    matrices = change(rope.apply_rope(units, *tables).transpose(0, 1))
    size = range(HEAD_DIM)
    pairs = [(i, j) for i in size for j in size]
    return {
        "from": [i for i, _ in pairs],
        "to": [j for _, j in pairs],
        "values": packed(matrices.flatten(1)),
    }


def mirrored(matrices):
    """A sign is lost: what should turn is mirrored."""
    wrong = matrices.clone()
    half = HEAD_DIM // 2
    wrong[:, half:, :half] *= -1
    return wrong


def test_right_functions_break_no_claim(opened, numbers):
    page = opened(7, mine={"positions": numbers["positions"] | {"rope": rotations()}})
    assert page.locator(".claims li").count() == 8
    assert all(text.startswith("✓") for text in page.locator(".claims li").all_inner_texts())
    assert page.get_by_text("numbers are the reference's.").count() == 4
    for step in range(1, 6):
        page.evaluate(f"goTo({step})")
        assert page.locator("#broken").is_hidden()


def test_a_lost_sign_is_marked_where_the_story_breaks(opened):
    says = {"says": "rotate_half loses a sign.", "look": "Where?", "status": "wrong"}
    exercise = {"name": "rotate_half", "scheme": "rope", "lesson": "rope", "source": "yours"} | says
    page = opened(mine={"positions": {"rope": rotations(mirrored)}, "exercises": [exercise]})
    panel = page.locator('#mine [data-scheme="rope"]')
    told = panel.inner_text()
    assert "rotate_half is not right yet" in told and "rotate_half loses a sign. Where?" in told
    assert "Your hands change their length here" in told
    assert "numbers differ. The first: position 1, feature" in told
    assert page.locator('#mine [data-scheme="alibi"]').get_by_text("Nothing of yours").count() == 1
    page.evaluate("goTo(3)")
    assert "With your functions: RoPE: Your hands change" in page.locator("#broken").inner_text()
    assert "no angle changes" not in page.locator("#hands-note").inner_text()
    form = page.locator('[data-guess="3"]')
    page.evaluate("set({ start: 1 })")
    form.get_by_label(RIGHT[3], exact=True).check()
    form.get_by_role("button").click()
    told = form.inner_text()
    assert "✓ Right" in told and "With the reference's functions:" in told
    page.evaluate("goTo(4)")
    assert "Along the text yours changes, by up to" in page.locator("#broken").inner_text()
    page.evaluate("goTo(1)")
    assert page.locator("#broken").is_hidden()


def test_a_place_is_compared_by_pointing_and_by_keys(opened):
    page = opened(mine={"positions": {"rope": rotations(mirrored)}})
    panel = page.locator('#mine [data-scheme="rope"]')
    panel.locator('.map [data-cell="1 4"]').first.hover()
    assert panel.locator(".frame").count() == 3
    said = panel.locator(".found").inner_text()
    assert said.startswith("position 1, feature 4: yours ") and "the reference" in said
    page.mouse.move(5, 5)
    assert "numbers differ" in panel.locator(".found").inner_text()
    panel.locator(".maps").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert panel.locator(".found").inner_text().startswith("position 0, feature 1: yours ")


def test_positions_that_are_all_alike_break_the_claim_that_they_differ(opened):
    alike = packed(torch.ones(LONGEST, SIZE.n_embd))
    page = opened(mine={"positions": {"sinusoidal": alike, "learned": alike}})
    for scheme in ("sinusoidal", "learned"):
        assert "have the same row" in page.locator(f'#mine [data-scheme="{scheme}"]').inner_text()
    page.evaluate("goTo(2)")
    assert "have the same row" in page.locator("#broken").inner_text()


def test_penalties_that_rise_break_the_claim_that_they_fall(opened, numbers):
    rising = packed(-tensor(numbers["positions"]["alibi"]))
    page = opened(mine={"positions": {"alibi": rising}})
    assert "is not lowered more" in page.locator('#mine [data-scheme="alibi"]').inner_text()


def test_numbers_that_are_none_are_left_blank(opened):
    nothing = packed(torch.full((LONGEST, SIZE.n_embd), math.nan))
    page = opened(
        mine={"positions": {"sinusoidal": nothing}, "losses": {"sinusoidal": [None] * 32}}
    )
    for step in range(1, 8):
        page.evaluate(f"goTo({step})")
        if step == 2:
            page.get_by_label("sinusoidal", exact=True).check()
            row = page.locator("#compared .chosen td").all_inner_texts()
            assert row == ["not a number"] * 3
    told = page.locator('#mine [data-scheme="sinusoidal"]').inner_text()
    assert "yours not a number" in told and "the same row" not in told
    assert told.count("Some of your numbers are not numbers.") == 2


def test_a_function_that_fails_leaves_the_others(opened, numbers):
    trouble = "apply_rope cannot be shown, for it raises ValueError: no."
    own = {"alibi": numbers["positions"]["alibi"]}
    page = opened(mine={"positions": own, "troubles": {"rope": trouble}})
    assert trouble in page.locator('#mine [data-scheme="rope"]').inner_text()
    assert "numbers are the reference's" in page.locator('#mine [data-scheme="alibi"]').inner_text()
    page.evaluate("goTo(2)")
    page.get_by_label("RoPE", exact=True).check()
    assert trouble in page.locator("#about").inner_text()
