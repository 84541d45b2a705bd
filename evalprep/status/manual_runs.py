"""Runs that were started by hand: what they wrote, and lm_eval processes that are still at work."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.files import as_mapping, read_text
from evalprep.packs import Prepared, load_prepared
from evalprep.places import last_part
from evalprep.results import DONE, FAILED, PENDING
from evalprep.status.done import is_outdated
from evalprep.status.lines import TaskStatus
from evalprep.status.tries import of_newest_try
from evalprep.terminal import counted
from evalprep.yamltext import NotYaml, yaml_value

if TYPE_CHECKING:
    from evalprep.readers import RunResults
    from evalprep.results import Invocation, Run, Unread

#: Last parts of the words that start lm_eval; the last ones are modules of ours.
_PROGRAMS = frozenset(
    {"lm_eval", "lm-eval", "lm_eval.__main__", "evalprep.run.rehearsal", "evalprep.run.launcher"}
)


def newest_start(place: Path, *, without: Collection[Path], runs: Collection[str]) -> float:
    """Returns when the newest call by hand at or below an output folder began; 0 without one.

    Calls of `evalprep run` state their try.

    Args:
        place: The folder.
        without: Results files of commands without a run id that `evalprep run` started.
        runs: Ids of the runs that are asked about; empty for any.
    """
    from evalprep.results import calls_below

    by_hand = [call for call in calls_below(place) if call.attempt is None]
    by_hand = [call for call in by_hand if not runs or call.run in runs]
    moments = [call.moment for call in by_hand if call.results not in without]
    return max((moment[0] for moment in moments if moment is not None), default=0.0)


@dataclass
class Finished:
    """The results of a prepared folder that was run by hand.

    Attributes:
        lines: Task -> its line.
        reasons: Task without a line -> why its results do not count.
        notes: Which files count, where that had to be decided.
    """

    lines: dict[str, TaskStatus] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, line: TaskStatus, reason: str) -> None:
        """Adds newer results of a task, which do not count where there is a reason."""
        if not reason:
            self.lines[name] = line
            self.reasons.pop(name, None)
        elif name not in self.lines:
            self.reasons[name] = reason


def finished(place: Path, *, runs: Collection[str], prepared: Prepared) -> Finished:
    """Tasks in the results files of a folder; the newest file that has all of a task counts.

    Files of other run ids never count, and those without an id only for a preparation that has none
    itself, where they are of a later date.

    Args:
        place: An output folder, or a model's folder in it.
        runs: Ids of runs; empty for a preparation without ids.
        prepared: The work folder.
    """
    from evalprep.results import oldest_first, run_calls, sentence_of, typed_calls

    results = Finished()
    if any(runs):
        calls = oldest_first(chain.from_iterable(run_calls(place, run) for run in runs))
    else:
        calls = [call for call in run_calls(place, "") if _is_later(call, prepared.created)]
    for run in filter(None, runs):
        for command in prepared.commands:
            calls = of_newest_try(calls, command.name, place, run)
        for call, options in typed_calls(place, run):
            for name in call.tasks:
                results.reasons[name] = f"has results with other options ({sentence_of(options)})"
    for call in calls:
        from evalprep.readers import read_results

        for name, line in _lines_of(read_results(call.results)[0]):
            results.add(name, line, _why_not(name, prepared, call))
    return results


def _is_later(call: Invocation, created: str) -> bool:
    """Returns whether a call is of a later date than a preparation; without both it is not."""
    try:
        begun = datetime.fromisoformat(created).timestamp()
    except ValueError:
        return False
    return call.moment is not None and call.moment[0] >= begun


def _why_not(task: str, prepared: Prepared, call: Invocation) -> str:
    """Returns why the results of a task do not count; empty where they do."""
    if is_outdated(task, prepared, call):
        return "was edited after its last results"
    have, prepared_task = call.rows.get(task), prepared.tasks.get(task)
    expected = None if prepared_task is None else prepared_task.expected
    if have is not None and expected is not None and have < expected:
        return f"has results of {have} of {counted(expected, 'row')}"
    return ""


@dataclass(frozen=True)
class _Place:
    """The place of runs by hand: a folder, and a name where that holds several."""

    folder: Path
    name: str

    def prefix(self, start: Path, names_in_folder: int) -> str:
        """The shortest path below `start` that only this place has."""
        parts = [*self.folder.relative_to(start).parts]
        if names_in_folder > 1:
            parts.append(self.name)
        return "/".join(parts)


@dataclass(frozen=True)
class _TaskKey:
    """The facts that tell the results of a task apart: of one key the newest file counts.

    Attributes:
        place: The place of its run.
        task: Its name.
        settings: A digest of how the task was asked.
        seed: The seed of the run.
    """

    place: _Place
    task: str
    settings: str
    seed: str


@dataclass(frozen=True)
class _TaskResults:
    """The line of a task, and the results file that it is read from."""

    line: TaskStatus
    run: Run


def finished_by_folder(place: Path) -> Finished:
    """The same of a folder that may hold several models, and one with several settings.

    Of files with run ids the newest run of each model folder counts, in the newest tries of its
    commands, as in every other verb. Of others a task with results of several runs has a line for
    each, with folder and name of the run in front: the name of the file where a person gave it,
    else that of the model. Runs of one model with other settings have the names that `score` gives
    them.
    """
    finished = Finished()
    newest = _newest_by_settings(place, finished)
    shared = _places_of_several(newest)
    places = _named_places(newest, shared)
    runs_by_task = Counter(key.task for key in newest)
    runs_by_folder = Counter(run.folder for run in set(places.values()))
    for key, results in newest.items():
        run = places[key]
        prefix = run.prefix(place, runs_by_folder[run.folder])
        is_alone = runs_by_task[key.task] == 1 and key.place not in shared
        shown = key.task if is_alone else f"{prefix}/{key.task}"
        finished.lines[shown] = replace(results.line, name=shown)
    return finished


def _newest_by_settings(place: Path, finished: Finished) -> dict[_TaskKey, _TaskResults]:
    """The newest results of each task, for each of the settings that it was run with."""
    from evalprep.results import find_run, load_run, newest_calls, open_results

    ids, calls = newest_calls(place)
    newest: dict[_TaskKey, _TaskResults] = {}
    for call in calls:
        run = open_results(call.results)
        for name, line in _lines_of(run.logged):
            newest[_key_of(run, call.results, name)] = _TaskResults(line, run)
    for run_id in ids:
        run = load_run(place, run=run_id)
        folder = _Place(run.files.folder, last_part(run.model))
        here = find_run(run.files.folder)
        for name, line in _lines_of_run(run, {**run.unread, **here.unread}):
            newest[_TaskKey(folder, name, run_id, "")] = _TaskResults(line, run)
        finished.notes += here.notes
    return newest


def _lines_of_run(run: Run, unread: Mapping[str, Unread]) -> Iterator[tuple[str, TaskStatus]]:
    """Yields each task of a run with an id, also those that failed or were not reached.

    Args:
        run: The run.
        unread: Task -> why no rows of it are read; a newer run may have failed in it.
    """
    if run.files.results is not None:
        yield from _lines_of(run.logged)
    for name, item in unread.items():
        if item.kind == "failed":
            yield name, TaskStatus(name, FAILED, message=item.reason)
        elif item.kind == "not run":
            yield name, TaskStatus(name, PENDING)


def _key_of(run: Run, path: Path, task: str) -> _TaskKey:
    """The key of a task in a results file."""
    from evalprep.results import question_of, seed_of

    settings = question_of(run, run.stored[task])
    return _TaskKey(_place_of(path, run.logged), task, settings, seed_of(run))


def _places_of_several(newest: Mapping[_TaskKey, _TaskResults]) -> set[_Place]:
    """The places in which several have answered, say two revisions of a model."""
    from evalprep.results import answered_by

    answerers: dict[_Place, set[Any]] = {}
    for key, results in newest.items():
        answerers.setdefault(key.place, set()).add(answered_by(results.run.settings))
    return {place for place, known in answerers.items() if len(known - {None}) > 1}


def _named_places(
    newest: Mapping[_TaskKey, _TaskResults], shared: Collection[_Place]
) -> dict[_TaskKey, _Place]:
    """The place of each key, with the label of the run where its folder holds several.

    These are several settings of a task, or what several have answered.
    """
    from evalprep.results import label_runs

    keys_by_place: dict[_Place, list[_TaskKey]] = {}
    for key in newest:
        keys_by_place.setdefault(key.place, []).append(key)
    places: dict[_TaskKey, _Place] = {}
    for place, keys in keys_by_place.items():
        if len({key.task for key in keys}) == len(keys) and place not in shared:
            places |= dict.fromkeys(keys, place)
            continue
        runs = {newest[key].run.files.results: newest[key].run for key in keys}
        named = dict(zip(runs, label_runs(list(runs.values())), strict=True))
        for key in keys:
            places[key] = replace(place, name=named[newest[key].run.files.results].label)
    return places


def _place_of(path: Path, logged: RunResults) -> _Place:
    """The place of a results file: all files that lm-eval named are in one per model."""
    from evalprep.results import is_stamped

    model = last_part(logged.settings.model)
    return _Place(path.parent, model if is_stamped(path) else path.stem)


def _lines_of(logged: RunResults) -> Iterator[tuple[str, TaskStatus]]:
    """Yields each task with its line, of a results file."""
    from evalprep.results import primary_score, whole_call

    # lm-eval measures the call as a whole; it is the task's own time only when it ran alone.
    seconds = whole_call(logged).effort.seconds if len(logged.tasks) == 1 else None
    for name, task in logged.tasks.items():
        score, metric = primary_score(task)
        started = logged.settings.started
        line = TaskStatus(
            name,
            DONE,
            seconds,
            score=score,
            metric=metric,
            category=str(task.settings.metadata.get("pack", "")),
            written=None if started is None else started + (logged.settings.seconds or 0.0),
        )
        yield name, line


def processes(place: Path) -> dict[str, float]:
    """Task -> seconds since its start, of live lm_eval processes that write to a folder.

    Groups of a prepared work folder are resolved. Of several processes of one call (`accelerate`,
    forks) the oldest counts.
    """
    import psutil

    ages: dict[str, float] = {}
    for process in psutil.process_iter(["cmdline", "cwd", "create_time"]):
        words = process.info.get("cmdline") or []
        if not any(Path(word).name in _PROGRAMS for word in words):
            continue
        here = Path(process.info.get("cwd") or "/")
        options = _options(words, here)
        output = options.get("output_path")
        tasks = options.get("tasks")
        if not output or not tasks:
            continue
        target = (here / output[0]).resolve()
        if target.is_relative_to(place) or place.is_relative_to(target):
            age = time.time() - float(process.info["create_time"])
            paths = options.get("include_path") or [""]
            prepared = load_prepared(here / paths[0])
            for name in resolve(tasks, {} if prepared is None else prepared.groups):
                ages[name] = max(age, ages.get(name, 0.0))
    return ages


def resolve(names: Iterable[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Tasks behind names of tasks and groups, each once; a name that is no group stays."""
    tasks: list[str] = []
    for name in names:
        members = groups.get(name)
        if members:
            other_groups = {group: groups[group] for group in groups if group != name}
            tasks += resolve(members, other_groups)
        else:
            tasks.append(name)
    return list(dict.fromkeys(tasks))


def _options(words: list[str], here: Path) -> dict[str, list[str]]:
    """The values of the options that matter, of a command line and its run configuration."""
    key_of_option = {
        "--output_path": "output_path",
        "-o": "output_path",
        "--tasks": "tasks",
        "-t": "tasks",
    }
    key_of_option |= {"--config": "config", "-C": "config", "--include_path": "include_path"}
    values_by_key: dict[str, list[str]] = {}
    current: list[str] = []
    for word in words:
        text = word
        if word.startswith("-"):
            option, _, text = word.partition("=")
            current = values_by_key.setdefault(key_of_option.get(option, ""), [])
        current += [part for part in text.split(",") if part]
    if "config" in values_by_key:
        try:
            data = yaml_value(read_text(here / values_by_key["config"][0], own=True))
        except (OSError, IndexError, ValueError, NotYaml):
            data = None
        configured: dict[str, list[str]] = {}
        for key in ("output_path", "tasks", "include_path"):
            value = as_mapping(data).get(key)
            listed = value if isinstance(value, list) else str(value or "").split(",")
            configured[key] = [str(item) for item in listed]
        values_by_key = {**configured, **values_by_key}
    return {key: [value for value in values if value] for key, values in values_by_key.items()}
