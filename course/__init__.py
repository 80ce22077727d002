"""What and Where: how a transformer knows what a token is and where it stands."""

from pathlib import Path

__version__ = "0.1.0"

ROOT = Path(__file__).resolve().parent.parent
"""The course repository: the folder that holds `exercises/`, `solutions/` and `tests/`."""

IS_WHOLE = (ROOT / "pyproject.toml").exists()
"""Whether it is all there; where `pip` copied the package alone, the exercises are elsewhere."""
