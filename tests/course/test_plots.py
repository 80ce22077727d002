"""The figures: the data drawn is the data given, and everybody can read them."""

import gc
import io
import itertools
import math
import re
import weakref
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from course import ROOT, plots
from course.plots import drawing
from course.plots.parts import COLORS, SCHEMES
from course.plots.record import decoded, same
from course.testing.executor import load_module

WORDS = ["the", "cat", "sat", "on", "the", "mat", "."]
VOCABULARY = sorted(set(WORDS))
IDS = torch.tensor([VOCABULARY.index(word) for word in WORDS])
PERM = torch.tensor([3, 0, 6, 1, 5, 2, 4])
LARGEST_FILE = 150_000  # bytes


def solution(lesson: str):
    return load_module(ROOT / "solutions" / f"{lesson}.py")


lookup, permutation, sinusoidal = map(solution, ("lookup", "permutation", "sinusoidal"))
rope, skipgram, longer = map(solution, ("rope", "skipgram", "longer"))

draw = torch.Generator().manual_seed(0)


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=draw)


WEIGHT = randn(6, 4)
GRADIENT = lookup.lookup_backward(randn(7, 5), IDS, vocab_size=9)
TOKENS, PLACES = randn(6, 8)[IDS], randn(7, 8)
BEFORE = permutation.toy_attention(TOKENS[None])[0]
AFTER = permutation.causal_toy_attention(TOKENS[None][:, PERM])[0]
SCORES = TOKENS @ TOKENS.T
CAUSAL = SCORES.masked_fill(torch.ones(7, 7).triu(1).bool(), -math.inf).softmax(dim=-1)
PE = sinusoidal.sinusoidal_encoding(64, 32)
FRESH = 0.02 * randn(64, 32)
QUERY = randn(16)
COS, SIN = rope.rope_tables(5, 16)
TURNED = rope.apply_rope(QUERY.expand(5, 16), COS, SIN)
ALIBI = rope.alibi_bias(4, 12)
FREQUENCIES = sinusoidal.inverse_frequencies(128)
YARN = longer.yarn_frequencies(128, 10000.0, 4.0, 4096)
FAR = randn(400)
BUCKETS = longer.relative_buckets(torch.arange(150))
LOSSES = [4.2, 3.1, 2.5, 2.4]
NOUNS = ["man", "woman", "king", "queen", "dog"]
VECTORS = randn(5, 10)
COSINES = torch.tensor([0.9, 0.4, -0.2])
MEETINGS = torch.tensor([1.0, 1.5, 1.0, 2.0, 5.0, 19.0, 20.0, 30.0])
PMI = torch.tensor([-2.0, 0.0, 1.0, -1.0, 0.0, 1.0, -3.0, 2.0])
PAIRS = {"few": (torch.arange(8.0), PMI, MEETINGS), "many": (2 * PMI, PMI, MEETINGS)}

PICTURES = {
    "one_hot_times_table": (lambda: plots.one_hot_times_table(WEIGHT, IDS, VOCABULARY), [7, 6, 4]),
    "row_gradients": (lambda: plots.row_gradients(GRADIENT), [9, 5]),
    "shuffle_panels": (lambda: plots.shuffle_panels(BEFORE, AFTER, PERM, WORDS), [7, 8]),
    "attention_weights": (lambda: plots.attention_weights(CAUSAL, WORDS), [7]),
    "token_position_sum": (lambda: plots.token_position_sum(TOKENS, PLACES, WORDS), [7, 8]),
    "position_table": (lambda: plots.position_table(PE, "sinusoidal"), [64, 32]),
    "wave_columns": (lambda: plots.wave_columns(PE, [0, 1, 12]), [64, 32]),
    "clock_hands": (lambda: plots.clock_hands(PE, 23), [64, 32, 23]),
    "dot_against_offset": (lambda: plots.dot_against_offset({"a": PE, "b": FRESH}), [64, 32]),
    "similarity_of_positions": (lambda: plots.similarity_of_positions(PE), [64, 32]),
    "turned_pairs": (lambda: plots.turned_pairs(QUERY, TURNED, range(5)), [16]),
    "scores_under_shift": (lambda: plots.scores_under_shift(SCORES, SCORES + 0.5, 100), [7, 100]),
    "raw_and_projected": (
        lambda: plots.raw_and_projected({"raw": (SCORES, SCORES), "RoPE": (CAUSAL, CAUSAL - 1)}),
        [7],
    ),
    "wavelengths": (lambda: plots.wavelengths({"base": FREQUENCIES}, context=4096), [64, "4,096"]),
    "alibi_heads": (lambda: plots.alibi_heads(ALIBI), [4, 12]),
    "frequency_ratios": (
        lambda: plots.frequency_ratios(FREQUENCIES, {"a": FREQUENCIES / 4, "YaRN": YARN}),
        [64, "0.25", "YaRN"],
    ),
    "score_by_distance": (
        lambda: plots.score_by_distance({"a": FAR, "b": FAR - 1}, trained_on=100),
        [400, 100],
    ),
    "bucket_of_distance": (
        lambda: plots.bucket_of_distance({"rule": BUCKETS}),
        [149, "32 for rule"],
    ),
    "matrices_on_one_scale": (
        lambda: plots.matrices_on_one_scale({"whole": SCORES, "last": SCORES[-1:]}, unit="bias"),
        ["7 by 7", "1 by 7", "bias"],
    ),
    "losses_by_length": (
        lambda: plots.losses_by_length({"none": {8: 2.0, 16: 3.0}, "RoPE": {8: 1.5, 16: 1.75}}, 8),
        [8, 16, "1.75"],
    ),
    "loss_curve": (lambda: plots.loss_curve(LOSSES, untrained=4.159), [4]),
    "word_map": (lambda: plots.word_map(VECTORS, NOUNS, {"king": "royal"}), [5, 10]),
    "word_maps": (
        lambda: plots.word_maps({"a": VECTORS, "b": VECTORS[:, :4]}, NOUNS, {"king": "royal"}),
        [5],
    ),
    "scores_against_pmi": (lambda: plots.scores_against_pmi(PAIRS), ["few", "many", 20]),
    "analogy_arrows": (
        lambda: plots.analogy_arrows(VECTORS, NOUNS, "man", "king", "woman", "queen"),
        ["man", "king", "woman", "queen"],
    ),
    "neighbors_by_cosine": (lambda: plots.neighbors_by_cosine(COSINES, NOUNS[:3]), [3]),
    "schemes_side_by_side": (
        lambda: plots.schemes_side_by_side(
            {"none": SCORES, "RoPE": CAUSAL, "ALiBi": SCORES - 1, "learned": SCORES},
            WORDS,
            {"none": 0.0, "learned": 1.25},
        ),
        [7, "learned 1.2"],
    ),
    "learned_against_formula": (lambda: plots.learned_against_formula(FRESH, PE), [64, 32]),
}
"""Name -> how to draw it from small data, and what its alt text has to tell."""

