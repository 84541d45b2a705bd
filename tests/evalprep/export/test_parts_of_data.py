"""A run over a part of the data is marked in everything that leaves the terminal."""

import csv
import json
from pathlib import Path

import pytest
import yaml

from evalprep.cli import main
from evalprep.score import WITHOUT_SAMPLES
from tests.evalprep.compare.small_runs import Task, verdicts, write_small_run

PART = "20 of 40 rows"


@pytest.fixture
def limited(tmp_path):
    tasks = {"t": Task({"acc": verdicts(20)}, original=40), "u": Task({"acc": verdicts(40)})}
    return write_small_run(tmp_path / "out", tasks)


def test_a_report_marks_the_part_in_every_format(limited, tmp_path):
    page = tmp_path / "page"
    assert main(["report", limited, "--out", str(page), "--format", "html,md,csv,json"]) == 0
    sentence = f"a part of the data: t {PART}"
    assert sentence in (page / "report.md").read_text()
    assert sentence in (page / "report.html").read_text()
    (run,) = json.loads((page / "report.json").read_text())["runs"]
    assert sentence in run["notes"]
    rows = list(csv.DictReader((page / "scores.csv").open()))
    reasons = {row["name"]: row["notes"] for row in rows if row["kind"] == "task"}
    assert reasons == {"t": PART, "u": ""}


def test_stored_scores_mark_the_part_as_scores_with_samples_do(limited, tmp_path):
    for samples in Path(limited).glob("samples_*"):
        samples.unlink()
    page, table, out = (tmp_path / name for name in ("page", "table", "scores"))
    assert main(["report", limited, "--out", str(page), "--format", "csv"]) == 0
    assert main(["export", limited, "--to", "csv", "--out", str(table)]) == 0
    for folder in (page, table):
        rows = list(csv.DictReader((folder / "scores.csv").open()))
        reasons = {row["name"]: row["notes"] for row in rows if row["kind"] == "stored"}
        assert reasons == {"t": f"{PART}; {WITHOUT_SAMPLES}", "u": WITHOUT_SAMPLES}
    assert main(["score", limited, "--out", str(out)]) == 0
    stored = json.loads(next(out.rglob("scores.json")).read_text())["stored"]
    assert {score["task"]: score["part"] for score in stored} == {"t": PART, "u": ""}


def test_a_model_card_marks_the_part(limited, tmp_path):
    card = tmp_path / "card"
    assert main(["export", limited, "--to", "model-card", "--out", str(card)]) == 0
    (model,) = yaml.safe_load((card / "model-index.yaml").read_text())["model-index"]
    entries = {result["dataset"]["name"]: result for result in model["results"]}
    assert entries["t"]["metrics"][0]["name"] == f"acc ({PART})"
    assert entries["t"]["dataset"]["args"]["rows"] == PART
    assert entries["u"]["metrics"][0]["name"] == "acc"
    assert "rows" not in entries["u"]["dataset"].get("args", {})


def test_a_run_over_all_rows_has_no_such_note(tmp_path):
    run = write_small_run(tmp_path / "out", {"u": Task({"acc": verdicts(40)})})
    page = tmp_path / "page"
    assert main(["report", run, "--out", str(page), "--format", "md"]) == 0
    assert "a part of the data" not in (page / "report.md").read_text()
