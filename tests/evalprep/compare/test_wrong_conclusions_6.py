"""The third round of wrong conclusions, continued: values of rows alone, other metrics, unread rows, two readings."""

import json
from pathlib import Path

import pytest

from tests.evalprep.compare.small_runs import Task, two_small_runs
from tests.evalprep.compare.test_wrong_conclusions_4 import say  # noqa: F401 - a fixture


def without_stored_values(homes):
    """The results files state no value: the rows alone make one."""
    for home in homes:
        (path,) = Path(home).glob("results_*")
        results = json.loads(path.read_text())
        results["results"] = {name: {} for name in results["results"]}
        path.write_text(json.dumps(results))


def brier(of):
    chances = [round(0.1 * (at % of), 2) for at in range(60)]
    return [[at % 2, [1 - chance, chance]] for at, chance in enumerate(chances)]


@pytest.mark.parametrize(
    ("metric", "now", "before"),
    [
        (
            "bits_per_byte",
            [[-30.0 - at % 5, 20 + at % 3] for at in range(60)],
            [[-31.0 - at % 5, 20 + at % 3] for at in range(60)],
        ),
        ("brier_score", brier(10), brier(9)),
        ("f1", [[at % 2, at % 3 % 2] for at in range(90)], [[at % 2, 1] for at in range(90)]),
    ],
)
def test_w58_rows_alone_have_one_value_in_every_verb(tmp_path, say, run_verb, metric, now, before):  # noqa: F811
    direction = {metric: metric == "f1"}
    tasks = [Task({metric: rows}, directions=direction) for rows in (now, before)]
    homes = two_small_runs(tmp_path, *({"t": task} for task in tasks))
    without_stored_values(homes)
    answers = say(homes)
    item = answers.one("t")
    assert item["now"] is not None
    cells = [row["cells"]["t"]["value"] for row in answers.board["rows"]]
    assert sorted(cells) == pytest.approx(sorted([item["now"], item["previous"]]))
    for home, value in zip(homes, (item["now"], item["previous"]), strict=True):
        code, out = run_verb("score", home, "--no_write", "--json")
        (task,) = json.loads(out)["tasks"]
        assert (code, task["micro"]["agg_value"]) == (0, pytest.approx(value))


def test_w58_pairs_of_subtask_and_number_make_no_value_by_themselves(tmp_path, run_verb):
    rows = [[f"s{at % 3}", float(at % 2)] for at in range(60)]
    homes = two_small_runs(tmp_path, {"t": Task({"own": rows})}, {"t": Task({"own": rows})})
    without_stored_values(homes)
    _, out = run_verb("score", homes[0], "--no_write", "--json")
    assert json.loads(out)["tasks"][0]["micro"]["agg_value"] is None


def test_w63_a_metric_of_other_rows_is_named_as_one(tmp_path, say):  # noqa: F811
    verdicts = [float(at % 2) for at in range(200)]
    graded = [0.5 if at < 120 else None for at in range(200)]
    task = Task({"acc": verdicts, "quality": graded})
    answers = say(two_small_runs(tmp_path, {"t": task}, {"t": task}))
    assert (
        "quality is a metric of 120 of 200 rows on both sides, and acc of others"
        in answers.all_said
    )
    assert "no finite score" not in answers.all_said


def test_w63_rows_that_one_side_lost_are_failures(tmp_path, say):  # noqa: F811
    verdicts = [float(at % 2) for at in range(200)]
    whole, lost = [0.5] * 200, [0.5 if at < 120 else None for at in range(200)]
    homes = two_small_runs(
        tmp_path,
        {"t": Task({"acc": verdicts, "quality": lost})},
        {"t": Task({"acc": verdicts, "quality": whole})},
    )
    assert "80 rows have no finite score" in say(homes).all_said


def test_w66_rows_of_another_form_are_named_by_what_they_hold(tmp_path, say):  # noqa: F811
    spans = [
        [["Paris", "London"], ["Paris"]] if at % 2 else [["Rome"], ["Rome"]] for at in range(60)
    ]
    tasks = [Task({"span_f1": rows}) for rows in (spans, spans[::-1])]
    answers = say(two_small_runs(tmp_path, *({"t": task} for task in tasks)))
    item = answers.one("t")
    assert item["verdict"] == "not enough evidence"
    assert (
        "what the rows of span_f1 add to it is not known: they hold lists of 2 (lists)"
        in item["words"]
    )


def test_w69_two_readings_of_unfinished_thoughts_are_not_compared(tmp_path, say):  # noqa: F811
    now = {"exact_match@strict": [1.0] * 16, "exact_match@flexible": [0.0] * 16}
    base = [0.0] * 11 + [1.0] * 5
    before = {"exact_match@strict": base, "exact_match@flexible": base}
    tasks = [Task(metrics, response="<think> so") for metrics in (now, before)]
    homes = two_small_runs(tmp_path, *({"t": task} for task in tasks))
    answers = say(homes)
    item = answers.one("t")
    assert item["verdict"] == "not comparable"
    assert item["reasons"][0]["kind"] == "readings"
    assert "`--metric @strict` chooses one" in item["words"]
    chosen = say(homes, "--metric", "@strict").one("t")
    assert "readings" not in {reason["kind"] for reason in chosen["reasons"]}
