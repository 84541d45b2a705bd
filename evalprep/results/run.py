"""One harness run as an object: its tasks, what their results file says, their samples."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from evalprep.credentials import without_secrets
from evalprep.errors import BadInput, Problem, near
from evalprep.files import as_mapping
from evalprep.packs.manifest import plan_of
from evalprep.packs.plan import Excluded, Plan, TaskPlan, leaves
from evalprep.results.cache import cached_table
from evalprep.results.files import NEWEST, RunFiles, find_run
from evalprep.results.primary import NOT_SCORES, Primary, choose_primary, logged_scores
from evalprep.results.record import read_record
from evalprep.results.sample import Damage, Sample, number_of, read_samples
from evalprep.results.scan import first_line
from evalprep.results.table import Table

#: Parts of a results file that have one entry per task or group.
TABLES = ("results", "groups", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples")


@dataclass
class TaskRun:
    """One task of a run.

    Args:
        name: The task's name.
        path: Its samples file.
        config: Its `configs` entry of the results file; empty without one.
        scores: Its `results` entry.
        directions: Metric name -> higher is better.
        planned: The task in the plan of the run, where the run's record is there.
    """

    name: str
    path: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    directions: Mapping[str, Any] = field(default_factory=dict)
    planned: TaskPlan | None = None
    _tables: dict[tuple[str, str | None], Table] = field(default_factory=dict, repr=False)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The task YAML's `metadata`; the plan's primary metric wins, as lm-eval's own tasks cannot name one."""
        found = self.config.get("metadata")
        given = found if isinstance(found, dict) else {}
        if self.planned is None or self.planned.primary is None:
            return given
        metric, filter_name = self.planned.primary
        return {**given, "primary_metric": metric, "primary_filter": filter_name}

    @cached_property
    def primary(self) -> Primary:
        """The number that stands for the task (`choose_primary`), among the metrics that its lines have values of."""
        scores, first = logged_scores(self.scores), first_line(self.path)
        if first is not None:
            usable = [name for name, value in first.metrics.items() if number_of(value, name)[1]]
            usable = [name for name in usable if name not in NOT_SCORES]
            # An aggregate of pairs or texts has no value per row; what the lines hold decides.
            scores = [one for one in scores if one[0] in usable] or [(name, first.filter) for name in usable]
        return choose_primary(
            self.metadata, scores, self.directions, fallback=first.filter if first is not None else "none"
        )

    @property
    def without_score(self) -> str:
        """Why no row has a score that could be averaged or compared; empty where rows have one."""
        if self.primary.metric:
            return ""
        whole = logged_scores(self.scores)
        if not whole:
            return "the run logged no score (--predict_only?); `evalprep rescore` scores saved outputs"
        said = ", ".join(f"{metric} {_four(self.scores.get(f'{metric},{name}'))}" for metric, name in whole)
        return f"{said}, says lm-eval, computed over all rows at once: rows have no score of their own to compare"

    def table(self, filter_name: str | None = None, *, id_source: str | None = None) -> Table:
        """The samples of one filter, the primary one by default, as columns."""
        chosen = self.primary.filter if filter_name is None else filter_name
        key = (chosen, id_source)
        if key not in self._tables:
            self._tables[key] = cached_table(self.path, chosen, id_source=id_source)
        return self._tables[key]

    def read(self, filter_name: str | None = None) -> Iterator[Sample | Damage]:
        """Stream the samples of one filter, the primary one by default, in bounded memory."""
        return read_samples(self.path, filter_name=self.primary.filter if filter_name is None else filter_name)

    def samples(self, filter_name: str | None = None) -> Iterator[Sample]:
        """`read` without the damaged lines."""
        return (item for item in self.read(filter_name) if isinstance(item, Sample))


def _four(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float)) else str(value)


