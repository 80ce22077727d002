"""The search for the known mistakes that explain a failure.

What a student's code gave back through the door is compared with what each mistake of the
catalogue gives in the same tests, on the same inputs. A wrong diagnosis is worse than none, so a
mistake explains a failing test only if it fails it with the same values, up to rounding, or with
the same error; and it is out of the question if it fails a test that the student's code passes.

- One mistake that explains all failing tests is named: one of the lesson's own, else one of a
  family that any exercise can have, rather what is seen than a cause.
- Else two mistakes at once that explain them all: their edits, made together. The one to fix first
  is named.
- Else a mistake that explains at least half of the failing tests, because another one, unknown, may
  be in the rest, and spoil one in four of the tests that the known one fails.

Those that look most like the student's code are tried first, because time is limited (likeness.py).
Where several that do not say the same explain as much, none is named. If nothing else is, an
exception that many meet is explained, or it is said that small inputs alone are right.
"""

import contextlib
import functools
import itertools
import math
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from course.core.syllabus import Status
from course.mistakes import Mistake, errors, mistakes, pytorch
from course.mistakes.contrast import contrast, outgrown
from course.mistakes.families import CAUSES, SHOWS, families, in_called
from course.mistakes.likeness import likeness
from course.mistakes.variant import EditError, Variant, reference_text
from course.testing.case import Case
from course.testing.door import Names
from course.testing.errors import DID_YOU
from course.testing.examine import Examination, Finding, drop_tracebacks
from course.testing.executor import Executor
from course.testing.expect import briefly
from course.testing.outcomes import Stopped, StudentError
from course.testing.run import Diagnose, Diagnosis

SECONDS, AT_LEAST = 0.6, 0.1
"""How long the processor looks for the mistakes in one lesson, and at least in one exercise."""

PATIENTLY = 600.0, 1.0
"""The seconds in all, and for two mistakes at once, when a class is graded: there each mistake is
tried once for many diagnoses."""

_FOR_ONE = 0.6
"""The share of the time in which one mistake is looked for, of the lesson or of a family."""

_SAMPLE = 3
"""How many of the failing tests decide which mistakes may explain a part, and pairs the whole."""

_FIRST_TO_PASS = 2
"""How many of the tests that passed, the quickest, rule out mistakes of families at first."""

_FOR_COMMON = 0.05
"""How much earlier a mistake is tried if many make it, in likeness."""

_SECONDS_OF_A_TEST = 2.0
"""How long a known mistake may take in one test; what is right takes a twentieth of a second."""

_MAX_PAIRS = 300
"""How many pairs of one exercise are kept: there are up to 50,000, of 20 kB each."""