each = pytest.mark.parametrize("name", PICTURES, scope="module")  # so one picture after another


@pytest.fixture(scope="module")
def picture_of():
    """Draw each picture once, as a notebook does: the layout is settled when it is encoded."""
    drawn = {}

    def picture(name: str) -> plots.Picture:
        if name not in drawn:
            drawn[name] = PICTURES[name][0]()
            drawn[name].data = drawn[name].png()
        return drawn[name]

    return picture


def with_bars(picture: Figure) -> list[Axes]:
    """All axes that show something, the color bars too."""
    shown = [axes for axes in picture.axes if axes.axison]
    return shown + [bar for axes in shown for bar in axes.child_axes]


def images(picture: Figure) -> list[np.ndarray]:
    """The values behind each heatmap, in order; what is masked is zero."""
    return [np.ma.filled(image.get_array(), 0) for axes in picture.axes for image in axes.images]


def assert_drawn(picture: Figure, *wanted: torch.Tensor) -> None:
    for got, want in zip(images(picture), wanted, strict=True):
        # processors add in different orders: float32 may differ in its last bits
        np.testing.assert_allclose(got, want.double().numpy(), rtol=1e-6, atol=1e-12)


def words_beside(axis) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


def test_every_function_is_tried_here():
    assert {*PICTURES, "Picture"} == set(plots.__all__)


# --- what holds for every picture ----------------------------------------------------------------


@each
def test_what_counts_something_says_what(name, picture_of):
    for axes in with_bars(picture_of(name)):
        for axis in (axes.xaxis, axes.yaxis):
            numbered = any(text.get_visible() and text.get_text() for text in axis.get_ticklabels())
            shares = axis.get_tick_params().get("labelleft") is False
            assert axis.label.get_text() or not numbered or shares, (axes.get_title(), axis)


@each
def test_there_is_a_title_and_text_is_legible(name, picture_of):
    assert any(axes.get_title() for axes in picture_of(name).axes)
    axes = with_bars(picture_of(name))
    texts = [text for one in axes for text in (*one.texts, one.title, *one.get_xticklabels())]
    assert min(text.get_fontsize() for text in texts if text.get_text()) >= 9


@each
def test_colors_have_a_meaning_that_does_not_move(name, picture_of):
    for axes in picture_of(name).axes:
        for image in axes.images:
            low, high = image.get_clim()
            assert image.get_cmap().name in ("coolwarm", "viridis")
            assert low == (-high if image.get_cmap().name == "coolwarm" else 0)
            assert np.abs(image.get_array()).max() <= high + 1e-6


@each
def test_the_image_is_sharp_and_small_and_told_with_its_sizes(name, picture_of):
    for told in PICTURES[name][1]:
        assert re.search(rf"\b{told}\b", picture_of(name).alt), picture_of(name).alt
    data = picture_of(name).data
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "PNG"
        assert image.width == 1400
        corner = image.convert("RGB").getpixel((1, 1))
    assert min(corner) > 250  # white, on a dark page too
    assert len(data) < LARGEST_FILE


