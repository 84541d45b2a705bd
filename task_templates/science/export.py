"""Result files in the layout of the original programme, by both rules.

`<out_dir>/by_model/<run>/<task>/` holds one run's files by the corrected rules, `<out_dir>/tables/`
the tables over all runs there, and `<out_dir>/compat/` the same by the original's. Scoring several
runs into one folder gives one table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from custom_metrics.finite import strict_json
from custom_metrics.science.corpus import flat_metrics, summary_metrics, task_metrics
from custom_metrics.science.mode import COMPAT, CORRECTED, MODES
from custom_metrics.science.rows import Row, saved_texts, task_of_row
from custom_metrics.science.rules import score_rows
from custom_metrics.science.tasks import TASKS, Task
from evalprep.packapi import (
    ExportRun,
    ExportTask,
    Sample,
    last_part,
    make_folder,
    open_atomically,
    write_atomically,
)

from .tables import read, write_tables

SHARED = True  # several runs go into one folder, for the tables over all models
JUDGED = {
    "mup_single_document_summarization": "science_mup_judge",
    "qasper_abstractive_qa": "science_qasper_judge",
}
RESCORED = "rescored_"  # how `evalprep rescore` calls its folders, whatever the model
# How the original calls the folder of a run of all tasks, within that of the model.
GROUP = "science_adapt"
NODES = {
    "bioasq_list_qa": "science_bioasq",
    "biored_ner": "science_biored",
    "discomat_te": "science_discomat",
    "evidence_inference": "science_evidence_inference",
    "multicite_intent_classification": "science_multicite",
    "mup_single_document_summarization": "science_mup",
    "qasper_abstractive_qa": "science_qasper",
    "scierc_ner": "science_scierc",
    "scifact_entailment": "science_scifact",
}


def root_of(out_dir: Path, mode: str) -> Path:
    """Returns where the files by one rule go."""
    return out_dir if mode == CORRECTED else out_dir / mode


def export(*, scores: Mapping[str, Mapping[str, Any]], run: ExportRun, out_dir: Path) -> list[Path]:
    """Writes one run's files by both rules, then the tables over all runs in `out_dir`.

    Args:
        scores: Suite score -> result, for the judges' ratings and the worth of each rule.
        run: The run.
        out_dir: Where to write.

    Returns:
        The run's folder and the tables.
    """
    name = _name(out_dir / "by_model", run)
    present = [
        task
        for task in TASKS
        if task in run.tasks and next(_own_rows(run.tasks[task]), None) is not None
    ]
    for entry in present:
        _write_task(run, run.tasks[entry], name, out_dir, scores)
    if not present:
        return []
    written = [root_of(out_dir, CORRECTED) / "by_model" / name]
    for mode in MODES:
        written += write_tables(root_of(out_dir, mode))
    return written


# ---- what a run is called


def _name(by_model: Path, run: ExportRun) -> str:
    """The folder name of a run's results.

    It is the name that the run has in every output, else that of its folder, with parents before it
    where another run has that name.

    A further run in the same folder has the time of its samples behind it: nothing is overwritten
    but the same run.
    """
    for name in _names(run):
        again = f"{name}__{run.id}"
        if not _is_of_another(by_model / name, run):
            return name
        # Where the runs lie whose results the folder holds.
        files = (by_model / name).glob("*/metrics.json")
        origins = {str(read(file)["source"].get("run", "")) for file in files}
        if _origin(run) in origins and not _is_of_another(by_model / again, run):
            return again
    return f"{next(_names(run))}__{next(iter(run.tasks.values())).digest()[:8]}"


def _names(run: ExportRun) -> Iterator[str]:
    if run.name:
        yield re.sub(r"[^\w.+-]+", "_", run.name).strip("_.") or "run"
    parts = list(run.folder.parts[1:])
    if GROUP in parts[1:]:  # `<model>/science_adapt/eleuther.jsonl/<org>__<model>`
        del parts[parts.index(GROUP) :]
    if parts and parts[-1].startswith(RESCORED):
        parts[-1] = last_part(run.model)
    for count in range(1, len(parts) + 1):
        yield "__".join(parts[-count:])


def _is_of_another(folder: Path, run: ExportRun) -> bool:
    """Returns whether a folder holds results of other predictions.

    A run that was moved, copied or resumed is no other.
    """
    origin = _origin(run)
    for file in folder.glob("*/metrics.json"):
        source = read(file)["source"]
        task = run.tasks.get(file.parent.name)
        is_same = source.get("run", origin) == origin and source.get("id", run.id) == run.id
        if not is_same and task is None:
            # No samples to compare with: the origin that the file names decides.
            is_same = source.get("run") == origin
        elif not is_same and task is not None:
            is_same = source["sha256"] == task.digest()
        if not is_same:
            return True
    return False


def _origin(run: ExportRun) -> str:
    return str(run.folder)


# ---- one task of one run


def _own_rows(task: ExportTask) -> Iterator[Sample]:
    """The rows of a task, without those of another that are in its file."""
    return (
        sample
        for sample in task.samples()
        if task_of_row(sample.doc, sample.sample_id) in {"", task.name}
    )


def _write_task(
    run: ExportRun,
    task: ExportTask,
    name: str,
    out_dir: Path,
    scores: Mapping[str, Mapping[str, Any]],
) -> None:
    kind = TASKS[task.name]
    samples = list(_own_rows(task))
    texts = [
        saved_texts(
            doc=sample.doc, target=sample.target, filtered=sample.filtered, response=sample.response
        )
        for sample in samples
    ]
    source = {
        "run": _origin(run),
        "id": run.id,
        "model": run.model,
        "seed": run.seed,
        "base": run.without_seed,
        "question": task.question,
        "samples": task.path.name,
        "sha256": task.digest(),
        "rows": len(samples),
    }
    node = scores.get(NODES[task.name], {})
    for mode in MODES:
        folder = root_of(out_dir, mode) / "by_model" / name / task.name
        make_folder(folder, within=out_dir)
        judge = JUDGED.get(task.name)
        rating = None
        if judge is not None:
            rating = scores.get(judge if mode == CORRECTED else f"{judge}_compat")
        about: dict[str, Any] = {"source": source | {"mode": mode}}
        if mode == CORRECTED and node.get("rules"):
            about["rules"] = node["rules"]
        try:
            rows = score_rows(kind, texts, mode)
            metrics = task_metrics(kind, rows, mode)
        except Exception as error:
            if mode != COMPAT:
                raise
            # There are no numbers, and none of an earlier run may be left behind.
            why = f"the original stops with {type(error).__name__}: {error}"
            for file in ("metrics_flat.json", "metrics_summary.json", "raw_predictions.jsonl"):
                (folder / file).unlink(missing_ok=True)
            _write_json(folder / "metrics.json", {"stops": why, **about})
            continue
        _write_files(folder, kind, samples, rows, _with_judge(kind, metrics, rating), about)


def _write_files(
    folder: Path,
    kind: Task,
    samples: list[Sample],
    rows: list[Row],
    metrics: dict[str, Any],
    about: Mapping[str, Any],
) -> None:
    flat = flat_metrics(kind, metrics)
    with open_atomically(folder / "raw_predictions.jsonl") as file:
        for sample, row in zip(samples, rows, strict=True):
            raw = {
                "sample_id": sample.doc.get("_instance_id") or sample.sample_id,
                "prompt": sample.prompt,
                "pred": row.reply,
                "ref": row.reference,
                "status": row.status,
            }
            file.write(json.dumps(raw) + "\n")
    _write_json(folder / "metrics.json", metrics | about)
    _write_json(folder / "metrics_flat.json", flat)
    _write_json(folder / "metrics_summary.json", summary_metrics(kind, flat))


def _with_judge(
    kind: Task, metrics: dict[str, Any], judge: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Puts a judge's mean rating where the original has it, and names the judge.

    None where there is no rating.
    """
    if judge is None:
        return metrics
    value = judge.get("agg_value")
    if kind.kind == "qa":
        metrics["results"]["all"]["scores"]["lm_judge"] = value
    else:
        metrics["lm_judge"] = {
            "reference_comparison": {"lm_judge_n_samples": judge.get("n") or 0, "avg_rating": value}
        }
    if "judge" in judge:
        metrics["judge"] = judge["judge"] | {
            "rated": judge.get("n") or 0,
            "skipped": judge.get("skipped", {}),
        }
    return metrics


def _write_json(path: Path, value: Any) -> None:
    """Writes JSON with the original's NaN as null."""
    write_atomically(path, json.dumps(strict_json(value), indent=2, allow_nan=False) + "\n")
