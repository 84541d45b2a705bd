"""Several tasks together, rows that a gate needs, bits per byte, and rows that all change alike."""

import json
import math

import numpy as np
import pytest

from custom_metrics import METRICS
from custom_metrics import statistics as ours
from tests.loops import each


def test_shared_cases(shared):
    path = shared / "vectors" / "conclusions2.jsonl"
    for line in each(path.read_text(encoding="utf-8").splitlines()):
        case = json.loads(line)
        value = METRICS[case["metric"]](**case["inputs"])
        values = value._asdict() if hasattr(value, "_asdict") else vars(value)
        for name, expected in case["expected"].items():
            assert values[name] == pytest.approx(expected, abs=case["tol"]), case["id"]


def test_the_mean_of_one_task_is_that_task():
    verdicts = ours.PairedVerdicts(100, 2, 8)
    mean = ours.MeanDifference((ours.TaskDifference(verdicts),))
    assert mean.interval() == verdicts.interval()
    assert mean.worst() == verdicts.worst()
    assert mean.p() == verdicts.p()


def test_a_small_task_keeps_its_own_uncertainty():
    large = ours.TaskDifference(ours.PairedVerdicts(1000, 10, 10))
    small = ours.TaskDifference(ours.PairedVerdicts(20, 0, 0))
    low, high = ours.MeanDifference((large, small)).interval()
    own = small.interval(0.95, cautious=True)
    assert low < own.low / 2 < own.high / 2 < high
    assert not ours.MeanDifference((large, small)).one_sided


def test_the_p_of_a_mean_is_the_level_at_which_its_interval_reaches_zero():
    tasks = [ours.PairedVerdicts(200, 4, 18), ours.PairedVerdicts(300, 9, 20)]
    mean = ours.MeanDifference(tuple(ours.TaskDifference(task) for task in tasks))
    assert mean.interval(1 - mean.p()).high == pytest.approx(0.0, abs=1e-7)


def test_a_turned_mean_has_the_mirrored_interval():
    tasks = [ours.PairedVerdicts(200, 4, 18), ours.PairedVerdicts(300, 9, 20)]
    mean = ours.MeanDifference(tuple(ours.TaskDifference(task) for task in tasks))
    low, high = mean.interval()
    assert mean.turned().interval() == pytest.approx((-high, -low))


def test_a_mean_without_a_task_is_refused():
    with pytest.raises(ValueError, match="at least one task"):
        ours.overall_interval([])


@pytest.mark.parametrize(
    ("n", "low", "high"), [(20, -0.061, 0.261), (100, 0.063, 0.137), (1000, 0.0962, 0.1038)]
)
def test_the_same_change_in_every_row_has_room_for_unseen_ones(n, low, high):
    ends = ours.paired_mean([0.1] * n, range=1.0).interval()
    assert ends == pytest.approx((low, high), abs=6e-4)


def test_the_same_change_in_every_row_of_an_unbounded_score_has_no_interval():
    evidence = ours.paired_mean([-3.0] * 300, range=None)
    assert evidence.interval() == (-math.inf, math.inf)
    assert evidence.p() == 1.0


def test_rows_needed_at_the_observed_rates_decide_four_times_out_of_five():
    plan = ours.rows_needed(100, 4, 10, 0.0, 0.07)
    draws = np.random.default_rng(1).multinomial(plan.rows, [0.04, 0.10, 0.86], size=2000)
    decided = 0
    for gained, lost, _ in draws.tolist():
        verdicts = ours.PairedVerdicts(plan.rows, gained, lost)
        decided += verdicts.z(0.0) < -1.959964 or verdicts.worst() > -0.07
    assert 0.75 < decided / 2000 < 0.85
    assert plan.passes + plan.fails >= 0.8


@pytest.mark.parametrize(("changed", "rough"), [(0, False), (4, True), (5, False)])
def test_a_number_of_rows_from_few_changed_ones_is_rough(changed, rough):
    assert ours.rows_needed(100, 0, changed, 0.02, 0.05).rough is rough


def test_no_practical_number_of_rows():
    assert ours.rows_needed(1000, 200, 200, 0.0, 0.001).rows is None


def test_units_needed_for_graded_rows_grow_with_a_tighter_limit():
    gaps = np.random.default_rng(2).normal(-0.01, 0.2, 200).clip(-1, 1)
    evidence = ours.paired_mean(gaps)
    wide, tight = (
        ours.units_needed(evidence, 0.0, slack, cautious=True).rows for slack in (0.1, 0.05)
    )
    assert wide < tight


def test_bits_per_byte_are_linear_and_have_a_share_of_the_baseline():
    generator = np.random.default_rng(4)
    lengths = generator.integers(400, 2000, 80).astype(float)
    before = -0.46 * lengths
    now = -0.47 * lengths + generator.normal(0, 3, 80)
    found = ours.bits_difference(now, before, lengths)
    bits = [-side.sum() / lengths.sum() / math.log(2) for side in (now, before)]
    assert found.difference.value == pytest.approx(bits[0] - bits[1])
    assert found.relative.value == pytest.approx(bits[0] / bits[1] - 1)


@pytest.mark.parametrize("missing", [1 / 149, 0.008, 0.01])
def test_a_mean_whose_missing_rows_may_undo_the_change_has_p_1(missing):
    short = ours.Incomplete(ours.PairedVerdicts(149, 0, 1), ours.Missing(missing, missing, missing))
    tasks = ours.TaskDifference(short), ours.TaskDifference(ours.PairedVerdicts(60, 0, 0))
    mean = ours.MeanDifference(tasks)
    low, high = mean.interval()
    assert low < 0 < high
    assert mean.p() == mean.turned().p() == short.p() == 1.0