class KnownMistake:
    """A mistake of the catalogue in the reference's place, and how it fares in the tests."""

    def __init__(
        self, mistake: Mistake, cases: Sequence[Case], seed: int, variant: Variant | None = None
    ) -> None:
        self.mistake = mistake
        self.variant = variant or mistake.variant
        self._cases = cases
        self._seed = seed
        self._findings: dict[Case, Finding] = {}
        self._others: dict[Case, tuple[int, Any]] = {}

    @functools.cached_property
    def examination(self) -> Examination:
        """The tests, to be run on it."""
        module = self.variant.module()
        return Examination(Executor(module), seed=self._seed)

    def finding(self, case: Case) -> Finding:
        """Return how the mistake fares in a test; earlier tests run first if it remembers them."""
        in_order = self.mistake.forget is not None
        if in_order and not self._findings:
            self.mistake.forget()
        for one in self._cases if in_order else [case]:
            if one not in self._findings:
                with warnings.catch_warnings(action="ignore"), briefly():  # not the student's
                    found = self.examination.attempt(_in_brief(one))
                self._findings[one] = _without_tensors(found)
            if one == case:
                break
        return self._findings[case]

    def may_explain(self, seen: Finding) -> bool:
        """Return whether it might fail a test as the student's code did.

        It is tried only until something else comes back, which is kept.
        """
        if self.mistake.forget is not None or seen.case in self._findings:
            return self.explains(seen)
        place, other = self._others.get(seen.case, (0, None))
        if other is not None and not _may_become([other], seen.trace[place : place + 1]):
            return False
        trace = _OnlyAs(seen.trace)
        try:
            with warnings.catch_warnings(action="ignore"), briefly():
                self.examination.attempt(_in_brief(seen.case), trace=trace)
        except _Another:
            self._others[seen.case] = len(trace), trace.another
            return False
        return self.explains(seen)

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Take over how it fared where it was tried, so that it need not be tried again."""
        for one in findings:
            if self.mistake.forget is None and one.status in (Status.PASSED, Status.WRONG):
                self._findings[one.case] = _without_tensors(one)

    def likeness(self, looks_alike: Callable[[Variant], float]) -> float:
        """Return how much it looks like what the student wrote."""
        if self.mistake.forget is not None:  # it is not made of text
            return 0.0
        return looks_alike(self.variant) + _FOR_COMMON * self.mistake.common

    def passes(self, cases: Iterable[Case]) -> bool:
        """Return whether it passes these tests."""
        return all(self.finding(case).status == Status.PASSED for case in cases)

    def explains(self, seen: Finding, exactly: bool = False) -> bool:
        """Return whether it fails a test just as the student's code did.

        Args:
            exactly: up to rounding, even if the test leaves more room, as for one GELU or another.
        """
        found = self.finding(seen.case)
        if found.status != Status.WRONG:
            return False
        if self.mistake.family and _outline(found.trace) != _outline(seen.trace):
            return False
        if same_values(found.trace, seen.trace) and found.text == _compared_text(seen):
            return True
        # what a test compares may lie closer together: pairs in another order are the same, sorted
        both = zip(found.mismatches, seen.mismatches, strict=False)
        return any(
            same_values(its, others, 0.0 if exactly else tolerance)
            for (its, _), (others, tolerance) in both
        )


class _Another(BaseException):
    """Something else came back; not an `Exception`, so that a test lets it pass."""


class _OnlyAs(list):
    """A trace that goes on only as another one went."""

    def __init__(self, other: Sequence[Any]) -> None:
        super().__init__()
        self._other = other

    def append(self, value: Any) -> None:
        if not _may_become([value], self._other[len(self) : len(self) + 1]):
            self.another = value
            raise _Another
        super().append(value)


def _may_become(came: list, kept: list) -> bool:
    """Compare what came back with what a test kept: "accepted", where it wanted a refusal."""
    return same_values(came, kept) or same_values(["accepted"], kept)


def _in_brief(case: Case) -> Case:
    """Return a test that is given up soon: what takes so long is not what the student wrote."""
    return replace(case, seconds=min(case.seconds, _SECONDS_OF_A_TEST))


def _without_tensors(found: Finding) -> Finding:
    """Return what is compared of a finding: a judge keeps thousands of them."""
    text = _compared_text(found)
    if found.status == "passed":
        return replace(found, failure=None, text=text, trace=[], mismatches=[], calls=[])
    drop_tracebacks(found)
    return replace(found, failure=None, text=text, calls=[])


def _compared_text(found: Finding) -> str:
    """Return what a message says that no value tells.

    That is what a call does besides returning something, that no gradient flows back, or what a
    module holds that lacks the parameter a test sets; of its names only how deep they are.
    """
    sentence = str(found.failure).partition("\n")[0]
    does = re.match(
        r"(?:\S+ )?(chang\w+ (its argument|a setting)|calls torch.manual|no gradient)", sentence
    )
    if does:
        return does[1]
    if not re.match(r"the module has no parameter |\S+ has shape ", sentence):
        return ""
    return re.sub(r"'[^']*'", lambda name: "." * name[0].count("."), sentence)


class KnownMistakes:
    """All known mistakes of an exercise; these cases, in order, are all its tests."""

    def __init__(self, cases: Sequence[Case], seed: int) -> None:
        self.cases = cases
        self._seed = seed
        self._pairs: dict[tuple[KnownMistake, KnownMistake], KnownMistake | None] = {}
        self.singles = []
        for one in sorted(mistakes(cases[0].lesson), key=lambda one: not one.common):
            if one.exercise == cases[0].exercise:
                with contextlib.suppress(EditError):  # somebody has changed the reference
                    if one.variant.text:
                        self.singles.append(KnownMistake(one, cases, seed))

    @functools.cached_property
    def of_families(self) -> list[KnownMistake]:
        """The mistakes of exercises that this one calls, and those that any exercise can have."""
        of_this = self.cases[0].lesson, self.cases[0].exercise
        found = [*in_called(*of_this), *families(*of_this)]
        return [KnownMistake(one, self.cases, self._seed) for one in found]

    def of_families_that_show(self, symptoms: set[str]) -> list[KnownMistake]:
        """Return those that may show in such symptoms."""
        return [
            one for one in self.of_families if SHOWS.get(one.mistake.family) in (None, *symptoms)
        ]

    def symptoms(self, seen: Finding) -> set[str]:
        """Return in what a failure shows, as in `SHOWS`, when the reference is tried as well."""
        with warnings.catch_warnings(action="ignore"), briefly():
            right = self._right.attempt(seen.case).trace
        if any(isinstance(one, StudentError) for one in right) or _may_be_a_refusal(seen):
            return {"refusal"}
        right = right[: len(seen.trace)]
        is_like = _outline(right) == _outline(seen.trace) and "the dtype is " not in seen.text
        return {"values" if is_like else "form"}

    @functools.cached_property
    def _right(self) -> Examination:
        case = self.cases[0]
        right = Variant(case.lesson, case.exercise, "the reference")
        return Examination(Executor(right.module()), seed=self._seed)

    def pair(self, one: KnownMistake, other: KnownMistake) -> KnownMistake | None:
        """Return two mistakes made at once, if they can be."""
        if (one, other) not in self._pairs:
            if len(self._pairs) == _MAX_PAIRS:
                self._pairs.clear()
            variant = None
            if one.mistake.forget is None and other.mistake.forget is None:
                variant = one.variant.and_also(other.variant)
            made = variant and KnownMistake(one.mistake, self.cases, self._seed, variant)
            self._pairs[one, other] = None
            with contextlib.suppress(Exception):  # two edits may make no definition together
                self._pairs[one, other] = made if made and made.examination else None
        return self._pairs[one, other]


def diagnoser(seed: int) -> Diagnose:
    """Return what explains the findings of an exercise in tests of this seed.

    All exercises of a lesson share the time that a student waits for.
    """
    left: dict[str, float] = {}

    def named(findings: Sequence[Finding]) -> Diagnosis | None:
        lesson = findings[0].case.lesson
        seconds = max(left.get(lesson, SECONDS), AT_LEAST)
        start = time.process_time()
        known = KnownMistakes([one.case for one in findings], seed)
        diagnosis = diagnose(findings, known, (seconds, seconds))
        left[lesson] = seconds - (time.process_time() - start)
        return diagnosis

    return named


def diagnose(
    findings: Sequence[Finding],
    known: KnownMistakes,
    seconds: tuple[float, float] = (SECONDS, SECONDS),
) -> Diagnosis | None:
    """Return what explains the findings of one exercise, or None.

    Args:
        seconds: of the processor, in all, and for two mistakes at once.
    """
    if any(isinstance(finding.failure, Stopped) for finding in findings):
        return None
    wrong = sorted(
        (one for one in findings if one.status == Status.WRONG),
        key=lambda one: 0 if _raised_at_once(one) else one.seconds,  # the simplest is first
    )
    passed = sorted(
        (one for one in findings if one.status == Status.PASSED), key=lambda one: one.seconds
    )
    shows = [one for one in wrong if one.trace or one.mismatches or _compared_text(one)]
    if not shows or any(map(_is_unfinished, wrong)):  # nothing comes from what is not there
        return None
    must_pass = [one.case for one in passed]
    sample = _sample(wrong)
    start = time.process_time()
    in_time = _within(seconds[0] * _FOR_ONE)
    symptoms = set().union(*map(known.symptoms, sample))
    looks_alike = likeness(wrong[0].source, wrong[0].case.exercise)

    def alone(agree: Iterable[KnownMistake]) -> list[KnownMistake]:
        """Return those of these that explain all failing tests, each by itself."""
        whole = [one for one in agree if all(map(one.explains, wrong)) and one.passes(must_pass)]
        exact = [one for one in whole if all(one.explains(seen, exactly=True) for seen in wrong)]
        return _preferred(exact or whole)

    evidence: dict[KnownMistake, list[int]] = {}
    alike: dict[KnownMistake, float] = {}
    for is_family, early in ((False, _within(seconds[0] * _FOR_ONE / 2)), (True, in_time)):
        candidates = known.singles
        if is_family:  # made only now: mostly it is one of the lesson's own
            candidates = known.of_families_that_show(symptoms)
        alike |= {one: one.likeness(looks_alike) for one in candidates}
        candidates = sorted(candidates, key=lambda one: -alike[one])
        if _is_about_names(wrong[0]):  # what was kept raises none, and no two do that don't alone
            heads = _heads_that_do_not_fit(wrong[0])
            candidates = [
                one
                for one in candidates
                if one.mistake.forget is None and (not heads or heads != _heads(one.variant.text))
            ]
        if (
            _is_about_names(wrong[0]) or (is_family and _raised_as_none(wrong[0], evidence))
        ) and not any(in_time() and one.may_explain(wrong[0]) for one in candidates):
            continue
        agree = [one for one in candidates if in_time() and one.explains(wrong[0])]
        whole = alone(agree)
        if whole:
            return _named(whole, wrong, another=False) or _explained_error(findings)
        for one in sorted(candidates, key=lambda one: one not in agree):
            if one not in agree and not early():
                break
            found = _evidence(one, sample)
            if max(found) == _PASSES and len(sample) == len(wrong):
                continue
            if not is_family or (_DIFFERS not in found and one.passes(must_pass[:_FIRST_TO_PASS])):
                evidence[one] = found
        whole = alone(one for one, found in evidence.items() if set(found) == {_AGREES})
        if whole:  # found late
            return _named(whole, wrong, another=False) or _explained_error(findings)
    left = start + seconds[0] - time.process_time()
    pairs = _pairs(evidence, alike, _within(min(seconds[1], left)))
    n_agree = [[found[n] for found in evidence.values()].count(_AGREES) for n in range(len(sample))]
    sample = [sample[n] for n in sorted(range(len(sample)), key=n_agree.__getitem__)]
    of_two = _one_of_two(pairs, known, wrong, sample, must_pass, seconds[1] / 4)
    if of_two:
        return of_two
    agree = [one for one, found in evidence.items() if _AGREES in found]
    agree.sort(key=lambda one: -evidence[one].count(_AGREES))
    in_time = _within(seconds[1] / 8)
    explained = {one: _explained(one, wrong, must_pass) for one in agree if in_time()}
    most = max(map(len, explained.values()), default=0)
    best = [one for one in evidence if one in explained and len(explained[one]) == most]
    enough = most and most >= len(wrong) / 2
    best = _preferred(best)
    named = _named(best, explained[best[0]], another=True) if enough else None
    return named or _short_sighted(findings, wrong) or _explained_error(findings)


def _one_of_two(
    pairs: Iterable[tuple[KnownMistake, KnownMistake]],
    known: KnownMistakes,
    wrong: Sequence[Finding],
    sample: Sequence[Finding],
    must_pass: Sequence[Case],
    seconds: float,
) -> Diagnosis | None:
    """Return the one to fix first of two mistakes that explain the failing tests together.

    All of them, or if no two do, nearly all: somebody may make a third mistake, or round elsewhere.

    Args:
        sample: some of the failing tests, that which fewest mistakes explain alone first.
        seconds: how long two are looked for that explain nearly all.
    """
    tried = []
    for one, other in pairs:
        both = known.pair(one, other)
        if not both:
            continue
        tried.append((one, other, both))
        if not both.may_explain(sample[0]) or not all(map(both.explains, wrong)):
            continue
        if both.passes(must_pass) and (found := _first_of_two(one, other, known, wrong, must_pass)):
            return found
    in_time = _within(seconds)
    for one, other, both in itertools.takewhile(lambda _: in_time(), tried):
        if not any(map(both.explains, sample)):
            continue
        n_explained = sum(map(both.explains, wrong))
        if n_explained >= max(_MANY, 0.75 * len(wrong)) and both.passes(must_pass):
            return _first_of_two(one, other, known, wrong, must_pass)
    return None


_MANY = 4
"""How many failing tests two mistakes explain at least, if they don't explain all."""


