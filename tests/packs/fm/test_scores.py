"""Scores over samples: changes by record, what a broken record does, and what is unknown."""

import math
import time

import pytest

from custom_metrics import statistics
from custom_metrics.fm import harness
from evalprep.packs.finding import find_packs


@pytest.fixture(scope="module")
def score():
    return find_packs()["fm"].module("score")


def sample(index, record, variant, metrics, *, category="c", variants=3, draw=0, draws=1):
    doc = {
        "record_id": record, "variant": variant, "variants": variants, "category": category, "draw": draw,
        "draws": draws,
    }  # fmt: skip
    return {"index": index, "sample_id": f"{record}/{variant}", "doc": doc, "metrics": metrics}


def robust(values, variants=3):
    """Samples of records whose values by variant are given; None leaves a variant out."""
    found = []
    for record, of_record in values.items():
        for variant, value in enumerate(of_record):
            if value is not None:
                entry = [record, variant, value, variants]
                found.append(sample(len(found), record, variant, {"s": entry}, category=record[0]))
    return {"task": found}


def test_delta_is_the_mean_over_whole_records(score):
    rows = robust(
        {
            "a1": [1.0, 0.0, 1.0],
            "a2": [0.5, 0.5, 0.5],
            "b1": [1.0, 0.0, None],
            "b2": [None, 1.0, 1.0],
        }
    )
    result = score.delta(rows=rows, params={"value": "s"})
    assert result["agg_value"] == 0.25
    assert result["skipped"] == {"record is not whole": 2}
    assert {name: one["agg_value"] for name, one in result["categories"].items()} == {"a": 0.25}
    assert list(result["value_by_index"].values()) == [
        {"delta_s": 0.5},
        {"delta_s": 0.0},
        {"delta_s": None},
    ]


def test_delta_of_the_harness_is_the_same_number(score):
    rows = robust({"a1": [1.0, 0.0, 1.0], "a2": [0.25, 0.5, 0.75], "b1": [1.0, 0.0, None]})
    items = [one["metrics"]["s"] for one in rows["task"]]
    assert harness.mean_delta(items) == score.delta(rows=rows, params={"value": "s"})["agg_value"]
    assert harness.originals(items) == score.original(rows=rows, params={"value": "s"})["agg_value"]


def test_an_unknown_score_leaves_its_record_out(score):
    rows = robust({"a1": [1.0, math.nan, 1.0], "a2": [1.0, 0.0, 0.0]})
    assert score.delta(rows=rows, params={"value": "s"})["agg_value"] == 1.0
    nothing = score.mean_of(
        rows={"task": [sample(0, "a1", 0, {"s": math.nan})]}, params={"value": "s"}
    )
    assert (nothing["agg_value"], nothing["reason"]) == (None, "no row has a value")


@pytest.mark.parametrize(
    ("values", "low", "high"), [([1.0] * 10, 0.7, 1.0), ([0.0, 1.0], 0.0, 1.0)]
)
def test_an_interval_has_a_width_where_all_verdicts_agree(score, values, low, high):
    rows = {"task": [sample(i, f"r{i}", 0, {"s": value}) for i, value in enumerate(values)]}
    interval = score.mean_of(rows=rows, params={"value": "s"})["interval"]
    assert low < interval[0] + 0.1
    assert interval[0] < interval[1] <= high


def test_values_that_are_all_alike_have_an_interval_where_they_are_shares(score):
    def result_of(value):
        rows = {"task": [sample(i, f"r{i}", 0, {"s": value}) for i in range(4)]}
        return score.mean_of(rows=rows, params={"value": "s"})

    assert result_of(0.3)["interval"] == pytest.approx([0.143, 0.653], abs=1e-3)
    assert "interval" not in result_of(3.0)


def said(*replies, draws=1, variants=2):
    places = [
        (0, 0),
        *((variant, 0) for variant in range(1, variants)),
        *((0, draw) for draw in range(1, draws)),
    ]
    return {
        "task": [
            sample(index, "r", variant, {"word_error_rate": ["r", variant, draw, reply, variants, draws]},
                   draw=draw, draws=draws, variants=variants)
            for index, ((variant, draw), reply) in enumerate(zip(places, replies, strict=False))
        ]
    }  # fmt: skip


def test_word_errors_above_those_of_the_model_itself(score):
    result = score.word_errors(
        rows=said("a b c d", "a b c x", "a b c d", "a b y d", draws=3), params={"value": "w"}
    )
    assert result["agg_value"] == pytest.approx(0.25 - 2 / 12)
    assert result["notes"] == []


def test_a_model_that_does_not_vary_is_named(score):
    result = score.word_errors(rows=said("a b", "a c", "a b", draws=2), params={"value": "w"})
    assert result["notes"] == [
        "deterministic: all replies to one unchanged prompt are equal, so nothing was taken off"
    ]


def test_empty_replies_are_counted(score):
    result = score.word_errors(rows=said("", ""), params={"value": "w"})
    assert (result["agg_value"], result["notes"]) == (
        0.0,
        ["2 of 2 replies are empty; two empty replies count as equal"],
    )


def test_dissimilarity_over_all_pairs(score):
    """Vector fm.general_semantic_robustness: 0.5 with a baseline of 1/3, all three pairs of replies counted."""
    rows = said("o", "p", "q", "x", "y", draws=3, variants=3)["task"]
    for row, value in zip(rows, [None, 0.5, 0.5, (0.5 + 1.0) / 2, 0.5], strict=True):
        row["metrics"]["bertscore"] = value
    result = score.dissimilarity(rows={"task": rows}, params={"value": "d"})
    assert result["agg_value"] == pytest.approx(0.16666666666666663)
    del rows[1]["metrics"]["bertscore"]
    assert score.dissimilarity(rows={"task": rows}, params={"value": "d"})["agg_value"] is None


