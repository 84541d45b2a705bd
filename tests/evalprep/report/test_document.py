from __future__ import annotations

import json

import pytest

from evalprep.compare import Settings, compare_runs, conclude, measure
from evalprep.report import build_report
from evalprep.report.scores import suite_of, thin
from evalprep.report.text import plain
from evalprep.results import label_runs, load_run
from evalprep.score import SuiteScore, score_run
from evalprep.score.result import Result
from evalprep.score.suite import Scores
from tests.evalprep.report.runs import capitals, write_run
from tests.loops import each


def task(report, name):
    return next(task for task in report.document["tasks"] if task["name"] == name)


def test_comparisons_are_those_of_the_compare_engine(two_runs, two_report):
    found = two_report.document["comparisons"]
    assert [(one["now"], one["before"]) for one in found] == [(0, None), (1, None), (0, 1)]
    runs = label_runs(two_runs)
    with_verdicts = ["capitals", "hostile"]
    tasks = [with_verdicts, ["capitals"]]
    published = [
        measure(run, None, {}, Settings(), tasks=names)
        for run, names in zip(runs, tasks, strict=True)
    ]
    expected = [*conclude(published), compare_runs(*runs)]
    for one, comparison in zip(found, expected, strict=True):
        assert {key: value for key, value in one.items() if key not in {"now", "before"}} == plain(
            comparison.to_dict()
        )


def test_task_scores_are_those_of_the_score_engine(two_runs, two_report):
    for number, run in each(enumerate(two_runs)):
        for score in score_run(run).tasks:
            shown = task(two_report, score.task)["runs"][number]["score"]
            assert shown["value"] == score.micro.value
            assert [shown["low"], shown["high"]] == list(score.micro.interval)
            assert shown["n"] == score.micro.n


def test_counts_by_construction(two_report):
    first, second = task(two_report, "capitals")["runs"]
    assert (first["rows"], second["rows"]) == (40, 37)
    assert first["score"]["value"] == pytest.approx(34 / 40)
    assert (first["unparsed"], first["truncated"], first["empty"], first["damaged"]) == (2, 0, 0, 0)
    assert first["published"] == {"n": 40, "value": pytest.approx(0.8)}
    filters = {one["name"]: (one["value"], one["unparsed"]) for one in first["filters"]}
    assert filters == {
        "flexible-extract": (pytest.approx(0.85), 2),
        "strict-match": (pytest.approx(33 / 40), 3),
    }
    assert {one["name"]: one["rows"] for one in first["subtasks"]} == {
        "Europe": 16,
        "elsewhere": 24,
    }
    assert sum(first["lengths"]["counts"]) == first["lengths"]["n"] == 40
    summaries = task(two_report, "summaries")["runs"][0]
    assert summaries["truncated"] == 2
    assert summaries["published"] is None


def test_a_task_of_one_run_only_leaves_a_gap(two_report):
    assert task(two_report, "hostile")["runs"][1] is None


def test_document_is_strict_json(two_report):
    json.dumps(two_report.document, allow_nan=False)


def test_secrets_do_not_reach_the_page(two_report):
    assert "sk-secret" not in json.dumps(two_report.document)


@pytest.mark.parametrize(
    ("models", "stamps", "expected"),
    [
        pytest.param(["a/x", "a/y"], ["2026-01-01T10-00-00"] * 2, ["x", "y"], id="models tell"),
        pytest.param(
            ["a/x", "a/x"],
            ["2026-01-01T10-00-00", "2026-01-01T11-30-00"],
            ["x, 10:00:00", "x, 11:30:00"],
            id="times tell",
        ),
        pytest.param(
            ["a/x", "a/x"],
            ["2026-01-01T10-00-00", "2026-01-02T10-00-00"],
            ["x, 2026-01-01 10:00:00", "x, 2026-01-02 10:00:00"],
            id="days tell",
        ),
    ],
)
def test_labels_tell_runs_of_one_folder_apart(tmp_path, models, stamps, expected):
    runs = []
    for model, stamp in zip(models, stamps, strict=True):
        write_run(tmp_path, {"capitals": capitals(5, wrong=0, unread=0)}, model=model, stamp=stamp)
        runs.append(load_run(tmp_path / model.replace("/", "__"), timestamp=stamp))
    assert [run["label"] for run in build_report(runs).document["runs"]] == expected


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        pytest.param(
            ["greedy", "sampled"], ["x, greedy", "x, sampled"], id="where the output went"
        ),
        pytest.param(
            ["greedy/results", "sampled/results"], ["x, greedy", "x, sampled"], id="above it"
        ),
        pytest.param(
            ["1/a/b/out", "2/a/b/out"], ["x, 10:00:00", "x, 11:30:00"], id="too far above"
        ),
    ],
)
def test_labels_tell_folders_apart(tmp_path, folders, expected):
    runs = []
    for folder, stamp in zip(folders, ("2026-01-01T10-00-00", "2026-01-01T11-30-00"), strict=True):
        path = write_run(
            tmp_path / folder,
            {"capitals": capitals(5, wrong=0, unread=0)},
            model="a/x",
            stamp=stamp,
        )
        runs.append(load_run(path))
    assert [run["label"] for run in build_report(runs).document["runs"]] == expected


