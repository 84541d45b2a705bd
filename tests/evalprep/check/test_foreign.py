"""Task folders of others: what lm-eval 0.4.13 does with them, held against what the check says."""

import json
import sys

import pytest

from evalprep.check import Findings, RunSettings, check_static
from evalprep.cli import main

from .choice_task import CHOICE, choice_rows

TASK = "task: {name}\ntag: {tag}\n" + CHOICE
ROWS = choice_rows(9)


def codes(folder, tasks=None):
    findings = Findings()
    check_static([folder], tasks, RunSettings.without_config(), findings)
    return {one.code: one.what for one in findings.sorted() if one.level != "note"}


def loaded(folder, name):
    from lm_eval.tasks import TaskManager

    return TaskManager(include_path=[str(folder)], include_defaults=False).load([name])["tasks"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/rows.json").write_text(json.dumps(ROWS))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "tasks"


def write(folder, name, text):
    (folder / name).write_text(text)


def test_a_tag_before_the_group_of_its_name_loads(folder):
    write(folder, "a.yaml", TASK.format(name="one", tag="both", file=folder / "rows.json"))
    write(folder, "z.yaml", "group: both\ntask: [both]\n")
    assert "EP126" in codes(folder)
    assert not {"EP106", "EP116"} & set(codes(folder))
    assert list(loaded(folder, "both")) == ["one"]


def test_a_group_before_the_tag_of_its_name_recurses(folder):
    write(folder, "a.yaml", "group: both\ntask: [both]\n")
    write(folder, "z.yaml", TASK.format(name="one", tag="both", file=folder / "rows.json"))
    assert "comes later and is not seen" in codes(folder)["EP116"]
    with pytest.raises(RecursionError):
        loaded(folder, "both")


def test_an_old_style_group_is_named_as_such(folder):
    write(
        folder,
        "a.yaml",
        "group: capitals\n" + TASK.format(name="one", tag="t", file=folder / "rows.json"),
    )
    assert "`group: capitals` stands beside `task: one`" in codes(folder)["EP125"]
    with pytest.raises(KeyError):
        loaded(folder, "one")


def test_a_relative_data_file_is_looked_for_where_lm_eval_is_started(folder, monkeypatch):
    write(folder, "a.yaml", TASK.format(name="one", tag="t", file="tasks/rows.json"))
    assert not {"EP214", "EP215", "EP407"} & set(codes(folder))
    assert list(loaded(folder, "one")) == ["one"]
    write(folder, "a.yaml", TASK.format(name="one", tag="t", file="rows.json"))
    assert "lies beside the task file" in codes(folder)["EP214"]
    with pytest.raises(FileNotFoundError):
        loaded(folder, "one")


def test_a_tag_of_lm_evals_own_templates_is_a_member(folder):
    write(folder, "a.yaml", "group: mine\ntask: [arc_multilingual, translation]\n")
    assert "EP110" not in codes(folder)


def test_a_task_tagged_with_its_own_name_loads(folder):
    write(folder, "a.yaml", TASK.format(name="own", tag="own", file=folder / "rows.json"))
    assert "EP106" not in codes(folder)
    assert list(loaded(folder, "own")) == ["own"]
    write(folder, "b.yaml", TASK.format(name="other", tag="own", file=folder / "rows.json"))
    assert "the tag 'own' is also the name" in codes(folder)["EP106"]
    assert list(loaded(folder, "own")) == ["own"]


def test_data_files_that_a_function_names_are_not_looked_for(folder):
    write(
        folder,
        "where.py",
        f"def rows(*_):\n    return {str(folder / 'rows.json')!r}\nfile = rows()\n",
    )
    write(folder, "a.yaml", TASK.format(name="one", tag="t", file="!function where.file"))
    assert not {"EP214", "EP215", "EP412"} & set(codes(folder))
    assert list(loaded(folder, "one")) == ["one"]


def test_a_module_that_makes_its_neighbour_importable(folder, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    write(folder, "neighbour_of_one.py", "def text(doc):\n    return doc['question']\n")
    beside = "from neighbour_of_one import text\n"
    task = (
        TASK.format(name="one", tag="t", file=folder / "rows.json")
        + "process_results: !function own.text\n"
    )
    write(folder, "own.py", beside)
    write(folder, "a.yaml", task)
    assert "lies beside it but is not importable" in codes(folder)["EP222"]
    with pytest.raises(ModuleNotFoundError):
        loaded(folder, "one")
    write(
        folder, "mended.py", f"import os, sys\nsys.path.append(os.path.dirname(__file__))\n{beside}"
    )
    write(folder, "a.yaml", task.replace("own.text", "mended.text"))
    assert "EP222" not in codes(folder)
    assert list(loaded(folder, "one")) == ["one"]


def test_a_module_of_another_lm_eval(folder):
    write(
        folder,
        "own.py",
        "from lm_eval.tasks.ifeval import utils\nfrom lm_eval.tasks.not_there import utils as text\n",
    )
    task = TASK.format(name="one", tag="t", file=folder / "rows.json")
    write(folder, "a.yaml", task + "process_results: !function own.text\n")
    assert (
        codes(folder)["EP222"]
        == "imports lm_eval.tasks.not_there, which the installed lm-eval does not have"
    )
    with pytest.raises(ModuleNotFoundError):
        loaded(folder, "one")


def test_a_key_that_few_shot_settings_lack(folder):
    task = TASK.format(name="one", tag="t", file=folder / "rows.json")
    write(folder, "a.yaml", task + "fewshot_config: {sampler: first_n, num_fewshot: 2}\n")
    assert codes(folder)["EP216"] == "fewshot_config has the key 'num_fewshot'"
    with pytest.raises(TypeError):
        loaded(folder, "one")


@pytest.mark.parametrize("split", ["test[:1]", "test+test"])
def test_a_part_of_a_split_is_none_to_lm_eval(folder, split):
    text = TASK.format(name="part", tag="t", file=folder / "rows.json")
    assert "test_split: test\n" in text
    write(folder, "a.yaml", text.replace("test_split: test\n", f"test_split: {split}\n"))
    assert (
        f"lm-eval looks for a split called {split!r}, and raises KeyError" in codes(folder)["EP412"]
    )
    with pytest.raises(KeyError):
        list(loaded(folder, "part")["part"].eval_docs)


def test_arguments_of_a_metric_that_are_not_read(folder):
    metric = "metric_list:\n- {metric: acc, ignore_case: true, regexes_to_ignore: [x]}\n"
    task = TASK.format(name="one", tag="t", file=folder / "rows.json")
    write(folder, "a.yaml", task.partition("metric_list")[0] + metric)
    assert codes(folder)["EP239"] == (
        "ignore_case, regexes_to_ignore of the metric 'acc' are not read: "
        "metrics of multiple_choice tasks take no arguments"
    )


def test_code_of_a_task_that_looks_up_a_column_that_is_not_there(folder, capsys):
    (folder / "own.py").write_text("def prompt(doc):\n    return doc['ctx_a']\n")
    task = TASK.format(name="one", tag="t", file=folder / "rows.json")
    lines = [line for line in task.splitlines() if not line.startswith("doc_to_text")]
    write(folder, "a.yaml", "\n".join([*lines, "doc_to_text: !function own.prompt", ""]))
    assert main(["check", "--include_path", str(folder)]) == 2
    text = " ".join(capsys.readouterr().out.split())
    assert "its code looks up 'ctx_a', which is not there" in text