def test_scores_over_the_set_and_by_category(score):
    pairs = [("a", "a", "x"), ("a", "b", "x"), ("b", "b", "y"), ("b", "b", "y")]
    rows = [
        sample(
            i, f"r{i}", 0, {"balanced_accuracy_score": [target, label, "macro"]}, category=category
        )
        for i, (target, label, category) in enumerate(pairs)
    ]
    result = score.over_set(rows={"task": rows}, params={"value": "balanced_accuracy_score"})
    assert result["agg_value"] == 0.75
    assert result["parts"] == {"x": 0.5, "y": 1.0}
    assert result["interval"][0] < 0.75 < result["interval"][1]
    assert (
        harness.balanced_accuracy([row["metrics"]["balanced_accuracy_score"] for row in rows])
        == 0.75
    )


@pytest.mark.parametrize("name", ["precision_score", "balanced_accuracy_score"])
def test_only_a_micro_average_is_a_share_of_the_rows(score, name):
    pairs = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b"), ("b", "a")]
    rows = [
        sample(i, f"r{i}", 0, {name: [target, label, "micro"]})
        for i, (target, label) in enumerate(pairs)
    ]
    result = score.over_set(rows={"task": rows}, params={"value": name})
    wilson = statistics.proportion_interval(result["agg_value"], len(pairs))
    assert (result["interval"] == pytest.approx(wilson)) is (name == "precision_score")


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in vars(harness)
        if name.endswith(("_accuracy", "robustness", "toxicity", "knowledge", "stereotyping"))
        and name[0] != "b"
    ],
)
@pytest.mark.parametrize("results", [[], [""], [None], [["a", "b"]], ["x" * 1000], [float("nan")]])
def test_process_results_never_raises(name, results):
    function = getattr(harness, name)
    doc = {
        "target": "a",
        "options": '{"valid_labels": ["a"]}',
        "record_id": "r",
        "variant": 0,
        "variants": 1,
    }
    if name == "prompt_stereotyping":
        results = [result for result in results if isinstance(result, float)]
    for row in (doc, {}):
        assert isinstance(function(row, results), dict)


def test_meteor_is_unknown_where_its_data_are_not(monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    from custom_metrics.fm import meteor

    meteor._wordnet.cache_clear()
    doc = {"target": "a b", "options": '{"meteor": "wordnet"}'}
    scores = harness.summarization_accuracy(doc, ["a b"])
    assert math.isnan(scores["meteor"])
    assert scores["rouge2"] == 1.0


def test_best_and_worst_records_are_named(score):
    rows = {
        "task": [
            sample(i, f"r{i}", 0, {"s": i / 4}) | {"prompt": "p" * 300, "response": "x"}
            for i in range(5)
        ]
    }
    records = score.mean_of(rows=rows, params={"value": "s", "better": "up"})["records"]
    assert [one["sample_id"] for one in records["best"]] == ["r4/0", "r3/0", "r2/0"]
    assert [one["sample_id"] for one in records["worst"]] == ["r0/0", "r1/0"]  # no record is both
    assert len(records["best"][0]["prompt"]) == 200
    lowest = score.mean_of(rows=rows, params={"value": "s", "better": "down"})["records"]["best"]
    assert lowest[0]["sample_id"] == "r0/0"
    nearest = score.mean_of(rows=rows, params={"value": "s", "better": "0.5"})["records"]["best"]
    assert nearest[0]["sample_id"] == "r2/0"


def test_a_record_shows_the_prompt_without_chat_markup(score):
    rows = [
        sample(i, f"r{i}", 0, {"s": float(i)}) | {"prompt": f"<|user|>{i}?<|assistant|>"}
        for i in range(4)
    ]
    for number, one in enumerate(rows):
        one["doc"] |= {"prompt": f"{number}?"} if number else {"prompt": "", "choices": ["a", "b"]}
    records = score.mean_of(rows={"task": rows}, params={"value": "s", "better": "up"})["records"]
    assert [one["prompt"] for one in (*records["best"], *records["worst"])] == [
        "3?",
        "2?",
        "a / b",
        "1?",
    ]


def test_a_record_without_a_reply_shows_none_and_a_number_is_a_text(score):
    rows = [
        sample(i, f"r{i}", 0, {"s": float(i)}) | {"response": [None], "target": 7} for i in range(4)
    ]
    records = score.mean_of(rows={"task": rows}, params={"value": "s"})["records"]
    assert {(record["reply"], record["target"]) for record in records["best"]} == {("", "7")}


def test_records_that_are_all_alike_are_not_ranked(score):
    rows = {"task": [sample(i, f"r{i}", 0, {"s": 1.0}) for i in range(5)]}
    assert score.mean_of(rows=rows, params={"value": "s"})["records"] == {}


def test_the_worst_records_are_worse_than_the_best(score):
    rows = {"task": [sample(i, f"r{i}", 0, {"s": float(i > 0)}) for i in range(5)]}
    records = score.mean_of(rows=rows, params={"value": "s", "better": "up"})["records"]
    assert [one["sample_id"] for one in records["worst"]] == ["r0/0"]
    assert "r0/0" not in [one["sample_id"] for one in records["best"]]


def test_many_rows_are_scored_in_linear_time(score):
    rows = {"task": [sample(i, f"r{i}", 0, {"s": i % 3 / 2}) for i in range(50_000)]}
    start = time.process_time()
    result = score.mean_of(rows=rows, params={"value": "s", "better": "up"})
    assert time.process_time() - start < 10
    assert len(result["records"]["worst"]) == 5
