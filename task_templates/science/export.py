"""Result files in the layout of the original programme: three JSON files and the raw predictions of each task, tables.

`<out_dir>/by_model/<model>/<task>/` holds one model's files; `<out_dir>/tables/` is made anew from all models there, so
that scoring several runs into one folder gives one table of them.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from custom_metrics.science.corpus import flat_metrics, summary_metrics, task_metrics
from custom_metrics.science.mode import CORRECTED
from custom_metrics.science.model_order import model_sort
from custom_metrics.science.rows import Row, saved_texts, score_row
from custom_metrics.science.tasks import SUMMARY_COLUMNS, TASKS
from evalprep.packapi import ExportRun, ExportTask, Sample, file_sha256

MISSING = "missing"
JUDGED = {"mup_single_document_summarization": "science_mup_judge", "qasper_abstractive_qa": "science_qasper_judge"}
RESCORED = "rescored_"  # how `evalprep rescore` calls its folders, whatever the model
SHARED = True  # several runs go into one folder, for the tables over all models
NUMBER_WIDTH, MAX_WIDTH = 8, 60  # characters
_MAX_CELL = 32_000  # a cell of a spreadsheet holds 32,767 characters

Cell = float | str
Line = list[Cell]


def export(*, scores: Mapping[str, Mapping[str, Any]], run: ExportRun, out_dir: Path) -> list[Path]:
    """Write one run's files, then the tables over all models in `out_dir`.

    Args:
        scores: Suite score -> result, for the judges' ratings.
        run: The run.
        out_dir: Where to write.

    Returns:
        The model's folder and the tables.
    """
    folder = _model_folder(out_dir / "by_model", run)
    present = [name for name in TASKS if name in run.tasks and next(iter(run.tasks[name].samples()), None) is not None]
    for name in present:
        _write_task(run.tasks[name], folder / name, _origin(run), scores.get(JUDGED.get(name, "")))
    return [folder, *write_tables(out_dir)] if present else []


def _origin(run: ExportRun) -> str:
    return str(run.folder)


def _model_folder(by_model: Path, run: ExportRun) -> Path:
    """Where a run's results go: the name of its folder, with parents before it where another run has that name."""
    parts = Path(_origin(run)).parts[1:]
    names = ["__".join(parts[-count:]) for count in range(1, len(parts) + 1)]
    if names[0].startswith(RESCORED):
        names[:1] = [run.model.rstrip("/").rpartition("/")[2]]
    return by_model / next((name for name in names if not _is_of_another(by_model / name, run)), names[-1])


def _is_of_another(folder: Path, run: ExportRun) -> bool:
    """Whether a folder holds results of other predictions; a run that was moved or copied is no other."""
    for file in folder.glob("*/metrics.json"):
        source, task = _read(file)["source"], run.tasks.get(file.parent.name)
        if source.get("run", _origin(run)) != _origin(run) and (
            task is None or source["sha256"] != file_sha256(task.path)
        ):
            return True
    return False


# ---- one task of one model


def _write_task(task: ExportTask, folder: Path, origin: str, judge: Mapping[str, Any] | None) -> None:
    kind = TASKS[task.name]
    samples = list(task.samples())
    texts = [
        saved_texts(doc=one.doc, target=one.target, filtered=one.filtered, response=one.response) for one in samples
    ]
    rows = [score_row(kind, reply, reference) for reply, reference in texts]
    metrics = task_metrics(kind, rows)
    if judge is not None:
        _add_judge(metrics, kind.kind, judge)
    flat = flat_metrics(kind, metrics)
    source = {"run": origin, "samples": task.path.name, "sha256": file_sha256(task.path), "rows": len(rows),
              "mode": CORRECTED}  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "raw_predictions.jsonl").open("w", encoding="utf-8") as file:
        for sample, row in zip(samples, rows, strict=True):
            file.write(json.dumps(_raw(sample, row)) + "\n")
    _write_json(folder / "metrics.json", metrics | {"source": source})
    _write_json(folder / "metrics_flat.json", flat)
    _write_json(folder / "metrics_summary.json", summary_metrics(kind, flat))


def _raw(sample: Sample, row: Row) -> dict[str, Any]:
    return {"sample_id": sample.doc.get("_instance_id") or sample.sample_id, "prompt": sample.prompt, "pred": row.reply,
            "ref": row.reference, "status": row.status}  # fmt: skip


def _add_judge(metrics: dict[str, Any], kind: str, judge: Mapping[str, Any]) -> None:
    """Put a judge's mean rating where the original has it, None without one, and say which judge it was."""
    value = judge.get("agg_value")
    if kind == "qa":
        metrics["results"]["all"]["scores"]["lm_judge"] = value
    else:
        metrics["lm_judge"] = {"reference_comparison": {"lm_judge_n_samples": judge.get("n") or 0, "avg_rating": value}}
    if "judge" in judge:
        metrics["judge"] = judge["judge"] | {"rated": judge.get("n") or 0, "skipped": judge.get("skipped", {})}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


