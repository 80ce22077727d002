"""`course experiment`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from course.wording import filled

if TYPE_CHECKING:
    from course.experiments.positions import Result

NAMES = ("none", "learned", "sinusoidal", "rope", "alibi")


@click.group(short_help="Measure what texts only claim.")
def experiment() -> None:
    """Measure what texts only claim, with your own modules where they pass."""


@experiment.command(short_help="Which position scheme wins, and which reads on?")
@click.argument("schemes", nargs=-1, type=click.Choice(NAMES), metavar="[SCHEME]...")
@click.option("--long", is_flag=True, help="Larger models: some seven times the work.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Start from other numbers.")
def positions(schemes: tuple[str, ...], long: bool, seed: int) -> None:
    """Train one small character model for each SCHEME, or for all five, and compare them.

    Each learns from windows of 64 characters, of TinyShakespeare if it was fetched, and is then
    asked about 128 and 256. All take less than a minute on two processors. Stop whenever you like:
    the same command goes on from there, and a finished result is shown at once.

    \b
    Examples:
      course experiment positions
      course experiment positions rope alibi --seed 1
      course experiment positions --long
    """
    import dataclasses

    from course.experiments.positions import FOLDER, shoot_out
    from course.experiments.training import LONG, QUICK

    settings = dataclasses.replace(LONG if long else QUICK, seed=seed)
    chosen = tuple(dict.fromkeys(schemes)) or NAMES
    progress = _Progress(chosen, settings.steps)
    try:
        results = shoot_out(settings, chosen, progress.tell)
    except KeyboardInterrupt:
        progress.end()
        sys.exit("Stopped. The same command goes on from here.")
    except OSError as error:
        progress.end()
        raise click.ClickException(f"{FOLDER} cannot be written: {error.strerror}") from None
    progress.end()
    _report(results)
    click.echo(f"\nfigures: {_figures(results, FOLDER)}")


class _Progress:
    """A line that says how far each training is; where nobody watches, only that it is done."""

    def __init__(self, schemes: Sequence[str], steps: int) -> None:
        self._done = dict.fromkeys(schemes, 0)
        self._steps = steps
        self._is_watched = sys.stderr.isatty()

    def tell(self, scheme: str, step: int) -> None:
        self._done[scheme] = step
        if self._is_watched:
            shares = (f"{name} {100 * n // self._steps:>3} %" for name, n in self._done.items())
            click.echo("\r" + "   ".join(shares), nl=False, err=True)
        elif step == self._steps:
            click.echo(f"{scheme} is trained", err=True)

    def end(self) -> None:
        if self._is_watched:
            click.echo(err=True)


def _report(results: "Sequence[Result]") -> None:
    """The losses, what they were computed with, and what each model writes."""
    lengths = [*results[0].held_out]
    settings = results[0].settings
    click.echo(
        f"\nLoss in nats per character on held-out text of {results[0].corpus}, after "
        f"{settings.steps} steps\non windows of {lengths[0]} characters, seed {settings.seed}. "
        "Lower is better.\n"
    )
    click.echo(f"{'':<14}" + "".join(f"{length:>8}" for length in lengths) + f"{'CPU':>9}")
    for result in results:
        rows = {result.scheme: result.held_out}
        rows |= {f"  {way}": losses for way, losses in result.stretched.items()}
        for name, losses in rows.items():
            seconds = f"{result.seconds:>7.1f} s" if name == result.scheme else ""
            click.echo(f"{name:<14}" + "".join(f"{losses[n]:>8.2f}" for n in lengths) + seconds)
    if any(result.stretched for result in results):
        click.echo(
            "\nBelow rope, the same model with its angles changed after the training: by ntk_base,"
            "\nand with positions divided (linear)."
        )
    whose = {name: whose for result in results for name, whose in result.whose.items()}
    borrowed = [name for name in whose if whose[name] == "borrowed"]
    if borrowed:
        said = f"Borrowed, because yours did not pass a check yet: {', '.join(borrowed)}."
        click.echo(f"\n{filled(said)}")
    else:
        click.echo("\nAll of it is made of your own modules.")
    for result in results:
        line = " / ".join(result.sample.strip().splitlines())
        click.echo(f"\n{result.scheme} writes: {line[:160]}")


def _figures(results: "Sequence[Result]", folder: Path) -> str:
    """Two pictures of the results, in a folder; where they are."""
    from course.experiments.positions import smoothed
    from course.experiments.training import CONTEXT
    from course.files import write_whole_bytes
    from course.plots import loss_curve, losses_by_length

    curves = {result.scheme: smoothed(result.losses) for result in results}
    losses = {result.scheme: result.held_out for result in results}
    for result in results:
        losses |= {f"{result.scheme}, {way}": by for way, by in result.stretched.items()}
    pictures = {
        "training.png": loss_curve(curves, unit="nats per character", step="step"),
        "lengths.png": losses_by_length(losses, CONTEXT),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        write_whole_bytes(folder / name, picture.png())
    return ", ".join(str(folder / name) for name in pictures)
