"""Results of COMPL-AI v1 as a reference: `evalprep score RUN --reference PATH`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .registry import SUITE_RULE, Benchmark, benchmarks
from .v1 import number, results_at


def load(path: Path) -> dict[str, dict[str, Any]] | None:
    """Suite score -> result, out of a `*_results.json` or a run folder; None where the path holds neither."""
    runs = results_at(Path(path))
    if len(runs) != 1:
        return None
    (results,) = runs.values()
    known = benchmarks()
    return {known[key].score: _result(known[key], entry) for key, entry in results.items()}


def _result(one: Benchmark, entry: Mapping[str, Any]) -> dict[str, Any]:
    raw = entry["raw_metrics"]
    # The original's scores of rules that are corrected here are other numbers under the same name.
    rule = one.rule if entry.get("ours") or not one.rule else SUITE_RULE
    parts = {name: value for name, value in raw.items() if number(value) is not None} if isinstance(raw, dict) else {}
    return {"agg_value": number(entry["aggregate_score"]), "raw_metrics": raw, "parts": parts, "scored_by": rule}
