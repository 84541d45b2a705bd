"""The return value of a pack's function for a score, held against the contract.

Packs are anybody's: one key of a wrong kind must cost that key and a note, not the verb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from custom_metrics.statistics import Influence
from evalprep.numbers import finite_number
from evalprep.packs import Pack
from evalprep.score.result import Result, texts

Check = Callable[[Any], bool]
Bounds = tuple[float | None, float | None]
_ROUNDING = 1e-6


def _is_number(value: Any) -> bool:
    return finite_number(value) is not None


def _is_count(value: Any) -> bool:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return is_integer and value >= 0


def _is_error(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_interval(value: Any) -> bool:
    if not _is_list(value) or len(value) != 2:
        return False
    low, high = value
    return _is_number(low) and _is_number(high) and low <= high


def _is_read(value: Any) -> bool:
    if not _is_list(value) or len(value) != 2:
        return False
    return all(map(_is_count, value))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_names(value: Any) -> bool:
    return _is_list(value) and all(map(_is_text, value))


def _is_notes(value: Any) -> bool:
    return _is_text(value) or _is_names(value)


def _is_mappings(value: Any) -> bool:
    return _is_list(value) and all(map(_is_mapping, value))


def _is_skipped(value: Any) -> bool:
    return _is_mapping(value) and all(map(_is_count, value.values()))


def _is_distributions(value: Any) -> bool:
    return _is_mapping(value) and all(map(_is_list, value.values()))


def _is_influence(value: Any) -> bool:
    return isinstance(value, Influence) or callable(value)


#: Key -> what it must be, and in words. A key that is not here is the pack's own.
_CONTRACT: dict[str, tuple[Check, str]] = {
    "interval": (_is_interval, "two numbers, the lower one first"),
    "stderr": (_is_error, "a number that is not negative"),
    "n": (_is_count, "a count"),
    "clusters": (_is_count, "a count"),
    "read": (_is_read, "two counts"),
    "rule": (_is_text, "a text"),
    "reason": (_is_text, "a text"),
    "explain": (_is_text, "a text"),
    "scored_by": (_is_text, "a text"),
    "reference_sha256": (_is_text, "a text"),
    "stated": (_is_number, "a number"),
    "against": (_is_mappings, "a list of mappings"),
    "notes": (_is_notes, "a text or a list of texts"),
    "over": (_is_names, "a list of names"),
    "skipped": (_is_skipped, "a mapping of reasons to counts"),
    "parts": (_is_mapping, "a mapping"),
    "categories": (_is_mapping, "a mapping"),
    "records": (_is_mapping, "a mapping"),
    "value_by_index": (_is_mapping, "a mapping"),
    "scored_with": (_is_mapping, "a mapping"),
    "distributions": (_is_distributions, "a mapping of names to lists of numbers"),
    "undefined": (_is_flag, "true or false"),
    "influence": (_is_influence, "an Influence or a function that makes one"),
}


def checked(returned: Any, function: str, bounds: Bounds = (None, None)) -> Result:
    """Returns what a pack's function returned, without the keys that break the contract.

    A note names each. A value that is no number, or outside the declared range of its score, is
    none, with the reason.

    Args:
        returned: What the function returned.
        function: Its name in pack.yaml, for the notes.
        bounds: Least and largest value of the score; None where there is no bound.

    >>> checked({"agg_value": 0.5, "n": "many"}, "score.rate").notes
    ['score.rate: n is left out, as it is not a count']
    >>> checked({"agg_value": "0.5"}, "score.rate").reason
    "score.rate returned '0.5' as agg_value, which is not a number"
    >>> checked({"agg_value": 4.35}, "score.rate", (0.0, 1.0)).reason
    'score.rate is 4.35, which is outside the range of the score, 0 to 1'
    """
    if not isinstance(returned, Mapping) or "agg_value" not in returned:
        return Result.without_value(f"{function} returned no agg_value")
    plain = {str(key): _plain(value) for key, value in returned.items()}
    faults = []
    for key, (is_valid, meaning) in _CONTRACT.items():
        if plain.get(key) is not None and not is_valid(plain[key]):
            del plain[key]
            faults.append(f"{function}: {key} is left out, as it is not {meaning}")
    if faults:
        plain["notes"] = [*texts(plain.get("notes")), *faults]
    influence = plain.get("influence")
    if callable(influence):
        plain["influence"] = _guarded(influence)
    value = plain["agg_value"]
    if not (value is None or isinstance(value, float) or _is_number(value)):
        plain["agg_value"] = None
        shown = _short(value)
        plain["reason"] = f"{function} returned {shown} as agg_value, which is not a number"
    elif not _is_within(value, bounds):
        plain["agg_value"] = None
        ends = " to ".join("any" if bound is None else f"{bound:g}" for bound in bounds)
        plain["reason"] = (
            f"{function} is {value:g}, which is outside the range of the score, {ends}"
        )
    return Result.of(plain)


def range_of(pack: Pack, score: str) -> Bounds:
    """Returns the declared range of a score of a pack; without bounds for one that it has not."""
    declared = pack.suite_scores.get(score)
    return (None, None) if declared is None else declared.range


def _is_within(value: Any, bounds: Bounds) -> bool:
    """Returns whether a value keeps to a range, but for the rounding of a sum."""
    number = finite_number(value)
    if number is None:
        return True
    low, high = bounds
    is_low_enough = high is None or number <= high + _ROUNDING
    return is_low_enough and (low is None or number >= low - _ROUNDING)


def _plain(value: Any) -> Any:
    """A value without numpy's types, and its text without halves of characters."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        # Entries that are lists themselves stay as they are.
        return [_plain(entry) if isinstance(entry, (str, np.generic)) else entry for entry in value]
    return value


def _short(value: Any) -> str:
    """A value in a message: some are arrays of a million numbers."""
    if isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return repr(value[:40])
    return f"a value of type {type(value).__name__}"


def _guarded(influence: Callable[[], Any]) -> Callable[[], Influence | None]:
    """Makes of a failing function one that knows no influence: the score has no test then."""

    def known() -> Influence | None:
        try:
            computed = influence()
        except Exception:  # noqa: BLE001 - one broken score must not take the others with it
            return None
        if isinstance(computed, Influence):
            return computed
        return None

    return partial(_remembered, known)


@lru_cache(maxsize=512)
def _remembered(known: Callable[[], Influence | None]) -> Influence | None:
    """The influences of the scores that were asked for last.

    Each pair of a table of runs asks for those of both runs; all of many runs are too large to
    keep.
    """
    return known()
