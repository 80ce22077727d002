"""The figures: the data drawn is the data given, and everybody can read them."""

import gc
import io
import itertools
import math
import re
import weakref
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from course.core.schemes import SCHEMES
from course.publishing import figures
from course.publishing.figures import palette
from course.publishing.figures.charts import chart, curve, write_values
from course.publishing.figures.colormaps import AMOUNT, SIGNED
from course.publishing.figures.palette import SCALES
from course.publishing.figures.record import decoded, same
from course.publishing.figures.words import write
from solutions import longer, lookup, permutation, rope, sinusoidal

WORDS = ["the", "cat", "sat", "on", "the", "mat", "."]
VOCABULARY = sorted(set(WORDS))
IDS = torch.tensor([VOCABULARY.index(word) for word in WORDS])
PERM = torch.tensor([3, 0, 6, 1, 5, 2, 4])


draw = torch.Generator().manual_seed(0)
randn = partial(torch.randn, generator=draw)
unit = partial(torch.nn.functional.normalize, dim=-1)


WEIGHT = randn(6, 4)
GRADIENT = lookup.lookup_backward(randn(7, 5), IDS, vocab_size=9)
TOKENS, PLACES = randn(6, 8)[IDS].double(), randn(7, 8).double()
BEFORE = permutation.toy_attention(TOKENS[None])[0]
AFTER = permutation.causal_toy_attention(TOKENS[None][:, PERM])[0]
SCORES = TOKENS @ TOKENS.T
FORBIDDEN = torch.ones(7, 7).triu(1).bool()
CAUSAL = SCORES.masked_fill(FORBIDDEN, -math.inf).softmax(dim=-1)
ZEROS = torch.zeros(7, 7)
PE = sinusoidal.sinusoidal_encoding(64, 32)
FRESH = 0.02 * randn(64, 32)
QUERY = randn(16)
COS, SIN = rope.rope_tables(5, 16)
TURNED = rope.apply_rope(QUERY.expand(5, 16), COS, SIN)
ALIBI = rope.alibi_bias(4, 12)
FREQUENCIES = sinusoidal.inverse_frequencies(128).double()
YARN = longer.yarn_frequencies(128, 10000.0, 4.0, 4096).double()
FAR = randn(400)
BUCKETS = longer.relative_buckets(torch.arange(150))
LOSSES = [4.2, 3.1, 2.5, 2.4]
NOUNS = ["man", "woman", "king", "queen", "dog"]
VECTORS = randn(5, 10)
COSINES = torch.tensor([0.9, 0.4, -0.2])
MEETINGS = torch.tensor([1.0, 1.5, 1.0, 2.0, 5.0, 19.0, 20.0, 30.0])
PMI = torch.tensor([-2.0, 0.0, 1.0, -1.0, 0.0, 1.0, -3.0, 2.0])
PAIRS = {"few": (torch.arange(8.0), PMI, MEETINGS), "many": (2 * PMI, PMI, MEETINGS)}
SCHEMES_SCORES = {"none": SCORES, "RoPE": CAUSAL, "ALiBi": SCORES - 1, "learned": SCORES}


@dataclass
class Case:
    """A figure of small data.

    Attributes:
        given: what the function of this name is called with.
        told: what its alt text has to tell.
        data: numbers that it draws as images, lines and bars, in this order.
        scales: how many color scales its images have.
        options: and by keyword.
        words: what is written in it.
    """

    given: tuple
    told: list
    data: list = ()
    scales: int = 0
    options: dict = field(default_factory=dict)
    words: list = ()


