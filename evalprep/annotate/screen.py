"""What a judge said, or would be asked, as text for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from evalprep.annotate.question import Asked
from evalprep.annotate.tally import TaskTally

_SHOWN = 3  # reasons per task that are written out


def plan(questions: Mapping[str, Sequence[Asked]], waiting: Sequence[Asked]) -> dict[str, Any]:
    """Calls and characters, per task and in all, and the first prompt that would be sent."""
    calls = [asked for asked in waiting if asked.question.fixed is None]
    by_task = {
        name: {
            "questions": len(asked),
            "calls": sum(one.question.task == name for one in calls),
            "characters": sum(len(one.question.prompt) for one in calls if one.question.task == name),
            "without_call": sum(one.question.fixed is not None for one in asked),
        }
        for name, asked in questions.items()
    }
    return {
        "calls": len(calls),
        "characters": sum(task["characters"] for task in by_task.values()),
        "tasks": by_task,
        "sampling": {name: dict(asked[0].sampling) for name, asked in questions.items() if asked},
        "first_prompt": calls[0].question.prompt if calls else None,
    }


def show_plan(planned: Mapping[str, Any], retries: int) -> None:
    """Print what would be asked."""
    for name, task in planned["tasks"].items():
        kept = task["questions"] - task["calls"] - task["without_call"]
        parts = [f"{task['calls']} calls", f"{task['characters']:,} characters"]
        parts += [f"{task['without_call']} need no call"] if task["without_call"] else []
        parts += [f"{kept} known or repeated"] if kept else []
        print(f"{name}: {task['questions']} questions; {', '.join(parts)}")
        if sampling := planned["sampling"].get(name):
            print(f"  sampling: {', '.join(f'{key}={value}' for key, value in sampling.items())}")
    print(
        f"in all {planned['calls']} calls, {planned['characters']:,} characters of prompts; "
        f"at most {retries + 1} times that where calls fail or replies cannot be read"
    )
    if planned["first_prompt"] is not None:
        print(f"\nfirst prompt:\n{planned['first_prompt']}")


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
            print(f"\r{self.done}/{self.total} answered, {self.rated} rated", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._visible and self.done:
            print(file=sys.stderr)
