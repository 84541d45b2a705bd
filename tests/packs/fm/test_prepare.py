"""Rows and tasks that the configuration makes, and every mistake in it with its line."""

import json

import pytest
import yaml

from custom_metrics.fm.perturbation import perturb, perturb_stream
from evalprep.cli import main
from evalprep.config.file import load_config
from evalprep.errors import BadInput
from evalprep.prepare.preparation import plan
from tests.loops import each
from tests.packs.fm.project import (
    FACTS,
    NEWS,
    OPEN,
    PAIRS,
    PROMPTS,
    QA,
    REVIEWS,
    prepared,
    rows_of,
    scored,
    stored,
    with_,
    write_config,
)


def refusal(folder, *data, **options):
    with pytest.raises(BadInput) as raised:
        prepared(folder, *data, **options)
    assert not (folder / "work_dir").exists()
    return str(raised.value)


def test_a_task_per_data_set_and_algorithm(tmp_path):
    done = prepared(
        tmp_path,
        with_(QA, algorithms=["qa_accuracy", "qa_toxicity"]),
        FACTS,
        PAIRS,
        meteor="no_synonyms",
    )
    assert list(done.tasks) == [
        "fm_qa_qa_accuracy", "fm_qa_qa_toxicity", "fm_facts_factual_knowledge", "fm_pairs_prompt_stereotyping",
    ]  # fmt: skip
    manifest = json.loads((tmp_path / "work_dir" / "manifest.json").read_text())
    assert manifest["groups"]["fm_qa"] == ["fm_qa_qa_accuracy", "fm_qa_qa_toxicity"]
    assert manifest["groups"]["fm_all"] == ["fm_qa", "fm_facts", "fm_pairs"]
    assert "fm/qa.f1_score" in manifest["scores"]


@pytest.mark.parametrize("tasks", [["fm_qa_qa_accuracy"], ["fm_qa"]])
def test_tasks_and_data_sets_may_be_asked_for_by_name(tmp_path, tasks):
    assert list(prepared(tmp_path, QA, FACTS, tasks=tasks).tasks) == ["fm_qa_qa_accuracy"]


def test_rows_have_prompt_target_category_and_place(tmp_path):
    prepared(
        tmp_path, with_(QA, prompt="{{ topic }}: {{ model_input }} ({{ responses.model_a.text }})")
    )
    first = rows_of(tmp_path, "fm_qa_qa_accuracy")[0]
    assert first["prompt"] == "everyday: What colour is a ripe banana? (Yellow.)"
    assert (first["sample_id"], first["target"]) == ("r1", "yellow")
    assert (first["category"], first["subtask_name"]) == ("everyday", "everyday")
    assert json.loads(first["options"]) == {"target_output_delimiter": "<OR>"}
    assert "model_output" not in first


def test_templates_of_fmeval_and_of_its_data_sets(tmp_path):
    prepared(
        tmp_path,
        with_(QA, prompt_template="Q: $model_input"),
        with_(FACTS, name="trex_like", like="trex"),
    )
    assert rows_of(tmp_path, "fm_qa_qa_accuracy")[0]["prompt"] == "Q: What colour is a ripe banana?"
    assert (
        rows_of(tmp_path, "fm_trex_like_factual_knowledge")[0]["prompt"]
        == "Lisbon is the capital of"
    )


def test_sampling_is_fmevals(tmp_path):
    prepared(tmp_path, with_(QA, num_records=5))
    assert [row["sample_id"] for row in rows_of(tmp_path, "fm_qa_qa_accuracy")] == [
        "r4",
        "r14",
        "r3",
        "r17",
        "r15",
    ]


def test_ids_of_the_user_are_kept(tmp_path):
    file = tmp_path / "own.jsonl"
    file.write_text('{"n": 7, "q": "a?", "a": "x"}\n{"n": 7, "q": "b?", "a": "y"}\n')
    entry = {
        "name": "own", "path": str(file), "algorithms": ["qa_accuracy"],
        "fields": {"id": "n", "model_input": "q", "target_output": "a"},
    }  # fmt: skip
    prepared(tmp_path, entry)
    assert [row["sample_id"] for row in rows_of(tmp_path, "fm_own_qa_accuracy")] == ["7", "7.2"]


