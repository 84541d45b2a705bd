"""Samples as people read them: prompt, reply, answer that was read, gold answer, score, reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from custom_metrics.finite import finite_number
from custom_metrics.harness.reading import Reading, logs_instructions, read
from evalprep.errors import BadInput, Problem, near
from evalprep.packs import ChatMessage, messages_of
from evalprep.results.reply import Replier, extraction_failed, has_reply, knows_parsing, text_of
from evalprep.results.task import TaskRun
from evalprep.samples import (
    INVALID,
    Ints,
    Metric,
    Sample,
    choice_texts,
    number_of,
    question_text,
    verdict_of,
)

if TYPE_CHECKING:
    from evalprep.results.run import Run

#: Samples of a kind: all, those that are not fully right, those whose reply could not be read.
Which = Literal["all", "wrong", "unread"]
#: The metric that divides the log-likelihood of an option by its length.
BY_LENGTH = "acc_norm"
_REASON_UNREAD = "no answer could be read from the reply"
_REASON_CUT = "the reply ended at its token limit"
_REASON_OTHER = "the answer that was read is not the gold answer"
_REASON_MORE = "the whole reply was compared, and it holds more than the gold answer"


@dataclass(frozen=True, eq=False)
class SampleView:
    """One sample as it is given out: to people, to tables and to other programs.

    Each part is read from the line when it is asked for.

    Attributes:
        task: Name of its task.
        sample: Its line.
        read_by: The metric that is read.
        score: Its value; None where the row has none.
        scores: `metric,filter` -> value, for whoever takes all metrics of a row; else empty.
        replier: Who wrote the reply.
        cause: Why the sample is lost, where its own reply does not tell; empty otherwise.
        baseline_score: The baseline's score, for a lost sample; None otherwise.
        baseline_reply: The baseline's reply, likewise.
    """

    task: str
    sample: Sample
    read_by: Metric
    score: float | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    replier: Replier = field(default_factory=Replier, repr=False)
    cause: str = ""
    baseline_score: float | None = None
    baseline_reply: str | None = None

    @classmethod
    def of(cls, task: str, sample: Sample, metric: Metric, replier: Replier) -> SampleView:
        """A sample with its value of a metric."""
        value, _ = number_of(sample.metrics.get(metric.metric), metric.metric)
        return cls(task, sample, metric, finite_number(value), replier=replier)

    @property
    def sample_id(self) -> str:
        """The row."""
        return self.sample.sample_id

    @property
    def doc_id(self) -> int:
        """Its position in the split."""
        return self.sample.doc_id

    @property
    def subtask(self) -> str:
        """Its subtask; empty without one."""
        name = self.sample.doc.get("subtask_name")
        return "" if name is None else str(name)

    @property
    def prompt(self) -> str:
        """The first prompt as sent; a chat as JSON."""
        return self.sample.prompt

    @cached_property
    def messages(self) -> list[ChatMessage]:
        """The prompt as turns; one that is no chat is a single turn of the user."""
        return messages_of(self.prompt) or [ChatMessage("user", self.prompt)]

    @property
    def question(self) -> str:
        """The question alone, where the row holds it; else the last turn of the prompt."""
        return question_text(self.sample.doc) or self.messages[-1].text

    @property
    def choices(self) -> tuple[str, ...]:
        """The options of a choice question; empty for others."""
        return tuple(choice_texts(self.sample.doc) or self.options)

    @property
    def gold(self) -> str:
        """The gold answer; where the target is the index of a choice, that choice."""
        return self.sample.gold

    @property
    def references(self) -> tuple[str, ...]:
        """The gold answers; none where it is empty."""
        return (self.gold,) if self.gold else ()

    @property
    def published(self) -> bool | None:
        """The published verdict; None without one."""
        verdict = verdict_of(self.sample.doc.get("previously_is_correct"))
        return bool(verdict) if verdict >= 0 else None

    @property
    def hashes(self) -> dict[str, str]:
        """The digests that are known, by lm-eval's names."""
        return {name: digest for name, digest in self.sample.hashes.named().items() if digest}

    @cached_property
    def options(self) -> dict[str, float]:
        """Option -> log-likelihood of a sample that compares options; empty for any other."""
        return option_likelihoods(self.sample)

    @cached_property
    def reading(self) -> Reading:
        """What the scorer read from the reply."""
        sample = self.sample
        doc = sample.doc if logs_instructions(sample.metrics) else {}
        reading = read(doc, sample.target, sample.response, sample.filtered, sample.metrics)
        return reading._replace(answer=None) if reading.answer == INVALID else reading

    @property
    def reply(self) -> str | None:
        """The reply; of a task of likelihoods each option with its value; None where not logged."""
        if not has_reply(self.sample):
            return None
        lines = [f"{value:9.3f}  {text}" for text, value in self.options.items()]
        return "\n".join(lines) or text_of(self.sample)

    @property
    def reply_cell(self) -> str:
        """The reply as a cell of a table: options with their values on one line."""
        shown = "; ".join(f"{text} ({value:.3f})" for text, value in self.options.items())
        return shown or text_of(self.sample)

    @property
    def replies(self) -> tuple[str, ...]:
        """The replies; of a sample that compares options the option that was chosen."""
        if self.options:
            return (self.chosen,)
        return tuple(self.sample.replies or [text_of(self.sample)])

    @property
    def chosen(self) -> str:
        """The option that was chosen; empty of a sample that compares none."""
        return chosen_option(self.options, self.read_by.metric) if self.options else ""

    @property
    def answer(self) -> str | None:
        """The answer that was read; None where none was, or the whole reply was scored."""
        return self.chosen if self.options else self.reading.answer

    @property
    def filtered(self) -> str:
        """What the filter made of the reply; the option that was chosen."""
        return self.chosen if self.options else self.sample.answer

    @property
    def unread(self) -> bool:
        """True where the file tells that no answer could be read from the reply."""
        return extraction_failed(self.sample)

    @property
    def metric(self) -> str:
        """The metric that is read, and its filter."""
        return self.read_by.name

    @property
    def reason(self) -> str:
        """Why the score is what it is, as far as the files tell."""
        return self.cause or _reason(self)

    def to_dict(self) -> dict[str, Any]:
        """What people read of it, as plain data."""
        return {name: getattr(self, name) for name in _SHOWN}


