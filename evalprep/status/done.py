"""The commands of a preparation that are done, and the rows that the others lack.

A command is done when results of its run hold all its rows, whoever started it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.errors import BadInput, Problem, near
from evalprep.files import as_mapping
from evalprep.packs import (
    CLASS,
    Answerer,
    Command,
    Prepared,
    PreparedTask,
    asked_of_call,
    decisive_arguments,
    require_prepared,
    settings_of,
)
from evalprep.status.run_ids import runs_now, runs_that_count
from evalprep.status.tries import of_newest_try

if TYPE_CHECKING:
    from evalprep.results import Invocation, RowDigest


def is_done(work_dir: Path, name: str, run: str = "") -> bool:
    """Tell whether a command has all its results.

    Args:
        work_dir: The prepared folder.
        name: Name of the command, such as `c1-plain`.
        run: Id of the run; by default every id that counts for the command.

    Raises:
        BadInput: no prepared folder, or no such command.
    """
    prepared = require_prepared(work_dir)
    command = _command(prepared, name)
    calls = calls_of(command, prepared, run) if run else _calls_that_count(command, prepared)
    return _has_all_results(command, prepared, calls)


def left_of(work_dir: Path, name: str) -> list[str]:
    """Own tasks of a command that lack results.

    Where the whole command failed, they are repeated one by one.

    lm-eval's own tasks are left out: a call that holds some of them is taken for all of them.

    Raises:
        BadInput: no prepared folder, or no such command.
    """
    prepared = require_prepared(work_dir)
    command = _command(prepared, name)
    calls = _calls_that_count(command, prepared)
    own = [task for task in command.tasks if _is_own(task, prepared)]
    return [task for task in own if not rows_of(task, prepared, calls).all_there]


def tasks_left(work_dir: Path, name: str, tasks: Sequence[str], run: str) -> list[str]:
    """Those of some tasks of a command that lack results of a run.

    Where the command cannot be run in parts, all of them.

    Args:
        work_dir: The prepared folder.
        name: Name of the command.
        tasks: Tasks of it.
        run: Id of the run; without one nothing tells its results from others.

    Raises:
        BadInput: no prepared folder, or no such command.
    """
    prepared = require_prepared(work_dir)
    command = _command(prepared, name)
    if not run:
        return list(tasks)
    calls = calls_of(command, prepared, run)
    if _has_all_results(command, prepared, calls):
        return []
    if not all(_is_own(task, prepared) for task in tasks):
        return list(tasks)
    return [task for task in tasks if not rows_of(task, prepared, calls).all_there]


def _command(prepared: Prepared, name: str) -> Command:
    commands = {command.name: command for command in prepared.commands}
    if name not in commands:
        raise BadInput(
            Problem(
                what=f"has no command {name!r}",
                where=str(prepared.folder),
                allowed=", ".join(commands),
                fix=near(name, commands),
            )
        )
    return commands[name]


def _is_own(name: str, prepared: Prepared) -> bool:
    """Returns whether a task was prepared here and is none of lm-eval's own."""
    task = prepared.plan.tasks.get(name)
    return task is not None and not task.stock


def _has_all_results(command: Command, prepared: Prepared, calls: Sequence[Invocation]) -> bool:
    """Returns whether a command has all its results; a preparation without run ids cannot tell."""
    # How many rows and members one of lm-eval's own has is known to lm-eval alone, which writes
    # all or nothing.
    was_called = any(call.command == command.name for call in calls)
    for name in command.tasks:
        task = prepared.plan.tasks.get(name)
        is_stock = task is not None and bool(task.stock)
        has_results = was_called if is_stock else rows_of(name, prepared, calls).all_there
        if not has_results:
            return False
    return bool(calls)


@dataclass(frozen=True)
class TaskRows:
    """The progress of the results of one task.

    Attributes:
        have: Rows that the fullest of the calls has scored.
        expected: Rows that the preparation expects; None where it does not know them.
        has_data: Its data exist: rows that are made from replies may not yet.
    """

    have: int
    expected: int | None
    has_data: bool = True

    @property
    def all_there(self) -> bool:
        """Returns whether no row is missing."""
        return (
            self.has_data
            and self.have > 0
            and (self.expected is None or self.have >= self.expected)
        )


