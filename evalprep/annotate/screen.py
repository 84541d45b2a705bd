"""Judgements, and questions that would be asked, as text for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from evalprep.annotate.answers import Question
from evalprep.annotate.collection import Asked
from evalprep.annotate.prices import Price, output_at_most, tokens_about
from evalprep.annotate.providers.wire import Wire
from evalprep.annotate.tallies import TaskTally
from evalprep.terminal import raw, visible

if TYPE_CHECKING:
    from evalprep.annotate.asking import Sum  # with all that sends requests

_SHOWN = 3  # reasons per task that are written out
UNKNOWN_PRICE = "unknown: no price of this model is given (--prices FILE)"


def plan(
    question_set: Asked,
    waiting: Sequence[Question],
    wire: Wire,
    price: Price | None,
    *,
    batch: bool = False,
) -> dict[str, Any]:
    """Calls, characters, tokens and money, per task and in all.

    The first prompt that would be sent is shown, too.
    """
    # Questions with a text, each text once: what is called.
    by_key: dict[str, Question] = {}
    for question in waiting:
        if question.key is not None:
            by_key[question.key] = question
    calls = list(by_key.values())
    by_task = {}
    sampling = {}
    for name, questions in question_set.of_task.items():
        by_task[name] = _planned_task(name, questions, calls)
        question = questions[0]
        parameters = question.who.parameters(question.annotator)
        sampling[name] = dict(parameters)
    tokens_in = sum(tokens_about(question.messages) for question in calls)
    tokens_out = _output_at_most(calls, wire)
    cost = None
    if price is not None and tokens_out is not None:
        cost = price.of(tokens_in, tokens_out, batch=batch)
    return {
        "calls": len(calls),
        "calls_after_these": sum(
            question.key is None and question.item.fixed is None for question in question_set.every
        ),
        "characters": sum(task["characters"] for task in by_task.values()),
        "tokens_in_about": tokens_in,
        "tokens_out_at_most": tokens_out,
        "cost_about": cost,
        "currency": price.currency if price else None,
        "tasks": by_task,
        "sampling": sampling,
        "json_schema": question_set.json_schema,
        "first_prompt": calls[0].messages[-1]["content"] if calls else None,
    }


def _planned_task(
    task: str, questions: Sequence[Question], calls: Sequence[Question]
) -> dict[str, int]:
    """Questions of a task, and which of all calls are about it."""
    calls = [question for question in calls if question.task == task]
    return {
        "questions": sum(not question.item.step for question in questions),
        "calls": len(calls),
        "characters": sum(
            sum(len(message["content"]) for message in question.messages) for question in calls
        ),
        "without_call": sum(question.item.fixed is not None for question in questions),
    }


def _output_at_most(calls: Sequence[Question], wire: Wire) -> int | None:
    """Tokens that all replies together have at most; None where a reply has no limit."""
    tokens = 0
    for question in calls:
        sampling = question.who.sampling(question.annotator)
        limit = output_at_most(wire, sampling)
        if limit is None:
            return None
        tokens += limit
    return tokens


def show_plan(planned: Mapping[str, Any], retries: int, price: Price | None) -> None:
    """Prints what would be asked."""
    for name, task in planned["tasks"].items():
        sampling = planned["sampling"].get(name)
        questions, calls = task["questions"], task["calls"]
        without_call = task["without_call"]
        kept = questions - calls - without_call
        parts = [f"{calls} calls", f"{task['characters']:,} characters"]
        if without_call:
            parts.append(f"{without_call} need no call")
        if kept > 0:
            parts.append(f"{kept} known or repeated")
        print(f"{name}: {questions} questions; {', '.join(parts)}")
        if sampling:
            settings = [f"{key}={value}" for key, value in sampling.items()]
            print(f"  sampling: {', '.join(settings)}")
    json_schema = planned["json_schema"]
    if json_schema not in {"sent", "none"}:
        print(f"asked without the JSON schema of the rubric: {json_schema}")
    elif json_schema == "sent":
        print("replies are held to the rubric's JSON schema, where the service can")
    size = f"{planned['calls']} calls, {planned['characters']:,} characters of prompts"
    most = f"at most {retries + 1} times that where calls fail or replies cannot be read"
    print(f"in all {size}; {most}")
    further_calls = planned["calls_after_these"]
    if further_calls:
        print(f"{further_calls} further calls follow the replies to these")
    print(_tokens_line(planned))
    cost = money(planned["cost_about"], price)
    print(f"cost: {cost}")
    first_prompt = planned["first_prompt"]
    if first_prompt is not None:
        print(f"\nfirst prompt:\n{first_prompt}")


def _tokens_line(planned: Mapping[str, Any]) -> str:
    """The tokens of all prompts, and those that all replies have at most."""
    tokens_in, tokens_out = planned["tokens_in_about"], planned["tokens_out_at_most"]
    sent = f"tokens: about {tokens_in:,} in (a quarter of the characters)"
    if tokens_out is None:
        return f"{sent}, out unknown: no max_tokens is set"
    return f"{sent}, at most {tokens_out:,} out"


def money(cost: float | None, price: Price | None) -> str:
    """A sum, or why it is unknown."""
    if price is None:
        return UNKNOWN_PRICE
    if cost is None:
        return "unknown: no max_tokens is set"
    return f"{cost:.4g} {price.currency}"


def show(tallies: Sequence[TaskTally]) -> None:
    """Prints how much was rated, and why the rest was not."""
    for tally in tallies:
        fixed = f" ({tally.n_fixed} without a call)" if tally.n_fixed else ""
        parts = [f"{tally.task}: {tally.n_ok} of {tally.n_total} rated{fixed}"]
        parts += [f"{count} {status}" for status, count in tally.reasons.items()]
        print("; ".join(parts))
        if tally.means:
            means = [f"{name} {value:.4g}" for name, value in tally.means.items()]
            print(f"  means: {', '.join(means)}")
        if "truncated" in tally.reasons:
            print("  replies were cut: --gen_kwargs max_tokens=N allows longer ones")
        for reason, count in islice(tally.details.items(), _SHOWN):
            print(f"  {count} times: {reason}")


def show_sum(summed: Sum, price: Price | None) -> str:
    """Requests, tokens and money of one call, as a line."""
    parts = [f"{summed.requests} requests"]
    if summed.tokens_in:
        parts.append(f"{summed.tokens_in:,} tokens in and {summed.tokens_out:,} out as billed")
    if price is not None and summed.requests:
        cost = f"{summed.cost:.4g} {price.currency}"
        if summed.unpriced:
            cost += f" and {summed.unpriced} answers of unknown cost"
        parts.append(cost)
    return ", ".join(parts)


def show_computing(name: str, task: str, done: int, total: int) -> None:
    """Shows how far an annotator is, on standard error where that is a terminal.

    The line stays once it is done.
    """
    if sys.stderr.isatty():
        state = visible(f"{name} on {task}: {done}/{total}")
        ending = "\n" if done == total else ""
        _overwrite(state, ending)


def _overwrite(line: str, ending: str = "") -> None:
    """Prints a line over the last one of the terminal."""
    print(f"\r{line}", end=ending, file=raw(sys.stderr), flush=True)


class Progress:
    """A counter on standard error, where that is a terminal."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.rated = 0
        self._visible = sys.stderr.isatty()

    def step(self, *, rated: bool) -> None:
        """Counts one outcome."""
        self.done += 1
        self.rated += rated
        if self._visible:
            _overwrite(f"{self.done}/{self.total} answered, {self.rated} rated")

    def end(self) -> None:
        """Leaves the line."""
        if self._visible and self.done:
            print(file=sys.stderr)