_SHOWN = (
    *("task", "sample_id", "doc_id", "prompt", "reply", "answer", "gold", "metric", "score"),
    *("reason", "published", "baseline_score", "baseline_reply", "unread"),
)


def sample_views(
    run: Run, names: list[str] | None = None, which: Which = "all"
) -> Iterator[SampleView]:
    """Yields the samples of a kind, task by task, in the order of the file.

    Raises:
        BadInput: an unknown kind or task; or no task tells which samples are of the kind.
    """
    return views_at(run, choose_rows(run, names, which))


def choose_rows(run: Run, names: list[str] | None = None, which: Which = "all") -> dict[str, Ints]:
    """Returns task -> rows of its table that are of a kind, without tasks that do not tell.

    Raises:
        BadInput: an unknown kind or task; or no task tells which samples are of the kind.
    """
    kinds = get_args(Which)
    if which not in kinds:
        what = f"no kind of samples is called {which!r}"
        raise BadInput(Problem(what=what, allowed=", ".join(kinds), fix=near(which, kinds)))
    tasks = run.select(names)
    rows = {name: rows_of_kind(task, which) for name, task in tasks.items()}
    known = {name: places for name, places in rows.items() if places is not None}
    if tasks and not known:
        raise _not_known(which, list(tasks))
    return known


