"""Opening a run: its results files put together, and the task of each samples file.

`load_run` is a row of stages: find the files, decode the results files, read the preparation that
the run came from, list the samples files, make the tasks, put parts of one task together, leave out
what was made from replies that no longer count, and gather the notes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from msgspec import structs

from evalprep.files import as_mapping
from evalprep.packs import Plan, TaskPlan, leaves, plan_of
from evalprep.results.directions import Turned, turned_notes
from evalprep.results.effort import Efforts, efforts_of
from evalprep.results.files import NEWEST, RunFiles, find_run
from evalprep.results.invocations import invocation_of
from evalprep.results.logged import RowCounts, RunResults, TaskResults
from evalprep.results.pointers import pointers_below, said_of
from evalprep.results.readers import read_results
from evalprep.results.record import read_failures, read_record
from evalprep.results.run import Run
from evalprep.results.sample_layouts import SamplesInside, as_lines, joined, lines_of
from evalprep.results.task import TaskRun
from evalprep.results.unscored import with_own_scores
from evalprep.terminal import shortlist

_NAMED = 4  # tasks that a note names one by one


def load_run(
    path: str | os.PathLike[str], *, timestamp: str = NEWEST, run: str = "", as_logged: bool = False
) -> Run:
    """Opens a run of lm-eval, whichever version wrote it.

    `results.readers` lists them.

    Args:
        path: Output folder, model folder, results file or one samples file.
        timestamp: `newest`, `each` (the newest samples of each task) or the beginning of a time
            stamp.
        run: Id of the run that is wanted, instead of the newest.
        as_logged: Leave rows that were logged without scores as they are.

    Returns:
        The run; samples are read when asked for.

    Raises:
        BadInput: no run there.
    """
    files = find_run(path, timestamp=timestamp, run=run)
    results = _read_results_files(files)
    preparation = _read_preparation(files, results.run)
    samples = _list_samples(files, results, of_a_file=Path(path).is_file(), named=Path(path))
    tasks = _make_tasks(samples, results.run, preparation)
    parts = _join_parts(tasks, files.parts, results)
    logged = _with_rows_of_parts(results.run, parts)
    outdated = _drop_outdated(parts.tasks, preparation.plan)
    kept = {name: task for name, task in parts.tasks.items() if name not in outdated}
    scored = kept if as_logged else {name: with_own_scores(task) for name, task in kept.items()}
    notes = [
        *_notes_of_files(files, results),
        *parts.notes,
        *outdated.values(),
        *_notes_of_rescoring(logged),
        *([] if Path(path).is_file() else _notes_of_missing_samples(files, logged, scored)),
        *_notes_of_packed_samples(files),
    ]
    failed = {
        name: reason
        for name, reason in read_failures(files.folder, files.run).items()
        if name not in scored
    }
    notes += [f"{name} failed: {reason}" for name, reason in failed.items()]
    return Run(
        files,
        logged,
        scored,
        [*notes, *turned_notes(preparation.turned)],
        record=preparation.plan if preparation.recorded else None,
        expected=preparation.expected,
        failed=failed,
        turned=preparation.turned,
        efforts=_efforts_of_files(files, results, parts.joined),
    )


def _efforts_of_files(files: RunFiles, results: _ResultsFiles, joined: Iterable[str]) -> Efforts:
    """Returns what the calls took that rows are from.

    Args:
        files: The files of the run.
        results: Its results files.
        joined: Tasks that are put together from several calls, each of which counts.
    """
    of_parts = {file for name in joined for _, file in files.parts[name]}
    efforts = Efforts()
    for file, call in results.by_file.items():
        own = [name for name in call.tasks if files.sources.get(name, files.results) == file]
        if own or file in of_parts:
            of_call = efforts_of(file, call)
            tasks = {name: effort for name, effort in of_call.tasks.items() if name in own}
            efforts = efforts.with_others(structs.replace(of_call, tasks=tasks))
    return efforts


@dataclass(frozen=True)
class _ResultsFiles:
    """The decoded results files of a run.

    Attributes:
        run: All of them put together.
        by_file: Each one alone.
        inside: Task -> samples that a results file holds itself.
    """

    run: RunResults
    by_file: dict[Path, RunResults]
    inside: Mapping[str, SamplesInside]


def _read_results_files(files: RunFiles) -> _ResultsFiles:
    """Decodes the results files of a run, the oldest first, and puts them together."""
    by_file: dict[Path, RunResults] = {}
    inside: dict[str, SamplesInside] = {}
    for file in (*files.earlier, *filter(None, [files.results])):
        by_file[file], samples = read_results(file)
        state = file.stat()
        key = f"{file.resolve()} {state.st_size} {state.st_mtime_ns}"
        inside |= {task: SamplesInside(samples, task, key) for task in samples.members}
    whole = reduce(_merged, by_file.values(), RunResults())
    # A newer call may have fewer rows of a task than the one that its samples are from.
    counted = {
        task: by_file[file].tasks[task]
        for task, file in files.sources.items()
        if file in by_file and task in by_file[file].tasks
    }
    whole = structs.replace(whole, tasks={**whole.tasks, **counted})
    return _ResultsFiles(whole, by_file, inside)


def _merged(older: RunResults, newer: RunResults) -> RunResults:
    """The newer results with the tasks and groups that only the older ones have."""
    damage = (*older.damage, *newer.damage)
    if not newer.read:
        return structs.replace(older, damage=damage)
    return structs.replace(
        newer,
        tasks={**older.tasks, **newer.tasks},
        groups={**older.groups, **newer.groups},
        damage=damage,
    )


@dataclass(frozen=True)
class _Preparation:
    """The known parts of the preparation of a run.

    Attributes:
        plan: What was meant to be run.
        recorded: Whether the record of this very run was there.
        planned: Task -> its plan; members of lm-eval's groups share the group's.
        turned: Task -> which way is better, where the plan states it.
        expected: Task -> rows that it should have.
    """

    plan: Plan
    recorded: bool
    planned: Mapping[str, TaskPlan]
    turned: Mapping[str, Turned]
    expected: Mapping[str, int]


def _planned_leaves(plan: Plan, members: Mapping[str, list[str]]) -> dict[str, TaskPlan]:
    """The entry of the plan for each task.

    Tasks in a group of lm-eval share the entry of the group.
    """
    planned: dict[str, TaskPlan] = {}
    for name, task in plan.tasks.items():
        names = leaves(name, members) if task.stock else [name]
        planned |= dict.fromkeys(names, task)
    return planned


def _read_preparation(files: RunFiles, results: RunResults) -> _Preparation:
    """Reads the record of a run, and what it says of each task."""
    rescored_run = results.rescored.run if results.rescored is not None else ""
    record = read_record(files.folder, files.run or rescored_run)
    plan = plan_of(record) if record else _plan_of_call(files)
    members = {name: list(group.members) for name, group in results.groups.items()}
    planned = _planned_leaves(plan, members)
    here = {*files.samples, *results.tasks, *results.groups}
    turned = {name: task.better for name, task in planned.items() if task.better and name in here}
    return _Preparation(plan, bool(record), planned, turned, _expected_rows(record))


def _plan_of_call(files: RunFiles) -> Plan:
    """The plan of a call that was asked for by its time, or that logged no samples.

    Empty without a record.
    """
    run = invocation_of(files.stamp, files.results, {}).run if files.results is not None else ""
    return plan_of(read_record(files.folder, run))


def _expected_rows(record: Mapping[str, Any]) -> dict[str, int]:
    entries = as_mapping(record.get("tasks"))
    counts = {name: as_mapping(entry).get("expected") for name, entry in entries.items()}
    return {name: count for name, count in counts.items() if type(count) is int}


def _list_samples(
    files: RunFiles, results: _ResultsFiles, *, of_a_file: bool, named: Path
) -> dict[str, Path]:
    """Task -> its samples file, or the lines of it that a results file holds itself.

    Where the user named a file that is none of the results files, only the samples files count.
    """
    samples = dict(files.samples)
    is_samples_file = of_a_file and named not in results.by_file
    if is_samples_file:
        return samples
    for task, inside in results.inside.items():
        file = lines_of(inside, _filters(results.run, task))
        if task not in samples and file is not None:
            samples[task] = file
    return samples


def _filters(results: RunResults, task: str) -> tuple[str, ...]:
    logged = results.tasks.get(task)
    return logged.settings.filters if logged is not None else ()


def _make_tasks(
    samples: Mapping[str, Path], results: RunResults, preparation: _Preparation
) -> dict[str, TaskRun]:
    """The tasks with samples, in order of their names."""
    return {
        name: TaskRun(
            name,
            as_lines(file, _filters(results, name)),
            results.tasks.get(name, TaskResults(name=name)),
            preparation.planned.get(name),
            turned=preparation.turned.get(name),
        )
        for name, file in sorted(samples.items())
    }


@dataclass(frozen=True)
class _JoinedParts:
    """Tasks, some of them put together from several calls.

    Together with what to note of these; they come from the files of several calls.
    """

    tasks: dict[str, TaskRun]
    notes: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)


def _join_parts(
    tasks: Mapping[str, TaskRun],
    parts: Mapping[str, tuple[tuple[Path, Path], ...]],
    results: _ResultsFiles,
) -> _JoinedParts:
    """Puts together the rows of tasks that were run in parts (`--samples`).

    Each call covered other rows of one data set.

    Calls over the same rows, or that asked in another way, are not parts of one run.
    """
    whole = _JoinedParts(dict(tasks))
    for name, files in parts.items():
        if name not in tasks:
            continue
        joined_task = _join_task(tasks[name], files, results)
        if joined_task is not None:
            whole.tasks[name] = joined_task
            whole.joined.append(name)
            rows = joined_task.logged.rows.effective
            whole.notes.append(f"{name}: {len(files)} parts of {rows} rows are put together")
    return whole


def _share_rows(task: TaskRun, paths: Sequence[Path]) -> bool:
    """Returns whether a row stands in several of the files of a task."""
    ids = [
        set(TaskRun(task.name, path, task.logged).table(task.primary.filter).ids) for path in paths
    ]
    return len(set().union(*ids)) < sum(map(len, ids))


def _join_task(
    task: TaskRun, files: tuple[tuple[Path, Path], ...], results: _ResultsFiles
) -> TaskRun | None:
    """One task out of the files of several calls; None where these are not parts of one run."""
    calls = [_results_of(file, results) for _, file in files]
    logged = [call.tasks.get(task.name, TaskResults(name=task.name)) for call in calls]
    rows = _rows_of_parts([task_results.rows for task_results in logged])
    if rows is None or len({_question(*pair) for pair in zip(calls, logged, strict=True)}) > 1:
        return None
    paths = [as_lines(path, task.logged.settings.filters) for path, _ in files]
    if _share_rows(task, paths):
        return None
    # Stored values of one part are not those of the whole.
    metrics = tuple(
        structs.replace(metric, value=None, stderr=None, text="") for metric in task.logged.metrics
    )
    whole = structs.replace(task.logged, metrics=metrics, rows=rows)
    return replace(task, path=joined(paths), logged=whole, _tables={})


def _results_of(file: Path, results: _ResultsFiles) -> RunResults:
    if file not in results.by_file:
        results.by_file[file] = read_results(file)[0]
    return results.by_file[file]


def _rows_of_parts(counts: Iterable[RowCounts]) -> RowCounts | None:
    """The rows of all parts of one data set; None where a count is not known or they overlap."""
    every = list(counts)
    rows = [count.effective for count in every if count.effective is not None]
    original = {count.original for count in every}
    size = next(iter(original))
    if len(rows) < len(every) or len(original) > 1 or size is None or sum(rows) > size:
        return None
    return RowCounts(size, sum(rows))


def _question(call: RunResults, task: TaskResults) -> str:
    """Returns how a task was asked, as text.

    Its settings but for what each call writes of itself.
    """
    own = {key: value for key, value in task.settings.as_logged.items() if key != "metadata"}
    settings = call.settings
    of_call = [settings.backend, settings.arguments, settings.generation, task.num_fewshot]
    return json.dumps([own, of_call], default=str)


def _with_rows_of_parts(results: RunResults, parts: _JoinedParts) -> RunResults:
    """The results with the numbers of rows of the tasks that were put together."""
    logged = {name: task.logged for name, task in parts.tasks.items() if name in results.tasks}
    return structs.replace(results, tasks={**results.tasks, **logged})


def _drop_outdated(tasks: Mapping[str, TaskRun], plan: Plan) -> dict[str, str]:
    """Task -> note, for tasks whose rows were made from other replies than those that count."""
    from evalprep.results.stages import is_made_from

    outdated: dict[str, str] = {}
    for name, task in plan.tasks.items():
        before = [tasks[other] for other in task.after if other in tasks and other not in outdated]
        if name in tasks and before and not is_made_from(tasks[name], before):
            replies = ", ".join(task.after)
            outdated[name] = (
                f"{name} is left out: its rows were made from earlier replies of {replies}"
            )
    return outdated


def _notes_of_files(files: RunFiles, results: _ResultsFiles) -> list[str]:
    notes = list(files.notes)
    if files.results is None:
        notes.append(_note_on_no_results(files))
    return [*notes, *(part.sentence() for part in results.run.damage)]


def _note_on_no_results(files: RunFiles) -> str:
    """Returns why there is no results file, and what it takes to read the samples without one."""
    guessed = "metric and filter of each task are guessed from its lines"
    if pointers := pointers_below(files.folder, [f"results_{files.stamp}.json"], depth=1):
        return "{}; {}; until then {}".format(*said_of(pointers), guessed)
    return f"no results file of this time stamp: {guessed}"


def _notes_of_rescoring(results: RunResults) -> list[str]:
    left_out = results.rescored.left_out if results.rescored is not None else {}
    return [f"{name} is not rescored: {reason}" for name, reason in left_out.items()]


def _notes_of_missing_samples(
    files: RunFiles, results: RunResults, tasks: Mapping[str, TaskRun]
) -> list[str]:
    """The note for tasks of the results file without samples.

    With the reason where it can be seen.
    """
    configured = [name for name, task in results.tasks.items() if task.settings.as_logged]
    missing = [name for name in configured or results.tasks if name not in tasks]
    if not missing:
        return []
    named = shortlist(missing, _NAMED)
    if pointers := pointers_below(files.folder, [f"samples_*_{files.stamp}.json*"]):
        return ["no samples of {}: {}; {}".format(named, *said_of(pointers))]
    return [
        f"no samples file of {named}: run without --log_samples, or the harness could not write it"
    ]


def _notes_of_packed_samples(files: RunFiles) -> list[str]:
    packed = sorted(path.name for path in files.folder.glob("samples_*.jsonl.*"))
    if not packed:
        return []
    return [f"compressed samples are not read, unpack them first: {shortlist(packed, 1)}"]
