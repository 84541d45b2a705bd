"""What a judge said, or would be asked, as text for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from evalprep.annotate.answers import Question
from evalprep.annotate.asking import Sum
from evalprep.annotate.collect import Asked
from evalprep.annotate.prices import Price, output_at_most, tokens_about
from evalprep.annotate.providers.wire import Wire
from evalprep.annotate.tally import TaskTally
from evalprep.terminal import raw, visible

_SHOWN = 3  # reasons per task that are written out
UNKNOWN_PRICE = "unknown: no price of this model is given (--prices FILE)"


def plan(
    asked: Asked, waiting: Sequence[Question], wire: Wire, price: Price | None, *, batch: bool = False
) -> dict[str, Any]:
    """Calls, characters, tokens and money, per task and in all, and the first prompt that would be sent."""
    calls = list({one.key: one for one in waiting if one.key is not None}.values())
    chained = [one for one in asked.every if one.key is None and one.item.fixed is None]
    by_task = {}
    for name, questions in asked.of_task.items():
        own = [one for one in calls if one.task == name]
        by_task[name] = {
            "questions": sum(not one.item.step for one in questions),
            "calls": len(own),
            "characters": sum(_characters(one) for one in own),
            "without_call": sum(one.item.fixed is not None for one in questions),
        }
    tokens_in = sum(tokens_about(one.messages) for one in calls)
    limits = [output_at_most(wire, one.who.sampling(one.annotator)) for one in calls]
    tokens_out = None if any(one is None for one in limits) else sum(one or 0 for one in limits)
    cost = None
    if price is not None and tokens_out is not None:
        cost = price.of(tokens_in, tokens_out, batch=batch)
    return {
        "calls": len(calls),
        "calls_after_these": len(chained),
        "characters": sum(task["characters"] for task in by_task.values()),
        "tokens_in_about": tokens_in,
        "tokens_out_at_most": tokens_out,
        "cost_about": cost,
        "currency": price.currency if price else None,
        "tasks": by_task,
        "sampling": {
            name: dict(questions[0].who.parameters(questions[0].annotator)) for name, questions in asked.of_task.items()
        },
        "json_schema": asked.plain or ("sent" if asked.has_schema else "none"),
        "first_prompt": calls[0].messages[-1]["content"] if calls else None,
    }


def _characters(question: Question) -> int:
    return sum(len(one["content"]) for one in question.messages)


def show_plan(planned: Mapping[str, Any], retries: int, price: Price | None) -> None:
    """Print what would be asked."""
    for name, task in planned["tasks"].items():
        kept = task["questions"] - task["calls"] - task["without_call"]
        parts = [f"{task['calls']} calls", f"{task['characters']:,} characters"]
        parts += [f"{task['without_call']} need no call"] if task["without_call"] else []
        parts += [f"{kept} known or repeated"] if kept > 0 else []
        print(f"{name}: {task['questions']} questions; {', '.join(parts)}")
        if sampling := planned["sampling"].get(name):
            print(f"  sampling: {', '.join(f'{key}={value}' for key, value in sampling.items())}")
    if planned["json_schema"] not in {"sent", "none"}:
        print(f"asked without the JSON schema of the rubric: {planned['json_schema']}")
    elif planned["json_schema"] == "sent":
        print("replies are held to the rubric's JSON schema, where the service can")
    print(
        f"in all {planned['calls']} calls, {planned['characters']:,} characters of prompts; "
        f"at most {retries + 1} times that where calls fail or replies cannot be read"
    )
    if planned["calls_after_these"]:
        print(f"{planned['calls_after_these']} further calls follow the replies to these")
    out = planned["tokens_out_at_most"]
    print(
        f"tokens: about {planned['tokens_in_about']:,} in (a quarter of the characters), "
        + (f"at most {out:,} out" if out is not None else "out unknown: no max_tokens is set")
    )
    print(f"cost: {money(planned['cost_about'], price)}")
    if planned["first_prompt"] is not None:
        print(f"\nfirst prompt:\n{planned['first_prompt']}")


def money(cost: float | None, price: Price | None) -> str:
    """A sum, or why it is unknown."""
    if price is None:
        return UNKNOWN_PRICE
    return f"{cost:.4g} {price.currency}" if cost is not None else "unknown: no max_tokens is set"


def show(tallies: Sequence[TaskTally]) -> None:
    """Print how much was rated, and why the rest was not."""
    for one in tallies:
        reasons = "".join(f"; {count} {status}" for status, count in one.reasons.items())
        fixed = f" ({one.n_fixed} without a call)" if one.n_fixed else ""
        print(f"{one.task}: {one.n_ok} of {one.n_total} rated{fixed}{reasons}")
        if one.means:
            print(f"  means: {', '.join(f'{name} {value:.4g}' for name, value in one.means.items())}")
        if "truncated" in one.reasons:
            print("  replies were cut: --gen_kwargs max_tokens=N allows longer ones")
        for reason, count in list(one.details.items())[:_SHOWN]:
            print(f"  {count} times: {reason}")


def show_sum(summed: Sum, price: Price | None) -> str:
    """Requests, tokens and money of one call, as a line."""
    parts = [f"{summed.requests} requests"]
    if summed.tokens_in:
        parts.append(f"{summed.tokens_in:,} tokens in and {summed.tokens_out:,} out as billed")
    if price is not None and summed.requests:
        more = f" and {summed.unpriced} answers of unknown cost" if summed.unpriced else ""
        parts.append(f"{summed.cost:.4g} {price.currency}{more}")
    return ", ".join(parts)


def show_computing(name: str, task: str, done: int, total: int) -> None:
    """How far an annotator is, on standard error where that is a terminal; the line stays once it is done."""
    if sys.stderr.isatty():
        ending = "\n" if done == total else ""
        print(f"\r{visible(f'{name} on {task}: {done}/{total}')}", end=ending, file=raw(sys.stderr), flush=True)


class Progress:
    """A counter on standard error, where that is a terminal."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.rated = total, 0, 0
        self._visible = sys.stderr.isatty()

    def step(self, *, rated: bool) -> None:
        """Count one outcome."""
        self.done += 1
        self.rated += rated
        if self._visible:
            print(f"\r{self.done}/{self.total} answered, {self.rated} rated", end="", file=raw(sys.stderr), flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._visible and self.done:
            print(file=sys.stderr)
