"""Questions about a student's own code: they are computed, and change with the code."""

import re
from pathlib import Path

import pytest
import torch
from commands import course

from course.core.stubs import solution_of
from course.core.syllabus import find_lesson
from course.mistakes import mistakes
from course.mistakes.quiz import questions
from course.student import progress, quiz
from course.student.progress import PASSED
from course.testing.case import collect
from course.testing.executor import Executor
from course.testing.imports import names_defined_by
from course.testing.loading import run_module
from course.testing.show import show
from course.testing.source import sources_of_earlier

MINE = solution_of("rope").replace("x1", "left").replace("x2", "right")
ROLLED = MINE.replace(
    "    left, right = x.chunk(2, dim=-1)  # (..., D/2) each\n"
    "    return torch.cat((-right, left), dim=-1)\n",
    "    half = x.shape[-1] // 2\n"
    "    signs = torch.ones_like(x)\n"
    "    signs[..., :half] = -1\n"
    "    return x.roll(half, dims=-1) * signs\n",
)


@pytest.fixture(scope="module")
def cases():
    return collect([find_lesson("rope").tests])


def asked(cases, source: str, *names: str):
    earlier = names_defined_by(sources_of_earlier(cases[0].lesson))

    def start(text):
        return Executor(run_module(text, Path("exercises/rope.py"), earlier))

    return questions(source.encode(), names, cases, start)


def answer(one, names) -> str:
    """The beginning of an answer, computed with what a module defines."""
    call = re.search(r"`rotate_half\((.*)\)`", one.asks)[1]
    then = names["rotate_half"](torch.tensor(eval(call)).float())
    return f"{tuple(then.shape) if 'shape' in one.asks else show(then)};"


def test_a_change_in_a_line_gives_the_answer_and_where_there_is_none_the_values_are(
    cases, monkeypatch
):
    found = asked(cases, MINE, "rotate_half")
    assert len(found) == 3
    for one in found:
        before, after = re.search(
            r"has\n\n(.*?)\n\nSuppose you wrote instead\n\n(.*?)\n\n", one.asks, re.DOTALL
        ).groups()
        assert MINE.count(before.strip()) == 1
        names = {}
        exec(MINE.replace(before.strip(), after.strip()), names)
        assert one.answer.startswith(answer(one, names))
    monkeypatch.setattr("course.mistakes.quiz.mistakes", lambda stem: [])
    first, *_ = asked(cases, MINE, "rotate_half")
    assert (first.asks, first.answer) == ("What is `rotate_half([3, 4])`, and why?", "[-4, 3].")


def test_a_line_that_nobody_can_read_is_not_asked_about(cases):
    line = "    left, right = x.chunk(2, dim=-1)"
    assert line in MINE
    numbers = f"; _ = [{'1, ' * 20_000}]"
    found = asked(cases, MINE.replace(line, line + numbers), "rotate_half")
    assert found and max(len(one.asks) for one in found) < 1000


@pytest.mark.slow
def test_the_same_code_is_asked_the_same_and_other_code_something_else(cases):
    names = [one.name for one in find_lesson("rope").exercises]
    first, again = (asked(cases, MINE, *names) for _ in range(2))
    assert first == again and len({one.exercise for one in first}) == 3
    assert asked(cases, MINE.replace("left", "a"), *names) != first


@pytest.mark.slow
def test_a_number_grows_falls_or_stays_and_no_answer_stands_in_its_question():
    """Neither as a number, such as that of a limit, nor as the argument that comes back."""
    kinds = set()
    for stem, name in [
        ("rope", "interleaved_to_half"),
        ("sinusoidal", "inverse_frequencies"),
        ("sinusoidal", "sinusoidal_encoding"),
        ("llama", "RMSNorm"),  # a fresh one
    ]:
        cases = collect([find_lesson(stem).tests])
        for n in range(6):
            found = asked(cases, f"{solution_of(stem)}# {n}\n", name)
            assert {one.exercise for one in found} == {name}
            for one in found:
                then, (lines, _, question) = (
                    one.answer.partition(";")[0],
                    one.asks.rpartition("\n\n"),
                )
                kind = re.match("Larger|Smaller|The same", then)
                kinds |= {kind[0]} if kind else set()
                assert "[" not in then or then not in question
                assert not set(re.findall(r"\d\d+", then)) & set(re.findall(r"\d\d+", lines))
    assert kinds == {"Larger", "Smaller", "The same"}


def test_where_the_lines_are_other_ones_the_sentence_is_asked_about(cases):
    assert ROLLED != MINE
    found = asked(cases, ROLLED, "rotate_half")
    assert found
    for one in found:
        asks = " ".join(one.asks.split())
        alike = [it.variant for it in mistakes("rope") if f"had this mistake: {it.says}" in asks]
        assert alike and {it.exercise for it in alike} == {"rotate_half"}
        assert all(one.answer.startswith(answer(one, vars(it.module()))) for it in alike)


def test_only_what_passes_is_asked_about(monkeypatch, tmp_path):
    module = tmp_path / "rope.py"
    module.write_text(MINE, encoding="utf-8")
    status = {"rotate_half": PASSED, "apply_rope": "wrong"}
    monkeypatch.setattr(progress, "status_of_all", lambda: status)
    assert "course check apply_rope" in course("quiz", "apply_rope", status=1)
    seen = []
    monkeypatch.setattr(quiz, "ask", lambda lesson, names: seen.append(names) or [])
    course("quiz", "rotate_half")
    assert seen == [["rotate_half"]]
