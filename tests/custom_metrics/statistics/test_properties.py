"""What must hold for any input, and the edges where formulas divide by nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_metrics import statistics as ours
from custom_metrics.statistics.mean import cluster_codes

verdicts = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=80)
counts = st.integers(0, 5000)


@given(counts, counts)
def test_mcnemar_is_symmetric_and_a_probability(gained, lost):
    p = ours.mcnemar_p(gained, lost)
    assert 0 <= p <= 1
    assert p == ours.mcnemar_p(lost, gained)
    assert ours.mcnemar_p(gained, lost, mid_p=True) <= p


@given(verdicts)
def test_swapping_the_runs_turns_the_sign(pairs):
    now, before = np.array(pairs, dtype=float).T
    there, back = ours.paired_difference(now, before), ours.paired_difference(before, now)
    assert there.value == -back.value
    assert there.low == pytest.approx(-back.high)
    assert ours.sign_flip_p(now, before) == ours.sign_flip_p(before, now)


@given(verdicts)
def test_a_run_against_itself(pairs):
    now = np.array(pairs, dtype=float)[:, 0]
    estimate = ours.paired_difference(now, now)
    assert (estimate.value, estimate.stderr) == (0.0, 0.0)
    assert ours.sign_flip_p(now, now) == 1.0


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_never_lowers_and_keeps_the_order(p_values):
    adjusted = ours.holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert list(np.array(adjusted)[order]) == sorted(adjusted)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_proportion(table):
    successes, n = table
    low, high = ours.wilson_interval(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert low < high


def test_rows_alone_in_their_cluster_have_the_plain_error():
    x = np.random.default_rng(1).uniform(size=50)
    assert ours.clustered_stderr(x, range(50)) == pytest.approx(
        ours.mean_stderr(x) * math.sqrt(49 / 50)
    )
    assert ours.clustered_stderr(x, [None] * 50) == ours.clustered_stderr(x, range(50))


def test_copies_of_a_row_add_nothing_when_clustered():
    x = np.random.default_rng(2).uniform(size=40)
    copied, clusters = np.repeat(x, 5), np.repeat(np.arange(40), 5)
    assert ours.clustered_stderr(copied, clusters) == pytest.approx(
        ours.clustered_stderr(x, range(40))
    )


@pytest.mark.parametrize(
    ("labels", "codes"),
    [(["x", "y", "x"], [0, 1, 0]), ([None, None], [0, 1]), ([1, "1"], [0, 1]), ([], [])],
    ids=["text", "none is alone", "types differ", "empty"],
)
def test_cluster_codes(labels, codes):
    assert cluster_codes(labels).tolist() == codes


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [([1, 0, 1], [1, 0, 1]), ([7, 3, 7], [1, 0, 1]), ([-1, 0], [0, 1]), ([0, 2, 2], [0, 1, 1])],
    ids=["codes already", "any numbers", "negative", "with a gap"],
)
def test_cluster_codes_of_numbers_keep_their_order(numbers, codes):
    assert cluster_codes(np.array(numbers)).tolist() == codes


@pytest.mark.parametrize(
    "values", [[], [0.5], [math.nan], [math.nan, 1.0]], ids=["none", "one", "nan", "one and nan"]
)
def test_too_little_data_has_no_interval(values):
    for estimate in (
        ours.mean_interval(values),
        ours.clustered_interval(values, range(len(values))),
        ours.bootstrap_interval(values),
    ):
        assert (estimate.stderr, estimate.low, estimate.high) == (None, None, None)


def test_nan_pairs_are_left_out():
    assert ours.paired_difference([1, math.nan, 0], [0, 1, 0]).n == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: ours.mcnemar_p(-1, 2),
        lambda: ours.wilson_interval(3, 2),
        lambda: ours.wilson_interval(0, 0),
        lambda: ours.critical_value(1.0),
        lambda: ours.minimum_detectable_effect(0.1, power=1.0),
        lambda: ours.paired_difference([1], [1, 2]),
        lambda: ours.clustered_stderr([1, 2], ["a"]),
    ],
    ids=[
        "negative count",
        "more than n",
        "n zero",
        "confidence 1",
        "power 1",
        "lengths",
        "cluster lengths",
    ],
)
def test_impossible_arguments_are_refused(call):
    with pytest.raises(ValueError, match=r"."):
        call()


def test_bootstrap_is_seeded_and_close_to_the_closed_form():
    x = np.random.default_rng(3).uniform(size=400)
    first, again = ours.bootstrap_interval(x, seed=5), ours.bootstrap_interval(x, seed=5)
    assert first == again
    assert first != ours.bootstrap_interval(x, seed=6)
    closed = ours.mean_interval(x)
    assert first.stderr == pytest.approx(closed.stderr, rel=0.1)
    clusters = np.arange(400) // 4
    assert ours.bootstrap_interval(x, clusters=clusters).stderr == pytest.approx(
        ours.clustered_stderr(x, clusters), rel=0.12
    )


def test_random_sign_flips_agree_with_the_exact_test():
    generator = np.random.default_rng(4)
    before = (generator.uniform(size=300) < 0.6).astype(float)
    now = np.where(generator.uniform(size=300) < 0.15, 1 - before, before)
    gained, lost = int(np.sum(now > before)), int(np.sum(now < before))
    assert ours.sign_flip_p(now, before, resamples=20_000) == pytest.approx(
        ours.mcnemar_p(gained, lost), abs=0.02
    )


shares = st.lists(st.floats(0, 1), min_size=2, max_size=60)


@given(shares)
def test_an_interval_between_bounds_holds_the_mean_and_stays_there(values):
    mean = math.fsum(values) / len(values)
    keys = [str(row) for row in range(len(values))]
    low, high = ours.bounded_interval(mean, ours.influence_of_mean(keys, values))
    assert 0 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1
    assert low < high
    again = ours.bounded_interval(mean, ours.influence_of_mean(keys[::-1], values[::-1]))
    assert (low, high) == pytest.approx(tuple(again), abs=1e-12)


def test_rows_that_two_metrics_share_count_once():
    keys, values = (
        [f"paper {row // 2}" for row in range(40)],
        np.random.default_rng(3).uniform(size=40),
    )
    mean, one = float(values.mean()), ours.influence_of_mean(keys, values)
    both = ours.combined_influence([(0.5, one), (0.5, one)])
    assert ours.bounded_interval(mean, both) == pytest.approx(ours.bounded_interval(mean, one))
    apart = ours.combined_influence(
        [(0.5, one), (0.5, ours.influence_of_mean([f"b{key}" for key in keys], values))]
    )
    low, high = ours.bounded_interval(mean, apart)
    assert high - low < np.ptp(ours.bounded_interval(mean, one))


def test_the_median_has_an_interval_of_values_that_were_seen():
    ratings = [1, 2, 2, 3, 3, 3, 4, 4, 5, 5] * 4
    alone = ours.median_interval(ratings)
    papers = ours.median_interval(ratings, [row // 10 for row in range(40)])
    assert (alone.value, alone.low, alone.high) == (3, 3, 4)
    assert papers.low <= alone.low
    assert papers.high >= alone.high
    assert ours.median_interval([2.0]).low is None


@given(st.integers(0, 30_000))
def test_a_sum_of_products_does_not_depend_on_the_number_of_cores(size):
    """Its parts are short enough for BLAS to leave them to one core."""
    x = np.random.default_rng(1).random(size)
    parts = [float(np.dot(x[at : at + 10_000], x[at : at + 10_000])) for at in (0, 10_000, 20_000)]
    assert ours.sum_of_products(x, x) == sum(parts)


def test_the_products_of_a_line_do_not_depend_on_how_lines_are_divided_among_cores():
    lines = np.random.default_rng(1).random((3_000, 401))
    factors = np.random.default_rng(2).random(401)
    alone = [ours.sums_of_products(line[np.newaxis], factors)[0] for line in lines]
    assert ours.sums_of_products(lines, factors).tolist() == alone


@given(st.lists(st.sampled_from([0.0, 1.0, -1.0, -0.0, 0.1, 1e16, -1e16, 1e308, math.nan])))
def test_an_exact_sum_is_that_of_fsum(values):
    try:
        expected = math.fsum(values)
    except OverflowError:
        with pytest.raises(OverflowError):
            ours.exact_sum(np.array(values))
        return
    assert repr(ours.exact_sum(np.array(values, dtype=float))) == repr(expected)
