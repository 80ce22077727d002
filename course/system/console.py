"""Output that any console can show, also one that knows few letters.

A Windows console whose output goes to a file or a pipe often knows 256 characters only. There σ is
written out instead of stopping the program.
"""

import codecs
import io
import sys

_SPELLED = {
    **{"σ": "sigma", "Σ": "sum", "√": "sqrt ", "π": "pi", "α": "alpha", "λ": "lambda"},
    **{"θ": "theta", "∞": "inf", "ᵀ": "^T", "−": "-", "×": "x", "·": "*", "±": "+-", "°": " deg"},
    **{"≤": "<=", "≥": ">=", "≈": "about ", "→": "->", "…": "...", "–": "-", "—": "-", "∎": "."},
    **{"¹": "^1", "²": "^2", "³": "^3", "⁰": "0", "⁵": "5", "⁶": "6", "⁸": "8", "⁻": "^-"},
    **{"‘": "'", "’": "'", "“": '"', "”": '"', "│": "|", "─": "-", "█": "#"},
}


def readable_anywhere() -> None:
    """Write what the console cannot show, from now on, in letters that it has.

    >>> print("σ".encode("cp1252", errors="spelled").decode())
    sigma
    """
    codecs.register_error("spelled", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not where a notebook or a test took its place
            stream.reconfigure(errors="spelled")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(_SPELLED.get(letter, "?") for letter in unknown), error.end