def _first_of_two(
    one: KnownMistake,
    other: KnownMistake,
    known: KnownMistakes,
    wrong: Sequence[Finding],
    must_pass: Sequence[Case],
) -> Diagnosis | None:
    """Return the one to fix first of two mistakes, if both are there.

    That is the one that explains more by itself, or else the one that an earlier test refuses.
    """
    at_fault = [half for half in (one, other) if not half.passes(seen.case for seen in wrong)]
    likely = [half for half in at_fault if half.passes(must_pass)]
    if not likely and len(wrong) >= _MANY:
        likely = at_fault
    if not likely:  # by chance, two together give what a third one does
        return None
    explained = {half: _explained(half, wrong, must_pass) for half in likely}
    in_order = sorted(wrong, key=lambda seen: known.cases.index(seen.case))
    fails = {half: [one for one in in_order if not half.passes([one.case])] for half in likely}
    first = max(likely, key=lambda half: (len(explained[half]), -in_order.index(fails[half][0])))
    if any(map(first.explains, wrong)) or any(map(_is_telling, wrong)):
        return _named([first], fails[first], another=True)
    return None


def _explained(
    known: KnownMistake, wrong: Sequence[Finding], must_pass: Sequence[Case]
) -> list[Finding]:
    """Return the tests that a mistake explains; none if it spoils more than one in four.

    Then it is more often another mistake that the catalogue does not hold than this one together
    with another; also if all that it explains are errors that other mistakes raise, too.
    """
    explained, n_spoiled = [], 0
    for seen in wrong:
        if known.explains(seen):
            explained.append(seen)
        elif known.finding(seen.case).status != Status.PASSED:
            n_spoiled += 1
            if n_spoiled > len(wrong) / 4:
                return []
    enough = len(explained) >= max(2, 3 * n_spoiled) and any(map(_is_telling, explained))
    return explained if enough and known.passes(must_pass) else []