def suite(result, **fields):
    value = result.get("agg_value")
    score = SuiteScore(
        "quality", "pack", "Quality", "up", (0.0, 1.0), value, result=Result.of(result), **fields
    )
    return Scores("run", "model", [], [], [score])


def test_a_pack_brings_explanation_parts_and_distributions():
    result = {
        "agg_value": 0.5,
        "explain": "How alike two distributions are.",
        "parts": {"a": 0.4, "b": float("nan")},
        "notes": "one note",
        "distributions": {"model": [0.3, 0.1, float("inf")], "reference": range(5000)},
        "value_by_index": {"0": {"score": 0.1}},
    }
    (found,) = suite_of([suite(result), suite({"agg_value": None, "reason": "no reference run"})])
    assert found["explain"] == "How alike two distributions are."
    first, second = found["runs"]
    assert first["parts"] == {"a": 0.4, "b": None}
    assert first["notes"] == ["one note"]
    assert first["distributions"]["model"] == {"n": 2, "values": [0.1, 0.3]}
    drawn = first["distributions"]["reference"]
    assert (drawn["n"], len(drawn["values"]), drawn["values"][0], drawn["values"][-1]) == (
        5000,
        1000,
        0,
        4999,
    )
    assert second["agg_value"] is None
    assert second["reason"] == "no reference run"


def test_an_undefined_value_is_called_so():
    (found,) = suite_of([suite({"agg_value": 1e11, "interval": [1.0, 2e11], "undefined": True})])
    (run,) = found["runs"]
    assert (run["agg_value"], run["interval"], run["reason"]) == (None, None, "undefined")


def test_the_note_of_a_pack_explains_what_the_result_does_not():
    (found,) = suite_of([suite({"agg_value": 0.5})], {"pack/quality": "From pack.yaml."})
    assert found["explain"] == "From pack.yaml."


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            {"0": {"score": 0.1}, "1": {"score": 0.2}, "2": {"score": 0.3}},
            [0.1, 0.2, 0.3],
            id="graded",
        ),
        pytest.param(
            {"0": {"score": 1.0}, "1": {"score": 0.0}, "2": {"score": 1.0}},
            None,
            id="verdicts say nothing",
        ),
        pytest.param(
            {str(at): {"a": at / 9, "b": at / 3} for at in range(9)}, None, id="two scales"
        ),
        pytest.param(
            {str(at): {"score": 1.0, "other": at / 9} for at in range(9)},
            None,
            id="another scale than the score's",
        ),
        pytest.param({"0": "text", "1": None}, None, id="no numbers"),
    ],
)
def test_graded_rows_are_drawn_without_being_declared(rows, expected):
    (found,) = suite_of([suite({"agg_value": 0.2, "value_by_index": rows})])
    drawn = found["runs"][0]["distributions"]
    assert drawn == ({} if expected is None else {"score": {"n": 3, "values": expected}})


def test_thin_keeps_both_ends():
    found = thin(range(10_001))
    assert found["n"] == 10_001
    assert len(found["values"]) == 1000
    assert (found["values"][0], found["values"][-1]) == (0, 10_000)


def test_categories_and_records_of_a_score_reach_the_page():
    result = {
        "agg_value": 0.5,
        "categories": {
            "b": {"agg_value": 0.25, "n": 2},
            "a": {"agg_value": 0.75, "interval": [0.5, 1.0], "n": 2},
            "c": {},
        },
        "records": {
            "best": [{"sample_id": "r1", "value": 1.0, "prompt": "p", "other": 1}],
            "worst": "nothing",
        },
    }
    score = SuiteScore("s", "pack", "S", "up", (0, 1), 0.5, result=Result.of(result))
    shown = suite_of([Scores("run", "m", [], [], [score])])[0]["runs"][0]
    assert [(one["name"], one["low"]) for one in shown["categories"]] == [("a", 0.5), ("b", None)]
    assert shown["records"]["best"] == [
        {"sample_id": "r1", "value": 1.0, "prompt": "p", "target": None, "reply": None}
    ]
    assert list(shown["records"]) == ["best"]
