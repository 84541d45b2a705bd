"""A run out of the logs of another tool.

The rows become sample lines as lm-eval would have written them, in a folder of this process, so
that every verb that takes a run takes them.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.results.files import RunFiles
from evalprep.results.headline import headline_metric
from evalprep.results.known_metrics import known_metric
from evalprep.results.logged import RowCounts, RunResults, TaskResults, TaskSettings
from evalprep.results.metric import Direction, Metric
from evalprep.results.primary import USUAL_METRICS
from evalprep.results.readers.parts import call_settings
from evalprep.results.readers.tools import Reading, Row, ToolLog, logs_at, no_samples
from evalprep.results.readers.tools.finding import Log
from evalprep.results.run import Run
from evalprep.results.sample import Damage
from evalprep.results.task import TaskRun
from evalprep.results.tool_lines import REDUCERS, TaskLines
from evalprep.terminal import counted, shortlist, tracked

_NAMED = 4  # files, models or lines that a message names
_NO_DIRECTION = ("helm",)  # also measures harm: toxicity of 1 is a verdict, too
_Opened = tuple[ToolLog, Path]


def read_tool_run(path: Path, reading: Reading) -> Run | None:
    """The logs of another tool at a place as a run; None where no reader knows the place.

    Args:
        path: A file or a folder.
        reading: What the user chose.

    Raises:
        BadInput: a log is damaged or holds no samples, or the place holds several models.
    """
    places = logs_at(path, reading)
    if not places:
        return None
    opened, unreadable = _open(places, reading)
    logs, several = _that_count(opened, path)
    model = _only_model(opened, path)
    damage: list[str] = []
    tasks = _lines_of(logs, path, damage)
    if not any(lines.samples for lines in tasks.values()):
        raise no_samples(path, "; ".join(damage))
    notes_of_logs = chain.from_iterable(log.notes for log in logs)
    notes = [*several, *unreadable, *notes_of_logs, *damage]
    return _run(path, logs[0].format, model, logs[0], tasks, notes)


def places_of_models(path: Path, reading: Reading) -> list[Path]:
    """The place of each model's logs below a folder; the folder itself where there is one model."""
    places = logs_at(path, reading)
    if len(places) < 2:
        return [path]
    by_model = _by_model(_open(places, reading)[0])
    if len(by_model) < 2:
        return [path]
    return list(chain.from_iterable(_places_of(model, by_model) for model in by_model))


def _by_model(opened: Iterable[_Opened]) -> dict[str, list[Path]]:
    by_model: dict[str, list[Path]] = {}
    for log, place in opened:
        by_model.setdefault(log.model, []).append(place)
    return by_model


def _places_of(model: str, by_model: Mapping[str, Sequence[Path]]) -> list[Path]:
    """The folder that holds the logs of one model alone; else its logs one by one."""
    own = by_model[model]
    folder = Path(os.path.commonpath(own))
    others = chain.from_iterable(by_model[name] for name in by_model if name != model)
    if any(place.is_relative_to(folder) for place in others):
        return list(own)
    return [folder]


def _open(places: Sequence[Log], reading: Reading) -> tuple[list[_Opened], list[str]]:
    """Opens logs; of several those that cannot be read are notes."""
    logs: list[_Opened] = []
    problems: list[Problem] = []
    for reader, place in places:
        try:
            logs.append((reader.read(place, reading), place))
        except BadInput as error:
            problems += error.problems
    if not logs:
        raise BadInput(problems)
    return logs, [f"{problem.where} is left out: {problem.what}" for problem in problems]


def _that_count(logs: Sequence[_Opened], path: Path) -> tuple[list[ToolLog], list[str]]:
    """The logs that count: of several tries of one task by one model the best."""
    tries_by_task: dict[tuple[str, str], list[_Opened]] = {}
    for log, place in logs:
        task = log.task if log.rank else str(place)
        tries_by_task.setdefault((log.model, task), []).append((log, place))
    best, notes = [], []
    for (_model, task), tries in tries_by_task.items():
        log, place = max(tries, key=_rank)
        best.append(log)
        if len(tries) > 1:
            name = place.relative_to(path) if place.is_relative_to(path) else place
            notes.append(f"{task}: of {len(tries)} logs {name} is used")
    return best, notes


def _rank(opened: _Opened) -> tuple[Any, ...]:
    log, _place = opened
    return log.rank


def _only_model(opened: Sequence[_Opened], path: Path) -> str:
    """The model of all logs.

    Raises:
        BadInput: they are of several models; with the place of each.
    """
    by_model = _by_model((log, place) for log, place in opened if log.model)
    if len(by_model) > 1:
        models = list(by_model)
        places = [str(_places_of(model, by_model)[0]) for model in models[:_NAMED]]
        raise BadInput(
            Problem(
                what=f"logs of {len(models)} models: {shortlist(models, _NAMED)}",
                where=str(path),
                fix=f"pass the folder or file of one model: {' or '.join(places)}",
            )
        )
    return next(iter(by_model), "")


@cache
def _space() -> tempfile.TemporaryDirectory[str]:
    """A folder that is gone when this process is."""
    return tempfile.TemporaryDirectory(prefix="evalprep-tools-")


def _lines_of(logs: Sequence[ToolLog], path: Path, damage: list[str]) -> dict[str, TaskLines]:
    """The lines of each task, by its name in the source; damage is added as notes."""
    folder = Path(tempfile.mkdtemp(dir=_space().name))
    tasks: dict[str, TaskLines] = {}
    for log in logs:
        damaged: list[Damage] = []
        rows = _usable(tracked(log.rows, f"reading {path.name}"), damaged)
        for name, of_task in groupby(rows, key=lambda row: row.task):
            if name not in tasks:
                tasks[name] = TaskLines(folder / f"{len(tasks)}.jsonl")
            tasks[name].take(of_task)
            tasks[name].facts = log.tasks.get(name, tasks[name].facts)
        damage += _note_of_damage(damaged)
    for lines in tasks.values():
        lines.write()
    return tasks