def _raised_at_once(seen: Finding) -> bool:
    """Return whether nothing came back from an exercise in a test but an error."""
    own = [one for one in seen.calls if one.name.removesuffix("(...)") == seen.case.exercise]
    return bool(own) and all(one.raised for one in own)


_ABOUT_NAMES = {"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError"}


def _is_about_names(seen: Finding) -> bool:
    """Return whether a test met an error that comes from what code says, not from its values."""
    kinds = seen.failure.kinds if isinstance(seen.failure, StudentError) else ("",)
    return kinds[0] in _ABOUT_NAMES


def _heads(text: str) -> list[str]:
    """Return the heads of the functions in a definition."""
    return re.findall(r"def \w+\([^)]*\)", text)


def _heads_that_do_not_fit(seen: Finding) -> list[str]:
    """Return the reference's heads if an exercise does not take its arguments, or none.

    Only what has other heads raises that.
    """
    lesson, name = seen.case.lesson, seen.case.exercise
    is_head = re.match(rf"{name}(\.\w+)?\(\) (got|missing|takes) ", seen.failure.message)
    return _heads(reference_text(lesson, name)) if is_head else []


def _raised_as_none(seen: Finding, evidence: Mapping[KnownMistake, Sequence[int]]) -> bool:
    """Return whether a test met an error of a kind that none of these mistakes raises there."""
    is_error = isinstance(seen.failure, StudentError)
    return is_error and all(found[0] < _LIKE for found in evidence.values())


