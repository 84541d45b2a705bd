"""`repeats` in the config: what is written into task files, and what is refused."""

import json

import pytest
import yaml

from evalprep.cli import main

SAMPLING = {"do_sample": True, "temperature": 0.7}
NUMBERS = {
    "task": "numbers",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_text": "{{prompt}}",
    "doc_to_target": "{{target}}",
    "generation_kwargs": {"until": ["\n"], "do_sample": False, "temperature": 0.0},
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "metadata": {"version": 1.0},
}
CHOICE = {
    **{key: NUMBERS[key] for key in ("dataset_path", "dataset_kwargs", "test_split")},
    "task": "letters",
    "doc_to_text": "{{prompt}}",
    "doc_to_target": 0,
    "doc_to_choice": ["a", "b"],
    "output_type": "multiple_choice",
    "metadata": {"version": 1.0},
}


class Functions(yaml.SafeLoader):
    """Reads `!function x` as the text x."""


Functions.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


@pytest.fixture
def prepare(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt": f"{at}?", "target": "a"} for at in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def prepare(*tasks, code=0, **keys):
        config = {"model_name": "a/b", "backend": "dummy", "tasks": list(tasks), **keys}
        (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
        assert main(["prepare", "--check=off"]) == code
        return capsys.readouterr().err

    return prepare


def written(tmp_path, name):
    """The keys of a task file that repeat its prompts."""
    text = next((tmp_path / "work_dir").rglob(f"{name}.yaml")).read_text()
    keys = yaml.load(text, Loader=Functions)
    return {key: keys.get(key) for key in ("class", "repeats", "repeated")}


@pytest.mark.parametrize("repeats", [4, {"numbers": 4}])
def test_a_task_of_the_config(prepare, tmp_path, repeats):
    prepare(NUMBERS, repeats=repeats, gen_kwargs=SAMPLING)
    assert written(tmp_path, "numbers") == {
        "class": "custom_metrics.repeats.RepeatedTask",
        "repeats": 4,
        "repeated": {"metric": "exact_match", "k": [4]},
    }


def test_the_key_of_the_task_itself_and_several_k(prepare, tmp_path):
    task = {**NUMBERS, "repeats": 8, "generation_kwargs": SAMPLING}
    prepare(task, repeats=2, pass_at=[8, 1])
    assert written(tmp_path, "numbers")["repeats"] == 8
    assert written(tmp_path, "numbers")["repeated"] == {"metric": "exact_match", "k": [1, 8]}


def test_a_task_that_scores_several_replies_itself_stays_as_it_is(prepare, tmp_path):
    steps = [{"function": "take_first_k", "k": 5}, {"function": "majority_vote"}]
    own = {"repeats": 5, "filter_list": [{"name": "vote", "filter": steps}]}
    told = prepare({**NUMBERS, **own, "generation_kwargs": SAMPLING}, repeats=2)
    assert "keeps its own way of scoring several replies" in " ".join(told.split())
    assert written(tmp_path, "numbers") == {"class": None, "repeats": 5, "repeated": None}


def test_tasks_and_groups_of_lm_eval(prepare, tmp_path):
    prepare("gsm8k", "minerva_math", repeats=3, gen_kwargs=SAMPLING)
    (group,) = (tmp_path / "work_dir").rglob("evalprep_c1*.yaml")
    single, several = yaml.load(group.read_text(), Loader=Functions)["task"]
    assert (single["task"], single["repeats"]) == ("gsm8k", 3)
    assert (several["group"], several["repeats"]) == ("minerva_math", 3)
    assert single["class"] == several["class"] == "custom_metrics.repeats.RepeatedTask"


def test_one_reply_to_each_prompt_is_no_repetition(prepare, tmp_path):
    prepare(NUMBERS, repeats=1)
    assert written(tmp_path, "numbers") == {"class": None, "repeats": None, "repeated": None}


@pytest.mark.parametrize(
    ("tasks", "keys", "messages"),
    [
        ([NUMBERS], {"repeats": 4}, ["decoding is greedy", "gen_kwargs: {do_sample: true"]),
        (
            [NUMBERS],
            {"repeats": 4, "gen_kwargs": {**SAMPLING, "temperature": 0}},
            ["decoding is greedy"],
        ),
        ([NUMBERS], {"repeats": 4, "gen_kwargs": {**SAMPLING, "seed": 1}}, ["fix a seed"]),
        (
            [{**NUMBERS, "repeats": 4}],
            {},
            ["eval_config.yaml:", "(tasks)", "numbers", "decoding is greedy"],
        ),
        (
            [CHOICE, NUMBERS],
            {"repeats": 4, "gen_kwargs": SAMPLING},
            ["log-likelihood tasks: letters", "`repeats: {my_task: 8}`"],
        ),
        (["hellaswag"], {"repeats": {"hellaswag": 2}}, ["log-likelihood tasks: hellaswag"]),
        (
            [NUMBERS],
            {"repeats": 4, "pass_at": [1, 8], "gen_kwargs": SAMPLING},
            ["pass_at: 8 is more than the 4 draws of numbers"],
        ),
        ([NUMBERS], {"pass_at": 8}, ["repeats is not set", "`repeats: 8`"]),
        (
            [NUMBERS],
            {"repeats": {"numbrs": 4}},
            ["(repeats.numbrs)", "the config has no such task", "did you mean numbers"],
        ),
        ([NUMBERS], {"repeats": 0}, ["(repeats)"]),
        (
            [NUMBERS],
            {"repeats": 4, "gen_kwargs": SAMPLING, "backend": "vllm-server"},
            ["vllm-server gives the same reply to each draw of numbers", "vllm, hf"],
        ),
        (  # all at once
            [CHOICE, NUMBERS],
            {"repeats": 4, "pass_at": 9},
            ["3 mistakes", "log-likelihood", "greedy", "9 is more than"],
        ),
    ],
)
def test_refused(prepare, tmp_path, tasks, keys, messages):
    told = prepare(*tasks, code=2, **keys)
    for message in messages:
        assert message in told
    assert not (tmp_path / "work_dir").exists()
