"""The row that every reader of another tool's results yields, and what a log says beside its rows.

A field that a source lacks is None: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from evalprep.readers.logged import RowCounts
from evalprep.readers.tools.texts import index_of, resolved
from evalprep.samples import Damage, Direction

Status = Literal["ok", "error", "unscored", "skipped"]


class Row(msgspec.Struct, kw_only=True):
    """One sample as another tool logged it.

    Attributes:
        task: What was asked.
        metric: The metric that stands for the row by the habit of its format; empty without one.
        values: Metric -> its value, None where the source gives no verdict.
        filter: The filter of the metric.
        id: The id that the source gives the sample.
        id_is_position: Whether that id counts rows of a file, so that it pairs with no other tool.
        doc_id: Position in the source's file or split.
        epoch: Number of the repeat, from 1.
        question: The question as the data set has it.
        choices: The choices as the data set has them.
        target: The gold answer; of a letter or an index the text of the choice.
        targets: All accepted answers, where there are several.
        target_label: The letter or index that the source holds in place of the gold answer.
        target_index: Place of the gold answer among the choices.
        answer_index: Place of the model's choice among the choices.
        prompt: What the model got; a chat as JSON list.
        response: The raw output.
        responses: All outputs to the prompt, where there are several.
        answer: What the source extracted of the output, with letters resolved.
        status: Why there is no score.
        doc_hash: lm-eval's hash of the document.
        prompt_hash: lm-eval's hash of the prompt.
        target_hash: lm-eval's hash of the gold answer.
        native_hash: The source's own hash.
        source: File and line, or member of an archive, to find the row again.
    """

    task: str = ""
    metric: str = ""
    values: dict[str, float | None] = msgspec.field(default_factory=dict)
    filter: str = "none"
    id: str | None = None
    id_is_position: bool = False
    doc_id: int | None = None
    epoch: int = 1
    question: str | None = None
    choices: list[str] | None = None
    target: str | None = None
    targets: list[str] | None = None
    target_label: str | None = None
    target_index: int | None = None
    answer_index: int | None = None
    prompt: str | None = None
    response: str | None = None
    responses: list[str] | None = None
    answer: str | None = None
    status: Status = "ok"
    doc_hash: str | None = None
    prompt_hash: str | None = None
    target_hash: str | None = None
    native_hash: str | None = None
    source: str = ""

    @property
    def score(self) -> float | None:
        """The value of the metric that stands for the row; None without a verdict."""
        return self.values.get(self.metric)

    def set_values(
        self, values: dict[str, float | None], usual: Iterable[str] = (), *, failed: object = False
    ) -> None:
        """Sets the metrics of the row, and its status by them.

        Args:
            values: Metric -> value; a row without any value has no verdict.
            usual: Metrics of which the first one that is there stands for the row, else its first.
            failed: Whether the source states an error.
        """
        self.values = values
        known = (name for name in usual if name in values)
        self.metric = next(known, next(iter(values), ""))
        has_value = any(value is not None for value in values.values())
        self.status = "ok" if has_value else "unscored"
        if failed:
            self.status = "error"

    def set_targets(self, texts: list[str]) -> None:
        """Sets the gold answers, of which the first one stands for all."""
        self.target = texts[0] if texts else None
        self.targets = texts if len(texts) > 1 else None

    def set_target_labels(self, labels: list[str]) -> None:
        """Sets the gold answers where each may be the letter of a choice; needs the choices."""
        self.set_targets(labels)
        if labels:
            self.target = resolved(labels[0], self.choices)
            self.target_index = index_of(labels[0], self.choices)
            self.target_label = labels[0] if self.target != labels[0] else None

    def set_answer_label(self, label: str | None) -> None:
        """Sets the answer, which may be the letter of a choice; needs the choices."""
        self.answer = resolved(label, self.choices)
        self.answer_index = index_of(label, self.choices)

    def set_responses(self, texts: list[str]) -> None:
        """Sets the outputs to the prompt, of which the first one stands for all."""
        self.response = texts[0] if texts else None
        self.responses = texts if len(texts) > 1 else None


class TaskFacts(msgspec.Struct, frozen=True):
    """The facts that a log states of a task as a whole.

    Attributes:
        num_fewshot: Examples in the prompt; None where it is not known.
        version: Version of the task.
        metadata: Further settings, as the metadata of a task's YAML would have them.
        directions: Metric -> which way is better, where the log says it.
        reducer: How the log makes one value of several repeats: mean, median, mode or max.
        rows: Samples of the data set, and of these in the run, repeats aside.
    """

    num_fewshot: int | None = None
    version: Any = None
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    directions: Mapping[str, Direction] = msgspec.field(default_factory=dict)
    reducer: str = "mean"
    rows: RowCounts = msgspec.field(default_factory=RowCounts)


class ToolLog(msgspec.Struct, frozen=True):
    """One log of another tool.

    Attributes:
        format: Name of the reader, as `--input_format` takes it.
        rows: Its rows in the order of the source, and what could not be read.
        model: The model's name, as far as the log tells.
        settings: How the model was asked, by the keys of lm-eval's `config`.
        tasks: Task -> what the log says of it; may be filled while rows are read.
        notes: Sentences for the user; may grow while rows are read.
        short_name: Task as the source names it -> its name for people.
        task: The only task of the log, where it is known before its rows are read.
        rank: Of several logs of that task the highest counts; empty where all of them do.
        started: When the run started, in seconds since the epoch; None where the log has no date.
        may_measure_harm: A verdict of 1 need not be the better one.
    """

    format: str
    rows: Iterator[Row | Damage]
    model: str = ""
    settings: Mapping[str, Any] = msgspec.field(default_factory=dict)
    tasks: dict[str, TaskFacts] = msgspec.field(default_factory=dict)
    notes: list[str] = msgspec.field(default_factory=list)
    short_name: Callable[[str], str] = str
    task: str = ""
    rank: tuple[Any, ...] = ()
    started: float | None = None
    may_measure_harm: bool = False