def _may_be_a_refusal(seen: Finding) -> bool:
    """Return whether the student's code may have refused what is right.

    PyTorch's own errors are RuntimeErrors; no check of the course raises one.
    """
    kinds = seen.failure.kinds if isinstance(seen.failure, StudentError) else ("RuntimeError",)
    return kinds[0] != "RuntimeError"


def _outline(value: Any) -> Any:
    """Return what is left of a value without its numbers: shapes, dtypes, devices and kinds.

    float64 is like float32: where a contract allows it, another mistake comes in it, too.
    """
    if isinstance(value, dict | list | tuple):
        return [_outline(one) for one in (value.values() if isinstance(value, dict) else value)]
    if isinstance(value, torch.Tensor):
        dtype = torch.float32 if value.dtype == torch.float64 else value.dtype
        return value.shape, dtype, value.device
    if isinstance(value, StudentError):
        return value.kinds[0]
    return value if isinstance(value, str) else type(value)


def _is_unfinished(seen: Finding) -> bool:
    """Return whether a test met `raise NotImplementedError`, the sign of what is still to come."""
    error = seen.failure
    return isinstance(error, StudentError) and error.kinds[0] == NotImplementedError.__name__


def _is_telling(seen: Finding) -> bool:
    """Return whether a test saw more than an error of PyTorch, which many mistakes raise."""
    return not isinstance(seen.failure, StudentError) or _by_hand(seen.failure)


