"""The columns of conclusions, each declared once: for people, and as raw values for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import POINTS, RATIO, Difference
from evalprep.compare.units import Unit
from evalprep.numbers import finite_number, probability
from evalprep.tables import Cell, Column, Entry, Kind, Note, Table, table_of

#: Kinds that gained and lost rows stand behind.
_PAIRED = frozenset({"task", "secondary", "overall"})
#: Kinds whose baseline is right or wrong where it is published verdicts, whatever the metric is.
OF_VERDICTS = frozenset({"task", "overall"})


def unit_of(item: Difference) -> Unit:
    """Returns how the numbers of a difference are written."""
    return Unit(item.unit, item.binary, item.digits)


def interval(item: Difference) -> str:
    """Difference and interval, as `+1.2 [-0.3, +2.7]`."""
    unit = unit_of(item)
    if item.low is None or item.high is None:
        return unit.change(item.delta)
    return f"{unit.change(item.delta)} [{unit.change(item.low)}, {unit.change(item.high)}]"


def in_own_unit(item: Difference) -> str:
    """Difference and interval in the unit of the metric.

    It is points for shares, ratios for perplexities, bits for bits, and raw numbers for all others.
    """
    if item.delta is None:
        return "-"
    ratio = "ratio " if item.unit == RATIO else ""
    share = "" if item.relative is None else f", {100 * item.relative:+.1f} %"
    return f"{ratio}{interval(item)}{unit_of(item).suffix}{share}"


def candidate_text(conclusion: Conclusion) -> str:
    """The candidate's score."""
    item = conclusion.difference
    return unit_of(item).score(item.now)


def baseline_text(conclusion: Conclusion, *, against_published: bool) -> str:
    """The baseline's score.

    Args:
        conclusion: What is shown.
        against_published: Published verdicts are the baseline.
    """
    item = conclusion.difference
    is_of_verdicts = against_published and conclusion.kind in OF_VERDICTS
    return (Unit(POINTS) if is_of_verdicts else unit_of(item)).score(item.previous)


def conclusion_table(
    conclusions: Iterable[Conclusion], *, against_published: bool, notes: Iterable[Note] = ()
) -> Table:
    """Returns conclusions for people, one per row, the unit of each at its numbers.

    Args:
        conclusions: What is concluded.
        against_published: Published verdicts are the baseline.
        notes: Sentences below it.
    """

    def both_sides(item: Conclusion) -> str:
        baseline = baseline_text(item, against_published=against_published)
        return f"{candidate_text(item)} / {baseline}"

    columns = [
        Column("Task", Kind.NAME, cell=attrgetter("name")),
        Column("n", Kind.COUNT, cell=_of_rows("n")),
        Column("candidate / baseline", Kind.MEASURE, cell=both_sides),
        Column("difference", Kind.MEASURE, cell=_difference),
        Column("gained / lost", Kind.MEASURE, cell=_gained_and_lost),
        Column("p (Holm)", Kind.MEASURE, cell=_p),
        Column("verdict", cell=attrgetter("verdict")),
        Column("in words", cell=_words),
    ]
    return table_of("", columns, [*conclusions], [*notes])


def _difference(conclusion: Conclusion) -> Cell:
    """The difference with its unit, and its interval."""
    item = conclusion.difference
    unit = unit_of(item)
    if item.delta is None:
        return Cell(None)
    ratio = "ratio " if item.unit == RATIO else ""
    ends = ""
    if item.low is not None:
        ends = f"[{unit.change(item.low)}, {unit.change(item.high)}]{unit.suffix}"
    return Cell(item.delta, f"{ratio}{unit.change(item.delta)}", ends)


def _gained_and_lost(conclusion: Conclusion) -> str:
    item = conclusion.difference
    is_paired = conclusion.kind in _PAIRED and item.made_of == "rows"
    return f"+{item.gained} / -{item.lost}" if is_paired else ""


def _p(conclusion: Conclusion) -> str:
    own = conclusion.difference.p
    return probability(own if conclusion.p_holm is None else conclusion.p_holm)


def _words(conclusion: Conclusion) -> str:
    return f"{conclusion.words}{'' if conclusion.decides else ' (advisory)'}"


def _raw(path: str) -> Callable[[Conclusion], Entry]:
    """A value of a conclusion, or of its difference; no number where it is not finite."""
    get = attrgetter(path)

    def value_of(item: Conclusion) -> Entry:
        value: Entry = get(item)
        return finite_number(value) if isinstance(value, float) else value

    return value_of


def _of_rows(name: str) -> Callable[[Conclusion], Entry]:
    """A count of rows; stored scores have none."""
    count = attrgetter(name)
    return lambda item: None if item.difference.made_of == "stored" else count(item.difference)


#: Raw values of conclusions, for programs.
CONCLUSION_VALUES = (
    Column("kind", cell=_raw("kind")),
    Column("name", cell=_raw("name")),
    Column("n", cell=_of_rows("n")),
    Column("candidate", cell=_raw("difference.now")),
    Column("baseline", cell=_raw("difference.previous")),
    Column("difference", cell=_raw("difference.delta")),
    Column("low", cell=_raw("difference.low")),
    Column("high", cell=_raw("difference.high")),
    Column("gained", cell=_of_rows("gained")),
    Column("lost", cell=_of_rows("lost")),
    Column("agreement", cell=_raw("difference.agreement")),
    Column("p", cell=_raw("difference.p")),
    Column("p_holm", cell=_raw("p_holm")),
    Column("detectable", cell=_raw("difference.mde")),
    Column("verdict", cell=_raw("verdict")),
    Column("words", cell=_raw("words")),
)
