"""F1 of relation tuples (evidence_inference): exact, by substring, by token overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.normalize import (
    FAULTY,
    Counts,
    add,
    fraction,
    normalize_list_entry,
    precision_recall_f1,
    token_f1,
)

Entry = tuple[str, ...]
Match = Callable[[Entry, Entry], bool]
TUPLE_LENGTH = 5
OVERLAP_THRESHOLD = 0.3
EFFECT = 3
"""Place of the effect label in [intervention, comparator, outcome, effect, evidence]."""

_PARSE = ("entry_not_list", "good_list", "bad_list", "wrong_length")
_SCORES = ("exact", "substring", "overlap")


MAX_PAIRS = 1_000_000
"""Predicted times expected tuples of a row that are compared.

Predictions beyond them match nothing.
"""


def _entry(entry: Any, length: int) -> tuple[str, Entry | None]:
    """Returns the remark on one predicted entry, and its normalised items if they can be used."""
    if not isinstance(entry, list):
        return "entry_not_list", None
    if len(entry) != length:
        return "wrong_length", None
    try:
        return "good_list", tuple(normalize_list_entry(item) for item in entry)
    except TypeError:
        return "bad_list", None


def _predicted(pred: Any, length: int, counts: Counts, mode: str) -> list[Entry]:
    if not is_compat(mode, "container") and (pred == "" or isinstance(pred, dict)):
        counts[FAULTY] += 1
        return []  # the original stops here, looking for a first item
    if pred == []:
        return []
    try:
        several = isinstance(pred[0], list) or _holds_tuples(pred, length, mode)
    except TypeError:
        counts[FAULTY] += 1
        return []
    candidates = pred if several else [pred]
    entries = []
    for candidate in candidates:
        verdict, entry = _entry(candidate, length)
        counts[verdict] += 1
        if entry is not None:
            entries.append(entry)
        else:
            counts[FAULTY] += 1
    return entries


def _holds_tuples(pred: Any, length: int, mode: str) -> bool:
    """Returns whether a list that begins with something else holds tuples.

    The original takes it for one, of a wrong length.
    """
    if is_compat(mode, "faulty_part") or not isinstance(pred, list) or len(pred) == length:
        return False
    return any(isinstance(item, list) for item in pred)


def _every_item(alike: Callable[[str, str], bool], mode: str) -> Match:
    """Two tuples match when all their items do.

    Corrected: identical items match, also two nulls and items without a single token, and a null
        matches nothing else.
    """
    old_nulls = is_compat(mode, "null_comparator")
    old_empty = is_compat(mode, "empty_item")

    def match_items(ours: str, theirs: str) -> bool:
        if "" in {ours, theirs}:
            if old_nulls:
                return ours != "" and alike(ours, theirs)
            return ours == theirs
        return (ours == theirs and not old_empty) or alike(ours, theirs)

    def match_entries(pred: Entry, ref: Entry) -> bool:
        return all(match_items(ours, theirs) for ours, theirs in zip(pred, ref, strict=True))

    return match_entries


def _greedy(pred: Sequence[Entry], ref: Sequence[Entry], match: Match) -> int:
    """Number of predictions that find an unused reference, in order; equal references are one."""
    used: set[Entry] = set()
    # A reply that repeats one tuple to its token limit is compared no further: no row has a hundred
    # relations.
    for ours in pred[: max(1, MAX_PAIRS // max(1, len(ref)))]:
        partner = next(
            (theirs for theirs in ref if theirs not in used and match(ours, theirs)), None
        )
        if partner is not None:
            used.add(partner)
    return len(used)


def relation_counts(
    pred: Any,
    ref: Any,
    tup_len: int = TUPLE_LENGTH,
    overlap_thresh: float = OVERLAP_THRESHOLD,
    mode: str = CORRECTED,
) -> Counts:
    """Counts of one row.

    `preds`, `refs`, matches by kind, and what became of the predicted entries. `strict` are
    overlap matches whose effect label is also equal.
    """
    counts: Counts = dict.fromkeys((*_PARSE, FAULTY), 0)
    predicted = _predicted(pred, tup_len, counts, mode)
    if is_compat(mode, "reference"):
        expected = [tuple(normalize_list_entry(item) for item in entry) for entry in ref]
    else:
        expected = []
        for item in ref if isinstance(ref, list) else []:
            _, entry = _entry(item, tup_len)
            if entry is not None:
                expected.append(entry)

    def contains(ours: str, theirs: str) -> bool:
        return ours in theirs or theirs in ours

    def overlaps(ours: str, theirs: str) -> bool:
        return token_f1(ours, theirs) >= overlap_thresh

    substring = _every_item(contains, mode)
    overlap = _every_item(overlaps, mode)

    def strict(ours: Entry, theirs: Entry) -> bool:
        same_effect = ours[EFFECT : EFFECT + 1] == theirs[EFFECT : EFFECT + 1]
        return same_effect and overlap(ours, theirs)

    return counts | {
        "preds": len(predicted),
        "refs": len(expected),
        "exact": len(set(predicted) & set(expected)),
        "substring": _greedy(predicted, expected, substring),
        "overlap": _greedy(predicted, expected, overlap),
        "strict": _greedy(predicted, expected, strict),
    }


def relation_result(counts: Mapping[str, float]) -> dict[str, Any]:
    """The result of `relation_f1` from summed `relation_counts`."""
    preds = counts.get("preds", 0)
    refs = counts.get("refs", 0)
    result: dict[str, Any] = {}
    for name in _SCORES:
        result[name] = precision_recall_f1(counts.get(name, 0), preds, refs)
    parse: dict[str, float] = {name: counts.get(name, 0) for name in _PARSE}
    parse["frac_success"] = fraction(parse["good_list"], sum(parse.values()))
    result["parse_counts"] = parse
    return result


def strict_result(counts: Mapping[str, float]) -> dict[str, float]:
    """The result of `relation_overlap_strict` from summed `relation_counts`."""
    return precision_recall_f1(
        counts.get("strict", 0), counts.get("preds", 0), counts.get("refs", 0)
    )


def _total(
    instances: Iterable[Mapping[str, Any]], tup_len: int, overlap_thresh: float, mode: str
) -> Counts:
    total: Counts = {}
    for instance in instances:
        add(
            total, relation_counts(instance["pred"], instance["ref"], tup_len, overlap_thresh, mode)
        )
    return total


def relation_f1(
    instances: Iterable[Mapping[str, Any]],
    tup_len: int = TUPLE_LENGTH,
    overlap_thresh: float = OVERLAP_THRESHOLD,
    mode: str = CORRECTED,
) -> dict[str, Any]:
    """Micro F1 of relation tuples, in [0, 1], higher is better.

    `exact` intersects the sets of normalised tuples. `substring` and `overlap` match greedily: each
    prediction takes the first unused reference for which every item is a sub- or superstring, or
    has token F1 of at least `overlap_thresh`. The published number is the F1 of `overlap`. Its
    known weakness: "significantly increased" and "significantly decreased" share half their tokens
    and pass; `relation_overlap_strict` asks for an equal effect.

    Args:
        instances: Rows with `pred` and `ref`: lists of tuples of `tup_len` items.
        tup_len: Number of items in a tuple.
        overlap_thresh: Least token F1 of every item.
        mode: In "compat" a null item matches no null, but any reference item contains it.

    Returns:
        `{"exact", "substring", "overlap": {"p", "r", "f1"}, "parse_counts": {...}}`; `parse_counts`
        tells predicted entries that are no list, of the wrong length, holding objects, or good.
    """
    return relation_result(_total(instances, tup_len, overlap_thresh, mode))


def relation_overlap_strict(
    instances: Iterable[Mapping[str, Any]],
    tup_len: int = TUPLE_LENGTH,
    overlap_thresh: float = OVERLAP_THRESHOLD,
    mode: str = CORRECTED,
) -> dict[str, float]:
    """Token-overlap F1 of relation tuples whose effect label is equal; in [0, 1], higher is better.

    >>> rise = ["zinc", "placebo", "pain", "significantly increased", "Pain rose."]
    >>> fall = [*rise[:3], "significantly decreased", rise[4]]
    >>> relation_f1([{"pred": [fall], "ref": [rise]}])["overlap"]["f1"]
    1.0
    >>> relation_overlap_strict([{"pred": [fall], "ref": [rise]}])["f1"]
    0
    """
    return strict_result(_total(instances, tup_len, overlap_thresh, mode))


METRICS: dict[str, Callable[..., Any]] = {
    "science.relation_f1": relation_f1,
    "science.relation_overlap_strict": relation_overlap_strict,
}
