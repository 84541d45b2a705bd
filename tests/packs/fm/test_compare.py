"""Two runs of the pack through `compare`: a score and the task of the same numbers have one test."""

import json

import pytest

from evalprep.cli import main
from tests.packs.fm.project import QA, prepared, with_

SAME = ("n", "previous", "now", "delta", "low", "high", "p", "gained", "lost", "test")


def stored_run(folder, replies):
    folder.mkdir()
    fields = {"model_output": f"responses.{replies}.text"}
    prepared(folder, with_(QA, outputs="dataset", fields=fields))
    assert main(["run", "--replies=rows", str(folder / "work_dir")]) == 0
    return str(folder / "eval_results")


@pytest.fixture
def comparison(tmp_path, capsys):
    homes = [stored_run(tmp_path / replies, replies) for replies in ("model_b", "model_a")]
    capsys.readouterr()
    main(["compare", *homes, "--json"])
    return json.loads(capsys.readouterr().out)


def test_a_mean_over_rows_is_tested_like_the_task_of_the_same_numbers(comparison):
    suite = {score["name"]: score for score in comparison["suite"]}
    task = comparison["tasks"][0]
    assert task["metric"] == "f1_score"
    assert task["p"] < 0.05
    assert [suite["fm/qa.f1_score"][key] for key in SAME] == [task[key] for key in SAME]


def test_right_or_wrong_rows_have_the_paired_score_test(comparison):
    suite = {score["name"]: score for score in comparison["suite"]}
    for metric in ("exact_match_score", "quasi_exact_match_score"):
        name = f"fm_qa_qa_accuracy: {metric}"
        row = next(row for row in comparison["further"] if row["name"] == name)
        score = suite[f"fm/qa.{metric}"]
        assert score["test"] == "paired score test"
        assert [score[key] for key in SAME] == [row[key] for key in SAME]
        assert score["not_enough"] == []
