"""What the commands of `course experiment` share."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

from course.testing.messages.wording import filled

a_seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="The seed for random numbers."
)


@contextmanager
def training_bar(names: Sequence[str], steps: int) -> Iterator[Callable[..., None]]:
    """Show a bar of some trainings; give what is told their steps, and what their models write."""
    done, is_watched = dict.fromkeys(names, 0), sys.stderr.isatty()
    with click.progressbar(length=len(names) * steps, label="training", file=sys.stderr) as bar:

        def tell(name: str, step: int, sample: str = "") -> None:
            if sample:
                line = f"{name}, step {step}: {on_one_line(sample)}"
                click.echo(f"\r{line[:79]:<79}" if is_watched else line, err=True)
            bar.update(step - done[name])
            done[name] = step

        yield tell


def print_borrowed(sources: Mapping[str, str]) -> None:
    """Print which exercises are yours and which are borrowed."""
    if borrowed := [name for name in sources if sources[name] == "borrowed"]:
        said = f"Borrowed, because yours hasn't passed yet: {', '.join(borrowed)}."
        click.echo(f"\n{filled(said)}")
    else:
        click.echo("\nAll of this ran on your own code.")


def on_one_line(text: str) -> str:
    return text.strip().replace("\n", " / ")