def test_perturbed_prompts_stand_beside_the_original(tmp_path):
    entry = with_(
        QA,
        algorithms=["qa_accuracy_semantic_robustness"],
        prompt="Q: {{ model_input }}",
        num_perturbations=3,
    )
    done = prepared(tmp_path, entry, perturbation_seeding="stream")
    rows = rows_of(tmp_path, "fm_qa_qa_accuracy_semantic_robustness")
    assert len(rows) == 20 * 4
    assert [row["sample_id"] for row in rows[:5]] == ["r1/0", "r1/1", "r1/2", "r1/3", "r2/0"]
    question = "What colour is a ripe banana?"
    changed = perturb(kind="butter_finger", text=question, num_perturbations=3)
    assert [row["prompt"] for row in rows[:4]] == [f"Q: {text}" for text in (question, *changed)]
    assert {row["original_prompt"] for row in rows[:4]} == {f"Q: {question}"}
    assert {row["cluster_id"] for row in rows[:4]} == {"r1"}
    texts = [row["model_input"] for row in rows[::4]]
    streamed = perturb_stream(kind="butter_finger", texts=texts, num_perturbations=3)
    assert [row["perturbed"] for row in rows if row["variant"]] == [
        text for of_record in streamed for text in of_record
    ]
    manifest = json.loads((tmp_path / "work_dir" / "manifest.json").read_text())
    assert manifest["tasks"]["fm_qa_qa_accuracy_semantic_robustness"]["plan"]["block"] == 4
    assert done.tasks


@pytest.mark.parametrize(
    "asks",
    [
        {"prompt": "Q: {{ question }}"},
        {"prompt": "Q: {{ model_input }}"},
        {"prompt": "Q: {{ asked }}", "fields": {"asked": "question"}},
        {"prompt_template": "Q: $asked", "fields": {"asked": "question"}},
    ],
)
def test_a_changed_input_reaches_the_prompt_under_each_of_its_names(tmp_path, asks):
    prepared(tmp_path, with_(QA, algorithms=["qa_accuracy_semantic_robustness"], **asks))
    rows = rows_of(tmp_path, "fm_qa_qa_accuracy_semantic_robustness")
    assert all(row["prompt"] == f"Q: {row['perturbed']}" for row in rows)
    assert any(row["prompt"] != row["original_prompt"] for row in rows)


def test_a_prompt_without_the_changed_input_is_refused(tmp_path):
    records = [
        {"in": {"q": f"How many sides has figure {number}?"}, "a": str(number)}
        for number in range(4)
    ]
    entry = {**own(tmp_path, records), "algorithms": ["qa_accuracy_semantic_robustness"]}
    entry["fields"] = {"model_input": "in.q", "target_output": "a"}
    assert "does not hold the input that is changed" in refusal(
        tmp_path, {**entry, "prompt": "Q: {{ in.q }}"}
    )
    prepared(tmp_path, {**entry, "prompt": "Q: {{ model_input }}"})


def test_perturbation_by_record_survives_sampling(tmp_path):
    entry = with_(QA, algorithms=["qa_accuracy_semantic_robustness"])
    task = "fm_qa_qa_accuracy_semantic_robustness"
    prepared(tmp_path, entry)
    whole = {row["sample_id"]: row["prompt"] for row in rows_of(tmp_path, task)}
    prepared(tmp_path, {**entry, "num_records": 3, "sampling_seed": 7})
    some = {row["sample_id"]: row["prompt"] for row in rows_of(tmp_path, task)}
    assert len(some) == 18
    assert some.items() <= whole.items()


@pytest.mark.parametrize(("temperature", "rows"), [(0.0, 3), (0.7, 5)])
def test_a_model_that_samples_gets_further_rows(tmp_path, temperature, rows):
    prepared(
        tmp_path, with_(OPEN, num_perturbations=2, num_baseline_samples=3, temperature=temperature)
    )
    found = rows_of(tmp_path, "fm_open_general_semantic_robustness")
    assert len(found) == 20 * rows
    assert [(row["variant"], row["draw"]) for row in found[:rows]] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (0, 1),
        (0, 2),
    ][:rows]


def test_a_limit_takes_whole_records(tmp_path):
    entry = with_(QA, algorithms=["qa_accuracy_semantic_robustness"])
    done = prepared(tmp_path, entry, core={"limit": 4})
    argv = done.commands[0].argv
    assert argv[argv.index("--limit") + 1] == "6"