@each
def test_the_svg_of_a_text_is_small_calls_nobody_and_keeps_the_record(name, picture_of):
    picture = PICTURES[name][0]()
    svg = picture.svg()
    assert len(svg) < 100_000
    assert "<text" not in svg  # letters are paths: no font is asked for
    addresses = set(re.findall(r"\w+://[^\"<\s]+", svg))
    assert addresses == {"http://www.w3.org/2000/svg"}
    root = ElementTree.fromstring(svg)
    assert root.findtext("{http://www.w3.org/2000/svg}title") == picture_of(name).alt
    kept = decoded(svg)
    assert same(kept, PICTURES[name][0]().record)
    assert same(picture.record, kept)
    assert all(np.isfinite(numbers).all() for _, numbers in kept)


@pytest.mark.parametrize("name", ["one_hot_times_table", "wave_columns", "neighbors_by_cosine"])
def test_a_record_forgives_last_bits_and_no_other_number(name):
    draw_from = {
        "one_hot_times_table": (WEIGHT, lambda table: plots.one_hot_times_table(table, IDS)),
        "wave_columns": (PE, lambda table: plots.wave_columns(table, [0, 1])),
        "neighbors_by_cosine": (COSINES, lambda line: plots.neighbors_by_cosine(line, NOUNS[:3])),
    }
    values, make = draw_from[name]
    right = make(values).record
    assert same(right, make(values * (1 + 1e-6)).record)
    other = values.clone()
    other[0] = 0.9 * other[0] + 0.05
    assert not same(right, make(other).record)


def test_a_record_tells_words_colors_places_and_ticks():
    def record(change=lambda picture, axes: None):
        picture, axes = drawing.chart(3, "Finding", "Alt.", x="x", y="y")
        drawing.curve(axes, [0, 1, 2], [0.0, 1.0, 0.5], "name")
        drawing.write(axes, (1, 0.2), "word")
        axes.barh(["a", "b"], [1, 2])
        axes.set_xticks([0, 1, 2])
        change(picture, axes)
        return picture.record

    changes = [
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
    ]
    assert same(record(), record())
    assert [same(record(), record(change)) for change in changes] == [False] * len(changes)


@pytest.mark.parametrize(
    "svg", ["", "<svg/>", "<metadata>x</metadata>", "<metadata>eA==</metadata>"]
)
def test_what_holds_no_record_is_the_same_as_nothing(svg):
    assert decoded(svg) is None
    assert not same(decoded(svg), plots.loss_curve([1.0]).record)


def test_a_dark_page_gets_other_colors_for_words_and_the_same_for_data():
    svg = PICTURES["attention_weights"][0]().svg()
    style = svg.partition("(prefers-color-scheme:dark)")[2].partition("</style>")[0]
    assert "svg{fill:#e8ecf1}" in style
    assert '[style*="fill: #ffffff"]{fill:#1b2027!important}' in style
    for written in ("#fdfdfd", "#111111"):  # on cells
        assert f"fill: {written}" in svg
        assert written not in style


def test_a_title_is_broken_into_lines_of_like_length():
    assert drawing._lines("Short") == ["Short"]
    first, second = drawing._lines("One sentence that is somewhat longer than a page is wide, alas")
    assert abs(len(first) - len(second)) < 8


def test_a_large_table_is_small_enough():
    table = sinusoidal.sinusoidal_encoding(256, 384)
    assert len(plots.position_table(table).png()) < LARGEST_FILE


def test_nothing_is_left_behind():
    picture = plots.position_table(PE)
    picture.png()
    gone = weakref.ref(picture)
    del picture
    gc.collect()
    assert gone() is None
    assert plt.get_fignums() == []


def test_a_notebook_shows_the_image_with_its_alt_text(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *what, **how: shown.append((what, how)))
    picture = plots.neighbors_by_cosine([0.5], ['"<b>'])
    picture._ipython_display_()
    [((bundle,), how)] = shown
    assert how == {"raw": True}
    assert bundle["text/plain"] == picture.alt
    assert re.fullmatch(
        r'<img src="data:image/png;base64,[A-Za-z0-9+/=]+" width="700" alt="[^"<]+">',
        bundle["text/html"],
    )
    assert "&quot;&lt;b&gt; 0.50" in bundle["text/html"]


# --- the data drawn is the data given ------------------------------------------------------------


def test_one_hot_times_table(picture_of):
    picture = picture_of("one_hot_times_table")
    one_hot = torch.nn.functional.one_hot(IDS, 6)
    assert_drawn(picture, one_hot, WEIGHT, WEIGHT[IDS])
    left, table = (axes for axes in picture.axes[:3] if axes.images)
    assert words_beside(left.yaxis) == WORDS
    assert words_beside(table.yaxis) == VOCABULARY
    marked = plots.one_hot_times_table(WEIGHT, [4, 0, 4])
    [marks] = [line for axes in marked.axes for line in axes.lines]
    assert list(marks.get_ydata()) == [0, 4]


