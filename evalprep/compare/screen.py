"""A comparison as tables for the terminal, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from evalprep.compare.comparison import PUBLISHED, Comparison
from evalprep.compare.conclusion import BETTER, NOT_COMPARABLE, NOT_ENOUGH, WORSE, Conclusion
from evalprep.compare.difference import BITS, POINTS, RATIO, Difference
from evalprep.compare.task import PairedTask
from evalprep.compare.units import Unit
from evalprep.numbers import number, percent
from evalprep.readers import is_mean_of_draws, is_of_draws
from evalprep.tables import (
    Cell,
    Column,
    Kind,
    Note,
    Table,
    Tone,
    folded_notes,
    html_part,
    print_notes,
    print_table,
)
from evalprep.terminal import console as screen
from evalprep.terminal import counted, shortlist

if TYPE_CHECKING:
    from evalprep.compare.reproduction import Reproduction

#: Equal lines of a table from which one line with their number stands for them.
MANY_EQUAL = 10
_NAMED = 4  # scores that a remark names one by one
_TONES = {
    BETTER: Tone.GOOD,
    WORSE: Tone.BAD,
    NOT_COMPARABLE: Tone.DOUBTFUL,
    NOT_ENOUGH: Tone.DOUBTFUL,
}


def interval(item: Difference) -> str:
    """Difference and interval, as `+1.2 [-0.3, +2.7]`."""
    unit = unit_of(item)
    if item.low is None or item.high is None:
        return unit.change(item.delta)
    return f"{unit.change(item.delta)} [{unit.change(item.low)}, {unit.change(item.high)}]"


def unit_of(item: Difference) -> Unit:
    """Returns how the numbers of a difference are written."""
    return Unit(item.unit, item.binary, item.digits)


def show(
    comparison: Comparison,
    file: IO[str] | None = None,
    *,
    subtasks: bool = False,
    width: int | None = None,
) -> None:
    """Prints a comparison.

    Args:
        comparison: What to print.
        file: Where to; standard output by default.
        subtasks: Also one table of subtasks per task.
        width: Columns; those of the terminal by default, 80 where there is none.
    """
    console = screen(file, width=width, highlight=False, soft_wrap=False)
    print_notes(console, _heading(comparison))
    for table in tables_of(comparison):
        print_table(console, table)
    if comparison.reproduction is not None:
        for table in _reproduction_tables(comparison.reproduction):
            print_table(console, table)
        print_notes(console, _reproduction_notes(comparison.reproduction))
    print_notes(console, notes_of(comparison))
    for task in comparison.tasks:
        rows = comparison.rows[task.name]
        if rows.causes:
            changed = counted(sum(rows.causes.values()), "changed sample")
            causes = ", ".join(f"{cause} ({count})" for cause, count in rows.causes.items())
            print_notes(console, [Note(f"{rows.task}: {changed}: {causes}", Tone.PLAIN)])
        if subtasks and rows.subtasks:
            print_table(console, _subtask_table(rows, unit_of(task.difference)))
    print_notes(console, [Note(note) for note in comparison.notes])


def html_of(comparison: Comparison) -> str:
    """A comparison as HTML for a notebook: its tables, notes and closing lines."""
    return html_part(
        [note.text for note in _heading(comparison)],
        tables_of(comparison),
        [*(note.text for note in notes_of(comparison)), *comparison.notes, *comparison.closing],
    )


def _heading(comparison: Comparison) -> list[Note]:
    """Returns the line that names both runs, then the warnings."""
    rule = f", by the rule {comparison.rule!r}" if comparison.rule else ""
    names = f"candidate {comparison.run}  against  baseline {comparison.other}{rule}"
    warnings = [f"warning: {warning}" for warning in _once(comparison)]
    return [Note(names, Tone.PLAIN), *(Note(text, Tone.DOUBTFUL) for text in warnings)]


def _once(comparison: Comparison) -> list[str]:
    """The warnings; one that several tasks share stands once, with their names."""
    tasks_of: dict[str, list[str]] = {}
    for warning in comparison.warnings:
        task = next((it.name for it in comparison.tasks if warning.startswith(f"{it.name}: ")), "")
        tasks_of.setdefault(warning.removeprefix(f"{task}: "), []).append(task)
    lines = []
    for warning, tasks in tasks_of.items():
        named = list(filter(None, tasks))
        lines.append(f"{shortlist(named, _NAMED)}: {warning}" if named else warning)
    return lines


def tables_of(comparison: Comparison) -> list[Table]:
    """The tables of a comparison, from the scores of tasks to suite scores."""
    tables = []
    if any(task.difference.n for task in comparison.tasks):
        tables += [_count_table(comparison), _difference_table(comparison)]
    of_draws = [
        item
        for item in comparison.further
        if is_of_draws(item.metric) and not is_mean_of_draws(item.metric)  # the task's own metric
    ]
    others = [
        ("Several replies to each prompt", of_draws),
        ("Metrics over all rows", comparison.metrics),
        ("Stored scores, unpaired", comparison.stored),
    ]
    for rule in sorted({item.rule for item in comparison.suite}):  # the usual one is empty
        title = f"Suite scores by the rule {rule!r}" if rule else "Suite scores"
        others.append((title, [item for item in comparison.suite if item.rule == rule]))
    for title, conclusions in others:
        if conclusions:
            tables.append(_score_table(title, conclusions, comparison.confidence))
    return tables


def notes_of(comparison: Comparison) -> list[Note]:
    """Metrics beside those that decide, notes of quantities, and why there is no verdict."""
    notes = [
        Note(f"{item.name} {item.words} (advisory)", _TONES.get(item.verdict, Tone.PLAIN))
        for item in comparison.advisory
    ]
    notes += [Note(remark) for remark in folded_notes(comparison.remarks)]
    for reason, names in _undecided(comparison).items():
        notes.append(Note(f"{shortlist(names, _NAMED)}: {reason}", Tone.DOUBTFUL))
    if comparison.overall is None and comparison.overall_reason:
        notes.append(Note(f"overall: not computed, because {comparison.overall_reason}"))
    return notes


def _reproduction_tables(reproduction: Reproduction) -> list[Table]:
    """Each benchmark of the run beside the published one: its values, and its paired samples."""
    values = Table(
        f"Beside {reproduction.title}; raw values in percent",
        [
            Column("benchmark", Kind.NAME),
            Column("raw", Kind.MEASURE),
            Column("published", Kind.MEASURE),
            Column("its samples", Kind.MEASURE),
            Column("rescored", Kind.MEASURE),
            Column("normalised", Kind.MEASURE),
            Column("published", Kind.MEASURE),
        ],
    )
    pairs = Table(
        "Samples that both have",
        [
            Column("benchmark", Kind.NAME),
            Column("n", Kind.COUNT),
            Column("gained", Kind.COUNT),
            Column("lost", Kind.COUNT),
            Column("agreement", Kind.PERCENT),
            Column("other prompts", Kind.COUNT),
        ],
    )
    for item in reproduction.benchmarks:
        raw = (item.raw, item.published_raw, item.verdict_mean, item.rescored_mean)
        normalised = (item.normalised, item.published)
        values.add(item.title, *map(_share, raw), *map(_hundredths, normalised))
        counts = (item.n, item.gained, item.lost)
        pairs.add(item.title, *counts, item.agreement, item.prompts_differ)
    return [values, pairs]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _hundredths(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _reproduction_notes(reproduction: Reproduction) -> list[Note]:
    """The average, whether each benchmark is reproduced (None: not known), and further notes."""
    from evalprep.compare.reproduction import sentence

    own, published = map(_hundredths, (reproduction.average, reproduction.published_average))
    average = f"average: {own}, published {published}"
    tones = {True: Tone.GOOD, False: Tone.BAD, None: Tone.DOUBTFUL}
    return [
        Note(average, Tone.PLAIN),
        *(Note(sentence(item), tones[item.reproduced]) for item in reproduction.benchmarks),
        *(Note(note) for note in reproduction.notes),
    ]


def _undecided(comparison: Comparison) -> dict[str, list[str]]:
    """Returns why there is no verdict, each reason once with the names that it holds for.

    Reasons that the closing lines give are left to them.
    """
    names: dict[str, list[str]] = {}
    closing = " ".join(comparison.closing)
    for item in comparison.conclusions:
        is_open = item.verdict in {NOT_COMPARABLE, NOT_ENOUGH} and item.kind != "secondary"
        if is_open and item.words not in closing:
            names.setdefault(f"{item.verdict}: {item.words}", []).append(item.name)
    return names


def _count_table(comparison: Comparison) -> Table:
    """Both scores of each task, and how many rows changed."""
    tasks = [task for task in comparison.tasks if task.difference.n]
    title = "Scores"
    if all(task.difference.binary for task in tasks):
        title = "Verdicts, percent right"
    elif all(task.difference.in_points for task in tasks):
        title = "Scores, in percent"
    names_metric = len({task.metric for task in tasks}) > 1
    columns = [
        Column("task", Kind.NAME),
        *([Column("metric")] if names_metric else []),
        Column("n", Kind.COUNT),
        Column("candidate", Kind.MEASURE),
        Column("baseline", Kind.MEASURE),
        Column("gained", Kind.COUNT),
        Column("lost", Kind.COUNT),
        Column("agreement", Kind.PERCENT),
        Column("unparsed", Kind.COUNT),
    ]
    table = Table(title, columns)
    equal_lines: dict[tuple[object, ...], list[Conclusion]] = {}
    for task in tasks:
        unparsed = comparison.rows[task.name].unparsed
        cells = (task.metric, *_count_cells(task, comparison)[1:], unparsed)
        equal_lines.setdefault(cells, []).append(task)
    for equal in equal_lines.values():
        is_folded = len(equal) >= MANY_EQUAL
        for task in equal[:1] if is_folded else equal:
            name, *counts = _count_cells(task, comparison)
            shown = f"{len(equal)} tasks" if is_folded else name
            metric = [task.metric] if names_metric else []
            table.add(shown, *metric, *counts, comparison.rows[task.name].unparsed)
    if comparison.pooled is not None:
        table.add("pooled", *_count_cells(comparison.pooled, comparison)[1:], "")
    return table


def _count_cells(conclusion: Conclusion, comparison: Comparison) -> list[str | int | float | None]:
    item = conclusion.difference
    unit = unit_of(item)
    # Published verdicts are right or wrong, whatever the metric of the run is.
    of_baseline = Unit(POINTS) if comparison.other == PUBLISHED else unit
    by_row = item.made_of == "rows" or conclusion.kind == "overall"
    return [
        conclusion.name,
        item.n,
        unit.score(item.now),
        of_baseline.score(item.previous),
        item.gained if by_row else None,
        item.lost if by_row else None,
        item.agreement,
    ]


def _difference_table(comparison: Comparison) -> Table:
    """The difference of each task with its interval, test and verdict."""
    tasks = [task for task in comparison.tasks if task.difference.n]
    starred = any(task.difference.clusters is not None for task in tasks)
    documents = " (* rows share documents)" if starred else ""
    unit = ", in points" if all(task.difference.in_points for task in tasks) else ""
    table = Table(
        f"Candidate minus baseline{unit}, {comparison.confidence:.0%} interval{documents}",
        [
            Column("task", Kind.NAME),
            Column("difference", Kind.MEASURE),
            Column("p", Kind.PROBABILITY),
            Column("Holm p", Kind.PROBABILITY),
            Column("detectable", Kind.MEASURE),
            Column("verdict"),
        ],
    )
    # Of tasks without a difference a note says why.
    equal_lines: dict[tuple[object, ...], list[Conclusion]] = {}
    over_tasks = comparison.together if len(comparison.tasks) > 1 else []
    for conclusion in [*tasks, *over_tasks]:
        cells = *_difference_cells(conclusion), conclusion.verdict
        equal_lines.setdefault(cells, []).append(conclusion)
    for equal in equal_lines.values():
        first = equal[0]
        if len(equal) >= MANY_EQUAL:
            table.add(f"{len(equal)} tasks", *_difference_cells(first), _verdict_cell(first))
            continue
        for conclusion in equal:
            cell = _verdict_cell(conclusion)
            table.add(conclusion.name, *_difference_cells(conclusion), cell)
    return table


def _difference_cells(conclusion: Conclusion) -> tuple[str, float | None, float | None, str]:
    """Difference with its interval, p, p after Holm's adjustment, and what would be found."""
    item = conclusion.difference
    star = "*" if item.clusters is not None else ""
    detectable = unit_of(item).detectable(item.mde)
    # Perplexities and bits have their unit.
    difference = in_own_unit(item) if item.unit in {RATIO, BITS} else interval(item)
    return f"{difference}{star}", item.p, conclusion.p_holm, detectable


