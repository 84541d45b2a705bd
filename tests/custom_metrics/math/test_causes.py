"""Replies of real models, by cause of the wrong verdict; near misses stay wrong."""

from __future__ import annotations

import pytest

from custom_metrics.math import grade, grade_answer
from tests.custom_metrics.math.causes import CAUSES, ONE_WAY, REPLIES
from tests.loops import each
from tests.tables import each_row


def table(causes):
    return [
        pytest.param(gold, answer, expected, id=f"{cause}-{number}")
        for cause, cases in causes.items()
        for number, (gold, answer, expected) in enumerate(cases, 1)
    ]


@each_row(("gold", "answer", "expected"), table(CAUSES | ONE_WAY))
def test_cause(gold, answer, expected):
    correct, method, why = grade_answer(gold, answer)
    assert correct is expected, (method, why)


@each_row(("gold", "answer", "expected"), table(CAUSES))
def test_cause_reversed(gold, answer, expected):
    assert grade_answer(answer, gold)[0] is expected


@each_row(("gold", "answer", "expected"), table(REPLIES))
def test_reply(gold, answer, expected):
    verdict = grade(gold, answer)
    assert verdict.correct is expected, verdict


def test_near_misses_are_a_third_of_the_cases():
    for cause, cases in each((CAUSES | REPLIES).items()):
        wrong = [case for case in cases if not case[2]]
        assert 3 * len(wrong) >= len(cases), cause