def test_numbers_are_written_where_they_fit():
    def written(table):
        axes = plots.one_hot_times_table(table, [1]).axes[2]
        return [text.get_text() for text in axes.texts]

    assert written([[1.0, 2.0], [3.0, 4.0]]) == ["1", "2", "3", "4"]
    assert written(torch.ones(60, 40)) == []


def test_row_gradients(picture_of):
    picture = picture_of("row_gradients")
    assert_drawn(picture, GRADIENT)
    bars = [bar.get_width() for bar in picture.axes[0].patches]
    assert bars == pytest.approx(GRADIENT.norm(dim=1).tolist())
    assert picture.axes[0].get_title() == "3 of 9 rows are zero"


def test_shuffle_panels(picture_of):
    picture = picture_of("shuffle_panels")
    shuffled = BEFORE[PERM].double()
    assert_drawn(picture, shuffled, AFTER, AFTER.double() - shuffled)
    assert words_beside(picture.axes[0].yaxis) == [WORDS[place] for place in PERM]
    assert len({image.get_clim() for axes in picture.axes for image in axes.images}) == 1
    assert f"{(AFTER - shuffled).abs().max():.2g}" in picture.axes[2].get_title()


def test_attention_weights(picture_of):
    picture = picture_of("attention_weights")
    assert_drawn(picture, CAUSAL)
    [image] = picture.axes[0].images
    assert image.get_array().mask.sum() == 21  # what the causal mask forbids
    assert "21 of 49 are exactly zero" in picture.alt
    texts = picture.axes[0].texts
    assert [text.get_text() for text in texts[:3]] == [
        "1.00",
        f"{CAUSAL[1, 0]:.2f}",
        f"{CAUSAL[1, 1]:.2f}",
    ]


def test_token_position_sum(picture_of):
    picture = picture_of("token_position_sum")
    assert_drawn(picture, TOKENS, PLACES, TOKENS.double() + PLACES.double())
    marked = [list(line.get_ydata()) for axes in picture.axes for line in axes.lines]
    assert marked == [[0, 4]] * 3  # both times "the", in each panel
    assert len({image.get_clim() for axes in picture.axes for image in axes.images}) == 1


def test_wave_columns(picture_of):
    lines = picture_of("wave_columns").axes[0].lines
    for line, column in zip(lines, (0, 1, 12), strict=True):
        np.testing.assert_allclose(line.get_ydata(), PE[:, column])
    for name in ("color", "linestyle", "marker"):
        assert len({getattr(line, f"get_{name}")() for line in lines}) == 3


def test_clock_hands(picture_of):
    faces = picture_of("clock_hands").axes
    pairs = (0, 2, 4, 6, 9, 11, 13, 15)
    assert [face.get_title() for face in faces] == [f"pair {pair}" for pair in pairs]
    for face, pair in ((faces[0], 0), (faces[-1], 15)):
        sine, cosine = PE[23, 2 * pair : 2 * pair + 2].tolist()
        tip = face.lines[-1]
        assert (*tip.get_xdata(), *tip.get_ydata()) == pytest.approx((sine, cosine))
    assert faces[0].get_xlabel() == "turn: 6.3 tokens"
    assert faces[-1].get_xlabel() == "turn: 35,333 tokens"
    [first] = plots.clock_hands(PE[:, :2], 0).axes
    *hours, hand, tip = first.lines
    assert len(hours) == 12  # and no trace of earlier positions
    assert (list(hand.get_ydata()), list(tip.get_xdata())) == ([0, 1], [0])


def test_dot_against_offset(picture_of):
    axes = picture_of("dot_against_offset").axes[0]
    for line, band, table in zip(axes.lines, axes.collections, (PE, FRESH), strict=False):
        table = table.double()
        for k in (0, 1, 10, 32):
            products = (table[:32] * table[k : 32 + k]).sum(dim=1)
            products = products / table[:32].square().sum(dim=1).mean()
            assert line.get_ydata()[k] == pytest.approx(products.mean().item())
            edges = [y for x, y in band.get_paths()[0].vertices if x == k]
            assert min(edges) == pytest.approx(products.min().item())
            assert max(edges) == pytest.approx(products.max().item())
    sines, fresh = (np.ptp(band.get_paths()[0].vertices[:, 1]) for band in axes.collections)
    assert sines == pytest.approx(np.ptp(axes.lines[0].get_ydata()), abs=1e-5)  # it is relative
    assert fresh > 1


def test_anchors_can_be_chosen():
    axes = plots.dot_against_offset({"x": PE}, anchors=[3]).axes[0]
    want = (PE[3:].double() @ PE[3].double()) / 16
    np.testing.assert_allclose(axes.lines[0].get_ydata(), want, rtol=1e-6)


