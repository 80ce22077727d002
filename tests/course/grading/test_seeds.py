"""The seed of a run stays with the judge: neither a worker nor a page tells it."""

import re
from dataclasses import replace

import pytest
import torch

from course.core.syllabus import lessons
from course.testing.case import collect
from course.testing.door import Door
from course.testing.examine import Examination
from course.testing.executor import Executor
from course.testing.loading import load_module


@pytest.fixture(scope="module")
def cases():
    return collect(lesson.tests for lesson in lessons())


def test_seeds_are_of_63_bits_and_differ_by_run_test_and_purpose(cases):
    seeds = {
        case.seed(run, purpose)
        for case in cases
        for run in (0, 1, 2**127)
        for purpose in ("inputs", "module")
    }
    assert len(seeds) == 6 * len(cases)
    assert max(seeds) < 2**63
    assert max(seeds).bit_length() == 63


def test_seeds_are_not_linear_in_that_of_the_run(cases):
    """Of a checksum, the seeds of any four runs a ^ b ^ c ^ d == 0 would give 0 as well."""
    for case in cases[:50]:
        a, b, c, d = (case.seed(run, "inputs") for run in (10, 11, 12, 13))
        assert a ^ b ^ c ^ d != 0


@pytest.mark.slow
def test_no_test_tells_a_student_what_its_inputs_are_drawn_from(cases, monkeypatch):
    """Neither as an argument, nor as what PyTorch's global generator is seeded with."""
    seen: set[int] = set()
    call = Door.call

    def watched(self, target, name, args, kwargs, upstream=None):
        seen.update(map(int, re.findall(r"\d{5,}", repr((args, kwargs)))))
        seen.add(torch.initial_seed())
        return call(self, target, name, args, kwargs, upstream)

    monkeypatch.setattr(Door, "call", watched)
    secret = set()
    for lesson in lessons():
        module = load_module(lesson.module("solutions"))
        examination = Examination(Executor(module), seed=7)
        for case in cases:
            if case.lesson == lesson.stem and case.seconds <= 30:
                secret.add(case.seed(7, "inputs"))
                examination.attempt(replace(case))
    assert len(seen) > 100
    assert not seen & secret