def views_at(run: Run, rows: Mapping[str, Ints]) -> Iterator[SampleView]:
    """Yields the samples at some rows of tasks."""
    replier = Replier.of(run)
    for name, places in rows.items():
        task = run.task(name)
        for sample in task.table().read(places.tolist()):
            yield SampleView.of(name, sample, task.primary, replier)


def rows_of_kind(task: TaskRun, which: Which) -> Ints | None:
    """Returns the rows of a task's table that are of a kind; None where that is not known."""
    table = task.table()
    if which == "all":
        return np.arange(len(table), dtype=np.int64)
    if which == "unread":
        return np.flatnonzero(table.unparsed == 1) if knows_parsing(table) else None
    metric = task.primary
    if metric.range is None or metric.direction == "unknown":
        return None
    low, high = metric.range
    values = task.values(metric)
    is_wrong = values < high if metric.direction == "up" else values > low
    return np.flatnonzero(is_wrong | table.scoring_failed)


def _not_known(which: Which, names: list[str]) -> BadInput:
    reasons = {
        "wrong": "no metric of these tasks has a best value, so no sample is right or wrong",
        "unread": "these tasks do not log which replies could not be read",
    }
    return BadInput(
        Problem(what=reasons[which], where=", ".join(names), fix="show all samples instead")
    )


def chosen_option(options: Mapping[str, float], metric: str) -> str:
    """Returns the option with the greatest log-likelihood, by length where the metric is by it.

    >>> chosen_option({"yes": -2.0, "certainly": -3.0}, "acc")
    'yes'
    >>> chosen_option({"yes": -2.0, "certainly": -3.0}, "acc_norm")
    'certainly'
    """
    lengths = {text: max(len(text), 1) if metric == BY_LENGTH else 1 for text in options}
    return max(options, key=lambda text: options[text] / lengths[text])


def option_likelihoods(sample: Sample) -> dict[str, float]:
    """Returns option -> log-likelihood of a sample that compares options; empty for any other."""
    texts = [request[1] for request in sample.requests if len(request) > 1]
    values = [_likelihood(request) for request in sample.resps]
    if len(texts) < 2 or len(texts) != len(values):
        return {}
    options: dict[str, float] = {}
    for text, value in zip(texts, values, strict=True):
        if isinstance(text, str) and value is not None:
            options[text.strip()] = value
    return options if len(options) == len(texts) else {}


def _likelihood(request: Any) -> float | None:
    """The number in `[[-3.2, false]]` or `[-3.2, false]`; older files write it as a text."""
    while isinstance(request, list) and request:
        request = request[0]
    try:
        return float(request)
    except (TypeError, ValueError):
        return None


def _reason(view: SampleView) -> str:
    """The first reason that the files give; empty where the score needs none."""
    metric, score = view.read_by, view.score
    if view.reading.why:
        return view.reading.why
    if view.reading.failed:
        return f"not met: {', '.join(view.reading.failed)}"
    if score is None:
        return f"the row has no number for {metric.name}" if metric.metric else ""
    if metric.range is None or metric.direction != "up" or score >= max(metric.range):
        return ""
    return _reason_of_answer(view)


def _reason_of_answer(view: SampleView) -> str:
    """Returns why a reply is not right."""
    if view.replier.cut(view.sample):
        return _REASON_CUT
    if view.unread:
        return _REASON_UNREAD
    return _REASON_MORE if _holds_more(view.sample, view.read_by) else _REASON_OTHER


def _holds_more(sample: Sample, metric: Metric) -> bool:
    """Returns whether a whole reply was compared that holds the gold answer among other words."""
    reply = text_of(sample).strip()
    if metric.metric != "exact_match" or not sample.gold.strip():
        return False
    if not isinstance(sample.filtered, str) or sample.filtered.strip() != reply:
        return False
    gold = re.escape(sample.gold.strip())
    return re.search(rf"\w\W+{gold}(?!\w)|(?<!\w){gold}\W+\w", reply, re.IGNORECASE) is not None
