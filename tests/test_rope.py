"""Lesson 5: rotate queries and keys. Grades `exercises/rope.py`."""

import torch

from course.testing import exercise, expect


@exercise("rotate_half")
class TestRotateHalf:
    def test_first_half_is_minus_the_second(self, lesson):
        """For halves x1, x2 the result is (-x2, x1)."""
        got = lesson.rotate_half(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        expect.close(got, torch.tensor([-3.0, -4.0, 1.0, 2.0]))

    def test_two(self, lesson, draw):
        """For halves x1, x2 the result is (-x2, x1)."""
        x = draw.normal(2, 6)
        expect.close(lesson.rotate_half(lesson.rotate_half(x)), -x)


@exercise("apply_rope")
class TestApplyRope:
    def test_position_zero(self, lesson, draw):
        """For halves x1, x2 the result is (-x2, x1)."""
        x = draw.normal(1, 6)
        expect.close(lesson.apply_rope(x, torch.ones(1, 6), torch.zeros(1, 6)), x)
