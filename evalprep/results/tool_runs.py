"""A run out of the logs of another tool.

The rows become samples of its tasks, so that every verb that takes a run takes them.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.readers import (
    REDUCERS,
    Log,
    Reading,
    Row,
    RowCounts,
    RowStore,
    RunResults,
    TaskResults,
    TaskSettings,
    ToolLog,
    ToolSamples,
    call_settings,
    known_metric,
    logs_at,
    no_samples,
)
from evalprep.results.files import RunFiles
from evalprep.results.gathering import LogFiles, files_of
from evalprep.results.headline import headline_metric
from evalprep.results.primary import USUAL_METRICS
from evalprep.results.run import Run
from evalprep.results.run_places import Named
from evalprep.results.task import TaskRun
from evalprep.samples import Damage, Direction, Metric
from evalprep.terminal import counted, shortlist, tracked

_NAMED = 4  # files, models or lines that a message names
_Opened = tuple[ToolLog, Path]


def read_tool_run(place: Named, reading: Reading) -> Run | None:
    """The logs of another tool at a place as a run; None where no reader knows the place.

    Args:
        place: A file or a folder, or several logs of one model.
        reading: What the user chose.

    Raises:
        BadInput: a log is damaged or holds no samples, or the place holds several models.
    """
    path = Path(place)
    places: list[Log] = []
    for file in files_of(place):
        places += logs_at(file, reading)
    if not places:
        return None
    opened, unreadable = _open(places, reading)
    logs, notes = _that_count(opened, path)
    model = _only_model(opened, path)
    damage: list[str] = []
    tasks = _samples_of(logs, path, damage)
    if not any(map(len, tasks.values())):
        raise no_samples(path, "; ".join(damage))
    notes += unreadable
    for log in logs:
        notes += log.notes
    notes += damage
    return _run(path, model, logs[0], tasks, notes)


def places_of_models(path: Path, reading: Reading) -> list[Named]:
    """The place of each model's logs below a folder; the folder itself where there is one model."""
    places = logs_at(path, reading)
    if len(places) < 2:
        return [path]
    opened, _unreadable = _open(places, reading)
    by_model = _by_model(opened)
    if len(by_model) < 2:
        return [path]
    return [_place_of(model, by_model) for model in by_model]


def _by_model(opened: Iterable[_Opened]) -> dict[str, list[Path]]:
    by_model: dict[str, list[Path]] = {}
    for log, place in opened:
        by_model.setdefault(log.model, []).append(place)
    return by_model


def _place_of(model: str, by_model: Mapping[str, Sequence[Path]]) -> Named:
    """The folder that holds the logs of one model alone; else its logs."""
    own = by_model[model]
    folder = Path(os.path.commonpath(own))
    for other, places in by_model.items():
        if other != model and any(place.is_relative_to(folder) for place in places):
            return LogFiles(own) if len(own) > 1 else own[0]
    return folder


def _open(places: Sequence[Log], reading: Reading) -> tuple[list[_Opened], list[str]]:
    """Opens logs; of several those that cannot be read are notes."""
    logs: list[_Opened] = []
    problems: list[Problem] = []
    for reader, place in places:
        try:
            log = reader.read(place, reading)
        except BadInput as error:
            problems += error.problems
            continue
        logs.append((log, place))
    if not logs:
        raise BadInput(problems)
    return logs, [f"{problem.where} is left out: {problem.what}" for problem in problems]


def _that_count(logs: Sequence[_Opened], path: Path) -> tuple[list[ToolLog], list[str]]:
    """The logs that count: of several tries of one task by one model the best."""
    tries_by_task: dict[tuple[str, str], list[_Opened]] = {}
    for log, place in logs:
        task = log.task if log.rank else str(place)
        tries = tries_by_task.setdefault((log.model, task), [])
        tries.append((log, place))
    best, notes = [], []
    for (_model, task), tries in tries_by_task.items():
        log, place = max(tries, key=lambda opened: opened[0].rank)
        best.append(log)
        if len(tries) > 1:
            name = place.relative_to(path) if place.is_relative_to(path) else place
            notes.append(f"{task}: of {len(tries)} logs {name} is used")
    return best, notes


def _only_model(opened: Sequence[_Opened], path: Path) -> str:
    """The model of all logs.

    Raises:
        BadInput: they are of several models; with the place of each.
    """
    by_model = _by_model((log, place) for log, place in opened if log.model)
    if len(by_model) < 2:
        return next(iter(by_model), "")
    models = list(by_model)
    places = " or ".join(str(Path(_place_of(model, by_model))) for model in models[:_NAMED])
    raise BadInput(
        Problem(
            what=f"logs of {len(models)} models: {shortlist(models, _NAMED)}",
            where=str(path),
            fix=f"pass the folder or file of one model: {places}",
        )
    )


def _samples_of(logs: Sequence[ToolLog], path: Path, damage: list[str]) -> dict[str, ToolSamples]:
    """The samples of each task, by its name in the source; damage is added as notes."""
    store = RowStore()
    place = path.resolve()
    tasks: dict[str, ToolSamples] = {}
    for log in logs:
        damaged: list[Damage] = []
        items = tracked(log.rows, f"reading {path.name}")
        rows = _usable(items, damaged)
        for name, rows_of_task in groupby(rows, key=lambda row: row.task):
            if name not in tasks:
                tasks[name] = ToolSamples(place, store)
            samples = tasks[name]
            samples.take(rows_of_task)
            samples.facts = log.tasks.get(name, samples.facts)
        if damaged:
            reasons = shortlist([f"line {item.line}: {item.why}" for item in damaged], _NAMED)
            damage.append(f"{counted(len(damaged), 'row')} could not be read ({reasons})")
    for samples in tasks.values():
        samples.count()
    return tasks