def test_similarity_of_positions(picture_of):
    unit = torch.nn.functional.normalize(PE.double())
    assert_drawn(picture_of("similarity_of_positions"), unit @ unit.T)
    [image] = picture_of("similarity_of_positions").axes[0].images
    assert image.get_clim() == (-1, 1)
    [values] = images(plots.similarity_of_positions([[0.0, 0.0], [3.0, 0.0]]))
    assert values.tolist() == [[0, 0], [0, 1]]  # a row of zeros is like nothing


def test_turned_pairs(picture_of):
    planes = picture_of("turned_pairs").axes
    assert [plane.get_title() for plane in planes] == ["pair 0", "pair 2", "pair 5", "pair 7"]
    for plane, pair in zip(planes, (0, 2, 5, 7), strict=True):
        arrows = plane.lines[:6]
        for arrow, row in zip(arrows, (QUERY, *TURNED), strict=True):
            tip = (arrow.get_xdata()[1], arrow.get_ydata()[1])
            assert tip == pytest.approx((row[pair].item(), row[8 + pair].item()))


def test_scores_under_shift(picture_of):
    picture = picture_of("scores_under_shift")
    assert_drawn(picture, SCORES, SCORES + 0.5, torch.full((7, 7), 0.5))
    assert len({image.get_clim() for axes in picture.axes for image in axes.images}) == 1
    assert picture.axes[2].get_title().endswith("largest 0.5")
    assert words_beside(picture.axes[1].xaxis)[-1].startswith("10")  # positions from 100


def test_raw_and_projected(picture_of):
    picture = picture_of("raw_and_projected")
    zeros = torch.zeros(7, 7)
    assert_drawn(picture, SCORES, SCORES, zeros, CAUSAL, CAUSAL - 1, zeros - 1)
    limits = [axes.images[0].get_clim() for axes in picture.axes]
    assert len(set(limits[:3])) == len(set(limits[3:])) == 1
    assert [axes.get_title() for axes in picture.axes[2::3]] == [
        "change: largest 0",
        "change: largest 1",
    ]
    assert "raw 0 and RoPE 1" in picture.alt


def test_wavelengths(picture_of):
    axes = picture_of("wavelengths").axes[0]
    curve, context = axes.lines
    np.testing.assert_allclose(curve.get_ydata(), 2 * math.pi / FREQUENCIES.numpy())
    assert set(context.get_ydata()) == {4096}
    assert axes.get_yscale() == "log"


def test_alibi_heads(picture_of):
    lines, first, last = picture_of("alibi_heads").axes
    for line, head in zip(lines.lines, ALIBI, strict=True):
        np.testing.assert_allclose(line.get_ydata(), head[-1].flip(0))
    assert (first.get_title(), last.get_title()) == ("head 1", "head 4")
    assert_drawn(picture_of("alibi_heads"), ALIBI[0], ALIBI[3])
    assert_drawn(plots.alibi_heads(ALIBI[:1]), ALIBI[0])  # a single head is shown once


def test_frequency_ratios(picture_of):
    quarter, yarn = picture_of("frequency_ratios").axes[0].lines
    np.testing.assert_allclose(quarter.get_ydata(), 0.25)
    ratios = YARN.double() / FREQUENCIES.double()
    np.testing.assert_allclose(yarn.get_ydata(), ratios.numpy())


def test_score_by_distance(picture_of):
    axes = picture_of("score_by_distance").axes[0]
    thin, thick, _, lower, trained_on = axes.lines
    places = thin.get_xdata()
    assert (places[0], places[-1]) == (1, 400)
    np.testing.assert_allclose(thin.get_ydata(), FAR.numpy()[places - 1])
    at_60 = list(places).index(60)
    assert thick.get_ydata()[at_60] == pytest.approx(FAR[49:70].double().mean().item())
    np.testing.assert_allclose(lower.get_ydata(), np.array(thick.get_ydata()) - 1, atol=1e-6)
    assert set(trained_on.get_xdata()) == {100}
    assert axes.get_xscale() == "log"


def test_bucket_of_distance(picture_of):
    (stairs,) = picture_of("bucket_of_distance").axes[0].lines
    assert stairs.get_ydata().tolist() == BUCKETS.tolist()
    assert stairs.get_drawstyle() == "steps-post"


def test_matrices_on_one_scale(picture_of):
    picture = picture_of("matrices_on_one_scale")
    assert_drawn(picture, SCORES, SCORES[-1:])
    assert len({axes.images[0].get_clim() for axes in picture.axes}) == 1
    positive = plots.matrices_on_one_scale({"a": SCORES.abs()})
    assert positive.axes[0].images[0].get_clim()[0] == 0


def test_loss_curve(picture_of):
    axes = picture_of("loss_curve").axes[0]
    curve, untrained = axes.lines
    assert curve.get_ydata().tolist() == LOSSES
    assert set(untrained.get_ydata()) == {4.159}
    assert axes.get_ylabel() == "loss (nats per pair)"


def test_several_losses():
    curves = {"one": [3.0, 2.0], "two": [4.0, 1.0, 0.5]}
    [axes] = plots.loss_curve(curves, unit="nats per character", step="step").axes
    assert {line.get_label(): list(line.get_ydata()) for line in axes.lines} == curves
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "loss (nats per character)")


