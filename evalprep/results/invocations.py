"""The calls of lm-eval in a place, and which of them are one run.

lm-eval writes what stands after `--metadata` into the metadata of every task, so that a results
file says which run, command and try it is of.

| results files | what is one run |
|---|---|
| with a run id | all commands of the id, of each the newest try, whole |
| without one | from the newest file back, files of one answerer with other tasks |

Dates are those that the files state, else those of their names, never those of the file system.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from evalprep.errors import BadInput, Problem
from evalprep.readers import CallSettings, read_head
from evalprep.results.identity import AnsweredBy, Failure, answered_by
from evalprep.terminal import shortlist

_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2})(?:\.(\d+))?")
_LAST_DATE = 4e9  # seconds; what is beyond is no time of a run
#: What `evalprep run` adds to the name of a command whose tasks it scores by themselves.
_ALONE = "-alone"
_NAMED = 4  # files or tasks that a sentence names


class Invocation(msgspec.Struct, frozen=True):
    """One call of lm-eval as its files show it.

    Attributes:
        stamp: Time stamp in the names of its files.
        results: Its results file, or where that would lie beside its samples.
        run: Id of its run, empty without one.
        command: Name of the command, empty without one.
        attempt: Number of the try as the file states it; None where it states none.
        samples: Task -> samples file.
        tasks: Every task that the results file lists or that has samples.
        rows: Task -> rows that were scored, where the results file says so.
        answerer: Who answered; None where no file says it.
        settings: The settings of the call.
        is_written: Whether the results file is there.
    """

    stamp: str
    results: Path
    run: str = ""
    command: str = ""
    attempt: int | None = None
    samples: Mapping[str, Path] = msgspec.field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    rows: Mapping[str, int] = msgspec.field(default_factory=dict)
    answerer: AnsweredBy | None = None
    settings: CallSettings = msgspec.field(default_factory=CallSettings)
    is_written: bool = True

    @property
    def moment(self) -> tuple[float, str] | None:
        """When it ran: the file's own date, else the stamp of its name; None without both."""
        names = (self.results.name, *(path.name for path in self.samples.values()))
        stamp = self.stamp if any(self.stamp in name for name in names) else ""
        started = self.settings.started
        if started is not None and 0 < started < _LAST_DATE:
            return started, stamp
        seconds = _seconds_of(stamp)
        return None if seconds is None else (seconds, stamp)

    @property
    def name(self) -> str:
        """The name of its results file, or of one of its samples files."""
        files = [self.results] if self.is_written else list(self.samples.values())
        return files[0].name if files else self.results.name

    @property
    def base_command(self) -> str:
        """The name of the command whose tasks it holds, also where they were scored alone."""
        return self.command.removesuffix(_ALONE)


def _seconds_of(stamp: str) -> float | None:
    """The time of a stamp in seconds since 1970, as if it were UTC; None for another text."""
    match = _STAMP.fullmatch(stamp)
    if match is None:
        return None
    day, _, time = match[1].partition("T")
    try:
        moment = datetime.fromisoformat(f"{day}T{time.replace('-', ':')}+00:00")
    except ValueError:
        return None
    return moment.timestamp() + float(f"0.{match[2] or 0}")


def invocation_of(
    stamp: str, results: Path, samples: Mapping[str, Path], *, is_written: bool = True
) -> Invocation:
    """Returns the call of a results file, with its run and command; a damaged file is of none."""
    head = read_head(results)
    return Invocation(
        stamp=stamp,
        results=results,
        run=head.run,
        command=head.command,
        attempt=head.attempt,
        samples=samples,
        tasks=tuple(dict.fromkeys((*head.tasks, *samples))),
        rows=head.rows,
        answerer=answered_by(head.settings),
        settings=head.settings,
        is_written=is_written,
    )


class Choice(msgspec.Struct, frozen=True):
    """The calls of one run among those of a place.

    Attributes:
        calls: Those that it consists of, oldest first.
        by_task: Task -> the call that its values are from.
        older: Older tries, passed over: each of their tasks is there already.
        left: The call that ends the run, as it has some of its tasks and others, and those before.
        tries: Command -> number of the try that counts, for runs with an id.
    """

    calls: tuple[Invocation, ...] = ()
    by_task: Mapping[str, Invocation] = msgspec.field(default_factory=dict)
    older: tuple[Invocation, ...] = ()
    left: tuple[Invocation, ...] = ()
    tries: Mapping[str, int] = msgspec.field(default_factory=dict)

    @property
    def unread(self) -> dict[str, Invocation]:
        """Task -> the newest call with it, of the tasks that only calls left out have."""
        unread: dict[str, Invocation] = {}
        for call in oldest_first(self.left):
            unread |= dict.fromkeys(call.tasks, call)
        return {task: call for task, call in unread.items() if task not in self.by_task}