def _score_table(title: str, conclusions: Sequence[Conclusion], confidence: float) -> Table:
    """Scores that are no mean of rows, each in its own unit."""
    table = Table(
        f"{title}, {confidence:.0%} interval of candidate minus baseline",
        [
            Column("score", Kind.NAME),
            Column("candidate", Kind.MEASURE),
            Column("baseline", Kind.MEASURE),
            Column("difference", Kind.MEASURE),
            Column("Holm p", Kind.PROBABILITY),
            Column("verdict"),
        ],
    )
    for conclusion in conclusions:
        item = conclusion.difference
        table.add(
            conclusion.name,
            score_text(item, item.now),
            score_text(item, item.previous),
            in_own_unit(item),
            conclusion.p_holm,
            _verdict_cell(conclusion),
        )
    return table


def score_text(item: Difference, value: float | None) -> str:
    """A score as people read it: a share in percent, anything else in its own unit."""
    if value is not None and item.unit == POINTS:
        return f"{percent(value)} %"
    return number(value)


def in_own_unit(item: Difference) -> str:
    """Difference and interval in the unit of the metric.

    It is points for shares, ratios for perplexities, bits for bits, and raw numbers for all others.
    """
    if item.delta is None:
        return "-"
    ratio = "ratio " if item.unit == RATIO else ""
    share = "" if item.relative is None else f", {100 * item.relative:+.1f} %"
    return f"{ratio}{interval(item)}{unit_of(item).suffix}{share}"


def _verdict_cell(conclusion: Conclusion) -> Cell:
    return Cell(conclusion.verdict, tone=_TONES.get(conclusion.verdict, Tone.PLAIN))


def _subtask_table(task: PairedTask, unit: Unit) -> Table:
    """One row per subtask, and the mean of their means."""
    table = Table(
        f"{task.task} by subtask",
        [
            Column("subtask", Kind.NAME),
            Column("n", Kind.COUNT),
            Column("candidate", Kind.MEASURE),
            Column("baseline", Kind.MEASURE),
            Column("gained", Kind.COUNT),
            Column("lost", Kind.COUNT),
        ],
    )
    for row in task.subtasks:
        table.add(
            row.subtask, row.n, unit.score(row.now), unit.score(row.previous), row.gained, row.lost
        )
    macro = unit.score(task.macro_now), unit.score(task.macro_previous)
    table.add("macro", "", *macro, "", "")
    return table
