"""Requests of other kinds than lm-eval's three, and data that changes under a run."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from evalprep.status.job import read_jobs
from tests.packs.unlearning.conftest import DATA

from .conftest import HANG, Project, task
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
