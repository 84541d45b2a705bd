"""A task's own filters and `process_results` over saved replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.packs.own import why_foreign
from evalprep.results import Run, Sample, TaskRun
from evalprep.results.record import prepared_folder


@dataclass(frozen=True)
class ScorerPlace:
    """How to load a task's scorer: its name and the folders that hold its YAML (none: lm-eval's own tasks)."""

    task: str
    roots: tuple[str, ...]


@dataclass
class Outcome:
    """What today's scorer makes of one document: filter -> metrics, filter -> filtered replies, or an error."""

    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    filtered: dict[str, list[Any]] = field(default_factory=dict)
    replay: dict[str, dict[str, Any]] = field(default_factory=dict)
    error: str = ""


def load_task(place: ScorerPlace) -> Any:
    """The task object of lm-eval.

    Raises:
        BadInput: there is no such task, or it cannot be loaded.
    """
    import logging

    from lm_eval.tasks import TaskManager

    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    try:
        manager = TaskManager(include_path=list(place.roots) or None, include_defaults=not place.roots)
        return manager.load([place.task])["tasks"][place.task]
    except Exception as error:
        raise BadInput(
            Problem(
                what=f"task {place.task} cannot be loaded: {type(error).__name__}: {error}",
                where=", ".join(place.roots) or "lm-eval's own tasks",
                fix="prepare again with the same config, or name the folder of the task YAMLs with --work_dir",
            )
        ) from error


def find_scorer(run: Run, task: TaskRun, work_dir: Path | None) -> ScorerPlace:
    """Where the YAML of a task lies: the folder that the user names, or the one that she prepared it in.

    The results file names a place as well. Loading a task runs code, and anybody may have written that file, so what
    it names is run only where `why_foreign` has no reason against it; lm-eval's own tasks are the installed ones.

    Raises:
        BadInput: the task's code lies in a folder that the user neither named nor prepared.
    """
    if work_dir is not None:
        return ScorerPlace(task.name, (str(work_dir.resolve()),))
    prepared = prepared_folder(run)
    if prepared is not None and prepared.is_dir():
        if reason := why_foreign(prepared):
            raise BadInput(_unnamed(task.name, prepared, reason))
        return ScorerPlace(task.name, (str(prepared.resolve()),))
    source = task.metadata.get("config_source")
    if isinstance(source, str) and Path(source).is_file() and not _of_lm_eval(Path(source)):
        raise BadInput(_unnamed(task.name, Path(source).parent, "only the results file names it"))
    return ScorerPlace(task.name, ())


def _unnamed(task: str, folder: Path, reason: str) -> Problem:
    return Problem(
        what=f"task {task} would run code of {folder}, and {reason}",
        fix=f"look at what lies there, then name it: --work_dir {folder}",
    )


def _of_lm_eval(path: Path) -> bool:
    import lm_eval

    return path.resolve().is_relative_to(Path(str(lm_eval.__file__)).resolve().parent)


def _replies(task: Any, resps: Sequence[Any]) -> list[Any]:
    """The replies of one request as the harness had them: it logs likelihoods as text."""
    kind = task.OUTPUT_TYPE
    if kind in {"loglikelihood", "multiple_choice"}:
        return [(float(one[0]), str(one[1]) == "True") if isinstance(one, list) else one for one in resps]
    if kind == "loglikelihood_rolling":
        return [float(one[0] if isinstance(one, list) else one) for one in resps]
    return list(resps)


def _instances(task: Any, sample: Sample, resps: Sequence[Any]) -> list[Any]:
    from lm_eval.api.instance import Instance

    kind = "loglikelihood" if task.OUTPUT_TYPE == "multiple_choice" else task.OUTPUT_TYPE
    found = []
    for number, request in enumerate(resps):
        arguments = sample.arguments.get(f"gen_args_{number}") or {}
        instance = Instance(kind, sample.doc, tuple(arguments.values()), number, (task.config.task, sample.doc_id, 1))
        instance.resps = _replies(task, request if isinstance(request, list) else [request])
        found.append(instance)
    return found


def _score(task: Any, sample: Sample, resps: Sequence[Any]) -> tuple[dict[str, dict[str, Any]], dict[str, list[Any]]]:
    """Metrics and filtered replies per filter."""
    instances = _instances(task, sample, resps)
    metrics, filtered = {}, {}
    for ensemble in task._filters:  # noqa: SLF001 - the harness offers no public access
        ensemble.apply(instances)
        replies = [instance.filtered_resps[ensemble.name] for instance in instances]
        metrics[ensemble.name] = dict(task.process_results(dict(sample.doc), list(replies)))
        filtered[ensemble.name] = replies
    return metrics, filtered


def score_sample(task: Any, sample: Sample) -> Outcome:
    """Score one saved sample, and the output published for it where the row has one; never raises."""
    outcome = Outcome()
    try:
        outcome.metrics, outcome.filtered = _score(task, sample, sample.resps)
        published = sample.previous_output
        if published is not None and task.OUTPUT_TYPE == "generate_until" and len(sample.resps) == 1:
            outcome.replay, _ = _score(task, sample, [[published]])
    except Exception as error:  # noqa: BLE001 - a scorer that fails on one reply must not hide the others
        outcome.error = f"{type(error).__name__}: {error}"
    return outcome
