# ruff: noqa: E501 - a table of cases
"""A pack with a mistake ends in one message that names it and exit code 2: no traceback, no silence, nothing written."""

import json

import pytest
import yaml

from evalprep.cli import main

PACK = {
    "name": "mine",
    "title": "Mine",
    "description": "One.",
    "tasks": {"mine_qa": {"template": "qa.yaml", "source": "rows.jsonl"}},
}
TASK = """task: mine_qa
dataset_path: parquet
dataset_kwargs: {data_files: {test: ${data_file}}}
test_split: test
output_type: generate_until
doc_to_text: prompt
doc_to_target: target
generation_kwargs: {until: ["\\n"], do_sample: false, temperature: 0.0, max_gen_toks: 8}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
num_fewshot: 0
fewshot_config: {sampler: first_n, samples: []}
metadata: &m {version: 1.0, pack: mine, primary_metric: exact_match, primary_filter: none}
"""
EXIT = "import sys\n"
CASES = {
    # what is broken: files beside or in place of the good ones, keys of pack.yaml, what the message says
    "an alias that contains itself": ({"qa.yaml": TASK.replace("filter: none}", "filter: none, me: *m}")}, {}, "stands inside of itself"),
    "sys.exit where a module is imported": ({"prepare.py": EXIT + "sys.exit(0)\n"}, {}, "calls sys.exit(0)"),
    "sys.exit in plan": ({"prepare.py": EXIT + "def plan(context):\n    sys.exit(3)\n"}, {}, "calls sys.exit(3)"),
    "sys.exit in prepare": ({"prepare.py": EXIT + "def prepare(context, task):\n    sys.exit()\n"}, {}, "calls sys.exit(None)"),
    "SystemExit over the rows": (
        {"prepare.py": "from evalprep.packapi import TaskData\ndef rows():\n    yield {'sample_id': 'a'}\n    raise SystemExit(0)\n"
                       "def prepare(context, task):\n    return TaskData(rows=rows())\n"}, {}, "calls sys.exit(0)"),
    "plan returns nothing": ({"prepare.py": "def plan(context):\n    pass\n"}, {}, "plan() returned NoneType"),
    "prepare returns nothing": ({"prepare.py": "def prepare(context, task):\n    pass\n"}, {}, "prepare() returned NoneType"),
    "choices without an order": (
        {}, {"config": {"a": {"type": "any", "default": "x", "choices": ["x", 1, {"b": 2}], "doc": "d"}}}, "cannot be compared"),
    "a score over an unknown task": ({}, {"suite_scores": {"s": {"function": "micro", "tasks": ["mine_qs"]}}}, "unknown task 'mine_qs'"),
    "a score that needs an unknown one": ({}, {"suite_scores": {"s": {"function": "mean", "needs": ["t"]}}}, "unknown score 't'"),
    "scores that need each other": (
        {}, {"suite_scores": {"s": {"function": "mean", "needs": ["t"]}, "t": {"function": "mean", "needs": ["s"]}}}, "s -> t -> s"),
    "a function that is not defined": (
        {"score.py": "def other(**_): ...\n"}, {"suite_scores": {"s": {"function": "score.otter", "tasks": ["mine_qa"]}}}, "score.otter"),
    "a function that is not built in": ({}, {"suite_scores": {"s": {"function": "median", "tasks": ["mine_qa"]}}}, "'median'"),
    "published elsewhere": ({}, {"published": "/etc/passwd"}, "outside of the pack"),
    "published above": ({}, {"published": "../../../../../../../../../../etc/passwd"}, "outside of the pack"),
    "published that is no mapping": ({"scores.yaml": "- 1\n"}, {"published": "scores.yaml"}, "scores.yaml"),
}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    pack = tmp_path / "packs" / "mine"
    pack.mkdir(parents=True)
    (pack / "qa.yaml").write_text(TASK)
    rows = [{"sample_id": one, "prompt": one, "target": one} for one in "ab"]
    (pack / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {"model_name": "dummy", "backend": "dummy", "tasks": ["mine_qa"], "template_dir": "packs"}
    (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
    return tmp_path


def prepare(project, files, keys):
    pack = project / "packs" / "mine"
    for name, text in files.items():
        (pack / name).write_text(text)
    (pack / "pack.yaml").write_text(yaml.safe_dump(PACK | keys))
    return main(["prepare", "--quiet", "--config_path", str(project / "eval_config.yaml")])


def test_the_pack_without_a_mistake_is_prepared(project):
    assert prepare(project, {}, {}) == 0


@pytest.mark.parametrize(("files", "keys", "message"), CASES.values(), ids=CASES)
def test_every_mistake_is_told(project, capsys, files, keys, message):
    assert prepare(project, files, keys) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not (project / "work_dir").exists()
    assert not list(project.glob(".work_dir*"))
