"""The preparation as a pack sees it: what it asks for, opens and hands over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalprep.backends import BACKENDS, Backend
from evalprep.config import Config, short_names
from evalprep.data import JoinReport, Source, commit_of, open_source, read_lock
from evalprep.errors import BadInput, Problem, Problems
from evalprep.model import Tokenizer, load_tokenizer, model_folder
from evalprep.packs import (
    Excluded,
    Pack,
    Plan,
    SourceSpec,
    TaskSpec,
    leaves,
    source_spec,
    stock_names,
)
from evalprep.places import exists, place

if TYPE_CHECKING:
    import pyarrow as pa

_KEPT = ("tokenizer", "refuses system")
Made = TypeVar("Made")


@dataclass
class Previous:
    """Published verdicts on one task, counted over all published rows.

    Rows that a join leaves out count, too.
    """

    correct: dict[str | None, int] = field(default_factory=dict)
    total: dict[str | None, int] = field(default_factory=dict)

    def add(self, verdict: bool | None, subtask: str | None) -> None:
        """Counts one published row; a row without verdict is not counted."""
        if verdict is not None:
            self.total[subtask] = self.total.get(subtask, 0) + 1
            self.correct[subtask] = self.correct.get(subtask, 0) + int(verdict)

    def as_dict(self) -> dict[str, Any] | None:
        """`n`, `micro` (mean over rows), `macro` (mean of subtask means) and the subtask counts.

        None without rows.
        """
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


@dataclass(frozen=True)
class UserModule:
    """A Python file of the user that travels with a task.

    Attributes:
        file: The file.
        added: Text that is put behind its own.
    """

    file: Path
    added: str = ""


@dataclass
class TaskData:
    """The rows and values that a pack hands over for one task.

    Attributes:
        rows: The prepared rows, streamed, as mappings or as Arrow record batches; each needs a
            unique `sample_id` (docs/appendix/contracts.md lists the columns).
        values: Placeholder name -> value for the task's template.
        join: Filled by `join` or `join_columns` while the rows are read.
        previous: Published verdicts, filled while the rows are read.
        notes: Sentences for the user, e.g. about rows that were left out.
        modules: File name -> Python file of the user that lies beside the task under that name, for
            its `!function`.
        template: Another template than pack.yaml's, where it depends on the config.
        max_unmatched: Share of rows that may lack clear ground truth; one row is always tolerated.
    """

    rows: Iterable[Mapping[str, Any]] | Iterable[pa.RecordBatch]
    values: dict[str, Any] = field(default_factory=dict)
    join: JoinReport | None = None
    previous: Previous | None = None
    notes: list[str] = field(default_factory=list)
    modules: Mapping[str, UserModule] = field(default_factory=dict)
    template: str | None = None
    max_unmatched: float = 0.01


@dataclass
class Context:
    """The preparation as a pack sees it.

    Attributes:
        pack: The pack itself.
        config: The whole configuration.
        section: The pack's own keys, validated.
        requested: Names of this pack that the user asked for (tasks and groups, aliases resolved).
        problems: Mistakes; `plan` adds to it, preparation stops when there are any.
        sources: Every source opened through `open`, for the manifest.
        cache: For what the pack makes in one step and needs in another, as `once` keeps it.
        notes: Sentences for the user about what the pack decided; `plan` adds to them.
    """

    pack: Pack
    config: Config
    section: Any
    requested: list[str]
    problems: Problems
    sources: list[Source] = field(default_factory=list)
    cache: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Folder that relative paths in the config refer to."""
        return self.config.folder

    def where(self, *keys: str | int) -> str:
        """Returns the place of a key of the pack, or of the whole config, for a message.

        It has the form `file:line (key)`.
        """
        own = self.pack.config.get(str(keys[0]))
        top = own is None or (
            own.top_level and keys[0] not in self.config.source.at(self.pack.name)
        )
        return self.config.where(*keys) if top else self.config.where(self.pack.name, *keys)

    def locate(self, location: str) -> str:
        """A path of the config as an absolute one when it exists locally; a hub id unchanged."""
        for base in (self.folder, self.pack.folder):
            path = place(location, base)
            if exists(path):
                return str(path.resolve())
        return location

    def open(
        self,
        location: str | Mapping[str, Any] | SourceSpec,
        *,
        config: str | None = None,
        split: str | None = None,
        revision: str | None = None,
        columns: Mapping[str, str] | None = None,
        where: str = "",
    ) -> Source:
        """Opens a data set (local or hub) and records it for the manifest.

        Args:
            location: A path or hub id; or, as a user may write it, with more keys (`SourceSpec`),
                which win.
            config: Config that the pack asks for.
            split: Split that the pack asks for.
            revision: Branch, tag or commit that the pack asks for.
            columns: New column name -> name in the files.
            where: Which key of the config named the location, for messages.

        Raises:
            BadInput: see `evalprep.data.sources.open_source`; or a mapping with other keys.
        """
        spec = source_spec(location, where)
        where = where or spec.path
        located = self.locate(spec.path)
        requested_revision = spec.revision or revision
        lock = self.config.lock_file
        pinned = requested_revision
        if lock is not None:
            pinned = commit_of(read_lock(lock), located, requested_revision)
        source = open_source(
            located,
            config=spec.config or config,
            split=spec.split or split,
            revision=pinned,
            columns={**(columns or {}), **spec.columns},
            data_files=spec.data_files,
            data_dir=spec.data_dir,
            folder=self.folder,
            where=where,
        )
        source.requested = requested_revision
        self.sources.append(source)
        return source

    def once(self, key: str, make: Callable[[], Made]) -> Made:
        """Makes what several tasks need the first time that it is asked for.

        Args:
            key: Its name in this preparation.
            make: Makes it.
        """
        if key not in self.cache:
            self.cache[key] = make()
        made: Made = self.cache[key]
        return made

    def is_first(self, key: str) -> bool:
        """Returns whether it is asked about a key for the first time, as a note to give once."""
        asked: set[str] = self.cache.setdefault("is first", set())
        is_new = key not in asked
        asked.add(key)
        return is_new

    def tokenizer(self, *, fix: str) -> Any:
        """The run's tokenizer as transformers loads it.

        It has the revision and the arguments that the run will have.

        Args:
            fix: What the user can do without a tokenizer.

        Raises:
            BadInput: it cannot be loaded.
        """
        if "tokenizer" not in self.cache:
            from transformers import AutoTokenizer

            core = self.config.core
            tokenizer_name = core.model_args.get("tokenizer")
            key = ("model_args", "tokenizer") if tokenizer_name else ("model_name",)
            try:
                self.cache["tokenizer"] = AutoTokenizer.from_pretrained(
                    self.locate(str(tokenizer_name or core.model_name)),
                    revision=core.model_revision or "main",
                    trust_remote_code=bool(core.model_args.get("trust_remote_code", False)),
                )
            except Exception as error:
                # transformers raises OSError, ValueError, ImportError and others, all meaning the
                # same here.
                reason = next(iter(str(error).splitlines()), type(error).__name__)
                raise BadInput(
                    Problem(
                        what=f"the tokenizer of {tokenizer_name or core.model_name} "
                        f"cannot be loaded: {reason}",
                        where=self.where(*key),
                        fix=fix,
                    )
                ) from error
        return self.cache["tokenizer"]

    def drop_rows(self) -> None:
        """Forgets what the pack read; the tokenizer and what it says stay."""
        self.cache = {name: kept for name, kept in self.cache.items() if name in _KEPT}

    def refuses_system(self) -> bool:
        """Returns whether the model's chat template has no system role.

        False where the files of the model are not on this machine.

        lm-eval drops a system turn that a template refuses; a pack can put it before the user's.
        """
        if "refuses system" not in self.cache:
            core = self.config.core
            name = str(core.model_args.get("tokenizer") or core.model_name)
            tokenizer = load_tokenizer(model_folder(name, self.folder))
            self.cache["refuses system"] = tokenizer is not None and _refuses_system(tokenizer)
        return bool(self.cache["refuses system"])

    @property
    def model_labels(self) -> dict[str, str]:
        """The models of the config: name in commands and files -> model name, as written.

        Of a single model the name in commands is empty.
        """
        entries = self.config.core.models
        if len(entries) < 2:
            return {"": self.config.core.model_name}
        names = [entry.model_name for entry in entries]
        return dict(zip(short_names(entries), names, strict=True))

    @property
    def backend(self) -> Backend:
        """The record of the configured back end; `abilities` says what it can do."""
        return BACKENDS[self.config.core.backend]

    def plan_of(self, requested: Iterable[str], groups: Mapping[str, Sequence[str]]) -> Plan:
        """The tasks behind names, as pack.yaml declares them.

        With them come the groups that were asked for or lie in these.

        Tasks that pack.yaml calls unavailable are excluded with its reason.
        """
        names = list(dict.fromkeys(requested))
        shown = set(names)
        tasks: dict[str, None] = {}
        for name in names:
            shown |= set(_names_below(name, groups))
            tasks |= dict.fromkeys(leaves(name, groups))
        plan = Plan(
            groups={name: list(members) for name, members in groups.items() if name in shown}
        )
        for task in tasks:
            spec = self.pack.tasks.get(task) or TaskSpec(
                name=task, stock="task" if task in stock_names() else ""
            )
            plan.tasks[task] = spec.plan()
            if spec.unavailable:
                plan.excluded[task] = Excluded("unavailable", spec.unavailable, spec.tags)
        return plan

    def static_plan(self) -> Plan:
        """The plan of a pack whose tasks and groups do not depend on the data."""
        return self.plan_of(
            self.requested, {name: group.tasks for name, group in self.pack.groups.items()}
        )


def _refuses_system(tokenizer: Tokenizer) -> bool:
    """Returns whether a template takes a user's turn alone.

    It fails on a system turn or leaves it out.
    """
    user = {"role": "user", "content": "question"}
    try:
        tokenizer.render_chat([user])
    except ValueError:
        return False
    try:
        return "rules" not in tokenizer.render_chat([{"role": "system", "content": "rules"}, user])
    except ValueError:
        return True


def _names_below(name: str, groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for member in groups.get(name, ()):
        yield member
        yield from _names_below(member, groups)
