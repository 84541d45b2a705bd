"""What a pack's `prepare.py` may use: the only part of evalprep that packs import.

A pack with work of its own has `prepare.py` with

    def prepare(context: Context, task: str) -> TaskData: ...

and, where the tasks depend on the data, also

    def plan(context: Context) -> Plan: ...

A pack without `prepare.py` gets its rows from `source:` in pack.yaml as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.config.schema import Config
from evalprep.data.fields import FieldRow, read_fields
from evalprep.data.join import GroundTruth, JoinReport, join
from evalprep.data.prepared import Repeats
from evalprep.data.sources import Source, config_names, open_source
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.files import file_sha256, write_atomically
from evalprep.packs.entries import TaskSpec
from evalprep.packs.pack import Pack
from evalprep.places import exists, is_folder, place

__all__ = [
    "BadInput",
    "Context",
    "FieldRow",
    "GroundTruth",
    "JoinReport",
    "Plan",
    "Previous",
    "Problem",
    "Problems",
    "Repeats",
    "Source",
    "TaskData",
    "TaskSpec",
    "config_names",
    "file_sha256",
    "is_folder",
    "join",
    "make_plan",
    "near",
    "place",
    "read_fields",
    "write_atomically",
]


@dataclass
class Previous:
    """Published verdicts on one task, counted over all published rows (also those that a join leaves out)."""

    correct: dict[str | None, int] = field(default_factory=dict)
    total: dict[str | None, int] = field(default_factory=dict)

    def add(self, verdict: bool | None, subtask: str | None) -> None:
        """Count one published row; a row without verdict is not counted."""
        if verdict is not None:
            self.total[subtask] = self.total.get(subtask, 0) + 1
            self.correct[subtask] = self.correct.get(subtask, 0) + int(verdict)

    def as_dict(self) -> dict[str, Any] | None:
        """`n`, `micro` (mean over rows), `macro` (mean of subtask means) and the subtask counts; None without rows."""
        count = sum(self.total.values())
        if not count:
            return None
        means = [self.correct[name] / self.total[name] for name in self.total]
        return {
            "n": count,
            "micro": sum(self.correct.values()) / count,
            "macro": sum(means) / len(means),
            "subtasks": {
                str(name): {"n": self.total[name], "correct": self.correct[name]}
                for name in sorted(self.total, key=str)
            },
        }


@dataclass
class TaskData:
    """What a pack hands over for one task.

    Attributes:
        rows: The prepared rows, streamed; each needs a unique `sample_id` (docs/architecture.md lists the columns).
        values: Placeholder name -> value for the task's template.
        join: Filled by `evalprep.data.join.join` while the rows are read.
        previous: Published verdicts, filled while the rows are read.
        notes: Sentences for the user, e.g. about rows that were left out.
        template: Another template than pack.yaml's, where it depends on the config.
    """

    rows: Iterable[Mapping[str, Any]]
    values: dict[str, Any] = field(default_factory=dict)
    join: JoinReport | None = None
    previous: Previous | None = None
    notes: list[str] = field(default_factory=list)
    template: str | None = None


@dataclass
class Plan:
    """Which tasks to prepare, and which groups can be written with them.

    Attributes:
        tasks: Task names in order.
        groups: Group name -> members, which are tasks and other groups.
        request: What goes after `--tasks`.
        specs: Tasks that pack.yaml cannot name, because the config makes them (one per data set of the user, say).
    """

    tasks: list[str]
    groups: dict[str, list[str]]
    request: list[str]
    specs: dict[str, TaskSpec] = field(default_factory=dict)

    def below(self, name: str) -> list[str]:
        """The tasks of a group, and of the groups in it; a task is its own."""
        return list(dict.fromkeys(_tasks_below(name, self.groups)))


@dataclass
class Context:
    """What a pack sees of the preparation.

    Attributes:
        pack: The pack itself.
        config: The whole configuration.
        section: The pack's own keys, validated.
        requested: Names of this pack that the user asked for (tasks and groups, aliases resolved).
        problems: Mistakes; `plan` adds to it, preparation stops when there are any.
        sources: Every source opened through `open`, for the manifest.
        cache: For what the pack reads once and needs for several tasks.
    """

    pack: Pack
    config: Config
    section: Any
    requested: list[str]
    problems: Problems
    sources: list[Source] = field(default_factory=list)
    cache: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Folder that relative paths in the config refer to."""
        return self.config.folder

    def where(self, *keys: str | int) -> str:
        """How a message names a key of the pack, or of the whole config: `file:line (key)`."""
        own = self.pack.config.get(str(keys[0]))
        top = own is None or (own.top_level and keys[0] not in self.config.source.at(self.pack.name))
        return self.config.where(*keys) if top else self.config.where(self.pack.name, *keys)

    def locate(self, location: str) -> str:
        """A path of the config as an absolute one when it exists locally, else unchanged (a hub id)."""
        for base in (self.folder, self.pack.folder):
            path = place(location, base)
            if exists(path):
                return str(path.resolve())
        return location

    def open(
        self,
        location: str,
        *,
        config: str | None = None,
        split: str | None = None,
        revision: str | None = None,
        where: str = "",
    ) -> Source:
        """Open a data set (local or hub) and record it for the manifest.

        Raises:
            BadInput: see `evalprep.data.sources.open_source`.
        """
        source = open_source(
            self.locate(location),
            config=config,
            split=split,
            revision=revision,
            folder=self.folder,
            where=where or location,
        )
        self.sources.append(source)
        return source

    def tokenizer(self, *, fix: str) -> Any:
        """The run's tokenizer as transformers loads it, with the revision and the arguments that the run will have.

        Args:
            fix: What the user can do without a tokenizer.

        Raises:
            BadInput: it cannot be loaded.
        """
        if "tokenizer" not in self.cache:
            from transformers import AutoTokenizer

            core = self.config.core
            given = core.model_args.get("tokenizer")
            try:
                self.cache["tokenizer"] = AutoTokenizer.from_pretrained(
                    self.locate(str(given or core.model_name)),
                    revision=core.model_revision or "main",
                    trust_remote_code=bool(core.model_args.get("trust_remote_code", False)),
                )
            except Exception as error:
                # transformers raises OSError, ValueError, ImportError and others, all meaning the same here.
                reason = next(iter(str(error).splitlines()), type(error).__name__)
                raise BadInput(
                    Problem(
                        what=f"the tokenizer of {given or core.model_name} cannot be loaded: {reason}",
                        where=self.where("model_args", "tokenizer") if given else self.where("model_name"),
                        fix=fix,
                    )
                ) from error
        return self.cache["tokenizer"]

    def static_plan(self) -> Plan:
        """The plan of a pack whose tasks and groups do not depend on the data."""
        return make_plan(self.requested, {name: list(group.tasks) for name, group in self.pack.groups.items()})


def make_plan(requested: Iterable[str], groups: Mapping[str, list[str]]) -> Plan:
    """Expand groups, and the groups in them, without repeats.

    lm-eval refuses a call that names a group and one of its members, so such a member is dropped from the request.
    """
    names = list(dict.fromkeys(requested))
    inside = {below for name in names for below in _names_below(name, groups)}
    request = [name for name in names if name not in inside]
    tasks = list(dict.fromkeys(task for name in request for task in _tasks_below(name, groups)))
    return Plan(
        tasks=tasks, groups={name: groups[name] for name in groups if name in {*request, *inside}}, request=request
    )


def _names_below(name: str, groups: Mapping[str, list[str]]) -> Iterator[str]:
    for member in groups.get(name, []):
        yield member
        yield from _names_below(member, groups)


def _tasks_below(name: str, groups: Mapping[str, list[str]]) -> Iterator[str]:
    if name not in groups:
        yield name
    for member in groups.get(name, []):
        yield from _tasks_below(member, groups)
