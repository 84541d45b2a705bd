"""Replies as chat, base and reasoning models write them, each labelled by hand with the answer that it gives.

The tables lie in `tests/data/replies`. Names tell whose style a reply follows, or what it does;
those called "unseen" were labelled before the extractors had met them, and so were all in the
tables `choice_real` and `number_real`. A row with `open` is one that the extractors are known to
miss.
"""

import json
from pathlib import Path

import pytest

from custom_metrics.extract.choice import extract_choice, extract_direct_choice
from custom_metrics.extract.json_values import extract_json
from custom_metrics.extract.number import extract_number
from custom_metrics.harness import filters, results
from tests.tables import each_row

FOLDER = Path(__file__).parents[2] / "data/replies"


def cases(name):
    rows = [
        json.loads(line)
        for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    missed = pytest.mark.xfail(strict=True, reason="known to be missed")
    return each_row(
        "row",
        [
            pytest.param(row, id=row["name"], marks=missed if row.get("open") else ())
            for row in rows
        ],
    )


@cases("choice")
def test_letter(row):
    readers = {
        "last": extract_choice,
        "first": lambda text, letters: extract_choice(text, letters, prefer="first"),
        "direct": extract_direct_choice,
    }
    assert readers[row["reader"]](row["reply"], row["letters"]) == row["answer"]


@cases("choice_real")
def test_letter_of_a_lifelike_reply(row):
    doc = {"choices": list(row["letters"])}
    assert filters.choice_letter([[row["reply"]]], [doc]) == [[row["answer"] or filters.INVALID]]


@cases("number")
def test_number(row):
    assert extract_number(row["reply"]) == row["answer"]


@cases("number_real")
def test_number_of_a_lifelike_reply(row):
    assert filters.final_number([[row["reply"]]], [{}]) == [[row["answer"] or filters.INVALID]]


@cases("languages")
def test_reply_in_another_language(row):
    reader = extract_number if row["kind"] == "number" else extract_choice
    assert reader(row["reply"]) == row["answer"]


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
