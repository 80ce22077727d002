"""Lesson 5: known mistakes and legitimate alternatives."""

import torch

from course.testing.catalogue import alternative, mistake


@mistake(
    "rotate_half",
    says="rotate_half negates the first half instead of the second.",
    look="Which half of the result carries the minus sign?",
)
def minus_on_the_wrong_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x2, -x1), dim=-1)


@alternative("rotate_half")
def rolled_by_half(x):
    half = x.shape[-1] // 2
    signs = torch.ones_like(x)
    signs[..., :half] = -1
    return x.roll(half, dims=-1) * signs
