"""Files in the manner of COMPL-AI v1: a folder per benchmark, the run's JSON, the report, a table over all models."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import time
import uuid
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from evalprep.packapi import ExportBoard, ExportRun, few_read, write_atomically

from .modelcard import card_of
from .outcome import STANDS_IN
from .registry import NO_RESULT, SUITE, SUITE_RULE, Benchmark, benchmarks, scored
from .report import Line, Report, markdown, page
from .tables import write_tables

SHARED = True  # several runs go into one folder; their files are named after the models
FOLDER = "compl_ai"
_SHOWN_SAMPLES = 10_000  # prompts of a benchmark that are copied; all stand in lm-eval's own files

Scores = Mapping[str, Mapping[str, Any]]


def export(*, scores: Scores, run: ExportRun, out_dir: Path) -> list[Path]:
    """Write everything about one run.

    Args:
        scores: Suite score -> result.
        run: The run.
        out_dir: Where to write.

    Returns:
        What was written.
    """
    folder = out_dir / FOLDER
    name = file_name(name_of(run))
    report = make_report(scores, run, folder.resolve())
    day = dt.datetime.now(tz=dt.UTC).strftime("%Y-%m-%d")
    for key in scored():
        if any(task in run.tasks for task in benchmarks()[key].tasks):
            _write_benchmark(folder / "runs" / name / day / key, benchmarks()[key], scores, run)
    card = card_of(run.folder)
    data = run_json(scores, _limit(run))
    _write(folder / f"{name}_results.json", data)
    if card:
        _write(folder / f"{name}_results_with_metadata.json", {**data, **card})
    for suffix, text in (("md", markdown(report)), ("html", page(report))):
        path = folder / f"{name}_report.{suffix}"
        write_atomically(path, text)
    return [folder / f"{name}_results.json", folder / f"{name}_report.md", folder / f"{name}_report.html"]


def export_board(*, board: ExportBoard, out_dir: Path) -> list[Path]:
    """Write the table over many models.

    Args:
        board: The models side by side.
        out_dir: Where to write.

    Returns:
        What was written.
    """
    return write_tables(board, out_dir / FOLDER)


def name_of(run: ExportRun) -> str:
    """The model by its name, a folder by its last part, and whatever more tells the run from others beside it."""
    last = run.model.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if run.label != last and not run.label.startswith(f"{last} "):
        return run.label
    return last if run.model.startswith((".", "/", "~")) or "\\" in run.model else run.model


def file_name(model: str) -> str:
    """The model's name as the original calls its files: lower case, blanks and slashes to underscores.

    >>> file_name("org/Some Model")
    'org_some_model'
    """
    return re.sub(r"[ /\\\\]", "_", model.strip("/")).lower()


def _write(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")


def final_of(one: Benchmark, scores: Scores) -> dict[str, Any]:
    """`aggregate_score` and `raw_metrics` of a benchmark, as the original's files hold them."""
    result = scores.get(one.score, {})
    value, raw = result.get("agg_value"), result.get("raw_metrics")
    if value is None:
        return {"aggregate_score": NO_RESULT, "raw_metrics": NO_RESULT}
    kept = dict(raw or {})
    if one.key == "human_eval":  # the original divides its percentages by 100 in this file
        kept = {name: share / 100 for name, share in kept.items()}
    if result.get("parse_rate") is not None:
        kept["parse_rate"] = result["parse_rate"]
    return {"aggregate_score": value, "raw_metrics": kept}


def run_json(scores: Scores, limit: float | None) -> dict[str, Any]:
    """The run's JSON: one key per benchmark, `version` and `created_at`; of a trial also `debug` and `subset_size`."""
    data: dict[str, Any] = {key: final_of(one, scores) for key, one in benchmarks().items() if key != "watermark"}
    now = dt.datetime.now(tz=dt.UTC)
    data |= {"version": "1", "created_at": now.strftime("%Y-%m-%d--%H:%M:%S"), "suite": SUITE}
    data |= {"stand_ins": True} if stand_ins(scores) else {}
    data |= {} if limit is None else {"debug": True, "subset_size": limit}
    return data | ({"scored_by": SUITE_RULE} if of_the_original(scores) else {})


def stand_ins(scores: Scores) -> bool:
    """Whether scores are of the pack's own small rows."""
    return any(STANDS_IN in (result.get("notes") or ()) for result in scores.values())


def of_the_original(scores: Scores) -> bool:
    """Whether scores were computed by COMPL-AI itself, and read out of its files."""
    return any(result.get("scored_by") == SUITE_RULE for result in scores.values())


