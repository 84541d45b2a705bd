"""pack.yaml: what is accepted, and what every mistake is told."""

import json
import shutil

import pytest
import yaml

from evalprep.config.file import load_config
from evalprep.errors import BadInput
from evalprep.packapi import Context
from evalprep.packs.entries import shown
from evalprep.packs.finding import TEMPLATES, find_packs
from evalprep.packs.pack import Pack
from evalprep.prepare.shares import names_for
from tests import processes

PACK = {
    "tasks": {"p_qa": {"template": "p_qa.yaml", "source": "q.jsonl", "columns": {"prompt": "q"}}},
    "groups": {"p_all": {"tasks": ["p_qa"]}},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p/p_qa.yaml").write_text("task: ${task}\n")
    return tmp_path


def write(folder, **changes):
    (folder / "p/pack.yaml").write_text(yaml.safe_dump({**PACK, **changes}))


def task(**changes):
    return {"tasks": {"p_qa": {**PACK["tasks"]["p_qa"], **changes}}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"taks": {}}, ["unknown key 'taks'", "did you mean tasks"], id="misspelt key"),
        pytest.param(
            {"name": "q"}, ["name is 'q'", "called 'p'"], id="other name than the folder's"
        ),
        pytest.param({"tasks": [1]}, ["tasks is [1]", "a mapping"], id="tasks as a list"),
        pytest.param(
            {"tasks": {"p_qa": None}}, ["'p_qa' under tasks is None"], id="task without content"
        ),
        pytest.param({"tasks": {5: {"template": "x"}}}, ["5 under tasks"], id="task called 5"),
        pytest.param(
            task(template="x.yaml"),
            ["template x.yaml of task p_qa does not exist"],
            id="no template",
        ),
        pytest.param(
            task(aliases="abc"),
            ["aliases is 'abc'", "a list of names"],
            id="text is no list of letters",
        ),
        pytest.param(
            task(aliases=["p_all"]),
            ["'p_all' is also a task, group or alias"],
            id="alias of another name",
        ),
        pytest.param(task(columns=["q"]), ["columns is ['q']"], id="columns as a list"),
        pytest.param(task(columns={"prompt": 5}), ["columns.prompt is 5"], id="column called 5"),
        pytest.param(
            task(source={"pth": "x"}), ["unknown key 'pth'", "did you mean path"], id="source key"
        ),
        pytest.param(task(source={"path": 5}), ["path is 5", "text"], id="source is a number"),
        pytest.param(task(tags=[1]), ["tags is [1]"], id="tags as a list"),
        pytest.param(
            task(source={"data_files": []}), ["source.path is missing"], id="source without a path"
        ),
        pytest.param(
            task(call={"sed": 1}), ["unknown key 'sed'", "did you mean seed"], id="call key"
        ),
        pytest.param(
            task(call={"seed": [1, 2]}), ["call.seed is [1, 2]", "lm-eval's four"], id="two seeds"
        ),
        pytest.param(
            task(backend="hf"), ["unknown key 'backend'", "call"], id="back end outside of call"
        ),
        pytest.param(task(name="x"), ["unknown key 'name'"], id="name inside of a task"),
        pytest.param(
            task(after=["p_q"]), ["waits for 'p_q'", "did you mean p_qa"], id="after no task"
        ),
        pytest.param(
            task(needs=["chatt"]), ["needs is ['chatt']", "loglikelihood"], id="unknown ability"
        ),
        pytest.param(
            task(prompt="chatt"), ["prompt is 'chatt'", "did you mean chat"], id="unknown prompt"
        ),
        pytest.param(task(block=0), ["block is 0", "1 or more"], id="no rows in a block"),
        pytest.param(
            task(primary="acc"),
            ["primary is 'acc'", "[metric, filter]"],
            id="primary without filter",
        ),
        pytest.param(
            task(annotators=["a"]), ["there is no annotators.py"], id="annotators without module"
        ),
        pytest.param(
            task(overrides={"num_fewshot": 1}),
            ["are for lm-eval's own tasks"],
            id="overrides of a template",
        ),
        pytest.param(
            task(stock="task"),
            ["template of p_qa is for own tasks", "source of p_qa"],
            id="own and stock",
        ),
        pytest.param(
            {"tasks": {"arc_easy": {"stock": "task", "overrides": {"task": "x", "metadata": {}}}}},
            ["task of the stock task arc_easy", "metadata of the stock task"],
            id="overrides that change the task",
        ),
        pytest.param(
            {"tasks": {"a": {"stock": "tag"}}},
            ["stock is 'tag'", "task or group"],
            id="unknown stock",
        ),
        pytest.param(
            {"tasks": {"a": {"description": "x"}}},
            ["names no template", "stock: task"],
            id="neither",
        ),
        pytest.param(
            {"suite_scores": {"s": {"function": "mean", "needs": ["r"]}}},
            ["unknown score 'r'"],
            id="unknown parent",
        ),
        pytest.param(
            {
                "suite_scores": {
                    "s": {"function": "mean", "on_missing": "skp", "made_of": "row", "of": 1}
                }
            },
            ["on_missing is 'skp'", "did you mean skip", "made_of is 'row'", "unknown key 'of'"],
            id="three mistakes of a score",
        ),
        pytest.param(
            {"groups": {"p_all": ["nope"]}}, ["'nope' is not a task or group"], id="unknown member"
        ),
        pytest.param(
            {"groups": {"p_all": {"tasks": "p_qa"}}}, ["tasks is 'p_qa'"], id="member as text"
        ),
        pytest.param(
            {"groups": {"p_all": ["p_two"], "p_two": ["p_all"]}}, ["is part of itself"], id="circle"
        ),
        pytest.param(
            {"default_tasks": ["nope"]}, ["'nope' is not a task or group"], id="unknown default"
        ),
        pytest.param({"published": "no.yaml"}, ["there is no no.yaml"], id="no published scores"),
        pytest.param(
            {"suite_scores": {"s": 5}}, ["'s' under suite_scores is 5"], id="score without content"
        ),
        pytest.param(
            {"config": {"a": {"type": "num"}}}, ["type is 'num'", "str, int"], id="unknown type"
        ),
        pytest.param(
            {"config": {"a": {"type": "int", "default": "x"}}},
            ["the default 'x'"],
            id="default of other type",
        ),
        pytest.param(
            {"config": {"a": {"choices": ["x"], "default": "y"}}},
            ["none of the choices"],
            id="no choice",
        ),
        pytest.param(
            {"config": {"a": {"min": 1}}}, ["min and max are for numbers"], id="bounds of a text"
        ),
        pytest.param({"config": {"a-b": {}}}, ["'a-b' cannot be a key"], id="no name"),
    ],
)
def test_mistakes(folder, change, said):
    write(folder, **change)
    with pytest.raises(BadInput) as caught:
        find_packs(folder)
    for part in said:
        assert part in str(caught.value)


