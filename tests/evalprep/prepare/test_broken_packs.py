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
ROWS = (
    "from evalprep.packapi import *\ndef prepare(context, task):\n    return TaskData(rows=[{}])\n"
)
PLAN = "from evalprep.packapi import *\ndef plan(context):\n    task = lambda **keys: TaskPlan('mine_qa', **({{'template': 'qa.yaml'}} | keys))\n    return Plan({})\n"


def rows(row):
    """A pack that gives one row of its own."""
    return {"prepare.py": ROWS.format(row)}


def plan(arguments):
    """A pack with a plan of its own; `task()` is a sound task of it."""
    return {"prepare.py": PLAN.format(arguments)}


OF_PLANS = {
    # arguments of Plan, what the message says
    "a list of tasks": ("tasks=['mine_qa']", "the tasks of plan() are list"),
    "no task": ("tasks={'mine_qa': None}", "'mine_qa' of plan() is NoneType"),
    "a task of another name": ("tasks={'mine_qa': TaskPlan('other', template='qa.yaml')}", "calls itself 'other'"),
    "a name that is a path": ("tasks={'../x': TaskPlan('../x', template='qa.yaml')}", "plan() makes a task '../x'"),
    "a template that is none": ("tasks={'mine_qa': task(template=None)}", "template of mine_qa is NoneType"),
    "a template that is not there": ("tasks={'mine_qa': task(template='no.yaml')}", "template of mine_qa is 'no.yaml'"),
    "a template elsewhere": ("tasks={'mine_qa': task(template='/etc/passwd')}", "template of mine_qa is '/etc/passwd'"),
    "a template above": ("tasks={'mine_qa': task(template='../../eval_config.yaml')}", "template of mine_qa is '../../eval"),
    "values without JSON": ("tasks={'mine_qa': task(values={'x': object()})}", "values of mine_qa cannot be written"),
    "a block of nothing": ("tasks={'mine_qa': task(block=0)}", "block of mine_qa is 0"),
    "a block in words": ("tasks={'mine_qa': task(block='3')}", "block of mine_qa is str"),
    "a text for names": ("tasks={'mine_qa': task(after='mine_qa')}", "after of mine_qa is str"),
    "an unknown stage before": ("tasks={'mine_qa': task(after=('nope',))}", "mine_qa waits for nope"),
    "half a primary": ("tasks={'mine_qa': task(primary='acc')}", "primary of mine_qa is str"),
    "an unknown ability": ("tasks={'mine_qa': task(needs=frozenset({'chatt'}))}", "did you mean chat?"),
    "an unknown prompt": ("tasks={'mine_qa': task(prompt='shout')}", "prompt of mine_qa is 'shout'"),
    "no call": ("tasks={'mine_qa': task(call={})}", "call of mine_qa is dict"),
    "an unknown back end": ("tasks={'mine_qa': task(call=Call(backend='vlm'))}", "did you mean vllm?"),
    "a credential": ("tasks={'mine_qa': task(call=Call(model_args={'api_key': 'abc'}))}", "looks like a credential"),
    "an unknown stock": ("tasks={'mine_qa': task(stock='banana')}", "stock of mine_qa is 'banana'"),
    "a group in itself": ("tasks={'mine_qa': task()}, groups={'g': ['h'], 'h': ['g']}", "the group g of plan() is part of itself"),
    "a group of text": ("tasks={'mine_qa': task()}, groups={'g': 'mine_qa'}", "the group 'g' of plan() is str"),
    "no score": ("tasks={'mine_qa': task()}, scores={'s': None}", "'s' of plan() is NoneType"),
    "a score in itself": ("tasks={'mine_qa': task()}, scores={'s': ScoreSpec(function='mean', needs=('s',))}", "s -> s"),
    "a score of a stranger": ("tasks={'mine_qa': task()}, scores={'s': ScoreSpec(function='os.system')}", "'os.system'"),
    "no reason": ("tasks={'mine_qa': task()}, excluded={'x': Excluded('because', 'so')}", "left out for 'because'"),
}  # fmt: skip
CASES = {
    **{f"plan: {name}": (plan(arguments), {}, message) for name, (arguments, message) in OF_PLANS.items()},
    "a row that is none": (rows("3"), {}, "row 0 of mine_qa is int"),
    "a row that holds itself": (
        {"prepare.py": "from evalprep.packapi import *\ndef prepare(context, task):\n    row = {'sample_id': 'a', 'prompt': 'x', 'target': 'y'}\n"
                       "    row['me'] = row\n    return TaskData(rows=[row])\n"}, {}, "nested more than 60 levels deep in column 'me'"),
    "what ends a generator": ({"prepare.py": "def prepare(context, task):\n    raise GeneratorExit\n"}, {}, "GeneratorExit"),
    "too little memory": ({"prepare.py": "def prepare(context, task):\n    raise MemoryError\n"}, {}, "not enough memory"),
    # what is broken: files beside or in place of the good ones, keys of pack.yaml, what the message
    # says
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
    "published that is not a mapping": ({"scores.yaml": "- 1\n"}, {"published": "scores.yaml"}, "scores.yaml"),
}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    pack = tmp_path / "packs" / "mine"
    pack.mkdir(parents=True)
    (pack / "qa.yaml").write_text(TASK)
    rows = [{"sample_id": one, "prompt": one, "target": one} for one in "ab"]
    (pack / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {
        "model_name": "dummy",
        "backend": "dummy",
        "tasks": ["mine_qa"],
        "template_dir": "packs",
    }
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


def test_a_planned_score_may_name_what_a_module_of_the_pack_imports(project):
    scores = "tasks={'mine_qa': task()}, scores={'s': ScoreSpec(function='score.median')}"
    imported = {"score.py": "from statistics import *\n"}
    assert prepare(project, plan(scores) | imported, {}) == 0


@pytest.mark.parametrize(("files", "keys", "message"), CASES.values(), ids=CASES)
def test_every_mistake_is_told(project, capsys, files, keys, message):
    assert prepare(project, files, keys) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not (project / "work_dir").exists()
    assert not list(project.glob(".work_dir*"))


@pytest.mark.parametrize(
    "prepare_py", ["", ROWS.format("{'sample_id': 'a', 'prompt': 'x', 'target': 'y'}")]
)
def test_rows_of_a_later_stage_that_nothing_makes_are_told_before_any_reply(
    project, capsys, prepare_py
):
    config = project / "eval_config.yaml"
    config.write_text(config.read_text().replace("mine_qa", "mine_later"))
    files = {"later.yaml": TASK.replace("mine_qa", "mine_later")} | (
        {"prepare.py": prepare_py} if prepare_py else {}
    )
    later = {"mine_later": {"template": "later.yaml", "after": ["mine_qa"]}}
    assert prepare(project, files, {"tasks": PACK["tasks"] | later}) == 2
    assert (
        "mine_later waits for mine_qa, and the pack has no continue_rows" in capsys.readouterr().err
    )
    assert not (project / "work_dir").exists()
