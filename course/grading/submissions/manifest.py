"""Whose name stands in a zip that `course submit` packed: a hint, for anybody can write there."""

import contextlib
import json
import zipfile

from course.building.submission import MANIFEST
from course.grading.names import safe_name

MAX_BYTES = 64 << 10
"""Of a manifest; those that are packed have a twentieth of that."""


def named_in(opened: zipfile.ZipFile) -> str:
    """The name that was given to `course submit`, safe to show; empty if there is none.

    A forged zip can fail in any way, which says no more than that it names nobody.
    """
    with contextlib.suppress(Exception):
        member = opened.getinfo(MANIFEST)
        if member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with opened.open(member) as manifest:
                return safe_name(json.loads(manifest.read(MAX_BYTES))["name"])
    return ""