def rows_of(task: str, prepared: Prepared, calls: Iterable[Invocation]) -> TaskRows:
    """Rows of a task in some calls of a run, beside those that were prepared.

    Calls before an edit of the task are left out: it was another task.
    """
    current = (call for call in calls if not is_outdated(task, prepared, call))
    have = max((_scored_rows(task, call) for call in current), default=0)
    prepared_task = prepared.tasks.get(task)
    expected = None if prepared_task is None else prepared_task.expected
    planned = prepared.plan.tasks.get(task)
    is_made_later = planned is not None and bool(planned.after)
    return TaskRows(have, expected, has_data=expected is not None or not is_made_later)


def is_outdated(task: str, prepared: Prepared, call: Invocation) -> bool:
    """Returns whether a task was edited after a call whose id does not show the edit.

    `evalprep run` makes a new id of an edit, but not of one of a later stage; a pasted command
    keeps the one that it was printed with, and a call by hand may have none. What such a call
    logged is held against the files as they are now; where one of the two is not known, the call
    was not asked so.
    """
    planned = prepared.plan.tasks.get(task)
    is_later = planned is not None and bool(planned.after)
    is_as_prepared = call.run in {"", *(model.run for model in prepared.models)}
    if not (is_as_prepared or is_later):
        return False
    edited = prepared.edited_files(task)
    if not edited:
        return False
    # An edit of how replies are read leaves the id, and the replies count.
    if not is_later and runs_now(prepared).get(call.run) == call.run:
        return False
    return not _is_asked_as_here(task, prepared, call, edited)


def _is_asked_as_here(
    task: str, prepared: Prepared, call: Invocation, edited: Sequence[str]
) -> bool:
    """Returns whether a call asked a task as its edited files stand, as far as both show it."""
    from evalprep.results import asked_as_stated

    if any(name.endswith(".py") for name in edited):
        return False  # lm-eval logs no source of what a function of a module uses
    file = prepared.folder / prepared.tasks[task].yaml
    settings = settings_of(file, prepared.config) if file.is_file() else {}
    if not settings or CLASS in settings or task not in call.samples:
        return False  # what a class makes of its settings is not known
    place = prepared.tasks[task].data
    is_data_edited = bool(place) and any(name.startswith(place) for name in edited)
    digest = _digest_of(prepared.folder / place, settings) if place else None
    if digest is None and is_data_edited:
        return False
    rows = {} if digest is None else digest.to_dict()
    return asked_as_stated(PreparedTask(task, settings=settings, row_digest=rows), task, call)


def _digest_of(data: Path, settings: Mapping[str, Any]) -> RowDigest | None:
    """The digest of the rows of a task; None where they cannot be read or hold no ids."""
    from evalprep.results import digest_of_data

    try:
        return digest_of_data(data, settings)
    except (BadInput, OSError, ValueError):  # of pyarrow, too: a damaged file
        return None


def _scored_rows(task: str, call: Invocation) -> int:
    """Rows of a task that a call has scored; 0 for a task that it does not hold."""
    from evalprep.samples import SampleFile, cached_table, first_sample

    if task not in call.samples:
        return 0
    counted = call.rows.get(task)
    if counted is not None:
        return counted
    # lm-eval before 0.4.3 wrote no counts.
    source = SampleFile(call.samples[task])
    first = first_sample(source)
    return 0 if first is None else len(cached_table(source, first.filter))


def _calls_that_count(command: Command, prepared: Prepared) -> list[Invocation]:
    """The calls that stand for a command, of every run id that counts."""
    runs = runs_that_count(prepared, command.run or prepared.run)
    return list(chain.from_iterable(calls_of(command, prepared, run) for run in runs))


def calls_of(command: Command, prepared: Prepared, run: str) -> list[Invocation]:
    """The calls of a run that stand for a command in its newest try, whoever started them.

    A pasted command whose options were changed keeps the id: its results are of another run.
    """
    from evalprep.results import options_other_than, run_calls

    if not run:
        return []
    # The command as it stands, edits included, and as it was prepared.
    here = asked_of_call(prepared.configuration(command), Answerer(""))
    before = {"model_args": decisive_arguments(as_mapping(command.engine.get("model_args")))}
    output = prepared.output_path or Path()
    calls = of_newest_try(run_calls(output, run), command.name, output, run)
    return [
        call
        for call in calls
        if not all(
            options_other_than(call.settings, {**here, **asked}, prepared.model)
            for asked in ({}, before)
        )
    ]
