"""A work folder that is run in shards, as `status`, `merge` and a whole run see it."""

import json

import pytest

from evalprep.cli import main
from tests import processes

ROWS = "id,country,capital\n" + "".join(f"{at},Land {at},City {at}\n" for at in range(6))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a prepared task of six questions that lm-eval's dummy will answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "capitals.csv").write_text(ROWS)
    template = ("--template_dir", "packs", "--data", "capitals.csv")
    question = ("--prompt", "What is the capital of {country}?", "--target", "capital")
    assert main(["new-pack", "capitals", *template, *question]) == 0
    config = {"model_name": "dummy", "backend": "dummy", "template_dir": "packs"}
    (tmp_path / "eval_config.yaml").write_text(json.dumps(config | {"tasks": "capitals"}))
    assert main(["prepare"]) == 0
    return tmp_path


def evalprep(*words):
    """What a command prints that starts an engine."""
    done = processes.run(*words, check=True)
    return done.stdout + done.stderr


def status(capsys, place):
    capsys.readouterr()
    assert main(["status", place, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    (line,) = content["tasks"]
    return content["phase"], line["status"], line["progress"]


@pytest.mark.slow
@pytest.mark.parametrize("last", ["merge", "run"])
def test_shards_are_seen_by_status_and_not_run_again(project, capsys, last):
    evalprep("run", "work_dir", "--shard", "1/2")
    for place in ("work_dir", "eval_results"):
        assert status(capsys, place) == ("1 of 2 shards done", "pending", "1/2")
    assert main(["merge", "work_dir"]) == 1
    message = capsys.readouterr().err
    place = project / "work_dir"
    assert f"shard 2 of 2 is not finished; next: evalprep run {place} --shard 2/2" in message
    evalprep("run", "work_dir", "--shard", "2/2")
    assert status(capsys, "work_dir")[0] == "2 of 2 shards done, next: evalprep merge"
    text = evalprep(last, "work_dir")
    if last == "run":
        assert "resumed: 2 of 2 parts were finished before" in text
    for place in ("work_dir", "eval_results"):
        assert status(capsys, place) == ("done, 2 of 2 units done", "done", "2/2")


@pytest.mark.slow
def test_a_whole_run_says_that_it_does_not_use_some_of_the_shards(project, capsys):
    evalprep("run", "work_dir", "--shard", "1/2")
    message = evalprep("run", "work_dir")
    assert "note: c1-plain: 1 of 2 shards are done, and are not used" in message
    assert status(capsys, "work_dir")[0] == "done, 1 of 1 units done"