# ---- tables over all models


def write_tables(out_dir: Path) -> list[Path]:
    """Make `tables/` from every model under `by_model/`: a table per task, the summary, what is missing, a spreadsheet.

    A cell without a value says `missing`; `missing.tsv` names each with its reason. Returns the files that are over all
    tasks.
    """
    folder = out_dir / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    by_model = out_dir / "by_model"
    models = model_sort(sorted(entry.name for entry in by_model.iterdir() if entry.is_dir()))
    flat = {model: {name: _read(by_model / model / name / "metrics_flat.json") for name in TASKS} for model in models}
    sheets: dict[str, list[Line]] = {"summary": _summary(models, flat)}
    for name in TASKS:
        keys = list(dict.fromkeys(key for model in models for key in flat[model][name] or {}))
        if keys:
            rows = [[model, *(_cell(flat[model][name], key) for key in keys)] for model in models]
            sheets[name] = [["model", *keys], *rows]
    sheets["missing"] = [["model", "task", "metric", "reason"], *_missing(models, flat)]
    for name, lines in sheets.items():
        _write_tsv(folder / f"{name}.tsv", lines)
    sheets["unparsable"] = [["model", "task", "sample_id", "reply"], *_unparsable(by_model, models)]
    return [folder / "summary.tsv", folder / "missing.tsv", *_write_spreadsheet(folder / "tables.xlsx", sheets)]


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _cell(flat: Mapping[str, float | None] | None, key: str) -> Cell:
    value = None if flat is None else flat.get(key)
    if value is None:
        return MISSING
    return value if isinstance(value, int) or key.endswith("_n_samples") else float(value)


def _columns(flat: Mapping[str, dict[str, float | None] | None]) -> list[float | None]:
    """A model's summary columns, in percent."""
    values = []
    for name, metric in SUMMARY_COLUMNS:
        value = summary_metrics(TASKS[name], flat[name] or {})[metric]
        values.append(None if value is None else 100 * float(value))
    return values


def _summary(models: Iterable[str], flat: Mapping[str, Any]) -> list[Line]:
    """Two header rows as in the original, values in percent; mean and median over the columns that have a value."""
    lines: list[Line] = [
        ["", *(TASKS[name].alias for name, _ in SUMMARY_COLUMNS), "mean", "median", "columns"],
        ["", *(metric for _, metric in SUMMARY_COLUMNS), "", "", ""],
    ]
    for model in models:
        values = _columns(flat[model])
        known = [value for value in values if value is not None]
        ends: Line = [statistics.fmean(known), statistics.median(known)] if known else [MISSING, MISSING]
        lines.append([model, *(MISSING if value is None else value for value in values), *ends, len(known)])
    return lines


def _missing(models: Iterable[str], flat: Mapping[str, Any]) -> list[Line]:
    lines: list[Line] = []
    for model in models:
        for name, task in TASKS.items():
            if flat[model][name] is None:
                lines.append([model, name, "all", "no samples"])
                continue
            for metric, value in summary_metrics(task, flat[model][name]).items():
                if value is None:
                    why = (
                        "no judge has rated the replies" if metric.startswith("lm_judge") else "no row to take it from"
                    )
                    lines.append([model, name, metric, why])
    return lines


def _unparsable(by_model: Path, models: Iterable[str]) -> list[Line]:
    lines: list[Line] = []
    for model in models:
        for name in TASKS:
            file = by_model / model / name / "raw_predictions.jsonl"
            for text in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
                row = json.loads(text)
                if row["status"] == "extract_failure":
                    lines.append([model, name, str(row["sample_id"]), row["pred"][:_MAX_CELL]])
    return lines


def _write_tsv(path: Path, lines: Sequence[Line]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(lines)


def _write_spreadsheet(path: Path, sheets: Mapping[str, Sequence[Line]]) -> list[Path]:
    """All tables as one workbook; nothing where the optional package is absent."""
    try:
        import xlsxwriter
    except ImportError:
        return []
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(str(path), options) as book:
        bold = book.add_format({"bold": True})
        formats = {"summary": book.add_format({"num_format": "0.00"})}
        for name, lines in sheets.items():
            sheet = book.add_worksheet(name[:31])  # a sheet's name has at most 31 characters
            number = formats.get(name) or book.add_format({"num_format": "0.0000"})
            headers = 2 if name == "summary" else 1
            for place, line in enumerate(lines):
                for column, cell in enumerate(line):
                    style = bold if place < headers else number if isinstance(cell, float) else None
                    sheet.write(place, column, cell, style)
            sheet.freeze_panes(headers, 1)
            for column, cells in enumerate(zip_longest(*lines, fillvalue="")):
                widest = max(len(cell) if isinstance(cell, str) else NUMBER_WIDTH for cell in cells)
                sheet.set_column(column, column, min(widest + 2, MAX_WIDTH))
    return [path]