@dataclass
class Run:
    """One harness run.

    Args:
        files: Its files.
        results: The results file, decoded; empty without one.
        tasks: Task name -> task, for every task with a samples file.
        notes: What was decided on the user's behalf, and what is missing.
        named: The label that was given or found for it (`labels.label_runs`); empty before.
        record: What was meant to be run, where the run carries an id and its record lies beside it.
        expected: Task -> rows that it should have, where the record says so.
    """

    files: RunFiles
    results: dict[str, Any]
    tasks: dict[str, TaskRun]
    notes: list[str] = field(default_factory=list)
    named: str = ""
    record: Plan | None = None
    expected: Mapping[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The run's id; of files without one their time stamp."""
        return self.files.run or self.files.stamp

    @property
    def excluded(self) -> Mapping[str, Excluded]:
        """What was left out when the run was prepared, and why."""
        return self.record.excluded if self.record is not None else {}

    @property
    def model(self) -> str:
        """The model as named on the command line, else the folder's name."""
        arguments = as_mapping(self.results.get("config")).get("model_args")
        if isinstance(arguments, dict):
            for key in ("pretrained", "model", "path", "engine"):
                if isinstance(arguments.get(key), str):
                    return str(arguments[key])
        return str(self.results.get("model_name") or self.files.folder.name)

    @property
    def label(self) -> str:
        """What the run is called, for headings: its own label, else model and time stamp."""
        return self.named or f"{self.model.rstrip('/').rpartition('/')[2]} {self.files.stamp}"

    @cached_property
    def judged(self) -> list[str]:
        """The tasks with rows that carry a published verdict, which a comparison needs when no other run is named."""
        return [name for name, task in self.tasks.items() if (task.table().previous >= 0).any()]

    @cached_property
    def stored(self) -> dict[str, TaskRun]:
        """Tasks of the results file that have no samples: their stored scores are all there is."""
        configured, scored = (self.results.get(key) for key in ("configs", "results"))
        groups = self.results.get("group_subtasks")
        names = [*(configured if isinstance(configured, dict) else ()), *(scored if isinstance(scored, dict) else ())]
        within = {name for name, members in groups.items() if members} if isinstance(groups, dict) else set()
        return {
            name: _task_run(self.results, name, Path(os.devnull))
            for name in dict.fromkeys(map(str, names))
            if name not in self.tasks and name not in within
        }

    def part(self, key: str, name: str) -> dict[str, Any]:
        """The entry of a task or group in one part of the results file; empty where there is none."""
        table = self.results.get(key)
        value = table.get(name) if isinstance(table, dict) else None
        return value if isinstance(value, dict) else {}

    def known(self, name: str) -> TaskRun | None:
        """A task with or without samples."""
        return self.tasks.get(name) or self.stored.get(name)

    def task(self, name: str) -> TaskRun:
        """One task by name.

        Raises:
            BadInput: the run has no samples of it.
        """
        if name not in self.tasks:
            raise BadInput(
                Problem(
                    what=f"no samples of task {name!r}",
                    where=str(self.files.folder),
                    allowed=", ".join(self.tasks) or "nothing: the run has no samples files",
                    fix=near(name, self.tasks),
                )
            )
        return self.tasks[name]

    def select(self, names: list[str] | None) -> dict[str, TaskRun]:
        """Some tasks, or all; a group's name stands for its tasks."""
        if not names:
            return self.tasks
        chosen: dict[str, TaskRun] = {}
        for name in names:
            members = self.group(name)
            for member in members or [name]:
                chosen[member] = self.task(member)
        return chosen

    def group(self, name: str) -> list[str]:
        """The tasks of a group that have samples, nested groups resolved; empty for an unknown group."""
        children = self.results.get("group_subtasks")
        children = children if isinstance(children, dict) else {}
        found: dict[str, None] = {}
        waiting, seen = [name], set()
        while waiting:
            one = waiting.pop(0)
            if one in self.tasks and one != name:
                found[one] = None
            if one not in seen and isinstance(children.get(one), list):
                waiting += children[one]
            seen.add(one)
        return list(found)

    def to_pandas(self, *names: str) -> Any:
        """Samples of some tasks or groups, all by default, as a data frame: one row per document, metrics as columns.

        Raises:
            BadInput: the run has no samples of a task.
        """
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "task": name,
                    "sample_id": sample.sample_id,
                    "doc_id": sample.doc_id,
                    "subtask_name": sample.doc.get("subtask_name"),
                    "prompt": sample.prompt,
                    "target": sample.target,
                    "response": sample.response,
                    "answer": sample.answer,
                    "previously_is_correct": sample.doc.get("previously_is_correct"),
                    **sample.metrics,
                }
                for name, task in self.select(list(names)).items()
                for sample in task.samples()
            ]
        )


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


