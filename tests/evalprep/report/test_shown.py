"""The texts of numbers that a report carries: made once, at the places of the numbers."""

from __future__ import annotations

import pytest

from evalprep.numbers import number, percent
from evalprep.report.shown import shown_of
from tests.loops import each


def leaves(tree, path=()):
    if isinstance(tree, str):
        yield path, tree
    for key, below in (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    ):
        yield from leaves(below, (*path, key))


def value_at(document, path):
    for key in path:
        document = document[key]
    return document


def test_each_text_stands_where_its_number_stands(two_report):
    document = two_report.document
    texts = dict(leaves(document["shown"]))
    assert len(texts) > 100
    for path in texts:
        assert isinstance(value_at(document, path), int | float), path


def test_shares_are_percent_and_other_scores_are_not(two_report):
    document = two_report.document
    for task, shown in each(zip(document["tasks"], document["shown"]["tasks"], strict=True)):
        for run, texts in zip(task["runs"], shown["runs"], strict=True):
            if run and run["score"]["value"] is not None:
                form = percent if task["percent"] else number
                assert texts["score"]["value"] == form(run["score"]["value"])


@pytest.mark.parametrize(
    ("unit", "delta", "text"),
    [("points", -0.0125, "\N{MINUS SIGN}1.2"), ("points", 0.0, "0.0"), ("ratio", 0.0312, "1.032")],
)
def test_differences_have_their_sign_and_unit(unit, delta, text, two_report):
    item = {
        "unit": unit,
        "n": 12345,
        "now": 0.5,
        "previous": 0.5,
        "delta": delta,
        "low": None,
        "high": None,
        "p_holm": 0.0,
    }
    comparison = {"before": 1, "confidence": 0.95, "tasks": [], "overall": None, "pooled": None}
    comparison |= {"metrics": [item], "further": [], "stored": [], "suite": []}
    document = two_report.document | {"comparisons": [comparison]}
    (shown,) = shown_of(document)["comparisons"]
    assert shown["confidence"] == "95 %"
    level = "50.0" if unit == "points" else "0.5000"  # one scale for a value and its difference
    assert shown["metrics"] == [
        {"n": "12,345", "now": level, "previous": level, "delta": text, "p_holm": "<1e-4"}
    ]


def test_stored_scores_have_their_texts(two_report):
    """A page of runs without samples is made of nothing else."""
    runs = [{"value": 0.7436, "stderr": 0.0044, "n": 10042}, None]
    stored = [
        {"task": "a", "metric": "acc", "filter": "none", "percent": True, "runs": runs},
        {
            "task": "b",
            "metric": "mae",
            "filter": "none",
            "percent": False,
            "runs": [{"value": 186.9, "n": None}],
        },
    ]
    shown = shown_of(two_report.document | {"stored": stored})["stored"]
    assert shown[0]["runs"] == [{"value": "74.4", "stderr": "0.4", "n": "10,042"}, {}]
    assert shown[1]["runs"] == [{"value": "186.9"}]


def test_the_parts_of_a_suite_score_have_their_texts(two_report):
    """Categories in the unit of the score; numbers of records and of ratings as they are."""
    run = {
        "agg_value": 0.5,
        "stderr": 0.025,
        "n": 1200,
        "parts": {"recall": 0.75},
        "categories": [{"name": "law", "agg_value": 0.25, "n": 1000}],
        "records": {"lowest": [{"name": "r1", "value": 0.125}], "highest": []},
        "distributions": {"fluency": {"n": {"1": 1500, "5": 2}}},
    }
    expected = {
        "agg_value": "50.0",
        "stderr": "2.5",
        "n": "1,200",
        "parts": {"recall": "0.7500"},
        "categories": [{"agg_value": "25.0", "n": "1,000"}],
        "records": {"lowest": [{"value": "0.1250"}], "highest": []},
        "distributions": {"fluency": {"n": {"1": "1,500", "5": "2"}}},
    }
    score = {"unit": "share", "runs": [run, None], "published": [{"value": 0.375}]}
    (shown,) = shown_of(two_report.document | {"scores": [score]})["scores"]
    assert shown == {"runs": [expected, {}], "published": [{"value": "37.5"}]}
