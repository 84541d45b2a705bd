"""Samples as the scores read them.

Rows by position, responses by role, and what was refused or cut.

Rows keep their position in the split as key, as text, so that results read back from a file meet
results in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from custom_metrics.token_logprobs import Response, parse

from .results import Result, answer_keys, no_value

Row = Mapping[str, Any]
#: Task name -> its samples.
Rows = Mapping[str, Sequence[Row]]


def position(row: Row) -> str:
    """Position of the row in its split, as text."""
    index = row["doc"].get("index")
    return str(row["index"] if index is None else index)


def replies(row: Row) -> list[Any]:
    """Returns what the model returned, one entry per request of the row."""
    response = row["response"]
    if isinstance(response, (list, tuple)):
        return list(response)
    return [response]


def responses(row: Row, role: str) -> list[Response]:
    """Responses to the row's continuations of one role, in order."""
    return [
        parse(reply) for reply, name in zip(replies(row), roles(row), strict=False) if name == role
    ]


def roles(row: Row) -> list[str]:
    """The roles of the row's continuations, one per request.

    Rows without roles have answers alone.
    """
    return row["doc"].get("roles") or ["answer"] * len(replies(row))


def answer(row: Row) -> Response:
    """The response to the row's answer; an empty one where there is none."""
    return next(iter(responses(row, "answer")), parse(None))


def option(samples: Sequence[Row], name: str, default: Any) -> Any:
    """A parameter of the scores that the preparation wrote into the rows."""
    scoring = samples[0]["doc"].get("scoring") if samples else None
    value = scoring.get(name) if isinstance(scoring, Mapping) else None
    return default if value is None else value


def split(samples: Sequence[Row]) -> Result:
    """The forget split or corpus of the rows, for the result; empty where the rows do not say."""
    split = option(samples, "split", default=None)
    return {} if split is None else {"split": split}


def answers(samples: Sequence[Row]) -> Result:
    """Returns what tells the rows from those of another split, for the result."""
    texts = {position(row): row["doc"].get("target", row.get("target")) for row in samples}
    return answer_keys({index: text for index, text in texts.items() if isinstance(text, str)})


def single(rows: Rows) -> Sequence[Row]:
    """The samples of a score with one task."""
    return next(iter(rows.values()), ())


def missing(rows: Rows, expected: int = 1) -> Result | None:
    """A result without a value when a task of the score has no samples."""
    empty = [task for task, samples in rows.items() if not samples]
    if len(rows) < expected or empty:
        return no_value(f"no samples of {', '.join(empty) or 'a task this score needs'}")
    return None


def tally(result: Result, seen: Iterable[Response]) -> Result:
    """Counts refused and cut texts in the result, so that no row disappears in silence."""
    refused: dict[str, int] = {}
    cut = 0
    for response in seen:
        if response.refused:
            refused[response.refused] = refused.get(response.refused, 0) + 1
        cut += bool(response.truncated)
    if refused:
        # A refused text has no scored token either; it is named once, by its cause.
        skipped = dict(result.get("skipped", {}))
        rest = skipped.pop("no_scored_token", 0) - sum(refused.values())
        result["skipped"] = skipped | refused | ({"no_scored_token": rest} if rest > 0 else {})
    if cut:
        result["notes"] = [*result.get("notes", []), f"{cut} texts were cut to the length limit"]
    return result
