"""Stop strings of nothing but white space: only those warn that the model's first white space holds."""

import json

import pytest

from evalprep.check import Findings, RunSettings, check_full
from evalprep.check.prompts import _begins_reply

CHATML = "<|im_start|>user\nCapital of Peru?<|im_end|>\n<|im_start|>assistant"
LLAMA3 = "<|start_header_id|>assistant<|end_header_id|>"


@pytest.mark.parametrize(
    ("prompt", "stop", "warns"),
    [
        pytest.param(CHATML, "\n", True, id="the line break of ChatML"),
        pytest.param(CHATML, "\n\n", False, id="an empty line, which ChatML does not write"),
        pytest.param(CHATML + "\n", "\n", False, id="the line break is in the prompt"),
        pytest.param(
            "<|user|>\nHi\n<|assistant|>",
            "\n\n",
            False,
            id="an empty line after a turn marker alone",
        ),
        pytest.param("<|user|>\nHi\n<|assistant|>", " ", True, id="a blank"),
        pytest.param(LLAMA3, "\n\n", True, id="the empty line of Llama 3"),
        pytest.param(LLAMA3 + "\n\n", "\n\n", False, id="the empty line is in the prompt"),
        pytest.param("<start_of_turn>model", "\n", True, id="Gemma"),
        pytest.param(
            CHATML + "\nThe answer is", "\n", False, id="the reply is begun for the model"
        ),
        pytest.param("Question: 1 + 1?\nAnswer:", "\n", False, id="no chat"),
    ],
)
def test_white_space_that_the_model_writes_first(prompt, stop, warns):
    assert _begins_reply(stop, prompt) is warns


TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/rows.jsonl}}}}
test_split: test
output_type: generate_until
doc_to_text: prompt
doc_to_target: target
process_results: !function scorer.{name}
generation_kwargs: {{until: ["\\n\\n"], do_sample: false, max_gen_toks: 64}}
metric_list:
  - {{metric: acc, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1.0}}
"""
SCORERS = """\
def first(doc, results):
    return {"acc": float(results[0].split("\\n\\n")[0] == doc["target"])}


def last(doc, results):
    return {"acc": float(results[0].split("\\n\\n")[-1] == doc["target"])}


def second(doc, results):
    return {"acc": float(results[0].split("\\n\\n")[1] == doc["target"])}
"""


def test_a_stop_string_that_takes_the_credit_from_a_published_reply(tmp_path):
    """One scorer cannot read a reply that is cut; that is told where replies are scored, and by no guess here."""
    names = ("first", "last", "second")
    (tmp_path / "scorer.py").write_text(SCORERS)
    replies = {"first": "Lima\n\nPeru", "last": "Peru\n\nLima", "second": "Peru\n\nLima"}
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "scorer.py").write_text(SCORERS)
        row = {
            "sample_id": "s",
            "prompt": "Capital of Peru?",
            "target": "Lima",
            "previously_is_correct": True,
        }
        row |= {"previous_output_prediction_text": replies[name]}
        (tmp_path / name / "rows.jsonl").write_text(json.dumps(row) + "\n")
        (tmp_path / name / f"{name}.yaml").write_text(
            TASK.format(name=name, folder=tmp_path / name)
        )
    findings = Findings()
    check_full([tmp_path], list(names), RunSettings.without_config(backend="dummy"), findings)
    told = {(one.task, one.code) for one in findings.sorted()}
    assert {task for task, code in told if code == "EP610"} == {"last"}
    assert any(task == "second" and code.startswith("EP5") for task, code in told)
