"""Files that nobody expects in a run or a work folder end with a message, not with a fault of evalprep."""

import json
import os

import pytest

from evalprep.cli import main
from tests.evalprep.results.writing import Row, write_run
from tests.evalprep.test_outputs import CONFIG

JOB = {"model": "m", "model_args": {}, "tasks": ["t"]}


@pytest.fixture
def home(tmp_path):
    return write_run(tmp_path / "run", {"t": [Row(f"{at}", correct=at % 2) for at in range(4)]})


def loop(file):
    file.unlink()
    file.symlink_to(file)


def unpackable(file):
    file.write_bytes(b"\x1f\x8b\x08\x00" + b"garbage" * 9)


def cut_off(file):
    file.write_bytes(b"\x1f\x8bgarbage")


@pytest.mark.parametrize("damage", [loop, unpackable, cut_off])
@pytest.mark.parametrize("pattern", ["samples_*", "results_*"])
@pytest.mark.parametrize("names_file", [False, True])
def test_a_file_that_cannot_be_unpacked_or_found(home, capsys, damage, pattern, names_file):
    file = next(home.glob(pattern))
    damage(file)
    assert main(["score", str(file if names_file else home.parent), "--no_write"]) in {0, 2, 3}
    assert "fault of evalprep" not in capsys.readouterr().err


def test_a_link_to_itself_is_named(home, capsys):
    (home.parent / "a").symlink_to(home.parent / "b")
    (home.parent / "b").symlink_to(home.parent / "a")
    assert main(["score", str(home.parent), "--no_write"]) == 2
    assert "a symbolic link leads to itself" in capsys.readouterr().err


def test_a_link_to_itself_beside_a_named_file_is_not_followed(home, capsys):
    (home / "a").symlink_to(home / "a")
    (home / "table.parquet").write_bytes(b"PAR1 no table PAR1")
    (samples,) = home.glob("samples_*")
    assert main(["score", str(home / "table.parquet")]) == 2
    assert "it looks like a parquet file" in capsys.readouterr().err
    assert main(["score", str(samples), "--no_write"]) == 0


def test_a_pipe_in_the_place_of_a_run_is_named(home, capsys):
    os.mkfifo(home / "pipe.jsonl")
    assert main(["score", str(home / "pipe.jsonl"), "--no_write"]) == 2
    assert "pipe.jsonl: is not read: it is a named pipe, no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps(JOB | {"options": {}}),
        json.dumps(JOB | {"options": {"output_path": 1, "include_path": "w"}}),
        json.dumps(JOB | {"options": {"output_path": "o", "include_path": "w", "metadata": 3}}),
        json.dumps(JOB | {"tasks": 3, "options": {"output_path": "o", "include_path": "w"}}),
    ],
)
def test_a_job_that_is_none(home, capsys, content):
    file = home.parent / ".evalprep" / "runs" / "c1" / "job.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert main(["status", str(home.parent)]) == 2
    error = capsys.readouterr().err
    assert f"{file}: is not a command that evalprep started" in error


@pytest.mark.parametrize("call", ["x", 3, [1], {"backend": 3}, {"seed": {"a": 1}}])
def test_a_plan_of_another_type(tmp_path, monkeypatch, capsys, call):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1 + 1 =", "target": "2", "sample_id": "a"}\n')
    (tmp_path / "eval_config.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALPREP_QUICK_CHECK", "1")
    assert main(["prepare", "--quiet", "--check", "off"]) == 0
    manifest = tmp_path / "work_dir" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["tasks"]["numbers"]["plan"]["call"] = call
    manifest.write_text(json.dumps(content))
    for words in (["status", "work_dir"], ["check", "work_dir"], ["prepare", "--continue"]):
        capsys.readouterr()
        assert main(words) == 2, words
        assert "the plan of task numbers is damaged" in capsys.readouterr().err
    assert main(["prepare", "--quiet", "--check", "off"]) == 0