SHIFTED = {"raw": (SCORES, SCORES + 0.5), "RoPE": (CAUSAL, CAUSAL - 1)}
SUMS = [TOKENS, PLACES, TOKENS + PLACES, [0, 4], [0, 4], [0, 4]]  # both times "the"
CASES = {
    "one_hot_times_table": Case(
        (WEIGHT, IDS, VOCABULARY),
        [7, 6, 4],
        [torch.nn.functional.one_hot(IDS, 6), WEIGHT, WEIGHT[IDS]],
        scales=2,
    ),
    "row_gradients": Case((GRADIENT,), [9, 5], [GRADIENT, GRADIENT.norm(dim=1)], scales=1),
    "shuffle_panels": Case(
        (BEFORE, AFTER, PERM, WORDS),
        [7, 8, f"{(AFTER - BEFORE[PERM]).abs().max():.2g}"],
        [BEFORE[PERM], AFTER, AFTER - BEFORE[PERM]],
        scales=1,
    ),
    "attention_weights": Case((CAUSAL, WORDS), [7, "21 of 49 are exactly zero"], [CAUSAL], 1),
    "token_position_sum": Case((TOKENS, PLACES, WORDS), [7, 8], SUMS, scales=1),
    "position_table": Case((PE, "sinusoidal"), [64, 32], [PE], scales=1, words=["sinusoidal"]),
    "wave_columns": Case((PE, [0, 1, 12]), [64, 32], [PE[:, 0], PE[:, 1], PE[:, 12]]),
    "clock_hands": Case(
        (PE, 23),
        [64, 32, 23],
        words=["position 23", "pair 0", "turn: 6.28 tokens", "turn: 35,333 tokens"],
    ),
    "dot_against_offset": Case(({"a": PE, "b": FRESH},), [64, 32]),
    "similarity_of_positions": Case(
        ({"fresh": FRESH, "sinusoidal": PE},),
        ["64 by 64", "sinusoidal"],
        [unit(FRESH) @ unit(FRESH).T, unit(PE) @ unit(PE).T],
        scales=1,
    ),
    "turned_pairs": Case((QUERY, TURNED, range(5)), [16]),
    "scores_under_shift": Case(
        (SHIFTED, 100),
        [7, 100, "raw 0.5 and RoPE 1"],
        [*SHIFTED["raw"], ZEROS + 0.5, *SHIFTED["RoPE"], ZEROS - 1],
        scales=2,
    ),
    "wavelengths": Case(
        ({"base": FREQUENCIES}, 4096), [64, "4,096"], [2 * math.pi / FREQUENCIES, [4096, 4096]]
    ),
    "alibi_heads": Case((ALIBI,), [4, 12], [ALIBI[0], ALIBI[3], *ALIBI[:, -1].flip(-1)], scales=1),
    "frequency_ratios": Case(
        (FREQUENCIES, {"a": FREQUENCIES / 4, "YaRN": YARN}),
        [64, "0.25", "YaRN"],
        [FREQUENCIES / FREQUENCIES / 4, YARN / FREQUENCIES],
    ),
    "score_by_distance": Case(({"a": FAR, "b": FAR - 1}, 100), [400, 100]),
    "bucket_of_distance": Case(({"rule": BUCKETS},), [149, "32 for rule"], [BUCKETS]),
    "losses_by_length": Case(
        ({"none": {8: 2.0, 16: 3.0}, "RoPE": {8: 1.5, 16: 1.75}}, 8),
        [8, 16, "1.75"],
        [[2.0, 3.0], [1.5, 1.75]],
    ),
    "loss_curve": Case(
        ({"a": LOSSES, "b": LOSSES[:2]},),
        [4, "nats per pair"],
        [LOSSES, LOSSES[:2], [4.159, 4.159]],
        options={"untrained": 4.159},
    ),
    "word_map": Case((VECTORS, NOUNS, {"king": "royal"}), [5, 10]),
    "word_maps": Case(({"a": VECTORS, "b": VECTORS[:, :4]}, NOUNS, {"king": "royal"}), [5]),
    "scores_against_pmi": Case(
        (PAIRS,),
        ["few", "many", 20],
        [scores[a:b] for scores, *_ in PAIRS.values() for a, b in ((0, 3), (3, 6), (6, 8))],
        words=["r = 1.00, 3 pairs", "no correlation, 2 pairs"],
    ),
    "analogy_arrows": Case(
        (VECTORS, NOUNS, "man", "king", "woman", "queen"),
        NOUNS[:4],
        words=["man", "king", "woman", "queen", "king − man + woman"],
    ),
    "neighbors_by_cosine": Case((COSINES, NOUNS[:3]), [3, "woman 0.40"], [COSINES]),
    "matrices": Case(
        (SCHEMES_SCORES, WORDS),
        ["7 by 7", "learned 1.2"],
        [*SCHEMES_SCORES.values()],
        scales=3,
        options={"change": {"none": 0.0, "learned": 1.25}},
        words=[*SCHEMES_SCORES, "change by a shift: 0", "change by a shift: 1.2"],
    ),
    "matrices on one scale": Case(
        ({"whole": SCORES, "last": SCORES[-1:]},),
        ["7 by 7", "1 by 7", "bias"],
        [SCORES, SCORES[-1:]],
        scales=1,
        options={"unit": "bias", "one_scale": True},
    ),
}


