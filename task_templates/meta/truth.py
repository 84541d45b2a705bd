"""Ground truth of IFEval and MATH rows: where it is, how a row's text is found in it, when two entries agree."""

from __future__ import annotations

import json

from evalprep.packapi import BadInput, Context, GroundTruth, Problem

from .datasets import revision_of
from .rows import Row, name_of

GROUND_TRUTH = {
    "ifeval": ("wis-k/instruction-following-eval", "train"),
    "math": ("DigitalLearningGmbH/MATH-lighteval", "test"),
}
# Two prompts of the published set whose "true" an earlier tool turned into Python's "True"; data that went through
# that tool still join.
MANGLED = (
    ("Is it True that the first song", "Is it true that the first song"),
    ("Is the following True", "Is the following true"),
)


def truth_kind(task: str) -> str | None:
    """Which ground truth a task needs."""
    return "ifeval" if task == "meta_ifeval" else "math" if task.startswith("meta_math") else None


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


def instructions_of(entry: Row) -> tuple[list[str], list[Row]]:
    """The instructions of an IFEval entry and their keyword arguments.

    Nulls among the arguments are dropped (zeros and false stay): parquet fills absent keys of a struct with null.

    Raises:
        BadInput: not one mapping of arguments per instruction; names the entry.
    """
    names, kwargs = entry.get("instruction_id_list"), entry.get("kwargs")
    if (
        not isinstance(names, list)
        or not all(isinstance(name, str) for name in names)
        or not isinstance(kwargs, list)
        or not all(isinstance(given, dict | None) for given in kwargs)
        or len(names) != len(kwargs)
        or not names
    ):
        raise BadInput(
            Problem(
                what=f"instruction_id_list is {names!r}, kwargs is {kwargs!r}",
                where=f"IFEval ground truth, {str(entry.get('prompt'))[:60]!r}",
                allowed="a list of names and a list of mappings of the same length",
                fix="mend the ground truth",
            )
        )
    return names, [{key: value for key, value in (given or {}).items() if value is not None} for given in kwargs]


def truth_of(context: Context, kind: str) -> GroundTruth:
    """Ground truth of one kind, read once per run."""
    key = f"truth_{kind}"
    if key not in context.cache:
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
            truth = GroundTruth(source.rows(), "prompt", same=instructions_of)
        else:
            source.require(("problem", "solution"))
            truth = GroundTruth(source.rows(), "problem", same=lambda row: gold_of(row.get("solution")))
        context.cache[key] = truth
    return context.cache[key]


def gold_of(solution: object) -> str | None:
    """The box content of a reference solution, None where there is no solution or no box."""
    from custom_metrics.math import extract_boxed

    return extract_boxed(solution) if isinstance(solution, str) else None