@pytest.mark.parametrize("draw", ["loss_curve", "losses_by_length"])
def test_a_scheme_looks_the_same_in_every_figure_and_like_no_other(draw):
    def styles(names):
        if draw == "loss_curve":
            [axes] = plots.loss_curve({name: [2.0, 1.0] for name in names}).axes
        else:
            [axes] = plots.losses_by_length({name: {8: 2.0, 16: 3.0} for name in names}, 8).axes
        return {
            one.get_label(): (one.get_color(), one.get_marker())
            for one in axes.lines
            if one.get_label() in names
        }

    names = [*SCHEMES, "rope, ntk", "rope, yarn 4"]
    whole = styles(names)
    assert len(set(whole.values())) == len(names)
    assert len({whole[name][0] for name in SCHEMES}) == len(SCHEMES)
    assert whole["rope, ntk"][0] == whole["rope, yarn 4"][0] == whole["rope"][0]
    for few in (["rope, yarn 4", "alibi"], ["rnope"]):
        assert styles(few) == {name: whole[name] for name in few}


SEEN_AS = {  # linear RGB -> linear RGB; Machado et al. (2009), severity 1
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
    ),
    "deuteranopia": np.array(
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    ),
    "tritanopia": np.array(
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]
    ),
}


@pytest.mark.parametrize("reader", SEEN_AS)
def test_the_colors_of_schemes_stay_apart_for_every_reader(reader):
    """Two colors differ by 2.3 in CIELAB when one just sees it; here by 15 or more."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    places = []
    for index in SCHEMES.values():
        rgb = np.array(to_rgb(COLORS[index]))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        xyz = to_xyz @ (SEEN_AS[reader] @ linear).clip(0, 1) / to_xyz.sum(1)
        x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        places.append(np.array([116 * y, 500 * (x - y), 200 * (y - z)]))
    differences = [np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2)]
    assert len(places) == 8 and min(differences) > 15


def test_names_at_the_ends_of_lines_do_not_overlap():
    losses = {f"line {n}": {8: 2.0, 16: 1.0 + 0.001 * (n * 5 % 11)} for n in range(11)}
    picture = plots.losses_by_length(losses | {"far away": {8: 2.0, 16: 4.0}}, 8)
    picture.draw_without_rendering()
    [axes] = picture.axes
    texts = sorted(axes.texts, key=lambda text: Text.get_window_extent(text).y0)
    boxes = [Text.get_window_extent(text) for text in texts]  # an annotation's has its arrow in it
    assert len(boxes) == 12 and all(a.y1 <= b.y0 for a, b in itertools.pairwise(boxes))
    assert all(box.y0 >= 0 and box.x1 <= picture.bbox.x1 for box in boxes)
    values = [float(text.get_text().split()[-1]) for text in texts]
    assert values == sorted(values)


def test_word_map_keeps_distances_that_two_dimensions_can_hold():
    flat = torch.tensor([[0.0, 0], [3, 0], [0, 4], [5, 5]]) @ torch.linalg.qr(randn(6, 6))[0][:2]
    picture = plots.word_map(flat, list("abcd"), {"a": "first", "b": "first"})
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
    picture = plots.word_maps({"one": table, "other": other}, list("abcde"), {"a": "first"})
    maps = [np.vstack([line.get_xydata() for line in axes.lines]) for axes in picture.axes]
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-6)
    distances = np.linalg.norm(maps[1][:, None] - maps[1], axis=-1)
    np.testing.assert_allclose(distances, torch.cdist(table, table), atol=1e-5)
    left, right = picture.axes
    assert (left.get_xlim(), left.get_ylim()) == (right.get_xlim(), right.get_ylim())
    assert left.get_aspect() == right.get_aspect() == 1
    for axes, points in zip(picture.axes, maps, strict=True):
        low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
        assert (low < points.min(axis=0)).all() and (points.max(axis=0) < high).all()


def test_scores_against_pmi(picture_of):
    grid = np.array(picture_of("scores_against_pmi").axes).reshape(2, 3)
    for row, (scores, wanted, _) in zip(grid, PAIRS.values(), strict=True):
        for axes, chosen in zip(row, ([0, 1, 2], [3, 4, 5], [6, 7]), strict=True):
            points, diagonal = axes.lines
            assert list(points.get_ydata()) == scores[chosen].tolist()
            assert list(points.get_xdata()) == wanted[chosen].tolist()
            assert diagonal.get_slope() == 1
    titles = [axes.get_title().splitlines()[-1] for axes in grid[1]]
    assert titles == ["r = 1.00, 3 pairs", "r = 1.00, 3 pairs", "no correlation, 2 pairs"]
    assert "met 20 times or more" in grid[0, 2].get_title()
    crowd = torch.arange(4000.0)
    many = plots.scores_against_pmi({"many": (crowd, crowd, 1 + 0 * crowd)})
    assert len(many.axes[0].lines[0].get_xdata()) == 500
    assert "4,000 pairs" in many.axes[0].get_title()


def test_names_of_words_do_not_cover_each_other():
    row = torch.tensor([[float(i), 0.0] for i in range(16)])  # closer than the words are wide
    picture = plots.word_map(row, [f"word{i}" for i in range(16)])
    picture.png()
    boxes = [text.get_window_extent() for text in picture.axes[0].texts]
    overlaps = [(a, b) for a in boxes for b in boxes if a is not b and a.overlaps(b)]
    assert overlaps == []


def test_analogy_arrows():
    four = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [1, 1, 1]])
    axes = plots.analogy_arrows(four, NOUNS, "man", "king", "woman", "queen").axes[0]
    cross = axes.lines[-1].get_xydata()[0]
    first, second, third, _ = axes.lines[-2].get_xydata()
    np.testing.assert_allclose(cross, second - first + third, atol=1e-12)
    first_arrow = axes.texts[0]
    np.testing.assert_allclose((first_arrow.xyann, first_arrow.xy), (first, second))
    assert [text.get_text() for text in axes.texts[2:]] == [
        "man",
        "king",
        "woman",
        "queen",
        "king − man + woman",
    ]


def test_neighbors_by_cosine(picture_of):
    axes = picture_of("neighbors_by_cosine").axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(COSINES.tolist())
    assert words_beside(axes.yaxis) == NOUNS[:3]
    low, high = axes.get_ylim()
    assert low > high  # the best stands on top
    assert axes.get_xlim()[0] < -0.2


def test_schemes_side_by_side(picture_of):
    picture = picture_of("schemes_side_by_side")
    assert_drawn(picture, SCORES, CAUSAL, SCORES - 1, SCORES)
    shown = [axes for axes in picture.axes if axes.axison]
    assert [axes.get_title() for axes in shown] == ["none", "RoPE", "ALiBi", "learned"]
    assert shown[0].get_xlabel().endswith("change by a shift: 0")
    assert shown[1].get_xlabel() == "key"
    assert shown[3].get_xlabel().endswith("change by a shift: 1.2")
    assert all(
        axes.images[0].get_clim()[1] == np.abs(values).max()
        for axes, values in zip(shown, images(picture), strict=True)
    )


def test_learned_against_formula(picture_of):
    units = [torch.nn.functional.normalize(table.double()) for table in (FRESH, PE)]
    assert_drawn(picture_of("learned_against_formula"), *(unit @ unit.T for unit in units))
    both = plots.dot_against_offset({"learned": FRESH, "formula": PE}).axes[0].lines
    for line, want in zip(picture_of("learned_against_formula").axes[2].lines, both, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), want.get_xydata())


def test_scores_that_a_mask_forbids_are_left_out():
    masked = SCORES.masked_fill(torch.ones(7, 7).triu(1).bool(), -math.inf)
    picture = plots.scores_under_shift(masked, masked + 0.5, 10)
    assert picture.axes[2].get_title().endswith("largest 0.5")
    early, late, change = (axes.images[0] for axes in picture.axes)
    assert early.get_array().mask.sum() == late.get_array().mask.sum() == 21
    np.testing.assert_allclose(change.get_array(), torch.full((7, 7), 0.5).tril(), atol=1e-6)
    assert early.get_clim()[1] == pytest.approx((SCORES.tril() + 0.5).abs().max().item())


@pytest.mark.filterwarnings("error")
def test_the_smallest_data_can_be_drawn():
    one = torch.ones(1, 1)
    for picture in (
        plots.one_hot_times_table(one, [0]),
        plots.row_gradients(one),
        plots.shuffle_panels(one, one, [0], ["a"]),
        plots.attention_weights(one, ["a"]),
        plots.token_position_sum(one, one, ["a"]),
        plots.dot_against_offset({"zero": 0 * one}),
        plots.scores_under_shift(one, one, 0),
        plots.alibi_heads(one[None]),
        plots.frequency_ratios([1.0], {"a": [1.0]}),
        plots.score_by_distance({"a": [1.0]}),
        plots.bucket_of_distance({"a": [0]}),
        plots.matrices_on_one_scale({"a": one}),
        plots.loss_curve([1.0]),
        plots.word_map(one, ["a"]),
        plots.learned_against_formula(one, one),
    ):
        assert picture.png().startswith(b"\x89PNG")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_table_of_any_dtype_and_with_a_gradient_is_drawn(dtype):
    table = torch.nn.Parameter(torch.tensor([[1.0, -2.0]], dtype=dtype))
    picture = plots.position_table(table, "learned")
    assert_drawn(picture, table.detach())
    assert picture.axes[0].get_title() == "learned"


# --- bad input -----------------------------------------------------------------------------------

BAD = {
    "ids beyond the table": (lambda: plots.one_hot_times_table(WEIGHT, [6]), "0..5.*6"),
    "too few words": (lambda: plots.one_hot_times_table(WEIGHT, IDS, ["a"]), r"\(V,\) = \(6,\)"),
    "a vector for a table": (lambda: plots.row_gradients(torch.ones(3)), r"\(V, C\).*\(3,\)"),
    "a batch for a table": (lambda: plots.position_table(PE[None]), r"\(T, C\).*\(1, 64, 32\)"),
    "an empty table": (lambda: plots.position_table(PE[:0]), r"none of them 0; got \(0, 32\)"),
    "other rows": (lambda: plots.shuffle_panels(BEFORE, AFTER[1:], PERM, WORDS), r"\(7, 8\).*6, 8"),
    "no permutation": (lambda: plots.shuffle_panels(BEFORE, AFTER, PERM * 0, WORDS), "once"),
    "a text for words": (lambda: plots.attention_weights(CAUSAL, "the cat"), "list of words"),
    "not square": (lambda: plots.attention_weights(CAUSAL[:3], WORDS), r"\(T, T\)"),
    "scores for weights": (lambda: plots.attention_weights(-CAUSAL, WORDS), "not be negative"),
    "other widths": (lambda: plots.token_position_sum(TOKENS, PE, WORDS), r"\(64, 32\)"),
    "a column too far": (lambda: plots.wave_columns(PE, [32]), "0..31.*32"),
    "no columns": (lambda: plots.wave_columns(PE, []), "columns"),
    "an odd width": (lambda: plots.clock_hands(PE[:, :3], 0), "even.*3"),
    "a position too far": (lambda: plots.clock_hands(PE, 64), "0..63.*64"),
    "no tables": (lambda: plots.dot_against_offset({}), "at least one"),
    "an anchor too far": (lambda: plots.dot_against_offset({"x": PE}, [64]), "0..63.*64"),
    "one position": (lambda: plots.similarity_of_positions(PE[0]), r"\(T, C\)"),
    "an odd head": (lambda: plots.turned_pairs(QUERY[:5], TURNED[:, :5], range(5)), "even.*5"),
    "positions missing": (lambda: plots.turned_pairs(QUERY, TURNED, [0]), r"\(P,\) = \(5,\)"),
    "two sentences": (lambda: plots.scores_under_shift(SCORES, SCORES[:5, :5], 1), r"\(7, 7\)"),
    "nothing to compare": (lambda: plots.raw_and_projected({}), "at least one"),
    "two sizes": (lambda: plots.raw_and_projected({"x": (SCORES, PE)}), "shifted of x"),
    "a frequency of zero": (lambda: plots.wavelengths({"x": torch.zeros(3)}), "above 0"),
    "one head's bias": (lambda: plots.alibi_heads(ALIBI[0]), r"\(H, T, T\)"),
    "a trained frequency of zero": (lambda: plots.frequency_ratios([0.0], {"a": [1]}), "above 0"),
    "other pairs": (lambda: plots.frequency_ratios(FREQUENCIES, {"a": YARN[1:]}), r"\(64,\)"),
    "nothing stretched": (lambda: plots.frequency_ratios(FREQUENCIES, {}), "at least one"),
    "no scores": (lambda: plots.score_by_distance({}), "at least one"),
    "scores of two lengths": (lambda: plots.score_by_distance({"a": FAR, "b": FAR[1:]}), "b must"),
    "no buckets": (lambda: plots.bucket_of_distance({}), "at least one"),
    "no matrices": (lambda: plots.matrices_on_one_scale({}), "at least one"),
    "three axes": (lambda: plots.matrices_on_one_scale({"a": ALIBI}), r"\(R, C\).*4, 12, 12"),
    "no loss": (lambda: plots.loss_curve([]), r"\(N,\)"),
    "words missing": (lambda: plots.word_map(VECTORS, NOUNS[:4]), r"\(N,\) = \(5,\)"),
    "one map": (lambda: plots.word_maps({"a": VECTORS}, NOUNS), "two tables; got 1"),
    "maps of two sizes": (lambda: plots.word_maps({"a": VECTORS, "b": PE}, NOUNS), "b must"),
    "no PMI scores": (lambda: plots.scores_against_pmi({}), "at least one"),
    "a score missing": (
        lambda: plots.scores_against_pmi({"few": (PMI, PMI[1:], PMI)}),
        r"PMI - log K of few must have the shape \(P,\) = \(8,\)",
    ),
    "an unknown word": (lambda: plots.analogy_arrows(VECTORS, NOUNS, *NOUNS[:3], "cat"), "'cat'"),
    "neighbors missing": (lambda: plots.neighbors_by_cosine(COSINES, NOUNS), r"\(3,\)"),
    "schemes of two sizes": (lambda: plots.schemes_side_by_side({"a": SCORES, "b": PE}), "b must"),
    "tables of two sizes": (lambda: plots.learned_against_formula(FRESH[1:], PE), r"\(63, 32\)"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_in_a_sentence(what):
    call, sentence = BAD[what]
    with pytest.raises(ValueError, match=sentence) as refused:
        call()
    assert "\n" not in str(refused.value)
