"""Conclusions of comparisons as tables: columns for people, and columns of raw values.

Both are of the plain data of a conclusion, as `Conclusion.to_dict` and the document have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from evalprep.compare import POINTS, RATIO, Unit
from evalprep.numbers import finite_number, probability
from evalprep.tables import Cell, Column, Entry, Kind, Note, Table, table_of

Item = Mapping[str, Any]
#: Kinds that gained and lost rows stand behind.
_PAIRED = frozenset({"task", "secondary", "overall"})
#: What conclusions on stored scores do not have.
_OF_ROWS = frozenset({"n", "gained", "lost"})


def conclusion_table(
    conclusions: Iterable[Item], *, against_published: bool, notes: Iterable[Note] = ()
) -> Table:
    """Returns conclusions for people, one per row, the unit of each at its numbers.

    Args:
        conclusions: Plain data of each.
        against_published: Published verdicts are the baseline.
        notes: Sentences below it.
    """

    def both_sides(item: Item) -> str:
        unit = unit_of(item)
        # Published verdicts are right or wrong, whatever the metric of the run is.
        of_baseline = Unit(POINTS) if against_published and item["kind"] == "task" else unit
        return f"{unit.score(item['now'])} / {of_baseline.score(item['previous'])}"

    columns = [
        Column("Task", Kind.NAME, cell=lambda item: item["name"]),
        Column("n", Kind.COUNT, cell=_raw("n")),
        Column("candidate / baseline", Kind.MEASURE, cell=both_sides),
        Column("difference", Kind.MEASURE, cell=_difference),
        Column("gained / lost", Kind.MEASURE, cell=_gained_and_lost),
        Column("p (Holm)", Kind.MEASURE, cell=_p),
        Column("verdict", cell=lambda item: item["verdict"]),
        Column("in words", cell=_words),
    ]
    return table_of("", columns, [*conclusions], [*notes])


def unit_of(item: Item) -> Unit:
    """Returns how the numbers of a conclusion are written."""
    return Unit(item["unit"], bool(item["binary"]))


def _difference(item: Item) -> Cell:
    """The difference with its unit, and its interval."""
    unit = unit_of(item)
    if item["delta"] is None:
        return Cell(None)
    ratio = "ratio " if item["unit"] == RATIO else ""
    interval = ""
    if item["low"] is not None:
        interval = f"[{unit.change(item['low'])}, {unit.change(item['high'])}]{unit.suffix}"
    return Cell(item["delta"], f"{ratio}{unit.change(item['delta'])}", interval)


def _gained_and_lost(item: Item) -> str:
    is_paired = item["kind"] in _PAIRED and item["made_of"] == "rows"
    return f"+{item['gained']} / -{item['lost']}" if is_paired else ""


def _p(item: Item) -> str:
    return probability(item["p"] if item["p_holm"] is None else item["p_holm"])


def _words(item: Item) -> str:
    return f"{item['words']}{'' if item['decides'] else ' (advisory)'}"


def _raw(key: str) -> Callable[[Item], Entry]:
    def value_of(item: Item) -> Entry:
        if key in _OF_ROWS and item.get("made_of") == "stored":
            return None
        value: Entry = item.get(key)
        return finite_number(value) if isinstance(value, float) else value

    return value_of


#: Raw values of conclusions, for programs.
CONCLUSION_VALUES = (
    Column("kind", cell=_raw("kind")),
    Column("name", cell=_raw("name")),
    Column("n", cell=_raw("n")),
    Column("candidate", cell=_raw("now")),
    Column("baseline", cell=_raw("previous")),
    Column("difference", cell=_raw("delta")),
    Column("low", cell=_raw("low")),
    Column("high", cell=_raw("high")),
    Column("gained", cell=_raw("gained")),
    Column("lost", cell=_raw("lost")),
    Column("agreement", cell=_raw("agreement")),
    Column("p", cell=_raw("p")),
    Column("p_holm", cell=_raw("p_holm")),
    Column("detectable", cell=_raw("mde")),
    Column("verdict", cell=_raw("verdict")),
    Column("words", cell=_raw("words")),
)