def _usable(items: Iterable[Row | Damage], damaged: list[Damage]) -> Iterator[Row]:
    for item in items:
        if isinstance(item, Damage):
            damaged.append(item)
        else:
            yield item


def _note_of_damage(damaged: Sequence[Damage]) -> list[str]:
    if not damaged:
        return []
    named = shortlist([f"line {item.line}: {item.why}" for item in damaged], _NAMED)
    return [f"{counted(len(damaged), 'row')} could not be read ({named})"]


def _run(
    path: Path,
    tool: str,
    model: str,
    log: ToolLog,
    tasks: Mapping[str, TaskLines],
    notes: list[str],
) -> Run:
    place = path.resolve()
    names = _names(tasks, log)
    decoded = {
        name: _task_results(name, tasks[source], tool, source) for source, name in names.items()
    }
    runs = {
        names[source]: TaskRun(
            names[source],
            lines.path,
            decoded[names[source]],
            values_only=not lines.has_replies,
            tool=tool,
            undecided=_undecided(names[source], lines),
        )
        for source, lines in tasks.items()
    }
    stem = place.name if place.is_dir() else place.stem
    files = RunFiles(
        folder=place if place.is_dir() else place.parent,
        stamp=re.sub(r"[^\w.-]+", "_", stem),
        results=None,
        samples={name: task.path for name, task in runs.items()},
    )
    settings = call_settings(
        {"config": dict(log.settings), "model_name": model or stem, "date": log.started}
    )
    results = RunResults(settings=settings, tasks=decoded, read=True)
    own = [note for source, lines in tasks.items() for note in _notes_of(names[source], lines)]
    return Run(files, results, runs, [*notes, *own], log=place, tool=tool)


def _names(tasks: Iterable[str], log: ToolLog) -> dict[str, str]:
    """The name of each task for people; where several would share it, that of the source."""
    short = {source: log.short_name(source) for source in tasks}
    names = list(short.values())
    return {source: name if names.count(name) == 1 else source for source, name in short.items()}


def _primary(name: str, lines: TaskLines) -> str:
    """The metric that stands for a task; empty where several could."""
    metrics = lines.metrics
    stated = lines.facts.metadata.get("primary_metric")
    candidates = (stated, headline_metric(name), *USUAL_METRICS)
    known = next((metric for metric in candidates if metric in metrics), "")
    return str(known or (metrics[0] if len(metrics) == 1 else ""))


def _undecided(name: str, lines: TaskLines) -> tuple[str, ...]:
    return () if _primary(name, lines) else tuple(lines.metrics)


def _task_results(name: str, lines: TaskLines, tool: str, source: str) -> TaskResults:
    """Returns what a results file of lm-eval would say of the task."""
    primary = _primary(name, lines)
    metrics = tuple(
        _metric(metric, filter_name, lines, tool) for metric, filter_name in lines.tallies
    )
    own = {"primary_metric": primary} if primary else {}
    filters = [metric.filter for metric in metrics if metric.metric == primary]
    if filters:
        own["primary_filter"] = filters[0]
    metadata = {**lines.facts.metadata, "reader": tool, "native_task": source, **own}
    return TaskResults(
        name=name,
        metrics=metrics,
        directions={metric.metric: metric.direction for metric in metrics},
        settings=TaskSettings(
            metadata=metadata, num_fewshot=lines.facts.num_fewshot, as_logged={"metadata": metadata}
        ),
        version=lines.facts.version,
        num_fewshot=lines.facts.num_fewshot,
        rows=RowCounts(effective=lines.samples),
    )


def _metric(name: str, filter_name: str, lines: TaskLines, tool: str) -> Metric:
    known = known_metric(name)
    tally = lines.tallies[(name, filter_name)]
    is_verdict = tally.verdicts and tally.count > 0 and tool not in _NO_DIRECTION
    direction: Direction = "up" if is_verdict and known.direction == "unknown" else known.direction
    return Metric(
        metric=name,
        filter=filter_name,
        value=tally.mean,
        direction=lines.facts.directions.get(name, direction),
        aggregation="mean",
        unit=known.unit,
        range=known.range or ((0.0, 1.0) if is_verdict else None),
    )


def _notes_of(name: str, lines: TaskLines) -> Iterator[str]:
    """Yields how many samples have no verdict, and how many rows are repeats."""
    unjudged = lines.samples - _judged(lines, _primary(name, lines))
    if unjudged > 0 and not _undecided(name, lines):
        reasons = ", ".join(f"{count} {status}" for status, count in lines.statuses.items())
        shown_reasons = f" ({reasons})" if reasons else ""
        yield f"{name}: {unjudged} of {lines.samples} samples have no verdict{shown_reasons}"
    if lines.repeats:
        reducer = lines.facts.reducer
        if reducer not in REDUCERS:
            yield f"{name}: the log's reducer {reducer} is not known here, so the mean is taken"
            reducer = "mean"
        yield f"{name}: {lines.repeats} rows are repeats; the {reducer} counts"


def _judged(lines: TaskLines, metric: str) -> int:
    """Returns how many samples have a value of a metric, under whichever filter."""
    return sum(tally.count for (name, _filter), tally in lines.tallies.items() if name == metric)
