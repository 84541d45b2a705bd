"""The results files of one run: those of all commands, stages and folders that carry one run id.

lm-eval writes what stands after `--metadata` into the metadata of every task, so that a results
file says which run and which command it is of. Files without an id are one run per time stamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalprep.results.readers.head import read_head


@dataclass(frozen=True)
class Invocation:
    """One call of lm-eval as its files show it.

    Attributes:
        stamp: Time stamp in the names of its files.
        results: Its results file.
        run: Id of its run, empty without one.
        command: Name of the command, empty without one.
        samples: Task -> samples file.
        rows: Task -> rows that were scored, where the results file says so.
        model_args: Arguments of the back end as texts; None where the results file does not list
            them.
    """

    stamp: str
    results: Path
    run: str = ""
    command: str = ""
    samples: Mapping[str, Path] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    model_args: Mapping[str, str] | None = None


def invocation_of(stamp: str, results: Path, samples: Mapping[str, Path]) -> Invocation:
    """Returns the call of a results file, with its run and command; a damaged file is of none."""
    head = read_head(results)
    return Invocation(
        stamp=stamp,
        results=results,
        run=head.run,
        command=head.command,
        samples=samples,
        rows=head.rows,
        model_args=head.arguments,
    )


def calls_that_count(invocations: Iterable[Invocation]) -> dict[str, Invocation]:
    """Task -> the call whose samples count.

    Of the files that have a task the one with most rows, then the newest.
    """
    counted: dict[str, Invocation] = {}
    for call in sorted(invocations, key=lambda call: call.stamp):
        for task in call.samples:
            most = counted[task].rows.get(task, 0) if task in counted else 0
            if call.rows.get(task, 0) >= most:
                counted[task] = call
    return counted
