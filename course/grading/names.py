"""Names and texts of strangers, made safe to show and to call a file."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

MAX_NAME_LENGTH = 80
"""A longer one is cut where it is shown."""

OWNER_UNCLEAR = "owner unclear"
"""The beginning of a note that only the instructor sees."""

_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d|index")
"""Names that Windows, or a web server, takes for something else."""


def printable(text: str) -> str:
    """Return a text without control characters, except for line ends.

    >>> printable("a" + chr(27) + "[31m")
    'a�[31m'
    """
    if text.isascii() and all(map(str.isprintable, text.split("\n"))):  # as nearly always
        return text
    text = _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks of Unicode that show nothing: whole sentences can be made of them."""


def safe_name(name: str) -> str:
    """Return a name without what is unsafe to show, to put into a table or to call a file.

    >>> safe_name("<b>Zoë</b>"), safe_name("..")
    ('_b_Zoë__b_', 'unnamed')
    """
    return _plain(name, " -_.,'+@()").lstrip(" .-+@'").rstrip(" .") or "unnamed"


def shown(*path: str | Path) -> str:
    """Return a path for a sentence; what reads as a sentence itself is quoted.

    >>> shown("rope - Copy (2).py"), shown("all of it was right, 14 of 14 points.py")
    ('rope - Copy (2).py', '“all of it was right, 14 of 14 points.py”')
    """
    said = _plain("/".join(map(str, path)), " -_.,'+@()/:")
    return f"“{said}”" if said.count(" ") > _MOST_BLANKS else said


_MOST_BLANKS = 6
"""Of a name that nobody takes for a sentence."""


def first_few(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first five names, and how many there are beyond them.

    >>> first_few(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    others = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return separator.join(names[:5]) + others


def _plain(text: str, also: str) -> str:
    """Keep letters, marks and digits of any script and the characters of `also`."""
    text = _INVISIBLE.sub("_", unicodedata.normalize("NFC", text))
    if len(text) > MAX_NAME_LENGTH:
        text = f"{text[: MAX_NAME_LENGTH - 3]}..."
    return "".join(c if c in also or unicodedata.category(c)[0] in "LMN" else "_" for c in text)


FEEDBACK = "feedback"
"""The folder with the students' pages."""


def feedback_path(student: str) -> str:
    """Return where a student's page lies among the reports."""
    return f"{FEEDBACK}/{file_stem(student)}.html"


def file_stem(student: str) -> str:
    """Return the name, without an ending, of the files about a student.

    It depends only on the student, and no two students share one, not even where capitals do not
    count. What is not a plain name gets 80 bits of a hash: enough that nobody finds another name
    with the same ones, and so takes the place of another student's page.

    >>> file_stem("jane_doe-2"), file_stem("Jane Doe")
    ('jane_doe-2', 'jane-doe~01332c876518a793b7c1')
    """
    letters = unicodedata.normalize("NFKD", student).encode("ascii", errors="ignore").decode()
    plain = re.sub(r"[^a-z0-9_]+", "-", letters.lower())[:40].strip("-")
    if plain == student and plain and not _RESERVED.fullmatch(plain):
        return plain
    digest = hashlib.sha256(student.encode("utf-8", errors="surrogatepass")).hexdigest()
    return f"{plain or 'student'}~{digest[:20]}"
