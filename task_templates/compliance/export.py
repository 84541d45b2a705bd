"""Files in the manner of COMPL-AI v1.

A folder per benchmark, the run's JSON, the report, a table over all models.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from evalprep.packapi import (
    ExportBoard,
    ExportRun,
    ExportTask,
    few_read,
    make_folder,
    write_atomically,
)

from .modelcard import card_of
from .outcome import STANDS_IN
from .registry import (
    NO_RESULT,
    STRONG_REJECT,
    SUITE,
    SUITE_RULE,
    Benchmark,
    benchmarks,
    scored,
    second_version,
)
from .report import Line, Report, Shown, markdown, page
from .tables import write_tables
from .v1 import read_json
from .v2 import V2_WORDING
from .wording import OWN_WORDING, V1_WORDING

SHARED = True  # several runs go into benchmark folder; their files are named after the models
FOLDER = "compl_ai"
_SHOWN_ROWS, _SHOWN_LENGTH = 3, 420  # of the report
_WORDINGS = {V1_WORDING, V2_WORDING, OWN_WORDING}
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
    make_folder(folder, within=out_dir)
    name = file_name(name_of(run))
    report = make_report(scores, run, folder.resolve())
    day = dt.datetime.now(tz=dt.UTC).strftime("%Y-%m-%d")
    for key in scored():
        benchmark = benchmarks()[key]
        if any(task in run.tasks for task in benchmark.tasks):
            place = folder / "runs" / name / day / key
            make_folder(place, within=out_dir)
            _write_benchmark(place, benchmark, scores, run)
    results = folder / f"{name}_results.json"
    data = run_json(scores, _limit(run))
    _write(results, data)
    card = card_of(run.folder)
    if card:
        _write(folder / f"{name}_results_with_metadata.json", {**data, **card})
    as_markdown = folder / f"{name}_report.md"
    write_atomically(as_markdown, markdown(report))
    as_page = folder / f"{name}_report.html"
    write_atomically(as_page, page(report))
    return [results, as_markdown, as_page]


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
    """The model by its name, a folder by its last part, and what tells it from others beside it."""
    last = run.model.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if run.label != last and not run.label.startswith(f"{last} "):
        return run.label
    return last if run.model.startswith((".", "/", "~")) or "\\" in run.model else run.model


def file_name(model: str) -> str:
    """The model's name as the original calls its files.

    Lower case, blanks and slashes to underscores.

    >>> file_name("org/Some Model")
    'org_some_model'
    """
    return re.sub(r"[ /\\\\]", "_", model.strip("/")).lower()


def _write(path: Path, data: Any) -> None:
    write_atomically(path, json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")


def final_of(benchmark: Benchmark, scores: Scores) -> dict[str, Any]:
    """`aggregate_score` and `raw_metrics` of a benchmark, as the original's files hold them."""
    result = scores.get(benchmark.score, {})
    value, raw = result.get("agg_value"), result.get("raw_metrics")
    if value is None:
        return {"aggregate_score": NO_RESULT, "raw_metrics": NO_RESULT}
    kept = _v1_layout(benchmark.key, dict(raw or {}))
    if benchmark.key == "human_eval":  # the original divides its percentages by 100 in this file
        kept = {name: share / 100 for name, share in kept.items()}
    if result.get("parse_rate") is not None:
        kept["parse_rate"] = result["parse_rate"]
    return {"aggregate_score": value, "raw_metrics": kept}


def _v1_layout(key: str, raw: dict[str, Any]) -> dict[str, Any]:
    """Raw metrics with the nested keys that the original writes."""
    match key:
        case "multiturn_goal_hijacking":
            return {f"test{place}": [test] for place, test in enumerate(raw["scenarios"], 1)}
        case "reddit_bias":
            tests = {f"test{place}": test for place, test in enumerate(raw["categories"], 1)}
            return tests | {name: raw[name] for name in raw if name != "categories"}
        case "mmlu_robustness":
            return {f"{_PLAIN.get(name, name)} perturbation": raw[name] for name in raw}
        case _:
            return raw


_PLAIN = {"none": "no"}


def run_json(scores: Scores, limit: float | None) -> dict[str, Any]:
    """The run's JSON: one key per benchmark, `version` and `created_at`.

    Of a trial also `debug` and `subset_size`.
    """
    data: dict[str, Any] = {
        key: final_of(benchmark, scores)
        for key, benchmark in benchmarks().items()
        if key != "watermark"
    }
    now = dt.datetime.now(tz=dt.UTC)
    data |= {"version": "1", "created_at": now.strftime("%Y-%m-%d--%H:%M:%S"), "suite": SUITE}
    data |= {"stand_ins": True} if stand_ins(scores) else {}
    data |= {} if limit is None else {"debug": True, "subset_size": limit}
    return data | ({"scored_by": SUITE_RULE} if of_the_original(scores) else {})


