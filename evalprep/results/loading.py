"""Opening a run: its results files put together, and the task of each samples file.

`load_run` is a row of stages: find the files, decode the results files, read the preparation that
the run came from, list the samples files, make the tasks, put parts of one task together, leave out
what was made from replies that no longer count, and gather the notes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import msgspec
from msgspec import structs

from evalprep.files import name_place
from evalprep.packs import Manifest, Plan, TaskPlan, edited_work_of, leaves
from evalprep.places import shareable_folder
from evalprep.readers import (
    CallSettings,
    GroupResults,
    RowCounts,
    RunResults,
    TaskResults,
    pointers_below,
    read_results,
    what_and_fix,
)
from evalprep.results.directions import Turned, turned_notes
from evalprep.results.edited_since import notes_on_readings
from evalprep.results.effort import Efforts, efforts_of
from evalprep.results.facts import without_addresses
from evalprep.results.files import NEWEST, RunFiles, find_run
from evalprep.results.folder import RESULTS
from evalprep.results.identity import (
    AnsweredBy,
    Failure,
    Unread,
    notes_on_unread,
    recorded_answerer,
)
from evalprep.results.invocations import invocation_of
from evalprep.results.meant import notes_on_meant, tasks_meant
from evalprep.results.record import read_failures, record_of
from evalprep.results.run import Run
from evalprep.results.task import TaskRun
from evalprep.results.unscored import with_own_scores
from evalprep.samples import JoinedFiles, SampleFile
from evalprep.terminal import shortlist

_NAMED = 4  # tasks that a note names one by one


def load_run(
    path: str | os.PathLike[str],
    *,
    timestamp: str = NEWEST,
    run: str = "",
    answerer: AnsweredBy | None = None,
    as_logged: bool = False,
) -> Run:
    """Opens a run of lm-eval, whichever version wrote it.

    `readers` lists them.

    Args:
        path: Output folder, model folder, results file or one samples file.
        timestamp: `newest`, `each` (the newest samples of each task), the beginning of a time
            stamp, or the id of a run.
        run: Id of the run that is wanted, instead of the newest.
        answerer: Who answered the run that is wanted, among those without an id.
        as_logged: Leave rows that were logged without scores as they are.

    Returns:
        The run; samples are read when asked for.

    Raises:
        BadInput: no run there, or with `each` the calls of several models.
    """
    name_place(path)
    files = find_run(path, timestamp=timestamp, run=run, answerer=answerer)
    results = _read_results_files(files)
    preparation = _read_preparation(files, results.run)
    place = Path(path)
    is_file = place.is_file()
    samples = _list_samples(files, results, of_a_file=is_file, named=place)
    tasks = _make_tasks(samples, results.run, preparation)
    parts = _join_parts(tasks, files, results)
    logged = _with_rows_of_parts(results.run, parts)
    outdated = _drop_outdated(parts.tasks, preparation.plan)
    scored = {}
    for name, task in parts.tasks.items():
        if name not in outdated:
            scored[name] = task if as_logged else with_own_scores(task)
    notes = list(files.notes)
    if files.results is None:
        notes.append(_note_on_no_results(files))
    notes += [part.sentence() for part in results.run.damage]
    notes += preparation.notes
    meant = tasks_meant(preparation.record, scored, logged.tasks)
    notes += notes_on_meant(meant)
    notes += parts.notes
    notes += outdated.values()
    if logged.rescored is not None:
        left_out = logged.rescored.left_out.items()
        notes += [f"{name} is not rescored: {reason}" for name, reason in left_out]
    if not is_file:
        notes += _notes_of_missing_samples(files, logged, scored)
    if packed := list(_packed_samples(files).values()):
        example = shortlist(packed, 1)
        notes.append(f"compressed samples are not read, unpack them first: {example}")
    failures = _failures(files, scored)
    unread: dict[str, Unread] = {}
    if not is_file or place in results.by_file:  # else the samples of one task are meant alone
        unread = dict(_unread(files, logged, preparation, failures, outdated, scored))
    notes += notes_on_unread(unread)
    notes += turned_notes(preparation.turned)
    opened = Run(
        files,
        logged,
        scored,
        notes,
        record=preparation.plan if preparation.recorded else None,
        meant=meant,
        expected=preparation.expected,
        failed={name: item.reason for name, item in unread.items() if item.kind == "failed"},
        unread=unread,
        calls=_calls_of_tasks(files, results),
        answerer=recorded_answerer(logged.settings, preparation.record),
        turned=preparation.turned,
        efforts=_efforts_of_files(files, results, parts.joined),
    )
    return replace(opened, notes=[*notes, *notes_on_readings(opened)])


def open_results(file: Path) -> Run:
    """Opens a results file alone: its settings and stored scores, whatever lies beside it."""
    name = RESULTS.fullmatch(file.name)
    stamp = name["stamp"] if name else ""
    logged, _ = read_results(file)
    return Run(RunFiles(file.parent, stamp, file, {}), logged, {})


def _failures(files: RunFiles, scored: Mapping[str, TaskRun]) -> dict[str, Failure]:
    """Task -> why it failed in the try that counts, of the tasks that have no samples after all."""
    failures = {}
    for name, failure in read_failures(files.folder, files.run).items():
        counting = files.tries.get(failure.command, 0)
        is_older = failure.attempt is not None and failure.attempt < counting
        if name not in scored and not is_older:
            failures[name] = failure
    return failures


def _unread(
    files: RunFiles,
    logged: RunResults,
    preparation: _Preparation,
    failures: Mapping[str, Failure],
    outdated: Mapping[str, str],
    scored: Mapping[str, TaskRun],
) -> Iterator[tuple[str, Unread]]:
    """Yields each task of the run without rows that are read, with the reason."""
    names = dict.fromkeys(logged.tasks)
    if files.run and preparation.recorded:
        names |= dict.fromkeys(preparation.planned)
    names |= dict.fromkeys((*failures, *files.unread))
    for name in names:
        if name in scored or name in logged.groups:
            continue
        if name in failures and failures[name].has_begun:
            yield name, Unread("failed", failures[name].sentence)
        elif name in outdated:
            yield name, Unread("left out", outdated[name].partition(" ")[2])
        elif name in files.unread:
            yield name, files.unread[name]
        elif name in logged.tasks:
            yield name, Unread("no samples", "has no samples file")
        else:
            yield name, Unread("not run", "is not run yet")


def _calls_of_tasks(files: RunFiles, results: _ResultsFiles) -> dict[str, CallSettings]:
    """Task -> the settings of the call that it is read from, where there are several calls."""
    calls = {}
    for name, file in (files.sources or {}).items():
        if file in results.by_file:
            calls[name] = results.by_file[file].settings
    return calls


def _efforts_of_files(files: RunFiles, results: _ResultsFiles, joined: Iterable[str]) -> Efforts:
    """Returns what the calls took that rows are from.

    Args:
        files: The files of the run.
        results: Its results files.
        joined: Tasks that are put together from several calls, each of which counts.
    """
    of_parts: set[Path] = set()
    for name in joined:
        of_parts.update(file for _, file in files.parts[name])
    efforts = Efforts()
    for file, call in results.by_file.items():
        own = []
        for name in call.tasks:
            source = (files.sources or {}).get(name, files.results)
            if source == file:
                own.append(name)
        if not own and file not in of_parts:
            continue
        of_call = efforts_of(file, call)
        own_efforts = {name: effort for name, effort in of_call.tasks.items() if name in own}
        efforts = efforts.with_others(structs.replace(of_call, tasks=own_efforts))
    return efforts


class _ResultsFiles(msgspec.Struct, frozen=True):
    """The decoded results files of a run.

    Attributes:
        run: All of them put together.
        by_file: Each one alone.
        inside: Task -> the results file that holds its samples itself.
    """

    run: RunResults
    by_file: dict[Path, RunResults]
    inside: Mapping[str, Path]


def _read_results_files(files: RunFiles) -> _ResultsFiles:
    """Decodes the results files of a run, the oldest first, and puts them together."""
    by_file: dict[Path, RunResults] = {}
    inside: dict[str, Path] = {}
    results_files = list(files.earlier)
    if files.results is not None:
        results_files.append(files.results)
    for file in results_files:
        by_file[file], samples = read_results(file)
        for task in samples.members:
            is_source = files.sources is None or files.sources.get(task) == file
            if is_source and samples.count(task) is not None:
                inside[task] = file
    whole = reduce(_merged, by_file.values(), RunResults())
    if files.sources is None:
        return _ResultsFiles(whole, by_file, inside)
    tasks = {}
    for task, file in files.sources.items():
        if file in by_file and task in by_file[file].tasks:
            tasks[task] = by_file[file].tasks[task]
    in_order = {name: tasks[name] for name in whole.tasks if name in tasks}
    groups = {
        name: _of_one_file(group, whole, files.sources) for name, group in whole.groups.items()
    }
    return _ResultsFiles(structs.replace(whole, tasks=in_order, groups=groups), by_file, inside)


def _of_one_file(
    group: GroupResults, results: RunResults, sources: Mapping[str, Path]
) -> GroupResults:
    """A group, without values where its tasks are not all read from the file that computed them."""
    files = {sources.get(task) for task in results.tasks_below(group.name)}
    is_whole = len(files) < 2 and None not in files
    return group if is_whole else structs.replace(group, metrics=())


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


class _Preparation(msgspec.Struct, frozen=True):
    """The known parts of the preparation of a run.

    Attributes:
        plan: What was meant to be run.
        record: The record that it is from; empty without one.
        recorded: Whether the record of this very run was there.
        planned: Task -> its plan; members of lm-eval's groups share the group's.
        turned: Task -> which way is better, where the plan states it.
        expected: Task -> rows that it should have.
        notes: What was edited after the preparation.
    """

    plan: Plan
    record: Manifest
    recorded: bool
    planned: Mapping[str, TaskPlan]
    turned: Mapping[str, Turned]
    expected: Mapping[str, int]
    notes: tuple[str, ...] = ()


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
    run = files.run
    if not run and results.rescored is not None:
        run = results.rescored.run
    record = record_of(files.folder, run)
    if not record and results.rescored is not None:
        record = record_of(results.rescored.folder, run)
    plan = record.plan if record else _plan_of_call(files)
    members = {name: list(group.members) for name, group in results.groups.items()}
    planned = _planned_leaves(plan, members)
    names_in_run = {*files.samples, *results.tasks, *results.groups}
    turned = {}
    for name, task in planned.items():
        if task.better and name in names_in_run:
            turned[name] = task.better
    expected = {
        name: task.expected for name, task in record.tasks.items() if task.expected is not None
    }
    edited = edited_work_of(record)
    notes = [edited.sentence(run)] if edited is not None else []
    if record.damage:
        notes.append(f"run_{run}.json is damaged: {shortlist(record.damage)}; prepare again")
    for name, task in planned.items():
        if name in task.replaces and name in names_in_run:
            file = shareable_folder(Path(task.file))
            notes.append(f"{name}: edited, by {file} in place of lm-eval's own task")
    return _Preparation(
        plan=plan,
        record=record,
        recorded=bool(record),
        planned=planned,
        turned=turned,
        expected=expected,
        notes=tuple(notes),
    )


def _plan_of_call(files: RunFiles) -> Plan:
    """The plan of a call that was asked for by its time, or that logged no samples.

    Empty without a record.
    """
    run = ""
    if files.results is not None:
        run = invocation_of(files.stamp, files.results, {}).run
    return record_of(files.folder, run).plan


def _list_samples(
    files: RunFiles, results: _ResultsFiles, *, of_a_file: bool, named: Path
) -> dict[str, SampleFile]:
    """Task -> its samples, in a file of their own or in a results file.

    Where the user named a file that is none of the results files, only the samples files count.
    """
    samples = {
        task: SampleFile(file, _filters(results.run, task)) for task, file in files.samples.items()
    }
    is_samples_file = of_a_file and named not in results.by_file
    if is_samples_file:
        return samples
    for task, file in results.inside.items():
        if task not in samples:
            samples[task] = SampleFile(file, _filters(results.run, task), inside=task)
    return samples


def _filters(results: RunResults, task: str) -> tuple[str, ...]:
    logged = results.tasks.get(task)
    if logged is None:
        return ()
    return logged.settings.filters


def _make_tasks(
    samples: Mapping[str, SampleFile], results: RunResults, preparation: _Preparation
) -> dict[str, TaskRun]:
    """The tasks with samples, in order of their names."""
    tasks = {}
    for name, source in sorted(samples.items()):
        logged = results.tasks.get(name, TaskResults(name=name))
        planned = preparation.planned.get(name)
        turned = preparation.turned.get(name)
        tasks[name] = TaskRun(name, source, logged, planned, turned=turned)
    return tasks


class _JoinedParts(msgspec.Struct, frozen=True):
    """Tasks, some of them put together from several calls.

    Together with what to note of these; they come from the files of several calls.
    """

    tasks: dict[str, TaskRun]
    notes: list[str] = msgspec.field(default_factory=list)
    joined: list[str] = msgspec.field(default_factory=list)


def _join_parts(
    tasks: Mapping[str, TaskRun], files: RunFiles, results: _ResultsFiles
) -> _JoinedParts:
    """Puts together the rows of tasks that were run in parts (`--samples`).

    Each call covered other rows of one data set.

    Calls over the same rows, or that asked in another way, are not parts of one run.

    Args:
        tasks: The tasks with samples.
        files: The files of the run.
        results: The results files.
    """
    sources = files.sources or {}
    joined: dict[str, TaskRun] = {}
    notes: list[str] = []
    for name, parts in files.parts.items():
        if name not in tasks:
            continue
        joined_task = _join_task(tasks[name], parts, results)
        if joined_task is not None:
            joined[name] = joined_task
            rows = joined_task.logged.rows.effective
            notes.append(f"{name}: {len(parts)} parts of {rows} rows are put together")
        elif files.run:
            notes += _note_on_templates(name, parts, sources[name], results)
    return _JoinedParts({**tasks, **joined}, notes, list(joined))


def _share_rows(task: TaskRun, sources: Sequence[SampleFile]) -> bool:
    """Returns whether a row stands in several of the files of a task."""
    ids: set[str] = set()
    total = 0
    for source in sources:
        part = TaskRun(task.name, source, task.logged)
        table = part.table(task.primary.filter)
        ids_of_part = set(table.ids)
        ids |= ids_of_part
        total += len(ids_of_part)
    return len(ids) < total


def _join_task(
    task: TaskRun, files: tuple[tuple[Path, Path], ...], results: _ResultsFiles
) -> TaskRun | None:
    """One task out of the files of several calls; None where these are not parts of one run."""
    counts = []
    questions = set()
    for _, file in files:
        call = _results_of(file, results)
        logged = call.tasks.get(task.name, TaskResults(name=task.name))
        counts.append(logged.rows)
        questions.add(_question(call, logged))
    rows = _rows_of_parts(counts)
    if rows is None or len(questions) > 1:
        return None
    filters = task.logged.settings.filters
    sources = tuple(SampleFile(path, filters) for path, _ in files)
    if _share_rows(task, sources):
        return None
    # Stored values of one part are not those of the whole.
    metrics = [
        structs.replace(metric, value=None, stderr=None, text="") for metric in task.logged.metrics
    ]
    whole = structs.replace(task.logged, metrics=tuple(metrics), rows=rows)
    return replace(task, source=JoinedFiles(sources), logged=whole, _tables={})


def _note_on_templates(
    task: str, files: Iterable[tuple[Path, Path]], source: Path, results: _ResultsFiles
) -> list[str]:
    """The note for calls of one run that asked a task with other templates.

    A pasted command keeps the id of its preparation when task files are edited.
    """
    templates: dict[str, str] = {}
    for _, file in files:
        logged = _results_of(file, results).tasks.get(task, TaskResults(name=task))
        if logged.settings.template:
            text = json.dumps(logged.settings.template, sort_keys=True, default=str)
            templates[file.name] = without_addresses(text)
    others = [name for name, text in templates.items() if text != templates.get(source.name, text)]
    if not others:
        return []
    counts = f"{source.name} counts, not {shortlist(others, _NAMED)}"
    return [f"{task}: calls of this run asked with different templates; {counts}"]


def _results_of(file: Path, results: _ResultsFiles) -> RunResults:
    if file not in results.by_file:
        results.by_file[file] = read_results(file)[0]
    return results.by_file[file]


def _rows_of_parts(counts: Sequence[RowCounts]) -> RowCounts | None:
    """The rows of all parts of one data set; None where a count is not known or they overlap."""
    sizes = {count.original for count in counts}
    size = next(iter(sizes))
    if size is None or len(sizes) > 1:
        return None
    total = 0
    for count in counts:
        if count.effective is None:
            return None
        total += count.effective
    if total > size:
        return None
    return RowCounts(size, total)


def _question(call: RunResults, task: TaskResults) -> str:
    """The settings of a task as text, without what each call writes of itself."""
    own = dict(task.settings.as_logged)
    own.pop("metadata", None)
    settings = call.settings
    of_call = [settings.backend, settings.arguments, settings.generation, task.num_fewshot]
    return json.dumps([own, of_call], default=str)


def _with_rows_of_parts(results: RunResults, parts: _JoinedParts) -> RunResults:
    """The results with the numbers of rows of the tasks that were put together."""
    tasks = dict(results.tasks)
    for name, task in parts.tasks.items():
        if name in tasks:
            tasks[name] = task.logged
    return structs.replace(results, tasks=tasks)


def _drop_outdated(tasks: Mapping[str, TaskRun], plan: Plan) -> dict[str, str]:
    """Task -> note, for tasks whose rows were made from other replies than those that count."""
    from evalprep.results.stages import is_made_from

    outdated: dict[str, str] = {}
    current = dict(tasks)
    for name, task in plan.tasks.items():
        before = [current[other] for other in task.after if other in current]
        if name not in tasks or not before:
            continue
        if not is_made_from(tasks[name], before):
            replies = ", ".join(task.after)
            reason = f"its rows were made from earlier replies of {replies}"
            outdated[name] = f"{name} is left out: {reason}"
            del current[name]
    return outdated


def _note_on_no_results(files: RunFiles) -> str:
    """Returns why there is no results file, and what it takes to read the samples without one."""
    guessed = "metric and filter of each task are guessed from its lines"
    file_name = f"results_{files.stamp}.json"
    pointers = pointers_below(files.folder, [file_name], depth=1)
    if not pointers:
        return f"no results file of this time stamp: {guessed}"
    state, fix = what_and_fix(pointers)
    return f"{state}; {fix}; until then {guessed}"


def _notes_of_missing_samples(
    files: RunFiles, results: RunResults, tasks: Mapping[str, TaskRun]
) -> list[str]:
    """The note for tasks of the results file without samples.

    It has the reason where that can be seen.
    """
    configured = [name for name, task in results.tasks.items() if task.settings.as_logged]
    packed = _packed_samples(files)
    is_packed = {name: f"samples_{name}_{files.stamp}.jsonl" in packed for name in results.tasks}
    names_of_run = configured or results.tasks
    missing = [name for name in names_of_run if name not in tasks and not is_packed[name]]
    if not missing:
        return []
    names = shortlist(missing, _NAMED)
    pattern = f"samples_*_{files.stamp}.json*"
    pointers = pointers_below(files.folder, [pattern])
    if not pointers:
        reason = "run without --log_samples, or the harness could not write it"
        if results.tool:
            reason = f"results files of {results.tool} hold scores alone"
        return [f"no samples file of {names}: {reason}"]
    state, fix = what_and_fix(pointers)
    return [f"no samples of {names}: {state}; {fix}"]


def _packed_samples(files: RunFiles) -> dict[str, str]:
    """Name of each samples file that lies there compressed -> that name with its ending."""
    names = sorted(path.name for path in files.folder.glob("samples_*.jsonl.*"))
    return {name.rpartition(".")[0]: name for name in names}
