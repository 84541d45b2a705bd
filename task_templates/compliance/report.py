"""The technical report: one Markdown and one HTML document of the same parts.

Summary by principle and requirement, origin of the numbers, method, limits, results, appendix, and
the digests of what it was made of.
"""

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
METHOD = (
    "Each benchmark asks the model a fixed set of rows.",
    "A raw metric is computed from the replies, or from the log-likelihoods of given answers.",
    "It is turned into a score from 0 to 1; 1 is best.",
    "The score of a requirement, a principle and the suite is the mean of its benchmarks with one.",
    "95 % intervals show the spread of this run's rows, not doubts about wording or settings.",
    "Empty and unreadable replies are left out and counted (n): they show no absence of a fault.",
    "Some scores correct a rule of the original; its own value stands beside them as compat.",
    "Requirements are mapped to articles of Regulation (EU) 2024/1689 by the pack, from its text.",
)
LIMITS = (
    LEGAL,
    "Scores are relative: they order models that were asked the same rows in the same words.",
    f"{SUITE}.",
)
STAND_IN = "stand-in data"
_STYLE = """
@page { size: A4; margin: 18mm 15mm }
body { font: 15px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em }
h1 { line-height: 1.2 }
table { border-collapse: collapse; width: 100%; margin: .5em 0 }
td, th { border: 1px solid #bbb; padding: .3em .5em; vertical-align: top; text-align: left;
  overflow-wrap: anywhere }
thead th { background: #f2f2f2; overflow-wrap: normal }
tbody th { font-weight: normal }
.facts { table-layout: fixed }
.facts th { width: 11em; background: #f2f2f2 }
.results { table-layout: fixed }
.results th:nth-child(1) { width: 23% }
.results th:nth-child(2), .results th:nth-child(3) { width: 11% }
.results th:nth-child(4) { width: 7% }
.results th:nth-child(5) { width: 15% }
.samples { table-layout: fixed }
.samples td { white-space: pre-wrap; font-size: 85% }
.digests { table-layout: fixed; font-size: 85% }
.digests th { width: 32% }
.digests td { font-family: monospace }
.warning { border: 2px solid #a40000; padding: .5em 1em; font-weight: bold }
section { margin: 1em 0 2em }
svg { max-width: 100% }
@media print {
  body { max-width: none; margin: 0; padding: 0; font-size: 9.5pt }
  h2, h3, h4 { break-after: avoid }
  h2.page, h3.page { break-before: page }
  .summary, .results { font-size: 90% }
  tr, svg { break-inside: avoid }
  thead { display: table-header-group }
  td, th { padding: .2em .4em }
  a { color: inherit }
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
        stands_in: Its rows are the pack's own small ones.
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
    stands_in: bool = False

    @property
    def data(self) -> str:
        """In whose words it asks, and whether of stand-in rows."""
        return "; ".join(filter(None, [self.wording, STAND_IN if self.stands_in else ""]))

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
        subtitle: Run and dates.
        origin: Where the numbers come from, name -> text.
        commands: The calls that made them, each a name with its facts.
        sources: Data and texts that were read, with revision or digest.
        digests: Name of a file -> its SHA-256.
        notes: What holds for the whole run.
        second: The benchmarks of version 2, with the reasons of those that are not run.
    """

    model: str
    lines: dict[str, Line]
    card: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    subtitle: str = ""
    origin: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[Sequence[str]] = ()
    sources: Sequence[str] = ()
    digests: Sequence[tuple[str, str]] = ()
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
        """Returns whether the run has a benchmark of version 2."""
        return any(line.score is not None or line.samples for line in self.second)

    @property
    def stands_in(self) -> bool:
        """Returns whether a benchmark asks stand-in rows."""
        return any(line.stands_in for line in chain(self.lines.values(), self.second))


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


def _raw(line: Line) -> list[str]:
    return [f"{name} {value:.4g}" for name, value in line.raw.items()]


@dataclass(frozen=True)
class _Heading:
    level: int
    text: str
    opens_page: bool = False


@dataclass(frozen=True)
class _Text:
    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class _Items:
    texts: Sequence[str]


@dataclass(frozen=True)
class _Table:
    table: Table
    style: str = ""


@dataclass(frozen=True)
class _PageOnly:
    """Something that Markdown has no form for."""

    html: str


_Block = _Heading | _Text | _Items | _Table | _PageOnly


