"""Local data that lm-eval reads itself: a change of them is another run."""

import json

import pytest

from evalprep.cli import main
from tests import processes

INLINE = {
    "task": "rivers",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "data/rows.jsonl"}},
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
    "num_fewshot": 0,
}
FOLDER = {"task": "arc_easy", "dataset_path": "data", "test_split": "train", "num_fewshot": 0}


def write_rows(project, answer):
    rows = [{"question": f"Question {at}?", "answer": f"{answer} {at}"} for at in range(3)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (project / "data" / "rows.jsonl").write_text(text)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write_rows(tmp_path, "Loire")
    return tmp_path


def write_config(project, task):
    config = {"model_name": "dummy", "backend": "dummy", "tasks": [task]}
    (project / "eval_config.yaml").write_text(json.dumps(config))


def run_id(project):
    return json.loads((project / "work_dir" / "manifest.json").read_text())["run"]


@pytest.mark.parametrize("task", [INLINE, FOLDER], ids=["whole task", "lm-eval's own"])
def test_other_data_are_another_run(project, task):
    write_config(project, task)
    assert main(["prepare", "--check", "off"]) == 0
    first = run_id(project)
    write_rows(project, "Seine")
    assert main(["prepare", "--check", "off"]) == 0
    assert run_id(project) != first
    write_rows(project, "Loire")
    (project / "data" / ".hidden").write_text("no data")
    assert main(["prepare", "--check", "off"]) == 0
    assert run_id(project) == first


@pytest.mark.slow
def test_a_run_sees_that_its_data_have_changed(project, capsys):
    write_config(project, INLINE)
    processes.run("run", check=True)
    first = run_id(project)
    write_rows(project, "Seine")
    again = processes.run("run", check=True)
    # A file that changed within a second of the preparation is known by its content alone.
    named = ("rows.jsonl", "data of rivers")
    assert any(f"prepare: changed since the preparation: {name}" in again.stderr for name in named)
    assert "resumed" not in again.stdout
    assert run_id(project) != first
    assert main(["samples", "eval_results", "--wrong"]) == 0
    assert "Seine 1" in capsys.readouterr().out
