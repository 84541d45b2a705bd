"""`evalprep run` ends with the files that the pasted command writes; the run files in work_dir do not disturb it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalprep.run.units import limited, unit_name
from evalprep.status.folder import RunFolder
from evalprep.status.job import Job, read_jobs
from tests import processes


def load(results):
    data = json.loads(Path(results).read_text())
    stamp = Path(results).stem.removeprefix("results_")
    samples = {
        path.name.removesuffix(f"_{stamp}.jsonl"): [json.loads(line) for line in path.open()]
        for path in Path(results).parent.glob(f"samples_*_{stamp}.jsonl")
    }
    return data, samples


def pasted(folder):
    """The results of lm-eval on the files that `command.sh` names."""
    words = ["--config", folder / "work_dir/run.yaml", "--output_path", folder / "pasted"]
    processes.run("run", *words, program="lm_eval", cwd=folder, check=True)
    return next((folder / "pasted").rglob("results_*.json"))


@pytest.mark.slow
def test_the_same_files_as_the_pasted_command(project, tmp_path, monkeypatch):
    one = project(limit=20)
    done = one.command("run", str(tmp_path / "work_dir"), "--shard", "6", check=True)
    ours, our_samples = load(one.run.state().results)
    (following,) = [line for line in done.stdout.splitlines() if line.startswith("next: ")]
    folder = Path(one.run.state().results).parent
    # No row has a published verdict, so that there is nothing to compare with.
    assert following.startswith("next: evalprep samples ")
    assert f"{folder.name} --wrong" in following
    by_hand = pasted(tmp_path)
    theirs, their_samples = load(by_hand)
    texts = {"first_text", "last_text"}  # the dummy's log-likelihoods are random
    assert {name: ours["results"][name] for name in texts} == {
        name: theirs["results"][name] for name in texts
    }
    for key in (
        "n-samples",
        "n-shot",
        "versions",
        "higher_is_better",
        "group_subtasks",
        "fewshot_as_multiturn",
    ):
        assert ours[key] == theirs[key], key
    assert set(ours) == set(theirs)
    assert ours["config"]["limit"] == theirs["config"]["limit"] == 20
    assert ours["config"]["model"] == theirs["config"]["model"] == "dummy"
    assert set(our_samples) == set(their_samples)
    for name in texts:
        assert our_samples[f"samples_{name}"] == their_samples[f"samples_{name}"]
    # Both know the time that they took, ours by task.
    scored = one.command("score", str(folder), "--no_write", "--json", check=True)
    efforts = json.loads(scored.stdout)["efforts"]["tasks"]
    assert set(efforts) == set(ours["results"])
    assert all(effort["seconds"] > 0 for effort in efforts.values())
    assert efforts["first_text"]["requests"] == 20
    scored = one.command("score", str(by_hand), "--no_write", check=True)
    assert "whole call: " in scored.stdout


@pytest.mark.slow
def test_a_finished_run_is_not_run_again_unless_told(project, tmp_path):
    one = project()
    one.command("run", str(tmp_path / "work_dir"), check=True)
    results = one.run.state().results
    again = one.command("run", str(tmp_path / "work_dir"), check=True)
    assert "resumed: 3 of 3 parts were finished before" in again.stdout
    assert one.run.state().results == results
    anew = one.command("run", str(tmp_path / "work_dir"), "--restart", check=True)
    assert "resumed" not in anew.stdout
    assert one.run.state().results != results


@pytest.mark.slow
def test_calibration_measures_and_writes_nothing_beside_the_results(project, tmp_path):
    one = project()
    prepared = set((tmp_path / "out").rglob("*"))  # the run's record
    done = one.command(
        "check", str(tmp_path / "work_dir"), "--calibrate", "2", "--json", check=True
    )
    estimate = json.loads(done.stdout)["estimate"]
    assert estimate["seconds"] > 0
    assert "measured with 2 rows" in estimate["basis"]
    assert {task["name"]: task["requests"] for task in estimate["tasks"]} == {
        "first_text": 24,
        "then_choice": 72,
        "last_text": 24,
    }
    assert {task["basis"] for task in estimate["tasks"]} == {"max_gen_toks", "likelihood"}
    assert set((tmp_path / "out").rglob("*")) == prepared


def test_another_preparation_is_another_run_and_code_is_not(project, tmp_path):
    one = project()
    work_dir = tmp_path / "work_dir"
    before = one.job.id
    (work_dir / "inline" / "scorer.py").write_text("x = 1\n")
    assert read_jobs(work_dir)[0].id == before
    task = work_dir / "inline" / "first_text.yaml"
    task.write_text(task.read_text().replace("max_gen_toks: 16", "max_gen_toks: 17"))
    assert read_jobs(work_dir)[0].id != before


def test_a_job_survives_its_file(project):
    one = project()
    one.run.create(one.job)
    assert one.run.job() == one.job
    assert Job.from_dict(one.job.as_dict()) == one.job
    assert RunFolder.of(one.job).path.parts[-4:-1] == ("out", ".evalprep", "runs")


@pytest.mark.parametrize(("limit", "rows"), [(None, 10), (3, 3), (20, 10), (0.25, 3), (0.01, 1)])
def test_limits_are_those_of_lm_eval(limit, rows):
    assert limited(10, limit) == rows


def test_unit_names_are_folder_names_and_differ():
    names = [unit_name(name, None) for name in ("a/b", "a__b", "a b")]
    names += [unit_name("a::b", rows) for rows in (range(6), range(7), range(6, 12))]
    assert len(set(names)) == len(names)
    assert all("/" not in name for name in names)


def test_a_folder_without_manifest_is_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "evalprep", "run", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "evalprep prepare" in done.stderr
