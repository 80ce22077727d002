"""`course site build`."""

from importlib.util import find_spec
from pathlib import Path

import click

_NEEDED = ("sphinx", "myst_nb", "furo", "math_core", "sphinx_copybutton")


@click.group(short_help="Build the course as a website.")
def site() -> None:
    """The course as a website: texts, notebooks as they look after a run, and what helpers do.

    It needs no network and no server: open site/index.html in a browser.

    \b
    Examples:
      course site build
    """


@site.command(short_help="Build the site.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to build it in; without it, site/.",
)
def build(out: Path | None) -> None:
    """Build the site. It takes minutes, because all notebooks are run.

    They show real words where `course data all` has fetched them.

    It is written whole or not at all: a build that fails leaves the older site as it was.

    \b
    Examples:
      course site build
      course site build --out public
    """
    if not all(map(find_spec, _NEEDED)):
        raise click.ClickException('building the site needs more: pip install -e ".[site]"')
    from course import root
    from course.site.build import SiteError, build_site

    out = (out or root() / "site").resolve()
    click.echo("building the site; all notebooks are run, which takes minutes")
    try:
        warnings = build_site(out)
    except SiteError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        reason = f"{error.filename} cannot be written: {error.strerror}"
        raise click.ClickException(reason) from None
    if warnings:
        click.echo(warnings, err=True)
    click.echo(f"built {out}; open {out / 'index.html'}")
