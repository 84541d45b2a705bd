"""What the scorer read stands in page, spreadsheet and CSV; the whole reply is never called the answer."""

import csv
import json

import pytest

from custom_metrics.harness.reading import read
from evalprep.cli import main
from tests.evalprep.results.writing import Row, write_run

LONG = "Let me think about it. " * 20 + "So it is \\boxed{\\frac{1}{2}}."
MATH = {"exact_match": 1.0, "original_llama": 1.0, "minerva": 1.0}


@pytest.mark.parametrize(
    ("target", "reply", "metrics", "answer", "method"),
    [
        ("0.5", LONG, MATH, "\\frac{1}{2}", "box, number"),
        ("0.5", "I do not know.", MATH | {"exact_match": 0.0}, None, "none"),
        ("A", "A", {"exact_match": 1.0}, "A", ""),
        ("A", LONG, {"exact_match": 1.0}, None, ""),
    ],
)
def test_what_was_read(target, reply, metrics, answer, method):
    found = read({}, target, reply, reply, metrics)
    assert (found.answer, found.method) == (answer, method)


def test_instructions_are_named_one_by_one(tmp_path):
    doc = {"instruction_id_list": ["length:words", "format:json", "length:words"]}
    metrics = {"prompt_level_strict_acc": 0.0, "inst_level_strict_acc": [True, False, False]}
    home = write_run(
        tmp_path / "run",
        {"ifeval": [Row("a", response=LONG, answer=LONG, metrics=metrics, doc=doc)]},
    )
    assert (
        main(["report", str(home), "--out", str(tmp_path / "out"), "--format", "csv,html,xlsx"])
        == 0
    )
    with (tmp_path / "out" / "samples.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["parts failed"] == "format:json, length:words (2)"
    assert row["answer"] == ""
    assert row["output"] == LONG


def test_the_reason_of_a_math_verdict_is_shown(tmp_path):
    home = write_run(tmp_path / "run", {"m": [Row("a", response=LONG, answer=LONG, metrics=MATH)]})
    (samples,) = home.glob("samples_*")
    line = json.loads(samples.read_text()) | {"target": "0.5"}
    samples.write_text(json.dumps(line) + "\n")
    assert main(["report", str(home), "--out", str(tmp_path / "out"), "--format", "csv"]) == 0
    with (tmp_path / "out" / "samples.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["answer"], row["read by"], row["reason"]) == (
        "\\frac{1}{2}",
        "box, number",
        "equal numbers",
    )
