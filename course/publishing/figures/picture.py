"""A figure that shows itself in a notebook, with words for those who cannot see it."""

import base64
import html
from functools import cached_property

from matplotlib.figure import Figure

from course.publishing.figures.palette import CARD
from course.publishing.figures.record import Record, decoded, encoded, record_of, same
from course.publishing.figures.svg import svg_of

WIDTH = 7.0
"""Inches that a figure is wide: the width of a notebook's cell at 100 pixels an inch."""

MARGIN = 0.16
"""Inches that words keep from the edges."""

PIXELS_PER_INCH = 100
_PIXELS = round(WIDTH * PIXELS_PER_INCH)
"""Of a page, that a figure is wide."""

_THEMES = "<style>{}{}</style>".format(
    *(
        f".vscode-{scheme} .course-figure,"
        f'[data-jp-theme-light="{light}"] .course-figure{{color-scheme:{scheme}}}'
        for scheme, light in (("light", "true"), ("dark", "false"))
    )
)
"""JupyterLab and VS Code name their theme on the page; everywhere else it is the browser's."""


class Picture(Figure):
    """A matplotlib figure with an alt text; made without pyplot, so nothing keeps it alive.

    Args:
        height: in inches; every picture is `WIDTH` wide.
        alt: what is to be seen, in a sentence or two.

    A notebook shows it as HTML: an `<img>` with its alt text, which JupyterLab and MyST-NB would
    drop from a bare image. It is an SVG in the colors of the notebook's theme, light or dark.
    Without HTML (in a console, a PDF), readers get the alt text.

    >>> Picture(2.0, alt="An empty page.")
    <Picture: An empty page.>
    """

    def __init__(self, height: float, alt: str) -> None:
        super().__init__(
            figsize=(WIDTH, height),
            dpi=2 * PIXELS_PER_INCH,  # for `savefig`: screens of today have two for one of a page
            facecolor=CARD,
            layout="constrained",
        )
        self.get_layout_engine().set(w_pad=MARGIN, h_pad=MARGIN)
        self.alt = alt

    @cached_property
    def record(self) -> Record:
        """What the picture was made from, as it is when first asked for."""
        return record_of(self)

    def svg(self) -> str:
        """Return the image for a text: one file for light and dark pages, with its record."""
        return svg_of(self, self.alt, encoded(self.record), _PIXELS)

    def is_shown_by(self, svg: str) -> bool:
        """Return whether an SVG was made from the same numbers, and says the same of them."""
        told = f"<title>{html.escape(self.alt, quote=False)}</title>"
        return told in svg and same(decoded(svg), self.record)

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"

    def _repr_html_(self) -> str:
        svg = svg_of(self, self.alt, "", _PIXELS)
        data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
        return (
            f'{_THEMES}<img class="course-figure" src="data:image/svg+xml;base64,{data}" '
            f'width="{_PIXELS}" alt="{html.escape(self.alt)}">'
        )

    def bundle(self) -> dict[str, str]:
        """Return what a notebook gets to show, by kind: the picture, and words in place of it."""
        return {"text/html": self._repr_html_(), "text/plain": self.alt}

    def _ipython_display_(self) -> None:
        """Show the HTML alone: once pyplot is loaded, IPython would add a PNG to every figure."""
        from IPython.display import display

        display(self.bundle(), raw=True)
