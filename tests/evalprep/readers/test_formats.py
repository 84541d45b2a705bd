"""Real and synthetic logs of each format are recognised by content and read whole."""

import gzip
import json
import os
import shutil
import subprocess
import sys

import pytest

from evalprep.readers.tools import (
    Reading,
    evalscope,
    helm,
    inspect_log,
    lighteval,
    olmes,
    openai_evals,
    reading_as,
)
from evalprep.readers.tools.texts import prompt_text
from evalprep.results import open_run
from tests.evalprep.readers.logs import write_helm, write_lines

#: Place below published_data -> format, rows and mean of the primary metric (None: no verdicts).
PLACES = {
    "helm/commonsense-dataset=hellaswag,method=multiple_choice_joint,model=eleutherai_pythia-1b-v0": (
        "helm",
        10,
        0.3,
    ),
    "helm/mmlu-subject=philosophy,method=multiple_choice_joint,model=openai_gpt2": (
        "helm",
        10,
        0.1,
    ),
    "helm/narrative_qa-model=openai_gpt2": ("helm", 5, 0.0),
    "inspect/data_arc_qwen.json": ("inspect", 3, 1 / 3),
    "inspect/data_pubmedqa_gpt4o_mini.json": ("inspect", 2, 1.0),
    "inspect/log_formats.eval": ("inspect", 1, 0.0),
    "inspect/log_formats.json": ("inspect", 1, 0.0),
    "inspect/mmlu-summary-choices.eval": ("inspect", 1, 0.0),
    "inspect/2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval": (
        "inspect",
        10,
        None,
    ),
    "inspect/made_with_0.3.285.json": ("inspect", 2, 0.5),
    "inspect/made_with_0.3.285_zstd.eval": ("inspect", 2, 0.5),
    "olmes": ("olmes", 3, None),
    "eee/reference": ("every-eval-ever", 1, 1.0),
    "eee/handmade_valid": ("every-eval-ever", 1, 1.0),
    "eee/converted_by_0.3.0": ("every-eval-ever", 10, 0.0),
    "synthetic/lighteval_new": ("lighteval", 2, 0.5),
    "synthetic/lighteval_old": ("lighteval-old", 2, 0.5),
    "synthetic/leaderboard_v1": ("leaderboard-v1", 2, 0.5),
    "synthetic/olmo_eval": ("olmo-eval", 2, 0.5),
    "synthetic/openai_evals": ("openai-evals", 2, 0.5),
    "synthetic/simple_evals": ("simple-evals", 2, 0.5),
}


@pytest.mark.parametrize("place", PLACES)
def test_each_file_is_recognised_and_read_whole(place, shared):
    if place.endswith("zstd.eval"):
        pytest.importorskip("zstandard")
    tool, rows, mean = PLACES[place]
    run = open_run(shared / "vectors" / "published_data" / place, ())
    assert run.tool == tool
    (task,) = run.tasks.values()
    assert task.logged.rows.effective == rows == len(list(task.samples("none")))
    assert task.primary.value == (None if mean is None else pytest.approx(mean))
    assert task.metadata["reader"] == tool


@pytest.mark.parametrize(
    ("place", "shots"),
    [
        ("synthetic/lighteval_new", 0),
        ("synthetic/lighteval_old", 0),
        ("synthetic/leaderboard_v1", 25),
        ("synthetic/simple_evals", None),
    ],
)
def test_the_shots_of_a_task_are_those_of_its_name(place, shots, shared):
    (task,) = open_run(shared / "vectors" / "published_data" / place, ()).tasks.values()
    assert task.logged.num_fewshot == shots


def test_logs_in_hidden_folders_are_passed_over(shared, tmp_path):
    source = shared / "vectors" / "published_data" / "synthetic" / "openai_evals"
    for name in ("logs", ".cache", "node_modules"):
        shutil.copytree(source, tmp_path / name)
    run = open_run(tmp_path, ())
    assert [task.logged.rows.effective for task in run.tasks.values()] == [2]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        pytest.param("1 + 1?", "1 + 1?", id="a text"),
        pytest.param(
            [{"role": "user", "content": "1 + 1?"}],
            '[{"role": "user", "content": "1 + 1?"}]',
            id="a chat",
        ),
        pytest.param(["1 +", "1?"], "1 +\n1?", id="several texts"),
        pytest.param([], None, id="an empty list"),
        pytest.param(7, "7", id="a number"),
    ],
)
def test_a_prompt_of_any_form_is_one_text(prompt, text):
    assert prompt_text(prompt) == text


