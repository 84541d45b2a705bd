"""Result files in OpenUnlearning's layout: `TOFU_EVAL.json`, `TOFU_SUMMARY.json` and the same for MUSE.

Values are `{"agg_value": x, "value_by_index": {"0": {...}}}` with rows by position in the split, so that the files
serve as reference logs there and here. `meta` says what each metric was computed from. A metric that the file already
has is kept as it is while its fingerprint is the same; a metric without a value is never kept.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from custom_metrics.unlearning.utility import summary
from evalprep.packapi import file_sha256

from .names import suite_of, upstream_name

SCHEMA = 1
#: Raised when a formula changes, so that numbers of the old one are not kept.
RULES = 1

DEFAULTS = {
    "TOFU": (
        *("forget_truth_ratio", "forget_quality", "forget_Q_A_Prob", "forget_Q_A_ROUGE", "model_utility"),
        *("privleak", "extraction_strength"),
    ),
    "MUSE": (
        *("forget_knowmem_ROUGE", "retain_knowmem_ROUGE", "forget_verbmem_ROUGE", "privleak"),
        "extraction_strength",
    ),
}
#: Task options that decide a number; they are part of every fingerprint.
OPTIONS = ("token_logprobs", "unlearning")


def export(*, scores: Mapping[str, Mapping[str, Any]], run: Any, out_dir: Path) -> list[Path]:
    """Write the result files of the suites that the run has.

    Args:
        scores: Score name -> result.
        run: The run that was scored.
        out_dir: Folder of the files.

    Returns:
        The files written.
    """
    out_dir = Path(out_dir)
    written: list[Path] = []
    for suite in DEFAULTS:
        own = {upstream_name(name): result for name, result in scores.items() if suite_of(name) == suite}
        if own:
            written += _write_suite(suite, own, run, out_dir)
    return written


def _write_suite(suite: str, results: Mapping[str, Mapping[str, Any]], run: Any, out_dir: Path) -> list[Path]:
    tasks = {name: task for name, task in run.tasks.items() if name.startswith(f"{suite.lower()}_")}
    facts = {name: _task_facts(task) for name, task in tasks.items()}
    content: dict[str, Any] = {}
    metrics_meta: dict[str, Any] = {}
    file = out_dir / f"{suite}_EVAL.json"
    known, known_meta = _read(file)
    for name, result in results.items():
        fingerprint = _fingerprint(name, result, run, facts)
        old = known.get(name)
        same = known_meta.get(name, {}).get("fingerprint") == fingerprint
        keep = same and isinstance(old, dict) and old.get("agg_value") is not None
        content[name] = old if keep else _plain(result)
        metrics_meta[name] = {"fingerprint": fingerprint, "skipped": content[name].get("skipped", {})}
    content["meta"] = {
        "schema": SCHEMA,
        "suite": suite,
        "model": run.model,
        "model_args": run.results.get("config", {}).get("model_args"),
        "lm_eval_version": run.results.get("lm_eval_version"),
        "tasks": facts,
        "metrics": metrics_meta,
    }
    extra = [name for facts_of in facts.values() for name in facts_of["settings"].get("metrics", [])]
    short = summary(logs=content, configured_metrics=list(dict.fromkeys([*DEFAULTS[suite], *extra])))
    out_dir.mkdir(parents=True, exist_ok=True)
    summary_file = out_dir / f"{suite}_SUMMARY.json"
    _write(file, content)
    _write(summary_file, short)
    return [file, summary_file]


def _task_facts(task: Any) -> dict[str, Any]:
    """What decides the samples of one task: their file, the data and the prompt settings."""
    return {
        "samples": Path(task.path).name,
        "samples_sha256": file_sha256(Path(task.path)),
        "settings": dict(task.metadata.get("unlearning") or {}),
        "token_logprobs": dict(task.metadata.get("token_logprobs") or {}),
    }


def _fingerprint(name: str, result: Mapping[str, Any], run: Any, facts: Mapping[str, Any]) -> str:
    """Hash of everything a metric was computed from: all samples of the suite, the rules, the model, the reference."""
    basis = {
        "metric": name,
        "rules": RULES,
        "model": run.model,
        "samples": {task: fact["samples_sha256"] for task, fact in facts.items()},
        "options": {task: [fact["settings"], fact["token_logprobs"]] for task, fact in facts.items()},
        "reference": result.get("reference_sha256"),
        "judgements": result.get("judgements_sha256"),
    }
    return hashlib.sha256(json.dumps(_plain(basis), sort_keys=True).encode()).hexdigest()


def _read(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metrics of an existing file and what they were computed from; empty for a file that is not ours."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return content, content["meta"]["metrics"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}


def _plain(value: Any) -> Any:
    """The same as strict JSON: text keys, NaN and infinities as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _write(file: Path, content: Mapping[str, Any]) -> None:
    """Replace a file at once, so that an interrupted export leaves the old one."""
    text = json.dumps(content, indent=4, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8", suffix=".tmp") as handle:
        handle.write(text + "\n")
    os.replace(handle.name, file)  # noqa: PTH105 - the name is text here
