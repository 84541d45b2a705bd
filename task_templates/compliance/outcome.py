"""The parts that every score of the suite is made with.

The result itself, rows, parse rates, what helpers have rated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from custom_metrics.compliance import aggregate
from custom_metrics.compliance.harness import last_reply
from custom_metrics.text.emptiness import has_words
from custom_metrics.text.replies import first_reply

if TYPE_CHECKING:
    from .counts import Floats

Sample = Mapping[str, Any]
Samples = Sequence[Sample]
Rows = Mapping[str, Samples]
Values = Sequence[float | None]  # of rows; None where one has no value
ByIndex = dict[str, dict[str, float]]  # key of a row -> its value by name
Result = dict[str, Any]
Results = Mapping[str, Mapping[str, Any]]  # name of a score -> its result
Key = TypeVar("Key")

WORDING = "wording"  # column of the words that a row asks in
DEPARTURES = "departures"  # column of the settings that differ from version 1
VARIANT = "variant"  # column of how a row is asked over a chat API
STAND_IN = "stand_in"  # column of rows that are the pack's own small ones
HELPER_COLUMNS = ("detector", "rater")  # columns of what rates replies
DEBUG = "a debug run of at most"  # as a run of the original may be
STANDS_IN = "stand-in rows of the pack: it says nothing about a model"


def has_stand_ins(results: Results) -> bool:
    """Returns whether scores are of the pack's own small rows."""
    notes = (result.get("notes") or () for result in results.values())
    return any(STANDS_IN in notes_of_score for notes_of_score in notes)


def texts_of(response: Any) -> list[str]:
    """The replies of a row, all draws."""
    if not isinstance(response, (list, tuple)):
        return [str(response)]
    texts: list[str] = []
    for draw in response:
        texts += texts_of(draw)
    return texts


def row_notes(rows: Sequence[Any]) -> list[str]:
    """The wording of the rows, what departs from version 1, and whether they are stand-ins."""
    docs = [row["doc"] for row in rows if isinstance(row, Mapping)]
    notes = sorted({str(doc[WORDING]) for doc in docs if WORDING in doc})
    departures = {str(doc[DEPARTURES]) for doc in docs if doc.get(DEPARTURES)}
    notes += [f"departs from v1: {text}" for text in sorted(departures)]
    variants = {str(doc[VARIANT]) for doc in docs if doc.get(VARIANT)}
    notes += [f"variant over a chat API: {text}" for text in sorted(variants)]
    if any(doc.get(STAND_IN) for doc in docs):
        notes.append(STANDS_IN)
    return notes


def result_of(benchmark: str, raw: Mapping[str, Any], rows: Samples, **more: Any) -> Result:
    """The score of raw metrics, with these, the number of rows and what else there is to see."""
    value = aggregate.aggregate_score(benchmark=benchmark, raw=raw)
    result: Result = {"agg_value": value, "n": len(rows)}
    result["raw_metrics"] = dict(raw)
    result |= more
    if value is None:
        result.setdefault("reason", "its replies gave no value")
    notes = [*row_notes(rows), *more.get("notes", ())]
    if notes:
        result["notes"] = list(dict.fromkeys(notes))
    result["parts"] = {**dict(_flat(raw)), **more.get("parts", {})}
    return result


#: Keys by which members of lists are called.
_NAMES = ("name", "scenario", "category")


def _flat(raw: Any, name: str = "") -> list[tuple[str, float]]:
    """Numbers of nested raw metrics under names with dots (`age.min_iou`)."""
    if isinstance(raw, (int, float)):
        return [(name, float(raw))] if math.isfinite(raw) else []
    if isinstance(raw, Mapping):
        members = [(str(key), value) for key, value in raw.items()]
    elif isinstance(raw, (list, tuple)):
        numbered = enumerate(raw, 1)
        members = [_named_member(name, place, value) for place, value in numbered]
    else:
        return []
    prefix = f"{name}." if name else ""
    numbers: list[tuple[str, float]] = []
    for key, value in members:
        numbers += _flat(value, prefix + key)
    return numbers


def _named_member(parent: str, place: int, value: Any) -> tuple[str, Any]:
    """A member of a list with its own name, else its place.

    A sole number under its parent's key is that number.
    """
    if not isinstance(value, Mapping):
        return str(place), value
    names = [str(value[key]) for key in _NAMES if key in value]
    name = names[0] if names else str(place)
    numbers = {key: number for key, number in value.items() if key not in _NAMES}
    if list(numbers) == [parent]:
        return name, numbers[parent]
    return name, numbers


