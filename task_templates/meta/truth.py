"""Ground truth of IFEval and MATH rows.

This is its place, how a row's text is looked up in it, and when two entries agree.
"""

from __future__ import annotations

import json
from functools import partial
from types import UnionType
from typing import Any, TypeGuard

from evalprep.packapi import BadInput, Context, GroundTruth, Problem

from .datasets import revision_of
from .rows import Row, name_of

GROUND_TRUTH = {
    "ifeval": ("wis-k/instruction-following-eval", "train"),
    "math": ("DigitalLearningGmbH/MATH-lighteval", "test"),
}
# Two prompts of the published set whose "true" an earlier tool turned into Python's "True"; data
# that went through that tool still join.
MANGLED = (
    ("Is it True that the first song", "Is it true that the first song"),
    ("Is the following True", "Is the following true"),
)


def truth_kind(task: str) -> str | None:
    """Returns which ground truth a task needs."""
    if task == "meta_ifeval":
        return "ifeval"
    return "math" if task.startswith("meta_math") else None


def question_of(row: Row) -> str:
    """The user's text out of an IFEval row's serialised dialog.

    Raises:
        BadInput: not JSON, or no text at `dialog[0].body`; names the row.
    """
    try:
        body = json.loads(row["input_question"])["dialog"][0]["body"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        body = None
    if not isinstance(body, str):
        raise BadInput(
            Problem(
                what=f"input_question holds no dialog: {str(row['input_question'])[:80]!r}",
                where=f"row {name_of(row)}",
                allowed='JSON with text at ["dialog"][0]["body"]',
                fix="fetch the data set again",
            )
        )
    return body


def spellings(text: str) -> list[str]:
    """The text as it is, and as it was before an earlier tool changed it."""
    mended = text
    for wrong, right in MANGLED:
        mended = mended.replace(wrong, right)
    return [text] if mended == text else [text, mended]


def flaw_of_instructions(entry: Row) -> str:
    """Returns what is wrong with an IFEval entry, in words; empty where nothing is."""
    key = entry.get("key")
    names = entry.get("instruction_id_list")
    kwargs = entry.get("kwargs")
    if not isinstance(key, int | float | str) or not str(key).removesuffix(".0").isdecimal():
        return f"its key is {str(key)[:40]!r}, no whole number"
    if not names or not _is_list_of(names, str):
        return f"its instruction_id_list is {str(names)[:80]!r}, no list of names"
    if not _is_list_of(kwargs, dict | None):
        return f"its kwargs are {str(kwargs)[:80]!r}, no list of mappings"
    if len(names) != len(kwargs):
        return f"it has {len(names)} instructions and {len(kwargs)} mappings of arguments"
    return ""


def _is_list_of(value: object, kind: type | UnionType) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def instructions_of(entry: Row) -> tuple[list[str], list[Row]]:
    """The instructions of a good IFEval entry and their keyword arguments.

    Nulls among the arguments are dropped (zeros and false stay): parquet fills absent keys of a
    struct with null.
    """
    kept = [
        {key: value for key, value in (arguments or {}).items() if value is not None}
        for arguments in entry["kwargs"]
    ]
    return entry["instruction_id_list"], kept


def truth_of(context: Context, kind: str) -> GroundTruth:
    """Ground truth of one kind, read once per run."""
    return context.once(f"truth {kind}", partial(_open_truth, context, kind))


def _open_truth(context: Context, kind: str) -> GroundTruth:
    default, split = GROUND_TRUTH[kind]
    location = context.section.ground_truth.get(kind) or default
    source = context.open(
        location,
        split=split,
        revision=revision_of(context, kind),
        where=context.where("ground_truth", kind),
    )
    if kind == "ifeval":
        source.require(("key", "prompt", "instruction_id_list", "kwargs"))
        return GroundTruth(source, "prompt", same=instructions_of, flaw=flaw_of_instructions)
    source.require(("problem", "solution"))
    return GroundTruth(
        source, "problem", same=lambda row: gold_of(row["solution"]), flaw=flaw_of_solution
    )


def flaw_of_solution(entry: Row) -> str:
    """Returns what is wrong with a MATH entry, in words; empty where nothing is."""
    return "" if gold_of(entry.get("solution")) is not None else "its solution has no box"


def gold_of(solution: object) -> str | None:
    """The box content of a reference solution, None where there is no solution or no box."""
    from custom_metrics.math import extract_boxed

    return extract_boxed(solution) if isinstance(solution, str) else None