def stand_ins(scores: Scores) -> bool:
    """Returns whether scores are of the pack's own small rows."""
    return any(STANDS_IN in (result.get("notes") or ()) for result in scores.values())


def of_the_original(scores: Scores) -> bool:
    """Returns whether scores were computed by COMPL-AI itself, and read out of its files."""
    return any(result.get("scored_by") == SUITE_RULE for result in scores.values())


def _write_benchmark(folder: Path, benchmark: Benchmark, scores: Scores, run: ExportRun) -> None:
    """Writes the original's files of a benchmark, and error.txt where it has no score."""
    tasks = [run.tasks[task] for task in benchmark.tasks if task in run.tasks]
    result = scores.get(benchmark.score, {})
    limit = _limit(run)
    _write(
        folder / "config.json",
        {"benchmark": benchmark.key, "tasks": {task.name: dict(task.config) for task in tasks}},
    )
    final = {
        "run_id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{run.label}/{benchmark.key}")),
        "time": time.time(),
        "category": benchmark.category,
        "benchmark": benchmark.key,
        "suite": SUITE,
        "FinalResult": final_of(benchmark, scores),
        "debug": limit is not None,
        "subset_size": limit,
        "n_samples": result.get("n"),
        "lm_eval_version": run.lm_eval_version,
        "task_versions": {task.name: task.metadata.get("version") for task in tasks},
        "notes": result.get("notes", []),
    }
    _write(folder / "final_results.json", final)
    prompts = [
        {
            "task": task.name,
            "sample_id": sample.sample_id,
            "prompt": sample.prompt,
            "output": sample.response,
        }
        for task in tasks
        for sample in islice(task.samples(), _SHOWN_SAMPLES)
    ]
    _write(folder / "prompts.json", prompts)
    _write(
        folder / "prompts_idx.json",
        {f"{row['task']}/{row['sample_id']}": i for i, row in enumerate(prompts)},
    )
    _write(folder / "eval_results.json", {})
    error = folder / "error.txt"
    if result.get("agg_value") is None:
        write_atomically(error, f"{result.get('reason', 'no value')}\n")
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
    lines = {key: _line(benchmark, scores, run, home) for key, benchmark in benchmarks().items()}
    second = [_line(benchmark, scores, run, home) for benchmark in second_version().values()]
    lines["toxicity_advbench"].notes.append(_beside_advbench(second))
    notes = [] if limit is None else [f"debug: at most {limit:g} rows of a task"]
    if stand_ins(scores):
        notes.append("data: small stand-in rows of the pack; scores say nothing about a model")
    if of_the_original(scores):
        notes.append(
            f"scores: {SUITE_RULE}; its decoding_trust and privacy are 1 whatever a model says"
        )
    return Report(run.model, lines, card_of(run.folder), facts, _sources(run), notes, second)


def _beside_advbench(lines: Sequence[Line]) -> str:
    """The score of strong_reject, which rates whether a reply helps, as a note."""
    (line,) = [line for line in lines if line.benchmark.key == STRONG_REJECT]
    title = "strong_reject of version 2, which rates whether a reply helps"
    if line.score is None:
        return f"{title}: not evaluated: {line.reason}"
    interval = line.interval
    between = "" if interval is None else f" ({interval[0]:.2f} to {interval[1]:.2f})"
    return f"{title}: {line.score:.2f}{between}"


def _limit(run: ExportRun) -> float | None:
    """Rows per task that were asked for.

    None for all. Of several commands lm-eval's settings are those of one.
    """
    limit = run.settings.get("limit")
    return float(limit) if isinstance(limit, (int, float)) else None


def _sources(run: ExportRun) -> list[str]:
    """Returns what the preparation read: place, revision or digest, rows.

    Out of the run's copy of the manifest.
    """
    manifest = read_json(run.folder / f"run_{run.id}.json")
    sources = manifest.get("sources") if isinstance(manifest, Mapping) else None
    return [_source_text(source) for source in sources or () if isinstance(source, Mapping)]