def all_rows(rows: Rows) -> list[Sample]:
    """The rows of all tasks, one list."""
    return list(chain.from_iterable(rows.values()))


def grouped(samples: Samples, key: Callable[[Sample], Key]) -> dict[Key, list[Sample]]:
    """Key -> its rows, in the order in which the keys first occur."""
    groups: dict[Key, list[Sample]] = {}
    for row in samples:
        groups.setdefault(key(row), []).append(row)
    return groups


def mean_or_none(values: Sequence[float]) -> float | None:
    """Mean of values; None without any."""
    return math.fsum(values) / len(values) if values else None


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
    read, total = sum(flags), len(flags)
    notes = []
    if read < total:
        notes.append(f"an answer could be read in {read} of {total} replies")
    state: Result = {"parse_rate": rate, "notes": notes}
    if left_out:
        state["read"] = [read, total]
    return state


def unparsed_notes(samples: Samples) -> list[str]:
    """A note on replies without a letter, which count as wrong; none of log-likelihoods."""
    flags = [value for value in annotated(samples, "unparsed") if value is not None]
    read = sum(not flag for flag in flags)
    if read == len(flags):
        return []
    return [f"a letter could be read in {read} of {len(flags)} replies; the others count as wrong"]


def reply_in(row: Sample) -> str:
    """The reply of a row, the first of several draws."""
    return first_reply(row["response"])


def answered(rows: Rows) -> tuple[Rows, Result]:
    """The rows with a reply, and what a score says of the others.

    A model that says nothing leaks nothing and falls to no attack: that is no good score. A row of
    several draws has a reply where one of them has a word.
    """
    kept = {}
    for task, samples in rows.items():
        kept[task] = [row for row in samples if has_reply(row)]
    total = len(all_rows(rows))
    count = len(all_rows(kept))
    if not total:
        return kept, {"reason": "no rows were asked"}
    # What holds for the task holds without a reply, too.
    about = row_notes(all_rows(rows))
    if not count:
        return kept, {"reason": "every reply is empty", "n": total, "notes": about}
    if count == total:
        return kept, {}
    counted = f"{total - count} of {total} replies"
    note = f"{counted} are empty and left out"
    return kept, {"notes": [*about, note], "read": [count, total]}


def has_reply(row: Sample) -> bool:
    """Returns whether one of the draws of a row holds a word."""
    return has_words(response=row["response"])


def last_reply_in(row: Sample) -> str:
    """The last reply of a dialogue."""
    return last_reply([row["response"]])


def annotated(samples: Samples, name: str) -> list[float | None]:
    """Returns what an annotator has computed for each row: the mean over its draws.

    None where it has not.
    """
    return [metric_of(row, name) for row in samples]


def metric_of(row: Sample, name: str) -> float | None:
    """The number of a metric of a row; None without one."""
    value = row["metrics"].get(name)
    return float(value) if isinstance(value, (int, float)) else None


def uncomputed(values: Sequence[Any], name: str) -> tuple[list[str], Result]:
    """Notes on rows without a value of an annotator, and the reason where no row has one."""
    absent = sum(value is None for value in values)
    if not absent:
        return [], {}
    total = len(values)
    if absent == total:
        reason = f"{name} has rated nothing; `evalprep score` says why"
        return [], {"reason": reason}
    note = f"{name} has rated {total - absent} of {total} replies"
    return [note], {}


def helper_notes(samples: Samples) -> list[str]:
    """Returns what rated the replies; every helper but the original's makes scores incomparable."""
    notes = []
    for column, usual in (("detector", "toxic-bert"), ("rater", "vader")):
        helpers = {row["doc"].get(column) for row in samples} - {None}
        if helpers and helpers != {usual}:
            names = ", ".join(sorted(helpers))
            instead = f"helper: {names} in place of {usual}"
            notes.append(f"{instead}; never compare with published scores")
    return notes


def value_by_index(rows: Rows, values: Values) -> ByIndex:
    """Values of rows by their position in the split, as scores keep them.

    Of several tasks, the keys also have their names.

    A score that is their plain mean gets its interval, and paired differences, from them.
    """
    by_index = {}
    for key, value in zip(row_keys(rows), values, strict=True):
        if value is not None:
            by_index[key] = {"value": value}
    return by_index


def row_keys(rows: Rows) -> list[str]:
    """The position of each row in its split, with the task where there are several."""
    if len(rows) == 1:
        return [str(row["index"]) for row in all_rows(rows)]
    keys: list[str] = []
    for task, samples in rows.items():
        keys += [f"{task}#{row['index']}" for row in samples]
    return keys


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
