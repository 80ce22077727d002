"""Pictures with sliders, for the notebooks."""

import inspect
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets
from IPython.display import display

from course.publishing.figures import Picture


def play(draw: Callable[..., Picture], **choices: Sequence[Any]) -> None:
    """Show a picture, and a slider for each of its arguments.

    The picture is an output like any other, so it also stays where no slider can move it: on
    paper, on a web page, in a notebook that is only read. If it cannot be drawn for the
    values of the sliders, the error is shown instead.

    Args:
        draw: makes the picture; each argument starts with its default.
        choices: for each argument the values that its slider offers, `base=[100, 10_000]`; one of
            them is the default.
    """
    start = {name: inspect.signature(draw).parameters[name].default for name in choices}
    sliders = {name: _slider(name, values, start[name]) for name, values in choices.items()}
    for slider in sliders.values():
        display(slider)
    shown = display(draw(**start).bundle(), raw=True, display_id=True)

    def redraw(_: dict) -> None:
        try:
            bundle = draw(**{name: slider.value for name, slider in sliders.items()}).bundle()
        except Exception:  # JupyterLab would not show it: no cell is running
            bundle = {"text/plain": traceback.format_exc()}
        shown.update(bundle, raw=True)

    for slider in sliders.values():
        slider.observe(redraw, names="value")


def _slider(name: str, values: Sequence[Any], start: Any) -> ipywidgets.SelectionSlider:
    return ipywidgets.SelectionSlider(
        options=[(value if isinstance(value, str) else f"{value:,}", value) for value in values],
        value=start,
        description=name.replace("_", " "),
        style={"description_width": "8em"},
        layout={"width": "32em"},
    )
