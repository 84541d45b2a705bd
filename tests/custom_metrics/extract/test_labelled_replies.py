"""Replies as chat, base and reasoning models write them, each labelled by hand with the answer that it gives.

The tables lie in `tests/data/replies`. Names tell whose style a reply follows, or what it does; those called "unseen"
were labelled before the extractors had met them.
"""

import json
from pathlib import Path

import pytest

from custom_metrics.extract.choice import extract_choice, extract_direct_choice
from custom_metrics.extract.json_values import extract_json
from custom_metrics.extract.number import extract_number
from custom_metrics.harness import filters, results

FOLDER = Path(__file__).parents[2] / "data/replies"


def cases(name):
    rows = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return pytest.mark.parametrize("row", rows, ids=[row["name"] for row in rows])


@cases("choice")
def test_letter(row):
    readers = {
        "last": extract_choice,
        "first": lambda text, letters: extract_choice(text, letters, prefer="first"),
        "direct": extract_direct_choice,
    }
    assert readers[row["reader"]](row["reply"], row["letters"]) == row["answer"]


@cases("number")
def test_number(row):
    assert extract_number(row["reply"]) == row["answer"]


@cases("bbh")
def test_verdict_on_bbh(row):
    doc = {"subtask_name": row["subtask"], "target": row["gold"]}
    (answers,) = filters.bbh_answer([[row["reply"]]], [doc])
    scored = results.bbh(doc, answers)
    verdict = "unparsed" if scored["unparsed"] else "right" if scored["exact_match"] else "wrong"
    assert verdict == row["verdict"]


@cases("json")
def test_json(row):
    assert extract_json(row["reply"], row["kind"]) == (row["value"], row["status"])
