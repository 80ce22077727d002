"""What a merge gives."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Merged:
    """A student's file after the merge.

    Attributes:
        data: what it is to hold.
        notes: what came in, a few words each.
        conflicts: what could not be merged, and stays as the student has it.
        warnings: what was merged and may not fit.
    """

    data: bytes
    notes: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
