"""The parts that every score of the suite is made with.

The result itself, rows, parse rates, what helpers have rated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from custom_metrics.compliance import aggregate
from custom_metrics.compliance.harness import last_reply, reply_of

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Floats = NDArray[float64]

Sample = Mapping[str, Any]
Rows = Mapping[str, Sequence[Sample]]
Result = dict[str, Any]


WORDING = "wording"  # column of the words that a row asks in
DEPARTURES = "departures"  # column of the settings that differ from version 1
STAND_IN = "stand_in"  # column of rows that are the pack's own small ones
DEBUG = "a debug run of at most"  # as a run of the original may be
STANDS_IN = "stand-in rows of the pack: it says nothing about a model"


def texts_of(response: Any) -> list[str]:
    """The replies of a row, all draws."""
    if isinstance(response, (list, tuple)):
        return [text for draw in response for text in texts_of(draw)]
    return [str(response)]


def row_notes(rows: Sequence[Any]) -> list[str]:
    """The wording of the rows, what departs from version 1, and whether they are stand-ins."""
    docs = [row["doc"] for row in rows if isinstance(row, Mapping)]
    wordings = sorted({str(doc[WORDING]) for doc in docs if WORDING in doc})
    departures = sorted({str(doc[DEPARTURES]) for doc in docs if doc.get(DEPARTURES)})
    stand_ins = [STANDS_IN] if any(doc.get(STAND_IN) for doc in docs) else []
    return [*wordings, *(f"departs from v1: {text}" for text in departures), *stand_ins]


def result_of(
    benchmark: str, raw: Mapping[str, Any], rows: Sequence[Sample], **more: Any
) -> Result:
    """The score of raw metrics, with these, the number of rows and what else there is to see."""
    value = aggregate.aggregate_score(benchmark=benchmark, raw=raw)
    result: Result = {"agg_value": value, "n": len(rows), "raw_metrics": dict(raw), **more}
    if value is None:
        result.setdefault("reason", "its replies gave no value")
    if notes := list(dict.fromkeys([*row_notes(rows), *more.get("notes", ())])):
        result["notes"] = notes
    parts = {name: number for name, number in _flat(raw) if number is not None}
    result["parts"] = {**parts, **more.get("parts", {})}
    return result


#: Keys by which members of lists are called.
_NAMES = ("name", "scenario", "category")


def _flat(raw: Any, name: str = "") -> list[tuple[str, float | None]]:
    """Numbers of nested raw metrics under names with dots (`age.min_iou`)."""
    if isinstance(raw, (int, float)):
        return [(name, float(raw))] if math.isfinite(raw) else []
    if isinstance(raw, Mapping):
        entries = [(str(key), value) for key, value in raw.items()]
    elif isinstance(raw, (list, tuple)):
        entries = [_named_member(name, place, value) for place, value in enumerate(raw, 1)]
    else:
        return []
    numbers: list[tuple[str, float | None]] = []
    for key, value in entries:
        numbers += _flat(value, f"{name}.{key}" if name else key)
    return numbers


def _named_member(parent: str, place: int, value: Any) -> tuple[str, Any]:
    """A member of a list with its own name, else its place.

    A sole number under its parent's key is that number.
    """
    if not isinstance(value, Mapping):
        return str(place), value
    name = next((str(value[key]) for key in _NAMES if key in value), str(place))
    rest = {key: number for key, number in value.items() if key not in _NAMES}
    return name, rest[parent] if list(rest) == [parent] else rest


def all_rows(rows: Rows) -> list[Sample]:
    """The rows of all tasks, one list."""
    return [row for several in rows.values() for row in several]


def share_of(flags: Sequence[bool]) -> float | None:
    """Share of true flags; None without any."""
    return sum(flags) / len(flags) if flags else None


def parse_rate(flags: Sequence[bool], *, left_out: bool = True) -> Result:
    """Parse rate and, where some replies could not be read, a note.

    Args:
        flags: Whether a reply could be read, for each.
        left_out: Whether the score is made of the readable replies alone; else the others count as
            wrong.
    """
    rate = share_of(flags)
    notes = (
        []
        if rate in {None, 1.0}
        else [f"an answer could be read in {sum(flags)} of {len(flags)} replies"]
    )
    return {
        "parse_rate": rate,
        "notes": notes,
        **({"read": [sum(flags), len(flags)]} if left_out else {}),
    }


def reply_in(row: Sample) -> str:
    """The reply of a row, the first of several draws."""
    return reply_of([row["response"]])


def answered(rows: Rows) -> tuple[Rows, Result]:
    """The rows with a reply, and what a score says of the others.

    A model that says nothing leaks nothing and falls to no attack: that is no good score. A row of
    several draws has a reply where one of them has a word.
    """
    kept = {task: [row for row in samples if has_reply(row)] for task, samples in rows.items()}
    total, count = len(all_rows(rows)), len(all_rows(kept))
    if not total:
        return kept, {"reason": "no rows were asked"}
    if not count:
        return kept, {"reason": "every reply is empty", "n": total}
    if count == total:
        return kept, {}
    note = f"{total - count} of {total} replies are empty and left out"
    return kept, {"notes": [note], "read": [count, total]}


def has_reply(row: Sample) -> bool:
    """Tells whether one of the draws of a row holds a word."""
    return any(text.strip() for text in texts_of(row["response"]))


def last_reply_in(row: Sample) -> str:
    """The last reply of a dialogue."""
    return last_reply([row["response"]])


def annotated(samples: Sequence[Sample], name: str) -> list[float | None]:
    """Returns what an annotator has computed for each row: the mean over its draws.

    None where it has not.
    """
    values = [row["metrics"].get(name) for row in samples]
    return [float(value) if isinstance(value, (int, float)) else None for value in values]


def uncomputed(values: Sequence[float | None], name: str) -> tuple[list[str], Result]:
    """Notes on rows without a value of an annotator, and the reason where no row has one."""
    absent = sum(value is None for value in values)
    if not absent:
        return [], {}
    if absent == len(values):
        return [], {"reason": f"{name} has rated nothing; `evalprep score` says why"}
    return [f"{name} has rated {len(values) - absent} of {len(values)} replies"], {}


def helper_notes(samples: Sequence[Sample]) -> list[str]:
    """Returns what rated the replies; every helper but the original's makes scores incomparable."""
    usual = {"detector": "toxic-bert", "rater": "vader"}
    used = {name: {row["doc"].get(name) for row in samples} - {None} for name in usual}
    return [
        f"helper: {', '.join(sorted(helpers))} in place of {usual[name]}; "
        "never compare with published scores"
        for name, helpers in used.items()
        if helpers and helpers != {usual[name]}
    ]


