"""A folder of one's own lm-eval task files, as lm-eval takes it: include_path, and paths in tasks."""

import json

import pytest
import yaml

from evalprep.cli import main
from evalprep.config import load_config
from evalprep.prepare import changes_since

BASE = """\
dataset_path: json
dataset_kwargs: {data_files: {test: data/rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: !function utils.prompt
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 16, do_sample: false}
process_results: !function utils.score
metric_list:
  - {metric: hit, aggregation: mean, higher_is_better: true}
  - {metric: answers, aggregation: !function utils.total, higher_is_better: true}
metadata: {version: 1}
"""
CHOICE = """\
task: hellaswag
dataset_path: json
dataset_kwargs: {data_files: {test: data/rows.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: ["Loire 0", "Seine"]
doc_to_target: 0
"""
UTILS = """\
def prompt(doc):
    return f"Q: {doc['question']}"


def score(doc, results):
    return {"hit": float(results[0].strip() == doc["answer"]), "answers": results}


def total(items):
    return float(len(items))
"""
FILES = {
    "mytasks/_base_yaml": BASE,
    "mytasks/a.yaml": "task: rivers\ntag: [water]\ninclude: _base_yaml\n",
    "mytasks/sub/b.yaml": "include: ../_base_yaml\ntask: lakes\ntag: water\ndoc_to_text: no_column\n",
    "mytasks/_water.yaml": "group: all_water\ntask: [rivers, {task: lakes, num_fewshot: 0}]\n"
    "aggregate_metric_list: [{metric: hit, weight_by_size: true}]\n",
    "mytasks/utils.py": UTILS,
    "one/only.yaml": "include: ../mytasks/_base_yaml\ntask: seas\n",
    "stock/hellaswag.yaml": CHOICE,
    "stock/twice.yaml": "group: with_stock\ntask: [hellaswag]\n",
    "broken/x.yaml": "task: x\n  wrong: indent\n",
    "broken/empty.yaml": "dataset_path: json\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"Question {at}?", "answer": f"Loire {at}"} for at in range(3)]
    files = FILES | {"data/rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def prepare(project, capsys):
    """Prepares without lm-eval, and returns what was printed on standard error."""

    def prepare(tasks, *words, code=0, **keys):
        config = {"model_name": "a/b", "backend": "dummy", "tasks": tasks, **keys}
        (project / "eval_config.yaml").write_text(yaml.safe_dump(config))
        assert main(["prepare", "--check", "off", *words]) == code
        return capsys.readouterr().err

    return prepare


def manifest(project):
    return json.loads((project / "work_dir/manifest.json").read_text())


def requested(project):
    return yaml.safe_load((project / "work_dir/run.yaml").read_text())["tasks"]


def included(project):
    files = (project / "work_dir/include").glob("*.yaml")
    return sorted(file.stem for file in files)


@pytest.mark.parametrize(
    ("tasks", "asked", "files"),
    [
        ("mytasks/a.yaml", ["rivers"], ["rivers"]),
        ("stock/*.yaml", ["with_stock"], ["hellaswag", "with_stock"]),
        ("mytasks", ["all_water"], ["all_water", "lakes", "rivers"]),
        ("mytasks/", ["all_water"], ["all_water", "lakes", "rivers"]),
        ("mytasks/sub/b.yaml,one", ["lakes", "seas"], ["lakes", "seas"]),
        (["stock/twice.yaml"], ["with_stock"], ["hellaswag", "with_stock"]),
    ],
)
def test_paths_among_the_tasks(prepare, project, tasks, asked, files):
    prepare(tasks)
    assert requested(project) == asked
    assert included(project) == files


@pytest.mark.parametrize(
    ("tasks", "asked", "files"),
    [
        ("rivers", ["rivers"], ["rivers"]),
        ("all_water", ["all_water"], ["all_water", "lakes", "rivers"]),
        ("water", ["water"], ["lakes", "rivers"]),
        ("rivers,hellaswag", ["rivers", "hellaswag"], ["hellaswag", "rivers"]),
        ("lakes,arc_easy", ["lakes", "arc_easy"], ["lakes"]),
    ],
)
def test_names_of_an_include_path(prepare, project, tasks, asked, files):
    prepare(tasks, include_path=["mytasks", "stock"])
    assert requested(project) == asked
    assert included(project) == files


def test_the_work_folder_of_an_include_path_is_no_part_of_it(prepare, project):
    prepare("rivers", include_path=".")
    prepare("rivers", include_path=".")
    assert included(project) == ["rivers"]


def test_included_files_stay_and_local_data_are_named_from_everywhere(prepare, project):
    prepare("mytasks/a.yaml")
    entry = yaml.safe_load((project / "work_dir/include/rivers.yaml").read_text())
    assert entry == {
        "include": str(project / "mytasks/a.yaml"),
        "dataset_kwargs": {"data_files": {"test": str(project / "data/rows.jsonl")}},
    }


@pytest.mark.parametrize(
    ("entry", "members"),
    [
        ({"task": "rivers"}, [{"task": "rivers"}]),
        ({"task": "mytasks/a.yaml"}, [{"task": "rivers"}]),
        ({"task": "all_water"}, [{"group": "all_water"}]),
        ({"task": "water"}, [{"task": "rivers"}, {"task": "lakes"}]),
        ({"task": "ai2_arc"}, [{"task": "arc_challenge"}, {"task": "arc_easy"}]),
    ],
    ids=str,
)
def test_a_mapping_changes_keys_of_what_it_names(prepare, project, entry, members):
    prepare([{**entry, "num_fewshot": 2}], include_path="mytasks")
    (group,) = (project / "work_dir").rglob("evalprep_c1*.yaml")
    entries = yaml.safe_load(group.read_text())["task"]
    assert entries == [{**member, "num_fewshot": 2} for member in members]


def test_a_file_with_the_name_of_a_stock_task_is_named_as_edited(prepare, project):
    error = prepare("hellaswag", include_path="stock")
    assert "hellaswag  of stock/hellaswag.yaml" in error
    assert "hellaswag is edited: stock/hellaswag.yaml takes the place of lm-eval's own" in error
    assert "doc_to_text" not in prepare("arc_easy", include_path="stock")


def run_of(prepare, project):
    prepare("all_water", include_path="mytasks")
    return manifest(project)["run"]


@pytest.mark.parametrize(
    ("name", "before", "after", "is_other"),
    [
        ("mytasks/utils.py", "Q: ", "Question: ", True),
        ("mytasks/utils.py", "strip()", "lower()", False),
        ("mytasks/_base_yaml", "max_gen_toks: 16", "max_gen_toks: 8", True),
        ("mytasks/_base_yaml", "metric: hit", "metric: found", False),
        ("mytasks/_water.yaml", "num_fewshot: 0", "num_fewshot: 1", True),
        ("data/rows.jsonl", "Loire", "Seine", True),
    ],
)
def test_an_edit_of_what_is_asked_is_another_run(prepare, project, name, before, after, is_other):
    first = run_of(prepare, project)
    file = project / name
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))
    assert (run_of(prepare, project) != first) == is_other