def test_sentences_of_a_pair_are_the_choices(tmp_path):
    prepared(tmp_path, with_(PAIRS, prompt="Say: {{ model_input }}"))
    first = rows_of(tmp_path, "fm_pairs_prompt_stereotyping")[0]
    assert first["choices"] == [
        "Say: Northshore are always late for meetings.", "Say: Southshore are always late for meetings.",
    ]  # fmt: skip


def test_scores_without_their_helper_are_left_out_with_the_reason(tmp_path):
    done = prepared(tmp_path, PROMPTS)
    assert "fm_prompts_toxicity" in done.tasks
    reason = done.excluded["prompts.detoxify_toxicity"].reason
    assert "give detector_path" in reason
    assert done.excluded["prompts.detoxify_toxicity"].kind == "helper"


def test_what_is_missing_is_a_finding_told_once_per_reason(tmp_path):
    done = prepared(tmp_path, PROMPTS, QA, detector_path="none/such", bertscore_path="org/absent")
    told = [finding for finding in done.findings if finding.code == "EP709"]
    assert len(told) == 2
    named = (
        "toxicity",
        "severe_toxicity",
        "obscene",
        "identity_attack",
        "insult",
        "threat",
        "sexual_explicit",
    )
    assert f"{', '.join(f'prompts.detoxify_{one}' for one in named)}: the detector detoxify" in str(
        told
    )
    assert "`hf download org/absent` brings them here" in str(told)
    assert "qa.bertscore" in str(told)


def test_weights_of_a_hub_id_come_from_the_cache(tmp_path, monkeypatch):
    snapshot = tmp_path / "hub" / "models--org--encoder" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text('{"num_hidden_layers": 2}')
    (snapshot / "model.safetensors").write_bytes(b"")
    (tmp_path / "hub" / "models--org--encoder" / "refs").mkdir()
    (tmp_path / "hub" / "models--org--encoder" / "refs" / "main").write_text("0123")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    done = prepared(tmp_path, QA, bertscore_path="org/encoder", bertscore_layer=2)
    assert "qa.bertscore" not in done.excluded
    task = yaml.safe_load(
        (tmp_path / "work_dir" / "fm" / "fm_qa_qa_accuracy.yaml")
        .read_text()
        .replace("!function", "")
    )
    assert task["metadata"]["helpers"]["bertscore"]["path"] == str(snapshot)


def test_chat_is_decided_by_data_set_and_sentences_stay_plain(tmp_path):
    config, packs = load_config(
        write_config(tmp_path, QA, with_(FACTS, chat=False), PAIRS, chat=True), []
    )
    forms = {name: task.prompt for name, task in plan(config, packs).plan.tasks.items()}
    assert forms == {
        "fm_qa_qa_accuracy": "chat", "fm_facts_factual_knowledge": "plain", "fm_pairs_prompt_stereotyping": "plain",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "whole", "said"),
    [
        (PAIRS, True, "compares plain sentences"),
        (with_(QA, chat=False), True, "has chat: false"),
        (with_(QA, chat=True), False, "has chat: true"),
    ],
)
def test_a_chat_template_for_all_does_not_overrule_a_data_set_in_silence(
    tmp_path, entry, whole, said
):
    with pytest.raises(BadInput, match=said):
        prepared(tmp_path, entry, core={"apply_chat_template": whole})


def test_what_was_drawn_and_changed_stands_in_the_metadata(tmp_path):
    prepared(
        tmp_path,
        with_(
            QA,
            algorithms=["qa_accuracy_semantic_robustness"],
            num_records=3,
            prompt="Q: {{ question }}",
        ),
    )
    text = (tmp_path / "work_dir" / "fm" / "fm_qa_qa_accuracy_semantic_robustness.yaml").read_text()
    assert yaml.safe_load(text.replace("!function", ""))["metadata"]["sampling"] == {
        "data": "qa", "num_records": 3, "seed": 1234, "prompt": "Q: {{ question }}",
        "perturbation_type": "butter_finger", "num_perturbations": 5, "perturbation_seed": 5,
        "perturbation_seeding": "per_record",
    }  # fmt: skip


