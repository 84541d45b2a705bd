"""No text makes a scorer slow: lm-eval writes nothing before all replies are scored, so one hang loses the run."""

from __future__ import annotations

import contextlib
import time
import zlib

import pytest

from evalprep.check.bound import TimeBoundError, cpu_bound, cpu_seconds
from tests.hostile.calls import PLAIN, calls, functions
from tests.hostile.texts import KINDS, LONGEST

LIMIT = 2.0
"""Seconds of CPU for one call."""
SHORT = LONGEST // 16
SUSPECT = LIMIT / 16**2 / 2
"""Of a call on a sixteenth of the text: quadratic growth from here comes near the limit."""
FUNCTIONS = functions()
_IN_A_WORKER = ("custom_metrics.math.", "custom_metrics.harness.results.math", "math_")


def seconds(call, clock):
    """CPU time of a call; the first use of a library loads its tables, so only what is slow twice is slow."""
    spent = []
    for _ in range(2):
        started = clock()
        with contextlib.suppress(Exception, TimeBoundError), cpu_bound(5 * LIMIT):
            call()
        spent.append(clock() - started)
        if spent[-1] < LIMIT:
            break
    return min(spent)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_kind_of_long_repeat_is_scored_in_time(name, caplog):
    caplog.set_level("CRITICAL")
    function = FUNCTIONS[name]
    clock = cpu_seconds if name.startswith(_IN_A_WORKER) else time.process_time
    for _, call in calls(name, function, PLAIN):
        with contextlib.suppress(Exception):
            call()
    slow = []
    for place, (kind, text) in enumerate(KINDS.items()):
        always = (zlib.crc32(name.encode()) + place) % 8 == 0
        of_full_size = dict(calls(name, function, text.text()))
        for where, call in calls(name, function, text.text(SHORT)):
            spent = seconds(call, clock)
            if spent < LIMIT and (always or spent > SUSPECT):
                spent = seconds(of_full_size[where], clock)
            if spent >= LIMIT:
                slow.append(f"{kind} as {where}: {spent:.1f} s of CPU")
    assert not slow, "\n".join(slow)


def test_there_are_many_kinds_and_they_are_long():
    assert len(KINDS) >= 20
    assert all(LONGEST - 100 < len(kind.text()) < LONGEST + 100 for kind in KINDS.values())


def test_the_functions_are_those_that_task_files_name():
    named = {"custom_metrics.harness.filters.choice_letter", "custom_metrics.harness.results.math",
             "custom_metrics.science.harness.process_results", "extract.number", "science.strip_eos"}  # fmt: skip
    assert named <= set(FUNCTIONS)


def test_repeated_end_tokens_are_stripped_at_once():
    from custom_metrics.science.reply import strip_eos

    text = "</s> " * 40_000 + "x"
    assert strip_eos(text) == text
    assert strip_eos("yes" + " </s>\n<|eot_id|>" * 40_000) == "yes"
