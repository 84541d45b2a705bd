"""The meta pack against the fixtures in Meta's layout, and each template against lm-eval's own loader."""

import json

import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.errors import BadInput
from evalprep.packapi import Previous
from evalprep.packs.finding import find_packs
from evalprep.readers import TaskResults, TaskSettings
from evalprep.results import edits_of
from evalprep.results.published_rule import rule_of_template
from tests import PROJECT_ROOT, processes
from tests.loops import each

SETS = {
    "Llama-3.1-8B-Instruct-evals": "meta_instruct",
    "Llama-3.1-8B-evals": "meta_pretrain",
    "Llama-3.2-3B-Instruct-evals": "meta_instruct",
    "Llama-3.2-3B-evals": "meta_pretrain",
}
SUFFIX = {  # task -> config suffix, as published
    "meta_ifeval": "ifeval__strict",
    "meta_math_hard": "math_hard",
    "meta_gpqa_cot": "gpqa",
    "meta_mmlu_pro_instruct": "mmlu_pro",
    "meta_bbh": "bbh",
    "meta_mmlu_pro_pretrain": "mmlu_pro",
    "meta_mmlu_instruct": "mmlu",
    "meta_math": "math",
    "meta_gpqa": "gpqa",
    "meta_mmlu_pretrain": "mmlu",
}


@pytest.fixture(scope="session")
def fixtures(shared):
    folder = shared / "vectors" / "meta_evals"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    return folder


def config_for(fixtures, folder, name):
    path = folder / f"{name}.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "model_name": f"meta-llama/{name.removesuffix('-evals')}",
                "evals_dataset": str(fixtures / name),
                "tasks": SETS[name],
                "ground_truth": {
                    "ifeval": str(fixtures / "ground_truth/instruction-following-eval"),
                    "math": str(fixtures / "ground_truth/MATH"),
                },
                "work_dir": f"work-{name}",
                "output_path": "out",
            }
        )
    )
    return path


@pytest.fixture(scope="session")
def prepared(fixtures, tmp_path_factory):
    """Data set name -> (work folder, manifest), each prepared once through the command."""
    folder = tmp_path_factory.mktemp("meta")
    found = {}
    for name in SETS:
        path = config_for(fixtures, folder, name)
        done = processes.run(
            "--config_path", path, program="prepare_eval.py", env={"HF_HUB_OFFLINE": "1"}
        )
        assert done.returncode == 0, done.stderr
        work = folder / f"work-{name}"
        found[name] = work, json.loads((work / "manifest.json").read_text())
    return found


@pytest.fixture(scope="session")
def expected(fixtures):
    return json.loads((fixtures / "expected.json").read_text())


@pytest.mark.parametrize("name", SETS)
def test_counts_and_published_averages(prepared, expected, name):
    _, manifest = prepared[name]
    for task, facts in each(manifest["tasks"].items()):
        want = expected["configs"][f"{name}__{SUFFIX[task]}__details"]
        previous = facts["previous"]
        assert previous["n"] == want["rows"]
        assert previous["micro"] == pytest.approx(want["previous_micro"], abs=1e-12)
        assert previous["macro"] == pytest.approx(want["previous_macro"], abs=1e-12)
        assert previous["subtasks"] == want["subtasks"]
        left_out = facts["join"]["unmatched"] if facts["join"] else 0
        assert facts["rows"] == want["rows"] - left_out


@pytest.mark.parametrize(
    ("kind", "name", "task"),
    [
        ("ifeval", "Llama-3.1-8B-Instruct-evals", "meta_ifeval"),
        ("math_hard", "Llama-3.1-8B-Instruct-evals", "meta_math_hard"),
        ("math", "Llama-3.2-3B-Instruct-evals", "meta_math"),
    ],
)
def test_join_counts(prepared, expected, kind, name, task):
    join, want = prepared[name][1]["tasks"][task]["join"], expected["joins"][kind]
    assert join["rows"] == want["evals_rows"]
    assert join["exact"] == want["matched_exact"]
    assert join["normalised"] == want.get("matched_after_whitespace_normalisation", 0)
    assert join["unmatched"] == want["unmatched"]
    for found, start in zip(
        join["unmatched_examples"], want["unmatched_questions_start"], strict=True
    ):
        assert found.startswith(start)


