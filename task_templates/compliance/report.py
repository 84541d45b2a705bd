"""The technical report: one Markdown and one HTML file, ordered by principle and requirement."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from evalprep.packapi import Column, Kind, Table, html_table, markdown_lines

from .registry import ARTICLES, PRINCIPLES, SUITE, Benchmark, benchmarks, scored

LEGAL = (
    "A score is a measurement and no legal opinion: the Act sets no threshold for any of these "
    "benchmarks."
)
NO_MEASURE = "No benchmark of the suite measures this principle."
SECOND = "COMPL-AI v2"
SECOND_NOTE = (
    "Text benchmarks of version 2. Their scores are in no mean above and are not comparable with "
    "those of version 1."
)
_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em }
dt { font-weight: bold }
table { border-collapse: collapse; width: 100%; margin: .5em 0; table-layout: fixed }
td, th { border: 1px solid #bbb; padding: .3em .5em; vertical-align: top; text-align: left;
  overflow-wrap: anywhere }
th { width: 12em; background: #f2f2f2 }
.samples th { width: auto }
.samples td { white-space: pre-wrap; font-size: 85% }
section { margin: 1em 0 2em }
svg { max-width: 100% }
@media print {
  body { max-width: none; font-size: 10pt }
  section, tr { break-inside: avoid }
  h2 { break-before: page }
}
"""


@dataclass
class Shown:
    """One sample row of a benchmark: what was asked, what the model replied, how it was scored."""

    prompt: str
    reply: str
    metrics: str


