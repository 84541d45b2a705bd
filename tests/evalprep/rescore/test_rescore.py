"""Saved outputs scored anew, on runs that lm-eval itself wrote with its dummy model, which says "lol" to everything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evalprep.cli import main
from evalprep.compare import compare_runs
from evalprep.errors import BadInput
from evalprep.rescore import RunWriter, Workers, rescore_task
from evalprep.results import load_run

pytestmark = pytest.mark.slow

ROWS = 12
TASKS = ("says_lol", "choose one")


def generation_task(rows):
    return {
        "task": "says_lol",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(rows)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "generation_kwargs": {"do_sample": False, "temperature": 0.0, "until": ["\n"], "max_gen_toks": 10},
        "fewshot_config": {"sampler": "first_n", "samples": []},
        "filter_list": [
            {"name": "strict-match", "filter": [regex("(never)"), {"function": "take_first"}]},
            {"name": "flexible-extract", "filter": [regex("(lol)"), {"function": "take_first"}]},
        ],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"version": 1.0, "primary_metric": "exact_match", "primary_filter": "flexible-extract"},
    }


def regex(pattern):
    return {"function": "regex", "regex_pattern": pattern}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of a full run, a `--predict_only` run, and the task YAMLs."""
    home = tmp_path_factory.mktemp("rescore")
    rows = home / "rows.jsonl"
    with rows.open("w") as file:
        for at in range(ROWS):
            row = {"sample_id": f"r{at}", "prompt": f"Question {at}: é?", "target": "lol" if at % 3 else "no"}
            row |= {"previously_is_correct": bool(at % 4), "previous_output_prediction_text": "lol" if at % 2 else "x"}
            file.write(json.dumps(row) + "\n")
    tasks = home / "tasks"
    tasks.mkdir()
    generation = generation_task(rows)
    (tasks / "generation.yaml").write_text(yaml.safe_dump(generation))
    choice = {key: generation[key] for key in ("dataset_path", "dataset_kwargs", "test_split", "doc_to_text")}
    choice |= {"task": "choose one", "output_type": "multiple_choice", "doc_to_choice": ["lol", "no"]}
    choice |= {"doc_to_target": "target", "fewshot_config": generation["fewshot_config"]}
    choice |= {"metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]}
    (tasks / "choice.yaml").write_text(yaml.safe_dump(choice))
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(home / "cache")}
    for name, flag in (("full", "--log_samples"), ("bare", "--predict_only")):
        command = [sys.executable, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "says_lol,choose one"]
        command += ["--include_path", str(tasks), "--output_path", str(home / name), flag]
        subprocess.run(command, check=True, env=environment, capture_output=True, timeout=300)
    return home


@pytest.fixture(autouse=True)
def offline(runs, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(runs / "cache"))


@pytest.mark.parametrize("jobs", [None, 2], ids=["in this process", "in a pool"])
def test_an_unchanged_scorer_changes_nothing(runs, jobs):
    run = load_run(runs / "full")
    pools = []
    with Workers(jobs) as workers:
        for name in TASKS:
            result = rescore_task(run, name, workers=workers, work_dir=runs / "tasks")
            pools.append(workers.pool)
            assert (result.n, result.up, result.down, result.first_scored, result.errors) == (ROWS, 0, 0, 0, {})
            assert result.scorer_changed == []
            assert result.now == result.previous == run.tasks[name].scores[f"{result.metric},{result.filter}"]
    assert len(set(pools)) == 1, "one pool for all tasks"
    assert (pools[0] is None) is (jobs is None), "a few rows are not worth a process"


def test_code_that_only_the_results_name_is_not_run(runs, capsys):
    assert main(["rescore", str(runs / "full")]) == 2
    assert f"--work_dir {runs / 'tasks'}" in capsys.readouterr().err


