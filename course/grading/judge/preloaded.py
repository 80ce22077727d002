"""All that judges need sooner or later: loaded once, by the process that they are forked from."""

import contextlib
import gc

gc.disable()  # nothing is garbage while PyTorch is loaded; to look for some takes half a second

from course.grading.judge.judge import cases  # noqa: E402

with contextlib.suppress(RuntimeError):  # tests that cannot be read: each judge reports it
    cases()
gc.freeze()  # or each judge's collector would copy all of this memory, by touching it
gc.enable()
