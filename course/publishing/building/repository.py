"""Where the course is published on GitHub."""

import re
import tomllib

from course import root

BRANCH = "main"
GITHUB = "https://github.com/"
COLAB = "https://colab.research.google.com"


def address() -> str:
    """Return the address of the repository, such as `https://github.com/me/what-and-where`.

    It is `Repository` under `[project.urls]` in pyproject.toml.

    Returns:
        Without a slash or `.git` at its end; empty as long as the course is not published.

    Raises:
        ValueError: it is not the address of a repository on GitHub.
    """
    project = tomllib.loads((root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = project.get("urls", {}).get("Repository", "")
    url = given.removesuffix("/").removesuffix(".git")
    if given and not re.fullmatch(rf"{re.escape(GITHUB)}[\w.-]+/[\w.-]+", url):
        raise ValueError(
            f'is to link to the repository, but its address in pyproject.toml, "{given}", is not '
            f'like "{GITHUB}OWNER/NAME"'
        )
    return url
