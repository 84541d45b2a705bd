"""One sample of a run as other tools take it: question, prompt, replies, scores, hashes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_metrics.finite import finite_number
from evalprep.packs import ChatMessage, messages_of
from evalprep.results import (
    Hashes,
    Metric,
    Sample,
    TaskRun,
    choice_texts,
    chosen_option,
    number_of,
    option_likelihoods,
    question_text,
    text_of,
    verdict_of,
)


@dataclass(frozen=True)
class SampleRow:
    """One document of a task by its primary filter, with the scores of all filters.

    Attributes:
        task: Name of the task.
        sample_id: Identity of the row.
        doc_id: Its position in the split.
        subtask: Its subtask; empty without one.
        question: The question alone, where the row holds it; else the prompt.
        choices: The options of a choice question; empty for others.
        references: The gold answers.
        prompt: The prompt as it was sent, as one text.
        messages: The same as turns.
        replies: The replies; of a task that compares options the option that was chosen.
        answer: What the filter read.
        filter: Name of that filter.
        scores: `metric,filter` -> value; None where the row has none.
        published: The published verdict; None without one.
        hashes: lm-eval's three digests; empty where not logged.
    """

    task: str
    sample_id: str
    doc_id: int
    subtask: str
    question: str
    choices: tuple[str, ...]
    references: tuple[str, ...]
    prompt: str
    messages: tuple[ChatMessage, ...]
    replies: tuple[str, ...]
    answer: str
    filter: str
    scores: Mapping[str, float | None]
    published: bool | None
    hashes: Hashes

    @property
    def known_hashes(self) -> dict[str, str]:
        """The digests that are known, by lm-eval's names."""
        return {name: digest for name, digest in self.hashes.named().items() if digest}


@dataclass
class _OtherFilters:
    """The scores that other filters than the primary one give each row, from columns of numbers.

    Attributes:
        values: Row -> one mapping of scores for each time that the row stands in the file.
    """

    values: dict[tuple[str, int], list[dict[str, float | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @classmethod
    def of(cls, task: TaskRun, metrics: Sequence[Metric]) -> _OtherFilters:
        """Those of a task."""
        others = cls()
        for name in dict.fromkeys(metric.filter for metric in metrics):
            if name != task.primary.filter:
                others._add(task, [metric for metric in metrics if metric.filter == name])
        return others

    def _add(self, task: TaskRun, metrics: Sequence[Metric]) -> None:
        """Adds the scores of one filter."""
        table = task.table(metrics[0].filter)
        columns = {metric.key: task.values(metric) for metric in metrics}
        times_before: dict[tuple[str, int], int] = defaultdict(int)
        for place, (sample_id, doc_id) in enumerate(zip(table.ids, table.doc_id, strict=True)):
            key = sample_id, int(doc_id)
            entries = self.values[key]
            number = times_before[key]
            times_before[key] += 1
            if number == len(entries):
                entries.append({})
            for name, column in columns.items():
                entries[number][name] = finite_number(float(column[place]))

    def take(self, sample: Sample) -> dict[str, float | None]:
        """The scores of the next row of this id and place; empty without one."""
        entries = self.values.get((sample.sample_id, sample.doc_id))
        return entries.pop(0) if entries else {}


def row_metrics(task: TaskRun) -> list[Metric]:
    """Returns the metrics of which rows have numbers, the primary one first."""
    metrics = [metric for metric in task.metrics if metric.kind == "rows"]
    return sorted(metrics, key=lambda metric: metric.key != task.primary.key)


def rows_of(task: TaskRun, filter_name: str | None = None) -> Iterator[SampleRow]:
    """Streams the samples of a task in the order of its file.

    Args:
        task: The task.
        filter_name: The filter whose answers and scores are taken; by default that of the primary
            metric, beside the scores of all others.
    """
    metrics = row_metrics(task)
    others = _OtherFilters.of(task, metrics if filter_name is None else [])
    chosen = task.primary.filter if filter_name is None else filter_name
    own = [metric for metric in metrics if metric.filter == chosen]
    for sample in task.samples(chosen):
        yield _row(task, sample, {**_scores(sample, own), **others.take(sample)})


def _scores(sample: Sample, metrics: Sequence[Metric]) -> dict[str, float | None]:
    numbers = {
        metric.key: number_of(sample.metrics.get(metric.metric), metric.metric)[0]
        for metric in metrics
    }
    return {name: finite_number(value) for name, value in numbers.items()}


def _row(task: TaskRun, sample: Sample, scores: Mapping[str, float | None]) -> SampleRow:
    # A prompt that is no chat is a single turn of the user.
    messages = messages_of(sample.prompt) or [ChatMessage("user", sample.prompt)]
    verdict = verdict_of(sample.doc.get("previously_is_correct"))
    subtask = sample.doc.get("subtask_name")
    options = option_likelihoods(sample)
    return SampleRow(
        task=task.name,
        sample_id=sample.sample_id,
        doc_id=sample.doc_id,
        subtask="" if subtask is None else str(subtask),
        question=question_text(sample.doc) or messages[-1].text,
        choices=tuple(choice_texts(sample.doc) or options),
        references=(sample.gold,) if sample.gold else (),
        prompt=sample.prompt,
        messages=tuple(messages),
        replies=_replies(sample, options, task.primary.metric),
        answer=chosen_option(options, task.primary.metric) if options else sample.answer,
        filter=sample.filter,
        scores=scores,
        published=bool(verdict) if verdict >= 0 else None,
        hashes=sample.hashes,
    )


def _replies(sample: Sample, options: Mapping[str, float], metric: str) -> tuple[str, ...]:
    """The replies; of a sample that compares options the option that was chosen."""
    if options:
        return (chosen_option(options, metric),)
    return tuple(sample.replies or [text_of(sample)])