def drawn(name: str) -> figures.Picture:
    """The figure of a case."""
    case = CASES[name]
    return getattr(figures, name.partition(" ")[0])(*case.given, **case.options)


def with_bars(picture: Figure) -> list[Axes]:
    """All axes that show something, the color bars too."""
    shown = [axes for axes in picture.axes if axes.axison]
    return shown + [bar for axes in shown for bar in axes.child_axes]


def images(picture: Figure) -> list:
    return [image for axes in picture.axes for image in axes.images]


def data(picture: Figure) -> Iterator[np.ndarray]:
    """The numbers behind images, lines and bars; what is masked is zero."""
    yield from (np.ma.filled(image.get_array(), 0) for image in images(picture))
    for axes in picture.axes:
        yield from (np.asarray(line.get_ydata()) for line in axes.lines)
    for axes in picture.axes:
        yield np.array([getattr(bar, "get_width", float)() for bar in axes.patches])


def is_same(got: np.ndarray, want: object) -> bool:
    want = torch.as_tensor(want, dtype=torch.float64).numpy()
    # processors add in different orders: float32 may differ in its last bits
    return got.shape == want.shape and np.allclose(got, want, rtol=1e-6, atol=1e-7)


def words_beside(axis) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


def test_every_function_is_tried_here():
    assert {case.partition(" ")[0] for case in CASES} | {"Picture"} == set(dir(figures))


# --- what holds for every picture ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_picture_shows_its_data_and_everybody_can_read_it(name):
    case, picture = CASES[name], drawn(name)
    picture.draw_without_rendering()  # settles the layout
    numbers = data(picture)
    for place, want in enumerate(case.data):
        assert any(is_same(got, want) for got in numbers), f"number {place} is not drawn"
    assert len({image.get_clim() for image in images(picture)}) == case.scales
    for told in case.told:
        assert re.search(rf"\b{told}\b", picture.alt), picture.alt
    written = "\n\n".join(text.get_text() for text in picture.findobj(Text))
    assert all(word in written for word in case.words), written
    assert_axes_are_named(picture)
    assert_colors_have_a_meaning(picture)


def assert_axes_are_named(picture):
    assert any(axes.get_title() or axes.texts for axes in picture.axes)
    for axes in with_bars(picture):
        for text in (*axes.texts, axes.title, *axes.get_xticklabels()):
            assert text.get_fontsize() >= 9 or not text.get_text()
        for axis in (axes.xaxis, axes.yaxis):
            numbered = any(text.get_visible() and text.get_text() for text in axis.get_ticklabels())
            shares = axis.get_tick_params().get("labelleft") is False
            assert axis.label.get_text() or not numbered or shares, (axes.get_title(), axis)


def assert_colors_have_a_meaning(picture):
    for image in images(picture):
        low, high = image.get_clim()
        assert image.get_cmap() in (SIGNED, AMOUNT)
        assert low == (-high if image.get_cmap() == SIGNED else 0)
        assert np.abs(image.get_array()).max() <= high + 1e-6
    known = {*palette.ON_DARK, *palette.ON_DARK.values(), palette.DARK_CELL, palette.LIGHT_CELL}
    svg = picture.svg()
    assert {*re.findall(r"(?:fill|stroke): ?(#\w+)", svg)} <= known
    assert same(decoded(svg), picture.record) and "(prefers-color-scheme:dark)" in svg


def test_nothing_is_left_behind():
    picture = figures.position_table(PE)
    picture.draw_without_rendering()
    gone = weakref.ref(picture)
    del picture
    gc.collect()
    assert gone() is None
    assert plt.get_fignums() == []


