"""A process that is killed at one of its changes to the disk."""

import contextlib
import os
import shutil
from pathlib import Path

import pytest


class Killed(BaseException):
    """The process is gone: nothing catches it, and no other change succeeds."""


class Kill:
    """The n-th change to the disk kills; all are counted."""

    def __init__(self, n: int) -> None:
        self.n, self.n_changes = n, 0

    @contextlib.contextmanager
    def armed(self):
        names = ("replace", "rename", "unlink", "rmdir", "mkdir", "chmod")
        changes = [(os, name) for name in names]
        changes += [(shutil, "copyfile"), (Path, "write_bytes")]
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in changes:
                patch.setattr(owner, name, self._counted(getattr(owner, name), name))
            yield

    def _counted(self, change, name):
        def counted_change(*arguments, **options):
            self.n_changes += 1
            if self.n_changes < self.n:
                return change(*arguments, **options)
            if self.n_changes == self.n and name == "write_bytes":  # in the middle of a file
                change(arguments[0], arguments[1][: len(arguments[1]) // 2])
            raise Killed

        return counted_change
