"""What judges need sooner or later: loaded once, by the process that they are all forked from."""

import gc

gc.disable()  # nothing is garbage while PyTorch is loaded; to look for some takes half a second

import torch._dynamo  # noqa: E402, F401, for optimizers, and for tensors on the meta device

from course.grading.judge import cases  # noqa: E402

cases()
gc.freeze()  # or each judge's collector would copy all of this memory, by touching it
gc.enable()
