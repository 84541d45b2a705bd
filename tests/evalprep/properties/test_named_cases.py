"""Pairs of runs whose paired replies are equal, of which one lacks what was hard: nothing may be better or worse."""

from __future__ import annotations

import copy

import pytest

from tests.evalprep.properties.answers import Answers, run
from tests.evalprep.properties.holds import (
    breaks_of_equal_pairs,
    breaks_of_exchange,
    breaks_of_lower_pairs,
)
from tests.evalprep.properties.pairs import Pair, Row, Task, write_pair
from tests.loops import each

SHARE = {"range": [0, 1]}


def subjects():
    """One task of 40 subjects with 50 rows each; the last one is hard, and small."""
    rows = [Row(at, float(at % 10 < 8), f"s{at // 50:02}") for at in range(2000)]
    return [
        Task("mmlu", "verdict", [*rows, *(Row(at, 0.0, "hard") for at in range(2000, 2010))], 2010)
    ]


def two_tasks():
    return [
        Task("easy", "verdict", [Row(at, float(at < 190)) for at in range(200)], 200),
        Task("hard", "verdict", [Row(at, float(at < 40)) for at in range(200)], 200),
    ]


@pytest.fixture
def answers(tmp_path):
    """A function from a pair and its scores to the answers of the verbs, in both orders."""

    def answers_of(now, before, scores):
        pair = Pair(now, before, scores, [])
        both = []
        for name, side in (("straight", pair), ("exchanged", pair.exchanged())):
            folder = tmp_path / name
            folder.mkdir()
            both.append(Answers(*write_pair(folder, side), folder))
        return both

    return answers_of


def test_a_macro_average_without_a_subject_is_not_enough_evidence(answers):
    before, now = subjects(), subjects()
    now[0].rows = now[0].rows[:2000]
    scores = {
        "macro": {"function": "macro", "tasks": ["mmlu"], **SHARE},
        "micro": {"function": "micro", "tasks": ["mmlu"], **SHARE},
        "mean": {"function": "mean", "needs": ["macro", "micro"], **SHARE},
    }
    for side in each(answers(now, before, scores), 2):
        assert list(breaks_of_equal_pairs(side)) == []
        quantities = side.quantities
        for name in ("macro", "mean"):
            item = quantities[f"suite drawn/{name}"]
            assert item["verdict"] == "not enough evidence"
            lacking = "lacks 1 of 41 subtasks"
            assert lacking in item["words"]
            assert item["lacks"] == ["no_scored_pair"]
            assert side.checks["suite", name]["status"] == "not enough evidence"
        # Ten of 2,010 rows are within the tolerated share of a mean over rows.
        micro = quantities["suite drawn/micro"]
        assert (micro["n"], micro["now"], micro["previous"]) == (2000, 0.8, 0.8)
        assert {micro["own_now"], micro["own_previous"]} == {None, 1600 / 2010}
        assert "over all of its own rows: " in " ".join(micro["notes"])
        assert side.gate[0] == 3


def without_numbers(task):
    for row in task.rows:
        row.value = None


def with_failed_scorers(task):
    for row in task.rows:
        row.failed, row.value = True, 0.0


SCORES = {
    "macro": {"function": "macro", "tasks": ["easy", "hard"], **SHARE},
    "micro": {"function": "micro", "tasks": ["easy", "hard"], **SHARE},
    "part": {"function": "macro", "tasks": ["easy", "hard"], "on_missing": "skip", **SHARE},
    "rows": {
        "function": "score.over_rows",
        "tasks": ["easy", "hard"],
        "on_missing": "skip",
        **SHARE,
    },
    "sums": {"counts": "score.counts", "value": "score.of_sums", "tasks": ["hard"], **SHARE},
    "easy_alone": {"function": "micro", "tasks": ["easy"], **SHARE},
    "mean": {"function": "mean", "needs": ["part", "easy_alone"], **SHARE},
}


