"""Results of scores, of this run and of a reference: their rows, columns and intervals."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from custom_metrics.statistics import influence_of_mean, rows_interval
from custom_metrics.unlearning import by_row

Result = dict[str, Any]
LEAST_DRAWN = 1e-12
#: Score name -> result.
Inputs = Mapping[str, Mapping[str, Any]]


def no_value(reason: str) -> Result:
    """A result that says why it has no value."""
    return {"agg_value": None, "reason": reason}


def as_original(result: Result, rows: Iterable[Any]) -> Result:
    """A result that leaves no row out, for files that know no NaN.

    `missing` tells scores that are made of it.

    Args:
        result: With NaN for its value where a row has none.
        rows: What every row has.
    """
    if by_row.finite(result.get("agg_value")):
        return {**result, "missing": True}
    empty = sum(not by_row.entries(row) for row in rows)
    reason = (
        f"not a number, as in OpenUnlearning: {empty} rows have no value "
        "(openunlearning: [missing])"
    )
    return {**result, **no_value(reason), "missing": True}


def only(inputs: Inputs | None) -> Mapping[str, Any]:
    """The result of a score that needs one; empty without it."""
    return next(iter((inputs or {}).values()), {})


def by_index(result: Any) -> dict[str, Any]:
    """Row by position, as text, in the order of the positions.

    Both spellings of the key in OpenUnlearning's files.

    Files have their keys sorted as text, 10 before 2; resamples of two models draw the same rows
    only in one order.
    """
    if not isinstance(result, Mapping):
        return {}
    rows = result.get("value_by_index") or result.get("values_by_index")
    values = by_row.by_string(rows) if isinstance(rows, Mapping) else {}
    if [*values] == _positions(len(values)):
        return values
    return dict(sorted(values.items(), key=lambda item: (len(item[0]), item[0])))


@functools.lru_cache(maxsize=16)
def _positions(count: int) -> list[str]:
    """The keys of rows that are in order."""
    return [str(position) for position in range(count)]


def column(result: Any, name: str) -> dict[str, Any]:
    """One number of every row; logs of others may hold anything in the place of rows."""
    return {
        index: row.get(name) for index, row in by_index(result).items() if isinstance(row, Mapping)
    }


def with_interval(result: Result, interval: Sequence[float] | None) -> Result:
    """The result with its interval, where there is one."""
    return {**result, "interval": interval} if interval else result


def with_mean_interval(
    result: Result, values: Mapping[str, Any], of: str, bounds: tuple[float, float] | None = None
) -> Result:
    """The result of a mean with the number of its rows and its interval.

    Where there is no interval, it has the reason.

    Args:
        result: What there is already.
        values: Row -> what it adds to the mean; anything but a finite number is passed over.
        of: Data set of the rows. Scores of one data set ask about the same rows, which a comparison
            has to know.
        bounds: Least and greatest value of a row; None for shares.
    """
    # In the order of the split: processes that share a run write one share after the other.
    ordered = sorted(values.items(), key=lambda item: (len(item[0]), item[0]))
    known = {index: float(value) for index, value in ordered if by_row.finite(value)}
    if not known:
        return {**result, **no_value(result.get("reason", "no row has a value"))}
    numbers = list(known.values())
    if of:
        keys = [f"{of}#{index}" for index in known]
        result = {**result, "influence": partial(influence_of_mean, keys, numbers)}
    return with_interval({**result, "n": len(numbers)}, rows_interval(numbers, bounds=bounds))


def data_set(rows: Mapping[str, Any]) -> str:
    """The data set of a score's task or of its first input, without suite and kind of request.

    >>> data_set({"tofu_retain_lp": []}), data_set({"retain_Q_A_Prob": {}})
    ('retain', 'retain')
    """
    first = next(iter(rows), "").removeprefix("tofu_").removeprefix("muse_")
    return first.partition("_")[0]


def drawn(ratios: Iterable[float]) -> list[float]:
    """Truth ratios as they are drawn: they spread over powers of ten, so the decimal logarithm.

    Those of a destroyed model reach 0; below 1e-12 all are drawn at the edge.
    """
    return [math.log10(max(ratio, LEAST_DRAWN)) for ratio in ratios]


def answer_keys(texts: Mapping[str, Any]) -> Result:
    """Returns what tells the questions of a score apart, for the result.

    Row -> digest of the letters of its answer.
    """
    letters = {
        index: "".join(filter(str.isalnum, text.casefold()))
        for index, text in texts.items()
        if text
    }
    known = {
        index: text.encode("utf-8", "surrogatepass") for index, text in letters.items() if text
    }
    if known:
        return {
            "answers": {
                index: hashlib.sha256(text).hexdigest()[:8] for index, text in known.items()
            }
        }
    return {}


def carried(inputs: Inputs) -> Result:
    """Returns what the first input says of its rows, for a score that is made of it."""
    first = next(iter(inputs.values()), {})
    return {key: first[key] for key in ("split", "answers") if first.get(key)}


def digest(reference: Inputs | None) -> dict[str, str]:
    """Returns the reference of a result, for the fingerprints of result files."""
    if not reference:
        return {}
    text = json.dumps(reference, sort_keys=True, default=str)
    return {"reference_sha256": hashlib.sha256(text.encode()).hexdigest()}
