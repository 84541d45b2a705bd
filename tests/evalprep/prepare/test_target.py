"""What `check` and `preview` look at where no folder is named."""

import argparse

import pytest

from evalprep.config.file import load_config
from evalprep.errors import BadInput
from evalprep.prepare import prepare
from evalprep.prepare.target import add_arguments, targets


def label(*words):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    (manager,) = targets(parser.parse_args(words))
    with manager as target:
        return target.label


def test_a_prepared_folder_is_looked_at_where_there_is_no_config(tiny_project, monkeypatch):
    """`evalprep run --model` prepares work_dir of the current folder and writes no config."""
    prepare(*load_config(tiny_project))
    monkeypatch.chdir(tiny_project.parent)
    assert label() == "eval_config.yaml"
    tiny_project.rename("other.yaml")
    assert label() == "work_dir"
    assert label("--set", "max_model_len=512") == "work_dir"
    assert label("--config_path", "other.yaml") == "other.yaml"


def test_a_folder_that_was_not_prepared_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work_dir").mkdir()
    with pytest.raises(BadInput, match="does not exist"):
        label()
