"""What every score of the suite is made with: the result itself, rows, parse rates, what helpers have rated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.compliance import aggregate
from custom_metrics.compliance.harness import last_reply, reply_of

Sample = Mapping[str, Any]
Rows = Mapping[str, Sequence[Sample]]
Result = dict[str, Any]


STAND_IN = "stand_in"  # column of rows that are the pack's own small ones
DEBUG = "a debug run of at most"  # as a run of the original may be
STANDS_IN = "stand-in rows of the pack: it says nothing about a model"


def stand_in_notes(rows: Sequence[Any]) -> list[str]:
    """Said where rows are the pack's own small ones."""
    return [STANDS_IN] if any(isinstance(row, Mapping) and row["doc"].get(STAND_IN) for row in rows) else []


def result_of(benchmark: str, raw: Mapping[str, Any], rows: Sequence[Sample], **more: Any) -> Result:
    """The score of raw metrics, with these, the number of rows and whatever else a reader should see."""
    value = aggregate.aggregate_score(benchmark=benchmark, raw=raw)
    result: Result = {"agg_value": value, "n": len(rows), "raw_metrics": dict(raw), **more}
    if value is None:
        result.setdefault("reason", "its replies gave no value")
    if notes := [*stand_in_notes(rows), *more.get("notes", ())]:
        result["notes"] = notes
    parts = {name: number for name, number in _flat(raw) if number is not None}
    result["parts"] = {**parts, **more.get("parts", {})}
    return result


def _flat(raw: Any, name: str = "") -> list[tuple[str, float | None]]:
    """Numbers of nested raw metrics under names with dots."""
    if isinstance(raw, Mapping):
        return [one for key, value in raw.items() for one in _flat(value, f"{name}.{key}" if name else str(key))]
    if isinstance(raw, (list, tuple)):
        return [one for place, value in enumerate(raw, 1) for one in _flat(value, f"{name}.{place}")]
    return [(name, float(raw))] if isinstance(raw, (int, float)) and math.isfinite(raw) else []


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
        left_out: Whether the score is made of the readable replies alone; else the others count as wrong.
    """
    rate = share_of(flags)
    notes = [] if rate in {None, 1.0} else [f"an answer could be read in {sum(flags)} of {len(flags)} replies"]
    return {"parse_rate": rate, "notes": notes, **({"read": [sum(flags), len(flags)]} if left_out else {})}


def reply_in(row: Sample) -> str:
    """The reply of a row, the first of several draws."""
    return reply_of([row["response"]])


def last_reply_in(row: Sample) -> str:
    """The last reply of a dialogue."""
    return last_reply([row["response"]])


def annotated(samples: Sequence[Sample], name: str) -> list[float | None]:
    """What an annotator has computed for each row: the mean over its draws; None where it has not."""
    values = [row["metrics"].get(name) for row in samples]
    return [float(value) if isinstance(value, (int, float)) else None for value in values]


def uncomputed(values: Sequence[float | None], name: str) -> Result:
    """A note on rows without a value of an annotator, and the reason where no row has one."""
    absent = sum(value is None for value in values)
    if not absent:
        return {}
    if absent == len(values):
        return {"reason": f"{name} has rated nothing; `evalprep score` says why"}
    return {"unrated": f"{name} has rated {len(values) - absent} of {len(values)} replies"}


def helper_notes(samples: Sequence[Sample]) -> list[str]:
    """What rated the replies; every helper but the original's makes scores incomparable."""
    usual = {"detector": "toxic-bert", "rater": "vader"}
    used = {name: {row["doc"].get(name) for row in samples} - {None} for name in usual}
    return [
        f"helper: {', '.join(sorted(found))} in place of {usual[name]}; never compare with published scores"
        for name, found in used.items()
        if found and found != {usual[name]}
    ]


def value_by_index(samples: Sequence[Sample], values: Sequence[float]) -> dict[str, dict[str, float]]:
    """Values of rows by their position in the split, as scores keep them."""
    return {str(row["index"]): {"value": value} for row, value in zip(samples, values, strict=True)}