def test_every_key_of_a_task_and_of_a_score_arrives(folder):
    (folder / "p/annotators.py").write_text("")
    given = {
        "prompt": "chat",
        "call": {"backend": "hf", "model_args": {"dtype": "float32"}, "seed": [0, 1, 1, 1]},
        "after": ["p_qa"],
        "needs": ["draws"],
        "block": 6,
        "primary": ["tox", "none"],
        "annotators": ["tox"],
        "stands_for": "leaderboard_qa",
        "tags": {"family": "x"},
    }
    tasks = {
        **PACK["tasks"],
        "p_two": {"template": "p_qa.yaml", **given},
        "hellaswag": {"stock": "task", "overrides": {"num_fewshot": 10}},
        "p_gone": {"unavailable": "its authors took the data back", "tags": {"family": "x"}},
    }
    score = {
        "tasks": ["p_two"],
        "on_missing": "skip",
        "made_of": "counts",
        "counts": "score.c",
        "value": "score.v",
    }
    score |= {"rule": "r", "unit": "points", "cluster": "doc", "range": [0, None]}
    scores = {"s": score, "f": {"function": "score.f", "tasks": ["p_two"]}}
    write(
        folder,
        tasks=tasks,
        groups={"p_all": ["p_qa", "hellaswag", "arc_easy"]},
        suite_scores=scores,
    )
    pack = find_packs(folder)["p"]
    assert shown(pack.tasks["p_two"]) == {"name": "p_two", "template": "p_qa.yaml", **given}
    assert pack.tasks["hellaswag"].overrides == {"num_fewshot": 10}
    assert pack.tasks["p_gone"].unavailable
    assert pack.groups["p_all"].tasks[-1] == "arc_easy"
    assert shown(pack.suite_scores["s"]) == {"name": "s", **score}
    assert shown(pack.suite_scores["f"]) == {"name": "f", **scores["f"]}