def _task_run(results: Mapping[str, Any], task: str, path: Path, planned: TaskPlan | None = None) -> TaskRun:
    """One task of a results file, with the samples of a file."""

    def part(key: str) -> dict[str, Any]:
        table = results.get(key)
        value = table.get(task) if isinstance(table, dict) else None
        return value if isinstance(value, dict) else {}

    return TaskRun(task, path, part("configs"), part("results"), part("higher_is_better"), planned)


def _as_chosen(results: dict[str, Any], sources: Mapping[str, Path], decoded: Mapping[Path, dict[str, Any]]) -> None:
    """Give every task the entries of the call that its samples are from, where a newer call has fewer rows of it."""
    for task, file in sources.items():
        for key in TABLES:
            own = decoded.get(file, {}).get(key)
            if isinstance(own, dict) and task in own and isinstance(results.get(key), dict):
                results[key][task] = own[task]


def load_run(path: str | os.PathLike[str], *, timestamp: str = NEWEST, run: str = "") -> Run:
    """Open a run that lm-eval 0.4.9 or later wrote.

    Args:
        path: Output folder, model folder, results file or one samples file.
        timestamp: `newest`, `each` (the newest samples of each task) or the beginning of a time stamp.
        run: Id of the run that is wanted, instead of the newest.

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
    for file in (*files.earlier, *filter(None, [files.results])):
        try:
            decoded = json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            notes.append(f"{file.name} is damaged ({_brief(error)}); metric and filter of each task are guessed")
        else:
            # Whoever ran it may have passed credentials, which lm-eval writes into config and metadata.
            decoded_files[file] = without_secrets(decoded) if isinstance(decoded, dict) else {}
            results = _merged(results, decoded_files[file])
    _as_chosen(results, files.sources, decoded_files)

    record = read_record(files.folder, files.run)
    plan = plan_of(record) if record else None
    planned = _planned(plan, results) if plan is not None else {}
    tasks = {name: _task_run(results, name, file, planned.get(name)) for name, file in files.samples.items()}
    if plan is not None:
        notes += _without_earlier_replies(tasks, plan)
    configured = as_mapping(results.get("configs"))
    missing = [] if Path(path).is_file() else [str(name) for name in configured if name not in tasks]
    if missing:
        notes.append(
            f"no samples file of {', '.join(missing)}: run without --log_samples, or the harness could not write it"
        )
    if packed := sorted(path.name for path in files.folder.glob("samples_*.jsonl.*")):
        some = f"{packed[0]} and {len(packed) - 1} more" if len(packed) > 1 else packed[0]
        notes.append(f"compressed samples are not read, unpack them first: {some}")
    expected = {
        name: facts["expected"]
        for name, facts in as_mapping(record.get("tasks")).items()
        if isinstance(facts, dict) and type(facts.get("expected")) is int
    }
    return Run(files, results, tasks, notes, record=plan, expected=expected)


def _planned(plan: Plan, results: Mapping[str, Any]) -> dict[str, TaskPlan]:
    """Task -> its plan; the members of one of lm-eval's groups share that of the group."""
    subtasks = as_mapping(results.get("group_subtasks"))
    groups = {name: [str(one) for one in members] for name, members in subtasks.items() if isinstance(members, list)}
    found: dict[str, TaskPlan] = {}
    for name, task in plan.tasks.items():
        for leaf in leaves(name, groups) if task.stock else [name]:
            found[leaf] = task
    return found


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
