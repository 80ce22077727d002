"""The figures to play with, in the pages of the texts: what is moved, what is seen, and by whom.

They need Playwright (`pip install -e ".[browser]"`) and a Chromium, and run with `-m browser`.
"""

import json
import os
import re
from functools import cache

import pytest
import torch

from course.core.syllabus import find_lesson, lessons
from course.experiments.character_gpt import CharacterGPT
from course.lessons.gpt.word_models import READ, SIZE, reference_parts
from course.publishing.figures.measured import committed, unpacked
from course.publishing.lab.script import examples, rooms, write_lab
from course.student import texts
from course.testing.loading import load_module

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
WHOLE = {"width": 1280, "height": 1000}
"""A scene shows by itself what moves as soon as all of it is in the window."""

LAYOUTS = """() => [...document.querySelectorAll("course-lab")].map(scene => {
    const lab = scene.querySelector(".lab"), svg = lab.querySelector("svg");
    const frame = svg.getBoundingClientRect(), words = [...svg.querySelectorAll("text")];
    const isCut = (box) => box.left < frame.left - 1 || box.right > frame.right + 1;
    return {
        scene: scene.getAttribute("scene"),
        tooHigh: lab.offsetHeight - parseFloat(getComputedStyle(scene).minHeight),
        isTooWide: lab.scrollWidth > lab.clientWidth,
        cut: words.filter(one => isCut(one.getBoundingClientRect())).map(one => one.textContent),
        smallest: Math.min(...words.map(one => parseFloat(getComputedStyle(one).fontSize))),
    };
})"""

DRAWN = """window.drawn = new Set();
    new MutationObserver(() => {
        const svg = document.querySelector(".lab svg");
        if (svg) drawn.add(svg.innerHTML.replace(/aria-\\w+="[^"]*"/g, ""));
    }).observe(document, { subtree: true, childList: true, attributes: true });"""
"""Notes all that a scene has drawn."""

TOUCHED_WHILE_IT_MOVES = """new MutationObserver(() => {
        const lab = document.querySelector("course-lab");
        if (!lab?.state?.isDemo || window.after) return;
        const isHome = () => Object.keys(lab.home).every(
            (name) => String(lab.state[name]) === String(lab.home[name]));
        if (isHome()) return;
        lab.dispatchEvent(new Event("pointerdown"));
        window.after = { isHome: isHome(), isGliding: Boolean(lab.gliding) };
    }).observe(document, { subtree: true, childList: true, attributes: true });"""
"""Right after a drawing, so that no slow machine sleeps through what moves."""


@cache
def solved(stem):
    return load_module(find_lesson(stem).module("solutions"))


@cache
def model_of(scheme):
    """PyTorch's model of the numbers on the pages, which are those of a training (test_lab.py)."""
    numbers = committed()["gpt"]["models"][scheme]
    weights = {name: unpacked(one) for name, one in numbers.items() if name != "loudness"}
    model = CharacterGPT(len(weights["tokens"]), SIZE, scheme, reference_parts)
    model.token_scale, (block,) = numbers["loudness"], model.blocks
    parts = {"tokens": model.tokens, "qkv": block.to_qkv, "out": block.from_heads}
    parts |= {"widen": block.widen, "narrow": block.narrow}
    for name, part in parts.items():
        part.weight.data = weights[name]
    for norm, weight in zip((*block.norms, model.last_norm), weights["norms"], strict=True):
        norm.weight.data = weight
    return model.requires_grad_(False)


@pytest.fixture(scope="module")
def pages():
    return texts.write_texts({})


@pytest.fixture
def opened(browse, pages):
    """`opened("rope")`: the page of a lesson, or that in a folder."""
    return lambda folder, **options: browse(pages / folder / "README.html", **options)


