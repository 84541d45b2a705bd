"""No text makes a scorer slow: lm-eval writes nothing before all replies are scored, so one hang loses the run."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import time
import zlib

import pytest

from evalprep.check.bound import TimeBoundError, cpu_bound, cpu_seconds
from tests.effort import FULL
from tests.hostile.calls import PLAIN, calls, functions
from tests.hostile.texts import KINDS, LONGEST

pytestmark = pytest.mark.thorough
LIMIT = 2.0
"""Seconds of CPU for one call."""
SIZES = (LONGEST // 64, LONGEST // 16, LONGEST)
"""A call on a short text that would stay far below the limit even if its time grew with the square is not made longer,
but for one kind in sixteen."""
FUNCTIONS = functions()
ONE_IN = 16 if FULL else 32
"""Each function gets one kind in so many, another function other ones; EVALPREP_HOSTILE=all gives all, in minutes."""
EVERY_KIND = os.environ.get("EVALPREP_HOSTILE") == "all"
_IN_A_WORKER = ("custom_metrics.math.", "custom_metrics.harness.results.math", "math_")


def cpu(call, clock):
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


def slowest(makes, clock, *, always):
    """CPU time of the longest text that is worth a try.

    Args:
        makes: Calls on texts of SIZES.
        clock: What the limit is on.
        always: Try the longest whatever the others say.
    """
    taken: list[float] = []
    spent = 0.0
    for size, make in zip(SIZES, makes, strict=True):
        call, begun = make(), time.perf_counter()
        spent = cpu(call, clock)
        # The clock of CPU time may tick in hundredths; that of the wall says too much on a busy
        # machine.
        taken.append(spent if spent > 0.03 else max(spent, min(time.perf_counter() - begun, 0.03)))
        # The growth so far and a little more; the square where there is one measurement.
        power = math.log(max(taken[-1] / taken[-2], 1), 4) + 0.2 if len(taken) == 2 else 2.0
        foreseen = taken[-1] * (LONGEST / size) ** max(power, 1.0)
        if spent >= LIMIT or (foreseen < LIMIT and not always):
            break
    return spent


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_kind_of_long_repeat_is_scored_in_time(name, caplog):
    caplog.set_level("CRITICAL")
    function = FUNCTIONS[name]
    clock = cpu_seconds if name.startswith(_IN_A_WORKER) else time.process_time
    places = [where for where, _ in calls(name, function, PLAIN)]
    for _, call in calls(name, function, PLAIN):
        with contextlib.suppress(Exception):
            call()
    slow = []
    turned = zlib.crc32(name.encode())
    for number, (kind, text) in enumerate(KINDS.items()):
        if not EVERY_KIND and (turned + number) % ONE_IN:
            continue
        # Of several places all at once, and one by one in turn: their number times that of kinds
        # would take minutes.
        turn = [where for at, where in enumerate(places[1:]) if at % 2 == number % 2]
        for where in [*places[:1], *turn]:

            def of_size(size, where=where, text=text):
                return next(
                    call for place, call in calls(name, function, text.text(size)) if place == where
                )

            makes = [functools.partial(of_size, size) for size in SIZES]
            spent = slowest(makes, clock, always=(turned + number) % 16 == 0)
            if spent >= LIMIT:
                slow.append(f"{kind} as {where}: {spent:.1f} s of CPU")
    assert not slow, "\n".join(slow)


# Their results are log-likelihoods, and no text.
OF_LIKELIHOODS = {"custom_metrics.fm.harness.prompt_stereotyping"}


@pytest.mark.parametrize(
    "name", [name for name in FUNCTIONS if ".harness." in name and name not in OF_LIKELIHOODS]
)
def test_the_made_up_documents_fit_the_scorers_of_task_files(name):
    for _, call in calls(name, FUNCTIONS[name], PLAIN):
        call()


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
