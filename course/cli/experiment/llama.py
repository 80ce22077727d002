"""`course experiment llama`."""

import sys
import textwrap
import time

import click

from course.cli.experiment.shared import print_borrowed
from course.messages.wording import filled

N_WRITTEN = 200
"""Tokens that it writes at most."""


@click.command(short_help="A published language model on your own functions.")
@click.option("--prompt", metavar="TEXT", help="Go on from TEXT.")
@click.option("--ask", metavar="QUESTION", help="Answer a QUESTION.")
@click.option("--breaks", is_flag=True, help="Break it in known ways, and hear what they do.")
@click.option("--json", "as_json", is_flag=True, help="With --breaks: print numbers only.")
def llama(prompt: str | None, ask: str | None, breaks: bool, as_json: bool) -> None:
    """Load SmolLM2-135M into the Llama of your lesson 9, and let it talk.

    `course data smollm2` fetches it, 98 MB. It runs on your functions of lessons 1, 3, 5, 8 and 9
    where they pass, and says which are borrowed. --breaks loads it again and again, each time with
    one mistake, and prints what that costs and how it sounds.

    \b
    Examples:
      course experiment llama
      course experiment llama --prompt "The old king"
      course experiment llama --ask "Why is the sky blue?"
      course experiment llama --breaks
    """
    from course.data.published import open_smollm2
    from course.experiments import llama as experiment
    from course.experiments.gpt import students_code

    if prompt and ask:
        raise click.UsageError("--prompt and --ask: choose one")
    if as_json and not breaks:
        raise click.UsageError("--json goes with --breaks")
    started = time.perf_counter()
    published = open_smollm2()
    if breaks:
        _print_breaks(published, as_json)
        return
    with students_code("The model"):
        model, exercises = experiment.load(published)
        seconds = time.perf_counter() - started
        name, ids = experiment.sample_ids(published)
        n_parameters = sum(weights.numel() for weights in model.parameters())
        click.echo(
            f"\nSmolLM2-135M: {n_parameters:,} parameters in {len(model.blocks)} blocks, loaded in "
            f"{seconds:.1f} s."
        )
        if not (prompt or ask):
            loss = experiment.loss(model, exercises, ids)
            click.echo(f"Loss on {ids.shape[1]} tokens of {name}: {loss:.3f} nats per token.")
        question = ask or experiment.QUESTION
        start = published.tokenizer.encode(prompt).ids if prompt else None
        click.echo(f"\n{prompt}" if prompt else f"\n> {question}\n", nl=not prompt)
        ids_now = start or experiment.chat_ids(published, question)
        _, speed = experiment.answer(model, published, ids_now, N_WRITTEN, _print_now)
    click.echo(f"\n\n{speed:.0f} tokens per second.")
    _print_borrowed()


def _print_now(text: str) -> None:
    click.echo(text, nl=False)
    sys.stdout.flush()


def _print_breaks(published: object, as_json: bool) -> None:
    """Print a table of losses, and below it what each broken model says."""
    from course.experiments import llama as experiment
    from course.experiments.gpt import students_code

    name, ids = experiment.sample_ids(published)
    results = []
    if not as_json:
        click.echo(f"\nLoss on {ids.shape[1]} tokens of {name}, nats per token.\n")
    for broken in experiment.BREAKS:
        with students_code(f"The model with {broken.title}"):
            results.append(experiment.measure(published, broken, ids))
        if not as_json:
            click.echo(f"{broken.title:<36}{results[-1].loss:>8.3f}")
    if as_json:
        click.echo(experiment.as_json(results, name))
        return
    click.echo(
        f"\nHow they go on from {experiment.BEGINNING!r}, and answer {experiment.QUESTION!r}:"
    )
    for one in results:
        click.echo(f"\n{one.title}")
        for text in (one.goes_on, one.answers):
            said = " ".join(text.split())
            click.echo(textwrap.indent(filled(said), "    "))
    _print_borrowed()


def _print_borrowed() -> None:
    from course.experiments.llama import sources

    print_borrowed(sources())
