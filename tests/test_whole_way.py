"""The whole way once, as the README describes it: prepare, the printed command, score, compare, report."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import yaml

from tests import PROJECT_ROOT
from tests.evalprep.tiny_project import tiny_project

__all__ = ["tiny_project"]

SAYS = "The best answer is B."


def call(*words, cwd, fine=(0,)):
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, cwd=cwd)
    assert done.returncode in fine, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


def evalprep(*words, cwd, fine=(0,)):
    return call(sys.executable, "-m", "evalprep", *words, cwd=cwd, fine=fine)


@pytest.mark.whole_way
@pytest.mark.timeout(600)
def test_from_the_config_to_the_report(tiny_project, tiny_model, tmp_path):
    """Four choice rows with gold A, B, C, D, three problems, and a model that always answers B."""
    config = yaml.safe_load(tiny_project.read_text()) | {
        "model_name": str(tiny_model(SAYS)),
        "backend": "hf",  # vLLM takes twice the time to start; packs/meta/test_runs.py has it
        "dtype": "float32",
        "max_model_len": 512,
        "meta": {"max_gen_toks": {"meta_math": 32, "meta_mmlu_pro_instruct": 32}},
    }
    tiny_project.write_text(yaml.safe_dump(config))
    script = str(PROJECT_ROOT / "prepare_eval.py")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    command = call(
        sys.executable, script, "--config_path", str(tiny_project), "--quiet", cwd=elsewhere
    )
    call("sh", "-c", command, cwd=elsewhere)

    (results,) = (tiny_project.parent / "results").rglob("results_*.json")
    logged = json.loads(results.read_text())["results"]
    for kind in ("strict-match", "flexible-extract"):
        assert logged["meta_mmlu_pro_instruct"][f"exact_match,{kind}"] == 0.25
        assert logged["meta_mmlu_pro_instruct"][f"unparsed,{kind}"] == 0
    assert logged["meta_math"]["exact_match,flexible-extract"] == 0
    assert logged["meta_math"]["unparsed,strict-match"] == 1
    samples = next(results.parent.glob("samples_meta_mmlu_pro_instruct_*"))
    rows = [json.loads(line) for line in samples.open()]
    read = {row["doc"]["target"]: row["exact_match"] for row in rows}
    assert read == {"A": 0.0, "B": 1.0, "C": 0.0, "D": 0.0}
    assert all(row["resps"] == [[SAYS]] for row in rows)

    run = str(results.parent)
    scores = json.loads(evalprep("score", run, "--json", cwd=elsewhere))
    by_task = {task["task"]: task for task in scores["tasks"]}
    assert by_task["meta_mmlu_pro_instruct"]["micro"]["agg_value"] == 0.25
    data = next(tiny_project.parent.rglob("meta_mmlu_pro*.parquet"))
    assert pq.read_table(data)["previously_is_correct"].to_pylist().count(True) == 1
    compared = json.loads(evalprep("compare", run, "--json", cwd=elsewhere, fine=(0, 1, 3)))
    choice = next(task for task in compared["tasks"] if task["name"] == "meta_mmlu_pro_instruct")
    assert choice["n"] == 4
    out = tmp_path / "report"
    evalprep("report", run, "--out", str(out), cwd=elsewhere)
    page = next(out.glob("*.html")).read_text()
    assert "meta_mmlu_pro_instruct" in page
    assert "published verdicts" in page