def test_the_scorer_and_the_model_are_told_apart(runs):
    replay = rescore_task(load_run(runs / "full"), "says_lol", work_dir=runs / "tasks").replay
    rows = range(ROWS)
    published = [bool(at % 4) for at in rows]
    again = [bool(at % 3) and bool(at % 2) for at in rows]  # "lol" is right, was published, and is extracted
    now = [bool(at % 3) for at in rows]
    assert replay.n == ROWS
    assert replay.agree == sum(p == r for p, r in zip(published, again, strict=True))
    differs = [(p, r) for p, r, n in zip(published, again, now, strict=True) if n != p]
    assert replay.scorer_differs == sum(p != r for p, r in differs)
    assert replay.model_differs == sum(p == r for p, r in differs)
    assert min(replay.scorer_differs, replay.model_differs, replay.milder + replay.stricter) > 0


def test_a_changed_scorer_is_named_with_every_changed_verdict(runs, tmp_path):
    task = generation_task(runs / "rows.jsonl")
    task["filter_list"][1]["filter"][0] = regex("(never)")
    (tmp_path / "generation.yaml").write_text(yaml.safe_dump(task))
    result = rescore_task(load_run(runs / "full"), "says_lol", work_dir=tmp_path)
    assert result.scorer_changed == ["filter_list"]
    assert (result.up, result.down, result.now) == (0, 8, 0.0)
    change = result.changes[0]
    assert (change.sample_id, change.before_answer, change.now_answer, change.target) == (
        "r1",
        "lol",
        "[invalid]",
        "lol",
    )


def test_a_run_that_was_never_scored_gets_the_scores_of_one_that_was(runs, tmp_path):
    bare, full = load_run(runs / "bare"), load_run(runs / "full")
    writer = RunWriter(bare, tmp_path / "rescored")
    results = [rescore_task(bare, name, work_dir=runs / "tasks", writer=writer) for name in TASKS]
    writer.finish()
    assert [result.first_scored for result in results] == [ROWS, ROWS]
    assert [result.previous for result in results] == [None, None]
    written = load_run(tmp_path / "rescored")
    says = compare_runs(written, full, tasks=["says_lol"])
    assert says.tasks[0].difference.agreement == 1.0
    assert says.tasks[0].identical_outputs == ROWS
    for key, value in full.tasks["says_lol"].scores.items():
        if key.startswith("exact_match,"):
            assert written.tasks["says_lol"].scores[key] == value
    first = next(written.tasks["says_lol"].samples("strict-match"))
    assert (first.answer, first.metrics) == ("[invalid]", {"exact_match": 0.0})


def test_a_scorer_that_fails_on_some_replies_is_reported_and_goes_on(runs, tmp_path):
    task = generation_task(runs / "rows.jsonl")
    (tmp_path / "scorer.py").write_text(
        "def score(doc, results):\n"
        "    if doc['sample_id'] == 'r1':\n"
        "        raise RuntimeError('odd reply')\n"
        "    return {'exact_match': 1.0}\n"
    )
    text = yaml.safe_dump(task) + "process_results: !function scorer.score\n"
    (tmp_path / "generation.yaml").write_text(text)
    result = rescore_task(load_run(runs / "full"), "says_lol", work_dir=tmp_path)
    assert result.errors == {"RuntimeError: odd reply": 1}
    assert result.now == 1.0
    assert "process_results" in result.scorer_changed


def test_the_command(runs, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["rescore", str(runs / "bare"), "--work_dir", str(runs / "tasks"), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "published outputs through this scorer" in printed
    assert f"next: evalprep compare {out}" in printed
    assert main(["compare", str(out), "--no-flips", "--exit-zero"]) == 0
    capsys.readouterr()
    assert (
        main(
            [
                "rescore",
                str(runs / "full"),
                "--work_dir",
                str(runs / "tasks"),
                "--tasks",
                "says_lol",
                "--no-write",
                "--json",
            ]
        )
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert data["tasks"][0]["replay"]["n"] == ROWS
    assert "lm_eval" in data["versions"]


def test_bad_requests(runs, tmp_path):
    assert main(["rescore", str(runs / "full"), "--work_dir", str(tmp_path / "nowhere")]) == 2
    assert main(["rescore", str(runs / "full"), "--jobs", "0"]) == 2
    with pytest.raises(BadInput, match="cannot be loaded"):
        rescore_task(load_run(runs / "full"), "says_lol", work_dir=Path(tmp_path))
