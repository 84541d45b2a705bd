"""Prepared rows out of published ones.

The columns that every task has, and what each form of task adds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from evalprep.packapi import BadInput, Previous, Problem, Repeats, list_cell

Row = dict[str, Any]
REQUIRED = ("input_question", "input_final_prompts", "input_correct_responses", "is_correct")
OPTIONAL = (
    "subtask_name",
    "input_choice_list",
    "input_question_hash",
    "input_final_prompts_hash",
    "output_prediction_text",
    "output_parsed_answer",
)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


# What a column must hold: a text in place of a list would pass for a list of letters.
_SHAPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "input_question": (lambda value: isinstance(value, str), "text"),
    "input_final_prompts": (
        lambda value: _texts(value) and bool(value),
        "a list of texts, at least one",
    ),
    "input_correct_responses": (lambda value: value is None or _texts(value), "a list of texts"),
    "is_correct": (lambda value: value is None or isinstance(value, bool), "true, false or null"),
    "subtask_name": (lambda value: value is None or isinstance(value, str), "text or null"),
    "input_question_hash": (lambda value: value is None or isinstance(value, str), "text or null"),
    "input_final_prompts_hash": (
        lambda value: value is None or _texts(value),
        "a list of texts or null",
    ),
    "output_prediction_text": (
        lambda value: value is None or isinstance(value, str) or _texts(value),
        "a list of texts, text or null",
    ),
}


_OF_LISTS = ("input_final_prompts", "input_correct_responses", "input_final_prompts_hash")


def published(rows: Iterator[Row], previous: Previous) -> Iterator[Row]:
    """Passes rows on, counting the published verdicts.

    Raises:
        BadInput: a column of the wrong type; names the row and the column.
    """
    for flat in rows:
        # Columns of lists are lists, also out of a flat file.
        row = {**flat, **{name: list_cell(flat[name]) for name in _OF_LISTS if name in flat}}
        for column, (fits, allowed) in _SHAPES.items():
            if not fits(row.get(column)):
                raise BadInput(
                    Problem(
                        what=f"{column} is {str(row.get(column))[:80]!r}",
                        where=f"row {name_of(row)}",
                        allowed=allowed,
                        fix="fetch the data set again",
                    )
                )
        previous.add(row["is_correct"], row.get("subtask_name"))
        yield row


def common(row: Row) -> Row:
    """The columns that every task has."""
    prompts = row["input_final_prompts"]
    output = row.get("output_prediction_text") or None
    if isinstance(output, list):
        output = output[0]
    question_hash = row.get("input_question_hash") or sha256(row["input_question"])
    hashes = row.get("input_final_prompts_hash") or [sha256(prompt) for prompt in prompts]
    return {
        "sample_id": f"{question_hash[:16]}-{hashes[0][:16]}",
        "prompt": prompts[0],
        "subtask_name": row.get("subtask_name"),
        "cluster_id": question_hash,
        "previously_is_correct": row["is_correct"],
        "previous_output_prediction_text": output,
        "previous_parsed_answer": row.get("output_parsed_answer"),
        "input_question": row["input_question"],
        "input_correct_responses": row["input_correct_responses"],
        "input_question_hash": question_hash,
        "input_final_prompts_hash": hashes,
    }


def sha256(text: str) -> str:
    """SHA-256 of UTF-8 text, as the data sets' own hash columns."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def name_of(row: Row) -> str:
    """Returns how messages call a row."""
    return str(row.get("input_question_hash") or sha256(str(row.get("input_question"))))[:16]


def choice_row(row: Row) -> Row:
    """A row whose gold answer is the published correct response: choice letters and BBH."""
    gold = row["input_correct_responses"]
    if not gold:
        raise BadInput(
            Problem(
                what="has no correct response",
                where=f"row {name_of(row)}",
                fix="fetch the data set again",
            )
        )
    return {**common(row), "target": gold[0], "input_choice_list": row.get("input_choice_list")}


def likelihood_rows(rows: Iterator[Row]) -> Iterator[Row]:
    """MMLU for pretrained models: one prompt per choice, each ending in its letter.

    The shapes are checked.
    """
    for row in rows:
        prompts, gold = row["input_final_prompts"], row["input_correct_responses"]
        letters = [prompt[-1:] for prompt in prompts]
        stem = prompts[0][:-2]
        whole = all(
            prompt == f"{stem} {letter}" for prompt, letter in zip(prompts, letters, strict=True)
        )
        if len(prompts) < 2 or not whole or not gold or gold[0][-1:] not in letters:
            raise BadInput(
                Problem(
                    what="is not one prompt per choice with a gold answer among them",
                    where=f"row {name_of(row)}",
                    allowed='prompts that differ only in their last letter, gold like "Answer: B"',
                )
            )
        yield {
            **common(row),
            "prompt": stem,
            "choices": letters,
            "target": letters.index(gold[0][-1]),
            "input_choice_list": row.get("input_choice_list"),
        }


def with_ids(rows: Iterator[Row]) -> Iterator[Row]:
    """Makes the sample ids unique: a question that is asked twice has two rows."""
    repeats = Repeats()
    for row in rows:
        row["sample_id"] = repeats.unique(row["sample_id"])
        yield row
