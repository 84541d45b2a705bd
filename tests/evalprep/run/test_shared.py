"""Commands and stages of one engine: the model is loaded once, and every file is that of the pasted commands."""

import functools
import json
import shlex
import shutil
import sys
from dataclasses import replace

import pytest
import yaml

from evalprep.prepare.stages import continue_stages
from evalprep.results import FAILED
from evalprep.run.units import Cut
from evalprep.status.folder import RunFolder
from evalprep.status.job import read_jobs
from tests import PROJECT_ROOT, processes

#: Of the process, the time and the place, and not of what was asked.
PASSING = {"date", "total_evaluation_time_seconds", "pretty_env_info", "git_hash"}


class Prepared:
    """Three commands on one model: with the chat template, with another seed, and a stage after them."""

    def __init__(self, folder, model):
        shutil.copytree(PROJECT_ROOT / "tests/data/packs/proof", folder / "packs/proof")
        config = {
            "model_name": str(model),
            "backend": "hf",
            "device": "cpu",
            "dtype": "float32",
            "max_model_len": 512,
            "tasks": ["proof_answer", "proof_sure", "proof_seeded"],
            "template_dir": "packs",
            "output_path": "results",
            "proof": {"stock_data": "none.jsonl", "own_sets": [{"name": "seeded", "seed": 7}]},
        }
        (folder / "eval_config.yaml").write_text(yaml.safe_dump(config))
        self.folder, self.work_dir = folder, folder / "work_dir"
        self.lines = self.run("prepare", "--quiet").splitlines()

    def run(self, *words):
        return processes.run(*words, cwd=self.folder, check=True, timeout=800).stdout

    def jobs(self, depth):
        return [job for job in read_jobs(self.work_dir) if job.depth == depth]

    def loads(self):
        states = (self.folder / "results/.evalprep/runs").glob("*/state.json")
        return [json.loads(path.read_text())["loads"] for path in states]


@pytest.fixture
def prepared(tmp_path, tiny_model, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return Prepared(tmp_path, tiny_model())


def files_of(folder):
    """Command -> results, and task -> sample lines."""
    results, samples = {}, {}
    for path in folder.glob("*/results_*.json"):
        data = json.loads(path.read_text())
        stamp = path.stem.removeprefix("results_")
        name = next(iter(data["configs"].values()))["metadata"]["command"]
        data["config"]["batch_size"] = str(
            data["config"]["batch_size"]
        )  # a word on the command line
        results[name] = {key: value for key, value in data.items() if key not in PASSING}
        for lines in path.parent.glob(f"samples_*_{stamp}.jsonl"):
            samples[lines.name.removesuffix(f"_{stamp}.jsonl")] = lines.read_text()
    return results, samples


def pasted(lines, monkeypatch):
    """Each line as its process would run it, but for the imports; lm-eval's own 14,000 task files are not read."""
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.tasks import TaskManager

    monkeypatch.setattr(
        "lm_eval.tasks.TaskManager", functools.partial(TaskManager, include_defaults=False)
    )
    for line in lines:
        words = shlex.split(line)
        monkeypatch.setattr(
            sys,
            "argv",
            words[next(n for n, word in enumerate(words) if word.endswith("lm_eval")) :],
        )
        cli_evaluate()
    monkeypatch.undo()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_loaded_model_gives_the_files_of_the_pasted_commands(prepared, monkeypatch):
    from evalprep.run.engine import Engine
    from evalprep.run.walk import Walk

    engine, models = Engine(), set()
    for depth in (0, 1):
        for job in prepared.jobs(depth):
            folder = RunFolder.of(job)
            folder.create(job)
            assert Walk(folder, folder.state(), engine, Cut(0)).work(merge_only=False) == 0
            models.add(id(engine.lm))
        (stage,) = continue_stages(prepared.work_dir)
        assert stage.state == ("made", "unchanged")[depth]
    assert len(models) == 1
    assert sum(one is not None for one in prepared.loads()) == 1
    (prepared.folder / "results").rename(prepared.folder / "ours")
    pasted([line for line in prepared.lines if "prepare --continue" not in line], monkeypatch)
    ours, theirs = files_of(prepared.folder / "ours"), files_of(prepared.folder / "results")
    assert sorted(ours[0]) == ["c1-chat", "c2-plain", "c3-plain"]
    assert ours[1] == theirs[1]
    for name, results in theirs[0].items():
        assert ours[0][name] == results, name


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_task_that_cannot_be_loaded_costs_no_other(prepared):
    from evalprep.results import load_run
    from evalprep.results.record import note_failures
    from evalprep.run.engine import Engine
    from evalprep.run.walk import Walk

    job = prepared.jobs(0)[0]
    both = [name for job in prepared.jobs(0) for name in job.leaves]
    broken = prepared.work_dir / "proof/proof_seeded.yaml"
    broken.write_text(broken.read_text().replace("proof_scorer.score", "proof_scorer.nothing"))
    job = replace(job, tasks=both, leaves=tuple(both))
    folder = RunFolder.of(job)
    folder.create(job)
    state = folder.state()
    assert Walk(folder, state, Engine(), Cut(0)).work(merge_only=False) == 1
    failed, finished = folder.state().outcome(job.leaves)
    assert finished == {"proof_answer"}
    assert list(failed) == ["proof_seeded"]
    assert "cannot be loaded" in failed["proof_seeded"]
    assert [unit.name for unit in state.units if unit.status == FAILED] == ["proof_seeded"]
    note_failures(job.output_path, job.run, failed, finished)
    run = load_run(prepared.folder / "results")
    assert list(run.tasks) == ["proof_answer"]
    assert list(run.failed) == list(failed)
    assert run.failed["proof_seeded"].startswith(failed["proof_seeded"])
    assert any("proof_seeded failed: cannot be loaded" in note for note in run.notes)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_line_loads_it_once(prepared):
    told = prepared.run("run", "work_dir")
    assert told.count("shares the engine") == 2
    assert len(prepared.loads()) == 3
    assert sum(one is not None for one in prepared.loads()) == 1, "once, over both stages"
