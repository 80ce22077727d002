"""`course experiment positions`."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from course.cli.experiment.shared import a_seed, on_one_line, print_borrowed, training_bar
from course.core.console import typed
from course.core.schemes import SCHEMES, schemes_for
from course.testing.messages.wording import filled

if TYPE_CHECKING:
    from course.experiments.positions import SchemeResult
    from course.experiments.training import TrainingSettings


_LISTED = "\n".join(f"  {name:<12}{scheme.sentence}" for name, scheme in SCHEMES.items())

_POSITIONS_HELP = f"""Train one small character model for each SCHEME, or for all, and compare them.

Each one learns from windows of 64 characters (from TinyShakespeare, if you have fetched it), and is
then tested on windows of 128 and 256. Training all of them takes less than a minute on two cores.
Results are saved, so they appear right away the next time.

\b
SCHEME:
{_LISTED}

\b
Examples:
  course experiment positions
  course experiment positions rope t5 --seed 1
  course experiment positions --long
"""


@click.command(help=_POSITIONS_HELP, short_help="Which position scheme wins, and on longer texts?")
@click.argument("schemes", nargs=-1, type=click.Choice([*SCHEMES]), metavar="[SCHEME]...")
@click.option(
    "--long", is_flag=True, help="Train larger models, which takes about five times as long."
)
@a_seed
def positions(schemes: tuple[str, ...], long: bool, seed: int) -> None:
    from course.experiments.positions import shoot_out
    from course.experiments.training import LONG, QUICK

    settings = dataclasses.replace(LONG if long else QUICK, seed=seed)
    at_this_size = schemes_for(settings.size.n_layers)
    if unfit := set(schemes).difference(at_this_size):
        raise click.UsageError(f"{unfit.pop()} needs more than one layer; add --long")
    schemes = tuple(dict.fromkeys(schemes or at_this_size))
    with training_bar(schemes, settings.steps) as tell:
        results = shoot_out(settings, schemes, tell)
    _report(results, settings)


def _report(results: "Sequence[SchemeResult]", settings: "TrainingSettings") -> None:
    """Print the losses, what they were computed with, and what each model writes."""
    lengths, corpus = [*results[0].held_out], results[0].corpus
    click.echo(
        f"\nLoss in nats per character on held-out text of {corpus}, after "
        f"{settings.steps} steps\non windows of {lengths[0]} characters, seed {settings.seed}. "
        "Lower is better.\n"
    )
    if corpus == "kingdom":
        fetch = typed("course data tinyshakespeare")
        click.echo(
            "The kingdom is a small made-up text. The numbers in lessons 5 and 7 are for\n"
            f"TinyShakespeare, which `{fetch}` fetches.\n"
        )
    click.echo(f"{'':<12}" + "".join(f"{length:>8}" for length in lengths) + f"{'CPU':>9}")
    for result in results:
        rows = {result.scheme: result.held_out}
        rows |= {f"  {way}": losses for way, losses in result.stretched.items()}
        for name, losses in rows.items():
            seconds = f"{result.seconds:>7.1f} s" if name == result.scheme else ""
            click.echo(f"{name:<12}" + "".join(f"{losses[n]:>8.2f}" for n in lengths) + seconds)
    sentences = [f"{result.scheme} {SCHEMES[result.scheme].sentence}." for result in results]
    if any(result.stretched for result in results):
        sentences.append(
            "The lines below rope are the same model, with its angles changed after training: by "
            "ntk_base, by dividing positions (linear), and by yarn_frequencies with beta_fast 32 "
            "and 4."
        )
    click.echo(f"\n{filled(' '.join(sentences))}")
    print_borrowed({name: source for result in results for name, source in result.sources.items()})
    for result in results:
        click.echo(f"\n{result.scheme} writes: {on_one_line(result.sample)[:160]}")
