"""Questions about a student's own code: what would a known mistake change?

Each is answered by running the student's module with the edit made in it. Where its lines are not
like the reference's, the mistaken reference takes their place, and the catalogue's sentence asks;
then all its edits must give one answer. Else a question is about the values as they are.
"""

import ast
import itertools
import random
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from course.mistakes import Mistake, mistakes
from course.mistakes.variant import EditError, reference_text
from course.testing import expect
from course.testing.case import Case, by_exercise
from course.testing.door import Handle
from course.testing.examine import Examination
from course.testing.executor import Executor
from course.testing.outcomes import Wrong
from course.testing.show import is_shown_whole, show, show_call
from course.testing.source import definitions

N_QUESTIONS, _MOST_TRIED, _MOST_CASES, _SECONDS = 3, 25, 8, 2
"""Of mistakes and tests of an exercise; how long a test of an edited module may take."""
_LONGEST, _LONGEST_LINE, _LARGEST, _NOTICED = 120, 200, 1000, 0.02
"""Letters of a call and a line; a number to compute; by how much another changes, per unit."""

Open = Callable[[bytes], Executor]
"""Return an executor of a module's text; it raises Wrong if the text cannot be run."""


class Question(NamedTuple):
    """A question about an exercise, to be answered in a sentence, and the answer."""

    exercise: str
    asks: str
    answer: str


def questions(source: bytes, passed: Sequence[str], cases: Sequence[Case], start: Open) -> list:
    """Return three questions about exercises that pass; for the same text, always the same.

    Args:
        cases: the graded tests of the lesson.
    """
    source = source.replace(b"\r\n", b"\n").rstrip() + b"\n"
    draw = random.Random(source)
    cases_of = by_exercise(replace(one, seconds=_SECONDS) for one in cases)
    about = [_about(source, cases_of[name], start, draw) for name in passed if name in cases_of]
    draw.shuffle(about)
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*about))
    return list(itertools.islice(filter(None, in_turn), N_QUESTIONS))


def _about(
    source: bytes, cases: Sequence[Case], start: Open, draw: random.Random
) -> Iterator[Question]:
    """Yield questions about an exercise, those on its own lines first; one for each sentence."""
    examination, name = Examination(start(source), source), cases[0].exercise
    passed = [case for case in cases if examination.run(case).failure is None]
    lent = examination.lent_to(name)
    passed.sort(key=lambda case: "draw" in case.fixtures)
    right = {case: _calls(examination, case, lent) for case in passed[:_MOST_CASES]}
    known = [one for one in mistakes(cases[0].lesson) if one.exercise == name]
    draw.shuffle(known)
    own = [(one, [edited]) for one in known if (edited := _edited(source, one))]
    others = [(a, [_replaced(source, b) for b in known if a.says == b.says]) for a in known]
    said = set()
    for one, texts in [*own, *others][: _MOST_TRIED if right else 0]:
        if one.says in said or None in texts:
            continue
        order, found = draw.sample(list(right), len(right)), set()
        for text, _ in texts:
            if len(found) < 2:
                found.add(_difference({case: right[case] for case in order}, text, lent, start))
        difference = found.pop() if len(found) == 1 else None
        if difference and not _is_told(texts[0][1], difference[1]):
            said.add(one.says)
            yield Question(name, f"{texts[0][1]}\n\n{difference[0]}", difference[1])
    for typed, result, is_whole in itertools.chain(*right.values()):
        if typed and is_whole and _is_shown(result):
            yield Question(name, f"What is `{typed}`, and why?", f"{show(result)}.")


def _is_told(asks: str, answer: str) -> bool:
    """Return whether a number of the answer is in the lines or the sentence of a question."""
    numbers = re.findall(r"\d+", answer.partition(";")[0])
    return any(len(one) > 1 and re.search(rf"(?<!\d){one}(?!\d)", asks) for one in numbers)