@pytest.mark.parametrize("spoil", [without_numbers, with_failed_scorers])
def test_a_task_without_any_score_is_no_zero_and_no_gain(answers, spoil):
    before, now = two_tasks(), two_tasks()
    spoil(now[1])
    for side in each(answers(now, before, SCORES), 2):
        assert list(breaks_of_equal_pairs(side)) == []
        for name in SCORES:
            item = side.quantities[f"suite drawn/{name}"]
            expected = "no difference shown" if name == "easy_alone" else "not enough evidence"
            assert (name, item["verdict"]) == (name, expected)
        (overall,) = [item for name, item in side.quantities.items() if "mean of 1" in name]
        assert overall["verdict"] == "not enough evidence"
        assert side.checks["overall", "overall"]["status"] == "not enough evidence"
        assert side.gate[0] == 3


@pytest.mark.parametrize("spoil", [without_numbers, with_failed_scorers])
def test_a_run_with_a_broken_task_is_not_ranked_first(answers, spoil):
    before, now = two_tasks(), two_tasks()
    spoil(now[1])
    straight, _ = answers(now, before, SCORES)
    broken, whole = straight.cells
    assert broken["drawn/part"]["value"] == 0.95
    assert broken["drawn/part"]["standing"] == "incomplete"
    assert "200 of 200 rows of hard have no score" in broken["drawn/part"]["why"]
    assert broken["drawn/macro"]["value"] is None
    assert not whole["drawn/part"]["standing"]
    assert broken["hard"]["value"] is None
    (task,) = [task for task in straight.scores[0]["tasks"] if task["task"] == "hard"]
    assert task["micro"]["agg_value"] is None


def test_a_task_that_one_side_lacks_is_not_left_out_of_a_score(answers):
    before, now = two_tasks(), two_tasks()[:1]
    for side in each(answers(now, before, SCORES), 2):
        assert list(breaks_of_equal_pairs(side)) == []
        item = side.quantities["suite drawn/part"]
        assert item["verdict"] == "not enough evidence"
        assert "has no hard" in item["words"]


@pytest.mark.parametrize("spoil", [without_numbers, with_failed_scorers])
def test_rows_without_a_number_are_missing_rows_in_every_verb(answers, spoil):
    before, now = two_tasks(), two_tasks()
    part = copy.deepcopy(now[1])
    part.rows = part.rows[100:150]
    spoil(part)
    now[1].rows[100:150] = part.rows
    straight, _ = answers(now, before, SCORES)
    assert list(breaks_of_equal_pairs(straight)) == []
    item = straight.quantities["task hard"]
    assert item["words"].startswith("50 of 200 expected rows are missing")
    assert item["lacks"] == ["missing_rows"]
    micro = straight.quantities["suite drawn/micro"]
    assert (micro["n"], micro["lacks"]) == (350, ["missing_rows"])
    assert straight.checks["suite", "micro"]["status"] == "not enough evidence"
    broken, _ = straight.cells
    assert broken["hard"]["standing"] == "incomplete"
    notes = straight.scores[0]["notes"]
    assert "hard: 50 of 200 expected rows are missing (50 rows without a score)" in notes
    (task,) = [task for task in straight.scores[0]["tasks"] if task["task"] == "hard"]
    assert task["micro"]["n"] == 150
    assert run("score", straight.now, "--no_write")[0] == 0


def test_scores_of_two_metrics_have_no_difference(answers):
    before, now = two_tasks(), two_tasks()
    for task in (before[1], now[1]):
        task.second = True
        for row in task.rows:
            row.second = 1.0
    without_numbers(now[1])  # its rows keep the other metric, in which all are right
    scores = {
        "macro": {"function": "macro", "tasks": ["easy", "hard"], "on_missing": "skip", **SHARE}
    }
    straight, exchanged = answers(now, before, scores)
    for side in (straight, exchanged):
        for name in ("task hard", "suite drawn/macro"):
            item = side.quantities[name]
            assert item["verdict"] == "not comparable", item["words"]
            assert "metric" in {reason["kind"] for reason in item["reasons"]}
            assert [item[key] for key in ("delta", "low", "high", "p")] == [None] * 4
    assert list(breaks_of_lower_pairs(straight)) == []


