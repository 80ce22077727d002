"""`course lab`."""

from pathlib import Path

import click


@click.group(short_help="Write the positions lab as a page for your browser.")
def lab() -> None:
    """The Positional Encoding Lab as one page, to play with in a browser.

    The notebook beside it, with the code of its experiments: `course open lab`.

    \b
    Example:
      course lab export
    """


@lab.command(short_help="Write the page into one file.")
@click.option("--mine", is_flag=True, help="With the functions in exercises/, right or wrong.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("positions_lab.html"),
    show_default=True,
    metavar="FILE",
    help="Where to write it.",
)
def export(mine: bool, out: Path) -> None:
    """Write the lab as one HTML file. Open it in a browser; it needs no network and no server.

    Its numbers come from the reference or, with --mine, from your own exercises, so you see what
    your functions do, right or wrong. What you have not written yet is borrowed from the
    reference, and the page says which. A small table is trained first, which takes some seconds.

    \b
    Examples:
      course lab export
      course lab export --mine --out mine.html
    """
    click.echo("training a small model for each width; this takes some seconds")
    from course.lab.numbers import LabError
    from course.lab.page import write_page

    try:
        numbers = write_page(out, mine)
    except LabError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror}") from None
    click.echo(f"{out} is written ({out.stat().st_size / 1000:,.0f} kB); open it in a browser")
    for said, names in (
        ("yours", numbers["yours"]),
        ("borrowed from the reference", numbers["borrowed"]),
        ("not checked since you wrote it", numbers["unchecked"]),
        ("wrong in its last check", numbers["foundWrong"]),
    ):
        if names:
            click.echo(f"{said}: {', '.join(names)}")