def alone(folder, *scenes):
    """Write a page with only these scenes."""
    write_lab(folder)
    styles = '<link rel="stylesheet" href="lab.css">'
    body = '<body style="margin: 1rem auto; max-width: 660px; font: 17px/1.6 sans-serif">'
    figures = "".join(f'<course-lab scene="{scene}"></course-lab>' for scene in scenes)
    text = '<p style="height: 2000px"></p><script src="lab.js"></script>'
    (folder / "README.html").write_text(
        f"<!doctype html><meta charset=utf-8>{styles}{body}{figures}{text}", encoding="utf-8"
    )
    return folder


def seen(page):
    """The sentence below the figure, as it is after the next frame."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return page.locator(".lab .seen").first.inner_text().replace("−", "-")


def numbers_in(sentence):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", sentence)]


def slider(page, name):
    return page.locator(".lab").first.get_by_role("slider", name=name, exact=True)


def drag(page, grip, right, down=0):
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=5)
    page.mouse.up()


@pytest.mark.parametrize("stem", [lesson.stem for lesson in lessons()])
def test_a_scene_takes_the_place_of_the_still_figure_but_not_on_paper_or_without_a_script(
    opened, stem
):
    page = opened(stem)
    live, still = (page.locator(f"course-lab {one}").first for one in ("svg", "img"))
    live.wait_for()
    assert not still.is_visible() and seen(page)
    page.emulate_media(media="print")
    still.wait_for()  # a picture that is not loaded yet has no size
    assert not live.is_visible()
    page = opened(stem, java_script_enabled=False)
    assert page.locator("course-lab img").first.bounding_box()["width"] > 500
    assert page.locator(".lab").count() == 0


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_room_of_every_scene_is_kept_and_its_words_can_be_read(opened, tmp_path, size):
    # it was measured with a wide font; in a narrow one its words take some lines less
    lowest = -90 if "COURSE_TEST_FONT" in os.environ else -45
    page = opened(alone(tmp_path, *rooms()), viewport=size)
    page.locator(".lab svg").nth(len(rooms()) - 1).wait_for()
    layouts = page.evaluate(LAYOUTS)
    assert [one["scene"] for one in layouts] == [*rooms()]
    for one in layouts:
        assert lowest <= one["tooHigh"] <= 45, one
        assert not one["isTooWide"] and one["cut"] == [] and one["smallest"] >= 12, one


@pytest.mark.parametrize("scene", rooms())
class TestEveryScene:
    def test_the_keyboard_moves_each_grip_and_nothing_moves_by_itself_if_motion_is_unwanted(
        self, opened, tmp_path, scene
    ):
        page = opened(alone(tmp_path, scene), viewport=WHOLE, watch=DRAWN)
        page.wait_for_function("drawn.size > 0")
        page.wait_for_timeout(800)
        assert page.evaluate("drawn.size") == 1
        for grip in page.locator(".lab").first.locator("[role=slider]").all():
            before = grip.get_attribute("aria-valuenow")
            grip.focus()
            for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):  # at an end, only back
                page.keyboard.press(key)
                assert seen(page)
                if grip.get_attribute("aria-valuenow") != before:
                    break
            assert grip.get_attribute("aria-valuenow") != before, grip.get_attribute("aria-label")

    def test_it_shows_what_moves_and_is_at_its_beginning_for_who_touches_it(
        self, opened, tmp_path, scene
    ):
        page = opened(
            alone(tmp_path, scene),
            reduced_motion="no-preference",
            viewport=WHOLE,
            watch=DRAWN + TOUCHED_WHILE_IT_MOVES,
        )
        page.wait_for_function("window.after")
        assert page.evaluate("drawn.size") > 1
        assert page.evaluate("window.after") == {"isHome": True, "isGliding": False}


# --- what each of them shows is what Python's reference says ------------------------------------


def rope_score(m, n):
    query, key = (torch.tensor(examples()[name])[None] for name in ("query", "key"))
    rotary = solved("rope").RotaryEmbedding(64, query.shape[-1])
    scale = query.shape[-1] ** 0.5
    return ((rotary(query, offset=m) * rotary(key, offset=n)).sum() / scale).item()


def added_score(m, n):
    rows = solved("sinusoidal").sinusoidal_encoding(64, 8)
    rows = torch.cat((rows[:, 1::2], rows[:, 0::2]), dim=-1)  # all cosines, then all sines
    w_q, w_k = torch.tensor(examples()["projections"])
    query, key = (torch.tensor(examples()[name]) for name in ("query", "key"))
    return (w_q @ (query + rows[m]) @ (w_k @ (key + rows[n])) / 8**0.5).item()


def test_only_with_rope_the_score_stays_while_query_and_key_move_together(opened):
    page = opened("rope")
    m, n, apart, score = home = numbers_in(seen(page))
    assert apart == m - n and score == pytest.approx(rope_score(int(m), int(n)), abs=0.0051)
    assert page.locator(".lab svg .tip").count() == page.locator("[aria-label^=Hand]").count() > 0
    drag(page, slider(page, "Hand of The query, pair 1").locator(".tip"), -20, 40)
    m, same_n, apart, score = numbers_in(seen(page))
    assert m != home[0] and same_n == n
    drag(page, slider(page, "The query and The key together"), 100)
    moved_m, moved_n, *same = numbers_in(seen(page))
    assert moved_m > m + 5 and moved_n - moved_m == n - m and same == [apart, score]
    drag(page, slider(page, "The key, on the curve"), -60)
    m, n, apart, score = numbers_in(seen(page))
    assert apart == m - n != same[0]
    assert score == pytest.approx(rope_score(int(m), int(n)), abs=0.0051)
    page.get_by_role("button", name="added, then projected").click()
    m, n, apart, score, low, high = numbers_in(seen(page))
    assert apart == m - n
    all_scores = [
        added_score(int(n) + i + int(m - n), int(n) + i) for i in range(-int(n), 64 - int(m))
    ]
    assert score == pytest.approx(added_score(int(m), int(n)), abs=0.0051)
    assert [low, high] == pytest.approx([min(all_scores), max(all_scores)], abs=0.0051)
    assert low < score < high
    phrase = page.locator("a.set").first  # of the text: it sets the figure
    wanted = json.loads(phrase.get_attribute("data-set"))
    phrase.focus()
    page.keyboard.press("Enter")
    assert numbers_in(seen(page)) == [wanted["query"], wanted["key"], *home[2:]]


def test_a_phrase_shows_its_motion_again_when_it_is_clicked_again(opened):
    page = opened("rope", reduced_motion="no-preference")
    page.evaluate("document.querySelector('a.set').click()")
    page.wait_for_function("document.querySelector('course-lab').state.query === 60")
    page.wait_for_function("!document.querySelector('course-lab').gliding")
    again = """() => {
        document.querySelector("a.set").click();
        return document.querySelector("course-lab").state.query;
    }"""
    assert page.evaluate(again) == 20


def test_the_dot_product_of_two_rows_is_that_of_any_two_as_far_apart(opened):
    page = opened("sinusoidal")
    table = solved("sinusoidal").sinusoidal_encoding(64, 8)
    for key in ("", "End", "ArrowLeft"):
        if key:
            slider(page, "The word").press(key)
        m, n, product, apart = numbers_in(seen(page))
        assert apart == abs(m - n)
        assert product == pytest.approx((table[int(m)] @ table[int(n)]).item(), abs=0.0051)
        assert product == pytest.approx((table[int(apart)] @ table[0]).item(), abs=0.0051)


def attention_of(vectors):
    return (vectors @ vectors.T / vectors.shape[-1] ** 0.5).softmax(-1) @ vectors


def test_words_move_and_their_vectors_with_them_but_not_with_positions_or_a_mask(opened):
    page, words = opened("permutation"), examples()["words"]
    again = page.locator("course-lab").first.get_by_role("button", name="start again")
    home = seen(page)
    for number in range(2):  # the other words make room again
        if number:
            again.click()
        assert seen(page) == home and not again.is_visible()
        drag(page, slider(page, "Position of dog"), 2 * 210)
        assert "bites man dog" in seen(page) and "stayed the same" in seen(page)
    page.locator(".lab").get_by_role("button", name="positions added").first.click()
    (changed,) = numbers_in(seen(page))
    rows = solved("sinusoidal").sinusoidal_encoding(3, 4)[:, [1, 3, 0, 2]]
    order = ["bites", "man", "dog"]
    home, now = (
        attention_of(torch.tensor([words[word] for word in sentence]) + rows)
        for sentence in (list(words), order)
    )
    differences = [(home[list(words).index(word)] - now[order.index(word)]).abs() for word in order]
    assert changed == pytest.approx(max(one.max().item() for one in differences), abs=0.0051)
    page.get_by_role("button", name="Under the mask, swapping dog and man").click()
    page.wait_for_function("!document.querySelector('course-lab').gliding")
    home, now = (
        solved("permutation").causal_toy_attention(torch.tensor([[words[one] for one in order]]))
        for order in (["dog", "bites", "man"], ["man", "bites", "dog"])
    )
    change = (home - now.flip(1)).abs().max().item()
    assert "man bites dog" in seen(page)
    assert numbers_in(seen(page)) == [pytest.approx(change, abs=0.0051)]


def test_ids_pick_rows_and_only_those_learn(opened):
    page = opened("lookup")
    assert numbers_in(seen(page)) == examples()["lookup"]["ids"] == [3, 0, 2, 3, 1]
    page.get_by_role("button", name="learn").click()
    learned = numbers_in(seen(page))
    assert learned == [3, 2, 2, 4]  # row 3 twice, because 2 ids picked it; row 4 rests
    slider(page, "Id 4 of the text").press("ArrowDown")
    slider(page, "Id 4 of the text").press("ArrowDown")
    assert numbers_in(seen(page)) == [3, 0, 2, 3, 3]


def test_beyond_the_trained_rows_it_says_so_however_fast_keys_come(opened):
    page = opened("learned")
    before = page.locator(".lab .wrong").count()
    slider(page, "Position of king").evaluate(
        """grip => ["PageDown", "PageDown", "ArrowUp", "ArrowDown"].forEach(key =>
            grip.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })))"""
    )
    assert numbers_in(seen(page)) == [23, READ, 23] and page.locator(".lab .wrong").count() > before


def test_an_analogy_is_answered_as_by_the_reference(opened):
    page, kingdom = opened("skipgram"), committed()["skipgram"]
    rows, names = unpacked(kingdom["rows"]), kingdom["words"]
    for added, presses in (("woman", 0), ("queen", 2)):
        for _ in range(presses):
            slider(page, "The word to add").press("ArrowRight")
        a, b, c = (rows[names.index(term)] for term in ("king", "man", added))
        ids, cosines = solved("skipgram").nearest_by_cosine(a - b + c, rows, top_k=2)
        first, second = (names[one] for one in ids)
        sentence = seen(page)
        assert re.findall(r"\w+", sentence)[:3] == ["king", "man", added]
        assert f"nearest to {first} " in sentence and f"then to {second} " in sentence
        assert numbers_in(sentence) == pytest.approx(cosines.tolist(), abs=0.0051)


def test_hands_leave_their_arcs_as_the_references_frequencies_say(opened):
    page = opened("longer")
    tips = page.locator(".lab svg").first.locator(".tip")
    assert tips.count() == page.locator("[aria-label^=Hand]").count() > 0  # they can be turned
    slider(page, "Length of the text").press("End")
    inverse_frequencies = solved("sinusoidal").inverse_frequencies
    trained = inverse_frequencies(16, 10000.0)
    rates = {
        "no remedy": trained,
        "interpolation": trained / 8,
        "NTK": inverse_frequencies(16, solved("rope").ntk_base(10000.0, 8, 16)),
        "YaRN": solved("longer").yarn_frequencies(16, 10000.0, 8, 512),
    }
    for remedy, rate in rates.items():
        page.locator(".lab").first.get_by_role("button", name=remedy, exact=True).click()
        new = ((trained * 512 < 2 * torch.pi) & (rate * 4096 > trained * 512 * 1.0001)).sum().item()
        sentence = seen(page).replace("4,096", "4096")
        length, *counts, _, step = numbers_in(sentence)
        assert length == 4096 and counts == ([new, 8] if new else [])
        assert step == round(torch.rad2deg(rate[0]).item())
    assert tips.count() == 0


def test_the_small_models_say_what_pytorch_says_in_every_order(opened):
    page = opened("gpt")
    model = model_of("rope")
    words = committed()["gpt"]["words"]

    def asked():
        sentence = [one.text_content() for one in page.locator(".lab .word .on-pill").all()]
        order = page.locator(".lab .word").evaluate_all(
            "all => all.map(one => [new DOMMatrix(getComputedStyle(one).transform)])"
            ".map(([m]) => m.f * 1000 + m.e)"
        )
        return [word for _, word in sorted(zip(order, sentence, strict=True))]

    def expected(sentence):
        ids = torch.tensor([[words.index(word) for word in sentence]])
        probabilities = model(ids)[0, -1].softmax(-1)
        return words[probabilities.argmax()], probabilities.max().item()

    home = asked()
    assert f"expect “{expected(home)[0]}” next" in seen(page)
    verb = slider(page, "closed, word 7")
    for place in range(7, 2, -1):
        slider(page, f"closed, word {place}").press("ArrowLeft")
        seen(page)
    assert verb.count() == 0
    changed = asked()
    assert changed != home and f"expect “{expected(changed)[0]}” next" in seen(page)


def test_two_words_change_places_and_only_a_model_with_positions_notices(opened, tmp_path):
    page = opened(alone(tmp_path, "order"), viewport={"width": 800, "height": 600})

    def expected(scheme, sentence):
        ids = [committed()["gpt"]["words"].index(word) for word in sentence.split()]
        return model_of(scheme)(torch.tensor([ids]))[0, -1].softmax(-1).max().item()

    assert "“gates”" in seen(page)
    closed, rang = slider(page, "closed, word 7"), slider(page, "rang, word 2")
    way = rang.bounding_box()["x"] - closed.bounding_box()["x"]
    drag(page, closed, way)
    assert "“gates”" in seen(page) and slider(page, "closed, word 2").count() == 1
    page.get_by_role("button", name="with positions", exact=True).click()
    assert "“bells”" in seen(page)
    share = expected("rope", "paris closed its bells . rome rang its")
    assert numbers_in(seen(page)) == [pytest.approx(100 * share, abs=1)]
    page.locator("course-lab").get_by_role("button", name="start again").click()
    page.get_by_role("button", name="with positions", exact=True).click()
    for word, key, reason in (
        ("", "", "“closed” comes just before"),
        ("paris, word 1", "ArrowRight", "makes no difference"),
        ("closed, word 7", "ArrowLeft", "no known verb"),
    ):
        if word:
            slider(page, word).press(key)
        assert reason in seen(page)


def test_a_real_head_gives_the_same_weights_wherever_its_text_is(opened):
    page, llama = opened("llama"), committed()["llama"]
    keys = unpacked(llama["keys"])
    rotary = solved("rope").RotaryEmbedding(2100, keys.shape[-1], llama["base"])
    for key, shift in (("", 0), ("PageUp", 10), ("End", 2000)):
        if key:
            slider(page, "Position of the first word").press(key)
        query = rotary(unpacked(llama["query"])[None], offset=shift + len(keys) - 1)
        weights = (rotary(keys, offset=shift) @ query[0] / keys.shape[-1] ** 0.5).softmax(-1)
        first, last, share, _, change = numbers_in(seen(page).replace(",", ""))
        assert (first, last, change) == (shift, shift + len(keys) - 1, 0)
        assert share == pytest.approx(100 * weights[llama["tokens"].index("Rome")].item(), abs=0.51)


def swipe(page, start, right, down):
    finger = page.context.new_cdp_session(page)
    for step in range(17):
        point = {"x": start[0] + right * step / 16, "y": start[1] + down * step / 16}
        kind = "touchMove" if step else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.parametrize(
    ("stem", "name", "right", "down"),
    [
        ("", "rang", 120, 0),
        ("permutation", "Position of dog", 120, 0),
        ("permutation", "Position of dog", 120, 60),
        ("rope", "The key", 120, -40),
        ("longer", "Length of the text", 100, 60),
    ],
)
def test_a_finger_moves_a_word_and_elsewhere_the_page(opened, tmp_path, stem, name, right, down):
    page = opened(stem or alone(tmp_path, "order"), viewport=PHONE, has_touch=True)
    held = page.locator(f'.lab [aria-label^="{name}"] .pill').first
    held.scroll_into_view_if_needed()
    seen(page)
    box, scrolled = held.bounding_box(), page.evaluate("scrollY")
    swipe(page, (box["x"] + box["width"] / 2, box["y"] + 15), right, down)
    seen(page)
    assert held.bounding_box()["x"] - box["x"] == pytest.approx(right, abs=30)
    assert page.evaluate("scrollY") == scrolled
    box = page.locator(".lab .seen").first.bounding_box()
    swipe(page, (box["x"] + 50, box["y"] + 10), 0, -80)
    page.wait_for_function("before => scrollY > before", arg=scrolled)


def test_the_scores_of_a_new_token_need_its_offset(opened, tmp_path):
    page = opened(alone(tmp_path, "cache"))
    slider(page, "The newest token").press("End")
    assert numbers_in(seen(page)) == [7, 7, 8]
    page.get_by_role("button", name="offset forgotten").click()
    right, wrong = (torch.tensor([rope_score(m, n) for n in range(8)]) for m in (7, 0))
    *_, most = numbers_in(seen(page))
    steps = page.locator(".lab text.wrong").all_text_contents()
    assert [int(step.replace("−", "-")) for step in steps] == [-n for n in range(8)]
    assert most == pytest.approx((right - wrong).abs().max().item(), abs=0.0051)


def test_a_window_counts_the_pairs_of_the_reference(opened, tmp_path):
    page, ids = opened(alone(tmp_path, "window")), torch.tensor([0, 1, 2, 0, 3, 2])
    for size in (1, 2):
        page.get_by_role("button", name=f"window {size}").click()
        slider(page, "The center").press("End")
        pairs = solved("skipgram").skipgram_pairs(ids, window=size)
        counts = torch.zeros(4, 4).index_put(pairs, torch.tensor(1.0), accumulate=True)
        shown = seen(page), page.locator(".lab .cell + text").all_text_contents()
        assert [float(count) for count in shown[1]] == counts.flatten().tolist()
        equal = "are equal" if torch.equal(counts[1], counts[3]) else "differ"
        assert numbers_in(shown[0]) == [len(pairs[0])] and equal in shown[0]


def test_the_front_page_swaps_two_words_and_the_blind_model_says_the_same(opened, tmp_path):
    watch = """window.told = [];
        setInterval(() => {
            const lab = document.querySelector("course-lab.ready");
            const bars = [...document.querySelectorAll("rect.grows")].map(one => one.style.width);
            const now = JSON.stringify([lab?.state.order, bars]);
            if (lab && told.at(-1) !== now) told.push(now);
        }, 20);"""
    page = opened(alone(tmp_path, "order"), reduced_motion="no-preference", watch=watch)
    page.wait_for_function("told.length === 3")
    page.wait_for_timeout(300)
    (home, bars), (swapped, same), back = map(json.loads, page.evaluate("told"))
    assert [n for n in home if home[n] != swapped[n]] == [1, 6]  # the verbs
    assert bars == same and back == [home, bars]