def _write_benchmark(folder: Path, one: Benchmark, scores: Scores, run: ExportRun) -> None:
    """config.json, final_results.json, prompts.json, prompts_idx.json, eval_results.json, and error.txt on failure."""
    tasks = [run.tasks[task] for task in one.tasks if task in run.tasks]
    result = scores.get(one.score, {})
    limit = _limit(run)
    _write(folder / "config.json", {"benchmark": one.key, "tasks": {task.name: dict(task.config) for task in tasks}})
    final = {
        "run_id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{run.label}/{one.key}")),
        "time": time.time(),
        "category": one.category,
        "benchmark": one.key,
        "suite": SUITE,
        "FinalResult": final_of(one, scores),
        "debug": limit is not None,
        "subset_size": limit,
        "n_samples": result.get("n"),
        "lm_eval_version": run.lm_eval_version,
        "task_versions": {task.name: task.metadata.get("version") for task in tasks},
        "notes": result.get("notes", []),
    }
    _write(folder / "final_results.json", final)
    prompts = [
        {"task": task.name, "sample_id": sample.sample_id, "prompt": sample.prompt, "output": sample.response}
        for task in tasks
        for sample in islice(task.samples(), _SHOWN_SAMPLES)
    ]
    _write(folder / "prompts.json", prompts)
    _write(folder / "prompts_idx.json", {f"{row['task']}/{row['sample_id']}": i for i, row in enumerate(prompts)})
    _write(folder / "eval_results.json", {})
    error = folder / "error.txt"
    if result.get("agg_value") is None:
        error.write_text(f"{result.get('reason', 'no value')}\n", encoding="utf-8")
    else:
        error.unlink(missing_ok=True)  # of an earlier try


def make_report(scores: Scores, run: ExportRun, home: Path) -> Report:
    """The report of a run: every benchmark of the registry, evaluated or not, with the reason."""
    limit = _limit(run)
    facts = {
        "run": run.label,
        "suite": SUITE,
        "lm-eval": run.lm_eval_version or "unknown",
        "back end": str(run.settings.get("model", "unknown")),
        "rows per task": "all" if limit is None else f"at most {limit:g}: a trial, no measurement",
    }
    if not run.tasks:
        facts["rows per task"] = "unknown: scores without samples"
    lines = {key: _line(one, scores, run, home) for key, one in benchmarks().items()}
    notes = [] if limit is None else [f"debug: at most {limit:g} rows of a task"]
    if stand_ins(scores):
        notes.append("data: small stand-in rows of the pack; scores say nothing about a model")
    if of_the_original(scores):
        notes.append(f"scores: {SUITE_RULE}; its decoding_trust and privacy are 1 whatever a model says")
    return Report(run.model, lines, card_of(run.folder), facts, notes)


def _limit(run: ExportRun) -> float | None:
    """Rows per task that were asked for; None for all. Of several commands lm-eval's settings are those of one."""
    found = run.settings.get("limit")
    return float(found) if isinstance(found, (int, float)) else None


def _line(one: Benchmark, scores: Scores, run: ExportRun, home: Path) -> Line:
    """One benchmark; its samples as links from the folder of the report."""
    if one.unavailable:
        return Line(one, reason=one.unavailable)
    result = scores.get(one.score)
    if result is None:
        return Line(one, reason=_why_not(one, run))
    notes = [str(note) for note in result.get("notes") or ()]
    if result.get("parse_rate") is not None:
        notes.insert(0, f"parse rate {result['parse_rate']:.2f}")
    samples = [os.path.relpath(run.tasks[task].path.resolve(), home) for task in one.tasks if task in run.tasks]
    raw = {name: value for name, value in (result.get("parts") or {}).items() if isinstance(value, (int, float))}
    value = result.get("agg_value")
    reason = "" if value is not None else str(result.get("reason", "no value"))
    return Line(one, value, reason, raw, notes, samples, few_read(result) if value is not None else "")


def _why_not(one: Benchmark, run: ExportRun) -> str:
    """Why a benchmark has no score at all: as the preparation said, else that it did not run."""
    left_out = [run.excluded[task] for task in one.tasks if task in run.excluded]
    reasons = (f"it failed: {found.reason}" if found.kind == "failed" else found.reason for found in left_out)
    otherwise = (
        "it has not run, or waits for `evalprep prepare --continue`" if run.tasks else "the file has no score of it"
    )
    return next(iter(reasons), otherwise)