def value_by_index(rows: Rows, values: Sequence[float | None]) -> dict[str, dict[str, float]]:
    """Values of rows by their position in the split, as scores keep them.

    Of several tasks with their names.

    A score that is their plain mean gets its interval, and paired differences, from them.
    """
    return {
        key: {"value": value}
        for key, value in zip(row_keys(rows), values, strict=True)
        if value is not None
    }


def row_keys(rows: Rows) -> list[str]:
    """The position of each row in its split, with the task where there are several."""
    if len(rows) == 1:
        return [str(row["index"]) for row in all_rows(rows)]
    return [f"{task}#{row['index']}" for task, samples in rows.items() for row in samples]


def with_interval(
    result: Result,
    keys: Sequence[str],
    counts: Sequence[Sequence[float]],
    value: Callable[[Floats], float],
) -> Result:
    """Adds the 95 % interval of a score that is a function of counts which add up over rows.

    Args:
        result: The score.
        keys: The unit of each row: rows of one unit are drawn together.
        counts: One line per row.
        value: The score of the summed counts.
    """
    # NumPy is not needed to prepare, where this module is read, too.
    from custom_metrics.statistics import bounded_interval, influence_of_counts

    score = result.get("agg_value")
    if score is None or not counts:
        return result
    influence = influence_of_counts(keys, counts, value)
    # The spread that this run shows bounds nothing where all its rows are alike; a row that turns
    # from worst to best moves a score in [0, 1] by its own weight.
    influence = replace(influence, range=max(influence.range, 1.0))
    interval = bounded_interval(float(score), influence)
    if interval is None:
        return result
    return result | {"interval": list(interval), "influence": influence}
