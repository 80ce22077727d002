"""The tools to write graded tests with, and to run them: `run(module, cases) -> LessonResult`.

from course.testing import corner, exercise, expect, limit
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Return a mark of pytest, imported only when a test file asks for it.

    `@exercise("rotate_half")` on a test class names the exercise that its tests grade. `@corner`
    on a class or a test says that it is about a corner (dtypes, devices, empty inputs, layouts,
    messages of errors, memory, speed), which is tested once the idea is right. `@limit(60)` on a
    test gives the seconds that it may take.
    """
    if name not in ("corner", "exercise", "limit"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pytest

    return getattr(pytest.mark, name)
