"""Formulas as browsers draw them without a script."""

from math_core import LatexToMathML

_LATEX = LatexToMathML(macros={"cr": r"\\"}, fancy_error=False)


def mathml(tex: str, *, is_display: bool) -> str:
    """Return a formula as MathML.

    Raises:
        math_core.LatexError: it is wrong.
    """
    return _LATEX.convert_with_local_state(tex, displaystyle=is_display)