def _short_sighted(findings: Sequence[Finding], wrong: Sequence[Finding]) -> Diagnosis | None:
    """Return that the code is right for small inputs alone, if that is so."""
    if any(isinstance(one.failure, StudentError) and _by_hand(one.failure) for one in wrong):
        return None  # the student's own refusal says more
    says = outgrown(findings)
    look = "What in your code is made for one size: a window, a limit, a fixed number?"
    return Diagnosis(says, look, tuple(one.case.name for one in wrong)) if says else None


def _explained_error(findings: Sequence[Finding]) -> Diagnosis | None:
    """Return which calls raise an error, and what most often raises the first that is common."""
    errors_of = [one for one in findings if isinstance(one.failure, StudentError)]
    if not errors_of:
        return None
    told, common = contrast(findings), ""
    for seen, one in itertools.product(errors_of, errors(findings[0].case.lesson)):
        raised = f"{seen.failure.kinds[0]}: {seen.failure.message}"
        if one.exercise == seen.case.exercise and _is_like(raised, one.message):
            common, errors_of = one.means, [seen]
            break
    common = common or pytorch.in_plain_words(errors_of[0].failure.message)
    if not told and not common:
        return None
    return Diagnosis("", f"{told} {common}".strip(), (errors_of[0].case.name,))


def _is_like(raised: str, message: str) -> bool:
    """Return whether an error's text begins as this message does, whatever the inputs' numbers are.

    How many values a line unpacks into is no such number.
    """
    pattern = re.sub(r"(?<!expected\\ )\d+", r"\\d+", re.escape(message))
    return re.match(pattern, raised) is not None


def _within(seconds: float) -> Callable[[], bool]:
    """Return what tells whether the processor has worked less than this since now.

    The processor is asked only when so much time has passed: in a sandbox that takes milliseconds.
    """
    deadline, not_before = time.process_time() + seconds, time.perf_counter() + seconds

    def is_in_time() -> bool:
        nonlocal not_before
        now = time.perf_counter()
        if now < not_before:
            return True
        left = deadline - time.process_time()
        not_before = now + left
        return left > 0

    return is_in_time


