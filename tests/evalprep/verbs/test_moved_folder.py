"""A work folder that was renamed or copied: its commands name the folder that it was."""

import json
import shutil

import pytest

from environment.tiny_model import build
from evalprep.cli import main

ROWS = "id,country,capital\n" + "".join(f"{at},Land {at},City {at}\n" for at in range(6))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a prepared task of six questions that lm-eval's dummy would answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "capitals.csv").write_text(ROWS)
    template = ("--template_dir", "packs", "--data", "capitals.csv")
    question = ("--prompt", "What is the capital of {country}?", "--target", "capital")
    assert main(["new-pack", "capitals", *template, *question]) == 0
    config = {"model_name": "dummy", "backend": "dummy", "template_dir": "packs"}
    (tmp_path / "eval_config.yaml").write_text(json.dumps(config | {"tasks": "capitals"}))
    assert main(["prepare"]) == 0
    return tmp_path


@pytest.mark.parametrize("way", [shutil.move, shutil.copytree])
def test_a_moved_folder_is_not_run(project, capsys, way):
    way(project / "work_dir", project / "other")
    before = sorted(project.rglob("*"))
    for words in (
        ["run", "other"],
        ["run", "other", "--shard", "1/2"],
        ["prompts", "other", "--out", "requests.parquet"],
        ["merge", "other"],
    ):
        assert main(words) == 2
        message = capsys.readouterr().err
        assert f"other: was prepared as {project / 'work_dir'}; its task files" in message
        assert "fix: prepare it again from its config" in message
    assert sorted(project.rglob("*")) == before
    assert main(["status", "other"]) == 0
    out = capsys.readouterr().out
    assert f"prepared as {project / 'work_dir'}: its commands name that folder" in out


def test_paths_of_a_work_folder_begin_at_its_config(project, capsys):
    """Also where the work folder lies elsewhere, and nothing of the config is in the current folder."""
    build(project / "models" / "tiny")
    (project / "configs" / "of_me").mkdir(parents=True)
    config = {"model_name": "../../models/tiny", "backend": "hf", "device": "cpu"}
    config |= {"tasks": "capitals", "max_model_len": 256}
    folders = {"template_dir": "../../packs", "work_dir": "../../works/tiny"}
    (project / "configs" / "of_me" / "tiny.yaml").write_text(json.dumps(config | folders))
    assert main(["prepare", "--config_path", "configs/of_me/tiny.yaml"]) == 0
    assert main(["check", "works/tiny"]) == 0
    assert "EP702" not in capsys.readouterr().out


def test_a_link_to_a_folder_is_that_folder(project, capsys):
    (project / "link").symlink_to(project / "work_dir")
    assert main(["prompts", "link", "--out", "requests.parquet"]) == 0
    assert main(["status", "link"]) == 0
    assert "prepared as" not in capsys.readouterr().out
