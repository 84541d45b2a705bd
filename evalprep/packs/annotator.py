"""Annotators, which compute values after a run.

Their contract, their questions, and what can become of one.

An annotator is a judge, a detector, an embedder or a code runner; never the model under test: its
replies are samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

Message = Mapping[str, str]  # role and content
Values = Mapping[str, float]

#: What `read` may return of a reply; only `ok` has values.
READINGS = ("ok", "incomplete", "parse_error", "invalid_score")
#: What a question can come to in all: a reading, the service's word on a reply, or no answer.
OUTCOMES = (*READINGS, "refused", "truncated", "missing")
#: A question that has not been put yet, in the rows of scores.
NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Value:
    """The meaning of a value of an annotator.

    Attributes:
        low: Smallest value.
        high: Largest value.
        better: `up`, `down` or `none`.
        title: For people.
    """

    low: float
    high: float
    better: str = "up"
    title: str = ""


@dataclass(frozen=True)
class SampleRef:
    """One sample that a question is about.

    Attributes:
        task: Its task.
        sample_id: Its id.
        index: Its position in the split.
        run: The run that it is of, where a question is about samples of two runs; empty for the run
            itself.
    """

    task: str
    sample_id: str
    index: int
    run: str = ""

    @classmethod
    def of(cls, task: str, row: Mapping[str, Any], run: str = "") -> SampleRef:
        """The sample of a row mapping, as `items` gets it."""
        return cls(task, str(row["sample_id"]), int(row["index"]), run)


@dataclass(frozen=True)
class Item:
    """One question.

    Attributes:
        samples: What it is about; the first one gets the values. Two for a pair.
        input: The user's message, or a list of messages.
        draw: Number of the draw: votes on one input stay apart.
        follows: The question whose input and reply come before this one's messages (a chain).
        step: Its reply is only for the question that follows it, and is not read.
        fixed: Values that need no model; None where one is asked.
        prefix: Put before the names of the values, so that several questions about a sample stay
            apart.
        about: What `read` needs to know of it (names of metrics, order of a pair).
    """

    samples: tuple[SampleRef, ...]
    input: str | Sequence[Message]
    draw: int = 0
    follows: Item | None = None
    step: bool = False
    fixed: Values | None = None
    prefix: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Its own messages, without those of the question that it follows."""
        if isinstance(self.input, str):
            return ({"role": "user", "content": self.input},)
        return tuple(self.input)

    def resolved(self, reply_before: str | None = None) -> tuple[Message, ...]:
        """All messages that are sent.

        Args:
            reply_before: The reply to the question that it follows.

        Raises:
            ValueError: it follows a question that has no reply.
        """
        if self.follows is None:
            return self.messages
        if reply_before is None:
            raise ValueError("the earlier question has no reply")
        # A chain of two steps is all that rubrics have needed; a longer one would need the replies
        # of all steps.
        before = self.follows.messages
        return (*before, {"role": "assistant", "content": reply_before}, *self.messages)


@runtime_checkable
class Annotator(Protocol):
    """Computes values of samples.

    `run(inputs) -> replies` is present where no provider is asked.
    """

    @property
    def name(self) -> str:
        """Unique in a run."""

    @property
    def version(self) -> str:
        """Raised by hand when its input or its use of the model changes, not by releases."""

    @property
    def values(self) -> Mapping[str, Value]:
        """Name -> range and direction; they join the metrics of a row."""

    @property
    def paid(self) -> bool:
        """`score` runs free annotators, `judge` the paid ones."""

    @property
    def needs(self) -> Sequence[str]:
        """Packages, data and abilities without which it cannot run."""

    @property
    def tasks(self) -> Sequence[str]:
        """Tasks whose rows it is asked about, beside those that name it in their metadata."""

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Parameters of its requests, which the user may override."""

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of a reply for providers that enforce one; None without."""

    def items(
        self,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        metadata: Mapping[str, Mapping[str, Any]],
    ) -> Iterable[Item]:
        """The questions about the rows of some tasks, in the order of asking.

        Args:
            rows: Task -> row mappings, as score functions get them.
            metadata: Task -> the metadata of its YAML.
        """

    def read(self, item: Item, reply: str) -> tuple[str, Values | None]:
        """Status and, where it is `ok`, values of a reply.

        Pure, never raises. Replies are read anew every time.
        """


def runs_here(annotator: Annotator) -> bool:
    """Returns whether it computes by itself, as opposed to asking a provider."""
    return callable(getattr(annotator, "run", None))


def runs_code(annotator: Annotator) -> bool:
    """Returns whether it runs programmes of a data set or a model, as `runs_code = True` states."""
    return bool(getattr(annotator, "runs_code", False))
