"""The figure of the shoot-out: who reads on beyond the lengths that it was trained on."""

from collections.abc import Mapping

from course.plots.parts import SMALL, label, line_style, listing
from course.plots.picture import Picture


def losses_by_length(
    losses: Mapping[str, Mapping[int, float]], trained_on: int, text: str = "held-out text"
) -> Picture:
    """The loss of models on texts of several lengths.

    Args:
        losses: name -> length in characters -> loss in nats per character.
        trained_on: the length that they trained on.
        text: what they read.

    Look for: to the right of the dashed line nobody has been. Who stays flat, who climbs, and whose
    lines cross?
    """
    if not losses or not all(losses.values()):
        raise ValueError("losses must hold a loss for at least one length of each model")
    unit = "loss (nats per character)"
    told = listing(
        f"{name} " + ", ".join(f"{loss:.2f} at {length}" for length, loss in of_one.items())
        for name, of_one in losses.items()
    )
    picture = Picture(
        3.4,
        alt=f"Loss on {text} against its length in characters, trained on {trained_on}: {told}.",
    )
    axes = picture.subplots()
    axes.set_xscale("log", base=2)
    axes.axvline(trained_on, color="0.5", linestyle="--", linewidth=1)
    for index, (name, of_one) in enumerate(losses.items()):
        axes.plot([*of_one], [*of_one.values()], label=name, **line_style(index))
    lengths = sorted({length for of_one in losses.values() for length in of_one})
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    label(axes, f"trained on {trained_on} characters", "characters read at once", unit)
    drawn = sorted(axes.get_lines()[1:], key=lambda one: -one.get_ydata()[-1])
    names = [f"{one.get_label()}  {one.get_ydata()[-1]:.2f}" for one in drawn]
    picture.legend(drawn, names, title="at the end", fontsize=SMALL, loc="outside right upper")
    return picture
