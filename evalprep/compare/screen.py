"""A comparison as tables for the terminal, readable at 80 columns."""

from __future__ import annotations

from typing import IO, Any

from evalprep.compare.comparison import PUBLISHED, Comparison
from evalprep.compare.difference import Difference
from evalprep.compare.task import TaskComparison
from evalprep.terminal import plain_table

_COLOURS = {"better": "green", "worse": "red", "unclear": "yellow"}


def percent(value: float | None, *, binary: bool = True, sign: bool = False) -> str:
    """A score as percent with one decimal, or a graded one with three significant digits; `-` for None."""
    if value is None:
        return "-"
    if binary:
        return f"{100 * value:{'+' if sign else ''}.1f}"
    return f"{value:{'+' if sign else ''}.3g}"


def interval(item: Difference) -> str:
    """Difference and interval, as `+1.2 [-0.3, +2.7]`."""
    if item.low is None or item.high is None:
        return percent(item.delta, binary=item.binary, sign=True)
    low, high = (percent(bound, binary=item.binary, sign=True) for bound in (item.low, item.high))
    return f"{percent(item.delta, binary=item.binary, sign=True)} [{low}, {high}]"


def probability(p: float | None) -> str:
    """A p-value with two significant digits; `-` for None."""
    if p is None:
        return "-"
    return "1" if p >= 0.9995 else "<1e-4" if p < 1e-4 else f"{p:.2g}"


def show(
    comparison: Comparison, file: IO[str] | None = None, *, subtasks: bool = False, width: int | None = None
) -> None:
    """Print a comparison.

    Args:
        comparison: What to print.
        file: Where to; standard output by default.
        subtasks: Also one table of subtasks per task.
        width: Columns; those of the terminal by default, 80 where there is none.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, width=width, highlight=False, soft_wrap=False)
    console.print(Text(f"{comparison.run}  against  {comparison.other}"))
    for warning in comparison.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
    if comparison.pairs:
        console.print(_counts(comparison))
        console.print(_differences(comparison))
    notes: dict[str, list[str]] = {}
    for task in comparison.tasks:
        for note in task.notes:
            notes.setdefault(note, []).append(task.task)
    for note, names in notes.items():
        console.print(Text(f"{', '.join(names)}: {note}", style="dim"))
    for task in comparison.tasks:
        if task.causes:
            causes = ", ".join(f"{count} {cause}" for cause, count in task.causes.items())
            console.print(Text(f"{task.task} flips: {causes}"))
        if subtasks and task.subtasks:
            console.print(_subtasks(task))
    if len(comparison.tasks) > 1 and comparison.macro_delta is not None:
        bounds = ""
        if comparison.macro_low is not None and comparison.macro_high is not None:
            bounds = f" [{percent(comparison.macro_low, sign=True)}, {percent(comparison.macro_high, sign=True)}]"
        console.print(f"mean of task differences: {percent(comparison.macro_delta, sign=True)}{bounds} points")
    for note in comparison.notes:
        console.print(Text(note, style="dim"))


def _counts(comparison: Comparison) -> Any:
    table = plain_table(
        "Verdicts, percent right"
        if all(task.difference.binary for task in comparison.tasks if task.difference.n)
        else "Verdicts",
        ("task", "left"),
        *((name, "right") for name in ("n", "previous", "now", "gained", "lost", "agreement", "unparsed")),
    )
    rows: list[tuple[str, Difference, str]] = [
        (task.task, task.difference, str(task.unparsed)) for task in comparison.tasks if task.difference.n
    ]
    if comparison.overall is not None and len(rows) > 1:
        rows.append(("all", comparison.overall, str(sum(task.unparsed for task in comparison.tasks))))
    for name, item, unparsed in rows:
        table.add_row(
            _plain(name),
            str(item.n),
            percent(item.previous, binary=item.binary or comparison.other == PUBLISHED),
            percent(item.now, binary=item.binary),
            str(item.gained),
            str(item.lost),
            percent(item.agreement),
            unparsed,
        )
    return table


def _differences(comparison: Comparison) -> Any:
    starred = any(task.difference.clusters is not None for task in comparison.tasks)
    table = plain_table(
        f"Difference in points, {comparison.confidence:.0%} interval{' (* clustered by document)' if starred else ''}",
        ("task", "left"),
        ("difference", "right"),
        ("p", "right"),
        ("Holm p", "right"),
        ("detectable", "right"),
        ("verdict", "left"),
    )
    for task in comparison.tasks:
        if not task.difference.n:
            continue  # a note says why
        table.add_row(*_difference_row(task.task, task.difference, task.p_holm, task.verdict))
    if comparison.overall is not None and len(comparison.tasks) > 1:
        table.add_row(*_difference_row("all", comparison.overall, None, comparison.overall_verdict))
    return table


def _difference_row(name: str, item: Difference, p_holm: float | None, verdict: str) -> list[Any]:
    from rich.text import Text

    return [
        _plain(name),
        interval(item) + ("*" if item.clusters is not None else ""),
        probability(item.p),
        probability(p_holm),
        percent(item.mde, binary=item.binary),
        Text(verdict, style=_COLOURS.get(verdict, "")),
    ]


def _subtasks(task: TaskComparison) -> Any:
    table = plain_table(
        f"{task.task} by subtask",
        ("subtask", "left"),
        *((name, "right") for name in ("n", "previous", "now", "gained", "lost")),
    )
    binary = task.difference.binary
    for row in task.subtasks:
        table.add_row(
            _plain(row.subtask), str(row.n), percent(row.previous, binary=binary), percent(row.now, binary=binary),
            str(row.gained), str(row.lost),
        )  # fmt: skip
    table.add_row("macro", "", percent(task.macro_previous, binary=binary), percent(task.macro_now, binary=binary))
    return table


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)  # brackets in a task name are no markup
