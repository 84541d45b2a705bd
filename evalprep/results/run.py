"""One harness run as an object: its tasks, what their results file says, their samples."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.errors import BadInput, Problem, near
from evalprep.packs import Excluded, Plan
from evalprep.places import last_part
from evalprep.readers import CallSettings, GroupResults, RowCounts, RunResults, TaskResults
from evalprep.results.directions import Turned
from evalprep.results.effort import Efforts
from evalprep.results.files import RunFiles
from evalprep.results.identity import AnsweredBy, RunIdentity, Unread
from evalprep.results.task import TaskRun
from evalprep.results.views import SampleView, Which, sample_views
from evalprep.samples import LM_EVAL, Metric, SampleFile
from evalprep.terminal import counted

if TYPE_CHECKING:
    from evalprep.results.meant import TaskMeant


@dataclass(frozen=True)
class Run:
    """One harness run.

    Args:
        files: Its files.
        logged: What its results files hold.
        tasks: Task name -> task, for every task with a samples file.
        notes: What was decided on the user's behalf, and what is missing.
        named: The label that was given or found for it (`labels.label_runs`); empty before.
        record: What was meant to be run, where the run carries an id and its record lies beside it.
        meant: Task -> what was meant to be asked of it, held against what was logged.
        expected: Task -> rows that it should have, where the record says so.
        stated: `pack/score` -> result, of what another tool's log says of scores; empty for a run
            of lm-eval.
        log: The log that the run was read from; None for a run of lm-eval.
        rule: The scoring rule by which it is read (`results.scoring_rule`); empty where every score
            is shown.
        failed: Task -> why `evalprep run` could not finish it, for those that are not there.
        unread: Task of its record or its results files without rows that are read -> why.
        calls: Task -> the settings of the call that its values are from.
        answerer: Who answered, as its results files and its record say; None where they do not.
        turned: Task of lm-eval -> which way is better, where a pack says it otherwise
            (`results.directions`).
        accepts_ledger: Whether the user takes answers of another machine's ledger as her own.
        tool: The tool that wrote it: `lm-eval`, or the format of a reader (`readers.tools`).
        efforts: The time and the requests that it took, as far as they are known.
        first_rows_only: Whether the first rows of each task count alone (`results.narrowing`).
    """

    files: RunFiles
    logged: RunResults
    tasks: dict[str, TaskRun]
    notes: list[str] = field(default_factory=list)
    named: str = ""
    record: Plan | None = None
    meant: Mapping[str, TaskMeant] = field(default_factory=dict)
    expected: Mapping[str, int] = field(default_factory=dict)
    stated: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    log: Path | None = None
    rule: str = ""
    failed: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, Unread] = field(default_factory=dict)
    calls: Mapping[str, CallSettings] = field(default_factory=dict, repr=False)
    answerer: AnsweredBy | None = None
    turned: Mapping[str, Turned] = field(default_factory=dict)
    accepts_ledger: bool = False
    tool: str = LM_EVAL
    efforts: Efforts = field(default_factory=Efforts)
    first_rows_only: bool = False

    @property
    def id(self) -> str:
        """The run's id; of files without one their time stamp, with a name that a person gave."""
        return self.files.run or self.files.output_name

    @cached_property
    def identity(self) -> RunIdentity:
        """What was meant, asked, answered and read."""
        asked = {name: task.settings for name, task in self.logged.tasks.items()}
        calls = {name: self.call_of(name) for name in asked}
        primary = {name: task.primary for name, task in self.tasks.items()}
        return RunIdentity(
            run=self.id,
            meant=self.record,
            asked=asked,
            calls=calls,
            answered_by=self.answerer,
            read_by={name: (metric.metric, metric.filter) for name, metric in primary.items()},
            tries=self.files.tries,
            unread=self.unread,
            is_chosen=self.files.is_chosen,
        )

    def call_of(self, task: str) -> CallSettings:
        """Returns the settings of the call that the values of a task are from."""
        return self.calls.get(task, self.settings)

    @property
    def rescored_from(self) -> tuple[Path, str] | None:
        """Folder and time stamp of the run whose replies these are.

        None where they are this run's own.
        """
        rescored = self.logged.rescored
        return (rescored.folder, rescored.stamp) if rescored is not None else None

    @property
    def excluded(self) -> Mapping[str, Excluded]:
        """The tasks that the preparation left out or that failed in the run, with the reasons."""
        failed = {name: Excluded("failed", reason) for name, reason in self.failed.items()}
        if self.record is None:
            return failed
        return {**self.record.excluded, **failed}

    @property
    def settings(self) -> CallSettings:
        """The settings of the call; of several the newest."""
        return self.logged.settings

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the back end, as the results file has them."""
        return self.settings.arguments

    @property
    def model(self) -> str:
        """The model as named on the command line, else the name of the file or the folder."""
        files = self.files
        return self.settings.model or files.given_name or files.folder.resolve().name

    @property
    def label(self) -> str:
        """The name of the run, for headings: its own label, else model and time stamp.

        A log has no time.
        """
        name = last_part(self.model)
        return self.named or (f"{name} {self.files.stamp}" if self.log is None else name)

    @cached_property
    def judged(self) -> list[str]:
        """The tasks with rows that carry a published verdict.

        Such rows can be compared without another run.
        """
        return [name for name, task in self.tasks.items() if (task.table().previous >= 0).any()]

    @cached_property
    def stored(self) -> dict[str, TaskRun]:
        """Tasks of the results file that have no samples: their stored scores are all there is.

        So are the values of a group of which the file and the folder hold no task.
        """
        known = {*self.tasks, *self.logged.tasks}
        tasks = {
            name: self._without_samples(name, task)
            for name, task in self.logged.tasks.items()
            if name not in self.tasks
        }
        groups = {
            name: group
            for name, group in self.group_values.items()
            if name not in self.tasks and known.isdisjoint(self.logged.below(name))
        }
        return {**tasks, **groups}

    @cached_property
    def group_values(self) -> dict[str, TaskRun]:
        """Groups of which the results file holds values, each in the form of a task."""
        return {
            name: self._without_samples(name, self._as_task(group))
            for name, group in self.logged.groups.items()
            if group.metrics
        }

    def _without_samples(self, name: str, task: TaskResults) -> TaskRun:
        return TaskRun(name, SampleFile(Path(os.devnull)), task, turned=self.turned.get(name))

    def _as_task(self, group: GroupResults) -> TaskResults:
        """A group's values, over the rows of all its tasks."""
        names = self.logged.tasks_below(group.name)
        rows = [self.logged.tasks[name].rows for name in names]
        return TaskResults(name=group.name, metrics=group.metrics, rows=RowCounts.total(rows))

    @cached_property
    def stored_groups(self) -> dict[str, TaskRun]:
        """Groups with values that cannot be computed from samples: all but one task lack them."""
        return {
            name: group
            for name, group in self.group_values.items()
            if len(self.group(name)) < min(2, len(self.logged.tasks_below(name)))
        }

    @property
    def known_tasks(self) -> dict[str, TaskRun]:
        """All tasks, those with samples first."""
        return {**self.tasks, **self.stored}

    @property
    def outermost(self) -> dict[str, tuple[Metric, ...]]:
        """Outermost groups with values of their own, and tasks in no group -> their metrics."""
        groups = self.logged.groups
        within = set(chain.from_iterable(group.members for group in groups.values()))
        every: dict[str, GroupResults | TaskResults] = {**groups, **self.logged.tasks}
        return {
            name: every[name].metrics
            for name in every
            if name not in within and every[name].metrics
        }

    def shares_file(self, other: Run, name: str) -> bool:
        """Returns whether a task of both is read from one file, or from a file and its copy.

        One file may hold several models. Equal bytes of two calls of lm-eval are no copy: a greedy
        run that is repeated may log the same. Of one call they are, whatever the model is called,
        and of a log of another tool.
        """
        path, other_path = self._file_of(name), other._file_of(name)
        if path is None or other_path is None:
            return False
        is_one_model = self.model == other.model
        is_log = self.log is not None and self.log.is_file()
        may_be_copy = self._is_one_call(other) or (is_one_model and is_log)
        try:
            is_same = is_one_model and path.samefile(other_path)
            return is_same or (may_be_copy and filecmp.cmp(path, other_path, shallow=False))
        except OSError:
            return is_one_model and path == other_path

    def _is_one_call(self, other: Run) -> bool:
        """Returns whether both are of one call of lm-eval, as its start and its duration tell."""
        own, others = self.settings, other.settings
        if own.started is None or own.seconds is None:
            return False
        return (own.started, own.seconds) == (others.started, others.seconds)

    def _file_of(self, name: str) -> Path | None:
        """The file that the values of a task are read from."""
        return self.tasks[name].path if name in self.tasks else self.files.results

    def known(self, name: str) -> TaskRun | None:
        """A task with or without samples, or the values of a group."""
        return self.tasks.get(name) or self.stored.get(name) or self.group_values.get(name)

    def task(self, name: str) -> TaskRun:
        """One task by name.

        Raises:
            BadInput: the run has no samples of it.
        """
        if name not in self.tasks:
            reason = f": {self.unread[name].sentence(name)}" if name in self.unread else ""
            raise BadInput(
                Problem(
                    what=f"no samples of task {name!r}{reason}",
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

    def group(self, name: str, *, sampled: bool = True) -> list[str]:
        """The tasks of a group, nested groups resolved; empty for an unknown group.

        Args:
            name: The group.
            sampled: Those alone that have samples here.
        """
        return [
            member
            for member in self.logged.below(name)
            if member in self.tasks or not (sampled or self.logged.members(member))
        ]

    def samples(self, *names: str, which: Which = "all") -> Iterator[SampleView]:
        """Yields the samples of some tasks or groups, all by default, as people read them.

        Samples that another run or the published verdicts have right are those of
        `Comparison.lost`.

        Args:
            names: Tasks or groups.
            which: `all`, `wrong` (below the metric's best value), or `unread` (nothing could be
                read from the reply).

        Raises:
            BadInput: the run has no samples of a task, or no task tells which are of the kind.
        """
        return sample_views(self, list(names), which)

    def __repr__(self) -> str:
        """The label, what it holds and where it lies."""
        tasks = counted(len(self.tasks), "task")
        return f"Run({self.label!r}, {tasks}, {str(self.log or self.files.folder)!r})"

    def _repr_html_(self) -> str:
        """The tasks with their rows and values, as a notebook shows them."""
        from evalprep.tables import Column, Kind, Table, html_part

        columns = [Column("task", Kind.NAME), Column("rows", Kind.COUNT)]
        columns += [Column("metric"), Column("value", Kind.MEASURE)]
        table = Table("", columns)
        for name, task in self.tasks.items():
            metric = task.headline
            value = "" if metric.value is None else f"{metric.value:g}"
            table.add(name, len(task.table()), metric.name, value)
        return html_part([self.label, str(self.log or self.files.folder)], [table], self.notes)
