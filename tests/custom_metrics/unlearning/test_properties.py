"""Invariants, and the bootstrap against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hmean

from custom_metrics.unlearning import bootstrap
from custom_metrics.unlearning.judge import STATUSES, judge_scores
from custom_metrics.unlearning.membership import auc, mia_auc, mia_min_k_score
from custom_metrics.unlearning.memorization import exact_memorization, extraction_strength
from custom_metrics.unlearning.truth_ratio import AGGREGATORS, truth_ratio
from custom_metrics.unlearning.utility import hm_aggregate
from tests.effort import examples
from tests.loops import each

LOSSES = st.floats(0, 60)
SCORES = st.lists(st.floats(-5, 5).map(lambda value: round(value, 1)), min_size=1, max_size=30)


@given(
    st.lists(st.tuples(LOSSES, st.lists(LOSSES, min_size=1, max_size=5)), min_size=1, max_size=20)
)
def test_a_truth_ratio_is_a_share(rows):
    for aggregator in each(AGGREGATORS):
        result = truth_ratio(
            aggregator=aggregator,
            correct_avg_loss={str(i): correct for i, (correct, _) in enumerate(rows)},
            wrong_avg_loss={str(i): wrong for i, (_, wrong) in enumerate(rows)},
        )
        assert 0 <= result["agg_value"] <= 1
        assert list(result["value_by_index"]) == [str(i) for i in range(len(rows))]


@given(SCORES, SCORES)
def test_auc_is_the_probability_of_a_higher_holdout_score(forget, holdout):
    pairs = [(h > f) + 0.5 * (h == f) for f in forget for h in holdout]
    assert auc(forget, holdout) == pytest.approx(sum(pairs) / len(pairs))
    assert auc(forget, holdout) == pytest.approx(1 - auc(holdout, forget))


def test_auc_equals_scikit_learn():
    from sklearn.metrics import roc_auc_score

    generator = np.random.default_rng(0)
    forget, holdout = generator.normal(0, 1, 80).round(1), generator.normal(0.3, 1, 70).round(1)
    labels = [0] * len(forget) + [1] * len(holdout)
    assert mia_auc(forget_scores=list(forget), holdout_scores=list(holdout))[
        "auc"
    ] == pytest.approx(roc_auc_score(labels, np.concatenate([forget, holdout])))


@given(st.lists(st.booleans(), max_size=40))
def test_memorisation_of_one_row(matches):
    row = {"pred_ids": matches, "label_ids": [True] * len(matches)}
    strict = extraction_strength(rows=[row], strict=True)["agg_value"]
    loose = extraction_strength(rows=[row])["agg_value"]
    suffix = next((i for i, match in enumerate(reversed(matches)) if not match), len(matches))
    assert strict == pytest.approx(suffix / len(matches) if matches else 0)
    assert strict <= loose <= 1
    if matches:
        assert strict <= exact_memorization(rows=[row])["agg_value"] + 1e-12


@given(st.lists(st.floats(-30, 0), min_size=1, max_size=50), st.sampled_from([0.05, 0.2, 0.4, 1.0]))
def test_min_k_lies_between_mean_and_worst_token(logprobs, k):
    score = mia_min_k_score(token_logprobs=logprobs, k=k)["score"]
    tolerance = 1e-4
    assert -sum(logprobs) / len(logprobs) - tolerance <= score <= -min(logprobs) + tolerance


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=9))
def test_harmonic_mean_equals_scipy(values):
    result = hm_aggregate(agg_values={str(i): value for i, value in enumerate(values)})
    assert result["agg_value"] == pytest.approx(float(hmean(values)))


@given(st.one_of(st.none(), st.text(), st.text("{}[]\":,' \\nAB0123456789.", max_size=80)))
def test_a_judge_may_answer_anything(text):
    result = judge_scores(metrics=["A", "B"], response=text)
    assert result["status"] in STATUSES
    assert (result["scores"] is not None) == (result["status"] == "ok")
    assert result["raw"] == text


@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        pytest.param('{"A": 1} then {"A": 2}', {}, "ok", id="last object counts"),
        pytest.param('{"result": {"A": "2"}}', {}, "ok", id="nested, numeric string"),
        pytest.param('```json\n{"A": 2}\n```', {}, "ok", id="code fence"),
        pytest.param('{"A": {"score": 2, "why": "x"}}', {}, "ok", id="score with its reason"),
        pytest.param('{"A": 2} {"B": 1}', {}, "ok", id="a later object lacks the key"),
        pytest.param("{'A': 2, 'note': 'isn't it'}", {}, "ok", id="single quotes, apostrophe"),
        pytest.param('{"B": 2}', {}, "incomplete", id="key missing"),
        pytest.param('{"A": NaN}', {}, "invalid_score", id="NaN"),
        pytest.param('{"A": -1}', {}, "invalid_score", id="below the range"),
        pytest.param("no score", {}, "parse_error", id="no object"),
        pytest.param('{"A": 2}', {"finish_reason": "length"}, "truncated", id="cut"),
        pytest.param('{"A": 2}', {"refusal": "I cannot"}, "refused", id="refusal"),
        pytest.param("{" * 5000, {}, "parse_error", id="deep nonsense"),
    ],
)
def test_judge_answers(text, options, status):
    result = judge_scores(metrics=["A"], response=text, **options)
    assert result["status"] == status
    if status == "ok":
        assert result["scores"] == {"A": 2.0}


@settings(max_examples=examples(20), deadline=None)
@given(
    st.lists(st.floats(0, 1).map(lambda v: round(v, 2)), min_size=2, max_size=12),
    st.lists(st.floats(0, 1).map(lambda v: round(v, 2)), min_size=2, max_size=9),
)
def test_auc_resamples_equal_drawing_by_hand(forget, holdout):
    drawn = bootstrap.auc_resamples(forget, holdout, resamples=20, seed=7)
    first, second = (np.random.default_rng([7, side]) for side in (0, 1))
    rows = first.integers(0, len(forget), size=(20, len(forget)))
    others = second.integers(0, len(holdout), size=(20, len(holdout)))
    by_hand = [
        auc(np.array(forget)[a], np.array(holdout)[b]) for a, b in zip(rows, others, strict=True)
    ]
    assert list(drawn) == pytest.approx(by_hand)


def test_resampled_means_do_not_depend_on_the_number_of_cores():
    threads = pytest.importorskip("threadpoolctl")
    columns = np.random.default_rng(0).random((400, 3))
    means = []
    for cores in (1, 2):
        with threads.threadpool_limits(cores):
            means.append(bootstrap.column_means(columns, resamples=2_000).tolist())
    assert means[0] == means[1]


def test_utility_interval_resamples_the_rows_of_a_data_set_together():
    values = np.random.default_rng(2).random(100)
    mirrored = (
        {str(i): float(v) for i, v in enumerate(values)},
        {str(i): float(1 - v) for i, v in enumerate(values)},
    )
    together = bootstrap.utility_interval([{"a": mirrored[0], "b": mirrored[1]}])
    apart = bootstrap.utility_interval([{"a": mirrored[0]}, {"b": mirrored[1]}])
    assert together[1] - together[0] < 0.2 * (apart[1] - apart[0])
    assert (
        bootstrap.utility_interval([{"a": {"0": 0.5, "1": None}, "b": {"0": 0.5, "1": 0.5}}])
        is None
    )


@pytest.mark.parametrize("values", [[], [0.5]])
def test_no_interval_of_less_than_two_rows(values):
    assert bootstrap.auc_interval(values, values) is None