def test_all_mistakes_at_once_with_their_lines(folder):
    (folder / "p/pack.yaml").write_text("tasks:\n  a: 1\nbogus: 1\ngroups: {g: [x]}\n")
    with pytest.raises(BadInput) as caught:
        find_packs(folder)
    for line in ("pack.yaml:2 (tasks.a)", "pack.yaml:3 (bogus)", "pack.yaml:4 (groups.g)"):
        assert line in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("limit", {}, "the pack's name 'limit' is a key of the config"),
        (
            "q",
            {"config": {"seed": {"type": "int", "top_level": True}}},
            "'seed' is also one of the config",
        ),
        ("q", {"config": {"own": {"top_level": True}}}, "'own' is also one of the pack p"),
        (
            "q",
            {"tasks": {"q_x": {"template": "p_qa.yaml", "call": {"backend": "vlm"}}}},
            "the back end 'vlm' of q_x is unknown",
        ),
    ],
)
def test_packs_do_not_take_each_others_words(folder, name, change, said):
    write(folder, config={"own": {"top_level": True}})
    shutil.copytree(folder / "p", folder / name)
    (folder / name / "pack.yaml").write_text(yaml.safe_dump(change))
    path = folder / "c.yaml"
    path.write_text("model_name: a/b\ntasks: p_all\ntemplate_dir: .\n")
    with pytest.raises(BadInput) as caught:
        load_config(path)
    assert said in str(caught.value)


GROUPS = {"all": ["first", "c"], "first": ["a", "b"], "other": ["d"]}


@pytest.mark.parametrize(
    ("requested", "tasks", "groups", "request_"),
    [
        (["all"], ["a", "b", "c"], ["all", "first"], ["all"]),
        (["first", "all", "a"], ["a", "b", "c"], ["all", "first"], ["all"]),
        (["d", "first"], ["d", "a", "b"], ["first"], ["d", "first"]),
        (["a", "a"], ["a"], [], ["a"]),
    ],
)
def test_groups_of_groups(requested, tasks, groups, request_):
    context = Context(Pack("p", TEMPLATES), None, None, requested, None)
    plan = context.plan_of(requested, GROUPS)
    assert (list(plan.tasks), sorted(plan.groups), names_for(list(plan.tasks), plan)) == (
        tasks,
        groups,
        request_,
    )
    assert plan.below("all") == (["a", "b", "c"] if "all" in groups else ["all"])


def test_what_several_tasks_need_is_made_once_until_rows_are_dropped():
    context = Context(Pack("p", TEMPLATES), None, None, [], None)
    numbers = iter(range(3))
    assert [context.once("number", lambda: next(numbers)) for _ in range(2)] == [0, 0]
    assert [context.is_first("note") for _ in range(2)] == [True, False]
    context.drop_rows()
    assert context.once("number", lambda: next(numbers)) == 1
    assert context.is_first("note")


def test_a_folder_without_packs_is_no_template_dir(tmp_path):
    for folder, said in ((tmp_path, "holds no pack"), (tmp_path / "nowhere", "is not a folder")):
        with pytest.raises(BadInput, match=said):
            find_packs(folder)


def evalprep(*arguments):
    return processes.run(*arguments, cwd=TEMPLATES.parent)


def test_list_names_groups_aliases_and_tags(folder):
    write(folder, **task(aliases=["q"], description="Questions", tags={"area": "spelling"}))
    listed = evalprep("list", "--template_dir", str(folder)).stdout
    assert "p_all  group: p_qa" in listed
    assert "p_qa   Questions (also: q)" in listed
    assert (
        "[area: spelling]" in evalprep("list", "--template_dir", str(folder), "--by", "area").stdout
    )
    misspelt = evalprep("list", "--template_dir", str(folder), "--by", "aera")
    assert misspelt.returncode == 2
    assert "did you mean area?" in misspelt.stderr


@pytest.mark.parametrize("name", ["Capitals", "limit", "a-b", "model_args", ""])
def test_no_names_for_a_new_pack(tmp_path, name):
    done = evalprep("new-pack", name, "--template_dir", str(tmp_path))
    assert done.returncode == 2
    assert "is not a valid pack name" in done.stderr
    assert not any(tmp_path.iterdir())


def test_a_new_pack_prepares_by_the_command_that_is_printed(tmp_path):
    folder = tmp_path / "my packs"
    done = evalprep("new-pack", "capitals", "--template_dir", str(folder), "--json")
    command = json.loads(done.stdout)["next"]
    assert command[:2] == ["python", "prepare_eval.py"]
    (tmp_path / "c.yaml").write_text("model_name: a/b\nbackend: dummy\n")
    made = evalprep("prepare", "--config_path", str(tmp_path / "c.yaml"), *command[2:])
    assert made.returncode == 0, made.stderr
    assert "prepared 1 task in" in made.stderr
