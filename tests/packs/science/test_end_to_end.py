"""The nine tasks through the printed lm_eval command, one model load, on a model whose every reply is known."""

import csv
import json
import os
import subprocess

import pytest
import yaml

from custom_metrics.science.tasks import TASKS
from tests import processes
from tests.loops import each
from tests.packs.science.runs import DEMO, demo_rows

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_starts")]
SAYS = '{"verdict": "SUPPORT"}'  # no token of it occurs twice, which the tiny model needs


def call(*command, cwd, **kwargs):
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, cwd=cwd, **kwargs
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def finished(tiny_model, tmp_path_factory):
    """Folder of a finished run, its log, and its results."""
    folder = tmp_path_factory.mktemp("science")
    config = {
        "model_name": str(tiny_model(SAYS)),
        "tasks": "science_adapt",
        "backend": "hf",
        "device": "cpu",
        "dtype": "float32",
        "max_model_len": 2048,
        "add_bos_token": None,
        "science": {"dataset": str(DEMO), "prompt_family": "tulu", "max_gen_toks": 64},
    }
    (folder / "eval_config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    words = ["--config_path", "eval_config.yaml", "--quiet"]
    printed = processes.run(*words, program="prepare_eval.py", cwd=folder, check=True).stdout
    ran = call("sh", "-c", printed, cwd=folder, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    (results,) = (folder / "eval_results").rglob("results_*.json")
    return results.parent, ran.stdout + ran.stderr, json.loads(results.read_text(encoding="utf-8"))


def test_one_model_load_and_nine_sample_files(finished):
    folder, log, results = finished
    assert log.count("Initializing hf model") == 1
    assert sorted(results["group_subtasks"]["science_adapt"]) == sorted(TASKS)
    assert len(list(folder.glob("samples_*.jsonl"))) == len(TASKS)


def test_scores_are_those_of_the_reply(finished):
    _, _, results = finished
    references = [json.loads(row["output"]) for row in demo_rows()["scifact_entailment"]]
    verdicts = [reference["verdict"] for reference in references]
    right = verdicts.count("SUPPORT")
    stated = len(verdicts) - verdicts.count("NEI")
    found = results["results"]["scifact_entailment"]
    assert found["f1_label,none"] == pytest.approx(2 * right / (len(verdicts) + stated))
    assert found["row_score,none"] == pytest.approx(right / len(verdicts))
    assert found["json_status,none"] == 1
    for task in TASKS:
        assert results["results"][task]["scorer_error,none"] == 0
        # An object is JSON for every task; only evidence_inference closes what ends with } by ],
        # and so breaks it.
        assert results["results"][task]["unparsed,none"] == (task == "evidence_inference")


def test_samples_hold_the_prepared_prompt_and_the_raw_reference(finished):
    folder, _, _ = finished
    for task in each(TASKS):
        lines = [
            json.loads(line)
            for line in next(folder.glob(f"samples_{task}_*")).open(encoding="utf-8")
        ]
        assert [line["target"] for line in lines] == [row["output"] for row in demo_rows()[task]]
        assert all(
            line["arguments"]["gen_args_0"]["arg_0"] == line["doc"]["prompt"] for line in lines
        )
        assert all(line["resps"] == [[SAYS]] for line in lines)


def test_tables_from_the_run(finished, tmp_path):
    folder, _, results = finished
    processes.run("score", folder, "--out", tmp_path, check=True)
    with (tmp_path / "tables" / "summary.tsv").open(encoding="utf-8", newline="") as file:
        aliases, metrics, row = csv.reader(file, delimiter="\t")
    cells = dict(zip(zip(aliases, metrics, strict=True), row, strict=True))
    for task, metric, logged in (
        ("scifact_entailment", "f1_label", "f1_label,none"),
        ("discomat_te", "bleu", "bleu,none"),
        ("qasper_abstractive_qa", "f1_evidence", "f1_evidence,none"),
    ):
        assert float(cells[TASKS[task].alias, metric]) == pytest.approx(
            100 * results["results"][task][logged]
        )
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert {task["task"]: task["metric"] for task in scores["tasks"]} == dict.fromkeys(
        TASKS, "row_score"
    )
