"""The paired rules against computations that share nothing with them: likelihoods, matrices, loops, scipy."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from custom_metrics import METRICS
from custom_metrics import statistics as ours
from custom_metrics.statistics.units import satterthwaite
from tests.loops import each


@pytest.fixture
def generator():
    return np.random.default_rng(7)


# --- right or wrong
# ---------------------------------------------------------------------------------------------------


def brute_force_z(n, gained, lost, d):
    """Z(d) with the share of lost rows that maximises the likelihood under d, found by search."""

    def minus_log_likelihood(q):
        cells = ((gained, q + d), (lost, q), (n - gained - lost, 1 - 2 * q - d))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in cells if count)

    low, high = max(0.0, -d), (1 - d) / 2
    grid = np.linspace(low, high, 400)
    best = grid[int(np.argmin([minus_log_likelihood(q) for q in grid]))]
    step = (high - low) / 399
    q = optimize.minimize_scalar(
        minus_log_likelihood, bounds=(max(low, best - step), min(high, best + step)), method="bounded",
        options={"xatol": 1e-13},
    ).x  # fmt: skip
    return (gained - lost - n * d) / math.sqrt(n * (2 * q + d * (1 - d)))


@pytest.mark.parametrize(
    ("n", "gained", "lost"),
    [(4, 1, 0), (20, 5, 0), (20, 0, 5), (44, 3, 9), (120, 1, 8), (403, 49, 35)],
)
def test_tango_is_the_constrained_likelihood(n, gained, lost):
    verdicts = ours.PairedVerdicts(n, gained, lost)
    for d in (-0.4, -0.1, -0.02, 0.03, 0.2):
        assert verdicts.z(d) == pytest.approx(brute_force_z(n, gained, lost, d), abs=1e-4)


@pytest.mark.parametrize("n", [1, 4, 16, 100, 12032])
def test_no_flip_still_has_a_width(n):
    z = stats.norm.ppf(0.975)
    low, high = ours.paired_score_interval(n, 0, 0)
    assert high == pytest.approx(z * z / (n + z * z), rel=1e-9)
    assert low == pytest.approx(-high, rel=1e-9)


@given(
    st.integers(1, 500).flatmap(
        lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))
    )
)
def test_swapped_runs_give_the_mirrored_interval(counts):
    n, gained, lost = counts
    lost = min(lost, n - gained)
    here, there = (
        ours.paired_score_interval(n, gained, lost),
        ours.paired_score_interval(n, lost, gained),
    )
    assert here.low == pytest.approx(-there.high, abs=1e-9)
    assert here.high == pytest.approx(-there.low, abs=1e-9)
    assert -1 <= here.low <= (gained - lost) / n <= here.high <= 1
    assert ours.paired_score_p(gained, lost) == ours.paired_score_p(lost, gained)


def test_interval_and_p_agree_everywhere():
    for n, gained, lost in itertools.product((8, 40), range(9), range(9)):
        if gained + lost <= n:
            low, high = ours.paired_score_interval(n, gained, lost)
            assert (low > 0 or high < 0) == (ours.paired_score_p(gained, lost) < 0.05), (
                n,
                gained,
                lost,
            )


def test_a_drop_of_one_point_is_not_ruled_out_by_100_equal_verdicts():
    assert ours.noninferiority_p(100, 0, 0, 0.01) > 0.15
    assert ours.PairedVerdicts(100, 0, 0).worst() == pytest.approx(-2.7055 / 102.7055, abs=1e-5)


@pytest.mark.parametrize(("drop", "rows"), [(0.05, 52), (0.10, 25), (0.02, 133), (0.01, 268)])
def test_rows_needed_without_a_flip(drop, rows):
    assert ours.unchanged_rows(drop) == rows
    assert (
        ours.noninferiority_p(rows, 0, 0, drop) < 0.05 < ours.noninferiority_p(rows - 1, 0, 0, drop)
    )


@pytest.mark.parametrize("counts", [(0, 0, 0), (10, -1, 0), (10, 6, 5)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ValueError, match="need n > 0"):
        ours.paired_score_interval(*counts)


@pytest.mark.parametrize("margin", [math.nan, math.inf, -0.1, 1.0, 2.0])
def test_impossible_margins_are_refused(margin):
    with pytest.raises(ValueError, match="margin"):
        ours.noninferiority_p(100, 1, 1, margin)


# --- graded rows and documents
# -----------------------------------------------------------------------------------------------------------


def naive_u(differences, units, bound, confidence, *, cautious):
    """Paired interval with loops, the whole matrix and scipy."""
    units = list(range(len(differences))) if units is None else units
    n, names = len(differences), sorted(set(units))
    w = np.array([units.count(name) / n for name in names])
    total = np.array(
        [sum(d for d, u in zip(differences, units, strict=True) if u == name) / n for name in names]
    )
    m, q = total.sum(), (w**2).sum()
    errors = total - w * m
    se2 = sum(e * e / (1 - weight) for e, weight in zip(errors, w, strict=True))
    a = (1 - w) ** -0.5
    matrix = np.outer(a, a) * (
        np.diag(w**2) - np.outer(w**2, w) - np.outer(w, w**2) + q * np.outer(w, w)
    )
    df = np.trace(matrix) ** 2 / (matrix**2).sum()
    changed = total[total != 0]
    k_eff = abs(changed).sum() ** 2 / (changed**2).sum() if changed.size else 0
    t, z = (rule.ppf(0.5 + confidence / 2) for rule in (stats.t(df), stats.norm))
    unseen = (1.0 if cautious else 0.8**k_eff) * bound * q / (1 + q * z * z)
    ends = []
    for side in (-1, 1):
        u = max(0.0, unseen, (side * errors).max())
        ends.append(m + side * math.sqrt(t * t * se2 + z**4 * u * u))
    return max(ends[0], -bound), min(ends[1], bound)


@pytest.mark.parametrize("cautious", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_rule_u_is_its_own_definition(generator, clustered, cautious):
    named = ours.pass_interval if cautious else ours.graded_interval
    for _ in range(200):
        n = int(generator.integers(4, 150))
        d = generator.normal(0.05, 0.3, n).clip(-1, 1) * (
            generator.random(n) < generator.choice([0.1, 0.9])
        )
        units = [int(u) for u in generator.integers(0, max(2, n // 3), n)] if clustered else None
        if units is not None and len(set(units)) < 2:
            continue
        confidence = float(generator.choice([0.9, 0.95, 0.9975]))
        expected = naive_u(d.tolist(), units, 1.0, confidence, cautious=cautious)
        assert named(d, units, 1.0, confidence) == pytest.approx(expected, abs=1e-9)


def test_shared_cases_of_the_third_round(shared):
    path = shared / "vectors" / "conclusions3.jsonl"
    for line in each(path.read_text(encoding="utf-8").splitlines()):
        case = json.loads(line)
        value = METRICS[case["metric"]](**case["inputs"])._asdict()
        for name, expected in case["expected"].items():
            assert value[name] == pytest.approx(expected, abs=case["tol"]), case["id"]


def test_without_a_range_the_interval_is_that_of_student(generator):
    d = generator.normal(0.1, 0.2, 80)
    expected = stats.t.interval(0.95, 79, loc=d.mean(), scale=stats.sem(d))
    assert ours.graded_interval(d, range=None) == pytest.approx(expected, abs=1e-9)
    p = ours.paired_mean(d, range=None).p()
    assert p == pytest.approx(stats.ttest_1samp(d, 0).pvalue, rel=1e-9)


def test_one_change_more_moves_the_interval_by_little(generator):
    """There is no number of changed rows at which another rule begins."""
    gaps = generator.normal(0.0, 0.2, 60).clip(-1, 1)
    widths = []
    for changed in range(20, 61):
        low, high = ours.graded_interval(np.where(np.arange(60) < changed, gaps, 0.0))
        widths.append(high - low)
    assert max(abs(b - a) for a, b in itertools.pairwise(widths)) < 0.02


def test_calibrated_differences_are_the_interval_of_their_p(generator):
    verdicts = [
        ours.Calibrated(ours.PairedVerdicts(n, g1, l1), ours.PairedVerdicts(e, g0, l0), 1 - e / n)
        for n, e, g0, l0, g1, l1 in ((200, 100, 1, 4, 11, 18), (1000, 500, 4, 19, 55, 61))
    ]
    gaps = generator.normal(0.1, 0.2, 80).clip(-1, 1)
    drift = ours.paired_mean(generator.normal(0.0, 0.05, 40))
    for evidence in (*verdicts, ours.Calibrated(ours.paired_mean(gaps), drift, 2 / 3)):
        assert min(map(abs, evidence.interval(1 - evidence.p()))) < 1e-6
        turned = evidence.turned().interval()
        assert turned == pytest.approx((-evidence.interval().high, -evidence.interval().low))


def test_a_scorer_that_changes_nothing_leaves_the_unequal_pairs():
    difference, low, high = ours.calibrated_difference(200, 200, 3, 40, 0, 0)
    assert difference == 0.0
    assert (low, high) == pytest.approx(ours.paired_score_interval(200, 0, 0))
    with pytest.raises(ValueError, match="cannot be equal"):
        ours.calibrated_difference(10, 8, 0, 0, 2, 1)


def test_stored_scores_are_the_interval_of_their_p():
    for n, m in ((4, 4), (20, 100), (1000, 10)):
        scores = ours.StoredScore(0.9, n), ours.StoredScore(0.4, m, 0.3 / math.sqrt(m))
        stored = ours.StoredDifference(*scores)
        p = stored.p()
        assert min(map(abs, stored.interval(1 - p))) < 1e-6
        assert stored.turned().p() == pytest.approx(p)
    with pytest.raises(ValueError, match="no interval"):
        ours.StoredScore(1.2, 10)


def test_fixed_points():
    assert ours.paired_interval([0.0] * 4).high == pytest.approx(0.489891, abs=1e-6)
    assert ours.paired_interval([0.0] * 100).high == pytest.approx(0.036993, abs=1e-6)
    assert satterthwaite(np.array([5, 9, 40, 3, 120]) / 177) == pytest.approx(1.069006, abs=1e-6)
    assert satterthwaite(np.full(12, 1 / 12)) == pytest.approx(11)


def test_p_is_the_level_at_which_the_interval_reaches_zero(generator):
    for changed in (0.05, 0.3, 0.9):
        for _ in range(20):
            d = (generator.normal(0.15, 0.3, 60) * (generator.random(60) < changed)).clip(-1, 1)
            mean = ours.paired_mean(d)
            p = mean.p()
            if 1e-9 < p < 0.999:
                near = mean.interval(1 - p)
                assert min(abs(near.low), abs(near.high)) < 1e-9


@given(
    st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=2, max_size=60),
    st.integers(0, 10**6),
)
def test_same_bits_in_every_order_and_mirrored_signs(differences, seed):
    order = np.random.default_rng(seed).permutation(len(differences))
    units = [i % 5 for i in range(len(differences))]
    here = ours.paired_mean(differences, units)
    there = ours.paired_mean([differences[i] for i in order], [units[i] for i in order])
    assert here == there
    assert here.p() == there.p()
    mirrored = ours.paired_interval([-d for d in differences], units)
    assert mirrored.low == pytest.approx(-here.interval().high, abs=1e-9)
    assert mirrored.high == pytest.approx(-here.interval().low, abs=1e-9)


def test_one_document_says_almost_nothing():
    assert ours.paired_interval([0.0] * 50, [1] * 50).high > 0.75
    half = [0] * 50 + list(range(1, 51))
    assert ours.paired_interval([0.0] * 100, half).high == pytest.approx(0.497, abs=0.01)


def test_nothing_to_compare_is_the_whole_range():
    assert ours.paired_interval([]) == pytest.approx((-1.0, 1.0))
    assert ours.paired_interval([math.nan], range=None) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.1], [1, 2]), "1 differences, 2 units"),
        (([0.1, math.inf],), "infinite"),
        (([0.1], None, 0.0), "range"),
        (([0.1], None, math.nan), "range"),
        (([0.1], None, 1.0, 1.0), "confidence"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        ours.paired_interval(*arguments)


# --- counts, macro averages, anything, perplexity
# ---------------------------------------------------------------------


def f1(sums):
    tp, wrong = float(sums[0]), float(sums[1] + sums[2])
    return 2 * tp / (2 * tp + wrong) if tp or wrong else 0.0


def one_run(generator, gold, accuracy):
    said = np.where(generator.random(gold.size) < accuracy, gold, ~gold)
    return np.stack([gold & said, ~gold & said, gold & ~said], axis=1).astype(float)


def test_counts_of_f1_are_the_analytic_delta_method(generator):
    gold = generator.random(300) < 0.4
    now, before = one_run(generator, gold, 0.8), one_run(generator, gold, 0.7)
    estimate = ours.paired_counts(now, before, f1)

    def influence(counts):
        tp, fp, fn = counts.sum(axis=0)
        bottom = 2 * tp + fp + fn
        return counts @ np.array(
            [2 / bottom - 4 * tp / bottom**2, -2 * tp / bottom**2, -2 * tp / bottom**2]
        )

    e = influence(now) - influence(before)
    assert estimate.value == pytest.approx(f1(now.sum(axis=0)) - f1(before.sum(axis=0)))
    assert estimate.stderr == pytest.approx(math.sqrt((e**2).sum() / (1 - 1 / 300)), rel=1e-6)
    assert estimate.degrees == pytest.approx(299)
    spread = max(np.ptp(influence(now)), np.ptp(influence(before))) * 300
    assert estimate.range == pytest.approx(spread, rel=1e-6)


def test_counts_of_a_mean_are_the_mean(generator):
    now, before = (generator.random((50, 1)) for _ in range(2))
    units = [i // 3 for i in range(50)]
    ones = np.ones((50, 1))
    counts = ours.paired_counts(
        np.hstack([now, ones]), np.hstack([before, ones]), lambda s: float(s[0] / s[1]), units
    )
    mean = ours.paired_mean((now - before).ravel(), units)
    assert counts.value == pytest.approx(mean.value)
    assert counts.stderr == pytest.approx(mean.stderr, rel=1e-6)
    assert counts.degrees == pytest.approx(mean.degrees)


def test_macro_average_keeps_rows_in_their_subtasks(generator):
    d, groups = generator.normal(0, 0.3, 100).clip(-1, 1), ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    estimate = ours.paired_macro(d, groups)
    parts = [d[:60], d[60:90], d[90:]]
    assert estimate.value == pytest.approx(np.mean([part.mean() for part in parts]))
    assert estimate.stderr == pytest.approx(
        math.sqrt(sum(part.var(ddof=1) / part.size for part in parts)) / 3
    )
    assert estimate.range == pytest.approx(100 / (3 * 10))


def test_macro_average_of_one_subtask_is_the_mean(generator):
    d = generator.normal(0, 0.3, 40).clip(-1, 1)
    macro, mean = ours.paired_macro(d, ["a"] * 40), ours.paired_mean(d)
    assert macro.interval() == pytest.approx(mean.interval())
    assert macro.degrees == mean.degrees == 39
    units = [i // 4 for i in range(40)]
    assert ours.paired_macro(d, ["a"] * 40, units).interval() == pytest.approx(
        ours.paired_mean(d, units).interval()
    )


def test_macro_average_with_lone_rows_has_a_width():
    assert ours.paired_macro([0.2, -0.3, 0.1], ["a", "b", "c"]).stderr > 0


def test_leaving_out_rows_of_a_mean_is_the_mean(generator):
    now, before = generator.random(40), generator.random(40)
    without = [[np.delete(now, i).mean(), np.delete(before, i).mean()] for i in range(40)]
    left = ours.paired_jackknife(now.mean(), before.mean(), without, now != before)
    assert left.stderr == pytest.approx(ours.paired_mean(now - before).stderr)


def test_ratio_of_perplexities_is_the_ratio_estimator(generator):
    lengths = generator.integers(5, 50, 200).astype(float)
    before = -2.0 * lengths + generator.normal(0, 3, 200)
    now = before + generator.normal(0.1, 0.5, 200) * lengths / 20
    ratio = ours.perplexity_ratio(now, before, lengths)
    assert ratio.value == pytest.approx(
        math.exp(-now.sum() / lengths.sum()) / math.exp(-before.sum() / lengths.sum())
    )
    m, w = (now - before).sum() / lengths.sum(), lengths / lengths.sum()
    e = (now - before - m * lengths) / lengths.sum()
    half = stats.t.ppf(0.975, 1 / (w**2).sum() - 1) * math.sqrt((e**2 / (1 - w)).sum())
    assert ratio.interval() == pytest.approx((math.exp(-m - half), math.exp(-m + half)), rel=1e-9)


def test_perplexity_refuses_what_is_no_likelihood():
    for bad in ([math.inf, -1.0], [math.nan, -1.0]):
        with pytest.raises(ValueError, match="finite"):
            ours.perplexity_ratio(bad, [-1.0, -1.0], [1, 1])


def test_shared_cases(shared):
    for line in each(
        (shared / "vectors" / "conclusions.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        case = json.loads(line)
        if case["metric"] == "paired_interval":
            continue  # of a former rule; those of the present one are in conclusions3.jsonl
        value = METRICS[case["metric"]](**case["inputs"])
        value = value._asdict() if hasattr(value, "_asdict") else value
        assert value == pytest.approx(case["expected"], abs=case["tol"]), case["id"]


def test_influences_on_an_auc_are_those_of_leaving_texts_out():
    """The infinitesimal jackknife of DeLong against the ordinary one, and its variance against DeLong's formula."""
    numbers = np.random.default_rng(3)
    higher, lower = numbers.normal(0.5, 1, 60).round(1), numbers.normal(0, 1, 45).round(1)

    def auc(above, below):
        return float(np.mean((above[:, None] > below) + 0.5 * (above[:, None] == below)))

    found = ours.influence_of_auc(
        [f"a{at}" for at in range(60)], higher, [f"b{at}" for at in range(45)], lower
    ).units
    whole = auc(higher, lower)
    for at in range(60):
        assert found[f"a{at}"].influence == pytest.approx(
            (whole - auc(np.delete(higher, at), lower)) * 59 / 60, abs=1e-12
        )
    for at in range(45):
        assert found[f"b{at}"].influence == pytest.approx(
            (whole - auc(higher, np.delete(lower, at))) * 44 / 45, abs=1e-12
        )
    assert sum(unit.influence for unit in found.values()) == pytest.approx(0, abs=1e-12)


