"""Figures of lesson 7: frequencies changed pair by pair, scores far away, buckets, losses."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from course.publishing.figures.charts import label, line, lines, names_at_ends
from course.publishing.figures.palette import QUIET, style_of
from course.publishing.figures.picture import Picture
from course.publishing.figures.shapes import Array, Sizes, read_all
from course.publishing.figures.words import listing


def frequency_ratios(trained: Any, stretched: Mapping[str, Any]) -> Picture:
    """Draw what is left of the frequency of each pair when it is changed for a longer text.

    Args:
        trained: frequencies in radians per token, above 0, (P,).
        stretched: name -> changed frequencies, (P,).

    Look for: where is a line at 1, so that nothing changes? Where is it at 1 / factor, so that a
    longer text shows no angle that is new?
    """
    sizes = Sizes()
    trained = sizes.numbers("trained", trained, "P")
    if trained.min() <= 0:
        raise ValueError(f"trained must hold frequencies above 0; got {trained.min():g}")
    read = read_all("stretched", stretched, "P", sizes)
    ratios = {name: values / trained for name, values in read.items()}
    told = listing(f"{name} from {r[0]:.2g} to {r[-1]:.2g}" for name, r in ratios.items())
    picture = Picture(
        3.2,
        alt=f"The changed frequency of each of {sizes['P']} pairs as a share of the trained one: "
        f"{told}.",
    )
    y = "new frequency / trained frequency"
    axes = lines(picture, ratios, "what is left of each frequency", "pair", y)
    axes.set_ylim(bottom=0)
    names_at_ends(axes)
    return picture


def score_by_distance(scores: Mapping[str, Any], trained_on: int | None = None) -> Picture:
    """Draw the score of a query with a key against their distance, on a logarithmic axis.

    Args:
        scores: name -> scores at distances 1, 2, 3, ..., (T,).
        trained_on: the length of text that the model was trained on, in tokens.

    Scores wobble. So a thin line is what they are, and a thick one their mean over near distances,
    as `means_nearby` makes it.

    Look for: whose curve is that of the training near by? And beyond the dashed line, who stays
    among the scores that training showed?
    """
    sizes = Sizes()
    read = read_all("scores", scores, "T", sizes)
    told = listing(f"{name} from {s[0]:.3g} to {s[-1]:.3g}" for name, s in read.items())
    picture = Picture(
        3.4,
        alt=f"Scores at distances 1 to {sizes['T']:,}, on a logarithmic axis: {told}."
        + (f" A dashed line marks {trained_on:,} tokens." if trained_on else ""),
    )
    axes = picture.subplots()
    places = np.unique(np.geomspace(1, sizes["T"], 300).round().astype(int))
    for index, (name, values) in enumerate(read.items()):
        thin = {"color": style_of(name, index)["color"], "linewidth": 0.6, "alpha": 0.4}
        axes.plot(places, values[places - 1], **thin)
        line(axes, index, places, means_nearby(values, places), name)
    if trained_on is not None:
        axes.axvline(trained_on, color=QUIET, linestyle="--", linewidth=1)
    axes.set_xscale("log")
    label(axes, "one query, one key, further and further apart", "distance (tokens)", "score")
    names_at_ends(axes)
    return picture


def means_nearby(scores: Array, distances: Iterable[int]) -> list[float]:
    """Return the mean of the scores at and around each distance, up to a sixth of it away.

    Args:
        scores: at distances 1, 2, 3, ..., (T,).

    >>> means_nearby(np.array([4.0, 1.0, 5.0, 2.0, 2.0, 8.0, 2.0]), [1, 6])
    [4.0, 4.0]
    """
    ends = ((math.ceil(place * 5 / 6) - 1, place * 7 // 6) for place in distances)
    return [float(scores[start:end].mean()) for start, end in ends]


def bucket_of_distance(buckets: Mapping[str, Any]) -> Picture:
    """Draw the bucket of each distance as stairs.

    Args:
        buckets: name -> the buckets of distances 0, 1, 2, ..., (T,).

    Look for: steps one wide are distances that a head can tell apart. To all distances of a wide
    step it gives the same bias.
    """
    sizes = Sizes()
    read = read_all("buckets", buckets, "T", sizes)
    told = listing(f"{len(np.unique(b))} for {name}" for name, b in read.items())
    picture = Picture(
        3.2,
        alt=f"The buckets of distances 0 to {sizes['T'] - 1} as stairs. How many differ: {told}.",
    )
    axes = lines(picture, read, "one step up, one bucket further", "distance (tokens)", "bucket")
    for stairs in axes.lines:
        stairs.set(drawstyle="steps-post", marker="")
    names_at_ends(axes)
    return picture


def losses_by_length(losses: Mapping[str, Mapping[int, float]], trained_on: int) -> Picture:
    """Draw the loss of models on held-out texts of several lengths.

    Args:
        losses: name -> length in characters -> loss in nats per character.
        trained_on: the length that they trained on.

    Look for: to the right of the dashed line nobody has been. Who stays flat, who climbs, and whose
    lines cross?
    """
    unit = "loss (nats per character)"
    told = listing(
        f"{name} " + ", ".join(f"{loss:.2f} at {length}" for length, loss in of_one.items())
        for name, of_one in losses.items()
    )
    picture = Picture(
        max(3.4, 1.2 + 0.22 * len(losses)),
        alt="Loss on held-out text against its length in characters, trained on "
        f"{trained_on}: {told}.",
    )
    axes = picture.subplots()
    axes.set_xscale("log", base=2)
    axes.axvline(trained_on, color=QUIET, linestyle="--", linewidth=1)
    for index, (name, of_one) in enumerate(losses.items()):
        axes.plot([*of_one], [*of_one.values()], label=name, **style_of(name, index))
    lengths = sorted({length for of_one in losses.values() for length in of_one})
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    label(axes, f"trained on {trained_on} characters", "characters read at once", unit)
    names_at_ends(axes, "{name}  {last:.2f}")
    return picture
