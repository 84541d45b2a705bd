"""The prepared tasks through the real harness: scores that are known in advance, on a model that says one sentence."""

import json
import os
import subprocess

import pyarrow.parquet as pq
import pytest
import yaml

from tests import processes
from tests.evalprep.tiny_project import tiny_project
from tests.loops import each
from tests.packs.meta.test_meta import SETS, config_for, fixtures

__all__ = ["fixtures", "tiny_project"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_starts")]
SAYS = "The best answer is B."
LIMIT = 8  # rows per task: the prompts with shots are long for a CPU


def prepare(config):
    return processes.run("--config_path", config, "--quiet", program="prepare_eval.py")


def newest_results(folder):
    files = sorted(folder.rglob("results_*.json"), key=lambda path: path.stat().st_mtime)
    return json.loads(files[-1].read_text()), files[-1].parent


def test_the_printed_command_runs_vllm_and_scores_what_it_must(tiny_project, tiny_model, tmp_path):
    """Four rows with gold A, B, C, D and a model that always says B: 0.25, and 1 of 4 verdicts as published."""
    config = yaml.safe_load(tiny_project.read_text())
    config |= {
        "model_name": str(tiny_model(SAYS)),
        "backend": "vllm",
        "dtype": "float32",
        "max_model_len": 512,
        "meta": {"max_gen_toks": {"meta_math": 32, "meta_mmlu_pro_instruct": 32}},
    }
    tiny_project.write_text(yaml.safe_dump(config))
    prepared = prepare(tiny_project)
    assert prepared.returncode == 0, prepared.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ran = subprocess.run(
        prepared.stdout,
        shell=True,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=elsewhere,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]

    results, folder = newest_results(tiny_project.parent / "results")
    choice = results["results"]["meta_mmlu_pro_instruct"]
    for kind in ("strict-match", "flexible-extract"):
        assert choice[f"exact_match,{kind}"] == 0.25
        assert choice[f"exact_match_macro,{kind}"] == 0.25
        assert choice[f"unparsed,{kind}"] == 0
    math = results["results"]["meta_math"]
    assert math["exact_match,flexible-extract"] == 0
    assert math["unparsed,strict-match"] == 1
    assert results["config"]["model_args"]["pretrained"] == str(tiny_model(SAYS))

    compared = processes.run("compare", folder, "--json")
    assert compared.returncode in {0, 1, 3}, compared.stderr
    samples = [
        json.loads(line) for line in next(folder.glob("samples_meta_mmlu_pro_instruct_*")).open()
    ]
    assert {
        sample["doc"]["target"]: sample["exact_match"]
        for sample in samples
        if sample["filter"] == "flexible-extract"
    } == {"A": 0.0, "B": 1.0, "C": 0.0, "D": 0.0}
    assert all(sample["resps"] == [[SAYS]] for sample in samples)


def test_all_four_fixture_sets_run_with_known_scores(fixtures, tiny_model, tmp_path):
    """Every task of every set through the harness on one loaded model; choice scores equal the share of gold B."""
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    short = dict.fromkeys(
        [
            "meta_ifeval",
            "meta_math",
            "meta_math_hard",
            "meta_gpqa",
            "meta_gpqa_cot",
            "meta_mmlu_instruct",
            "meta_mmlu_pro_instruct",
            "meta_mmlu_pro_pretrain",
            "meta_bbh",
        ],
        16,
    )
    model = HFLM(
        pretrained=str(tiny_model(SAYS)),
        device="cpu",
        dtype="float32",
        batch_size=16,
        max_length=2048,
        add_bos_token=True,
    )
    for name, group in each(SETS.items()):
        path = config_for(fixtures, tmp_path, name)
        path.write_text(
            yaml.safe_dump({**yaml.safe_load(path.read_text()), "meta": {"max_gen_toks": short}})
        )
        assert prepare(path).returncode == 0
        work = tmp_path / f"work-{name}"
        manager = TaskManager(include_path=str(work), include_defaults=False)
        results = simple_evaluate(
            model=model, tasks=[group], task_manager=manager, bootstrap_iters=0, limit=LIMIT
        )
        manifest = json.loads((work / "manifest.json").read_text())
        for task, facts in manifest["tasks"].items():
            values, rows = results["results"][task], pq.read_table(work / facts["data"]).to_pylist()
            rows = rows[:LIMIT]
            assert results["n-samples"][task]["original"] == facts["rows"]
            assert values.get("scorer_error,flexible-extract", values.get("scorer_error,none")) == 0
            if task in {
                "meta_gpqa",
                "meta_gpqa_cot",
                "meta_mmlu_instruct",
                "meta_mmlu_pro_instruct",
            }:
                share = sum(row["target"] == "B" for row in rows) / len(rows)
                if task in {"meta_gpqa_cot", "meta_mmlu_pro_instruct"}:
                    assert values["exact_match,strict-match"] == pytest.approx(share)
                assert values["exact_match,flexible-extract"] == pytest.approx(share)


def test_a_task_that_the_user_edited_is_what_runs(tiny_project, tmp_path):
    """The edit of a regex in work_dir changes what the harness reports."""
    config = yaml.safe_load(tiny_project.read_text()) | {"tasks": "meta_mmlu_pro_instruct"}
    tiny_project.write_text(yaml.safe_dump(config))
    assert prepare(tiny_project).returncode == 0
    task = tiny_project.parent / "work_dir/meta/meta_mmlu_pro_instruct.yaml"
    task.write_text(
        task.read_text()
        .replace("best answer is ([A-Z])", "(lol)")
        .replace("strict-match", "my-match")
    )
    assert prepare(tiny_project).returncode == 0
    ran = subprocess.run(
        ["sh", str(tiny_project.parent / "work_dir/command.sh")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
        env=os.environ.copy(),
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    results, _ = newest_results(tiny_project.parent / "results")
    assert "exact_match,my-match" in results["results"]["meta_mmlu_pro_instruct"]
