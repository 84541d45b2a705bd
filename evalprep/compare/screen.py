"""A comparison as tables for the terminal, readable at 80 columns."""

from __future__ import annotations

import math
from typing import IO, Any

from evalprep.compare.comparison import PUBLISHED, Comparison
from evalprep.compare.conclusion import BETTER, NOT_COMPARABLE, NOT_ENOUGH, WORSE, Conclusion
from evalprep.compare.difference import Difference
from evalprep.compare.task import TaskComparison
from evalprep.numbers import number, percent, probability
from evalprep.terminal import console as screen
from evalprep.terminal import plain_table, print_table, shortlist

_NAMED = 4  # scores that a remark names one by one
_COLOURS = {BETTER: "green", WORSE: "red", NOT_COMPARABLE: "yellow", NOT_ENOUGH: "yellow"}


def interval(item: Difference) -> str:
    """Difference and interval, as `+1.2 [-0.3, +2.7]`."""
    if item.low is None or item.high is None:
        return percent(item.delta, binary=item.in_points, sign=True)
    low, high = (percent(bound, binary=item.in_points, sign=True) for bound in (item.low, item.high))
    return f"{percent(item.delta, binary=item.in_points, sign=True)} [{low}, {high}]"


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
    from rich.text import Text

    console = screen(file, width=width, highlight=False, soft_wrap=False)
    by = f", by the rule {comparison.rule!r}" if comparison.rule else ""
    console.print(Text(f"candidate {comparison.run}  against  baseline {comparison.other}{by}"))
    for warning in comparison.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
    if comparison.pairs:
        print_table(console, _counts(comparison))
        print_table(console, _differences(comparison))
    for title, found in (
        ("Metrics over all rows", comparison.metrics),
        ("Stored scores, unpaired", comparison.stored),
        *_by_rule(comparison.suite),
    ):
        if found:
            print_table(console, _others(title, found, comparison.confidence))
    notes: dict[str, list[str]] = {}
    for task in [*comparison.tasks, *comparison.metrics, *comparison.stored, *comparison.suite]:
        for note in task.notes:
            notes.setdefault(note, []).append(task.name)
    for note, names in notes.items():
        console.print(Text(f"{shortlist(names, _NAMED)}: {note}", style="dim"))
    for text, names in _undecided(comparison).items():
        console.print(Text(f"{shortlist(names, _NAMED)}: {text}", style="yellow"))
    for task in comparison.tasks:
        if task.causes:
            causes = ", ".join(f"{count} {cause}" for cause, count in task.causes.items())
            console.print(Text(f"{task.task} flips: {causes}"))
        if subtasks and task.subtasks:
            print_table(console, _subtasks(task))
    for note in comparison.notes:
        console.print(Text(note, style="dim"))


def _undecided(comparison: Comparison) -> dict[str, list[str]]:
    """Why there is no verdict, each reason once with the names that it holds for."""
    found: dict[str, list[str]] = {}
    for one in comparison.conclusions:
        if one.verdict in {NOT_COMPARABLE, NOT_ENOUGH}:
            found.setdefault(f"{one.verdict}: {one.words}", []).append(one.name)
    return found


def _by_rule(suite: list[Conclusion]) -> list[tuple[str, list[Conclusion]]]:
    """A table of suite scores for each scoring rule, the usual one first."""
    rules = sorted({one.rule for one in suite})
    return [
        (f"Suite scores by the rule {rule!r}" if rule else "Suite scores", [one for one in suite if one.rule == rule])
        for rule in rules
    ]