def test_a_notebook_shows_the_image_with_its_alt_text(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *what, **how: shown.append((what, how)))
    picture = figures.neighbors_by_cosine([0.5], ['"<b>'])
    picture._ipython_display_()
    [((bundle,), how)] = shown
    assert how == {"raw": True}
    assert bundle["text/plain"] == picture.alt
    found = re.fullmatch(
        r"<style>[^<]+</style>"
        r'<img class="course-figure" src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)" '
        r'width="700" alt="[^"<]+">',
        bundle["text/html"],
    )
    assert b64decode(found[1]).startswith(b"<svg ")
    assert "&quot;&lt;b&gt; 0.50" in bundle["text/html"]


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "system"), [("light", "dark"), ("dark", "light")])
def test_a_notebook_shows_a_figure_in_its_own_theme(chromium, theme, system):
    """JupyterLab's theme is on the page; what the system prefers is another matter."""
    shown = drawn("neighbors_by_cosine")._repr_html_()
    page = chromium.new_page(color_scheme=system)
    light = "true" if theme == "light" else "false"
    page.set_content(f'<body data-jp-theme-light="{light}">{shown}</body>')
    figure = page.locator(".course-figure")
    figure.evaluate("one => one.decode()")
    with Image.open(io.BytesIO(figure.screenshot())) as image:
        ground = np.array(image.convert("RGB").getpixel((9, 9))) / 255
    page.close()
    want = palette.CARD if theme == "light" else palette.ON_DARK[palette.CARD]
    assert ground == pytest.approx(np.array(to_rgb(want)), abs=0.02)


# --- what a record tells -------------------------------------------------------------------------


def chart_record(change=lambda picture, axes: None):
    picture, axes = chart(3, "Finding", "Alt.", x="x", y="y")
    curve(axes, [0, 1, 2], [0.0, 1.0, 0.5], "name")
    write(axes, (1, 0.2), "word")
    axes.barh(["a", "b"], [1, 2])
    axes.fill_between([0, 1], [0, 0], [1, 1])
    axes.imshow([[0.0, 0.5], [1.0, 0.2]], vmin=0, vmax=1, aspect="auto")
    axes.set_xticks([0, 1, 2])
    change(picture, axes)
    return picture.record


@pytest.mark.parametrize(
    "change",
    [
        lambda picture, axes: picture.suptitle("Another"),
        lambda picture, axes: axes.set_xlabel("seconds"),
        lambda picture, axes: axes.set_xticks([0, 1.5, 2]),
        lambda picture, axes: axes.set_xlim(-1, 9),
        lambda picture, axes: axes.set_yticks([0, 1], ["a", "c"]),
        lambda picture, axes: axes.lines[0].set_color("red"),
        lambda picture, axes: axes.lines[0].set_ydata([0.0, 1.0, 0.6]),
        lambda picture, axes: axes.patches[1].set_width(1.9),
        lambda picture, axes: axes.texts[0].set_text("other"),
        lambda picture, axes: axes.texts[1].set_position((1, 0.3)),
        lambda picture, axes: axes.plot([0], [0]),
        lambda picture, axes: axes.images[0].set_data([[0.0, 0.5], [1.0, 0.21]]),
        lambda picture, axes: axes.collections[0].set_facecolor("red"),
    ],
)
def test_a_record_tells_words_colors_places_and_ticks(change):
    assert not same(chart_record(), chart_record(change))
    nearly = chart_record(lambda picture, axes: axes.lines[0].set_ydata([0.0, 1.0 + 1e-6, 0.5]))
    assert same(chart_record(), nearly)  # last bits are forgiven


@pytest.mark.parametrize("svg", ["", "<metadata>x</metadata>", "<metadata>eA==</metadata>"])
def test_what_holds_no_record_is_the_same_as_nothing(svg):
    assert decoded(svg) is None
    assert not same(decoded(svg), chart_record())