def test_ifeval_rows_equal_source_and_ground_truth(prepared, fixtures):
    work, _ = prepared["Llama-3.1-8B-Instruct-evals"]
    source = pq.read_table(
        next((fixtures / "Llama-3.1-8B-Instruct-evals").rglob("*ifeval*"))
    ).to_pylist()
    truth = {
        row["key"]: row
        for row in map(
            json.loads,
            (fixtures / "ground_truth/instruction-following-eval/input_data.jsonl").open(),
        )
    }
    rows = pq.read_table(work / "meta/data/meta_ifeval.parquet").to_pylist()
    by_prompt = {}
    for row in source:
        by_prompt.setdefault((row["input_final_prompts"][0], row["is_correct"]), row)
    for row in rows:
        assert (row["prompt"], row["previously_is_correct"]) in by_prompt
        gold = truth[row["key"]]
        assert row["instruction_id_list"] == gold["instruction_id_list"]
        mended = [
            {k: v for k, v in (entry or {}).items() if v is not None} for entry in row["kwargs"]
        ]
        assert mended == [
            {k: v for k, v in entry.items() if v is not None} for entry in gold["kwargs"]
        ]
        question = json.loads(row["input_question"])["dialog"][0]["body"]
        assert " ".join(question.split()) == " ".join(gold["prompt"].split())
    assert len({row["sample_id"] for row in rows}) == len(rows)


def test_math_rows_keep_what_reports_need(prepared):
    rows = pq.read_table(
        prepared["Llama-3.1-8B-Instruct-evals"][0] / "meta/data/meta_math_hard.parquet"
    ).to_pylist()
    for row in each(rows):
        assert row["target"]
        assert row["target"] in row["solution"]
        assert {
            "level",
            "type",
            "subtask_name",
            "input_question_hash",
            "previous_output_prediction_text",
        } <= set(row)


def test_mmlu_prompt_ends_before_the_letter(prepared):
    for row in each(
        pq.read_table(
            prepared["Llama-3.2-3B-evals"][0] / "meta/data/meta_mmlu_pretrain.parquet"
        ).to_pylist()
    ):
        assert row["prompt"].endswith("Answer:")
        assert row["choices"] == ["A", "B", "C", "D"]
        assert row["input_correct_responses"] == [f"Answer: {row['choices'][row['target']]}"]


def test_ifeval_hazards_parse_exactly_or_name_their_row(fixtures):
    module = find_packs(PROJECT_ROOT / "task_templates")["meta"].module("truth")
    for case in each(map(json.loads, (fixtures / "ifeval_hazards.jsonl").open())):
        row = {"input_question": case["input_question"], "input_question_hash": "abc123"}
        if case["expected_error"]:
            with pytest.raises(BadInput, match="row abc123"):
                module.question_of(row)
        else:
            assert module.question_of(row) == case["expected_question"]


ROW = {
    "input_question": "q",
    "input_final_prompts": ["p"],
    "input_correct_responses": ["A"],
    "is_correct": True,
    "input_question_hash": "abc123",
}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("input_question", None),
        ("input_question", 5),
        ("input_final_prompts", "a text would be read as its letters"),
        ("input_final_prompts", []),
        ("input_final_prompts", [None]),
        ("input_correct_responses", "A"),
        ("is_correct", "yes"),
        ("is_correct", 1),
        ("subtask_name", 5),
        ("input_final_prompts_hash", [None]),
        ("output_prediction_text", 5),
    ],
)
def test_a_column_of_another_type_names_its_row(column, value):
    pack = find_packs(PROJECT_ROOT / "task_templates")["meta"]
    module = pack.module("rows")
    with pytest.raises(BadInput) as caught:
        list(module.published(iter([ROW, {**ROW, column: value}]), Previous()))
    assert "row abc123" in str(caught.value)
    assert column in str(caught.value)