def _replaced(source: bytes, mistake: Mistake) -> tuple[bytes, str] | None:
    """Return a module with the mistaken reference in its place, and what to say about it."""
    (start, end), _ = _place(source, mistake.exercise)
    try:
        edited = source[:start] + mistake.variant.text.encode() + b"\n" + source[end:]
    except EditError:
        return None
    says = textwrap.fill(mistake.says, 76, initial_indent="    ", subsequent_indent="    ")
    asks = f"Suppose your {mistake.exercise} had this mistake:\n\n{says}"
    return None if mistake.variant.definition else (edited, asks)


def _edited(source: bytes, mistake: Mistake) -> tuple[bytes, str] | None:
    """Return a module with a mistake's edits in the student's own lines, and what to say about it.

    The student's variables may have other names than the reference's.
    """
    variant, name = mistake.variant, mistake.exercise
    if variant.definition or re.search("[\n#]", "".join(map("".join, variant.edits.items()))):
        return None
    (start, end), node = _place(source, name)
    text, called, spans = source[start:end].decode(), {}, []
    ours = _variables(ast.parse(reference_text(variant.lesson, name)))
    for old, new in variant.edits.items():
        found = list(_found(_tokens(old), _tokens(text), ours, _variables(node), called))
        if len(found) != 1:
            return None
        ((begin, stop, called),) = found
        if any(one[0] in ours and one[0] not in called for one in _tokens(new)):
            return None
        new = re.sub(r"(?<![.\w])[A-Za-z_]\w*", lambda it, to=called: to.get(it[0], it[0]), new)
        spans.append((begin, stop, new))
    first, last = text.rfind("\n", 0, min(spans)[0]) + 1, text.index("\n", max(spans)[1])
    before = after = text[first:last]
    for begin, stop, new in sorted(spans, reverse=True):
        after = after[: begin - first] + new + after[stop - first :]
    shown = (textwrap.indent(textwrap.dedent(one), "    ") for one in (before, after))
    asks = "Your {} has\n\n{}\n\nSuppose you wrote instead\n\n{}".format(name, *shown)
    edited = source[:start] + (text[:first] + after + text[last:]).encode() + source[end:]
    is_short = before.count("\n") < 3 and len(before) < 3 * _LONGEST_LINE
    return (edited, asks) if is_short else None


def _place(source: bytes, exercise: str) -> tuple[tuple[int, int], ast.stmt]:
    """Return where in a module an exercise begins and ends, and its definition."""
    node = [one for one in definitions(source) if getattr(one, "name", "") == exercise][-1]
    lines = [0, *itertools.accumulate(map(len, source.splitlines(keepends=True)))]
    return (lines[node.lineno - 1], lines[node.end_lineno]), node


def _tokens(code: str) -> list[re.Match]:
    """Return the words and signs of code, without comments, docstrings and very long lines."""
    skipped = rf'"""(?s:.*?)"""|(?m:^.{{{_LONGEST_LINE + 1},}})|#.*'
    code = re.sub(skipped, lambda found: " " * len(found[0]), code)
    return list(re.finditer(r"\w+|[^\w\s]", code))


def _variables(node: ast.AST) -> set[str]:
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    return {one.id for one in names if isinstance(one.ctx, ast.Store)}


def _found(
    old: list[re.Match], tokens: list[re.Match], ours: set, theirs: set, known: dict[str, str]
) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Yield where a student's code says the same as ours, and what it calls our variables."""
    for at in range(len(tokens) - len(old) + 1):
        called = dict(known)
        for our, their in zip((one[0] for one in old), tokens[at : at + len(old)], strict=True):
            is_variable = our in ours and their[0] in theirs
            if their[0] != (called.setdefault(our, their[0]) if is_variable else our):
                break
        else:
            yield tokens[at].start(), tokens[at + len(old) - 1].end(), called


