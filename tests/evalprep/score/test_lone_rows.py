"""Macro averages over tasks or subtasks with one row each, which shows no spread of its own."""

import numpy as np
import pytest

from custom_metrics import statistics
from custom_metrics.statistics import paired_influence
from evalprep.score.builtin import Scored, influence, macro, micro
from evalprep.score.whole import macro_of_pairs

BEFORE = [1.0] * 6 + [0.5] * 2 + [0.0] * 3
NOW = [0.0] * 6 + [1.0] * 2 + [0.0] * 3


def scored(values, sizes):
    """Rows of one subtask after another."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return Scored(
        values=np.array(values),
        weights=np.ones(len(values)),
        groups=groups,
        names=[f"s{at}" for at in range(len(sizes))],
        clusters=None,
        unscored=0,
        bounds=(0.0, 1.0),
        keys=[f"t#{at}" for at in range(len(values))],
    )


def difference(sizes, now=NOW, before=BEFORE):
    sides = [influence("macro", scored(values, sizes)) for values in (now, before)]
    value = macro(scored(now, sizes)).value - macro(scored(before, sizes)).value
    return paired_influence(value, *sides)


def test_subtasks_of_one_row_vary_like_the_rows_of_one_task():
    sizes = [1] * len(NOW)
    low, high = difference(sizes).interval()
    assert low < -0.4 < 0.0 < high, "a drop of 45 points on 11 rows is not shown"
    of_rows = statistics.paired_mean(np.array(NOW) - np.array(BEFORE), None, range=1.0)
    assert difference(sizes).stderr == pytest.approx(of_rows.stderr)
    alone, together = macro(scored(NOW, sizes)), micro(scored(NOW, sizes))
    assert alone.stderr == pytest.approx(together.stderr)
    assert alone.interval is not None


@pytest.mark.parametrize("lone", [1, 2])
def test_a_subtask_of_one_row_adds_to_the_spread(lone):
    now, before = NOW * 3 + [0.0] * lone, BEFORE * 3 + [1.0, 0.0][:lone]
    sizes = [33, *[1] * lone]
    within = difference([33], NOW * 3, BEFORE * 3).stderr / (1 + lone)
    assert difference(sizes, now, before).stderr > 1.5 * within


def test_pairs_of_subtask_and_number_have_lone_rows_as_one_stratum():
    sides = [[[f"s{at}", value] for at, value in enumerate(values)] for values in (NOW, BEFORE)]
    (now, before), value = macro_of_pairs(sides)
    assert value(now.sum(axis=0)) == pytest.approx(np.mean(NOW))
    evidence = statistics.paired_counts(now, before, value)
    of_rows = statistics.paired_mean(np.array(NOW) - np.array(BEFORE), None, range=1.0)
    assert evidence.stderr == pytest.approx(of_rows.stderr)
