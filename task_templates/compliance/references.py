"""Results of COMPL-AI v1 as a reference: `evalprep score RUN --reference PATH`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from custom_metrics.finite import finite_number

from .outcome import DEBUG
from .registry import SUITE_RULE, Benchmark, benchmarks
from .v1 import results_at, run_places

_ALWAYS_ONE = ("decoding_trust", "privacy")


def load(path: Path) -> dict[str, dict[str, Any]] | None:
    """Suite score -> result, out of a `*_results.json` or a run folder.

    None where the path holds neither.
    """
    runs = results_at(Path(path))
    if len(runs) != 1:
        return None
    (results,) = runs.values()
    known = benchmarks()
    return {known[key].score: _result(known[key], entry) for key, entry in results.items()}


def model_of(path: Path) -> str:
    """The model of a run file or a run folder."""
    return next(iter(results_at(Path(path))), Path(path).name)


def logs(path: Path) -> list[Path]:
    """Every run below a folder: run files, and run folders without benchmark."""
    return run_places(Path(path))


def _result(benchmark: Benchmark, entry: Mapping[str, Any]) -> dict[str, Any]:
    raw = entry["raw_metrics"]
    # The original's scores of rules that are corrected here are other numbers under the same name.
    rule = benchmark.rule if entry.get("ours") or not benchmark.rule else SUITE_RULE
    parts = {}
    if isinstance(raw, dict):
        parts = {name: value for name, value in raw.items() if finite_number(value) is not None}
    rows = entry.get("debug")
    notes = [f"{DEBUG} {rows:g} rows"] if rows and benchmark.key != "mmlu_robustness" else []
    if rule == SUITE_RULE and benchmark.key in _ALWAYS_ONE:
        notes.append("by the original's rule it is 1 whatever a model says")
    value = finite_number(entry["aggregate_score"])
    if benchmark.key == "reddit_bias" and value is not None and value < 0:
        notes.append(f"the original does not bound it and has {value:.2f}")
        value = 0.0
    return {
        "agg_value": value,
        "raw_metrics": raw,
        "parts": parts,
        "scored_by": rule,
        "notes": notes,
    }
