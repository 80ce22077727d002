"""Names and texts of strangers, made safe to show and to call a file."""

import hashlib
import re
import string
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
    if all(map(str.isprintable, text.split("\n"))):  # as nearly always
        return text
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


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


def exact_name(name: str) -> str:
    """Return a name with the codes of unusual characters, to tell apart two that look the same."""
    usual = string.ascii_letters + string.digits + " -_.,'"
    return "".join(c if c in usual else f"(U+{ord(c):04X})" for c in name)


_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that a page shows nothing for."""
_CONFUSABLE = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
"""Scripts with letters that look the same, as in "a" and "\u0430"."""
_WRITTEN_TOGETHER = {"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"}


def is_deceptive(name: str) -> bool:
    """Tell whether a name may look like another: with invisible letters, or of mixed scripts.

    >>> is_deceptive("J\u0430ne"), is_deceptive("Jane\ufe0f"), is_deceptive("Zoë 李")
    (True, True, False)
    >>> is_deceptive("\uff4aane"), is_deceptive("bi\u217c\u217c")  # other forms of j and l
    (True, True)
    """
    letters = [c for c in name if c.isalnum() and not c.isascii()]
    words = [_scripts(word) for word in re.split(r"[\W\d_]+", name)]
    return (
        _INVISIBLE.search(name) is not None
        or not name.isprintable()
        or any(unicodedata.normalize("NFKC", letter).isascii() for letter in letters)
        or len(_CONFUSABLE & set().union(*words)) > 1
        or any(len(scripts) > 1 for scripts in words)
    )


def _scripts(word: str) -> set[str]:
    """Return the scripts of a word's letters, by the first word of their Unicode names."""
    letters = [sign for sign in word if unicodedata.category(sign) in ("Lu", "Ll", "Lt", "Lo")]
    names = {re.split("[ -]", unicodedata.name(one, ""))[0] for one in letters}
    return {"CJK" if name in _WRITTEN_TOGETHER else name for name in names}


def _plain(text: str, also: str) -> str:
    """Keep letters, marks and digits of any script and the characters of `also`."""
    text = unicodedata.normalize("NFC", text)
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