def markdown(report: Report) -> str:
    """The report as Markdown."""
    out: list[str] = []
    for block in _blocks(report, (*_COLUMNS, *_DETAILS)):
        match block:
            case _Heading(level, text):
                out += [f"{'#' * level} {text}", ""]
            case _Text(text, is_warning):
                out += [f"**{text}**" if is_warning else text, ""]
            case _Items(texts):
                out += [*(f"- {text}" for text in texts), ""]
            case _Table(table):
                out += markdown_lines(table)
                if out[-1]:
                    out.append("")
    return "\n".join(out)


def page(report: Report) -> str:
    """The report as one HTML page, printable on A4, without anything from elsewhere."""
    body = "\n".join(_in_html(block) for block in _blocks(report, _COLUMNS))
    title = html.escape(f"COMPL-AI technical report: {report.model}")
    meta = f"<meta charset='utf-8'><title>{title}</title><style>{_STYLE}</style>"
    main = f"<body><main>{body}</main></body>"
    return f"<!doctype html><html lang='en'>{meta}{main}</html>\n"


def _in_html(block: _Block) -> str:
    match block:
        case _Heading(level, text, opens_page):
            opening = f"h{level} class='page'" if opens_page else f"h{level}"
            return f"<{opening}>{html.escape(text)}</h{level}>"
        case _Text(text, is_warning):
            opening = "p class='warning'" if is_warning else "p"
            return f"<{opening}>{html.escape(text)}</p>"
        case _Items(texts):
            items = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
            return f"<ul>{items}</ul>"
        case _Table(table, style):
            return html_table(table, style=style)
        case _PageOnly(text):
            return text


#: Columns of the results; Markdown, which has no sections of details, has these behind them.
_COLUMNS = ("benchmark", "score", "95 % interval", "n", "wording and data", "notes")
_DETAILS = ("measures", "raw metrics", "decoding")


def _blocks(report: Report, columns: Sequence[str]) -> Iterator[_Block]:
    """The parts of a report, in order, with these columns of the results."""
    yield _Heading(1, f"COMPL-AI technical report: {report.model}")
    yield _Text(report.subtitle)
    if report.stands_in:
        yield _Text(_NO_EVIDENCE, is_warning=True)
    yield from _summary(report)
    yield _Heading(2, "Origin of the numbers", opens_page=True)
    yield _Table(_facts(report.origin), "facts")
    if report.commands:
        yield _Heading(3, "Commands")
        heads = [Column("command", Kind.NAME), *map(Column, COMMAND_FACTS)]
        yield _Table(Table("", heads, list(report.commands)))
    yield _Heading(2, "Method")
    yield _Items(METHOD)
    yield _Heading(2, "Limits")
    lines = report.lines.values()
    doubts = [f"{line.benchmark.label}: {line.doubt}" for line in lines if line.doubt]
    absent = [
        f"not evaluated: {line.benchmark.label}: {line.reason}"
        for line in lines
        if line.score is None
    ]
    yield _Items([*LIMITS, *report.notes, *doubts, *absent])
    yield _Heading(2, "Results", opens_page=True)
    for principle in PRINCIPLES:
        yield from _principle(report, principle, columns)
    yield from _appendix(report, columns)
    if report.digests:
        yield _Heading(2, "Digests of the files that this report is made of", opens_page=True)
        heads = [Column("file", Kind.NAME), Column("SHA-256")]
        yield _Table(Table("", heads, list(report.digests)), "digests")


_NO_EVIDENCE = (
    f"No evidence about a model: some benchmarks ask small stand-in rows (marked: {STAND_IN})."
)


def _summary(report: Report) -> Iterator[_Block]:
    yield _Heading(2, "Summary")
    yield _Items(
        [
            f"mean of the evaluated benchmarks: {_two(report.mean)}",
            f"benchmarks evaluated: {report.coverage}",
            *report.notes,
        ]
    )
    bars = [
        _bar(principle, report.of_principle(principle), top=30 * place)
        for place, principle in enumerate(PRINCIPLES)
    ]
    size = f"viewBox='0 0 800 {30 * len(PRINCIPLES)}' width='800' font-size='14'"
    label = "aria-label='Scores by principle'"
    yield _PageOnly(f"<svg role='img' {label} {size}>{''.join(bars)}</svg>")
    columns = [
        Column("principle", Kind.NAME),
        Column("requirement"),
        Column("articles"),
        Column("score", Kind.MEASURE),
        Column("scored", Kind.MEASURE),
    ]
    table = Table("", columns)
    for principle in PRINCIPLES:
        requirements = report.requirements(principle)
        if not requirements:
            table.add(principle, "no benchmark of the suite", "", "not evaluated", "0 of 0")
        for requirement, lines in requirements.items():
            mark = f", {STAND_IN}" if any(line.stands_in for line in lines) else ""
            evaluated = f"{sum(line.score is not None for line in lines)} of {len(lines)}{mark}"
            articles = ARTICLES[requirement].removeprefix("articles ").removeprefix("article ")
            table.add(principle, requirement, articles, _two(mean_of(lines)), evaluated)
    yield _Table(table, "summary")


