"""Results that users of COMPL-AI v1 have on disk: run folders and `*_results.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from custom_metrics.compliance.aggregate import ALIASES, aggregate_score
from custom_metrics.finite import finite_number
from evalprep.packapi import read_file

from .registry import NO_RESULT, SUITE_RULE, benchmarks

#: The original documents the first name and writes the second.
_FINAL = ("final_results.json", "final_result.json")
_RESULTS = "_results.json"
_NOT_OURS = "eval_results.json"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([_-][\d:_-]{0,20})?")
#: Large enough for any file of the original, small enough to refuse a wrong one.
_MOST_BYTES = 64 << 20

Results = dict[str, dict[str, Any]]


def read_json(path: Path) -> Any:
    """A JSON file; None where it is too large or no JSON."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        return json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return None


def run_file(data: Any) -> Results | None:
    """Benchmark -> `raw_metrics` and `aggregate_score` of a run file; None where it is none.

    Scores that are missing are computed from the raw metrics where these allow it.
    """
    if not isinstance(data, Mapping):
        return None
    results: Results = {}
    for name, entry in data.items():
        key = ALIASES.get(str(name), str(name))
        if key in benchmarks() and isinstance(entry, Mapping) and "aggregate_score" in entry:
            debug = finite_number(_subset_size(data))
            results[key] = _entry(key, entry, ours=_ours(data)) | {"debug": debug}
    return results or None


def _subset_size(data: Mapping[str, Any]) -> Any:
    """The rows of a debug run; None of any other."""
    return data.get("subset_size") if data.get("debug") is True else None


def _ours(data: Mapping[str, Any]) -> bool:
    """Returns whether this pack computed a file's scores.

    It may also have copied those of the original.
    """
    return "suite" in data and data.get("scored_by") != SUITE_RULE


def _entry(key: str, entry: Mapping[str, Any], *, ours: bool) -> dict[str, Any]:
    """Raw metrics and score, and whether this pack computed them."""
    score = finite_number(entry.get("aggregate_score"))
    raw = entry.get("raw_metrics")
    if key == "human_eval" and isinstance(raw, Mapping):
        known = {name: finite_number(share) for name, share in raw.items()}
        raw = {name: 100.0 * share for name, share in known.items() if share is not None}
    if score is None and isinstance(raw, Mapping):
        try:
            score = aggregate_score(benchmark=key, raw=raw, compat=True)
        except ValueError:
            score = None
    kept = raw if isinstance(raw, (Mapping, list)) else NO_RESULT
    return {
        "raw_metrics": kept,
        "aggregate_score": NO_RESULT if score is None else score,
        "ours": ours,
    }


def run_folder(folder: Path) -> Results | None:
    """Results of version 1 out of a folder with one folder per benchmark.

    Of several folders of one benchmark the newest counts.
    """
    results: Results = {}
    times: dict[str, float] = {}
    for path in _finals(folder):
        data = _mapping(read_json(path))
        final = data.get("FinalResult")
        if not isinstance(final, Mapping):
            continue
        # A benchmark by its folder (`bbq__2024-06-15_18:31:29`), else by its files.
        config = _config(path.parent)
        stated = [config.get("name", ""), config.get("type", ""), data.get("benchmark", "")]
        names = [path.parent.name.partition("__")[0], *map(str, stated)]
        keys = [ALIASES.get(name, name) for name in names]
        key = next((key for key in keys if key in benchmarks()), "")
        time = finite_number(data.get("time")) or 0.0  # seconds since the epoch
        if key and time >= times.get(key, time):
            times[key] = time
            rows = finite_number(_debug(config) or _subset_size(data))
            results[key] = _entry(key, final, ours=_ours(data)) | {"debug": rows}
    return results or None


def _finals(folder: Path) -> list[Path]:
    return list(chain.from_iterable(sorted(folder.rglob(name)) for name in _FINAL))


def _config(folder: Path) -> Mapping[str, Any]:
    """Returns the facts of a benchmark from its config.json, with the model's name as `model`.

    Empty without one.
    """
    content = _mapping(read_json(folder / "config.json"))
    data = _mapping(content.get("config", content))  # an older form of the file has it inside
    configs = data.get("benchmark_configs")
    first = configs[0] if isinstance(configs, list) and configs else None
    model = _mapping(data.get("model"))
    return {**_mapping(first), "model": str(model.get("name") or "")}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _debug(config: Mapping[str, Any]) -> int | None:
    """Rows of a debug run; None for a run over all rows, or where nothing tells."""
    data = config.get("data_config")
    sizes = []
    for data_config in map(_mapping, data if isinstance(data, list) else [data]):
        size = data_config.get("subset_size", 1)
        if data_config.get("debug") is True and isinstance(size, int):
            sizes.append(size)
    return max(sizes, default=None)


def results_at(place: Path) -> dict[str, Results]:
    """Model -> results of everything at a place.

    A run file, a run folder, or a folder with many of them.
    """
    if place.is_file():
        results = run_file(read_json(place))
        return {model_of(place): results} if results else {}
    runs: dict[str, Results] = {}
    for path in _run_files(place):
        results = run_file(read_json(path))
        if results:
            runs[model_of(path)] = results
    if runs:
        return runs
    results = run_folder(place)
    if not results:
        return {}
    # The model as the configs name it, else by the folder's name, unless that is a date.
    named = {str(_config(path.parent)["model"]) for path in _finals(place)} - {""}
    if len(named) == 1:
        return {named.pop(): results}
    is_dated = _DATE.fullmatch(place.name) and place.parent.name
    return {place.parent.name if is_dated else place.name: results}


def _run_files(place: Path) -> list[Path]:
    files = sorted(place.rglob(f"*{_RESULTS}"))
    return [path for path in files if not path.name.endswith(_NOT_OURS) and path.name not in _FINAL]


def run_places(folder: Path) -> list[Path]:
    """Every run below a folder: its run file, else its folder of benchmarks.

    A folder of benchmarks counts where no run file lies in or above it.
    """
    files = [path for path in _run_files(folder) if run_file(read_json(path))]
    held = {path.parent for path in files}
    inside = dict.fromkeys(path.parent.parent for path in _finals(folder) if path.parent != folder)
    return [
        *files,
        *(run_place for run_place in inside if not held & {run_place, *run_place.parents}),
    ]


def model_of(path: Path) -> str:
    """The model's name as the run file is called after it."""
    return path.name.removesuffix(_RESULTS)
