"""Formulas of the lessons' texts, in letters that every console has."""

import re

_SIZES = re.compile(r"\\(?:left|right|[bB]ig+)(?![a-z])")
_MARKS = {
    r"\cdot": "·",
    r"\dots": "...",
    r"\infty": "infinity",
    r"\langle": "<",
    r"\rangle": ">",
    r"\lfloor": "floor(",
    r"\rfloor": ")",
    r"\begin{pmatrix}": "[",
    r"\end{pmatrix}": "]",
    r"\cr": ";",
    "&": "",
    r"\qquad": " ",
    r"\partial": "d",
    r"\varepsilon": r"\epsilon",
}
_NAMES = r"\\(?:text|mathrm|mathbf)(?:\{([^{}]*)\}| (\w))"
_MIRRORED = r"\\(?:tilde|bar|overline)(?:\{([^{}]*)\}| (\w))"
_FRACTION = r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}"
_RAISED = r"([_^])\{([^{}]*)\}"


def as_letters(tex: str) -> str:
    r"""Return a formula as one would type it.

    >>> as_letters(r"\bar u \omega_i = 10000^{-2i/C}")
    "u' omega_i = 10000^(-2i/C)"
    >>> as_letters(r"\frac{q \cdot k_j}{\sqrt{D}} + \text{bias}_j")
    '(q · k_j) / sqrt(D) + bias_j'
    """
    tex = _SIZES.sub("", tex)
    for command, mark in _MARKS.items():
        tex = tex.replace(command, mark)
    before = ""
    while tex != before:  # from the inside out: what has braces inside waits for the next round
        before = tex
        tex = re.sub(_NAMES, r"\1\2", tex)
        tex = re.sub(_MIRRORED, lambda found: f"{found[2] or f'({found[1]})'}'", tex)
        tex = re.sub(r"\\sqrt\{([^{}]*)\}", r"\\sqrt(\1)", tex)
        tex = re.sub(_RAISED, lambda found: f"{found[1]}{_grouped(found[2])}", tex)
        tex = re.sub(_FRACTION, lambda found: f"{_grouped(found[1])} / {_grouped(found[2])}", tex)
    tex = re.sub(r"(?<=\w)\\", " ", tex).replace("\\", "")  # what is left is a name: sin, theta
    return re.sub(" +", " ", re.sub(r"[{}]", "", tex)).strip()


def _grouped(part: str) -> str:
    is_one = re.fullmatch(r"[A-Za-z]+|-?[\d.]+|\\\w+(\([^()]*\))?|[+-]", part)
    return part if is_one else f"({part})"
