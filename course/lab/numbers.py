"""A student's own functions as numbers for the figures to play with: `window.COURSE_OWN`."""

from typing import Any

from course.lab.own import own_results, own_tables
from course.lab.trained import committed, packed, unpacked

LONGEST = 64
"""Positions of which the page has the numbers."""


def own_numbers() -> dict[str, Any]:
    """Return the tables of the functions in `exercises/`, right or wrong, ready for JSON.

    Returns:
        positions: scheme -> its table as `table_of` returns it, packed; troubles: scheme -> a
        sentence on why it has none; exercises: as `own_results` returns them.
    """
    tables, troubles = own_tables(LONGEST, unpacked(committed()["learned"]["positions"]))
    for scheme, table in list(tables.items()):
        if not table.isfinite().all():
            troubles[scheme] = f"The numbers of your {scheme} positions are not all finite."
            del tables[scheme]
    return {
        "positions": {scheme: packed(table) for scheme, table in tables.items()},
        "troubles": troubles,
        "exercises": own_results(),
    }
