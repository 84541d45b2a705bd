"""The subject of an export: a run with what is known of it."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from evalprep.compare import Comparison, Quantities
from evalprep.credentials import redacted
from evalprep.errors import BadInput, Problem
from evalprep.gate import Verdict
from evalprep.packs import Pack
from evalprep.results import Run
from evalprep.score import (
    Quantity,
    Scores,
    about,
    headline_quantities,
    missing_rows,
    notes_on_value,
    quantities,
)

#: Time stamps of lm-eval, in the names of its files.
_STAMP = "%Y-%m-%dT%H-%M-%S.%f"
_NAMED_BY_PATH = (".", "/", "~")


@dataclass(frozen=True)
class Subject:
    """One run with what is known of it.

    Attributes:
        run: The run, with digests in place of texts that may not be published.
        scores: Its scores.
        packs: The packs that its tasks belong to.
        baseline: What it is compared with; None for published verdicts.
        measured: What is measured of both; None where there is nothing to compare with.
        comparison: What the comparison says; None where there is nothing to compare with.
        verdict: What a gate decides; None without a policy.
        model_id: `org/name`, or the name alone where no organisation is known.
    """

    run: Run
    scores: Scores
    packs: Sequence[Pack] = ()
    baseline: Subject | None = None
    measured: Quantities | None = None
    comparison: Comparison | None = None
    verdict: Verdict | None = None
    model_id: str = ""

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Every number of the run with all that belongs to it."""
        return [*quantities(self.scores)]

    @cached_property
    def quantities_of(self) -> dict[str, list[Quantity]]:
        """Task, group or suite score -> its numbers."""
        of_owner: dict[str, list[Quantity]] = {}
        for item in self.quantities:
            of_owner.setdefault(item.owner, []).append(item)
        return of_owner

    @cached_property
    def headlines(self) -> list[Quantity]:
        """The numbers that stand for tasks, and those of tasks without samples and of packs."""
        return [*headline_quantities(self.scores)]

    @property
    def notes_on_values(self) -> list[str]:
        """The sentences that `score` has on rows that are missing or left out, and other values."""
        notes: list[str] = []
        for task in self.scores.tasks:
            sentences = [*missing_rows(task), *notes_on_value(task)]
            notes += [f"{task.task}: {sentence}" for sentence in sentences]
        of_groups = [item for item in self.quantities if item.kind == "group" and item.beside]
        return [*notes, *about(of_groups)]

    @property
    def seconds(self) -> float:
        """Returns when the run started, in seconds since the epoch.

        Without a date in its files the time stamp of their names, taken as UTC; without that the
        time at which the newest of its own files was written; 0 where none is left.
        """
        started = self.run.settings.started
        if started is not None and math.isfinite(started):
            return started
        try:
            return datetime.strptime(self.run.files.stamp, _STAMP).replace(tzinfo=UTC).timestamp()
        except ValueError:
            run = self.run
            files = [run.log] if run.log else [run.files.results, *run.files.samples.values()]
            here = [file for file in files if file is not None and file.exists()]
            return max((float(int(file.stat().st_mtime)) for file in here), default=0.0)

    @property
    def epoch(self) -> str:
        """The same as text, without trailing zeros."""
        return f"{self.seconds:.6f}".rstrip("0").rstrip(".")

    @property
    def moment(self) -> datetime:
        """The same as a time, in UTC."""
        return datetime.fromtimestamp(self.seconds, UTC)

    def moment_after(self, seconds: float | None) -> datetime:
        """The time so many seconds after the start."""
        return datetime.fromtimestamp(self.seconds + (seconds or 0.0), UTC)

    @property
    def key(self) -> str:
        """Returns what tells the run from others: its model, and its id or time stamp."""
        return f"{self.run.model} {self.run.id}"

    def fixed_id(self, *parts: str) -> str:
        """A UUID4 that is the same for every export of the same part of the run.

        Args:
            parts: Format, task and the like.
        """
        text = "\0".join([self.key, *parts])
        return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


@dataclass(frozen=True)
class Written:
    """The files of an export.

    Attributes:
        files: Its files, in order.
        notes: What the user should know.
        text: What is printed where it went to no file.
        next_step: The next command or act.
    """

    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    text: str = ""
    next_step: str = ""


def model_id_of(run: Run, chosen: str = "") -> str:
    """Returns the id by which others know a model: the user's word, else its name without a path.

    >>> from types import SimpleNamespace
    >>> model_id_of(SimpleNamespace(model="/models/my-model/"))
    'my-model'
    """
    if chosen:
        return chosen
    name = redacted(run.model).rstrip("/\\")
    if name.startswith(_NAMED_BY_PATH) or "\\" in name or name.count("/") > 1:
        return name.replace("\\", "/").rpartition("/")[2]
    return name


def need_organization(subjects: Sequence[Subject]) -> None:
    """Refuses models that are known by a flat name or a path alone.

    Raises:
        BadInput: a model id has no organisation.
    """
    flat = [subject for subject in subjects if "/" not in subject.model_id.strip("/")]
    if flat:
        raise BadInput(
            Problem(
                what=f"the id of model {subject.model_id!r} names no organisation",
                where=subject.run.label,
                allowed="ORG/NAME, as on the hub",
                fix="--set model_id=ORG/NAME, with commas for several runs",
            )
            for subject in flat
        )