@pytest.mark.parametrize(
    ("ids", "kwargs"),
    [
        (None, [{}]),
        ("a", [{}]),
        (["a"], None),
        (["a"], []),
        (["a"], "[{}]"),
        (["a"], [5]),
        ([], []),
        ([5], [{}]),
    ],
)
def test_ground_truth_has_one_mapping_per_instruction(ids, kwargs):
    module = find_packs(PROJECT_ROOT / "task_templates")["meta"].module("truth")
    assert module.flaw_of_instructions(
        {"key": 1, "prompt": "Write", "instruction_id_list": ids, "kwargs": kwargs}
    )
    assert not module.flaw_of_instructions(
        {"key": "1.0", "instruction_id_list": ["a"], "kwargs": [None]}
    )


def test_nulls_among_arguments_are_dropped_and_zeros_kept():
    module = find_packs(PROJECT_ROOT / "task_templates")["meta"].module("truth")
    entry = {"instruction_id_list": ["a", "b"], "kwargs": [{"n": 0, "x": None, "y": False}, None]}
    assert module.instructions_of(entry) == (["a", "b"], [{"n": 0, "y": False}, {}])


GOLD_REPLY = {
    "meta_ifeval": None,  # an instruction list has no reply to build; its checks have their own tests
    "meta_math": lambda row: (
        rf"Therefore, the final answer is: $\boxed{{{row['target']}}}$. I hope it is correct."
    ),
    "meta_math_hard": lambda row: (
        rf"Therefore, the final answer is: $\boxed{{{row['target']}}}$. I hope it is correct."
    ),
    "meta_gpqa": lambda row: f" {row['target']}.",
    "meta_mmlu_instruct": lambda row: f" {row['target']}.",
    "meta_gpqa_cot": lambda row: f"Some thought. The best answer is {row['target']}.",
    "meta_mmlu_pro_instruct": lambda row: f"Some thought. The best answer is {row['target']}.",
    "meta_mmlu_pro_pretrain": lambda row: f" Some thought. The answer is ({row['target']}).",
    "meta_bbh": lambda row: f" Some thought. So the answer is {row['target']}.",
}


@pytest.fixture(scope="session")
def loaded(prepared):
    """Every prepared task as lm-eval's own task object."""
    from lm_eval.tasks import TaskManager

    tasks = {}
    for work, manifest in prepared.values():
        manager = TaskManager(include_path=str(work), include_defaults=False)
        tasks.update(manager.load([*manifest["tasks"]])["tasks"])
    return tasks


def score(task, row, reply):
    """Filter and score one reply the way lm-eval does: filter name -> metrics."""
    from lm_eval.api.instance import Instance

    found = {}
    for ensemble in task._filters:
        instance = Instance(request_type="generate_until", doc=row, arguments=("", {}), idx=0)
        instance.resps = [reply]
        ensemble.apply([instance])
        found[ensemble.name] = task.process_results(row, [instance.filtered_resps[ensemble.name]])
    return found


def logged(task):
    """The settings of a loaded task as a results file has them."""
    return TaskSettings(as_logged=json.loads(json.dumps(task.dump_config(), default=str)))


def test_the_settings_of_each_task_are_kept_as_lm_eval_logs_them(prepared, loaded):
    edits = {}
    for _, manifest in prepared.values():
        for name, entry in manifest["tasks"].items():
            results = TaskResults(name=name, settings=logged(loaded[name]))
            edits[name] = [edit.sentence() for edit in edits_of(entry["settings"], results)]
            assert entry["row_digest"]["rows"] == entry["rows"]
    assert edits == {name: [] for name in SUFFIX}


