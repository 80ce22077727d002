"""`course lab`."""

from pathlib import Path

import click


@click.group(short_help="Write the positions lab as a page for your browser.")
def lab() -> None:
    """Export the positions lab, a web page to play with.

    `course open lab` opens a notebook with the code behind its experiments.

    \b
    Example:
      course lab export
    """


@lab.command(short_help="Write the page to a file.")
@click.option("--mine", is_flag=True, help="Add the functions in exercises/, right or wrong.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("positions_lab.html"),
    show_default=True,
    metavar="FILE",
    help="The file to write.",
)
def export(mine: bool, out: Path) -> None:
    """Write the lab to a single HTML file, which needs no network or server.

    The first time, this trains five small models, which takes about twenty seconds. With --mine,
    the page also shows your own functions, right or wrong: their positions, how these differ from
    the reference's, and which of the story's claims hold for them. Functions that you haven't
    written yet are borrowed from the reference, and the page says which.

    \b
    Examples:
      course lab export
      course lab export --mine --out mine.html
    """
    from course.lab.page import write_page

    try:
        numbers = write_page(out, mine, lambda what: click.echo(f"  {what}"))
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror}") from None
    click.echo(f"wrote {out} ({out.stat().st_size / 1000:,.0f} kB); open it in a browser")
    if not mine:
        return
    exercises = numbers["mine"]["exercises"]
    yours = [one for one in exercises if one["source"] == "yours"]
    for said, names in (
        ("yours", [one["name"] for one in yours]),
        ("borrowed from the reference", [one["name"] for one in exercises if one not in yours]),
        ("wrong", [one["name"] for one in yours if one["status"] == "wrong"]),
    ):
        if names:
            click.echo(f"{said}: {', '.join(names)}")
    for trouble in numbers["mine"]["troubles"].values():
        click.echo(trouble)