def _usable(items: Iterable[Row | Damage], damaged: list[Damage]) -> Iterator[Row]:
    for item in items:
        if isinstance(item, Damage):
            damaged.append(item)
        else:
            yield item


def _run(
    path: Path, model: str, log: ToolLog, tasks: Mapping[str, ToolSamples], notes: list[str]
) -> Run:
    place = path.resolve()
    is_folder = place.is_dir()
    stem = place.name if is_folder else place.stem
    names = _names(tasks, log)
    decoded: dict[str, TaskResults] = {}
    runs: dict[str, TaskRun] = {}
    notes_of_tasks: list[str] = []
    for source, samples in tasks.items():
        name = names[source]
        decoded[name] = _task_results(name, samples, log, source)
        runs[name] = TaskRun(
            name,
            samples,
            decoded[name],
            values_only=not samples.has_replies,
            tool=log.format,
            undecided=_undecided(name, samples),
        )
        notes_of_tasks += _notes_of(name, samples)
    files = RunFiles(
        folder=place if is_folder else place.parent,
        stamp=re.sub(r"[^\w.-]+", "_", stem),
        results=None,
        samples={},
    )
    call = {"config": dict(log.settings), "model_name": model or stem, "date": log.started}
    results = RunResults(settings=call_settings(call), tasks=decoded, read=True)
    return Run(files, results, runs, [*notes, *notes_of_tasks], log=place, tool=log.format)


def _names(tasks: Iterable[str], log: ToolLog) -> dict[str, str]:
    """The name of each task for people; where several would share it, that of the source."""
    names = {source: log.short_name(source) for source in tasks}
    sharing = _with_shared_name(names)
    while sharing:  # the source of one task may be the short name of another
        names |= {source: source for source in sharing}
        sharing = _with_shared_name(names)
    return names


def _with_shared_name(names: Mapping[str, str]) -> list[str]:
    """The tasks whose short name is also that of another task."""
    counts = Counter(names.values())
    return [source for source, name in names.items() if counts[name] > 1 and name != source]


def _primary(name: str, samples: ToolSamples) -> str:
    """The metric that stands for a task; empty where several could."""
    metrics = samples.metrics
    stated = samples.facts.metadata.get("primary_metric")
    for metric in (stated, headline_metric(name), *USUAL_METRICS):
        if metric in metrics:
            return str(metric)
    return metrics[0] if len(metrics) == 1 else ""


def _undecided(name: str, samples: ToolSamples) -> tuple[str, ...]:
    """The metrics of a task where several could stand for it; else empty."""
    if _primary(name, samples):
        return ()
    return tuple(samples.metrics)


def _task_results(name: str, samples: ToolSamples, log: ToolLog, source: str) -> TaskResults:
    """Returns what a results file of lm-eval would say of the task."""
    facts = samples.facts
    keys = samples.tallies
    metrics = [_metric(metric, filter_name, samples, log) for metric, filter_name in keys]
    metadata = {**facts.metadata, "reader": log.format, "native_task": source}
    primary = _primary(name, samples)
    if primary:
        metadata["primary_metric"] = primary
    filters = [metric.filter for metric in metrics if metric.metric == primary]
    if filters:
        metadata["primary_filter"] = filters[0]
    settings = TaskSettings(
        metadata=metadata, num_fewshot=facts.num_fewshot, as_logged={"metadata": metadata}
    )
    return TaskResults(
        name=name,
        metrics=tuple(metrics),
        directions={metric.metric: metric.direction for metric in metrics},
        settings=settings,
        version=facts.version,
        num_fewshot=facts.num_fewshot,
        rows=RowCounts(facts.rows.original, max(facts.rows.effective or 0, len(samples))),
    )


def _metric(name: str, filter_name: str, samples: ToolSamples, log: ToolLog) -> Metric:
    known = known_metric(name)
    tally = samples.tallies[(name, filter_name)]
    is_verdict = tally.verdicts and tally.count > 0 and not log.may_measure_harm
    direction: Direction = known.direction
    if is_verdict and direction == "unknown":
        direction = "up"
    return Metric(
        metric=name,
        filter=filter_name,
        value=tally.mean,
        direction=samples.facts.directions.get(name, direction),
        aggregation="mean",
        unit=known.unit,
        range=known.range or ((0.0, 1.0) if is_verdict else None),
    )


def _notes_of(name: str, samples: ToolSamples) -> Iterator[str]:
    """Yields how many samples have no verdict, and how many rows are repeats."""
    primary = _primary(name, samples)
    unjudged = len(samples) - _judged(samples, primary)
    if unjudged > 0 and not _undecided(name, samples):
        counts = [f"{count} {status}" for status, count in samples.statuses.items()]
        reasons = f" ({', '.join(counts)})" if counts else ""
        yield f"{name}: {unjudged} of {len(samples)} samples have no verdict{reasons}"
    if samples.repeats:
        reducer = samples.facts.reducer
        if reducer not in REDUCERS:
            yield f"{name}: evalprep does not know the log's reducer {reducer} and uses the mean"
            reducer = "mean"
        yield f"{name}: {samples.repeats} rows are repeats; the {reducer} counts"


def _judged(samples: ToolSamples, metric: str) -> int:
    """Returns how many samples have a value of a metric, under whichever filter."""
    judged = 0
    for (name, _filter), tally in samples.tallies.items():
        if name == metric:
            judged += tally.count
    return judged
