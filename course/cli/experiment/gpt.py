"""`course experiment gpt`."""

import dataclasses
import sys
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from course.cli.experiment.shared import a_seed, print_borrowed, training_bar
from course.core.console import typed

if TYPE_CHECKING:
    from course.experiments.gpt import GPTTraining, TrainedGPT
    from course.experiments.training import TrainingSettings

N_WRITTEN = 500
"""Characters that `course experiment gpt --prompt` writes."""


@click.command(short_help="Train your GPT, and let it write.")
@click.option("--long", is_flag=True, help="Learn from TinyShakespeare, in a few minutes.")
@click.option("--prompt", metavar="TEXT", help="Continue TEXT with the trained model.")
@a_seed
def gpt(long: bool, prompt: str | None, seed: int) -> None:
    """Train your GPT from lesson 8, and the same model without positions.

    In less than a minute on two cores, it learns the language of the toy kingdom, one character at
    a time. A checker counts how many of its lines are grammatical. With --long, it learns from
    TinyShakespeare instead. Both models are saved, so later runs show them right away.

    --prompt continues a text with your cache, one character at a time, and says how much faster
    that is than rereading the whole text for each character.

    \b
    Examples:
      course experiment gpt
      course experiment gpt --prompt "the old king"
      course experiment gpt --long --prompt "ROMEO:"
    """
    from course.data.tokenizers import CharTokenizer
    from course.experiments.gpt import LONG, SHORT, WITH, WITHOUT, corpus_for, result_of, trained
    from course.experiments.processes import side_by_side

    settings = dataclasses.replace(LONG if long else SHORT, seed=seed)
    corpus = corpus_for(long)
    tokenizer = CharTokenizer.from_text(corpus.text)
    if unknown := set(prompt or "") - set(tokenizer.characters):  # before anything is trained
        cure = "" if long else "; try --long, because Shakespeare uses more characters"
        raise click.ClickException(f"the training text has no {min(unknown)!r}{cure}")
    ids = tokenizer.encode(prompt or "\n")
    with training_bar((WITHOUT, WITH), settings.steps) as tell:
        results = side_by_side(result_of, (WITHOUT, WITH), (settings, corpus), tell)
    if prompt is not None:
        _write_on(trained(settings, corpus), ids)
        return
    _report_of_gpts(dict(zip((WITHOUT, WITH), results, strict=True)), settings, corpus.name)


def _report_of_gpts(
    results: "Mapping[str, TrainedGPT]", settings: "TrainingSettings", corpus: str
) -> None:
    """Print what both models reach, what they are made of, and what they write."""
    from course.experiments.gpt import TEMPERATURE

    size, any_result = settings.size, next(iter(results.values()))
    click.echo(
        f"\nA GPT with {size.n_layers} layers, {size.n_embd} features, {size.n_heads} heads and "
        f"{any_result.n_parameters:,} parameters, after {settings.steps:,} steps on\n"
        f"{settings.batch_size} windows of {settings.context} characters from {corpus}, seed "
        f"{settings.seed}. Loss in nats per character on the\nheld-out tenth; each "
        "character is predicted once.\n"
    )
    counts = any_result.lines is not None
    columns = f"{'lines':>8}{'grammatical':>13}{'of them new':>13}" if counts else ""
    click.echo(f"{'':<20}{'loss':>6}{columns}{'CPU':>10}")
    for way, result in results.items():
        if lines := result.lines:
            columns = f"{lines.n_lines:>8}{lines.share:>13.1%}{lines.n_new:>13}"
        click.echo(f"{way:<20}{result.held_out:>6.2f}{columns}{result.seconds:>8.1f} s")
    if counts:
        click.echo(
            f"\nCounted in texts sampled at temperature {TEMPERATURE}. New lines are grammatical, "
            "but don't occur\nin the training text."
        )
    print_borrowed(any_result.sources)
    texts = {"before training": any_result.untrained}
    for title, text in (texts | {way: result.sample for way, result in results.items()}).items():
        click.echo(f"\n{title}, it writes:\n\n{textwrap.indent(text.strip(), '    ')}")
    option = " --long" if corpus == "tinyshakespeare" else ""
    again = typed(f"course experiment gpt{option} --prompt")
    click.echo(f"\nTo let it continue your own text: {again} TEXT")


def _write_on(training: "GPTTraining", ids: list[int]) -> None:
    """Print how a model goes on from a text; then its speed with a cache and without."""
    from course.experiments.gpt import all_names, write_on
    from course.experiments.training import sources

    decode = training.tokenizer.decode

    def tell(token: int) -> None:
        click.echo(decode([token]), nl=False)
        sys.stdout.flush()

    click.echo(f"\n{decode(ids)}", nl=False)
    (text, speed), (other, slower) = write_on(training, ids, N_WRITTEN, tell).values()
    differ = next((at for at, token in enumerate(text) if token != other[at]), None)
    same = "the same" if differ is None else f"the same up to character {differ}"
    click.echo(
        f"\n\n{speed:,.0f} characters per second with the cache, {slower:,.0f} "
        "without, where it reads the whole text\n"
        f"again for each of {len(text) - 1} characters. Both write {same}."
    )
    print_borrowed(sources(all_names()))
