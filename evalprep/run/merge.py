"""One set of files from all units, as if lm-eval had run once."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

from evalprep.files import make_folder, replace_file
from evalprep.readers import add_processes, read_results, with_model_of
from evalprep.results import Unit, primary_score
from evalprep.run.harness import evaluate, save
from evalprep.run.tasks import load_tasks, manager_of
from evalprep.status import Job, RunFolder


def merge_units(
    folder: RunFolder, job: Job, config: Any, units: list[Unit], names: list[str] | None
) -> Path:
    """Scores the saved responses in one lm-eval call without a model.

    Groups and averages are so lm-eval's own.

    Args:
        folder: The run folder.
        job: The command.
        config: What `configuration` gave.
        units: All units.
        names: Tasks whose units are all done, where others are not: their files are those of a
            command of its own, as when somebody had pasted it for them, so that it is never taken
            for the whole one. None for the whole.

    Returns:
        The folder with the files; one that is there already stays.

    Raises:
        KeyError: a response is missing.
        ValueError: two units hold a response to the same request.
    """
    from lm_eval.loggers import EvaluationTracker

    from evalprep.run.responses import Replay, ResponseFile

    target = folder.merged
    if names is not None:
        text = "\0".join(sorted(names))
        target = folder.path / f"merged-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        units = [unit for unit in units if unit.task in names]
    if target.is_dir():
        return target
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    unit_folders = [folder.folder(unit) for unit in units]
    replay = Replay(map(ResponseFile, unit_folders))
    tracker = EvaluationTracker(output_path=str(part))
    manager, tasks = _tasks(job, config, names)
    results = evaluate(config, replay, tasks, manager, tracker, limit=config.limit)
    unit_results = list(map(_results_file, unit_folders))
    with_model_of(results, unit_results[0])
    save(tracker, results, samples=config.log_samples)
    # Add what only the units know: versions, tokens, and their time.
    add_processes(_results_file(part), unit_results)
    part.rename(target)
    return target


def _tasks(job: Job, config: Any, names: list[str] | None) -> tuple[Any, list[Any]]:
    """lm-eval's manager and the tasks to score: all of the command, or some by themselves."""
    if names is None:
        return manager_of(config), list(config.tasks)
    metadata = {}
    if "command" in config.metadata:
        metadata["command"] = f"{job.name}-alone"
    manager = manager_of(config, **metadata)
    # Objects and not names: a group may have settings for its members.
    objects = load_tasks(manager, job).tasks
    return manager, [objects[name] for name in names]


def _results_file(folder: Path) -> Path:
    """The results file below a folder into which lm-eval wrote once.

    Raises:
        FileNotFoundError: there is none.
    """
    for path in folder.rglob("results_*.json"):
        return path
    raise FileNotFoundError(f"no results file in {folder}; start the run again with --restart")


def scores(merged: Path) -> dict[str, tuple[float | None, str]]:
    """Task -> score and name of its primary metric, from the merged results."""
    logged, _ = read_results(_results_file(merged))
    return {name: primary_score(task) for name, task in logged.tasks.items()}


def publish(merged: Path, job: Job) -> Path:
    """Copies the merged files to where lm-eval would have written them, the results file last.

    Done again after a kill it writes the same files under the same names.
    """
    results = _results_file(merged)
    folder = results.parent
    target = job.output_path / folder.name
    make_folder(target, within=job.output_path)
    samples = sorted(folder.glob("samples_*.jsonl"))
    for path in (*samples, results):
        with replace_file(target / path.name) as copy:
            shutil.copyfile(path, copy)
    return target / results.name
