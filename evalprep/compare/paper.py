"""A comparison for papers: one table, and one drawing of the paired differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from evalprep.compare.columns import in_own_unit, interval, unit_of
from evalprep.compare.comparison import Comparison
from evalprep.compare.conclusion import BETTER, WORSE, Conclusion
from evalprep.compare.difference import BITS, POINTS, RATIO, Difference
from evalprep.tables import Cell, Column, Kind, Note, Table, Tone
from evalprep.tables import latex_lines as lines_of

_ROW, _TOP, _BOTTOM, _LEFT, _RIGHT, _GAP = 24, 34, 40, 300, 590, 24
_WIDTH = 620
_LABEL = 40  # pixels that a number below the axis takes
_COLOURS = {BETTER: "#1a7f37", WORSE: "#b42318"}
_PLAIN = "#57606a"
_CHARACTERS = 44  # of a name that is drawn


def shown_conclusions(comparison: Comparison) -> list[Conclusion]:
    """What a paper shows: tasks with pairs, their mean, metrics over all rows, suite scores."""
    tasks: list[Conclusion] = [task for task in comparison.tasks if task.difference.n]
    if comparison.overall is not None and len(comparison.tasks) > 1:
        tasks.append(comparison.overall)
    further = [*comparison.metrics, *comparison.stored, *comparison.suite]
    return [item for item in (*tasks, *further) if item.difference.delta is not None]


def comparison_latex(comparison: Comparison) -> str:
    """The comparison as a table for LaTeX; the better side is bold where it is shown to be."""
    level = f"{comparison.confidence:.0%}"
    columns = [
        Column("", Kind.NAME),
        Column("n", Kind.COUNT),
        Column("candidate", Kind.MEASURE),
        Column("baseline", Kind.MEASURE),
        Column(f"difference [{level} interval]", Kind.MEASURE),
        Column("Holm p", Kind.PROBABILITY),
    ]
    notes = [
        Note(f"candidate: {comparison.run}"),
        Note(f"baseline: {comparison.other}"),
        Note("shares in percent, their differences in points"),
        Note("bold: shown to be better, after Holm's adjustment over all scores that decide"),
    ]
    table = Table("Candidate minus baseline, paired by rows", columns, notes=notes)
    for item in shown_conclusions(comparison):
        now, before = item.difference.now, item.difference.previous
        unit = unit_of(item.difference)
        candidate = Cell(unit.score(now), tone=_tone(item, BETTER))
        baseline = Cell(unit.score(before), tone=_tone(item, WORSE))
        change = _change(item.difference)
        table.add(item.name, item.difference.n or None, candidate, baseline, change, item.p_holm)
    return "\n".join(lines_of(table))


def _change(item: Difference) -> str:
    """Difference and interval; perplexities and bits with their unit."""
    return in_own_unit(item) if item.unit in {RATIO, BITS} else interval(item)


def _tone(item: Conclusion, verdict: str) -> Tone:
    return Tone.LEADING if item.verdict == verdict else Tone.PLAIN


def comparison_svg(comparison: Comparison) -> str:
    """The differences with their intervals as SVG, a panel for each unit.

    Differences without an interval are named and not drawn.
    """
    items = shown_conclusions(comparison)
    drawn = [item for item in items if _has_interval(item.difference)]
    panels = _panels(drawn)
    open_names = [item.name for item in items if not _has_interval(item.difference)]
    height = sum(_height(panel) for panel in panels) + _GAP * (len(open_names) + 1)
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    font = 'font-family="sans-serif" font-size="12"'
    title = f"{comparison.run} minus {comparison.other}, {comparison.confidence:.0%} intervals"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    top = 0
    for panel in panels:
        lines += _panel(panel, top)
        top += _height(panel)
    for name in open_names:
        top += _GAP
        text = escape(f"{name}: no interval")
        lines.append(f'<text x="12" y="{top}" fill="{_PLAIN}">{text}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _has_interval(item: Difference) -> bool:
    ends = (item.delta, item.low, item.high)
    return all(value is not None and math.isfinite(value) for value in ends)


def _panels(items: Sequence[Conclusion]) -> list[list[Conclusion]]:
    """The items by unit; those on a scale of their own stand alone."""
    panels: dict[tuple[str, str], list[Conclusion]] = {}
    for item in items:
        unit = POINTS if item.difference.in_points else item.difference.unit
        panels.setdefault((unit, "" if unit else item.name), []).append(item)
    return list(panels.values())


def _height(panel: Sequence[Conclusion]) -> int:
    return _TOP + _ROW * len(panel) + _BOTTOM


def _panel(panel: Sequence[Conclusion], top: int) -> Iterator[str]:
    """The lines of one panel: a row per item around a line at no difference."""
    ends = [0.0]
    for item in panel:
        ends += [item.difference.low or 0.0, item.difference.high or 0.0]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 1.0
    low, high = low - room, high + room

    def across(value: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * (value - low) / (high - low), 1)

    first = top + _TOP
    last = first + _ROW * len(panel)
    unit = unit_of(panel[0].difference)
    zero = across(0.0)
    yield (
        f'<line x1="{zero}" y1="{first - 8}" x2="{zero}" y2="{last}" stroke="{_PLAIN}" '
        'stroke-dasharray="4 3"/>'
    )
    for place, item in enumerate(panel):
        yield from _mark(item, first + _ROW * place + _ROW // 2, across)
    for value in dict.fromkeys((low + room, 0.0, high - room)):
        if value and abs(across(value) - zero) < _LABEL:
            continue
        label = escape(unit.change(value))
        if not value and unit.name != RATIO:
            label = "0"
        yield (
            f'<text x="{across(value)}" y="{last + 16}" text-anchor="middle" '
            f'fill="{_PLAIN}">{label}</text>'
        )
    name = "ratio" if unit.name == "ratio" else unit.suffix.strip()
    text = " ".join(filter(None, ["candidate minus baseline", f"({name})" if name else ""]))
    yield f'<text x="{_LEFT}" y="{top + 18}" fill="{_PLAIN}">{escape(text)}</text>'


def _mark(item: Conclusion, height: int, across: Callable[[float], float]) -> Iterator[str]:
    """An item's name, its interval and its difference."""
    difference = item.difference
    colour = _COLOURS.get(item.verdict, _PLAIN)
    ends = (difference.low, difference.delta, difference.high)
    low, middle, high = (across(value or 0.0) for value in ends)
    name = item.name
    if len(name) > _CHARACTERS:
        name = f"{name[: _CHARACTERS - 1]}…"
    words = escape(f"{item.name}: {_change(difference)}, {item.words}")
    yield f"<g><title>{words}</title>"
    yield f'<text x="{_LEFT - 12}" y="{height + 4}" text-anchor="end">{escape(name)}</text>'
    yield (
        f'<line x1="{low}" y1="{height}" x2="{high}" y2="{height}" stroke="{colour}" '
        'stroke-width="2"/>'
    )
    yield f'<circle cx="{middle}" cy="{height}" r="4" fill="{colour}"/></g>'