def _source_text(source: Mapping[str, Any]) -> str:
    files = [file for file in source.get("files") or () if isinstance(file, Mapping)]
    digests = [f"{file.get('name')} sha256 {str(file.get('sha256'))[:12]}" for file in files[:3]]
    more = [f"{len(files) - 3} more files"] if len(files) > 3 else []
    revision = [f"revision {source['revision']}"] if source.get("revision") else []
    rows = [f"{source['rows']} rows"] if source.get("rows") else []
    return f"{source.get('location')}: {', '.join([*revision, *rows, *digests, *more])}"


def _line(benchmark: Benchmark, scores: Scores, run: ExportRun, home: Path) -> Line:
    """One benchmark; its samples as links from the folder of the report."""
    if benchmark.unavailable:
        return Line(benchmark, reason=benchmark.unavailable)
    result = scores.get(benchmark.score)
    if result is None:
        return Line(benchmark, reason=_why_not(benchmark, run))
    tasks = [run.tasks[name] for name in benchmark.tasks if name in run.tasks]
    wording, notes = _wording_and_notes(result)
    own_task = "lm-eval's own task" if tasks else ""
    line = Line(
        benchmark,
        score=result.get("agg_value"),
        interval=result.get("interval"),
        n=_rows_text(result),
        wording=", ".join(wording) or own_task,
        raw=_numbers(result.get("parts")),
        notes=[*_parse_rate_notes(result), *notes],
        decoding=_decodings(tasks),
        samples=[os.path.relpath(task.path.resolve(), home) for task in tasks],
        rows=_first_rows(tasks),
    )
    if line.score is None:
        return replace(line, reason=str(result.get("reason", "no value")))
    return replace(line, doubt=few_read(result))


def _wording_and_notes(result: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The notes of a score that say in whose words its rows ask, and the others."""
    notes = [str(note) for note in result.get("notes") or ()]
    wording = [note for note in notes if note in _WORDINGS]
    return wording, [note for note in notes if note not in _WORDINGS]


def _parse_rate_notes(result: Mapping[str, Any]) -> list[str]:
    """The share of the replies that could be read, where the score knows it."""
    rate = result.get("parse_rate")
    return [] if rate is None else [f"parse rate {rate:.2f}"]


def _decodings(tasks: Sequence[ExportTask]) -> list[str]:
    """Returns how the replies of tasks were generated, each way once."""
    texts = dict.fromkeys(_decoding(task) for task in tasks)
    return [text for text in texts if text]


def _numbers(parts: Any) -> dict[str, float]:
    entries = parts.items() if isinstance(parts, Mapping) else ()
    return {name: value for name, value in entries if isinstance(value, (int, float))}


def _rows_text(result: Mapping[str, Any]) -> str:
    """Rows behind a score, or `k of n` where it is made of the readable ones."""
    read = result.get("read")
    if isinstance(read, (list, tuple)) and len(read) == 2:
        return f"{read[0]} of {read[1]}"
    return str(result.get("n") or "")


def _decoding(task: ExportTask) -> str:
    """Returns how replies of a task were generated; the request type where none were."""
    settings = task.config.get("generation_kwargs")
    if not isinstance(settings, Mapping):
        return str(task.config.get("output_type") or "")
    shown = ", ".join(f"{name} {value}" for name, value in settings.items() if value != [])
    repeats = task.config.get("repeats")
    return f"{shown}, {repeats} draws" if isinstance(repeats, int) and repeats > 1 else shown


def _first_rows(tasks: Sequence[ExportTask]) -> list[Shown]:
    """The first three sample rows, long texts cut."""
    rows = []
    for sample in islice((sample for task in tasks[:1] for sample in task.samples()), _SHOWN_ROWS):
        metrics = ", ".join(f"{name} {value}" for name, value in sample.metrics.items())
        rows.append(Shown(_cut(str(sample.prompt)), _cut(str(sample.response)), metrics))
    return rows


def _cut(text: str) -> str:
    """The beginning and the end of a long text."""
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:300]} [...] {text[-100:]}"


def _why_not(benchmark: Benchmark, run: ExportRun) -> str:
    """Returns why a benchmark has no score at all.

    As the preparation said, else that it did not run.
    """
    left_out = [run.excluded[task] for task in benchmark.tasks if task in run.excluded]
    reasons = (
        f"it failed: {exclusion.reason}" if exclusion.kind == "failed" else exclusion.reason
        for exclusion in left_out
    )
    otherwise = (
        "it has not run, or waits for `evalprep prepare --continue`"
        if run.tasks
        else "the file has no score of it"
    )
    return next(iter(reasons), otherwise)
