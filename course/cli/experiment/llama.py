"""`course experiment llama`."""

import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from course.cli.experiment.shared import print_borrowed
from course.core.terminal import Wrapped
from course.testing.messages.wording import filled

if TYPE_CHECKING:
    from course.data.published import PublishedModel
    from course.experiments.llama import Conversation

N_WRITTEN = 200
"""Tokens that it writes at most."""


@click.command(short_help="Run a published language model on your code.")
@click.option("--ask", metavar="QUESTION", help="Answer a QUESTION.")
@click.option("--chat", is_flag=True, help="Talk to it.")
@click.option("--breaks", is_flag=True, help="Break it in known ways, and see what it says.")
@click.option("--mine", is_flag=True, help="Run it on all of your code, right or wrong.")
def llama(
    ask: str | None,
    chat: bool,
    breaks: bool,
    mine: bool,
) -> None:
    """Load SmolLM2-135M into your Llama from lesson 9, and let it talk.

    First run `course data smollm2` (98 MB). The model uses your functions from lessons 1, 3, 5, 8
    and 9 if they pass, borrows the others from the reference, and says which ones.

    --breaks makes one mistake at a time, and prints what it does to the loss and to the answers.
    --mine uses everything that you have written, right or wrong, and says which of those mistakes
    the result looks like.

    \b
    Examples:
      course experiment llama --ask "Why is the sky blue?"
      course experiment llama --chat
      course experiment llama --mine
    """
    chosen = {
        "--ask": ask,
        "--chat": chat,
        "--breaks": breaks,
        "--mine": mine,
    }
    given = [option for option, value in chosen.items() if value]
    if len(given) > 1:
        raise click.UsageError(f"choose one of {' and '.join(given)}")
    if mine:
        _print_mine()
        return

    from course.data.published import open_smollm2

    started = time.perf_counter()
    published = open_smollm2()
    if breaks:
        _print_breaks(published)
    else:
        try:
            _talk(published, ask, chat, started)
        except KeyboardInterrupt:
            if not chat:
                raise
            click.echo()  # that is how chats end


def _talk(published: "PublishedModel", ask: str | None, chat: bool, started: float) -> None:
    """Print what the model says to a question, or in a chat."""
    from course.experiments import llama as experiment
    from course.experiments.gpt import students_code

    with students_code("The model"):
        model, exercises = experiment.load(published)
    seconds = time.perf_counter() - started
    n_parameters = sum(weights.numel() for weights in model.parameters())
    click.echo(
        f"\nSmolLM2-135M: {n_parameters:,} parameters in {len(model.blocks)} blocks, loaded in "
        f"{seconds:.1f} s."
    )
    if not (ask or chat):
        name, ids = experiment.sample_ids(published)
        with students_code("The model"):
            loss = experiment.loss(model, exercises, ids)
        click.echo(f"Loss on {ids.shape[1]} tokens of {name}: {loss:.3f} nats per token.")
    print_borrowed(experiment.sources())
    conversation = experiment.Conversation(model, published)
    for question in _questions() if chat else [ask or experiment.QUESTION]:
        if not (chat and sys.stdin.isatty()):  # else it was typed there
            click.echo(f"\n> {question}")
        click.echo()
        ids = experiment.chat_ids(published, question, conversation.n_read == 0)
        with _noticing_interrupts() if chat else nullcontext(()) as interrupts:
            try:
                _print_answer(conversation, ids, is_stopped=lambda seen=interrupts: bool(seen))
            except ValueError as error:
                if not chat:
                    raise
                click.echo(filled(f"{error}. Ask for less, or start a new chat."))


@contextmanager
def _noticing_interrupts() -> Iterator[list[int]]:
    """Yield a list that grows with the first interrupt; only the second one is raised."""
    seen: list[int] = []

    def on_interrupt(number: int, frame: object) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def _questions() -> Iterator[str]:
    """Yield what is typed, or the lines of the standard input, until q or its end."""
    is_typed = sys.stdin.isatty()
    if is_typed:
        click.echo("\nType a message. Ctrl-C stops an answer, q ends the chat.")
    while True:
        try:
            line = input("\n> ") if is_typed else sys.stdin.readline()
        except EOFError:
            click.echo()
            return
        if line.strip() == "q" or not (is_typed or line):
            return
        if line.strip():
            yield line.strip()


def _print_answer(
    conversation: "Conversation",
    ids: list[int],
    is_stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Print an answer as it comes, then its speed, and whether it was cut."""
    show = Wrapped()
    _, speed = conversation.answer(ids, N_WRITTEN, show, is_stopped)
    show.flush()
    said = f"{speed:.0f} tokens per second."
    if conversation.is_cut and not is_stopped():
        said += f" The model had more to say, but writes at most {N_WRITTEN} tokens at a time."
    click.echo(f"\n\n{filled(said)}")


def _print_breaks(published: "PublishedModel") -> None:
    """Print a table of losses, and below it what each broken model says."""
    from course.experiments import llama as experiment
    from course.experiments.gpt import students_code
    from course.publishing.figures import of_room

    name, ids = experiment.sample_ids(published)
    results = {}
    click.echo(f"\nLoss on {ids.shape[1]} tokens of {name}, nats per token.\n")
    for broken in of_room("llama", "breaks").BREAKS:
        with students_code(f"The model with {broken.title}"):
            results[broken.title] = experiment.measure(published, broken, ids)
        click.echo(f"{broken.title:<36}{results[broken.title][0]:>8.3f}")
    click.echo(f"\nHow they continue {experiment.BEGINNING!r} and answer {experiment.QUESTION!r}:")
    for title, (_, *texts) in results.items():
        click.echo(f"\n{title}")
        for text in texts:
            click.echo(_indented(text))
    print_borrowed(experiment.sources())


def _print_mine() -> None:
    """Print what the model makes of the student's code, and which mistake that sounds like."""
    from course.experiments.llama import BEGINNING, N_TOKENS, RIGHT
    from course.experiments.llama_mine import losses_of_breaks, measure_mine, nearest_break

    click.echo("\nRunning SmolLM2 on your code, in a separate process. This takes up to a minute.")
    mine = measure_mine()
    known = losses_of_breaks(mine.text)
    click.echo(
        f"\nLoss on {N_TOKENS} tokens of {mine.text}: {mine.loss:.3f} nats per token; it should "
        f"be {known[RIGHT.title]:.3f}."
    )
    nearest, is_close = nearest_break(known, mine.loss)
    near = f"{nearest} ({known[nearest]:.3f})"
    if not is_close:
        said = f"It sounds like none of the known mistakes. The closest one is: {near}."
    elif nearest == RIGHT.title:
        said = "It sounds right."
    else:
        said = f"It sounds like this mistake: {near}."
    click.echo(f"{said}\n\n{BEGINNING} ...")
    click.echo(_indented(mine.goes_on))
    yours = [name for name, source in mine.sources.items() if source == "yours"]
    said = f"Yours: {', '.join(yours) or 'nothing yet'}."
    if len(yours) < len(mine.sources):
        said += f" {'The rest' if yours else 'Everything'} is borrowed from the reference."
    click.echo(f"\n{filled(said)}")


def _indented(text: str) -> str:
    return textwrap.indent(filled(" ".join(text.split())), "    ")
