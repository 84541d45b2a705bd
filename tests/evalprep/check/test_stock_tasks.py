"""Tasks of lm-eval's own in a config are looked at like any other task."""

import json

import pytest
import yaml

from evalprep.check import Tree, tasks_behind
from evalprep.cli import main
from tests.evalprep.check.test_stock import TASKS


@pytest.fixture
def verb(tmp_path, monkeypatch, capsys, tiny_model):
    """Runs a verb over a config of some tasks; returns what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def run(name, *tasks, code=0, **keys):
        config = {"model_name": str(tiny_model), "backend": "hf", "tasks": list(tasks), **keys}
        (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
        assert main([name]) == code
        printed = capsys.readouterr()
        return " ".join((printed.out + printed.err).split())

    return run


def write(folder, **splits):
    """Writes rows of hellaswag, as many for each split as are asked for."""
    folder.mkdir(parents=True)
    rows = TASKS["hellaswag/hellaswag.yaml"]
    for split, count in splits.items():
        lines = [json.dumps(row) + "\n" for row in rows[:count]]
        (folder / f"{split}.jsonl").write_text("".join(lines))


@pytest.mark.slow
def test_rows_prompts_and_scoring_are_checked(verb, tmp_path):
    write(tmp_path / "data", validation=3, train=2)
    entry = {"task": "hellaswag", "dataset_path": "data"}
    assert "1 task, 3 rows: 0 errors" in verb("check", entry)
    broken = {**entry, "doc_to_choice": "{{choices_that_are_nowhere}}"}
    printed = verb("check", broken, code=2)
    assert "EP301" in printed
    assert "choices_that_are_nowhere" in printed


def overrides(folder):
    (group,) = folder.rglob("evalprep_c1*.yaml")
    (entry,) = yaml.safe_load(group.read_text())["task"]
    return entry


def test_a_split_that_local_data_lack_is_left_out(verb, tmp_path):
    write(tmp_path / "data", validation=3)
    printed = verb("prepare", {"task": "hellaswag", "dataset_path": "data"})
    assert "hellaswag: the local data have no split train; validation is evaluated" in printed
    assert overrides(tmp_path / "work_dir")["training_split"] is None


def test_a_config_that_local_data_lack_is_left_out(verb, tmp_path):
    lines = [json.dumps(row) + "\n" for row in TASKS["arc/arc_easy.yaml"]]
    (tmp_path / "data").mkdir()
    (tmp_path / "data/test.jsonl").write_text("".join(lines))
    printed = verb("prepare", {"task": "arc_easy", "dataset_path": "data"})
    assert "arc_easy: the local data have no config ARC-Easy" in printed
    assert overrides(tmp_path / "work_dir")["dataset_name"] is None


@pytest.mark.parametrize(
    ("splits", "keys", "message"),
    [
        ({"train": 3}, {}, "the data of hellaswag have no split 'validation'"),
        (
            {"validation": 3},
            {"num_fewshot": 5},
            "hellaswag takes 5 few-shot examples from the split 'train', which its data lack",
        ),
    ],
)
def test_a_split_that_the_task_needs_is_named(verb, tmp_path, splits, keys, message):
    write(tmp_path / "data", **splits)
    assert message in verb("prepare", {"task": "hellaswag", "dataset_path": "data", **keys}, code=2)


def test_shots_of_the_run_count_and_a_stated_split_gives_them(verb, tmp_path):
    write(tmp_path / "data", validation=3)
    entry = {"task": "hellaswag", "dataset_path": "data"}
    printed = verb("prepare", entry, num_fewshot=2, code=2)
    assert "hellaswag takes 2 few-shot examples" in printed
    verb("prepare", {**entry, "fewshot_split": "validation"}, num_fewshot=2)


@pytest.mark.parametrize("name", ["arc_easy", "ai2_arc", "mmlu_abstract_algebra"])
def test_a_back_end_that_cannot_run_a_task_is_named(verb, name):
    address = {"base_url": "http://127.0.0.1:8000/v1/chat/completions"}
    printed = verb("prepare", name, backend="local-chat-completions", model_args=address, code=2)
    assert f"{name} cannot run: local-chat-completions gives no log-likelihoods" in printed


def test_a_mapping_with_the_name_of_a_task_of_lm_eval_changes_it(verb, tmp_path):
    write(tmp_path / "data", validation=3)
    entry = {"task": "hellaswag", "dataset_path": "data", "doc_to_text": "{{query}} and then"}
    verb("prepare", entry)
    assert overrides(tmp_path / "work_dir")["doc_to_text"] == "{{query}} and then"


def test_tasks_behind_a_tag_and_a_group():
    assert {task["task"] for task in tasks_behind(Tree([]), "ai2_arc")} == {
        "arc_easy",
        "arc_challenge",
    }
    assert len(tasks_behind(Tree([]), "mmlu")) == 57
