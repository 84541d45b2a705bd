"""Time, requests and tokens of a run: task by task where the run recorded them, else call by call.

`evalprep run` records the time of each task. lm-eval measures a call as a whole, with loading the
model and the tasks; such a time is that of the call, and never divided among its tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from evalprep.readers import RunResults
from evalprep.results.runstate import Unit, recorded_states


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """The effort of a task or run; None is unknown.

    Attributes:
        seconds: Time. Parts that ran at the same time count each.
        requests: Requests that the model answered.
        prompt_tokens: Tokens that were sent.
        reply_tokens: Tokens that came back.
    """

    seconds: float | None = None
    requests: int | None = None
    prompt_tokens: int | None = None
    reply_tokens: int | None = None

    @property
    def is_known(self) -> bool:
        """Returns whether anything is known."""
        return self != Effort()


class CallEffort(msgspec.Struct, frozen=True):
    """A call of lm-eval that was measured as a whole: its tasks, and what they took together."""

    tasks: tuple[str, ...]
    effort: Effort


class Efforts(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run tells of time and tokens.

    Attributes:
        tasks: Task -> what it took without loading the model; tasks of which nothing is known are
            absent.
        calls: Calls that were measured as a whole.
    """

    tasks: Mapping[str, Effort] = msgspec.field(default_factory=dict)
    calls: tuple[CallEffort, ...] = ()

    def with_others(self, others: Efforts) -> Efforts:
        """Returns these together with those of another call."""
        return Efforts(tasks={**self.tasks, **others.tasks}, calls=self.calls + others.calls)

    def of_tasks(self, names: Iterable[str]) -> Efforts:
        """Returns what is known of some tasks; a call counts where all of its tasks do."""
        chosen = set(names)
        tasks = {name: effort for name, effort in self.tasks.items() if name in chosen}
        return Efforts(
            tasks=tasks, calls=tuple(call for call in self.calls if chosen.issuperset(call.tasks))
        )


def total(efforts: Iterable[Effort]) -> Effort:
    """Returns the sum; a part of it is unknown where it is unknown of any, or of nothing.

    >>> total([Effort(seconds=1.0, requests=2), Effort(seconds=2.5)]).seconds
    3.5
    """
    parts = list(efforts)
    sums = {}
    for name in Effort.__struct_fields__:
        values = [getattr(effort, name) for effort in parts]
        sums[name] = sum(values) if values and None not in values else None
    return Effort(**sums)


def whole_call(results: RunResults) -> CallEffort:
    """Returns what lm-eval measured of a call.

    Unknown where its replies came from files: that time is not the model's.
    """
    settings = results.settings
    seconds = None if settings.stored_replies else settings.seconds
    return CallEffort(tuple(results.tasks), Effort(seconds=seconds))


def efforts_of(file: Path, results: RunResults) -> Efforts:
    """Returns what a call took; nothing where its replies came from files or an earlier run.

    Args:
        file: Its results file.
        results: The content of that file.
    """
    if results.rescored is not None or results.settings.stored_replies:
        return Efforts()
    recorded = _recorded_efforts(file)
    if recorded is not None:
        return Efforts(tasks={name: effort for name, effort in recorded.items() if effort.is_known})
    call = whole_call(results)
    return Efforts(calls=(call,) if call.effort.is_known else ())


def _recorded_efforts(results: Path) -> dict[str, Effort] | None:
    """Task -> what it took, as `evalprep run` recorded it; None for results of another start."""
    file = results.absolute()
    for state in recorded_states(file.parent.parent):
        if Path(state.results).parts[-2:] != file.parts[-2:]:
            continue
        efforts: dict[str, list[Effort]] = {}
        for unit in state.units:
            effort = effort_of_unit(unit) if unit.is_done else Effort()
            efforts.setdefault(unit.task, []).append(effort)
        return {task: total(several) for task, several in efforts.items()}
    return None


def effort_of_unit(unit: Unit) -> Effort:
    """Returns what a unit took, as far as that is known."""
    return Effort(seconds=unit.seconds, requests=unit.requests)