def oldest_first(calls: Iterable[Invocation]) -> list[Invocation]:
    """Returns calls in order of their dates; those without a date stand last."""
    return sorted(calls, key=_age)


def _age(call: Invocation) -> tuple[float, str, str]:
    seconds, stamp = call.moment or (math.inf, "")
    return seconds, stamp, str(call.results)


def newest_with_tasks(calls: Sequence[Invocation]) -> Invocation:
    """Returns the newest of some calls, one that lists tasks where there is any.

    A save that broke off leaves a file without them.
    """
    with_tasks = [call for call in calls if call.tasks]
    return max(with_tasks or calls, key=lambda call: _age(call)[:2])


def joined(calls: Iterable[Invocation]) -> Choice:
    """Returns the run that the newest of some calls of one answerer belongs to.

    From the newest back, calls join whose tasks are not there yet; one all of whose tasks are there
    is an older try and is passed over, one with some of them ends the run.

    Raises:
        BadInput: nothing tells which of two calls of a task is the newer one.
    """
    by_task: dict[str, Invocation] = {}
    used: list[Invocation] = []
    older: list[Invocation] = []
    left: list[Invocation] = []
    for call in reversed(oldest_first(call for call in calls if call.tasks)):
        own = set(call.tasks)
        shared = own & by_task.keys()
        for task in sorted(shared):
            _refuse_equal_age(task, by_task[task], call)
        if left:
            left.append(call)
        elif not shared:
            used.append(call)
            by_task |= dict.fromkeys(call.tasks, call)
        elif own <= by_task.keys():
            older.append(call)
        else:
            left.append(call)
    return Choice(tuple(reversed(used)), by_task, tuple(reversed(older)), tuple(reversed(left)))


def refuse_undecided(calls: Sequence[Invocation]) -> None:
    """Refuses calls of one answerer that hold one task and of which none is known as the newer.

    Raises:
        BadInput: with both files.
    """
    for answerer in {call.answerer for call in calls} - {None}:
        joined(call for call in calls if call.answerer == answerer)


def each_newest(calls: Iterable[Invocation]) -> Choice:
    """Returns the newest call of each task, whatever it was asked together with.

    Raises:
        BadInput: nothing tells which of two calls of a task is the newest one.
    """
    by_task: dict[str, Invocation] = {}
    in_order = oldest_first(calls)
    for call in in_order:
        for task in call.tasks:
            if task in by_task:
                _refuse_equal_age(task, call, by_task[task])
        by_task |= dict.fromkeys(call.tasks, call)
    return Choice(tuple(_counted(in_order, by_task)), by_task)


def _counted(calls: Iterable[Invocation], by_task: Mapping[str, Invocation]) -> list[Invocation]:
    """Those of some calls that a task is read from."""
    counted = {id(call) for call in by_task.values()}
    return [call for call in calls if id(call) in counted]


def _refuse_equal_age(task: str, newer: Invocation, older: Invocation) -> None:
    """Refuses two calls of one task whose order no date decides.

    Raises:
        BadInput: one has no date, or both have the same.
    """
    if newer.moment is not None and older.moment is not None and newer.moment != older.moment:
        return
    files = sorted((str(newer.results), str(older.results)))
    raise BadInput(
        Problem(
            what=f"two files hold {task}, and neither a date in them nor their names tell which "
            f"is newer: {' and '.join(files)}",
            where=str(newer.results.parent),
            fix=f"name the file that counts, e.g. {files[0]}",
        )
    )


class _NumberedTry(msgspec.Struct, frozen=True):
    """A try of one command by `evalprep run`: all that it wrote from a start to a restart.

    Attributes:
        number: Its number, from 1.
        calls: Its calls, the oldest first.
        failed: Task -> why it failed in this try.
    """

    number: int
    calls: Sequence[Invocation]
    failed: Mapping[str, Failure]

    @property
    def began(self) -> float:
        """When its first call or its first failure was, in seconds since the epoch."""
        failed = (failure.seconds for failure in self.failed.values())
        return min([*map(_seconds, self.calls), *failed])

    def added_to(self, by_task: Mapping[str, Invocation]) -> dict[str, Invocation]:
        """Returns the call of each task: a later one replaces an earlier one, a failure ends it."""
        added = dict(by_task)
        for call in self.calls:
            added |= dict.fromkeys(call.tasks, call)
        for task, failure in self.failed.items():
            if task in added and _seconds(added[task]) < failure.seconds:
                del added[task]
        return added


