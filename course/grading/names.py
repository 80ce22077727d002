"""Names and texts of strangers, made safe to show and to call a file."""

import hashlib
import re
import unicodedata

_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d|index")
"""What Windows, or a web server, takes for something else."""


def printable(text: str) -> str:
    """A text that does nothing but say something: no control characters, no half characters.

    >>> printable("a" + chr(27) + "[31m")
    'a�[31m'
    """
    if all(map(str.isprintable, text.split("\n"))):  # as nearly always
        return text
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


FEEDBACK = "feedback"
"""The folder with the students' pages."""


def feedback_path(student: str) -> str:
    """Where a student's page lies among the reports."""
    return f"{FEEDBACK}/{file_stem(student)}.html"


def file_stem(student: str) -> str:
    """The name, without an ending, of the files about a student.

    It depends on nothing but the student, and no two students share one, not even where capitals
    do not count. What is not a plain name gets a hash.

    >>> file_stem("jane_doe-2"), file_stem("Jane Doe")
    ('jane_doe-2', 'jane-doe~01332c876518')
    """
    letters = unicodedata.normalize("NFKD", student).encode("ascii", errors="ignore").decode()
    plain = re.sub(r"[^a-z0-9_]+", "-", letters.lower())[:40].strip("-")
    if plain == student and plain and not _RESERVED.fullmatch(plain):
        return plain
    digest = hashlib.sha256(student.encode("utf-8", errors="surrogatepass")).hexdigest()[:12]
    return f"{plain or 'student'}~{digest}"
