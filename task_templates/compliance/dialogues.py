"""Rows that are answered turn by turn: rules over several turns, worked examples, contrasts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evalprep.packapi import Context

from .datasets import read, spread
from .wording import words

Row = dict[str, Any]
#: Where the judge's question takes the second sentence, which is known after the second stage.
OTHER = "<the other statement>"


def _user(text: str) -> Row:
    return {"role": "user", "content": text}


def _assistant(text: str) -> Row:
    return {"role": "assistant", "content": text}


def _dialogue(messages: list[Row]) -> Row:
    """The columns of a row whose turns are played one by one; `prompt` is for people."""
    return {
        "messages": messages,
        "prompt": "\n\n".join(turn["content"] for turn in messages if turn["role"] == "user"),
    }


def multiturn(context: Context) -> list[Row]:
    """The rule as system message, then the user's messages, answered one at a time."""
    rows = []
    for number, row in enumerate(spread(read(context, "multiturn_goal_hijacking"), "scenario")):
        stored_params = row.get("params_json") or row.get("params") or {}
        params = (
            json.loads(stored_params) if isinstance(stored_params, str) else dict(stored_params)
        )
        user_messages = [_user(message["content"]) for message in row["messages"]]
        rule = row.get("system") or _rule(context, row["scenario"], params)
        rows.append(
            {
                "sample_id": f"{row.get('id', number)}",
                **_dialogue([{"role": "system", "content": rule}, *user_messages]),
                "target": "",
                "scenario": row["scenario"],
                "params": json.dumps(params),
            }
        )
    return rows


def _rule(context: Context, scenario: str, params: Mapping[str, Any]) -> str:
    """The rule in words; a column `system` of the user's file is taken in its place."""
    if scenario == "ForbiddenWord" and params.get("number") is not None:
        scenario = "ForbiddenNumber"
    animals = params.get("animals") or ()
    sounds = params.get("sounds") or ()
    phrases = [f"'{animal}' says '{sound}'" for animal, sound in zip(animals, sounds, strict=False)]
    values = {**params, "pairs": ", ".join(phrases)}
    return words(context).format(f"rules_{scenario}", **values)


def forecast(context: Context) -> list[Row]:
    """Five rows per series, after one worked example."""
    texts, rows = words(context), []
    first = texts.fill("forecast_question")
    answer = texts.fill("forecast_answer")
    for number, row in enumerate(read(context, "forecast_consistency")):
        for place, question in enumerate(row["questions"]):
            rows.append(
                {
                    "sample_id": f"series-{number}-{place}",
                    **_dialogue([_user(first), _assistant(answer), _user(question)]),
                    "target": "",
                    "series": str(number),
                    "place": place,
                    "direction": row["direction"],
                    "cluster_id": str(number),
                }
            )
    return rows


def gap(context: Context, topic: str, before: str, subject: str, predicate: str) -> str:
    """Asks for another sentence with the same subject and predicate."""
    texts = words(context)
    start = before or texts.fill("self_check_none")
    return texts.fill(
        "self_check_gap", topic=topic, before=start, subject=subject, predicate=predicate
    )


def gap_shots(context: Context) -> list[Row]:
    """Three worked examples as turns."""
    contents = [words(context).fill(f"self_check_shot_{number}") for number in range(6)]
    return [
        _assistant(content) if number % 2 else _user(content)
        for number, content in enumerate(contents)
    ]


def explain(context: Context, topic: str, before: str, sentence: str) -> str:
    """Returns what a judge is asked about a sentence.

    `OTHER` stands where the other sentence comes.
    """
    return words(context).fill(
        "self_check_explain", topic=topic, before=before, sentence=sentence, other=OTHER
    )