def test_rows_of_a_document_in_another_order_change_nothing():
    rows = [(f"d{at % 2}", [0.1 * (at % 7), 1.0]) for at in range(60)]
    other = rows[::-1]
    sides = [
        ours.influence_of_counts(
            [key for key, _ in side], [counts for _, counts in side], lambda sums: sums[0] / sums[1]
        )
        for side in (rows, other)
    ]
    straight = ours.paired_influence(0.0, *sides)
    assert (straight.changed, straight.stderr) == (0.0, 0.0)
    assert straight == ours.paired_influence(0.0, sides[0], sides[0])


@given(
    gaps=st.lists(
        st.sampled_from((0.0, 0.0, 0.1, 0.25, -0.3, 0.77, -1.0, 1.0)), min_size=1, max_size=60
    )
)
def test_exchanged_sides_have_the_mirrored_interval_to_the_last_digit(gaps):
    gaps = np.array(gaps)
    gained, lost = int((gaps > 0).sum()), int((gaps < 0).sum())
    pairs = [
        (ours.paired_mean(gaps, range=1.0), ours.paired_mean(-gaps, range=1.0)),
        (
            ours.PairedVerdicts(gaps.size, gained, lost),
            ours.PairedVerdicts(gaps.size, lost, gained),
        ),
    ]
    for straight, exchanged in each(pairs, 2):
        low, high = straight.interval(0.95)
        assert exchanged.interval(0.95) == (-high, -low)