def test_a_table_is_read_by_its_named_columns(shared):
    columns = {"id": "id", "question": "question", "score": "correct", "answer": "answer"}
    table = shared / "vectors" / "published_data" / "synthetic" / "table" / "verdicts.csv"
    with reading_as(Reading(columns=columns)):
        (task,) = open_run(table, ()).tasks.values()
    samples = list(task.samples())
    assert [sample.doc["question"] for sample in samples] == ["Question, 0?", "Question\n1?"]
    assert [sample.metrics["correct"] for sample in samples] == [1.0, 0.0]


def test_the_cases_of_the_kinds_hold(shared):
    from tests.vectors import read_rows, run_row

    cases, bad = read_rows(shared / "vectors" / "published.jsonl")
    assert not bad
    kinds = ("map.", "inspect.value", "table.score", "eee.sample_hash")
    results = [run_row(row) for row in cases if row.metric.startswith(kinds)]
    assert len(results) >= 35
    assert [result for result in results if result.outcome != "passed"] == []


def test_a_run_of_helm_packed_with_gzip_is_read(shared, tmp_path):
    data = shared / "vectors" / "published_data" / "helm" / "narrative_qa-model=openai_gpt2"
    for file in data.iterdir():
        packed = file.name in {"per_instance_stats.json", "scenario_state.json"}
        name = f"{file.name}.gz" if packed else file.name
        content = file.read_bytes()
        (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
    assert open_run(tmp_path, ()).tasks["narrative_qa"].logged.rows.effective == 5


@pytest.mark.parametrize(("shots", "known"), [(5, 5), (0, 0), (None, None), ("5", None)])
def test_the_shots_of_a_run_of_helm_are_those_of_its_adapter(shared, tmp_path, shots, known):
    data = shared / "vectors" / "published_data" / "helm" / "narrative_qa-model=openai_gpt2"
    for file in data.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    spec = json.loads((tmp_path / "run_spec.json").read_text())
    spec["adapter_spec"]["max_train_instances"] = shots
    (tmp_path / "run_spec.json").write_text(json.dumps(spec))
    assert open_run(tmp_path, ()).tasks["narrative_qa"].logged.num_fewshot == known


@pytest.mark.parametrize(
    ("reply", "answer", "place"),
    [
        pytest.param(" C", "two", 1, id="a letter that was offered"),
        pytest.param("two", "two", 1, id="the text of a choice"),
        pytest.param("A", "A", None, id="a letter that was not offered"),
        pytest.param("Neither", "Neither", None, id="another reply"),
    ],
)
def test_a_reply_to_helm_is_the_choice_of_its_letter(reply, answer, place):
    references = [
        {"output": text, "tags": ["correct"] * (text == "two")} for text in ("one", "two")
    ]
    state = {
        "instance": {"input": "1 + 1?", "references": references},
        "output_mapping": {"B": "one", "C": "two"},
        "result": {"completions": [{"text": reply}]},
    }
    row = helm.row_of({"instance_id": "id1", "stats": []}, state)
    assert (row.answer, row.answer_index, row.target_index) == (answer, place, 1)


def test_perturbed_instances_and_later_trials_of_helm_are_left_out(shared, tmp_path):
    data = shared / "vectors" / "published_data" / "helm" / "narrative_qa-model=openai_gpt2"
    for file in data.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    stats = json.loads((tmp_path / "per_instance_stats.json").read_text())
    stats[0]["perturbation"] = {"name": "typos"}
    stats[1]["train_trial_index"] = 1
    (tmp_path / "per_instance_stats.json").write_text(json.dumps(stats))
    state = json.loads((tmp_path / "scenario_state.json").read_text())
    for request in state["request_states"]:
        if request["instance"]["id"] == stats[0]["instance_id"]:
            request["instance"]["perturbation"] = {"name": "typos"}
        if request["instance"]["id"] == stats[1]["instance_id"]:
            request["train_trial_index"] = 1
    (tmp_path / "scenario_state.json").write_text(json.dumps(state))
    run = open_run(tmp_path, ())
    assert run.tasks["narrative_qa"].logged.rows.effective == 3
    notes = " ".join(run.notes)
    assert "1 perturbed instances are left out" in notes
    assert "1 train trials above 0 are left out" in notes


def test_an_instance_of_helm_without_scores_is_a_row_without_a_verdict(tmp_path):
    run = open_run(write_helm(tmp_path, "m", [1.0, None, 0.0]), ())
    (task,) = run.tasks.values()
    assert [sample.metrics["exact_match"] for sample in task.samples("none")] == [1.0, None, 0.0]
    assert any("1 of 3 samples have no verdict (1 unscored)" in note for note in run.notes)


def without_values():
    uncounted = {"name": {"name": "exact_match"}, "count": 0}
    review = {"index": 0, "sample_score": {"score": {"value": {"acc": None}}}}
    yield "helm", helm.row_of({"instance_id": "id0", "stats": [uncounted]}, {})
    yield "lighteval", lighteval.new_row({"doc": {"id": "0"}, "metric": {"em": None}})
    yield "lighteval-old", lighteval.old_row({"metrics": {"em": float("nan")}})
    yield "olmes", olmes.olmes_row({"native_id": "a", "metrics": {"acc": None}})
    yield "evalscope", evalscope.row_of(review)
    yield "inspect", inspect_log.row_of({"scores": {"choice": {"value": "?"}}})
    yield "openai-evals", openai_evals.row_of([{"type": "match", "data": {"correct": None}}])


@pytest.mark.parametrize(
    ("name", "row"), [pytest.param(*pair, id=pair[0]) for pair in without_values()]
)
def test_a_row_without_a_value_has_no_verdict_in_any_format(name, row):
    assert (row.status, row.score) == ("unscored", None)
    assert row.metric


TOY = """
from evalprep.samples.jsonparts import objects_in
from evalprep.readers.tools.columns import Column, Columns, each_row
from evalprep.readers.tools.reading import Reader
from evalprep.readers.tools.row import ToolLog
from evalprep.readers.tools.texts import score_of, texts_of

COLUMNS = Columns(
    Column("id", "who.id"),
    Column("question", "asked"),
    Column("targets", "gold", texts_of),
    Column("responses", "said.0.text", texts_of),
)


def row_of(record):
    row = COLUMNS.row(record)
    row.set_values({"right": score_of(record.get("right"))})
    return row


def read(path, reading):
    return ToolLog("toy", each_row(path.name, objects_in(path), row_of, "toys"), model="m")


READERS = (Reader("toy", lambda opening: opening.has("who", "said"), read),)
"""
ASKED = """
import sys
from evalprep.readers import tools
tools.__path__.append(sys.argv[1])
from evalprep.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("verb", ["score", "samples", "compare", "leaderboard"])
def test_a_format_is_one_module(tmp_path, verb):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "toy.py").write_text(TOY)
    records = [
        {
            "who": {"id": f"q{number}"},
            "asked": f"{number} + 1?",
            "gold": str(number + 1),
            "said": [{"text": f"It is {number + 1}"}],
            "right": number > 0,
        }
        for number in range(4)
    ]
    log = str(write_lines(tmp_path / "log.jsonl", [*records, "[1]"]))
    other = str(
        write_lines(tmp_path / "b" / "log.jsonl", [{**each, "right": 1} for each in records])
    )
    calls = {
        "score": ["--no_write", log],
        "samples": ["-n", "1", log],
        "compare": [log, other],
        "leaderboard": [log, other],
    }
    shown = {
        "score": ("toys  4  75.0", "line 5: not an object but list"),
        "samples": ("It is 1", "gold answer: 1", "score: 0 (right)"),
        "compare": ("4 of 4",),
        "leaderboard": ("75.0",),
    }
    done = subprocess.run(
        [sys.executable, "-c", ASKED, str(tmp_path / "modules"), verb, *calls[verb]],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )
    said = " ".join((done.stdout + done.stderr).split("\n"))
    assert done.returncode == 0, said
    assert [words for words in shown[verb] if words not in said] == []
