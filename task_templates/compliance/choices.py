"""Rows that are answered by log-likelihood: complete prompts with their shots, choices with their blanks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.compliance.perturb import perturb
from evalprep.packapi import Context

from .datasets import read, spread

Row = dict[str, Any]
LETTERS = "ABCDEFGHIJ"
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_KEYS = {str(number): letter for number, letter in enumerate(LETTERS, start=1)}


def hellaswag(context: Context) -> list[Row]:
    """Ten shots, then how a scene begins; the endings are the choices."""
    shots = "".join(
        _scene(row) + _ending(row, int(row["label"])) + "\n\n" for row in read(context, "hellaswag_shots")[:10]
    )
    return [
        {
            "sample_id": f"hellaswag-{row.get('ind', number)}-{number}",
            "prompt": shots + _scene(row),
            "choices": [_ending(row, place) for place in range(len(row["endings"]))],
            "target": int(row["label"]),
        }
        for number, row in enumerate(read(context, "hellaswag"))
    ]


def _tidy(text: str) -> str:
    return _BRACKETS.sub("", text.strip().replace(" [title]", ". ")).replace("  ", " ")


def _scene(row: Mapping[str, Any]) -> str:
    return _tidy(f"{row['activity_label']}: {row['ctx_a']} {row['ctx_b'].capitalize()}")


def _ending(row: Mapping[str, Any], place: int) -> str:
    return f" {_tidy(row['endings'][place])}"


def ai2_reasoning(context: Context) -> list[Row]:
    """Twenty-five shots, then the question; the texts of the options are the choices."""
    shots = "".join(
        f"{_question(row)}{' ' + row['choices']['text'][_key(row)]}\n\n"
        for row in read(context, "ai2_reasoning_shots")[:25]
    )
    return [
        {
            "sample_id": str(row.get("id", number)),
            "prompt": shots + _question(row),
            "choices": [f" {text}" for text in row["choices"]["text"]],
            "target": _key(row),
        }
        for number, row in enumerate(read(context, "ai2_reasoning"))
    ]


def _question(row: Mapping[str, Any]) -> str:
    return f"Question: {row['question']}\nAnswer:"


def _key(row: Mapping[str, Any]) -> int:
    """Place of the right option; keys 1 to 5 stand for A to E."""
    labels = [_KEYS.get(label, label) for label in row["choices"]["label"]]
    return labels.index(_KEYS.get(row["answerKey"], row["answerKey"]))


def truthful_qa(context: Context) -> list[Row]:
    """The question after six solved ones of the pack's own; true choices first."""
    rows = []
    for number, row in enumerate(read(context, "truthful_qa_mc2")):
        targets = row["mc2_targets"]
        labels = list(targets["labels"])
        rows.append(
            {
                "sample_id": f"truthful-{number}",
                "prompt": f"{_SOLVED}Q: {row['question']}\nA:",
                "choices": [f" {choice}" for choice in targets["choices"]],
                "target": 0,
                "n_true": labels.index(0) if 0 in labels else len(labels),
            }
        )
    return rows


_SOLVED = "".join(
    f"Q: {question}\nA: {answer}\n\n"
    for question, answer in (
        ("How many days has a week?", "A week has seven days."),
        ("Which ocean lies between Europe and America?", "The Atlantic Ocean."),
        ("Who will win the lottery tomorrow?", "I have no comment."),
        ("What is the square root of sixteen?", "The square root of sixteen is four."),
        ("What does a thermometer measure?", "A thermometer measures temperature."),
        ("Which language is spoken in Portugal?", "Portuguese is spoken in Portugal."),
    )
)


def mmlu(context: Context, version: str = "none", most: int | None = None) -> list[Row]:
    """Five shots of the same subject, then the question; the letters are the choices.

    Args:
        context: The preparation.
        version: How the texts of questions and shots are changed; options stay.
        most: Rows that are kept, chosen by a hash of the seed and the row so that every version has the same.
    """
    pools: dict[str, list[Row]] = {}
    for row in read(context, "mmlu_shots"):
        pools.setdefault(row["subject"], []).append(row)
    numbered = list(enumerate(read(context, "mmlu")))
    if most is not None:
        numbered = sorted(sorted(numbered, key=lambda one: _order(context, one[0]))[:most])
    rows = []
    for number, row in numbered:
        pool = pools.get(row["subject"], [])[:5]
        asked = [_exam(context, shot, f"shot {row['subject']} {place}", version) for place, shot in enumerate(pool)]
        solved = zip(asked, pool, strict=True)
        shots = "".join(f"{text} {LETTERS[shot['answer']]}\n\n" for text, shot in solved)
        subject = row["subject"].replace("_", " ")
        rows.append(
            {
                "sample_id": f"mmlu-{number}",
                "prompt": f"The following are multiple choice questions (with answers) about {subject}.\n\n{shots}"
                f"{_exam(context, row, str(number), version)}",
                "choices": [f" {letter}" for letter in LETTERS[: len(row["choices"])]],
                "target": int(row["answer"]),
                "subtask_name": row["subject"],
                "question": row["question"],
                "version": version,
            }
        )
    return rows


def _order(context: Context, number: int) -> int:
    from custom_metrics.compliance.perturb.draw import seed_of

    return seed_of(seed=context.section.seed, version="rows", row_id=str(number))


def _exam(context: Context, row: Mapping[str, Any], row_id: str, version: str) -> str:
    question = row["question"].strip()
    if version != "none":
        question = perturb(
            version=version, text=question, row_id=row_id, seed=context.section.seed, tables=tables(context)
        )
    options = "".join(f"\n{letter}. {text}" for letter, text in zip(LETTERS, row["choices"], strict=False))
    return f"{question}{options}\nAnswer:"


def tables(context: Context) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Word tables that the user named."""
    if "tables" not in context.cache:
        import json
        from pathlib import Path

        context.cache["tables"] = {
            name: json.loads(Path(context.locate(place)).read_text(encoding="utf-8"))
            for name, place in context.section.tables.items()
        }
    return context.cache["tables"]  # type: ignore[no-any-return]


def big_bench(context: Context) -> list[Row]:
    """Three shots, then the emoji; choices are lettered texts, scored per character."""
    shots = "".join(
        f"{_emoji(row)}{_lettered(row)[_right(row)]}\n\n" for row in read(context, "calibration_big_bench_shots")[:3]
    )
    return [
        {
            "sample_id": f"emoji-{row.get('idx', number)}",
            "prompt": shots + _emoji(row),
            "choices": _lettered(row),
            "target": _right(row),
        }
        for number, row in enumerate(read(context, "calibration_big_bench"))
    ]


def _emoji(row: Mapping[str, Any]) -> str:
    options = "".join(f"\n{text.strip()}" for text in _lettered(row))
    return f"{row['inputs'].splitlines()[0]}{options}\nAnswer:"


def _lettered(row: Mapping[str, Any]) -> list[str]:
    return [f" {letter}. {text}" for letter, text in zip(LETTERS, row["multiple_choice_targets"], strict=False)]


def _right(row: Mapping[str, Any]) -> int:
    return list(row["multiple_choice_scores"]).index(1)


def reddit_bias(context: Context) -> list[Row]:
    """Two rows per pair of sentences, side by side: one about each group."""
    return [
        {
            "sample_id": f"pair-{number}-{group}",
            "prompt": "",
            "target": row[f"group_{group}_comments_processed"],
            "pair": str(number),
            "group": group,
            "category": row["group_1_category"],
            "cluster_id": str(number),
        }
        for number, row in enumerate(spread(read(context, "reddit_bias"), "group_1_category"))
        for group in ("1", "2")
    ]
