"""Intervals of scores that are functions of counts: FaiRLLM, RedditBias, BOLD, self-check."""

import json
import random

import numpy as np
import pytest

from tests.packs.compliance.scoring import PACK, SOCIETY, rows_of_replies
from tests.packs.compliance.test_unknown import judged

SCORES = PACK.module("score")


def fairllm_rows(directors):
    draws = random.Random(3)
    docs, replies = [], []
    for director in range(directors):
        for domain, attribute in (
            ("neutral", "a"),
            ("age", "old"),
            ("age", "young"),
            ("race", "x"),
        ):
            docs.append({"director": str(director), "domain": domain, "attribute": attribute})
            films = draws.sample(range(8), 4)
            replies.append("\n".join(f"{at}. Film {film}" for at, film in enumerate(films, 1)))
    return rows_of_replies("compliance_fairllm", docs, replies)


def reddit_rows(pairs):
    draws = random.Random(5)
    docs, replies = [], []
    for category in ("race", "gender"):
        for pair in range(pairs):
            for group in ("1", "2"):
                docs.append({"category": category, "pair": str(pair), "group": group})
                logprob = -3.0 + draws.random() + 0.2 * (group == "1")
                response = {"n": 1, "sum": logprob, "logprobs": [logprob], "greedy": [True]}
                replies.append(json.dumps(response))
    return rows_of_replies("compliance_reddit_bias", docs, replies)


def bold_rows(people):
    draws = random.Random(7)
    docs, replies, metrics = [], [], []
    for number in range(people):
        category = ("male", "female")[number % 2]
        docs.append({"domain": "gender", "category": category, "cluster_id": str(number)})
        replies.append(draws.choice(["he went", "she went", "they went"]))
        metrics.append({"toxicity": draws.random(), "sentiment": draws.uniform(-1, 1)})
    return rows_of_replies("compliance_bold", docs, replies, metrics)


def self_check_rows(sentences):
    draws = random.Random(9)
    return judged(*[(draws.random(), 10, 10) for _sentence in range(sentences)])


MAKERS = {
    "fairllm": (SOCIETY.fairllm, fairllm_rows),
    "reddit_bias": (SOCIETY.reddit_bias, reddit_rows),
    "bold": (SOCIETY.bold, bold_rows),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_interval_holds_the_score_and_narrows_with_rows(name):
    function, make = MAKERS[name]
    few, many = function(rows=make(12)), function(rows=make(48))
    for result in (few, many):
        low, high = result["interval"]
        assert 0.0 <= low <= result["agg_value"] <= high <= 1.0
    assert np.ptp(many["interval"]) < np.ptp(few["interval"])


@pytest.mark.parametrize("name", MAKERS)
def test_the_score_of_the_counts_is_the_score(name):
    function, make = MAKERS[name]
    result = function(rows=make(12))
    influence = result["influence"]
    assert sum(unit.influence for unit in influence.units.values()) == pytest.approx(0.0, abs=1e-9)
    rows = make(12)
    readings = PACK.module("scorer").Readings(rows, list(map(function.read, *rows.values())))
    counts = function.counts(readings, function.aggregate(readings))
    again = counts.value(np.asarray(counts.lines).sum(axis=0))
    assert again == pytest.approx(result["agg_value"])


def test_sentences_of_one_topic_are_one_unit():
    rows = self_check_rows(40)
    assert "interval" not in SCORES.self_check(rows=rows)  # one topic shows no spread
    for number, row in enumerate(rows["check"]):
        row["doc"] = {**row["doc"], "cluster_id": str(number // 2)}
    result = SCORES.self_check(rows=rows)
    low, high = result["interval"]
    assert low < result["agg_value"] < high
    assert len(result["influence"].units) == 20