def _calls(examination: Examination, case: Case, lent: tuple[str, ...]) -> list[tuple]:
    """Return the calls of a test: as typed, or "", the result, and if what is typed decides it."""
    examination.attempt(case, lent)
    made, calls = {}, []
    for call in expect.calls:
        maker, given = made.get(call.name), [*call.args, *call.kwargs.values()]
        is_whole = "draw" not in case.fixtures and all(map(_is_shown, given))
        weights = maker.result.parameters.values() if maker else ()  # a fresh norm's are ones
        is_whole = is_whole and all(((one == 0) | (one == 1)).all() for one in weights)
        if isinstance(call.result, Handle):
            made[f"{call.name}(...)"] = call
        is_own = call.name.removesuffix("(...)") == case.exercise and not call.raised
        typed = show_call(call, maker) if is_own else ""
        fits = len(typed) <= _LONGEST and not re.search("[\n<]", typed)
        calls.append((typed if fits else "", call.result, is_whole))
    return calls


def _is_shown(value: Any) -> bool:
    is_tensor = isinstance(value, torch.Tensor)
    return is_shown_whole(value) if is_tensor else isinstance(value, int | float | str | None)


def _is_floating(value: Any) -> bool:
    return isinstance(value, float) or (torch.is_tensor(value) and value.is_floating_point())


def _difference(right: dict, edited: bytes, lent: tuple, start: Open) -> tuple[str, str] | None:
    """Return a question about a call in which an edited module differs, and its answer."""
    try:
        examination = Examination(start(edited))
    except Wrong:
        return None
    for case, calls in right.items():
        for now, then in zip(calls, _calls(examination, case, lent), strict=False):
            if now[0] != then[0]:
                break
            if now[0] and (found := _compared(*now, then[1])):
                return found
    return None


def _compared(typed: str, now: Any, is_whole: bool, then: Any) -> tuple[str, str] | None:
    """Return a question about a call that has a result now and another then, and its answer."""
    if isinstance(now, list | tuple) and isinstance(then, list | tuple):
        has_floats = any(map(_is_floating, now))  # what is sorted by them may tie
        pairs = enumerate(zip(now, then, strict=False))
        each = (
            _compared(f"{typed}[{n}]", a, is_whole, b)
            for n, (a, b) in pairs
            if _is_floating(a) or not has_floats
        )
        return next(filter(None, each), None)
    if not all(isinstance(one, int | float | torch.Tensor) for one in (now, then)):
        return None
    now, then = map(torch.as_tensor, (now, then))
    if now.shape != then.shape:
        if len({*now.shape}) < now.ndim or len({*then.shape}) < then.ndim:
            return None  # of axes that are equally long nobody can tell which is which
        answer = f"{tuple(then.shape)}; as it is, {tuple(now.shape)}."
        return f"What would be the shape of `{typed}`?", answer
    is_an_input = then.numel() > 1 and show(then) in typed
    if is_an_input or not (is_whole and is_shown_whole(now) and then.isfinite().all()):
        return None
    both = torch.stack((now.double().flatten(), then.double().flatten()))
    change = (both[1] - both[0]) / both[0].abs().clamp(min=0.1)
    if not (change.abs() > _NOTICED).any():
        return None
    if now.numel() <= 8 and (both * 2 % 1 == 0).all() and both.abs().max() <= _LARGEST:
        return f"What would be `{typed}`?", f"{show(then)}; as it is, {show(now)}."
    kinds = {"Larger": change > _NOTICED, "Smaller": change < -_NOTICED, "The same": change == 0}
    draw = random.Random(typed)
    kind = draw.choice([one for one, where in kinds.items() if where.any()])
    at = draw.choice(kinds[kind].nonzero().flatten().tolist())
    place = "".join(f"[{int(n)}]" for n in torch.unravel_index(torch.tensor(at), now.shape))
    asks = f"As it is, `{typed}` gives {show(now)}. With the change, would"
    asks += f" {f'the entry {place}' if place else 'that'} be larger, smaller or the same?"
    asks += " (-2 is smaller than -1.)" if both[:, at].min() < 0 else ""
    return asks, "{0}: {2}; as it is, {1}.".format(kind, *map(show, both[:, at].tolist()))
