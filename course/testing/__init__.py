"""What graded tests are written with, and the pytest plugin that runs them.

from course.testing import exercise, expect, limit
"""

import pytest

from course.testing import expect

exercise = pytest.mark.exercise
"""`@exercise("rotate_half")` on a test class: the exercise that its tests grade."""

limit = pytest.mark.limit
"""`@limit(60)` on a test: the seconds it may take."""

__all__ = ["exercise", "expect", "limit"]