@dataclass
class Line:
    """One benchmark of the report.

    Attributes:
        benchmark: Which.
        score: Its score; None where it was not evaluated.
        interval: Its 95 % interval; None where it has none.
        n: Rows, or readable rows of all rows; empty where unknown.
        reason: Why it was not evaluated.
        wording: In whose words it asks.
        raw: Raw metrics, name -> number.
        notes: What a reader should know: helpers, parse rates, what was left out.
        decoding: Decoding settings, one text per task.
        samples: Files with its samples.
        rows: The first sample rows.
        doubt: Said of a score that is made of the few replies that could be read.
    """

    benchmark: Benchmark
    score: float | None = None
    interval: Sequence[float] | None = None
    n: str = ""
    reason: str = ""
    wording: str = ""
    raw: Mapping[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    decoding: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    rows: list[Shown] = field(default_factory=list)
    doubt: str = ""

    @property
    def all_notes(self) -> list[str]:
        """The notes, and first why there is no score."""
        notes = []
        if self.score is None:
            notes.append(f"not evaluated: {self.reason}")
        if self.doubt:
            notes.append(self.doubt)
        return notes + self.notes


@dataclass
class Report:
    """The content of a report.

    Attributes:
        model: The model.
        lines: Key -> line, for every benchmark of the registry.
        card: The model's card.
        facts: Settings of the run, name -> text.
        sources: Data and texts that were read, with revision or digest.
        notes: What holds for the whole run.
        second: The benchmarks of version 2, with the reasons of those that are not run.
    """

    model: str
    lines: dict[str, Line]
    card: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    second: Sequence[Line] = ()

    @property
    def coverage(self) -> str:
        """Returns how many benchmarks have a score."""
        keys = scored()
        count = sum(self.lines[key].score is not None for key in keys)
        return f"{count} of {len(keys)}"

    @property
    def mean(self) -> float | None:
        """Mean of the benchmarks that have a score."""
        return mean_of(self.lines[key] for key in scored())

    def requirements(self, principle: str) -> dict[str, list[Line]]:
        """Requirement -> lines of a principle."""
        lines: dict[str, list[Line]] = {}
        for key, benchmark in benchmarks().items():
            if benchmark.principle == principle:
                lines.setdefault(benchmark.requirement, []).append(self.lines[key])
        return lines

    def of_principle(self, principle: str) -> list[Line]:
        """All lines of a principle."""
        return list(chain.from_iterable(self.requirements(principle).values()))

    @property
    def second_ran(self) -> bool:
        """Tells whether the run has a benchmark of version 2."""
        return any(line.score is not None or line.samples for line in self.second)

    def sections(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Titles and entries of the run and of the model's card; empty values are left out."""
        sections: list[tuple[str, Mapping[str, Any]]] = [("Run", self.facts)]
        for name, entries in self.card.items():
            sections.append((name.capitalize(), entries))
        for title, entries in sections:
            shown = {name: value for name, value in entries.items() if value not in {None, ""}}
            if shown:
                yield title, shown


def mean_of(lines: Iterator[Line] | Sequence[Line]) -> float | None:
    """Mean of the lines that have a score."""
    known = [line.score for line in lines if line.score is not None]
    return math.fsum(known) / len(known) if known else None


def heading(title: str, lines: Sequence[Line]) -> str:
    """A title with its mean and coverage.

    `Capabilities: 0.31, 4 of 5 benchmarks: HumanEval missing`.
    """
    missing = [line.benchmark.short for line in lines if line.score is None]
    counted = f"{len(lines) - len(missing)} of {len(lines)} benchmarks"
    absent = f": {', '.join(missing)} missing" if missing else ""
    return f"{title}: {_two(mean_of(lines))}, {counted}{absent}"


def _two(value: float | None) -> str:
    return "not evaluated" if value is None else f"{value:.2f}"


def _interval(line: Line) -> str:
    if line.score is None:
        return ""
    if line.interval is None:
        return "none"
    return f"{line.interval[0]:.2f} to {line.interval[1]:.2f}"


def _raw(line: Line) -> list[str]:
    return [f"{name} {value:.4g}" for name, value in line.raw.items()]


# --- Markdown


def markdown(report: Report) -> str:
    """The report as Markdown."""
    out = [f"# COMPL-AI technical report: {report.model}", "", f"{SUITE}. {LEGAL}", ""]
    out += [f"- {text}" for text in _summary(report)]
    out.append("")
    for title, entries in report.sections():
        items = [f"- {name}: {value}" for name, value in entries.items()]
        out += [f"## {title}", "", *items, ""]
    if report.sources:
        items = [f"- {source}" for source in report.sources]
        out += ["## Data and texts", "", *items, ""]
    for principle in PRINCIPLES:
        out += _markdown_principle(report, principle)
    if report.second_ran:
        out += [f"## {SECOND}", "", SECOND_NOTE, "", *_markdown_table(report.second)]
    return "\n".join(out)


def _summary(report: Report) -> list[str]:
    return [
        f"mean of what was evaluated: {_two(report.mean)}",
        f"benchmarks evaluated: {report.coverage}",
        *report.notes,
    ]


def _markdown_principle(report: Report, principle: str) -> Iterator[str]:
    requirements = report.requirements(principle)
    if not requirements:
        yield from (f"## {principle}", "", NO_MEASURE, "")
        return
    yield from (f"## {heading(principle, report.of_principle(principle))}", "")
    for requirement, lines in requirements.items():
        yield from (f"### {heading(requirement, lines)}", "")
        yield from (f"Serves {ARTICLES[requirement]} of the AI Act.", "")
        yield from _markdown_table(lines)


def _markdown_table(lines: Sequence[Line]) -> Iterator[str]:
    columns = [
        Column("benchmark", Kind.NAME),
        Column("measures"),
        Column("score", Kind.MEASURE),
        Column("95 % interval", Kind.MEASURE),
        Column("n", Kind.MEASURE),
        *map(Column, ("wording", "raw metrics", "notes")),
    ]
    table = Table("", columns)
    for line in lines:
        table.add(*_entries(line))
    yield from markdown_lines(table)


def _entries(line: Line) -> tuple[str, ...]:
    """The texts of a benchmark in the table."""
    score = _two(line.score)
    if line.doubt:
        score += f" ({line.doubt})"
    notes = [note for note in line.all_notes if note != line.doubt]
    return (
        line.benchmark.label,
        line.benchmark.measures,
        score,
        _interval(line),
        line.n,
        line.wording,
        "; ".join(_raw(line)),
        "; ".join([*notes, *line.decoding]),
    )


# --- HTML


def page(report: Report) -> str:
    """The report as one HTML page, printable, without anything from elsewhere."""
    body = "\n".join(_page_parts(report))
    title = html.escape(report.model)
    meta = f"<meta charset='utf-8'><title>{title}</title><style>{_STYLE}</style>"
    main = f"<body><main>{body}</main></body>"
    return f"<!doctype html><html lang='en'>{meta}{main}</html>\n"


def _page_parts(report: Report) -> Iterator[str]:
    yield _tag("h1", f"COMPL-AI technical report: {report.model}")
    yield _tag("p", f"{SUITE}. {LEGAL}")
    yield _list(_summary(report))
    yield _chart(report)
    for title, values in report.sections():
        yield _tag("h2", title)
        items = values.items()
        entries = (_tag("dt", name) + _tag("dd", str(value)) for name, value in items)
        yield f"<dl>{''.join(entries)}</dl>"
    if report.sources:
        yield _tag("h2", "Data and texts") + _list(report.sources)
    for principle in PRINCIPLES:
        yield from _page_principle(report, principle)
    if report.second_ran:
        yield _tag("h2", SECOND) + _tag("p", SECOND_NOTE)
        yield from map(_page_benchmark, report.second)


def _tag(name: str, text: str) -> str:
    return f"<{name}>{html.escape(text)}</{name}>"


def _list(texts: Sequence[str]) -> str:
    items = "".join(_tag("li", text) for text in texts)
    return f"<ul>{items}</ul>"


def _chart(report: Report) -> str:
    """Bars of the principles from 0 to 1, each with its mean and how many benchmarks it is of."""
    bars = []
    for place, principle in enumerate(PRINCIPLES):
        lines = report.of_principle(principle)
        bars.append(_bar(principle, lines, top=30 * place))
    size = f"viewBox='0 0 800 {30 * len(PRINCIPLES)}' width='800' font-size='14'"
    label = "aria-label='Scores by principle'"
    return f"<svg role='img' {label} {size}>{''.join(bars)}</svg>"


def _bar(principle: str, lines: Sequence[Line], top: int) -> str:
    """The name of a principle, a bar of its mean on a grey one, and the mean in figures."""
    value = mean_of(lines)
    width = 300 * min(max(value or 0.0, 0.0), 1.0)
    count = sum(line.score is not None for line in lines)
    text = "no benchmark"
    if lines:
        text = f"{_two(value)} ({count} of {len(lines)})"
    place = f"x='310' y='{top + 4}'"
    return (
        f"<text x='0' y='{top + 17}'>{html.escape(principle)}</text>"
        f"<rect {place} width='300' height='18' fill='#e4e4e4'/>"
        f"<rect {place} width='{width:.0f}' height='18' fill='#2b7a5b'/>"
        f"<text x='620' y='{top + 17}'>{text}</text>"
    )


def _page_principle(report: Report, principle: str) -> Iterator[str]:
    requirements = report.requirements(principle)
    if not requirements:
        yield _tag("h2", principle) + _tag("p", NO_MEASURE)
        return
    yield _tag("h2", heading(principle, report.of_principle(principle)))
    for requirement, lines in requirements.items():
        yield _tag("h3", heading(requirement, lines))
        yield _tag("p", f"Serves {ARTICLES[requirement]} of the AI Act.")
        yield from map(_page_benchmark, lines)


def _page_benchmark(line: Line) -> str:
    """The table of one benchmark and its sample rows."""
    entries = {
        "measures": [line.benchmark.measures],
        "score": [_two(line.score)],
        "95 % interval": [_interval(line)],
        "n": [line.n],
        "wording": [line.wording],
        "decoding": line.decoding,
        "raw metrics": _raw(line),
        "notes": line.all_notes,
    }
    facts = Table("", [Column("", Kind.NAME), Column("")])
    for name, texts in entries.items():
        if any(texts):
            facts.add(name, "\n".join(texts))
    paths = [html.escape(path, quote=True) for path in line.samples]
    links = " ".join(f"<a href='{path}'>samples</a>" for path in paths)
    title = _tag("h4", line.benchmark.label)
    return f"<section>{title}{html_table(facts)}{_sample_table(line)}{links}</section>"


def _sample_table(line: Line) -> str:
    if not line.rows:
        return ""
    rows = [(row.prompt, row.reply, row.metrics) for row in line.rows]
    table = Table("", [Column(name) for name in ("prompt", "reply", "scored")], rows)
    return html_table(table, style="samples")
