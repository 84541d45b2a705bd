"""Results of another tool, as the `references.py` of a pack reads them.

Scores, and rows where there are some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class StoredTask:
    """The stored values of a task whose samples are not here.

    Attributes:
        values: Metric -> value over all rows.
        stderrs: Metric -> its standard error, where there is one.
        rows: Rows that the values are over; None where that is not known.
    """

    values: Mapping[str, float]
    stderrs: Mapping[str, float] = field(default_factory=dict)
    rows: int | None = None


@dataclass(frozen=True)
class LoggedRow:
    """One row of a log.

    Attributes:
        index: Position in the split.
        values: Metric name -> value.
        prompt: What the model was asked, where the log says it.
        target: The gold answer.
        reply: What the model wrote; None where the log does not keep it.
        doc: Further columns, as a prepared row would have them.
    """

    index: int
    values: Mapping[str, Any]
    prompt: str = ""
    target: str = ""
    reply: str | None = None
    doc: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LoggedTask:
    """The rows of one task of a pack.

    Attributes:
        rows: In order.
        metric: The metric that stands for the task.
        higher_is_better: Metric name -> direction.
        metadata: As the task's YAML would have it.
        data: The data set and split that its rows are of, e.g. `TOFU forget05`; empty where the log
            does not tell.
    """

    rows: Sequence[LoggedRow]
    metric: str
    higher_is_better: Mapping[str, bool] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    data: str = ""

    @property
    def has_replies(self) -> bool:
        """Returns whether scores over its rows can be computed from replies.

        Else they are those that the log states.
        """
        return any(row.reply is not None for row in self.rows)


@dataclass(frozen=True)
class Log:
    """Everything that a log says.

    Attributes:
        results: Score name of the pack -> result, with `value_by_index` where the log has rows.
        model: The model's name, as far as log or place tell.
        tasks: Task name of the pack -> its rows.
        settings: What the log says of how the model was asked, as lm-eval's `config`.
        notes: Sentences for the user.
        stored: Task or group of lm-eval itself -> `metric,filter` -> value, without rows.
    """

    results: Mapping[str, Mapping[str, Any]]
    model: str = ""
    tasks: Mapping[str, LoggedTask] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    stored: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
