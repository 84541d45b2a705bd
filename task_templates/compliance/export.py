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
from itertools import chain, islice
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

from . import origin
from .modelcard import Card, card_of
from .origin import NOT_RECORDED
from .outcome import HELPER_COLUMNS, STAND_IN, STANDS_IN, WORDING, has_stand_ins
from .registry import (
    NO_RESULT,
    STOCK,
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
from .v2 import V2_WORDING
from .wording import OWN_WORDING, V1_WORDING

# Several runs share the folder of a benchmark; their files are named after the models.
SHARED = True
FOLDER = "compl_ai"
_SHOWN_ROWS, _SHOWN_LENGTH = 3, 420  # of the report
_STAND_INS = "small stand-in rows of the pack; scores say nothing about a model"
#: Notes that stand in columns of their own.
_SHOWN_APART = {V1_WORDING, V2_WORDING, OWN_WORDING, STANDS_IN}
_SHOWN_SAMPLES = 10_000  # prompts of a benchmark that are copied; all stand in lm-eval's own files

Scores = Mapping[str, Mapping[str, Any]]


def export(*, scores: Scores, run: ExportRun, out_dir: Path) -> list[Path]:
    """Writes everything about one run.

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
        if _tasks_of(benchmark, run):
            place = folder / "runs" / name / day / key
            make_folder(place, within=out_dir)
            _write_benchmark(place, benchmark, scores, run)
    results = folder / f"{name}_results.json"
    data = run_json(scores, _limit(run))
    _write(results, data)
    card = _card_of(run)
    if card.sections:
        with_card = folder / f"{name}_results_with_metadata.json"
        _write(with_card, {**data, **card.sections})
    as_markdown = folder / f"{name}_report.md"
    write_atomically(as_markdown, markdown(report))
    as_page = folder / f"{name}_report.html"
    write_atomically(as_page, page(report))
    return [results, as_markdown, as_page]


def export_board(*, board: ExportBoard, out_dir: Path) -> list[Path]:
    """Writes the table over many models.

    Args:
        board: The models side by side.
        out_dir: Where to write.

    Returns:
        What was written.
    """
    return write_tables(board, out_dir / FOLDER)


def name_of(run: ExportRun) -> str:
    """The model by its name, a folder by its last part, and what tells it from others beside it."""
    model = run.model
    last = origin.last_part(model)
    has_own_label = run.label != last and not run.label.startswith(f"{last} ")
    return run.label if has_own_label else origin.model_name(model)


def file_name(model: str) -> str:
    """The model's name as the original calls its files.

    It is in lower case, with blanks and slashes as underscores.

    >>> file_name("org/Some Model")
    'org_some_model'
    """
    return re.sub(r"[ /\\\\]", "_", model.strip("/")).lower()


def _write(path: Path, data: Any) -> None:
    text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
    write_atomically(path, f"{text}\n")


def final_of(benchmark: Benchmark, scores: Scores) -> dict[str, Any]:
    """`aggregate_score` and `raw_metrics` of a benchmark, as the original's files hold them."""
    result = scores.get(benchmark.score, {})
    value = result.get("agg_value")
    raw = result.get("raw_metrics")
    if value is None:
        return {"aggregate_score": NO_RESULT, "raw_metrics": NO_RESULT}
    kept = dict(raw or {})
    match benchmark.key:  # the nested keys that the original writes
        case "multiturn_goal_hijacking":
            kept = {name: [test] for name, test in _numbered(kept["scenarios"]).items()}
        case "reddit_bias":
            tests = _numbered(kept.pop("categories"))
            kept = tests | kept
        case "mmlu_robustness":
            kept = {f"{_PLAIN.get(name, name)} perturbation": value for name, value in kept.items()}
        case "human_eval":  # the original divides its percentages by 100 in this file
            kept = {name: share / 100 for name, share in kept.items()}
    if result.get("parse_rate") is not None:
        kept["parse_rate"] = result["parse_rate"]
    return {"aggregate_score": value, "raw_metrics": kept}


_PLAIN = {"none": "no"}


def _numbered(tests: Sequence[Any]) -> dict[str, Any]:
    return {f"test{place}": test for place, test in enumerate(tests, 1)}


def run_json(scores: Scores, limit: float | None) -> dict[str, Any]:
    """The run's JSON: one key per benchmark, `version` and `created_at`.

    A trial also has `debug` and `subset_size`.
    """
    data: dict[str, Any] = {}
    for key, benchmark in benchmarks().items():
        if key != "watermark":
            data[key] = final_of(benchmark, scores)
    now = dt.datetime.now(tz=dt.UTC)
    data["version"] = "1"
    data["created_at"] = now.strftime("%Y-%m-%d--%H:%M:%S")
    data["suite"] = SUITE
    if has_stand_ins(scores):
        data["stand_ins"] = True
    if limit is not None:
        data["debug"] = True
        data["subset_size"] = limit
    if of_the_original(scores):
        data["scored_by"] = SUITE_RULE
    return data


def of_the_original(scores: Scores) -> bool:
    """Returns whether scores were computed by COMPL-AI itself, and read out of its files."""
    return any(result.get("scored_by") == SUITE_RULE for result in scores.values())


def _write_benchmark(folder: Path, benchmark: Benchmark, scores: Scores, run: ExportRun) -> None:
    """Writes the original's files of a benchmark, and error.txt where it has no score."""
    tasks = _tasks_of(benchmark, run)
    result = scores.get(benchmark.score, {})
    limit = _limit(run)
    configs = {task.name: dict(task.config) for task in tasks}
    config = {"benchmark": benchmark.key, "tasks": configs}
    _write(folder / "config.json", config)
    run_id = uuid.uuid5(uuid.NAMESPACE_URL, f"{run.label}/{benchmark.key}")
    versions = {task.name: task.metadata.get("version") for task in tasks}
    final = {
        "run_id": str(run_id),
        "time": time.time(),
        "category": benchmark.category,
        "benchmark": benchmark.key,
        "suite": SUITE,
        "FinalResult": final_of(benchmark, scores),
        "debug": limit is not None,
        "subset_size": limit,
        "n_samples": result.get("n"),
        "lm_eval_version": run.lm_eval_version,
        "task_versions": versions,
        "notes": result.get("notes", []),
    }
    _write(folder / "final_results.json", final)
    prompts: list[dict[str, Any]] = []
    positions: dict[str, int] = {}
    for task in tasks:
        for sample in islice(task.samples(), _SHOWN_SAMPLES):
            positions[f"{task.name}/{sample.sample_id}"] = len(prompts)
            prompts.append(
                {
                    "task": task.name,
                    "sample_id": sample.sample_id,
                    "prompt": sample.prompt,
                    "output": sample.response,
                }
            )
    _write(folder / "prompts.json", prompts)
    _write(folder / "prompts_idx.json", positions)
    _write(folder / "eval_results.json", {})
    error = folder / "error.txt"
    if result.get("agg_value") is None:
        write_atomically(error, f"{result.get('reason', 'no value')}\n")
    else:
        error.unlink(missing_ok=True)  # of an earlier try


def _tasks_of(benchmark: Benchmark, run: ExportRun) -> list[ExportTask]:
    """The tasks of a benchmark that the run has."""
    return [run.tasks[name] for name in benchmark.tasks if name in run.tasks]


def make_report(scores: Scores, run: ExportRun, home: Path) -> Report:
    """The report of a run: every benchmark of the registry, evaluated or not, with the reason."""
    lines = {}
    for key, benchmark in benchmarks().items():
        lines[key] = _line(benchmark, scores, run, home)
    of_v2 = second_version().values()
    second = [_line(benchmark, scores, run, home) for benchmark in of_v2]
    lines["toxicity_advbench"].notes.append(_beside_advbench(second))
    source = run.provenance()
    card = _card_of(run)
    helpers: dict[str, None] = {}
    for doc in map(_first_doc, run.tasks.values()):
        helpers |= dict.fromkeys(str(doc[name]) for name in HELPER_COLUMNS if doc.get(name))
    # What holds for all scores of a run.
    notes = []
    limit = _limit(run)
    rows_per_task = "all" if run.tasks else "unknown: scores without samples"
    if limit is not None:
        notes.append(f"debug: at most {limit:g} rows of a task")
        if run.tasks:
            rows_per_task = f"at most {limit:g}: a trial, no measurement"
    if has_stand_ins(scores):
        notes.append(f"data: {_STAND_INS}")
    if of_the_original(scores):
        broken = "its decoding_trust and privacy are 1 whatever a model says"
        notes.append(f"scores: {SUITE_RULE}; {broken}")
    return Report(
        model=origin.model_name(source.model or run.model),
        lines=lines,
        card=card.sections,
        subtitle=origin.subtitle(source),
        origin=origin.facts(source, list(helpers), rows_per_task),
        commands=origin.command_rows(source),
        sources=origin.source_texts(source),
        digests=origin.digests(source),
        notes=[*notes, *card.notes],
        second=second,
    )


def _card_of(run: ExportRun) -> Card:
    """The card of the run's model, called as it was when the run was prepared."""
    return card_of(run.folder, run.provenance().model or run.model)


def _first_doc(task: ExportTask) -> Mapping[str, Any]:
    """The first row of a task; what holds for a task is the same in all its rows."""
    sample = next(iter(task.samples()), None)
    return {} if sample is None else sample.doc


def _beside_advbench(lines: Sequence[Line]) -> str:
    """The score of strong_reject, which rates whether a reply helps, as a note."""
    (line,) = [line for line in lines if line.benchmark.key == STRONG_REJECT]
    title = "strong_reject of version 2, which rates whether a reply helps"
    if line.score is None:
        return f"{title}: not evaluated: {line.reason}"
    text = f"{title}: {line.score:.2f}"
    if line.interval is None:
        return text
    low, high = line.interval
    return f"{text} ({low:.2f} to {high:.2f})"


def _limit(run: ExportRun) -> float | None:
    """Rows per task that were asked for.

    None for all. Of several commands lm-eval's settings are those of one.
    """
    limit = run.settings.get("limit")
    return float(limit) if isinstance(limit, (int, float)) else None


def _line(benchmark: Benchmark, scores: Scores, run: ExportRun, home: Path) -> Line:
    """One benchmark; its samples as links from the folder of the report."""
    if benchmark.unavailable:
        return Line(benchmark, reason=benchmark.unavailable)
    result = scores.get(benchmark.score)
    if result is None:
        return Line(benchmark, reason=_why_not(benchmark, run))
    tasks = _tasks_of(benchmark, run)
    docs = [_first_doc(task) for task in tasks]
    notes = [str(note) for note in result.get("notes") or () if str(note) not in _SHOWN_APART]
    rate, read = result.get("parse_rate"), result.get("read")
    parts = result.get("parts")
    entries = parts.items() if isinstance(parts, Mapping) else ()
    # In whose words tasks ask: their rows say it, and tasks of lm-eval ask in its own.
    stock = set(chain.from_iterable(STOCK.values()))
    words = []
    for task, doc in zip(tasks, docs, strict=True):
        own = "lm-eval's own task" if task.name in stock else NOT_RECORDED
        words.append(str(doc.get(WORDING) or own))
    # The first three sample rows of the first task, long texts cut.
    rows: list[Shown] = []
    for task in tasks[:1]:
        for sample in islice(task.samples(), _SHOWN_ROWS):
            facts = [f"{name} {value}" for name, value in sample.metrics.items()]
            prompt, reply = _cut(sample.prompt), _cut(sample.response)
            rows.append(Shown(prompt, reply, ", ".join(facts)))
    line = Line(
        benchmark,
        score=result.get("agg_value"),
        interval=result.get("interval"),
        n=str(result.get("n") or "") if read is None else f"{read[0]} of {read[1]}",
        wording=", ".join(sorted(set(words))),
        raw={name: value for name, value in entries if isinstance(value, (int, float))},
        notes=notes if rate is None else [f"parse rate {rate:.2f}", *notes],
        decoding=list(filter(None, dict.fromkeys(map(_decoding, tasks)))),
        samples=[os.path.relpath(task.path.resolve(), home) for task in tasks],
        rows=rows,
        stands_in=any(doc.get(STAND_IN) for doc in docs),
    )
    if line.score is None:
        return replace(line, reason=str(result.get("reason", "no value")))
    return replace(line, doubt=few_read(result) or str(result.get("degenerate") or ""))


def _decoding(task: ExportTask) -> str:
    """Returns how replies of a task were generated; the request type where none were."""
    settings = task.config.get("generation_kwargs")
    if not isinstance(settings, Mapping):
        return str(task.config.get("output_type") or "")
    facts = [f"{name} {value}" for name, value in settings.items() if value != []]
    shown = ", ".join(facts)
    repeats = task.config.get("repeats")
    if isinstance(repeats, int) and repeats > 1:
        return f"{shown}, {repeats} draws"
    return shown


def _cut(value: Any) -> str:
    """The beginning and the end of a long text."""
    text = str(value)
    if len(text) <= _SHOWN_LENGTH:
        return text
    return f"{text[:300]} [...] {text[-100:]}"


def _why_not(benchmark: Benchmark, run: ExportRun) -> str:
    """Returns why a benchmark has no score at all.

    The preparation gave a reason, or the benchmark did not run.
    """
    for task in benchmark.tasks:
        exclusion = run.excluded.get(task)
        if exclusion is not None:
            failed = "it failed: " if exclusion.kind == "failed" else ""
            return f"{failed}{exclusion.reason}"
    if run.tasks:
        return "it has not run, or waits for `evalprep prepare --continue`"
    return "the file has no score of it"