@pytest.mark.parametrize("name", SCALES)
def test_a_heatmap_has_an_image_for_each_page(name):
    """Where zero is pale on a light page it is dark on a dark one, with light words on it."""
    picture, axes = chart(3, "Finding", "Alt.")
    low = -1 if name == "signed" else 0
    image = axes.imshow(
        [[0, 1]], cmap={"signed": SIGNED, "amount": AMOUNT}[name], vmin=low, vmax=1, aspect="auto"
    )
    write_values(image, ".0f", cell=1)
    svg = picture.svg()
    pages = {}
    for page, png in re.findall(r'<image class="(\w+)" href="data:image/png;base64,([^"]+)"', svg):
        with Image.open(io.BytesIO(b64decode(png))) as found:
            rgb = np.array(found.convert("RGBA"))[..., :3]
        pages[page] = [to_hex(color / 255) for color in rgb.reshape(-1, 3)]
    for page, scale in zip(("light", "dark"), SCALES[name], strict=True):
        assert pages[page] == [scale[len(scale) // 2 if low else 0], scale[-1]]
    for words, cell in zip((palette.DARK_CELL, palette.LIGHT_CELL), (0, 1), strict=True):
        assert f"fill: {words}" in svg
        assert contrast(words, pages["light"][cell]) >= 4.5
        assert contrast(palette.ON_DARK[words], pages["dark"][cell]) >= 4.5


# --- what holds for one figure -------------------------------------------------------------------


def test_rows_have_their_words_and_numbers_are_written_where_they_fit():
    left, _, table, *_ = drawn("one_hot_times_table").axes
    assert words_beside(left.yaxis) == WORDS
    assert words_beside(table.yaxis) == VOCABULARY
    marked = figures.one_hot_times_table(WEIGHT, [4, 0, 4])
    [marks] = [line for axes in marked.axes for line in axes.lines]
    assert list(marks.get_ydata()) == [0, 4]
    assert words_beside(drawn("shuffle_panels").axes[0].yaxis) == [WORDS[place] for place in PERM]
    for numbers, written in (
        ([[1.0, 2.0], [3.0, 4.0]], ["1", "2", "3", "4"]),
        (torch.ones(60, 40), []),
    ):
        axes = figures.one_hot_times_table(numbers, [1]).axes[2]
        assert [text.get_text() for text in axes.texts] == written


def test_what_a_mask_forbids_is_blank_and_has_not_changed():
    [weights] = images(drawn("attention_weights"))
    assert weights.get_array().mask.sum() == 21
    masked = SCORES.masked_fill(FORBIDDEN, -math.inf)
    picture = figures.scores_under_shift({"masked": (masked, masked + 0.5)}, 10)
    assert picture.axes[2].get_title().endswith("largest 0.5")
    early, late, change = images(picture)
    assert early.get_array().mask.sum() == late.get_array().mask.sum() == 21
    np.testing.assert_allclose(change.get_array(), torch.full((7, 7), 0.5).tril(), atol=1e-6)
    assert early.get_clim()[1] == pytest.approx((SCORES.tril() + 0.5).abs().max().item())


def hands_of(picture):
    """The tips of the hands of each clock, in radii from its center, to the right and up."""
    [axes] = picture.axes
    for dial in axes.patches:
        lines = [one.get_xydata() for one in axes.lines if len(one.get_xdata()) == 2]
        own = [(start, end) for start, end in lines if tuple(start) == pytest.approx(dial.center)]
        yield [(end - start) / dial.radius * (1, -1) for start, end in own]


def test_hands_of_clocks_and_of_turned_pairs():
    pairs = (0, 2, 4, 6, 9, 11, 13, 15)
    for hands, pair in zip(hands_of(drawn("clock_hands")), pairs, strict=True):
        sine, cosine = PE[23, 2 * pair : 2 * pair + 2].tolist()
        assert tuple(hands[-1]) == pytest.approx((cosine, sine), abs=1e-5)
        assert len(hands) == 7
    for hands, pair in zip(hands_of(drawn("turned_pairs")), (0, 2, 5, 7), strict=True):
        for tip, row in zip(hands, (QUERY, *TURNED), strict=True):
            want = row[[pair, 8 + pair]] / QUERY[[pair, 8 + pair]].norm()
            assert tuple(tip) == pytest.approx(want.tolist(), abs=1e-5)


def test_dot_against_offset():
    axes = drawn("dot_against_offset").axes[0]
    for line, band, table in zip(axes.lines, axes.collections, (PE, FRESH), strict=False):
        table = table.double()
        for k in (0, 1, 10, 32):
            products = (table[:32] * table[k : 32 + k]).sum(dim=1)
            products = products / table[:32].square().sum(dim=1).mean()
            assert line.get_ydata()[k] == pytest.approx(products.mean().item())
            edges = [y for x, y in band.get_paths()[0].vertices if x == k]
            assert min(edges) == pytest.approx(products.min().item())
            assert max(edges) == pytest.approx(products.max().item())
    axes = figures.dot_against_offset({"x": PE}, anchors=[3]).axes[0]
    assert is_same(axes.lines[0].get_ydata(), (PE[3:].double() @ PE[3].double()) / 16)


def test_scores_at_each_distance_and_their_means():
    thin, thick, *_, trained_on = drawn("score_by_distance").axes[0].lines
    places = thin.get_xdata()
    assert (places[0], places[-1]) == (1, 400)
    assert is_same(thin.get_ydata(), FAR[places - 1])
    at_60 = list(places).index(60)
    assert thick.get_ydata()[at_60] == pytest.approx(FAR[49:70].double().mean().item())
    assert set(trained_on.get_xdata()) == {100}


@pytest.mark.parametrize(
    "draw",
    [
        lambda names: figures.loss_curve({name: [2.0, 1.0] for name in names}),
        lambda names: figures.losses_by_length({name: {8: 2.0, 16: 3.0} for name in names}, 8),
    ],
    ids=["loss_curve", "losses_by_length"],
)
def test_a_scheme_looks_the_same_in_every_figure_and_like_no_other(draw):
    def styles(names):
        lines = {one.get_label(): one for one in draw(names).axes[0].lines}
        return {name: (lines[name].get_color(), lines[name].get_marker()) for name in names}

    names = [*SCHEMES, "rope, ntk", "rope, yarn 4"]
    whole = styles(names)
    assert len(set(whole.values())) == len(names)
    colors = {color for color, _ in whole.values()}
    assert len(colors) >= min(len(SCHEMES), len(palette.SERIES))
    assert whole["rope, ntk"][0] == whole["rope, yarn 4"][0] == whole["rope"][0]
    for few in (["rope, yarn 4", "alibi"], ["rnope"]):
        assert styles(few) == {name: whole[name] for name in few}


SEEN_AS = {  # linear RGB -> linear RGB; Machado et al. (2009), severity 1
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("page", ["light", "dark"])
@pytest.mark.parametrize("reader", SEEN_AS)
def test_colors_stay_apart_for_every_reader(reader, page):
    """Two colors differ by 2.3 in CIELAB when one just sees it; here by 12 or more."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    places = []
    for color in palette.SERIES:
        linear = linear_rgb(color if page == "light" else palette.ON_DARK[color])
        xyz = to_xyz @ (SEEN_AS[reader] @ linear).clip(0, 1) / to_xyz.sum(1)
        x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        places.append(np.array([116 * y, 500 * (x - y), 200 * (y - z)]))
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2)) > 12


@pytest.mark.parametrize("color", palette.SERIES)
def test_words_in_every_color_can_be_read_on_light_and_dark_pages(color):
    """WCAG asks for a contrast of 4.5 to 1."""
    dark, tint = palette.ON_DARK[color], palette.TINTS[color]
    assert contrast(color, palette.CARD) >= 4.5
    assert contrast(dark, palette.ON_DARK[palette.CARD]) >= 4.5
    assert contrast(palette.INK, tint) >= 4.5
    assert contrast(palette.ON_DARK[palette.INK], palette.ON_DARK[tint]) >= 4.5


def linear_rgb(color):
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(
        0.05 + linear_rgb(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other)
    )
    return high / low


def test_word_map_keeps_distances_that_two_dimensions_can_hold():
    flat = torch.tensor([[0.0, 0], [3, 0], [0, 4], [5, 5]]) @ torch.linalg.qr(randn(6, 6))[0][:2]
    picture = figures.word_map(flat, list("abcd"), {"a": "first", "b": "first"})
    grouped, others = picture.axes[0].lines
    points = np.vstack([line.get_xydata() for line in (grouped, others)])
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    np.testing.assert_allclose(distances, torch.cdist(flat, flat), atol=1e-5)
    assert picture.alt.endswith("hold 100% of the variance.")
    assert grouped.get_marker() != others.get_marker()
    named = {text.get_text(): text.xy for text in picture.axes[0].texts}
    for word, point in zip("abcd", points, strict=True):
        np.testing.assert_allclose(named[word], point)


def test_two_maps_of_the_same_words_are_turned_alike_and_on_one_scale():
    """A table that is the other one, only turned, longer and mirrored, has the same map."""
    table = torch.nn.functional.normalize(randn(5, 2))
    other = 3 * table.flip(1) @ torch.linalg.qr(randn(6, 6))[0][:2]
    picture = figures.word_maps({"one": table, "other": other}, list("abcde"), {"a": "first"})
    maps = [np.vstack([line.get_xydata() for line in axes.lines]) for axes in picture.axes]
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-6)
    left, right = picture.axes
    assert (left.get_xlim(), left.get_ylim()) == (right.get_xlim(), right.get_ylim())
    assert left.get_aspect() == right.get_aspect() == 1
    low, high = np.array([left.get_xlim(), left.get_ylim()]).T
    assert (low < maps[0].min(axis=0)).all() and (maps[0].max(axis=0) < high).all()


def test_correlations_are_those_of_all_pairs_of_which_few_are_drawn():
    crowd = torch.arange(4000.0)
    many = figures.scores_against_pmi({"many": (crowd, crowd, 1 + 0 * crowd)})
    assert len(many.axes[0].lines[0].get_xdata()) == 200
    assert "4,000 pairs" in many.axes[0].get_title()


def test_analogy_arrows():
    four = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [1, 1, 1]])
    axes = figures.analogy_arrows(four, NOUNS, "man", "king", "woman", "queen").axes[0]
    cross = axes.lines[-1].get_xydata()[0]
    first, second, third, _ = axes.lines[-2].get_xydata()
    np.testing.assert_allclose(cross, second - first + third, atol=1e-12)
    first_arrow = axes.texts[0]
    np.testing.assert_allclose((first_arrow.xyann, first_arrow.xy), (first, second))


def test_the_nearest_word_stands_on_top_and_a_negative_cosine_is_seen():
    axes = drawn("neighbors_by_cosine").axes[0]
    assert words_beside(axes.yaxis) == NOUNS[:3]
    low, high = axes.get_ylim()
    assert low > high and axes.get_xlim()[0] < -0.2


@pytest.mark.filterwarnings("error")
def test_the_smallest_data_of_any_dtype_can_be_drawn():
    one = torch.ones(1, 1)
    for picture in (
        figures.dot_against_offset({"zero": 0 * one}),
        figures.loss_curve([1.0]),
        figures.matrices({"a": one}, one_scale=True),
        figures.word_map(one, ["a"]),
    ):
        picture.draw_without_rendering()
    [image] = images(figures.similarity_of_positions({"a": [[0.0, 0.0], [3.0, 0.0]]}))
    assert image.get_array().tolist() == [[0, 0], [0, 1]]  # zeros are like nothing
    assert image.get_clim() == (-1, 1)
    for dtype in (torch.bfloat16, torch.float64):
        table = torch.nn.Parameter(torch.tensor([[1.0, -2.0]], dtype=dtype))
        [image] = images(figures.position_table(table, "learned"))
        assert is_same(image.get_array(), table.detach())


# --- bad input -----------------------------------------------------------------------------------

BAD = {
    "ids beyond the table": (lambda: figures.one_hot_times_table(WEIGHT, [6]), "0..5.*6"),
    "too few words": (lambda: figures.one_hot_times_table(WEIGHT, IDS, ["a"]), r"\(V,\) = \(6,\)"),
    "a batch for a table": (lambda: figures.position_table(PE[None]), r"\(T, C\).*\(1, 64, 32\)"),
    "an empty table": (lambda: figures.position_table(PE[:0]), r"none of them 0; got \(0, 32\)"),
    "no permutation": (lambda: figures.shuffle_panels(BEFORE, AFTER, PERM * 0, WORDS), "once"),
    "scores for weights": (lambda: figures.attention_weights(-CAUSAL, WORDS), "not be negative"),
    "a column too far": (lambda: figures.wave_columns(PE, [32]), "0..31.*32"),
    "no columns": (lambda: figures.wave_columns(PE, []), "columns"),
    "an odd width": (lambda: figures.clock_hands(PE[:, :3], 0), "even.*3"),
    "a position too far": (lambda: figures.clock_hands(PE, 64), "0..63.*64"),
    "an anchor too far": (lambda: figures.dot_against_offset({"x": PE}, [64]), "0..63.*64"),
    "an odd head": (lambda: figures.turned_pairs(QUERY[:5], TURNED[:, :5], range(5)), "even.*5"),
    "a frequency of zero": (lambda: figures.wavelengths({"x": torch.zeros(3)}), "above 0"),
    "a trained frequency of zero": (lambda: figures.frequency_ratios([0.0], {"a": [1]}), "above 0"),
    "one map": (lambda: figures.word_maps({"a": VECTORS}, NOUNS), "two tables; got 1"),
    "an unknown word": (lambda: figures.analogy_arrows(VECTORS, NOUNS, *NOUNS[:3], "cat"), "'cat'"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_in_a_sentence(what):
    call, sentence = BAD[what]
    with pytest.raises(ValueError, match=sentence) as refused:
        call()
    assert "\n" not in str(refused.value)
