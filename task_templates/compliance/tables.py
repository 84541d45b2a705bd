"""Many models side by side: all_results.csv and a heat map."""

from __future__ import annotations

import csv
import html
import math
from collections.abc import Mapping
from pathlib import Path

from custom_metrics.compliance.reporting import round_3_significant

from .registry import SUITE, scored
from .v1 import Results, number, results_at

CSV = "all_results.csv"
HEAT_MAP = "all_results.html"


def mean_of(results: Results) -> tuple[float | None, int]:
    """Mean of the benchmarks that have a score, and how many these are."""
    known = [value for key in scored() if (value := number(results.get(key, {}).get("aggregate_score"))) is not None]
    return (math.fsum(known) / len(known) if known else None), len(known)


def _sorted(runs: Mapping[str, Results]) -> list[tuple[str, Results]]:
    return sorted(runs.items(), key=lambda one: (-(mean_of(one[1])[0] or -1.0), one[0]))


def write_tables(folder: Path) -> list[Path]:
    """Write both tables over every `*_results.json` below a folder."""
    runs = results_at(folder)
    if not runs:
        return []
    keys = list(scored())
    with (folder / CSV).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model_name", "aggregate_score", "benchmarks_completed", *keys, "suite"])
        for model, results in _sorted(runs):
            mean, n = mean_of(results)
            cells = [number(results.get(key, {}).get("aggregate_score")) for key in keys]
            shown = [round_3_significant(value=value) for value in (mean, *cells)]
            writer.writerow([model, shown[0], f"{n} of {len(keys)}", *shown[1:], SUITE])
    (folder / HEAT_MAP).write_text(heat_map(runs), encoding="utf-8")
    return [folder / CSV, folder / HEAT_MAP]


def heat_map(runs: Mapping[str, Results]) -> str:
    """One row per benchmark, one column per model, in the order of the principles."""
    models = _sorted(runs)
    head = "".join(f"<th scope='col'>{html.escape(model)}</th>" for model, _results in models)
    lines, principle = [], ""
    for key, one in scored().items():
        if one.principle != principle:
            principle = one.principle
            lines.append(f"<tr><th colspan='{len(models) + 1}' class='p'>{html.escape(principle)}</th></tr>")
        cells = "".join(_cell(number(results.get(key, {}).get("aggregate_score"))) for _model, results in models)
        lines.append(f"<tr><th scope='row'>{html.escape(one.label)}</th>{cells}</tr>")
    means = "".join(
        _cell(mean_of(results)[0], f" ({mean_of(results)[1]} of {len(scored())})") for _m, results in models
    )
    lines.append(f"<tr><th scope='row'>Mean of what ran</th>{means}</tr>")
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>COMPL-AI v1: models</title><style>"
        "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.3em .7em;text-align:left}"
        "td{text-align:right;border:1px solid #ddd}.p{background:#eee}</style>"
        f"<h1>Models side by side</h1><p>{SUITE}. Means over different benchmarks cannot be compared.</p>"
        f"<table><tr><th></th>{head}</tr>{''.join(lines)}</table></html>\n"
    )


def _cell(value: float | None, more: str = "") -> str:
    if value is None:
        return "<td>n.a.</td>"
    return f"<td style='background:hsl({round(120 * value)},60%,85%)'>{value:.2f}{more}</td>"
