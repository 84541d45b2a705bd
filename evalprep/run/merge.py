"""One set of files from all units, as if lm-eval had run once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from evalprep.files import write_atomically
from evalprep.results.primary import primary_score
from evalprep.run.harness import evaluate, save
from evalprep.status.folder import RunFolder, Unit
from evalprep.status.job import Job

# What only the process with the model knew; taken from a unit's results file.
_FROM_UNIT = (
    "pretty_env_info",
    "git_hash",
    "model_source",
    "max_length",
    "eot_token_id",
    "chat_template",
    "chat_template_sha",
    "tokenizer_pad_token",
    "tokenizer_eos_token",
    "tokenizer_bos_token",
    "transformers_version",
    "system_instruction",
    "system_instruction_sha",
)


def merge_units(folder: RunFolder, config: Any, units: list[Unit], manager: Any) -> None:
    """Score the saved responses in one lm-eval call without a model, so that groups and averages are lm-eval's own.

    Raises:
        KeyError: a response is missing.
        ValueError: two units hold a response to the same request.
    """
    from lm_eval.loggers import EvaluationTracker

    from evalprep.run.responses import Replay, ResponseFile

    if folder.merged.is_dir():
        return
    part = folder.path / "merged.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    replay = Replay(ResponseFile(folder.folder(unit)) for unit in units)
    tracker = EvaluationTracker(output_path=str(part))
    results = evaluate(config, replay, list(config.tasks), manager, tracker, limit=config.limit)
    unit_results = [_results(folder.folder(unit)) for unit in units]
    first = unit_results[0]
    results["config"] = {
        **first.get("config", {}),
        **results["config"],
        **{
            key: first.get("config", {}).get(key)
            for key in ("batch_sizes", "model_num_parameters", "model_dtype", "model_revision", "model_sha")
            if key in first.get("config", {})
        },
    }
    save(tracker, results, samples=config.log_samples)
    seconds = sum(float(one.get("total_evaluation_time_seconds") or 0) for one in unit_results)
    path = next(part.rglob("results_*.json"))
    data = json.loads(path.read_text(encoding="utf-8"))
    data.update({key: first[key] for key in _FROM_UNIT if key in first})
    data["total_evaluation_time_seconds"] = str(seconds)
    write_atomically(path, json.dumps(data, indent=2, ensure_ascii=False))
    part.rename(folder.merged)


def _results(folder: Path) -> dict[str, Any]:
    path = next(folder.rglob("results_*.json"))
    data = json.loads(path.read_text(encoding="utf-8"))
    return data if isinstance(data, dict) else {}


def scores(folder: RunFolder) -> dict[str, tuple[float | None, str]]:
    """Task -> score and name of its primary metric, from the merged results."""
    data = _results(folder.merged)
    directions = data.get("higher_is_better", {})
    return {
        name: primary_score(data["results"].get(name), config, directions.get(name))
        for name, config in data.get("configs", {}).items()
    }


def publish(folder: RunFolder, job: Job) -> Path:
    """Copy the merged files to where lm-eval would have written them, the results file last.

    Done again after a kill it writes the same files under the same names.
    """
    results = next(folder.merged.rglob("results_*.json"))
    target = job.output_path / results.parent.name
    target.mkdir(parents=True, exist_ok=True)
    for path in [*sorted(results.parent.glob("samples_*.jsonl")), results]:
        copy = target / f".{path.name}.copy"
        shutil.copyfile(path, copy)
        copy.replace(target / path.name)
    return target / results.name