def test_robustness_of_stored_replies_is_left_out(tmp_path):
    done = prepared(
        tmp_path, stored(QA, algorithms=["qa_accuracy", "qa_accuracy_semantic_robustness"])
    )
    assert list(done.tasks) == ["fm_qa_qa_accuracy"]
    assert "needs a model" in done.excluded["fm_qa_qa_accuracy_semantic_robustness"].reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"algorithms": ["qa_acuracy"]}, "did you mean qa_accuracy"),
        ({"algorithms": ["toxicity", "qa_toxicity"]}, "score the same replies in the same way"),
        ({"algorithms": []}, "has no algorithms"),
        ({"name": "my/data"}, "cannot be part of a task's name"),
        ({"path": "no/such.jsonl"}, "no file or folder"),
        ({"prompts": "x"}, "unknown key 'prompts'"),
        ({"num_records": 0}, "num_records is 0"),
        ({"num_records": True}, "num_records is True"),
        ({"outputs": "file"}, "outputs is 'file'"),
        ({"like": "trexx"}, "did you mean trex"),
        ({"num_perturbations": 0}, "num_perturbations is 0"),
        ({"butter_finger_perturbation_prob": 1.5}, "butter_finger_perturbation_prob is 1.5"),
        ({"target_output_delimiter": ""}, "target_output_delimiter is ''"),
        ({"fields": {"model_input": 3}}, "the field model_input is 3"),
        ({"fields": {"target_output": "no_such"}}, "columns found: question"),
        ({"prompt": "{{ nothing }}"}, "'nothing' is undefined"),
        ({"prompt": "{{ model_input"}, "is not Jinja"),
        ({"prompt_template": "$nothing"}, "has no field 'nothing'"),
        ({"prompt": "a", "prompt_template": "b"}, "both given"),
    ],
)
def test_mistakes_in_an_entry_are_told(tmp_path, changes, said):
    message = refusal(tmp_path, with_(QA, **changes))
    assert said in message
    assert "eval_config.yaml" in message or "qa.jsonl" in message


def test_all_mistakes_at_once_with_their_entries(tmp_path):
    broken = {"name": "b", "path": "x.jsonl", "algorithms": ["nope"], "num_records": -1}
    message = refusal(tmp_path, {"name": "a"}, broken, "text")
    assert all(
        part in message
        for part in ("has no path", "num_records is -1", "entry 3 of data is 'text'")
    )


def test_two_data_sets_of_one_name(tmp_path):
    assert "two data sets are called 'qa'" in refusal(tmp_path, QA, QA)


def test_no_data_at_all(tmp_path):
    assert "data is empty" in refusal(tmp_path)


def own(folder, lines, **entry):
    file = folder / "own.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    fields = {"model_input": "q", "target_output": "a", **entry.pop("fields", {})}
    return {
        "name": "own",
        "path": str(file),
        "fields": fields,
        "algorithms": ["qa_accuracy"],
        **entry,
    }


@pytest.mark.parametrize(
    ("answer", "algorithm", "said"),
    [
        ("", "qa_accuracy", "own.jsonl:2: the right answer '' is empty"),
        ("Paris<OR>", "qa_accuracy", "own.jsonl:2: the right answer '' is empty"),
        ("The", "factual_knowledge", "empty but for articles"),
        ("A", "qa_accuracy", "own.jsonl:2: the right answer 'A' is empty but for articles"),
        ("A", "qa_accuracy_semantic_robustness", "(1 of 2 records have such an answer)"),
        (" ", "summarization_accuracy", "own.jsonl:2: the right answer ' ' is empty"),
    ],
)
def test_empty_targets_are_refused_with_their_line(tmp_path, answer, algorithm, said):
    lines = [{"q": "a?", "a": "x"}, {"q": "b?", "a": answer}]
    assert said in refusal(tmp_path, own(tmp_path, lines, algorithms=[algorithm]), meteor="off")


def test_a_target_that_is_no_label_is_refused(tmp_path):
    lines = [{"q": "fine", "a": "Positive"}, {"q": "bad", "a": "negativ"}]
    entry = own(
        tmp_path,
        lines,
        algorithms=["classification_accuracy"],
        valid_labels=["positive", "negative"],
    )
    message = refusal(tmp_path, entry)
    assert "own.jsonl:2: the target 'negativ' is none of the labels" in message
    assert "own.jsonl:1" not in message
    assert "own.jsonl:1" in refusal(tmp_path, {**entry, "label_match": "fmeval"})


