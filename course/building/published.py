"""Where the course is published, for links that open it in the browser.

pyproject.toml says it, as `Repository` under `[project.urls]`, and nothing else does.
"""

import re
import tomllib

from course import root
from course.building.marked import written_between
from course.building.notebook_files import notebook_of, stems

BRANCH = "main"
BEGIN = "<!-- badges, written by course build -->\n"
END = "<!-- end of badges -->\n"

_COLAB = "https://colab.research.google.com"
_GITHUB = "https://github.com/"


def address() -> str:
    """The address of the repository on GitHub, such as `https://github.com/me/what-and-where`.

    Returns:
        Without a slash or `.git` at its end; empty as long as the course is not published.

    Raises:
        ValueError: what is said is no address of a repository on GitHub.
    """
    project = tomllib.loads((root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = project.get("urls", {}).get("Repository", "")
    url = said.removesuffix("/").removesuffix(".git")
    if said and not re.fullmatch(rf"{re.escape(_GITHUB)}[\w.-]+/[\w.-]+", url):
        raise ValueError(
            f'is to link to the repository, but its address in pyproject.toml, "{said}", is not '
            f'like "{_GITHUB}OWNER/NAME"'
        )
    return url


def with_badges(text: str) -> str:
    """README's text in which the badges are written anew; none as long as there is no address.

    Raises:
        ValueError: the markers are not there once each, in this order.
    """
    repository = address().removeprefix(_GITHUB)
    return written_between(text, BEGIN, END, _badges(repository) if repository else "")


def _badges(repository: str) -> str:
    """A badge for Codespaces, one for the first notebook in Colab, and links to the others."""
    folder = f"{_COLAB}/github/{repository}/blob/{BRANCH}/notebooks"
    first, *others = (f"({folder}/{notebook_of(stem).name})" for stem in stems())
    names = [stem.replace("_", " ") for stem in stems()[1:]]
    links = " ·\n".join(f"[{name}]{link}" for name, link in zip(names, others, strict=True))
    return (
        "[![Open in GitHub Codespaces](https://github.com/codespaces/badge.svg)]"
        f"(https://codespaces.new/{repository})\n"
        f"[![Open the first notebook in Colab]({_COLAB}/assets/colab-badge.svg)]{first}\n\n"
        f"The others in Colab: {links}\n"
    )
