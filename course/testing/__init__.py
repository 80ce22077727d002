"""The tools to write graded tests with, and to run them: `run(module, cases) -> LessonResult`.

from course.testing import exercise, expect, limit
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Return a mark of pytest, imported only when a test file asks for it.

    `@exercise("rotate_half")` on a test class names the exercise that its tests grade.
    `@limit(60)` on a test gives the seconds that it may take.
    """
    if name not in ("exercise", "limit"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pytest

    return getattr(pytest.mark, name)
