"""A figure as SVG: one file for light and dark pages, without a script or a font from elsewhere.

Colors in the file are those of a light page. On a dark screen a style sheet in the file replaces
them; a program that knows no style sheets still shows the light ones. Text is text, so it can be
found, selected and read aloud. It is set in DejaVu Sans, with which the figure was laid out, or in
Verdana, which is as wide.
"""

import base64
import html
import io
import re

import matplotlib
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from course.publishing.figures.colormaps import for_both_pages
from course.publishing.figures.palette import CARD, FAINT, INK, ON_DARK

_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def svg_of(figure: Figure, title: str, metadata: str, width: int) -> str:
    """Return a figure as the text of an SVG that is so many pixels wide.

    Args:
        title: what is to be seen, in words.
        metadata: is kept in the file, for no reader.
    """
    for image in figure.findobj(AxesImage):
        image.set_interpolation("none")  # then a cell is one pixel of the image in the file
    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "what and where"}):
        figure.savefig(file, format="svg", facecolor="none", metadata=_NO_METADATA)
    inside = file.getvalue().partition("<svg")[2].partition(">")[2]
    inside = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", inside, count=1, flags=re.DOTALL)
    inside = re.sub(r"<image[^>]*>", _for_both_pages, _smaller(_in_one_font(inside)))
    across, down = (72 * inches for inches in figure.get_size_inches())
    view = f"{across:.6g} {down:.6g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" '
        f'height="{round(width * down / across)}" viewBox="0 0 {view}">\n'
        f"<title>{html.escape(title, quote=False)}</title>\n"
        f"<metadata>{metadata}</metadata>\n"
        f"<style>\n{_style(inside)}</style>\n"
        f'<rect style="fill: {CARD}; stroke: {FAINT}" x="0.5" y="0.5" width="{across - 1:.6g}" '
        f'height="{down - 1:.6g}" rx="8"/>\n'
        f"{inside.strip()}\n"
    )


def _in_one_font(inside: str) -> str:
    """Return the same drawing with its fonts named in the style sheet, not with each text."""
    inside = re.sub(r"font-family: [^;\"]*Mono[^;\"]*", "font-family: monospace", inside)
    inside = re.sub(r" ?font-family: (?!monospace)[^;\"]*;?", "", inside)
    return re.sub(r' transform="rotate\(-0 [^)]*\)"', "", inside)


def _smaller(inside: str) -> str:
    """Return the same drawing in fewer bytes.

    Without comments, without names that nothing refers to, without blanks in paths, and with places
    to a hundredth of a pixel.
    """
    inside = re.sub(r"<!--.*?-->\n?", "", inside, flags=re.DOTALL)
    inside = inside.replace("xlink:href", "href")
    inside = re.sub(r' fill="(#\w+)"/>', r' style="fill: \1"/>', inside)  # behind a hatch
    used = set(re.findall(r'"#([^"]+)"|url\(#([^)]+)\)', inside))
    names = {name for both in used for name in both}
    inside = re.sub(r' id="([^"]+)"', lambda it: it[0] if it[1] in names else "", inside)
    inside = re.sub(r"\n\s+", "\n", inside)
    inside = re.sub(r' (?:d|x|y)="[^"]*|translate\([^)]*', _to_hundredths, inside)
    return re.sub(r'(?<= d=")[^"]*', lambda it: re.sub(r"\s*([A-Za-z])\s*", r"\1", it[0]), inside)


def _to_hundredths(places: re.Match[str]) -> str:
    return re.sub(
        r"-?\d+\.\d{3,}", lambda it: f"{float(it[0]):.2f}".rstrip("0").rstrip("."), places[0]
    )


def _for_both_pages(image: re.Match[str]) -> str:
    """Return the tag of a heatmap twice: for light pages, and for dark ones."""
    head, png, tail = re.split(r"(?<=;base64,)\s*([^\"]*)", image[0])
    return "".join(
        f"{head}{base64.b64encode(one).decode('ascii')}{tail}".replace(
            "<image", f'<image class="{page}"'
        )
        for page, one in zip(("light", "dark"), for_both_pages(base64.b64decode(png)), strict=True)
    )


def _style(inside: str) -> str:
    """Return the style sheet: round joints, and the colors on dark that a figure needs."""
    rules = "".join(
        f'[style*="{what}: {light}"]{{{what}:{dark}!important}}\n'
        for light, dark in ON_DARK.items()
        for what in ("fill", "stroke")
        if light in (CARD, FAINT) or f"{what}: {light}" in inside
    )
    # black is what a shape is filled with that names no color: letters do not
    return (
        "*{stroke-linejoin:round;stroke-linecap:butt}\n"
        'text{font-family:"DejaVu Sans",Verdana,sans-serif;white-space:pre}\n'
        ".dark{display:none}\n"
        f"@media screen and (prefers-color-scheme:dark){{\nsvg{{fill:{ON_DARK[INK]}}}\n"
        f".light{{display:none}}\n.dark{{display:inline}}\n{rules}}}\n"
    )
