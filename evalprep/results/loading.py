"""Opening a run: its results files put together, and the task of each samples file."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping, read_object
from evalprep.packs.manifest import plan_of
from evalprep.packs.plan import Plan, TaskPlan, leaves
from evalprep.results.files import NEWEST, RunFiles, find_run
from evalprep.results.former import as_lines, filters_of, joined, lines_of
from evalprep.results.invocations import invocation_of
from evalprep.results.pointers import pointers_below, said_of
from evalprep.results.primary import Turned, turned_notes
from evalprep.results.record import read_failures, read_record
from evalprep.results.run import Run
from evalprep.results.task import TaskRun, task_of
from evalprep.results.unscored import with_own_scores
from evalprep.terminal import shortlist

#: Parts of a results file that have one entry per task or group.
TABLES = ("results", "groups", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples")


_NAMED = 4  # tasks that a note names one by one


def _merged(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """The newer results file with the tasks and groups that only the older one has."""
    tables = {
        key: {**older[key], **newer.get(key, {})}
        for key in TABLES
        if isinstance(older.get(key), dict) and isinstance(newer.get(key, {}), dict)
    }
    return {**newer, **tables}


def _brief(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


def _as_chosen(results: dict[str, Any], sources: Mapping[str, Path], decoded: Mapping[Path, dict[str, Any]]) -> None:
    """Give every task the entries of the call that its samples are from, where a newer call has fewer rows of it."""
    for task, file in sources.items():
        for key in TABLES:
            own = decoded.get(file, {}).get(key)
            if isinstance(own, dict) and task in own and isinstance(results.get(key), dict):
                results[key][task] = own[task]


def load_run(path: str | os.PathLike[str], *, timestamp: str = NEWEST, run: str = "", as_logged: bool = False) -> Run:
    """Open a run that lm-eval 0.4.0 or later wrote (`results.former` lists the layouts).

    Args:
        path: Output folder, model folder, results file or one samples file.
        timestamp: `newest`, `each` (the newest samples of each task) or the beginning of a time stamp.
        run: Id of the run that is wanted, instead of the newest.
        as_logged: Leave rows that were logged without scores as they are.

    Returns:
        The run; samples are read when asked for.

    Raises:
        BadInput: no run there.
    """
    files = find_run(path, timestamp=timestamp, run=run)
    notes = list(files.notes)
    results: dict[str, Any] = {}
    if files.results is None:
        notes.append("no results file of this time stamp: metric and filter of each task are guessed from its lines")
    decoded_files: dict[Path, dict[str, Any]] = {}
    inside: dict[str, tuple[Any, str]] = {}
    for file in (*files.earlier, *filter(None, [files.results])):
        try:
            decoded = json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            notes.append(f"{file.name} is damaged ({_brief(error)}); metric and filter of each task are guessed")
        else:
            # Whoever ran it may have passed credentials, which lm-eval writes into config and metadata.
            decoded = decoded if isinstance(decoded, dict) else {}
            key = f"{file.resolve()} {file.stat().st_size} {file.stat().st_mtime_ns}"
            inside |= {str(name): (one, key) for name, one in as_mapping(decoded.pop("samples", None)).items()}
            decoded_files[file] = without_secrets(decoded)
            results = _merged(results, decoded_files[file])
    _as_chosen(results, files.sources, decoded_files)

    record = read_record(files.folder, files.run or str(as_mapping(results.get("rescored")).get("run") or ""))
    plan = plan_of(record) if record else None
    planned, turned = _planned(plan or _plan_of_call(files), results, files.samples)
    samples = dict(files.samples)
    for name, (found, key) in inside.items() if not Path(path).is_file() or Path(path) in decoded_files else ():
        if name not in samples and (lines := lines_of(found, _filters(results, name), f"{key} {name}")):
            samples[name] = lines
    tasks = {
        name: task_of(results, name, as_lines(file, _filters(results, name)), planned.get(name), turned.get(name))
        for name, file in sorted(samples.items())
    }
    for _, file in (one for parts in files.parts.values() for one in parts):
        if file not in decoded_files:
            decoded_files[file] = read_object(file)
    notes += _with_shards(tasks, files.parts, results, decoded_files)
    if plan is not None:
        notes += _without_earlier_replies(tasks, plan)
    if not as_logged:
        tasks = {name: with_own_scores(task) for name, task in tasks.items()}
    rescored = as_mapping(results.get("rescored"))
    notes += [f"{name} is not rescored: {why}" for name, why in as_mapping(rescored.get("left_out")).items()]
    groups = as_mapping(results.get("group_subtasks"))
    scored = (name for name in as_mapping(results.get("results")) if name not in groups)
    configured = as_mapping(results.get("configs")) or dict.fromkeys(scored)
    missing = [] if Path(path).is_file() else [str(name) for name in configured if name not in tasks]
    if missing and (pointers := pointers_below(files.folder, [f"samples_*_{files.stamp}.json*"])):
        notes.append("no samples of {}: {}; {}".format(shortlist(missing, _NAMED), *said_of(pointers)))
    elif missing:
        named = shortlist(missing, _NAMED)
        notes.append(f"no samples file of {named}: run without --log_samples, or the harness could not write it")
    if packed := sorted(path.name for path in files.folder.glob("samples_*.jsonl.*")):
        some = shortlist(packed, 1)
        notes.append(f"compressed samples are not read, unpack them first: {some}")
    expected = {
        name: facts["expected"]
        for name, facts in as_mapping(record.get("tasks")).items()
        if isinstance(facts, dict) and type(facts.get("expected")) is int
    }
    failed = {name: why for name, why in read_failures(files.folder, files.run).items() if name not in tasks}
    notes += [*(f"{name} failed: {why}" for name, why in failed.items()), *turned_notes(turned)]
    return Run(files, results, tasks, notes, record=plan, expected=expected, failed=failed, turned=turned)


def _filters(results: Mapping[str, Any], task: str) -> list[str]:
    return filters_of(as_mapping(as_mapping(results.get("configs")).get(task)))


def _with_shards(
    tasks: dict[str, TaskRun],
    parts: Mapping[str, tuple[tuple[Path, Path], ...]],
    results: dict[str, Any],
    decoded: Mapping[Path, dict[str, Any]],
) -> list[str]:
    """Put together the rows of tasks that were run in parts (`--samples`), each call over other rows of one data set.

    Calls over the same rows, or that asked in another way, are not parts of one run.
    """
    notes = []
    for name, files in parts.items():
        kept = tasks.get(name)
        counts = [as_mapping(as_mapping(decoded.get(one, {}).get("n-samples")).get(name)) for _, one in files]
        rows, whole = _whole_numbers(counts, "effective"), _whole_numbers(counts, "original")
        if kept is None or len(rows) < len(files) or len(whole) < len(files) or len(set(whole)) > 1:
            continue
        asked = {
            json.dumps([_asked(decoded[one], name), as_mapping(decoded[one].get("n-shot")).get(name)], default=str)
            for _, one in files
        }
        if len(asked) > 1 or sum(rows) > min(whole):
            continue
        paths = [as_lines(path, _filters(results, name)) for path, _ in files]
        ids = [set(TaskRun(name, path, kept.config).table(kept.primary.filter).ids) for path in paths]
        if len(set().union(*ids)) < sum(map(len, ids)):
            continue
        scores = dict.fromkeys(kept.scores)  # those of one part are not those of the whole
        tasks[name] = replace(kept, path=joined(paths), scores=scores, _tables={})
        results.setdefault("n-samples", {})[name] = {"original": min(whole), "effective": sum(rows)}
        notes.append(f"{name}: {len(files)} parts of {sum(rows)} rows are put together")
    return notes


def _whole_numbers(counts: Iterable[Mapping[str, Any]], key: str) -> list[int]:
    return [one[key] for one in counts if type(one.get(key)) is int]


def _asked(results: Mapping[str, Any], task: str) -> dict[str, Any]:
    """How a task was asked: its configuration but for what each call writes of itself."""
    config = as_mapping(as_mapping(results.get("configs")).get(task))
    settings = as_mapping(results.get("config"))
    more = {key: settings.get(key) for key in ("model", "model_args", "gen_kwargs")}
    return {key: value for key, value in config.items() if key != "metadata"} | {"of the call": more}


def _plan_of_call(files: RunFiles) -> Plan:
    """The plan of a call that was asked for by its time, or that logged no samples; empty without a record."""
    run = invocation_of(files.stamp, files.results, {}).run if files.results is not None else ""
    return plan_of(read_record(files.folder, run))


def _planned(
    plan: Plan, results: Mapping[str, Any], sampled: Collection[str]
) -> tuple[dict[str, TaskPlan], dict[str, Turned]]:
    """Task -> its plan, and which way is better where that says so; members of lm-eval's groups share the group's."""
    subtasks = as_mapping(results.get("group_subtasks"))
    groups = {name: [str(one) for one in members] for name, members in subtasks.items() if isinstance(members, list)}
    found: dict[str, TaskPlan] = {}
    for name, task in plan.tasks.items():
        for leaf in leaves(name, groups) if task.stock else [name]:
            found[leaf] = task
    here = {*sampled, *as_mapping(results.get("results"))}
    return found, {name: task.better for name, task in found.items() if task.better and name in here}


def _without_earlier_replies(tasks: dict[str, TaskRun], plan: Plan) -> list[str]:
    """Take out tasks whose rows were made from other replies than those that count."""
    from evalprep.results.stages import is_made_from

    notes = []
    for name, task in plan.tasks.items():
        before = [tasks[one] for one in task.after if one in tasks]
        if name in tasks and before and not is_made_from(tasks[name], before):
            del tasks[name]
            notes.append(f"{name} is left out: its rows were made from earlier replies of {', '.join(task.after)}")
    return notes
