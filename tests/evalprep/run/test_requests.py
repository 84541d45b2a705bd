"""Requests of other kinds than lm-eval's three, and data that changes under a run."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from lm_eval import simple_evaluate

from evalprep.run.collect import Met
from evalprep.run.harness import configuration
from evalprep.run.request import Request
from evalprep.run.tasks import manager_of
from evalprep.status.job import read_jobs
from tests.packs.unlearning.conftest import DATA

from .conftest import HANG, Project, choice_task, task
from .test_same import load, pasted


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_tasks_that_bring_their_own_requests(tmp_path, tiny_model):
    """Token likelihoods and gradients come through methods that a task gives to the classes of models."""
    one = Project(
        tmp_path,
        {
            "model_name": str(tiny_model()),
            "backend": "hf",
            "device": "cpu",
            "dtype": "float32",
            "max_model_len": 2048,
            "limit": 4,
            "work_dir": "work_dir",
            "output_path": "out",
            "tasks": ["tofu_forget_lp", "tofu_forget_gradient"],
            "unlearning": {"tofu": str(DATA / "tofu"), "muse": str(DATA / "muse_news")},
        },
    )
    out, _ = one.start("--shard", "0").communicate(timeout=HANG)
    assert "results: " in out, out
    ours, our_samples = load(one.run.state().results)
    theirs, their_samples = load(pasted(tmp_path))
    assert ours["results"] == theirs["results"]
    assert ours["results"]["tofu_forget_gradient"]["refused,none"] == 0
    assert our_samples == their_samples


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_responses_are_never_scored_against_other_rows(project, tmp_path):
    data = tmp_path / "rows.jsonl"
    one = project([task("text", data)])
    out, _ = one.start().communicate(timeout=HANG)
    assert "results: " in out, out
    rows = [json.loads(line) | {"answer": "other"} for line in data.open()]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shutil.rmtree(one.run.merged)
    out, _ = one.start().communicate(timeout=HANG)
    assert "has changed since its reply was generated" in " ".join(out.split())
    assert "--restart" in out
    out, _ = one.start("--restart").communicate(timeout=HANG)
    assert "results: " in out, out


@pytest.mark.parametrize("key", ["samples", "use_cache", "predict_only"])
def test_what_only_one_call_can_do_is_refused(project, key):
    one = project()
    file = one.folder / "work_dir" / "run.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(Path(file).read_text()) | {key: "x"}))
    done = one.command("run", str(one.folder / "work_dir"))
    assert done.returncode == 2
    assert key in done.stderr
    with pytest.raises(Exception, match="paste the command"):
        read_jobs(one.folder / "work_dir")


def logged_prompts(job):
    """Task -> prompt and continuation of each request, as lm-eval itself sends and logs them."""
    config = configuration(job)
    seeds = dict(zip(("random_seed", "fewshot_random_seed"), config.seed[::3], strict=True))
    manager = manager_of(config)
    outcome = simple_evaluate(
        "dummy", tasks=config.tasks, task_manager=manager, bootstrap_iters=0, **seeds
    )
    return {
        name: [
            (prompt, other if isinstance(other, str) else None)
            for line in lines
            for prompt, other in line["arguments"]
        ]
        for name, lines in outcome["samples"].items()
    }


def test_requests_that_go_out_in_blocks_are_those_that_lm_eval_lists(tmp_path):
    data, shots = tmp_path / "many.jsonl", {"num_fewshot": 2, "fewshot_split": "test"}
    sampled = {"until": [], "do_sample": True, "temperature": 0.7, "max_gen_toks": 16}
    rows = [{"question": f"Question {n}:", "answer": "lol", "right": n % 3} for n in range(300)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tasks = [
        task("shots", data, fewshot_config={"sampler": "default"}, **shots),
        task("drawn_twice", data, repeats=2, generation_kwargs=sampled),
        choice_task("choices", data),
    ]
    for one in tasks:
        one["dataset_kwargs"] = {"data_files": {"test": str(data)}}
    config = {"model_name": "dummy", "backend": "dummy", "work_dir": "work_dir", "tasks": tasks}
    made = Project(tmp_path, config)
    file = tmp_path / "requests.parquet"
    made.command("prompts", str(tmp_path / "work_dir"), "--out", str(file), check=True)
    asked = {}
    for row in pq.read_table(file).to_pylist():
        asked.setdefault(row["task"], []).append((row["prompt"], row["continuation"]))
    expected = logged_prompts(made.job)
    assert {name: len(prompts) for name, prompts in asked.items()} == {
        "shots": 300,
        "drawn_twice": 600,
        "choices": 900,
    }
    expected["drawn_twice"] = [prompt for prompt in expected["drawn_twice"] for _ in range(2)]
    assert asked == expected


def test_an_id_is_met_once_over_all_blocks():
    met, kept = Met(), []
    numbers = [(7 * step) % 101 for step in range(600)]
    for at in range(0, 600, 17):
        block = [
            Request(f"q{number:024x}", "", "", number, "", "", "")
            for number in numbers[at : at + 17]
        ]
        kept += [request.row for request in met.new(block)]
    assert kept == list(dict.fromkeys(numbers))
