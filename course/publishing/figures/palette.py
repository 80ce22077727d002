"""The colors of all figures, in one table, for light and dark pages.

    what     blue           tokens, their rows, what a value holds
    where    vermillion     positions; and where to look, in a figure without positions
    query, key, value       green, purple, amber
    wrong    red            what goes wrong
    a position scheme       what its record in `course/core/schemes.py` says

Hues are those of Okabe and Ito, as dark as words need on white (4.5 to 1), and as light as they
need on a dark page. They stay apart for color-blind readers, and lines have markers as well.
"""

from typing import Any

from course.core.schemes import SCHEMES

_TABLE = {  # name: on a light page, on a dark one; behind words: on a light page, on a dark one
    "blue": ("#0072b2", "#4fabe6", "#cfe5f4", "#11405c"),
    "vermillion": ("#c65300", "#ff8a3d", "#fbdfcc", "#63300f"),
    "green": ("#004a3a", "#74e6c2", "#cfebe1", "#0d473a"),
    "purple": ("#7a1a7e", "#ee5cc8", "#f0d9f1", "#552057"),
    "amber": ("#674c00", "#f4c913", "#f6e7b8", "#514006"),
    "red": ("#d5233b", "#ff5163", "#f9d5da", "#661420"),
    "ink": ("#000000", "#e8ecf1", "#dcdfe4", "#3a4049"),  # black: what matplotlib draws words with
    "quiet": ("#5f6770", "#a3acb8", "#eef0f3", "#2a3039"),  # for what is context
    "faint": ("#c9ced6", "#4a525e", "#f6f7f9", "#20262e"),  # edges of cells, lines of a grid
    "card": ("#ffffff", "#1b2027", "#ffffff", "#1b2027"),  # the page
}

BLUE, VERMILLION, GREEN, PURPLE, AMBER, RED, INK, QUIET, FAINT, CARD = (
    light for light, *_ in _TABLE.values()
)
WHAT, WHERE, QUERY, KEY, VALUE, WRONG = BLUE, VERMILLION, GREEN, PURPLE, AMBER, RED
ACCENT, SECOND, THIRD = VERMILLION, BLUE, GREEN
"""Where to look, and what to compare it with, in a figure whose subject has no color above."""

TINTS = {light: tint for light, _, tint, _ in _TABLE.values()}
"""Color -> the pale one behind words."""

SHADE = TINTS[QUIET]
"""Behind words that are context."""

ON_DARK = {light: dark for light, dark, _, _ in _TABLE.values()} | {
    tint: dark for _, _, tint, dark in _TABLE.values()
}
"""Color on a light page -> on a dark one."""

DARK_CELL, LIGHT_CELL = "#111111", "#fdfdfd"
"""Words on pale and on strong cells of a heatmap. On a dark page, pale cells are dark ones."""

ON_DARK |= {DARK_CELL: LIGHT_CELL, LIGHT_CELL: DARK_CELL}

SCALES = {  # name: on a light page, on a dark one
    "signed": (
        ("#004b7d", "#0072b2", "#8cc0e2", "#f3f5f8", "#f2ac7f", "#c65300", "#973f00"),
        ("#9dd6ff", "#4fabe6", "#1f5d88", "#262c34", "#8a4115", "#ff8a3d", "#ffbf91"),
    ),
    "amount": (
        ("#f3f5f8", "#b9d8ee", "#6db0dd", "#0072b2", "#00345c"),
        ("#262c34", "#134767", "#1f76ab", "#4fabe6", "#d3edff"),
    ),
}
"""The colors of heatmaps: from the largest negative value to the largest, and from zero upwards.

Zero is as pale as the page, so that a dark page has no white blocks.
"""

SERIES = (BLUE, VERMILLION, GREEN, PURPLE, AMBER, RED, INK, QUIET)
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
"""Of lines, by their numbers."""

REMEDIES = {
    "as trained": "quiet",
    "positions divided": "blue",
    "ntk_base": "green",
    "YaRN": "vermillion",
}
"""What is done to RoPE's frequencies for longer texts -> its color, in lesson 7."""

VARIANTS = ("ntk", "linear", "yarn 32", "yarn 4")
"""Ways to change RoPE's angles after the training: each has its own marker."""


def style_of(name: str, number: int) -> dict[str, Any]:
    """Return color, marker and dashes of a line: those of a position scheme, or of a number.

    Args:
        name: "rope" or "RoPE", the same in every figure; "rope, ntk" is a variant of it: the same
            color, with other dashes and a marker that is not filled.
        number: for a line that is no scheme.
    """
    style = {"linestyle": DASHES[number % len(DASHES)], "marker": MARKERS[number % len(MARKERS)]}
    if name in REMEDIES:
        return style | {"color": _TABLE[REMEDIES[name]][0]}
    scheme, _, variant = name.partition(", ")
    known = _BY_NAME.get(scheme)
    if known is None:
        return style | {"color": SERIES[number % len(SERIES)]}
    if not variant:
        return {"color": _TABLE[known.color][0], "linestyle": "-", "marker": known.marker}
    way = VARIANTS.index(variant) if variant in VARIANTS else number
    style = {"linestyle": DASHES[1:][way % 3], "marker": MARKERS[way % len(MARKERS)]}
    return style | {"color": _TABLE[known.color][0], "markerfacecolor": CARD}


def color_of(scheme: str) -> str:
    """Return the color of a position scheme, by its name."""
    return _TABLE[SCHEMES[scheme].color][0]


_BY_NAME = {name: scheme for key, scheme in SCHEMES.items() for name in (key, scheme.title)}
