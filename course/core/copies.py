"""The names that computers give a second file: what is it a copy of?"""

import re
from functools import lru_cache

_WORD = "copy|copie|kopie"
_BEFORE = re.compile(rf"(?:\(\d+\) |(?:{_WORD})(?: \(?\d+\)?)?(?: of| von| van| de| di)? )+")
"""Google Drive and Colab make "Copy of rope.py", in a German browser "Kopie von rope.py"."""
_BEHIND = re.compile(rf"(?:(?: - | |-)(?:{_WORD})(?:-?\d+)?| ?\(\d+\)| \d+|-\d+)++")
"""Browsers make "rope (1).py", Canvas "rope-1.py", JupyterLab "rope-Copy1.py", Windows
"rope - Copy (2).py", a Mac "rope copy 2.py". `++` tries nothing in a second way: -copy-1 may be one
mark or two, so thirty of them would take for ever."""
_ENDING = re.compile(r"(\.(?:py|ipynb|zip|txt))(?:\.py|\.ipynb|\.txt|\.json)*")
"""Some editors and browsers put another ending behind the one that is there."""


@lru_cache(1 << 15)  # a student may hand in 20,000 files
def original_name(name: str) -> str:
    """Return the name of a file without what marks a copy, in small letters.

    >>> [original_name(name) for name in ("Copy of rope.py", "rope - Kopie (2).py", "Rope.py.txt")]
    ['rope.py', 'rope.py', 'rope.py']
    >>> original_name("1_lookup-Copy1.ipynb"), original_name("rope_final.py")
    ('1_lookup.ipynb', 'rope_final.py')
    >>> len(original_name(f"rope{50 * '-copy-1'}x.py"))
    358
    """
    name = name.lower()
    ending = next((one for one in _ENDING.finditer(name) if one.end() == len(name)), None)
    if ending is None:
        return name
    stem = name[: ending.start()]
    before = _BEFORE.match(stem)
    stem = stem[before.end() :] if before else stem
    for start in range(1, len(stem)):
        if _BEHIND.fullmatch(stem, start):
            stem = stem[:start]
            break
    return stem + ending[1]