@pytest.mark.parametrize("name", SUFFIX)
def test_the_published_rule_is_a_filter_of_the_template_and_known_without_it(loaded, name):
    rule = rule_of_template(find_packs(PROJECT_ROOT / "task_templates")["meta"], name)
    settings = logged(loaded[name])
    assert rule.is_logged_in(settings)
    assert rule.edited_in(settings) == ()
    assert "${" not in json.dumps(rule.steps)
    renamed = [{**entry, "name": "x"} for entry in settings.as_logged.get("filter_list") or []]
    without = TaskSettings(as_logged={**settings.as_logged, "filter_list": renamed})
    assert rule.is_logged_in(without) is (not renamed)


@pytest.mark.parametrize("name", [name for name, build in GOLD_REPLY.items() if build])
def test_gold_is_right_and_nothing_is_wrong(loaded, name):
    task = loaded[name]
    wrong = []
    for row in task.eval_docs:
        values = score(task, row, GOLD_REPLY[name](row))
        if values["flexible-extract"]["exact_match"] != 1.0:
            wrong.append((row["sample_id"], row["target"], values))
        for reply in ("", "I cannot say."):
            values = score(task, row, reply)
            assert all(metrics["exact_match"] == 0.0 for metrics in values.values()), (
                row["target"],
                reply,
            )
            assert reply or all(metrics["unparsed"] == 1.0 for metrics in values.values())
    assert not wrong


def test_every_template_declares_the_keys_it_reports(loaded):
    for name, task in each(loaded.items()):
        declared = {entry["metric"] for entry in task.config.metric_list}
        row = next(iter(task.eval_docs))
        if task.config.output_type == "multiple_choice":
            reported = set(task.process_results(row, [(-1.0, False)] * 4))
        else:
            reported = set().union(*(values for values in score(task, row, "x").values()))
        assert reported == declared, name


def test_generation_settings_of_every_template(loaded):
    for name, task in each(loaded.items()):
        if task.config.output_type == "generate_until":
            settings = task.config.generation_kwargs
            assert settings["do_sample"] is False, name
            assert settings["temperature"] == 0.0, name
            assert "until" in settings, name
        assert task.config.process_docs is None, name
        assert task.config.num_fewshot == 0, name


def test_strict_filters_are_the_published_ones(loaded):
    row = next(iter(loaded["meta_gpqa_cot"].eval_docs))
    values = score(loaded["meta_gpqa_cot"], {**row, "target": "B"}, "The best answer is **B**")
    assert values["strict-match"]["unparsed"] == 1.0
    assert values["flexible-extract"]["exact_match"] == 1.0
    values = score(
        loaded["meta_gpqa_cot"],
        {**row, "target": "B"},
        "best answer is A. No: the best answer is B.",
    )
    assert values["strict-match"]["exact_match"] == values["flexible-extract"]["exact_match"] == 1.0
    direct = loaded["meta_gpqa"]
    row = next(iter(direct.eval_docs))
    values = score(direct, {**row, "target": "B"}, " B. This follows since Water boils")
    assert values["flexible-extract"]["exact_match"] == 1.0
    assert values["strict-match"]["exact_match"] == 0.0


def test_published_scores_name_scores_that_exist():
    pack = find_packs(PROJECT_ROOT / "task_templates")["meta"]
    for entry in [*pack.published["scores"], *pack.published["sanity"]]:
        assert entry["score"] in pack.suite_scores
        assert 0 < entry["value"] <= 100


def test_default_ground_truth_is_named_when_it_cannot_be_had(fixtures, tmp_path):
    path = config_for(fixtures, tmp_path, "Llama-3.1-8B-Instruct-evals")
    data = yaml.safe_load(path.read_text())
    del data["ground_truth"]
    path.write_text(yaml.safe_dump(data))
    empty = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "empty")}
    done = processes.run("--config_path", path, program="prepare_eval.py", env=empty)
    assert done.returncode == 0, done.stderr  # the other tasks of the group are prepared
    assert "wis-k/instruction-following-eval" in done.stderr
    assert "DigitalLearningGmbH/MATH-lighteval" in done.stderr
    assert "path of a local copy" in " ".join(done.stderr.split())