def _newest_numbered_try(
    calls: Iterable[Invocation], failures: Mapping[str, Failure]
) -> _NumberedTry | None:
    """The newest try that has a number; None where neither a call nor a failure states one."""
    numbered = [call for call in calls if call.attempt]
    numbers = [call.attempt or 0 for call in numbered]
    numbers += [failure.attempt or 0 for failure in failures.values()]
    newest = max(numbers, default=0)
    if not newest:
        return None
    of_newest = [call for call in numbered if call.attempt == newest]
    failed = {task: failure for task, failure in failures.items() if failure.attempt == newest}
    return _NumberedTry(newest, oldest_first(of_newest), failed)


def of_command(calls: Sequence[Invocation], failures: Mapping[str, Failure]) -> tuple[Choice, int]:
    """Returns the newest try of one command of a run, and its number.

    A file of lm-eval itself states no try; each is one, and files with other tasks complete each
    other. `evalprep run` numbers its tries: all that it writes from a start to a restart is one,
    also where it completes what pasted commands have written.

    Args:
        calls: The calls of the command.
        failures: Task -> why it failed, of its tasks.
    """
    pasted = [call for call in calls if call.attempt is None]
    newest = _newest_numbered_try(calls, failures)
    if newest is None:
        return joined(pasted), max(len(pasted), 1)
    pasted_before = [call for call in pasted if _seconds(call) < newest.began]
    pasted_after = [call for call in pasted if _seconds(call) >= newest.began]
    # Each pasted command was a try: a number beyond their count is that of a restart.
    is_restart = newest.number > len(pasted_before)
    before = Choice(older=tuple(pasted_before)) if is_restart else joined(pasted_before)
    by_task = newest.added_to(before.by_task)
    used = _counted([*before.calls, *newest.calls], by_task)
    earlier = [call for call in calls if call.attempt not in {None, newest.number}]
    older = oldest_first([*before.older, *before.left, *earlier])
    whole = Choice(tuple(used), by_task, tuple(older))
    return _with_later(whole, pasted_after), newest.number + len(pasted_after)


def _with_later(whole: Choice, calls: Sequence[Invocation]) -> Choice:
    """A try of `evalprep run`, completed or replaced by files that lm-eval wrote after it."""
    if not calls:
        return whole
    later = joined(calls)
    shared = later.by_task.keys() & whole.by_task.keys()
    if not shared:
        return Choice(
            (*whole.calls, *later.calls),
            {**whole.by_task, **later.by_task},
            (*whole.older, *later.older),
            later.left,
        )
    if whole.by_task.keys() <= later.by_task.keys():
        return Choice(later.calls, later.by_task, (*whole.older, *whole.calls), later.left)
    return Choice(later.calls, later.by_task, whole.older, (*whole.calls, *later.left))


def _seconds(call: Invocation) -> float:
    return call.moment[0] if call.moment is not None else -math.inf


def of_run(calls: Iterable[Invocation], failures: Mapping[str, Failure]) -> Choice:
    """Returns what counts of the calls of one run id: of each command the newest try.

    Args:
        calls: Its calls.
        failures: Task -> why it failed.
    """
    by_command: dict[str, list[Invocation]] = {}
    for call in calls:
        by_command.setdefault(call.base_command, []).append(call)
    failures_of: dict[str, dict[str, Failure]] = {name: {} for name in by_command}
    for task, failure in failures.items():
        if failure.attempt is not None:
            command = failure.command.removesuffix(_ALONE)
            failures_of.setdefault(command, {})[task] = failure
    whole = Choice()
    for name in sorted(failures_of):
        own, number = of_command(by_command.get(name, []), failures_of[name])
        whole = Choice(
            (*whole.calls, *own.calls),
            _newest_of_each(whole.by_task, own.by_task),
            (*whole.older, *own.older),
            (*whole.left, *own.left),
            {**whole.tries, **({name: number} if name else {})},
        )
    in_order = oldest_first(whole.calls)
    return Choice(tuple(in_order), whole.by_task, whole.older, whole.left, whole.tries)


def _newest_of_each(
    first: Mapping[str, Invocation], second: Mapping[str, Invocation]
) -> dict[str, Invocation]:
    """The newer call of each task of two commands."""
    newest = dict(first)
    for task, call in second.items():
        if task not in newest or _age(newest[task]) <= _age(call):
            newest[task] = call
    return newest


def files_named(calls: Iterable[Invocation]) -> str:
    """Returns the files of some calls, newest first, many cut short."""
    return shortlist([call.name for call in reversed(oldest_first(calls))], _NAMED)
