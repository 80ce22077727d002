"""A process that is killed at one of its changes to the disk."""

import contextlib
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest


class Killed(BaseException):
    """The process is gone: nothing catches it, and no other change succeeds."""


class Kill:
    """Every change to the disk, noted by name; the n-th kills."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.changes = at, []

    @contextlib.contextmanager
    def armed(self):
        names = ("replace", "rename", "unlink", "rmdir", "mkdir", "chmod")
        changes = [(os, name) for name in names]
        changes += [(shutil, "copyfile"), (Path, "write_bytes"), (subprocess, "run")]
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in changes:
                patch.setattr(owner, name, self._counted(getattr(owner, name), name))
            yield

    def _counted(self, change, name):
        def counted_change(*arguments, **options):
            self.changes.append(name)
            n = len(self.changes)
            if self.at is None or n < self.at:
                return change(*arguments, **options)
            if n == self.at and name == "write_bytes":  # killed in the middle of a file
                change(arguments[0], arguments[1][: len(arguments[1]) // 2])
            if n == self.at and name == "run" and n % 2:  # git was through already
                change(*arguments, **options)
            raise Killed

        return counted_change

    def one_of_each_kind(self, dice: random.Random) -> list[int]:
        """Places to kill at, of all that were noted."""
        return [
            dice.choice([n for n, kind in enumerate(self.changes, 1) if kind == name])
            for name in dict.fromkeys(self.changes)
        ]
