"""Hard links: counts the names of a file in a student's own folder."""

import os
from collections import Counter
from pathlib import Path


def names_within(folder: Path, at_most: int) -> Counter[tuple[int, int]]:
    """Count the names that each file of several names has in a folder, by its device and inode.

    Hidden places count too, and no link is followed. A file is the folder's own if it has as many
    names there as it has at all, its `st_nlink`.

    Args:
        at_most: so many entries are looked at; names beyond count as another's.
    """
    names, folders, left = Counter(), [folder], at_most
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return names
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif (status := entry.stat(follow_symlinks=False)).st_nlink > 1:
                        names[status.st_dev, status.st_ino] += 1
        except OSError:  # it is no folder, or is not to be looked into: its names are not counted
            continue
    return names