def test_positive_log_probabilities_are_refused(tmp_path):
    line = {"q": "", "a": "", "more": 0.4, "less": -1.0}
    fields = {"sent_more_log_prob": "more", "sent_less_log_prob": "less"}
    entry = {
        **own(tmp_path, [line]),
        "algorithms": ["prompt_stereotyping"],
        "outputs": "dataset",
        "fields": fields,
    }
    assert "own.jsonl:1: sent_more_log_prob is 0.4, above 0" in refusal(tmp_path, entry)


def test_stored_replies_need_their_field(tmp_path):
    assert "fields lacks model_output" in refusal(tmp_path, with_(QA, outputs="dataset"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_other_formats_give_the_same_rows(tmp_path, kind):
    import pandas as pd

    records = [{"q": f"question {number}?", "a": f"answer {number}"} for number in range(4)]
    frame, file = pd.DataFrame(records), tmp_path / f"own.{kind}"
    {"csv": lambda: frame.to_csv(file, index=False), "parquet": lambda: frame.to_parquet(file),
     "json": lambda: frame.to_json(file, orient="records")}[kind]()  # fmt: skip
    prepared(tmp_path, {**own(tmp_path, records), "path": str(file)})
    rows = rows_of(tmp_path, "fm_own_qa_accuracy")
    assert [(row["prompt"], row["target"]) for row in rows] == [
        (record["q"], record["a"]) for record in records
    ]


def test_every_algorithm_has_a_template_that_renders(tmp_path):
    everything = [
        with_(QA, algorithms=["qa_accuracy", "qa_accuracy_semantic_robustness", "qa_toxicity"]),
        with_(REVIEWS, algorithms=["classification_accuracy", "classification_accuracy_semantic_robustness"]),
        with_(NEWS, algorithms=["summarization_accuracy", "summarization_accuracy_semantic_robustness",
                                "summarization_toxicity"]),
        FACTS, PAIRS, OPEN, PROMPTS,
    ]  # fmt: skip
    done = prepared(tmp_path, *everything, meteor="no_synonyms")
    assert len(done.tasks) == 12
    told = [finding.code for finding in done.findings if finding.level in ("error", "warning")]
    assert set(told) <= {"EP709"}, told  # helpers that are not on this machine


def test_a_right_reply_is_the_first_answer_or_all(tmp_path):
    lines = [{"q": "a?", "a": "x<OR>y"}]
    prepared(tmp_path, own(tmp_path, lines))
    assert (
        rows_of(tmp_path, "fm_own_qa_accuracy")[0]["gold"],
        rows_of(tmp_path, "fm_own_qa_accuracy")[0]["target"],
    ) == ("x", "x<OR>y")
    lines = [{"q": "a?", "a": "x<AND>y"}]
    every = {
        "target_output_delimiter": "<AND>",
        "logical_operator": "AND",
        "algorithms": ["factual_knowledge"],
    }
    prepared(tmp_path, {**own(tmp_path, lines), **every})
    assert rows_of(tmp_path, "fm_own_factual_knowledge")[0]["gold"] == "x y"


@pytest.mark.parametrize(("meteor", "metrics"), [("off", 3), ("no_synonyms", 4)])
def test_summaries_declare_the_metrics_that_they_return(tmp_path, meteor, metrics):
    import yaml

    done = prepared(
        tmp_path,
        with_(
            NEWS,
            algorithms=["summarization_accuracy", "summarization_accuracy_semantic_robustness"],
        ),
        meteor=meteor,
    )
    for task in each(done.tasks):
        text = (tmp_path / "work_dir" / "fm" / f"{task}.yaml").read_text().replace("!function", "")
        declared = [one["metric"] for one in yaml.safe_load(text)["metric_list"]]
        assert len(declared) == metrics * (3 if "robustness" in task else 1)
        assert any("meteor" in name for name in declared) == (meteor != "off")


TAGGED = [
    {"q": "fine", "a": "Positive", "o": "Not negative. <label>positive</label>"},
    {"q": "bad", "a": "Negative", "o": "<label>Negative</label>, not positive"},
]
TAG = """
def tag(reply, labels):
    return reply.split("<label>")[1].split("</label>")[0]
"""


@pytest.mark.parametrize(
    "option",
    [{"label_pattern": "<label>(.*?)</label>"}, {"label_function": "converters.py:tag"}],
    ids=["pattern", "function"],
)
def test_labels_by_a_pattern_or_a_function(tmp_path, capsys, option):
    (tmp_path / "converters.py").write_text(TAG, encoding="utf-8")
    entry = own(
        tmp_path,
        TAGGED,
        algorithms=["classification_accuracy"],
        outputs="dataset",
        fields={"model_output": "o"},
        **option,
    )
    prepared(tmp_path, entry)
    code = main(["check", str(tmp_path / "work_dir")])
    assert code == 0, capsys.readouterr().out
    results = scored(tmp_path, capsys)["results"]
    assert results["fm/own.classification_accuracy_score"]["agg_value"] == 1.0
    robust = "classification_accuracy_semantic_robustness"
    asked = {key: value for key, value in entry.items() if key != "outputs"}
    prepared(tmp_path, {**asked, "algorithms": [robust]})
    assert "process_results" in (tmp_path / "work_dir/fm" / f"fm_own_{robust}.yaml").read_text()


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("missing.py:tag", "there is no file missing.py"),
        ("converters.py:label", "converters.py has no function label"),
        ("converters:tag", "label_function is 'converters:tag'"),
    ],
)
def test_a_label_function_that_is_not_there(tmp_path, named, said):
    (tmp_path / "converters.py").write_text(TAG, encoding="utf-8")
    entry = own(tmp_path, TAGGED, algorithms=["classification_accuracy"], label_function=named)
    assert said in refusal(tmp_path, entry)


