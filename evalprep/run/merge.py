"""One set of files from all units, as if lm-eval had run once."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from evalprep.files import write_atomically
from evalprep.results.primary import primary_score
from evalprep.run.harness import evaluate, save
from evalprep.run.tasks import load_tasks, manager_of
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


def merge_units(folder: RunFolder, job: Job, config: Any, units: list[Unit], names: list[str] | None = None) -> Path:
    """Score the saved responses in one lm-eval call without a model, so that groups and averages are lm-eval's own.

    Args:
        folder: The run folder.
        job: The command.
        config: What `configuration` gave.
        units: All units.
        names: Tasks whose units are all done, where others are not: their files are those of a command of its own, as
            when somebody had pasted it for them, so that it is never taken for the whole one. None for the whole.

    Returns:
        The folder with the files; one that is there already stays.

    Raises:
        KeyError: a response is missing.
        ValueError: two units hold a response to the same request.
    """
    from lm_eval.loggers import EvaluationTracker

    from evalprep.run.responses import Replay, ResponseFile

    target = folder.merged if names is None else folder.path / f"merged-{_digest(names)}"
    if target.is_dir():
        return target
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    chosen = [unit for unit in units if names is None or unit.task in names]
    replay = Replay(ResponseFile(folder.folder(unit)) for unit in chosen)
    tracker = EvaluationTracker(output_path=str(part))
    if names is None:
        manager, tasks = manager_of(config, job), list(config.tasks)
    else:
        said = {"command": f"{job.name}-alone"} if "command" in config.metadata else {}
        manager = manager_of(config, job, **said)
        objects = load_tasks(manager, job).tasks  # and not names: a group may have settings for its members
        tasks = [objects[name] for name in names]
    results = evaluate(config, replay, tasks, manager, tracker, limit=config.limit)
    unit_results = [_results(folder.folder(unit)) for unit in chosen]
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
    part.rename(target)
    return target


def _digest(names: list[str]) -> str:
    return hashlib.sha256("\0".join(sorted(names)).encode()).hexdigest()[:8]


def _results(folder: Path) -> dict[str, Any]:
    path = next(folder.rglob("results_*.json"))
    data = json.loads(path.read_text(encoding="utf-8"))
    return data if isinstance(data, dict) else {}


def scores(merged: Path) -> dict[str, tuple[float | None, str]]:
    """Task -> score and name of its primary metric, from the merged results."""
    data = _results(merged)
    directions = data.get("higher_is_better", {})
    return {
        name: primary_score(data["results"].get(name), config, directions.get(name))
        for name, config in data.get("configs", {}).items()
    }


def publish(merged: Path, job: Job) -> Path:
    """Copy the merged files to where lm-eval would have written them, the results file last.

    Done again after a kill it writes the same files under the same names.
    """
    results = next(merged.rglob("results_*.json"))
    target = job.output_path / results.parent.name
    target.mkdir(parents=True, exist_ok=True)
    for path in [*sorted(results.parent.glob("samples_*.jsonl")), results]:
        copy = target / f".{path.name}.copy"
        shutil.copyfile(path, copy)
        copy.replace(target / path.name)
    return target / results.name
