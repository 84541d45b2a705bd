"""Samples as people read them: prompt, reply, answer that was read, gold answer, score, reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from custom_metrics.finite import finite_number
from custom_metrics.harness.reading import Reading, logs_instructions, read
from evalprep.errors import BadInput, Problem, near
from evalprep.results.metric import Metric
from evalprep.results.reply import Replier, extraction_failed, has_reply, knows_parsing, text_of
from evalprep.results.sample import INVALID, Sample, number_of, verdict_of
from evalprep.results.table import Ints
from evalprep.results.task import TaskRun

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


@dataclass(frozen=True)
class SampleView:
    """One sample, ready to be read.

    Attributes:
        task, sample_id, doc_id: The row.
        prompt: The first prompt as sent; a chat as JSON.
        reply: The reply; of a likelihood task the log-likelihood of each option; None where none
            was logged.
        answer: The extracted answer; None where none was read or the whole reply was scored.
        gold: The gold answer.
        metric: Name of the metric that is read.
        score: Its value; None where the row has none.
        reason: Why the score is what it is, as far as the files tell.
        published: The published verdict; None without one.
        baseline_score: The baseline's score, for a lost sample; None otherwise.
        baseline_reply: The baseline's reply, likewise.
        unread: Whether the file tells that no answer could be read from the reply.
    """

    task: str
    sample_id: str
    doc_id: int
    prompt: str
    reply: str | None
    answer: str | None
    gold: str
    metric: str
    score: float | None
    reason: str
    published: bool | None = None
    baseline_score: float | None = None
    baseline_reply: str | None = None
    unread: bool = False


def reading_of(sample: Sample) -> Reading:
    """Returns what the scorer read from a sample's reply."""
    metrics = sample.metrics
    doc = sample.doc if logs_instructions(metrics) else {}
    reading = read(doc, sample.target, sample.response, sample.filtered, metrics)
    if reading.answer != INVALID:
        return reading
    return Reading(None, reading.method, reading.why, reading.parts)


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
            yield view_of(name, sample, task.primary, replier)


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


def view_of(name: str, sample: Sample, metric: Metric, replier: Replier) -> SampleView:
    """Returns one sample of a task as people read it."""
    reading = reading_of(sample)
    score = _score(sample, metric)
    options = option_likelihoods(sample)
    answer = chosen_option(options, metric.metric) if options else reading.answer
    verdict = verdict_of(sample.doc.get("previously_is_correct"))
    return SampleView(
        task=name,
        sample_id=sample.sample_id,
        doc_id=sample.doc_id,
        prompt=sample.prompt,
        reply=readable_reply(sample) if has_reply(sample) else None,
        answer=answer,
        gold=sample.gold,
        metric=metric.name,
        score=score,
        reason=_reason(sample, reading, metric, score, replier),
        published=bool(verdict) if verdict >= 0 else None,
        unread=extraction_failed(sample),
    )


def readable_reply(sample: Sample) -> str:
    """The reply as people read it: of a sample that compares options these, each with its value."""
    options = option_likelihoods(sample)
    return _shown_likelihoods(options) if options else text_of(sample)


def reply_of_cell(sample: Sample) -> str:
    """The reply as a cell of a table; of a sample that compares options each with its value."""
    options = option_likelihoods(sample)
    shown = (f"{text} ({value:.3f})" for text, value in options.items())
    return "; ".join(shown) if options else text_of(sample)


def chosen_option(options: Mapping[str, float], metric: str) -> str:
    """Returns the option with the greatest log-likelihood, by length where the metric is by it.

    >>> chosen_option({"yes": -2.0, "certainly": -3.0}, "acc")
    'yes'
    >>> chosen_option({"yes": -2.0, "certainly": -3.0}, "acc_norm")
    'certainly'
    """
    lengths = {text: max(len(text), 1) if metric == BY_LENGTH else 1 for text in options}
    return max(options, key=lambda text: options[text] / lengths[text])


def _score(sample: Sample, metric: Metric) -> float | None:
    value, _ = number_of(sample.metrics.get(metric.metric), metric.metric)
    return finite_number(value)


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


def _shown_likelihoods(options: dict[str, float]) -> str:
    return "\n".join(f"{value:9.3f}  {text}" for text, value in options.items())


def _reason(
    sample: Sample, reading: Reading, metric: Metric, score: float | None, replier: Replier
) -> str:
    """The first reason that the files give; empty where the score needs none."""
    if reading.why:
        return reading.why
    if reading.failed:
        return f"not met: {', '.join(reading.failed)}"
    if score is None:
        return f"the row has no number for {metric.name}" if metric.metric else ""
    if metric.range is None or metric.direction != "up" or score >= max(metric.range):
        return ""
    return _REASON_CUT if replier.cut(sample) else _reason_of_answer(sample, metric)


def _reason_of_answer(sample: Sample, metric: Metric) -> str:
    """Returns why a complete reply is not right."""
    if extraction_failed(sample):
        return _REASON_UNREAD
    return _REASON_MORE if _holds_more(sample, metric) else _REASON_OTHER


def _holds_more(sample: Sample, metric: Metric) -> bool:
    """Returns whether a whole reply was compared that holds the gold answer among other words."""
    reply = text_of(sample).strip()
    if metric.metric != "exact_match" or not sample.gold.strip():
        return False
    if not isinstance(sample.filtered, str) or sample.filtered.strip() != reply:
        return False
    gold = re.escape(sample.gold.strip())
    return re.search(rf"\w\W+{gold}(?!\w)|(?<!\w){gold}\W+\w", reply, re.IGNORECASE) is not None
