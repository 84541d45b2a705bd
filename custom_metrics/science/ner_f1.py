"""F1 of named entities by type (biored_ner, scierc_ner)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.normalize import Counts, add, flatten, normalize_list_entry, precision_recall_f1


def _readable(entities: Any) -> dict[Any, list[Any]]:
    """The part of a prediction that names entities: lists of strings, numbers or null under their types."""
    if not isinstance(entities, dict):
        return {}
    return {
        kind: [mention for mention in flatten(mentions) if not isinstance(mention, dict)]
        for kind, mentions in entities.items()
        if isinstance(mentions, list)
    }


def _mentions(entities: Any, *, compat: bool) -> tuple[set[tuple[str, Any]], set[str]]:
    typed: set[tuple[str, Any]] = set()
    for kind, mentions in (entities if compat else _readable(entities)).items():
        typed.update((normalize_list_entry(mention), kind) for mention in flatten(mentions))
    return typed, {mention for mention, _ in typed}


def ner_counts(pred: Any, ref: Any, mode: str = CORRECTED) -> Counts:
    """Counts of one row: `typed_*` and `untyped_*` for `correct`, `preds`, `refs`."""
    compat = is_compat(mode)
    pred_typed, pred_untyped = _mentions(pred, compat=compat)
    ref_typed, ref_untyped = _mentions(ref, compat=compat)
    return {
        "typed_correct": len(pred_typed & ref_typed),
        "typed_preds": len(pred_typed),
        "typed_refs": len(ref_typed),
        "untyped_correct": len(pred_untyped & ref_untyped),
        "untyped_preds": len(pred_untyped),
        "untyped_refs": len(ref_untyped),
    }


def ner_result(counts: Mapping[str, float]) -> dict[str, Any]:
    """The result of `ner_f1` from summed `ner_counts`."""
    return {
        kind: precision_recall_f1(*(counts.get(f"{kind}_{name}", 0) for name in ("correct", "preds", "refs")))
        for kind in ("typed", "untyped")
    }


def ner_f1(instances: Iterable[Mapping[str, Any]], mode: str = CORRECTED) -> dict[str, Any]:
    """Micro F1 of (mention, type) pairs and of mentions alone, in [0, 1], higher is better.

    Mentions are flattened and normalised; types are compared as written, unknown types count as predictions. In
    corrected mode a prediction that is no object, a type whose value is no list, and an object among the mentions name
    no entities; the original raises or splits strings into characters.

    Args:
        instances: Rows with `pred` and `ref`: objects from entity type to a list of mentions.
        mode: "corrected" or "compat".

    Returns:
        `{"typed": {"p", "r", "f1"}, "untyped": {...}}`.

    >>> ner_f1([{"pred": {"gene": ["TP53"]}, "ref": {"Gene": ["tp53"]}}])["untyped"]["f1"]
    1.0
    """
    total: Counts = {}
    for instance in instances:
        add(total, ner_counts(instance["pred"], instance["ref"], mode))
    return ner_result(total)


METRICS: dict[str, Callable[..., Any]] = {"science.ner_f1": ner_f1}
