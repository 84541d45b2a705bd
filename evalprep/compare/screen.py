"""A comparison as tables for the terminal, readable at 80 columns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import IO, TYPE_CHECKING

from evalprep.compare.columns import baseline_text, candidate_text, in_own_unit, interval, unit_of
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
    Row,
    Table,
    Tone,
    folded_notes,
    html_part,
    print_notes,
    print_table,
    table_of,
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
        benchmarks = comparison.reproduction.benchmarks
        title = f"Beside {comparison.reproduction.title}; raw values in percent"
        print_table(console, table_of(title, _REPRODUCED_VALUES, benchmarks))
        print_table(console, table_of("Samples that both have", _REPRODUCED_PAIRS, benchmarks))
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
            level = f"{comparison.confidence:.0%} interval of candidate minus baseline"
            tables.append(table_of(f"{title}, {level}", _SCORE_COLUMNS, conclusions))
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


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _hundredths(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


#: Each benchmark of a run beside the published one: its values, and its paired samples.
_REPRODUCED_VALUES = (
    Column("benchmark", Kind.NAME, cell=attrgetter("title")),
    Column("raw", Kind.MEASURE, cell=lambda item: _share(item.raw)),
    Column("published", Kind.MEASURE, cell=lambda item: _share(item.published_raw)),
    Column("its samples", Kind.MEASURE, cell=lambda item: _share(item.verdict_mean)),
    Column("rescored", Kind.MEASURE, cell=lambda item: _share(item.rescored_mean)),
    Column("normalised", Kind.MEASURE, cell=lambda item: _hundredths(item.normalised)),
    Column("published", Kind.MEASURE, cell=lambda item: _hundredths(item.published)),
)
_REPRODUCED_PAIRS = (
    Column("benchmark", Kind.NAME, cell=attrgetter("title")),
    Column("n", Kind.COUNT, cell=attrgetter("n")),
    Column("gained", Kind.COUNT, cell=attrgetter("gained")),
    Column("lost", Kind.COUNT, cell=attrgetter("lost")),
    Column("agreement", Kind.PERCENT, cell=attrgetter("agreement")),
    Column("other prompts", Kind.COUNT, cell=attrgetter("prompts_differ")),
)


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
    baseline = partial(baseline_text, against_published=comparison.other == PUBLISHED)
    pooled = comparison.pooled

    def unparsed(item: Conclusion) -> int | str | None:
        return "" if item is pooled else comparison.rows[item.name].unparsed

    columns = [
        Column("task", Kind.NAME, cell=lambda item: "pooled" if item is pooled else item.name),
        Column("n", Kind.COUNT, cell=attrgetter("difference.n")),
        Column("candidate", Kind.MEASURE, cell=candidate_text),
        Column("baseline", Kind.MEASURE, cell=baseline),
        Column("gained", Kind.COUNT, cell=partial(_changed_rows, name="gained")),
        Column("lost", Kind.COUNT, cell=partial(_changed_rows, name="lost")),
        Column("agreement", Kind.PERCENT, cell=attrgetter("difference.agreement")),
        Column("unparsed", Kind.COUNT, cell=unparsed),
    ]
    if len({task.metric for task in tasks}) > 1:
        columns.insert(1, Column("metric", cell=attrgetter("metric")))
    return _equal_together(table_of(title, columns, [*tasks, *([pooled] if pooled else [])]))


def _changed_rows(conclusion: Conclusion, name: str) -> int | None:
    """A count of changed rows, of what is made of rows."""
    item = conclusion.difference
    is_of_rows = item.made_of == "rows" or conclusion.kind == "overall"
    return getattr(item, name) if is_of_rows else None


def _equal_together(table: Table) -> Table:
    """The table with tasks that differ in their names alone together, many of them as one row."""
    rows_of: dict[tuple[Cell, ...], list[Row]] = {}
    for row in table.lines():
        rows_of.setdefault(row.cells[1:], []).append(row)
    rows: list[Row] = []
    for cells, equal in rows_of.items():
        is_many = len(equal) >= MANY_EQUAL
        rows += [Row((Cell(f"{len(equal)} tasks"), *cells))] if is_many else equal
    return replace(table, rows=rows)


def _difference_table(comparison: Comparison) -> Table:
    """The difference of each task with its interval, test and verdict."""
    # Of tasks without a difference a note says why.
    tasks = [task for task in comparison.tasks if task.difference.n]
    starred = any(task.difference.clusters is not None for task in tasks)
    documents = " (* rows share documents)" if starred else ""
    unit = ", in points" if all(task.difference.in_points for task in tasks) else ""
    title = f"Candidate minus baseline{unit}, {comparison.confidence:.0%} interval{documents}"
    over_tasks = comparison.together if len(comparison.tasks) > 1 else []
    return _equal_together(table_of(title, _DIFFERENCE_COLUMNS, [*tasks, *over_tasks]))


def _difference(conclusion: Conclusion) -> str:
    """Difference and interval; perplexities and bits have their unit."""
    item = conclusion.difference
    star = "*" if item.clusters is not None else ""
    return f"{in_own_unit(item) if item.unit in {RATIO, BITS} else interval(item)}{star}"


def _detectable(conclusion: Conclusion) -> str:
    item = conclusion.difference
    return unit_of(item).detectable(item.mde)


def _verdict(conclusion: Conclusion) -> Cell:
    return Cell(conclusion.verdict, tone=_TONES.get(conclusion.verdict, Tone.PLAIN))


def _score_text(item: Difference, value: float | None) -> str:
    """A score as people read it: a share in percent, anything else in its own unit."""
    if value is not None and item.unit == POINTS:
        return f"{percent(value)} %"
    return number(value)


_HOLM = Column("Holm p", Kind.PROBABILITY, cell=attrgetter("p_holm"))
_VERDICT = Column("verdict", cell=_verdict)
_DIFFERENCE_COLUMNS = (
    Column("task", Kind.NAME, cell=attrgetter("name")),
    Column("difference", Kind.MEASURE, cell=_difference),
    Column("p", Kind.PROBABILITY, cell=attrgetter("difference.p")),
    _HOLM,
    Column("detectable", Kind.MEASURE, cell=_detectable),
    _VERDICT,
)
#: Of scores that are no mean of rows, each in its own unit.
_SCORE_COLUMNS = (
    Column("score", Kind.NAME, cell=attrgetter("name")),
    Column(
        "candidate",
        Kind.MEASURE,
        cell=lambda item: _score_text(item.difference, item.difference.now),
    ),
    Column(
        "baseline",
        Kind.MEASURE,
        cell=lambda item: _score_text(item.difference, item.difference.previous),
    ),
    Column("difference", Kind.MEASURE, cell=lambda item: in_own_unit(item.difference)),
    _HOLM,
    _VERDICT,
)


def _subtask_table(task: PairedTask, unit: Unit) -> Table:
    """One row per subtask, and the mean of their means."""
    columns = [
        Column("subtask", Kind.NAME, cell=attrgetter("subtask")),
        Column("n", Kind.COUNT, cell=attrgetter("n")),
        Column("candidate", Kind.MEASURE, cell=lambda row: unit.score(row.now)),
        Column("baseline", Kind.MEASURE, cell=lambda row: unit.score(row.previous)),
        Column("gained", Kind.COUNT, cell=attrgetter("gained")),
        Column("lost", Kind.COUNT, cell=attrgetter("lost")),
    ]
    table = table_of(f"{task.task} by subtask", columns, task.subtasks)
    macro = unit.score(task.macro_now), unit.score(task.macro_previous)
    table.add("macro", "", *macro, "", "")
    return table
