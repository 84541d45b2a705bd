"""The config of the original recipe, with its keys and values as they are, through `prepare`."""

import pytest
import yaml

from evalprep.cli import main
from tests.packs.meta.test_families import data_set

# Keys and values of the recipe's file; the data sets lie in folders of these names beside it.
ORIGINAL = {
    "model_name": "meta-llama/Llama-3.2-3B-Instruct",
    "evals_dataset": "meta-llama/Llama-3.2-3B-Instruct-evals",
    "tasks": "meta_instruct",
    "tensor_parallel_size": 1,
    "data_parallel_size": 4,
    "gpu_memory_utilization": 0.9,
    "max_model_len": 8192,
    "batch_size": "auto",
    "output_path": "eval_results",
    "limit": None,
    "verbosity": "INFO",
    "log_samples": True,
    "work_dir": "./work_dir",
    "template_dir": "./meta_template",
    "show_config": False,
}


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A function from changes of the config to what the preparation printed."""
    monkeypatch.setattr("evalprep.model.destinations.gpu_names", tuple)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    data_set(tmp_path / "meta-llama", "Llama-3.2-3B-Instruct-evals", "mmlu", "gpqa")
    templates = tmp_path / "meta_template"
    templates.mkdir()
    (templates / "meta_instruct.yaml").write_text("group: meta_instruct\ntask: [meta_gpqa]\n")

    def prepare(capsys, **changes):
        path = tmp_path / "eval_config.yaml"
        path.write_text(yaml.safe_dump(ORIGINAL | changes, sort_keys=False))
        code = main(["prepare", "--config_path", str(path)])
        return code, *capsys.readouterr()

    return prepare


def test_the_original_config_prepares_unchanged(recipe, capsys):
    code, command, shown = recipe(capsys)
    assert code == 0, shown
    assert "--tasks meta_instruct" in command
    assert "data_parallel_size=4" in command
    assert shown.count("template_dir") == 1
    assert "template_dir ./meta_template is the recipe's own" in shown
    assert shown.count("machine with GPUs") == 1


def test_a_folder_that_is_not_there_is_understood_too(recipe, capsys, tmp_path):
    (tmp_path / "meta_template/meta_instruct.yaml").unlink()
    (tmp_path / "meta_template").rmdir()
    code, _, shown = recipe(capsys)
    assert code == 0, shown
    assert "template_dir ./meta_template is the recipe's own" in shown


def test_meta_mmlu_of_an_instruct_model_is_the_instruct_task(recipe, capsys):
    code, command, shown = recipe(capsys, tasks="meta_mmlu,meta_gpqa")
    assert code == 0, shown
    assert "--tasks meta_mmlu_instruct,meta_gpqa" in command
    assert "meta_mmlu means meta_mmlu_instruct here" in shown


def test_the_pack_s_own_name_is_not_translated(recipe, capsys):
    code, _, shown = recipe(capsys, tasks="meta_mmlu_pretrain")
    assert code == 2
    assert "meta_mmlu_pretrain is not a task of Llama 3.2 instruct data sets" in shown


def test_another_folder_without_packs_is_refused(recipe, capsys):
    code, _, shown = recipe(capsys, template_dir="./my_templates")
    assert code == 2
    assert "my_templates is not a folder" in shown