def test_a_run_without_rows_leaves_the_choice_of_the_metric_to_the_other(answers):
    def graded():
        rows = [Row(at, float(at % 3 > 0)) for at in range(60)]
        return [Task("graded", "graded", rows, 60, second=True)]

    before, now = graded(), graded()
    now[0].rows = []
    for side in each(answers(now, before, {}), 2):
        assert side.compare[1]["tasks"][0]["metric"] == "rouge"
        assert set(side.quantities) == {"task graded"}


def test_a_metric_without_numbers_on_one_side_stands_for_the_task_in_neither_order(answers):
    def two_metrics():
        rows = [Row(at, float(at % 3 > 0), second=float(at % 2)) for at in range(60)]
        return [Task("mixed", "verdict", rows, 60, second=True)]

    before, now = two_metrics(), two_metrics()
    without_numbers(now[0])
    straight, exchanged = answers(now, before, {})
    assert list(breaks_of_exchange(straight, exchanged)) == []
    for side in (straight, exchanged):
        (task,) = side.compare[1]["tasks"]
        assert (task["metric"], task["n"], task["verdict"]) == ("acc_norm", 60, "not comparable")


def test_lines_that_stand_there_twice_are_no_documents(answers):
    def written():
        rows = [Row(at, float(at % 3 > 0)) for at in range(60)]
        return [Task("easy", "graded", rows, 60)]

    before, now = written(), written()
    for row in now[0].rows[:40]:
        row.extra.append(1.0 - row.value)
    scores = {"rows": {"function": "score.over_rows", "tasks": ["easy"], **SHARE}}
    straight, exchanged = answers(now, before, scores)
    assert list(breaks_of_exchange(straight, exchanged)) == []
    item = straight.quantities["task easy"]
    assert (item["n"], item["clusters"]) == (20, None)
    assert "as one document" not in " ".join(item["notes"])


def over_all_rows(kind, size=120):
    """One task of a metric over all rows: a quarter of the labels are wrong, the texts have one likelihood."""
    values = {"labels": lambda at: float(at % 4 > 0), "texts": lambda at: -30.0 - at % 7}
    rows = [Row(at, values[kind](at)) for at in range(size)]
    return [Task("whole", kind, rows, size)]


@pytest.mark.parametrize("kind", ["labels", "texts"])
def test_a_metric_over_all_rows_has_the_value_of_each_run_beside_that_of_the_pairs(answers, kind):
    before, now = over_all_rows(kind), over_all_rows(kind)
    for row in before[0].rows[:30]:
        row.gold = "B"
    straight, exchanged = answers(now, before, {})
    assert list(breaks_of_exchange(straight, exchanged)) == []
    item = straight.quantities["task whole"]
    own = straight.own_values(0)["task", "whole"][0]
    assert item["n"] == 90
    assert item["own_now"] == own
    assert own != pytest.approx(item["now"], rel=1e-6)


@pytest.mark.parametrize("kind", ["labels", "texts"])
def test_a_metric_over_all_rows_stands_for_a_task_whose_file_is_empty_on_one_side(answers, kind):
    before, now = over_all_rows(kind), over_all_rows(kind)
    now[0].rows = []
    straight, exchanged = answers(now, before, {})
    assert list(breaks_of_exchange(straight, exchanged)) == []
    assert straight.quantities["task whole"]["verdict"] == "not enough evidence"


