"""Results of COMPL-AI v1 as a reference: `evalprep score RUN --reference PATH`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .registry import benchmarks
from .v1 import number, results_at


def load(path: Path) -> dict[str, dict[str, Any]] | None:
    """Suite score -> result, out of a `*_results.json` or a run folder; None where the path holds neither."""
    runs = results_at(Path(path))
    if len(runs) != 1:
        return None
    (results,) = runs.values()
    known = benchmarks()
    return {known[key].score: {"agg_value": number(entry["aggregate_score"])} for key, entry in results.items()}
