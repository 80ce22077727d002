"""The search for the known mistake that explains a failure.

What a student's code gave back through the door is compared with what each mistake of the
catalogue gives in the same tests, on the same inputs. A wrong diagnosis is worse than none:

- A mistake explains the whole exercise if it fails the same tests, passes the same ones, and
  wherever it fails gives back the same values, up to rounding, or fails with the same one.
- Else, for there may be two mistakes at once, one explains at least half of the failures, more
  than any other does: it gives back the same values in every test that it fails, and fails none
  that the student passes.

Which tests a mistake fails is known beforehand (`refusals.py`), so only those few are run that
the student's code could be.
"""

import re
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch

from course.mistakes import Mistake, mistakes
from course.mistakes.refusals import refusals
from course.mistakes.replaced import examination_of
from course.testing.case import Case
from course.testing.examine import Finding, forget_frames
from course.testing.outcomes import NotRun, Stopped, StudentError
from course.testing.run import Diagnose, Diagnosis

SECONDS_PER_EXERCISE = 3.0
"""When the processor has worked so long on one exercise, no further mistake is tried."""


class KnownMistake:
    """A mistake of the catalogue in the reference's place, and how it fares in the tests."""

    def __init__(self, mistake: Mistake, cases: Sequence[Case], seed: int) -> None:
        self.mistake = mistake
        self._cases = cases
        self._examination = examination_of(mistake, cases[0].lesson, seed)
        self._findings: dict[Case, Finding] = {}
        self._statuses = refusals(mistake, cases[0].lesson)

    def status(self, case: Case) -> str:
        """Return how it ends in a test: as was found out beforehand, or else by running it."""
        return self._statuses.get(case.name) or self.finding(case).status

    def finding(self, case: Case) -> Finding:
        """Return how the mistake fares in a test; earlier tests run first if it remembers them."""
        in_order = self.mistake.forget is not None
        if in_order and not self._findings:
            self.mistake.forget()
        for one in self._cases if in_order else [case]:
            if one not in self._findings:
                with warnings.catch_warnings(action="ignore"):  # not the student's
                    found = self._examination.attempt(one)
                self._findings[one] = _what_counts(found)
            if one == case:
                break
        return self._findings[case]

    def explains(self, seen: Finding) -> bool:
        """Return whether it fails a test just as the student's code did."""
        if self.status(seen.case) != "wrong":
            return False
        found = self.finding(seen.case)
        # what a test compares may lie closer together: pairs in another order are the same, sorted
        return found.status == "wrong" and (
            (_same(found.trace, seen.trace) and found.text == _held_instead(seen.text))
            or bool(seen.refused and _same(found.refused, seen.refused))
        )


def _what_counts(found: Finding) -> Finding:
    """Return a finding without what nobody compares: a judge keeps thousands of them."""
    if found.status == "passed":
        return replace(found, failure=None, text="", trace=[], refused=[])
    forget_frames(found)
    return replace(found, failure=None, text=_held_instead(found.text))


def _held_instead(text: str) -> str:
    """Return what a module holds that lacks the parameter a test sets; of names only how deep."""
    if not re.match(r"the module has no parameter |\S+ has shape ", text):
        return ""
    return re.sub(r"'[^']*'", lambda name: "." * name[0].count("."), text)


def known_mistakes(cases: Sequence[Case], seed: int) -> list[KnownMistake]:
    """Return the known mistakes of an exercise; these cases, in order, are all its tests."""
    known = mistakes(cases[0].lesson)
    return [KnownMistake(one, cases, seed) for one in known if one.exercise == cases[0].exercise]


def diagnoser(seed: int) -> Diagnose:
    """Return what explains the findings of an exercise in tests of this seed."""
    return lambda findings: diagnose(findings, known_mistakes([one.case for one in findings], seed))


def diagnose(
    findings: Sequence[Finding],
    known: Sequence[KnownMistake],
    seconds: float = SECONDS_PER_EXERCISE,
) -> Diagnosis | None:
    """Return what explains the findings of one exercise, or None."""
    if any(isinstance(finding.failure, Stopped | NotRun) for finding in findings):
        return None
    wrong = [one for one in findings if one.status == "wrong"]
    wrong.sort(key=lambda finding: finding.seconds)
    passed = [one for one in findings if one.status == "passed"]
    if not wrong:
        return None
    deadline = time.process_time() + seconds

    def in_time(_: object) -> bool:
        return time.process_time() < deadline

    best: list[Diagnosis] = []
    candidates = _candidates(filter(in_time, known), wrong, passed)
    for candidate, shared in filter(in_time, candidates):
        if best and len(shared) < len(best[0].explains):
            break
        if all(candidate.explains(one) for one in shared):
            mistake, explained = candidate.mistake, tuple(one.case.name for one in shared)
            best.append(Diagnosis(mistake.name, mistake.says, mistake.look, explained))
            if len(shared) == len(wrong):
                break
    said = {one.says for one in best}  # variants of one mistake say the same
    return best[0] if len(said) == 1 else None


def _candidates(
    known: Iterable[KnownMistake], wrong: Sequence[Finding], passed: Sequence[Finding]
) -> list[tuple[KnownMistake, list[Finding]]]:
    """Return mistakes that fail none of `passed`, with what they fail of `wrong`; most first."""
    candidates = []
    for known_mistake in known:
        if all(known_mistake.status(one.case) == "passed" for one in passed):
            shared = [one for one in wrong if known_mistake.status(one.case) != "passed"]
            if len(shared) >= len(wrong) / 2:
                candidates.append((known_mistake, shared))
    return sorted(candidates, key=lambda candidate: len(candidate[1]), reverse=True)


def _same(a: Any, b: Any) -> bool:
    """Compare up to rounding, the precision that floats are kept in, and the wording of errors."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.is_floating_point() != b.is_floating_point():
            return False
        if a.device != b.device or a.device.type == "meta":
            return a.device == b.device
        if not a.is_floating_point():
            return torch.equal(_widened(a), _widened(b))
        rounding = max(_ROUNDING.get(a.dtype, 1e-3), _ROUNDING.get(b.dtype, 1e-3))
        near = {"rtol": rounding, "atol": rounding / 10, "equal_nan": True}
        return torch.allclose(a.double(), b.double(), **near)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() == b.keys():
            return all(_same(a[key], b[key]) for key in a)
        return _anonymous(a) == _anonymous(b)  # the names of buffers are free
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 1e-3 * max(1.0, abs(a)) or (a != a and b != b)
    if isinstance(a, StudentError) and isinstance(b, StudentError):
        return a.kinds[0] == b.kinds[0] and _numbers(a.message) == _numbers(b.message)
    return type(a) is type(b) and a == b


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    """Return integers in one dtype: PyTorch refuses to compare uint16 and its like with others."""
    return tensor if tensor.is_complex() else tensor.long()


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text)


_ROUNDING = {torch.bfloat16: 2e-2, torch.float16: 3e-3}
"""How far two results may lie apart, per unit, that differ in the order of their steps only."""


def _anonymous(values: dict) -> list[tuple[int, tuple[int, ...]]]:
    """Return the shapes of what has names, each with its depth in the module: 1 for emb.weight."""
    return sorted(
        (str(name).count("."), tuple(getattr(value, "shape", ()))) for name, value in values.items()
    )
