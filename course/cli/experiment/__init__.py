"""`course experiment`: a command for each experiment."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from course.cli.experiment.gpt import gpt
from course.cli.experiment.llama import llama
from course.cli.experiment.positions import positions
from course.cli.experiment.tasks import tasks


class _Experiments(click.Group):
    """A group of commands that end in one sentence, whatever goes wrong."""

    def invoke(self, context: click.Context) -> object:
        with _one_sentence():
            return super().invoke(context)


@click.group(cls=_Experiments, short_help="Measure what the lessons claim.")
def experiment() -> None:
    """Measure what the lessons claim, using your own functions where they pass."""


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Turn what may go wrong into one sentence and an exit status that is not 0."""
    from course.experiments.gpt import TrainingStopped

    try:
        yield
    except KeyboardInterrupt:
        click.echo(err=True)
        sys.exit("Stopped. Finished results are saved.")
    except ChildProcessError as error:
        raise click.ClickException(f"{error}; it may have run out of memory") from None
    except OSError as error:
        # One that was raised here has no number, and its words are for the reader.
        said = f"{error.filename} cannot be read or written: {error.strerror}"
        said = said if error.errno else str(error)
        raise click.ClickException(said) from None
    except (ValueError, TrainingStopped) as error:
        raise click.ClickException(str(error)) from None


for command in (positions, tasks, gpt, llama):
    experiment.add_command(command)
