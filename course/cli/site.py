"""`course site build`."""

from importlib.util import find_spec

import click

_NEEDED = ("sphinx", "myst_nb", "furo", "math_core", "sphinx_copybutton")


@click.group(short_help="Build the course as a website.")
def site() -> None:
    """Build the course as a website: lessons, executed notebooks and reference pages.

    Open site/index.html in a browser; it needs neither a network nor a server.

    \b
    Examples:
      course site build
    """


@site.command(short_help="Build the site.")
def build() -> None:
    """Build the site. The first time takes minutes, because it runs all notebooks.

    The notebooks show real words if you have run `course data all`. If the build fails, you keep
    the previous site.

    \b
    Examples:
      course site build
    """
    if not all(map(find_spec, _NEEDED)):
        raise click.ClickException('the site needs more packages: pip install -e ".[site]"')
    from course import root
    from course.publishing.site.build import SiteError, build_site

    out = root() / "site"
    click.echo(
        "building the site; a notebook that is new or meets new code is run first, for minutes"
    )
    try:
        warnings = build_site(out, root() / ".course" / "site")
    except SiteError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        reason = f"{error.filename} cannot be written: {error.strerror}"
        raise click.ClickException(reason) from None
    if warnings:
        click.echo(warnings, err=True)
    click.echo(f"built {out}; open {out / 'index.html'}")
