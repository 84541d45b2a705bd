"""`raw_predictions.jsonl`: what the original's folders hold, and what this pack's export writes."""

import json
import shutil

import pytest

from evalprep.cli import main
from tests.packs.science.runs import write_run

TASKS = {"qasper_abstractive_qa", "bioasq_list_qa", "scifact_entailment"}


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "runs" / "model", tasks=TASKS)


def scored(capsys, *arguments):
    capsys.readouterr()
    assert main(["score", *map(str, arguments), "--json"]) == 0
    return {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}


def same(before, after):
    for name, score in before.items():
        for key in ("value", "low", "high", "n"):
            assert after[name][key] == score[key], (name, key)


def in_the_original_s_form(run, out):
    """`<model>/<task>/raw_predictions.jsonl` with lm-eval's keys, the results file beside it."""
    for file in run.glob("samples_*.jsonl"):
        task = file.name.removeprefix("samples_").rpartition("_20")[0]
        (out / task).mkdir(parents=True)
        shutil.copyfile(file, out / task / "raw_predictions.jsonl")
        for results in run.glob("results_*.json"):
            shutil.copyfile(results, out / task / "eleuther.jsonl")
    return out


def test_a_folder_as_the_original_writes_it_is_read(run, tmp_path, capsys):
    before = scored(capsys, run, "--no_write")
    folder = in_the_original_s_form(run, tmp_path / "original" / "model")
    same(before, scored(capsys, folder, "--no_write"))
    qasper = folder / "qasper_abstractive_qa"
    after = scored(capsys, qasper, "--no_write")
    assert after["science_qasper"]["value"] == before["science_qasper"]["value"]


def test_what_the_export_writes_is_read_with_the_same_values_and_intervals(run, tmp_path, capsys):
    out = tmp_path / "scores"
    before = scored(capsys, run, "--out", out)
    (folder,) = (out / "by_model").iterdir()
    line = json.loads((folder / "bioasq_list_qa" / "raw_predictions.jsonl").open().readline())
    assert {"prompt", "pred", "ref"} <= {*line}
    same(before, scored(capsys, folder, "--no_write"))


def test_a_line_that_is_no_prediction_is_named(tmp_path, capsys):
    folder = tmp_path / "model" / "bioasq_list_qa"
    folder.mkdir(parents=True)
    (folder / "raw_predictions.jsonl").write_text(
        '{"prompt": "p", "pred": "[]", "ref": "[]"}\n{}\n'
    )
    assert main(["score", str(folder.parent), "--no_write"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "raw_predictions.jsonl:2" in said
    assert "is not a prediction" in said
