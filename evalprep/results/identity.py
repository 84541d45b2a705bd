"""What a run is: what was meant, what was asked, who answered, how it is read, and when.

Every verb takes it from `Run.identity`; no other place decides which files are one run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from evalprep.credentials import redacted
from evalprep.hosts import without_own_port
from evalprep.packs import Manifest, Plan
from evalprep.readers import CallSettings, TaskSettings
from evalprep.terminal import shortlist

#: In place of the reason, of a task that a new try has not reached.
NOT_RUN_YET = "not run yet"
#: Other names of one back end of lm-eval.
_SAME_BACKEND = {"hf-auto": "hf", "huggingface": "hf", "hf-causal": "hf"}
#: Arguments of a back end that add weights to the model or take another part of its files.
_ADDED = ("peft", "lora_local_path", "adapter", "delta", "subfolder", "gguf_file", "steer_path")
_ADDRESSES = ("base_url", "api_base", "endpoint")
_NAMED = 4  # tasks that a line names
_DIGESTS, _DIGITS = frozenset({"fingerprint", "replies"}), 12
_NO_ARGUMENT = frozenset({"", "None", "none", "null"})


class AnsweredBy(msgspec.Struct, frozen=True):
    """Who answered the requests of a call.

    Attributes:
        model: The model's id or folder, as it was named.
        revision: Its revision; empty for the main one.
        added: Adapters and parts of its files, each with its argument.
        backend: lm-eval's name of the back end; aliases have one name.
        base_url: The address of a server; a port of this machine's own address does not count.
        fingerprint: Digest of the model's files; empty where no record has one: then the model is
            known by its name alone.
        replies: Digests of the files that the replies came from.
    """

    model: str
    revision: str = ""
    added: tuple[tuple[str, str], ...] = ()
    backend: str = ""
    base_url: str = ""
    fingerprint: str = ""
    replies: tuple[str, ...] = ()

    def differences(self, other: AnsweredBy) -> Iterator[str]:
        """Yields what differs from another answerer: `revision main / step1`."""
        for name in self.__struct_fields__:
            own, others = getattr(self, name), getattr(other, name)
            if own != others:
                length = _DIGITS if name in _DIGESTS else None
                yield f"{name} {_shown(own, length)} / {_shown(others, length)}"


def _shown(value: Any, length: int | None) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    texts = ["=".join(part) if isinstance(part, tuple) else str(part)[:length] for part in parts]
    return redacted(", ".join(texts)) or "-"


def backend_name(name: str) -> str:
    """Returns lm-eval's name of a back end; aliases have one.

    >>> backend_name("huggingface")
    'hf'
    """
    return _SAME_BACKEND.get(name, name)


def answered_by(settings: CallSettings) -> AnsweredBy | None:
    """Returns who answered a call; None where its results file does not name a model."""
    arguments = {
        name: str(value)
        for name, value in settings.arguments.items()
        if str(value) not in _NO_ARGUMENT
    }
    if not settings.model:
        return None
    revision = arguments.get("revision", "")
    address = next((arguments[name] for name in _ADDRESSES if name in arguments), "")
    return AnsweredBy(
        model=settings.model.removeprefix("./").rstrip("/"),
        revision="" if revision == "main" else revision,
        added=tuple((name, arguments[name]) for name in _ADDED if name in arguments),
        backend=backend_name(settings.backend or ""),
        base_url=without_own_port(address),
    )


def recorded_answerer(settings: CallSettings, record: Manifest) -> AnsweredBy | None:
    """Returns who answered, with what the record of a run adds to its results files.

    Args:
        settings: The settings of a call of the run.
        record: The record; empty without one.
    """
    answerer = answered_by(settings)
    if answerer is None:
        return None
    first = record.replies.first
    return replace(
        answerer,
        fingerprint=record.fingerprints.get(settings.model, ""),
        replies=(first,) if first else (),
    )


class Failure(msgspec.Struct, frozen=True):
    """Why a task has no value in a try of its command.

    Attributes:
        reason: What the harness or the model's server answered.
        command: Name of the command; empty where it was not kept.
        attempt: Number of the try; None where it was not kept.
        when: ISO time; empty where it was not kept.
    """

    reason: str
    command: str = ""
    attempt: int | None = None
    when: str = ""

    @property
    def has_begun(self) -> bool:
        """Returns whether the try reached the task; a restart notes those that are still to run."""
        return self.reason != NOT_RUN_YET

    @property
    def seconds(self) -> float:
        """When it failed, in seconds since 1970; infinite where that is not known."""
        try:
            return datetime.fromisoformat(self.when).timestamp()
        except ValueError:
            return math.inf

    @property
    def sentence(self) -> str:
        """The reason with its time: `HTTP 400 (2026-03-01 10:00:00)`."""
        time = self.when[:19].replace("T", " ")
        return f"{self.reason} ({time})" if time else self.reason


UnreadKind = Literal["failed", "not run", "no samples", "left out"]


class Unread(msgspec.Struct, frozen=True):
    """A task of a run of which no rows are read.

    Attributes:
        kind: It failed in the newest try, the newest try has not reached it, the results file
            lists it and its samples are not there, or only an older file that is no part of the
            run has it.
        reason: Why, for people.
    """

    kind: UnreadKind
    reason: str

    @property
    def is_noted(self) -> bool:
        """Returns whether `notes_on_unread` or a note on the files names the task."""
        return self.kind != "no samples"

    def sentence(self, task: str) -> str:
        """Returns the reason with the task: `bio failed: HTTP 400 (2026-03-01 10:00:00)`."""
        if self.kind == "failed":
            return f"{task} failed: {self.reason}"
        return f"{task} {self.reason}"


def notes_on_unread(unread: Mapping[str, Unread]) -> list[str]:
    """Returns the lines about tasks that failed, and about those that a run has not reached.

    Args:
        unread: Task -> why no rows of it are read.
    """
    failed = [item.sentence(name) for name, item in unread.items() if item.kind == "failed"]
    waiting = [name for name, item in unread.items() if item.kind == "not run"]
    return [*failed, f"not run yet: {shortlist(waiting, _NAMED)}"] if waiting else failed


class RunIdentity(msgspec.Struct, frozen=True):
    """One run: what one model, asked in one way, answered.

    Attributes:
        run: Its id; of files without one their time stamp.
        meant: What was prepared; None without a record.
        asked: Task -> its settings as logged.
        calls: Task -> the settings of the call that its values are from.
        answered_by: Who answered; None where no file says it.
        read_by: Task -> metric and filter that stand for it.
        tries: Command -> number of the try that counts.
        unread: Task -> why no rows of it are read.
        is_chosen: Whether the user named this run or try, so that what it lacks is her choice.
    """

    run: str
    meant: Plan | None = None
    asked: Mapping[str, TaskSettings] = msgspec.field(default_factory=dict)
    calls: Mapping[str, CallSettings] = msgspec.field(default_factory=dict)
    answered_by: AnsweredBy | None = None
    read_by: Mapping[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    tries: Mapping[str, int] = msgspec.field(default_factory=dict)
    unread: Mapping[str, Unread] = msgspec.field(default_factory=dict)
    is_chosen: bool = False