def _sample(wrong: Sequence[Finding]) -> list[Finding]:
    """Return some failing tests, the quickest of those that fail with different sentences first."""
    sentences = [re.sub(r"\d+", "", one.text.partition("\n")[0]) for one in wrong]
    of_its_kind = [sentences[:place].count(said) for place, said in enumerate(sentences)]
    order = sorted(range(len(wrong)), key=lambda place: of_its_kind[place])
    return [wrong[place] for place in order[:_SAMPLE]]


_PASSES, _DIFFERS, _LIKE, _AGREES = range(4)
"""What one test says for a mistake, from nothing to the same values; of like ones, shapes agree."""


def _evidence(known: KnownMistake, wrong: Sequence[Finding]) -> list[int]:
    """Return what each of these tests says for a mistake; of a family until one speaks against."""
    evidence = []
    for seen in wrong:
        its = known.finding(seen.case)
        if its.status == Status.PASSED:
            evidence.append(_PASSES)
        elif known.explains(seen):
            evidence.append(_AGREES)
        else:
            both = zip(its.trace, seen.trace, strict=False)  # one may have ended its test earlier
            is_like = all(_outline(one) == _outline(other) for one, other in both)
            evidence.append(_LIKE if is_like else _DIFFERS)
            if known.mistake.family and evidence[-1] == _DIFFERS:
                break
    return evidence


_SPEAKS_FOR_BOTH = (
    (-math.inf, -3.0, -1.5, 2.5),  # one passes; the other passes, differs, is like it, agrees
    (-3.0, -2.0, -0.5, 1.5),
    (-1.5, -0.5, 0.0, 1.0),
    (2.5, 1.5, 1.0, -1.0),
)
"""What one test says for two mistakes at once, by what it says for each alone: log odds.

Fitted by logistic regression to 358 pairs, drawn from the mistakes of 33 exercises and made at
once; the right pair then comes 7th of about a thousand, in the median.
"""
_FOR_AGREEING = 2.5
"""What it adds if a mistake alone explains some test,"""
_FOR_NOT_ITS_OWN = 2.0
"""what it takes away if it is of an exercise that is called, twice that if of a family,"""
_FOR_LIKENESS = 3.0
"""and what it adds if one looks like what the student wrote: by judgment."""


def _pairs(
    evidence: Mapping[KnownMistake, Sequence[int]],
    alike: Mapping[KnownMistake, float],
    in_time: Callable[[], bool],
) -> Iterator[tuple[KnownMistake, KnownMistake]]:
    """Yield pairs that may fail these tests together, the likeliest first.

    A mistake of a family takes part only if each test speaks for one of the two; two of families
    only if each of them fails some test just as the student does. A student who writes out what an
    exercise calls can get that wrong twice, so its mistakes are no family here.

    Args:
        alike: how much each looks like what the student wrote.
    """
    agreeing = {one for one, found in evidence.items() if _AGREES in found}
    odds = {}
    for one, other in itertools.combinations(evidence, 2):
        families = [half.mistake.family for half in (one, other) if half.mistake.family]
        n_families = len(families) - families.count(in_called.__name__)
        if one.mistake.says == other.mistake.says or (
            n_families == 2 and not agreeing.issuperset((one, other))
        ):
            continue
        of_tests = list(zip(evidence[one], evidence[other], strict=True))
        if min(map(max, of_tests)) >= (_LIKE if n_families else _DIFFERS):
            odds[one, other] = (
                sum(_SPEAKS_FOR_BOTH[a][b] for a, b in of_tests)
                + _FOR_AGREEING * len(agreeing & {one, other})
                - _FOR_NOT_ITS_OWN * (len(families) + n_families)
                + _FOR_LIKENESS * (alike[one] + alike[other])
            )
    pairs = sorted(odds, key=lambda pair: -odds[pair])
    return itertools.takewhile(lambda _: in_time(), pairs)