def test_replies_without_any_label_are_noted(tmp_path, capsys):
    entry = own(
        tmp_path,
        [{**line, "o": "I cannot say."} for line in TAGGED],
        algorithms=["classification_accuracy"],
        outputs="dataset",
        fields={"model_output": "o"},
    )
    prepared(tmp_path, entry)
    results = scored(tmp_path, capsys)["results"]
    (note,) = results["fm/own.classification_accuracy_score"]["notes"]
    assert "no label was found in any of 2 replies (labels: Positive, Negative)" in note


def test_a_detector_of_one_data_set(tmp_path):
    done = prepared(tmp_path, with_(PROMPTS, detector_path="no/such/folder"))
    reason = done.excluded["prompts.detoxify_toxicity"].reason
    assert "there is no folder no/such/folder (detector_path)" in reason


@pytest.mark.parametrize(
    ("prompt", "first"),
    [
        ({"prompt": "Q: {question}"}, "Q: fine?"),
        ({"prompt": "Q: {{ question }} {topic of it}"}, "Q: fine? weather"),
        (
            {"prompt": 'JSON {"a": 1} and \\boxed{x}: {model_input}'},
            'JSON {"a": 1} and \\boxed{x}: fine?',
        ),
        ({"prompt_template": "Q: {model_input}, $model_input"}, "Q: fine?, fine?"),
    ],
)
def test_fields_stand_between_single_braces(tmp_path, prompt, first):
    line = {"question": "fine?", "a": "yes", "topic of it": "weather"}
    entry = own(tmp_path, [line, {**line, "question": "bad?"}], **prompt)
    prepared(tmp_path, {**entry, "fields": {"model_input": "question", "target_output": "a"}})
    assert rows_of(tmp_path, "fm_own_qa_accuracy")[0]["prompt"] == first


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ({"prompt": "Q: {qestion}"}, "{qestion} in the prompt names no field"),
        ({"prompt": "Q: {{ question }} {qestion}"}, "did you mean question?"),
        ({"prompt": "Answer!"}, "the prompt names no field: it would be the same"),
        ({"prompt_template": "Answer!"}, "the prompt names no field: it would be the same"),
        ({"prompt_template": "Q: {model_inptu}"}, "{model_inptu} in the prompt names no field"),
    ],
)
def test_prompts_without_a_field_are_refused(tmp_path, prompt, told):
    lines = [{"question": "fine?", "a": "yes"}, {"question": "bad?", "a": "no"}]
    entry = own(tmp_path, lines, **prompt)
    entry["fields"] = {"model_input": "question", "target_output": "a"}
    assert told in refusal(tmp_path, entry)
