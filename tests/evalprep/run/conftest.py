"""Small prepared folders, made by the tool itself from whole tasks written into a config."""

import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from evalprep.results import DONE
from evalprep.status.folder import RunFolder
from evalprep.status.job import read_jobs
from tests import processes

ROOT = Path(__file__).parents[3]
ROWS = 24
HANG = 600  # seconds after which something hangs, however busy the machine is


def task(name, data, **changes):
    return {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "question",
        "doc_to_target": "answer",
        "generation_kwargs": {
            "until": [],
            "do_sample": False,
            "temperature": 0.0,
            "max_gen_toks": 16,
        },
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "num_fewshot": 0,
        "fewshot_config": {"sampler": "first_n", "samples": []},
        "metadata": {"version": 1.0, "primary_metric": "exact_match", "primary_filter": "none"},
        **changes,
    }


def choice_task(name, data):
    one = task(
        name,
        data,
        output_type="multiple_choice",
        doc_to_choice=["yes", "no", "perhaps"],
        doc_to_target="right",
        metric_list=[{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    )
    del one["generation_kwargs"]
    return one


class Project:
    """A config, its prepared folder and its run."""

    def __init__(self, folder, config):
        self.folder, self.config = folder, config
        self.config_file = folder / "eval_config.yaml"
        self.config_file.write_text(yaml.safe_dump(config))
        self.command("prepare", "--quiet", "--config_path", str(self.config_file), check=True)
        self.job = read_jobs(folder / "work_dir")[0]
        self.run = RunFolder.of(self.job)

    def command(self, verb, *arguments, check=False):
        return processes.run(verb, *arguments, cwd=ROOT, check=check, timeout=HANG)

    def start(self, *arguments):
        return processes.start("run", *self.words(), *arguments, cwd=ROOT)

    def start_anew(self, *arguments):
        """A real start, for what looks at the command lines or environments of processes."""
        return subprocess.Popen(
            [sys.executable, "-m", "evalprep", "run", *self.words(), *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def words(self):
        return [str(self.folder / "work_dir"), "--shard", "6"]

    def done(self):
        return {unit.name for unit in self.run.state().units if unit.status == DONE}

    def wait(self, ready, process, seconds=HANG):
        """Look every few milliseconds until `ready(state)`; False when the run ended first."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if ready(self.run.state()):
                return True
            if process.poll() is not None:
                return False
            time.sleep(0.003)
        raise AssertionError(f"nothing happened for {seconds} s")

    def newest(self):
        """The state of the newest run, e.g. of another engine's replies."""
        folders = (self.folder / "out/.evalprep/runs").glob("*/state.json")
        newest = max(folders, key=lambda file: file.stat().st_mtime)
        return RunFolder(newest.parent).state()

    def samples(self):
        """Task -> the lines of the published samples file."""
        results = Path(self.run.state().results or self.newest().results)
        stamp = results.stem.removeprefix("results_")
        return {
            path.name.removeprefix("samples_").removesuffix(f"_{stamp}.jsonl"): [
                json.loads(line) for line in path.open()
            ]
            for path in results.parent.glob(f"samples_*_{stamp}.jsonl")
        }


def make_project(folder, tasks=None, **config):
    """A project with the given tasks, or with three of 24 rows."""
    data = folder / "rows.jsonl"
    rows = [
        {
            "sample_id": f"s{n}",
            "question": f"Question {n}, say lol:",
            "answer": "lol" if n % 4 else "no",
            "right": n % 3,
        }
        for n in range(ROWS)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tasks = tasks or [
        task("first_text", data),
        choice_task("then_choice", data),
        task("last_text", data),
    ]
    tasks = [{**task, "dataset_kwargs": {"data_files": {"test": str(data)}}} for task in tasks]
    given = {
        "model_name": "dummy",
        "backend": "dummy",
        "work_dir": "work_dir",
        "output_path": "out",
        **config,
    }
    return Project(folder, {**given, "tasks": tasks})


@pytest.fixture
def project(tmp_path):
    """A function from a back end and its settings to a project."""
    return functools.partial(make_project, tmp_path)


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert os.environ["HF_HUB_OFFLINE"] == "1"