def _counts(comparison: Comparison) -> Any:
    known = [task.difference for task in comparison.tasks if task.difference.n]
    graded = "Scores, in percent" if all(item.in_points for item in known) else "Scores"
    table = plain_table(
        "Verdicts, percent right" if all(item.binary for item in known) else graded,
        ("task", "left"),
        *((name, "right") for name in ("n", "candidate", "baseline", "gained", "lost", "agreement", "unparsed")),
    )
    rows: list[tuple[str, Difference, str]] = [
        (task.name, task.difference, "-" if task.unparsed is None else str(task.unparsed))
        for task in comparison.tasks
        if task.difference.n
    ]
    if comparison.pooled is not None:
        rows.append(("pooled", comparison.pooled.difference, ""))
    for name, item, unparsed in rows:
        table.add_row(
            _plain(name),
            str(item.n),
            percent(item.now, binary=item.in_points),
            percent(item.previous, binary=item.in_points or comparison.other == PUBLISHED),
            str(item.gained),
            str(item.lost),
            percent(item.agreement),
            unparsed,
        )
    return table


def _differences(comparison: Comparison) -> Any:
    starred = any(task.difference.clusters is not None for task in comparison.tasks)
    documents = " (* rows share documents)" if starred else ""
    known = [task.difference for task in comparison.tasks if task.difference.n]
    unit = "" if all(item.binary for item in known) else ", in points" if all(i.in_points for i in known) else ""
    table = plain_table(
        f"Candidate minus baseline{unit}, {comparison.confidence:.0%} interval{documents}",
        ("task", "left"),
        ("difference", "right"),
        ("p", "right"),
        ("Holm p", "right"),
        ("detectable", "right"),
        ("verdict", "left"),
    )
    for task in comparison.tasks:
        if task.difference.n:  # else a note says why
            table.add_row(*_difference_row(task))
    if len(comparison.tasks) > 1:
        for one in (comparison.overall, comparison.pooled):
            if one is not None:
                table.add_row(*_difference_row(one))
    return table


def _others(title: str, found: list[Conclusion], confidence: float) -> Any:
    from rich.text import Text

    table = plain_table(
        f"{title}, {confidence:.0%} interval of candidate minus baseline",
        ("score", "left"),
        *((name, "right") for name in ("candidate", "baseline", "difference", "Holm p")),
        ("verdict", "left"),
    )
    for one in found:
        item = one.difference
        change = in_own_unit(item)
        verdict = Text(one.verdict, style=_COLOURS.get(one.verdict, ""))
        cells = (number(item.now), number(item.previous), change, probability(one.p_holm))
        table.add_row(_plain(one.name), *cells, verdict)
    return table


def in_own_unit(item: Difference) -> str:
    """Difference and interval as `-0.035 [-0.05, -0.02]`; perplexities as `ratio 0.98 [0.97, 0.99]`."""
    if item.delta is None:
        return "-"
    values = [item.delta, item.low, item.high]
    if item.unit == "ratio":
        shown = [None if one is None else f"{math.exp(min(one, 700.0)):.4g}" for one in values]
        shown[0] = f"ratio {shown[0]}"
    else:
        shown = [None if one is None else f"{one:+.4g}" for one in values]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]" if shown[1] is not None else str(shown[0])


def _difference_row(one: Conclusion) -> list[Any]:
    from rich.text import Text

    item = one.difference
    return [
        _plain(one.name),
        interval(item) + ("*" if item.clusters is not None else ""),
        probability(item.p),
        probability(one.p_holm if one.kind == "task" else None),
        percent(item.mde, binary=item.in_points),
        Text(one.verdict, style=_COLOURS.get(one.verdict, "")),
    ]


def _subtasks(task: TaskComparison) -> Any:
    table = plain_table(
        f"{task.task} by subtask",
        ("subtask", "left"),
        *((name, "right") for name in ("n", "candidate", "baseline", "gained", "lost")),
    )
    binary = task.difference.in_points
    for row in task.subtasks:
        table.add_row(
            _plain(row.subtask), str(row.n), percent(row.now, binary=binary), percent(row.previous, binary=binary),
            str(row.gained), str(row.lost),
        )  # fmt: skip
    table.add_row("macro", "", percent(task.macro_now, binary=binary), percent(task.macro_previous, binary=binary))
    return table


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)  # brackets in a task name are no markup