@pytest.mark.parametrize("kind", ["labels", "texts"])
def test_rows_whose_scorer_failed_count_in_no_metric_over_all_rows(answers, kind):
    before, now = over_all_rows(kind), over_all_rows(kind)
    with_failed_scorers(before[0])
    for row in before[0].rows:
        row.value = {"labels": 0.0, "texts": -60.0}[kind]
    for side in each(answers(now, before, {}), 2):
        assert list(breaks_of_equal_pairs(side)) == []
        assert side.quantities["task whole"]["lacks"] == ["few_rows", "no_scored_pair"]
    assert side.own_values(0)["task", "whole"][0] is None


def test_numbers_that_are_nan_say_nothing_of_what_rows_hold(answers):
    before, now = over_all_rows("texts"), over_all_rows("texts")
    without_numbers(now[0])
    now[0].lacking = "nan"
    straight, exchanged = answers(now, before, {})
    assert list(breaks_of_exchange(straight, exchanged)) == []
    assert straight.compare[1]["tasks"][0]["metric"] == "word_perplexity"


def test_equal_perplexities_rule_no_loss_out(answers):
    side, _ = answers(over_all_rows("texts"), over_all_rows("texts"), {})
    check = side.checks["task", "whole"]
    assert check["message"] == "no change; every row is as before"


def test_documents_are_those_of_both_sides(answers):
    def asked_twice():
        rows = [Row(at, [0.0, 0.25, 0.5, 1.0][at % 4]) for at in range(80)]
        return [Task("twins", "graded", rows, 80, twins=True)]

    before, now = asked_twice(), asked_twice()
    for row in now[0].rows[::2]:
        row.value, row.prompt = 0.9, "Answer in one word. "
    straight, exchanged = answers(now, before, {})
    assert list(breaks_of_exchange(straight, exchanged)) == []


def test_rows_of_one_id_are_several_rows_of_a_function_of_a_pack(answers):
    def unnamed():
        rows = [Row(at, float(at % 2)) for at in range(80)]
        return [Task("twins", "verdict", rows, 80, twins=True, named=False)]

    scores = {"rows": {"function": "score.over_rows", "tasks": ["twins"], **SHARE}}
    for side in each(answers(unnamed(), unnamed(), scores), 2):
        item = side.quantities["suite drawn/rows"]
        assert (item["n"], item["now"]) == (80, 0.5)
        assert side.own_values(0)["suite", "drawn/rows"] == (0.5, 80)


def test_a_few_missing_rows_and_one_lost_have_a_p_in_a_mean_over_tasks(answers):
    before, now = two_tasks(), two_tasks()
    for task in (*before, *now):
        task.rows += [Row(at, float(at < 390)) for at in range(200, 400)]
        task.size = 400
    now[0].rows = now[0].rows[:397]
    now[0].rows[0].value = 0.0
    for side in each(answers(now, before, {}), 2):
        (overall,) = [item for name, item in side.quantities.items() if "mean of 2" in name]
        assert (overall["p"], overall["verdict"]) == (1.0, "no difference shown")


def test_subtasks_and_weights_that_one_side_alone_has_weigh_both_alike(answers):
    def listed():
        rows = [Row(at, 0.5 * (at % 3), "s0" if at < 20 else "s1", None, 2) for at in range(60)]
        return [Task("shares", "list", rows, 60)]

    before, now = listed(), listed()
    for row in before[0].rows:
        row.subtask = None
        row.weight = 4 if row.at % 2 else 2
    scores = {
        "macro": {"function": "macro", "tasks": ["shares"], **SHARE},
        "micro": {"function": "micro", "tasks": ["shares"], **SHARE},
        "best": {"function": "score.by_subtask", "tasks": ["shares"], **SHARE},
    }
    straight, exchanged = answers(now, before, scores)
    assert list(breaks_of_exchange(straight, exchanged)) == []
    for side in (straight, exchanged):
        for name in scores:
            assert side.quantities[f"suite drawn/{name}"]["delta"] == 0