def _preferred(known: Sequence[KnownMistake]) -> list[KnownMistake]:
    """Return the exercise's own, if there are any, else those of what it calls, and so on.

    Then come those that tell what is seen, and last those that tell a cause.
    The observation is true whatever the cause; a cause is named only if no other fits as well.
    """
    own = [one for one in known if not one.mistake.family]
    called = [one for one in known if one.mistake.family == in_called.__name__]
    seen = [one for one in known if one.mistake.family not in CAUSES]
    return own or called or seen or list(known)


def _named(
    known: Sequence[KnownMistake], tests: Sequence[Finding], another: bool
) -> Diagnosis | None:
    """Return the one mistake that these are variants of, if it is one."""
    mistake = known[0].mistake
    if any(one.mistake.says != mistake.says for one in known):
        return None
    names = tuple(one.case.name for one in tests)
    return Diagnosis(mistake.says, mistake.look, names, another)


def same_values(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """Compare up to rounding, the precision that floats are kept in, and the wording of errors.

    Args:
        tolerance: how far off floats may be, per unit, if that is more.
    """
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.is_floating_point() != b.is_floating_point():
            return False
        if a.layout != torch.strided or b.layout != torch.strided:
            return False
        if a.device != b.device or a.device.type == "meta":
            return a.device == b.device
        if not a.is_floating_point():
            return torch.equal(_widened(a), _widened(b))
        rounding = max(_ROUNDING.get(a.dtype, 1e-3), _ROUNDING.get(b.dtype, 1e-3), tolerance)
        # a sum of numbers around 1 is rounded at each step, however small it is
        near = {"rtol": rounding, "atol": rounding / (10 if rounding == 1e-3 else 2)}
        return torch.allclose(a.double(), b.double(), **near, equal_nan=True)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        both = zip(a, b, strict=False)
        return len(a) == len(b) and all(same_values(*one, tolerance) for one in both)
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() == b.keys():
            return all(same_values(a[key], b[key], tolerance) for key in a)
        free = isinstance(a, Names) and isinstance(b, Names)
        return free and _anonymous(a) == _anonymous(b)
    if type(a) in (int, float) and type(b) in (int, float):
        return a == b or math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-3) or (a != a and b != b)
    if isinstance(a, StudentError) and isinstance(b, StudentError):
        return a.kinds[0] == b.kinds[0] and _says_the_same(a, b)
    return type(a) is type(b) and a == b


def _says_the_same(a: StudentError, b: StudentError) -> bool:
    """Compare what errors of one kind say: a refusal is worded freely; a number in it must fit.

    Args:
        a: the error of a known mistake. What Python or PyTorch raise is no refusal.
        b: the error of the student's code.
    """
    if a.kinds[0] == "AssertionError":
        return True
    if not _by_hand(b):
        a_says, b_says = (one.message.partition(DID_YOU)[0] for one in (a, b))
        return a_says == b_says
    its, others = (set(re.findall(r"\d+", one.message)) for one in (a, b))
    return a.is_by_hand and (not others or not its.isdisjoint(others))


def _by_hand(error: StudentError) -> bool:
    """Return whether a statement of the student's raised an error: its words are free."""
    return re.split(r"\.py:\d+: ", error.where)[-1].startswith("raise ")


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    """Return integers in one dtype: PyTorch refuses to compare uint16 and its like with others."""
    return tensor if tensor.is_complex() else tensor.long()


_ROUNDING = {torch.bfloat16: 2e-2, torch.float16: 3e-3}
"""How far two results may lie apart, per unit, that differ in the order of their steps only."""


def _anonymous(values: dict) -> list[tuple[int, tuple[int, ...]]]:
    """Return the shapes of what has names, each with its depth in the module: 1 for emb.weight."""
    return sorted(
        (str(name).count("."), tuple(getattr(value, "shape", ()))) for name, value in values.items()
    )
