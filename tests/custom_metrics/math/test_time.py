"""No string of 160,000 characters takes long: repeats, openers that are never closed, and both in a box."""

from __future__ import annotations

import time

import pytest

from custom_metrics.math import extract_boxed, grade, grade_answer, last_box

LENGTH = 160_000
SECONDS = 2.0
"""CPU time of one call."""

UNITS = [
    r"\boxed{", r"\boxed{5}", r"\boxed ", r"\boxed{} ", r"\boxed{2} and ", "{", "}", "(", "](", r"\{", "$", r"\text{",
    r"\frac{1}{", r"\sqrt{", "^{", "x", "1,", "1 000 ", "BC^2=", "\\", "|", " ", "\n", "~", r"\begin{cases}",
    r"\left\{\begin{array}{l}", r"\text{for }", r"x\ne ", "**", "m⁻² ", "Å", "1./", "12-15", "4:30", "(A) ", "a.m.",
    r"\mathrm{ ", r"\mu\text{", "kcal ", "m/", r"k\in\mathbb{Z}", r"^{\prime}", "0.", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_long_repeats_are_read_in_time(unit):
    long = (unit * (LENGTH // len(unit) + 1))[:LENGTH]
    short = long[:3_990]
    for call in (
        lambda: extract_boxed(long),
        lambda: last_box(rf"So $\boxed{{5}}$ {long}"),
        lambda: grade("5", rf"So $\boxed{{{long}}}$"),
        lambda: grade("5", rf"{long} so $\boxed{{3}}$"),
        lambda: grade_answer(long, "5"),
        lambda: grade_answer("5", short),
        lambda: grade_answer(f"{short}1", f"{short}2"),
    ):
        started = time.process_time()
        call()
        assert time.process_time() - started < SECONDS
