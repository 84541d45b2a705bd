"""lm-eval's manager without the index of its own tasks: the same tasks as with it."""

import json

import pytest

from evalprep.packs import stock_file, stock_names


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The index as lm-eval builds it; reading 14,000 files takes 7 s of CPU."""
    from lm_eval.tasks import TaskManager

    return TaskManager(include_path=str(tmp_path_factory.mktemp("empty")))


def manager_of(folder):
    from evalprep.packs import RequestedTasks

    return RequestedTasks(include_path=str(folder))


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)


def test_the_index_holds_the_folder_and_the_tasks_that_are_asked_for(tmp_path):
    write(tmp_path, own="task: own_task\ndataset_path: json\n")
    manager = manager_of(tmp_path)
    assert manager.all_tasks == ["own_task"]
    assert manager.match_tasks(["own_task"]) == ["own_task"]
    assert manager.match_tasks(["own_task", "gsm8k"]) == ["gsm8k", "own_task"]
    assert "hellaswag" not in manager.all_tasks


def rows_of_arc(folder):
    row = {
        "id": "1",
        "question": "Which is a star?",
        "choices": {"text": ["Sun", "Moon"], "label": ["A", "B"]},
        "answerKey": "A",
    }
    (folder / "test.jsonl").write_text(json.dumps(row) + "\n")
    return {
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": {"test": str(folder / "test.jsonl")}},
        "training_split": None,
        "validation_split": None,
    }


def test_a_member_with_keys_of_its_own_is_still_the_task_of_lm_eval(tmp_path):
    # With all keys of a whole task lm-eval takes an unknown member for a new one, without a word.
    keys = {**rows_of_arc(tmp_path), "doc_to_text": "{{question}}", "doc_to_target": 0}
    member = json.dumps({"task": "arc_easy", **keys})
    write(
        tmp_path,
        inner=f"group: inner\ntask:\n  - {member}\n",
        outer="group: outer\ntask: [inner]\n",
    )
    manager = manager_of(tmp_path)
    tasks = manager.load(["outer"])["tasks"]
    assert list(tasks) == ["arc_easy"]
    assert [metric["metric"] for metric in tasks["arc_easy"].config.metric_list] == [
        "acc",
        "acc_norm",
    ]
    assert tasks["arc_easy"].config.output_type == "multiple_choice"
    assert "hellaswag" not in manager.all_tasks


def test_a_group_within_the_list_of_a_group(tmp_path):
    member = json.dumps({"task": "arc_easy", **rows_of_arc(tmp_path)})
    inline = f"  - group: within\n    task:\n      - {member}\n"
    write(tmp_path, outer=f"group: outer\ntask:\n{inline}")
    manager = manager_of(tmp_path)
    assert list(manager.load(["outer"])["tasks"]) == ["arc_easy"]
    assert "hellaswag" not in manager.all_tasks


def test_a_task_of_the_folder_counts_before_lm_evals_own(tmp_path):
    write(tmp_path, own="task: gsm8k\ndataset_path: json\n")
    manager = manager_of(tmp_path)
    assert manager.match_tasks(["gsm8k"]) == ["gsm8k"]
    assert manager.task_index["gsm8k"].yaml_path == tmp_path / "own.yaml"
    assert manager.all_tasks == ["gsm8k"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mmlu", "ai2_arc", "super-glue-lm-eval-v1"])
def test_tags_are_whole_without_the_index(name, whole, tmp_path):
    manager = manager_of(tmp_path)
    assert manager.match_tasks([name]) == [name]
    assert len(manager.all_tasks) < len(whole.all_tasks) / 10
    for known, entry in whole.task_index.items():
        if known in manager.task_index:
            assert manager.task_index[known].tags >= (entry.tags if known == name else set())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arc_*", "no_such_task_of_anybody"])
def test_patterns_and_unknown_names_get_the_whole_index(name, whole, tmp_path):
    manager = manager_of(tmp_path)
    assert manager.match_tasks([name]) == whole.match_tasks([name])
    assert manager.all_tasks == whole.all_tasks


@pytest.mark.slow
def test_a_tag_among_members_is_whole(whole, tmp_path):
    # Reading the file of arc_easy alone registers its tag with that task only.
    write(tmp_path, own="group: own\ntask: [arc_easy, ai2_arc]\n")
    manager = manager_of(tmp_path)
    manager.match_tasks(["own"])
    assert manager.task_index["ai2_arc"].tags == whole.task_index["ai2_arc"].tags


@pytest.mark.slow
def test_names_and_files_are_those_of_the_index(whole):
    from lm_eval.tasks._index import Kind

    assert [name for name in whole.task_index if name not in stock_names()] == []
    files = {
        name: entry.yaml_path for name, entry in whole.task_index.items() if entry.kind != Kind.TAG
    }
    assert len(files) > 10_000
    assert [name for name, path in files.items() if stock_file(name) != path] == []
    tags = [name for name, entry in whole.task_index.items() if entry.kind == Kind.TAG]
    assert tags
    assert [name for name in tags if stock_file(name)] == []