def _facts(entries: Mapping[str, str]) -> Table:
    """Names with their texts, as a table without a head."""
    return Table("", [Column("", Kind.NAME), Column("")], list(entries.items()))


#: What is known of a call beside its name.
COMMAND_FACTS = ("started (UTC)", "duration", "try", "tasks", "lm-eval", "hardware")


def _principle(report: Report, principle: str, columns: Sequence[str]) -> Iterator[_Block]:
    requirements = report.requirements(principle)
    if not requirements:
        yield _Heading(3, principle)
        yield _Text(NO_MEASURE)
        return
    yield _Heading(3, heading(principle, report.of_principle(principle)))
    for requirement, lines in requirements.items():
        yield _Heading(4, heading(requirement, lines))
        yield _Text(f"Serves {ARTICLES[requirement]} of the AI Act.")
        yield _result_table(lines, columns)


def _appendix(report: Report, columns: Sequence[str]) -> Iterator[_Block]:
    yield _Heading(2, "Appendix", opens_page=True)
    yield _Heading(3, "Model card")
    has_card = False
    for name, entries in report.card.items():
        stated = {key: str(value) for key, value in entries.items() if value not in {None, ""}}
        if stated:
            has_card = True
            yield _Heading(4, name.capitalize())
            yield _Table(_facts(stated), "facts")
    if not has_card:
        yield _Text("No card: put model_card.md beside the results (evalprep init --model_card).")
    yield _Heading(3, "Data and texts")
    yield _Items(report.sources or ["not recorded"])
    if report.second_ran:
        yield _Heading(3, SECOND)
        yield _Text(SECOND_NOTE)
        yield _result_table(report.second, columns)
    ran = [line for line in (*report.lines.values(), *report.second) if line.samples]
    yield _PageOnly("<h3 class='page'>Benchmarks in detail</h3>" if ran else "")
    yield from (_PageOnly(_page_details(line)) for line in ran)


def _result_table(lines: Sequence[Line], names: Sequence[str]) -> _Table:
    kinds = {"benchmark": Kind.NAME, "score": Kind.MEASURE, "n": Kind.MEASURE}
    kinds["95 % interval"] = Kind.MEASURE
    table = Table("", [Column(name, kinds.get(name, Kind.TEXT)) for name in names])
    for line in lines:
        # Name of a column -> the text of a benchmark.
        score = _two(line.score)
        if line.doubt:
            score += f" ({line.doubt})"
        interval = "" if line.score is None else "none"
        if line.score is not None and line.interval is not None:
            interval = f"{line.interval[0]:.2f} to {line.interval[1]:.2f}"
        texts = {
            "benchmark": line.benchmark.label,
            "measures": line.benchmark.measures,
            "score": score,
            "95 % interval": interval,
            "n": line.n,
            "wording and data": line.data,
            "raw metrics": "; ".join(_raw(line)),
            "decoding": "; ".join(line.decoding),
            "notes": "; ".join(note for note in line.all_notes if note != line.doubt),
        }
        table.add(*(texts[name] for name in names))
    return _Table(table, "results")


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


def _page_details(line: Line) -> str:
    """The details of one benchmark and its first sample rows."""
    details = (line.benchmark.measures, "\n".join(_raw(line)), "\n".join(line.decoding))
    named = zip(_DETAILS, details, strict=True)
    facts = html_table(_facts({name: text for name, text in named if text}), style="facts")
    samples = ""
    if line.rows:
        rows = [(row.prompt, row.reply, row.metrics) for row in line.rows]
        table = Table("", [Column(name) for name in ("prompt", "reply", "scored")], rows)
        samples = html_table(table, style="samples")
    paths = [html.escape(path, quote=True) for path in line.samples]
    links = " ".join(f"<a href='{path}'>samples</a>" for path in paths)
    title = f"<h4>{html.escape(line.benchmark.label)}</h4>"
    return f"<section>{title}{facts}{samples}{links}</section>"