@pytest.mark.parametrize(
    ("name", "before", "after", "reason"),
    [
        ("mytasks/utils.py", "strip()", "lower()", "task file of rivers"),
        ("mytasks/_base_yaml", "version: 1", "version: 2", "task file of rivers"),
        ("data/rows.jsonl", "Loire", "Seine", "data of rivers"),
        ("mytasks/a.yaml", "task: rivers", "task: streams", "task file of rivers"),
        ("mytasks/_water.yaml", "hit", "found", ""),
    ],
)
def test_run_sees_that_own_files_have_changed(prepare, project, name, before, after, reason):
    prepare("rivers", include_path="mytasks")
    file = project / name
    file.write_text(file.read_text().replace(before, after))
    config, packs = load_config(project / "eval_config.yaml", [])
    changes = changes_since(config, packs)
    assert changes == (f"changed since the preparation: {reason}" if reason else "")


@pytest.mark.parametrize(
    ("tasks", "include_path", "message"),
    [
        (
            "mytasks/c.yaml",
            None,
            "mytasks/c.yaml does not exist\n  fix: did you mean b.yaml or a.yaml?",
        ),
        ("nowhere/c.yaml", None, "nowhere/c.yaml does not exist, nor its folder"),
        ("data/", None, "data/ has no task or group\n  fix: name a file with `task: NAME`"),
        ("broken/x.yaml", None, "broken/x.yaml:2: EP101 is not valid YAML"),
        ("broken/empty.yaml", None, "broken/empty.yaml has no task or group"),
        ("river", "mytasks", "unknown task 'river'"),
        ("river", "mytasks", "did you mean rivers"),
        ("x", "broken", "broken/x.yaml:2: EP101 is not valid YAML"),
        ("rivers", "missing", "include_path {project}/missing does not exist"),
        (
            "rivers",
            "mytasks/a.yaml",
            "mytasks/a.yaml is a file\n  fix: tasks: a.yaml, or name its folder",
        ),
        ([{"task": "y", "include": "mytasks/a.yaml"}], None, "write it into a file"),
        ([{"task": "mytasks/", "limit": 2}], None, ""),
        ([{"task": "*/*.yaml", "num_fewshot": 2}], None, "has several tasks: all_water"),
        (["rivers", {"task": "rivers", "num_fewshot": 1}], "mytasks", "rivers is named twice"),
    ],
)
def test_mistakes_name_the_file_and_the_fix(prepare, project, tasks, include_path, message):
    code = 2 if message else 0
    error = prepare(tasks, code=code, include_path=include_path or [])
    assert message.format(project=project) in error


def test_a_template_dir_of_task_files_is_an_include_path(prepare):
    assert "include_path: mytasks" in prepare("rivers", code=2, template_dir="mytasks")


def test_a_finding_names_the_line_of_the_users_file(prepare, project, capsys):
    prepare("lakes", include_path="mytasks")
    assert main(["check", "--depth", "static"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"{project}/mytasks/_base_yaml:7 (generation_kwargs)" in out


@pytest.mark.slow
def test_own_files_of_another_machine_are_checked_here(project, monkeypatch):
    monkeypatch.delenv("EVALPREP_QUICK_CHECK")
    config = {"model_name": "a/b", "backend": "dummy", "tasks": "mytasks/a.yaml"}
    config["path_prefix"] = {str(project): "/there"}
    (project / "eval_config.yaml").write_text(yaml.safe_dump(config))
    assert main(["prepare", "--quiet"]) == 0
    entry = yaml.safe_load((project / "work_dir/include/rivers.yaml").read_text())
    assert entry["include"] == "/there/mytasks/a.yaml"


@pytest.mark.slow
def test_a_group_runs_is_scored_and_scored_anew(project, capsys):
    words = ["--model", "a/b", "--backend", "dummy", "--include_path", "mytasks,stock"]
    (project / "mytasks/sub/b.yaml").write_text("include: ../_base_yaml\ntask: lakes\n")
    assert main(["run", *words, "--tasks", "all_water,hellaswag"]) == 0
    out = capsys.readouterr().out
    assert "rivers" in out
    assert "lakes" in out
    assert "hellaswag: edited, by stock/hellaswag.yaml in place of lm-eval's own" in out
    (project / "mytasks/utils.py").write_text(UTILS.replace("strip() ==", "strip() !="))
    assert main(["rescore", "eval_results"]) == 0
    assert "rivers" in capsys.readouterr().out
