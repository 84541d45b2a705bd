"""The technical report: one Markdown and one HTML file, ordered by principle and requirement."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .registry import PRINCIPLES, SUITE, Benchmark, benchmarks, scored

LEGAL = "A score is a measurement and no legal opinion: the Act sets no threshold for any of these benchmarks."


@dataclass
class Line:
    """One benchmark of the report.

    Attributes:
        benchmark: Which.
        score: Its score; None where it was not evaluated.
        reason: Why it was not.
        raw: Raw metrics, name -> number.
        notes: What a reader should know: helpers, parse rates, what was left out.
        samples: Files with its samples.
        doubt: Said of a score that is made of the few replies that could be read.
    """

    benchmark: Benchmark
    score: float | None = None
    reason: str = ""
    raw: Mapping[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    doubt: str = ""


@dataclass
class Report:
    """What a report shows.

    Attributes:
        model: The model.
        lines: Key -> line, for every benchmark of the registry.
        card: The model's card.
        facts: Settings of the run, name -> text.
        notes: What holds for the whole run.
    """

    model: str
    lines: dict[str, Line]
    card: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def mean(self, lines: list[Line]) -> float | None:
        """Mean of the lines that have a score."""
        known = [line.score for line in lines if line.score is not None]
        return math.fsum(known) / len(known) if known else None

    @property
    def coverage(self) -> str:
        """How many benchmarks have a score."""
        keys = scored()
        return f"{sum(self.lines[key].score is not None for key in keys)} of {len(keys)}"

    def requirements(self, principle: str) -> dict[str, list[Line]]:
        """Requirement -> lines of a principle."""
        found: dict[str, list[Line]] = {}
        for key, one in benchmarks().items():
            if one.principle == principle:
                found.setdefault(one.requirement, []).append(self.lines[key])
        return found


def _two(value: float | None) -> str:
    return "not evaluated" if value is None else f"{value:.2f}"


def markdown(report: Report) -> str:
    """The report as Markdown."""
    out = [f"# COMPL-AI technical report: {report.model}", "", f"{SUITE}. {LEGAL}", ""]
    out += [f"- mean of what was evaluated: {_two(report.mean([report.lines[key] for key in scored()]))}"]
    out += [f"- benchmarks evaluated: {report.coverage}", *(f"- {note}" for note in report.notes), ""]
    for title, values in (("Run", report.facts), *((name.capitalize(), one) for name, one in report.card.items())):
        shown = {name: value for name, value in values.items() if value not in {None, ""}}
        if shown:
            out += [f"## {title}", "", *(f"- {name}: {value}" for name, value in shown.items()), ""]
    for principle in PRINCIPLES:
        requirements = report.requirements(principle)
        out += [f"## {principle}", ""]
        if not requirements:
            out += ["No benchmark of the suite measures this principle.", ""]
        for requirement, lines in requirements.items():
            mean = report.mean(lines)
            out += [f"### {requirement}: {_two(mean)}", "", "| benchmark | measures | score | raw metrics | notes |"]
            out += ["|---|---|---|---|---|", *(_row(line) for line in lines), ""]
    return "\n".join(out)


def _row(line: Line) -> str:
    raw = "; ".join(f"{name} {value:.4g}" for name, value in list(line.raw.items())[:12])
    notes = "; ".join([*([f"not evaluated: {line.reason}"] if line.score is None else []), *line.notes])
    score = f"{_two(line.score)} ({line.doubt})" if line.doubt else _two(line.score)
    cells = (line.benchmark.label, line.benchmark.measures, score, raw, notes)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def page(report: Report) -> str:
    """The report as one HTML page without anything from elsewhere."""
    out = [f"<h1>COMPL-AI technical report: {html.escape(report.model)}</h1>"]
    out.append(f"<p>{html.escape(SUITE)}. {html.escape(LEGAL)}</p><ul>")
    out.append(f"<li>mean of what was evaluated: {_two(report.mean([report.lines[key] for key in scored()]))}</li>")
    out.append(f"<li>benchmarks evaluated: {report.coverage}</li>")
    out += [f"<li>{html.escape(note)}</li>" for note in report.notes]
    out.append("</ul>")
    for title, values in (("Run", report.facts), *((name.capitalize(), one) for name, one in report.card.items())):
        shown = {name: value for name, value in values.items() if value not in {None, ""}}
        if shown:
            items = "".join(f"<dt>{html.escape(n)}</dt><dd>{html.escape(str(v))}</dd>" for n, v in shown.items())
            out.append(f"<h2>{html.escape(title)}</h2><dl>{items}</dl>")
    for principle in PRINCIPLES:
        requirements = report.requirements(principle)
        out.append(f"<h2>{html.escape(principle)}</h2>")
        if not requirements:
            out.append("<p>No benchmark of the suite measures this principle.</p>")
        for requirement, lines in requirements.items():
            out.append(f"<h3>{html.escape(requirement)}: {_two(report.mean(lines))}</h3><table>")
            out.append("<tr><th>benchmark</th><th>score</th><th>raw metrics</th><th>notes</th></tr>")
            out += [_html_row(line) for line in lines]
            out.append("</table>")
    style = (
        "body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}dt{font-weight:bold}"
        "table{border-collapse:collapse;width:100%}td,th{border:1px solid #ccc;padding:.4em .6em;vertical-align:top;"
        "text-align:left}.bar{background:#e4e4e4;width:8em;height:.7em}small{color:#555}"
        ".bar i{display:block;background:#3a7;height:.7em}"
    )
    head = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{html.escape(report.model)}</title>"
    return f"{head}<style>{style}</style><body>{''.join(out)}</body></html>\n"


def _html_row(line: Line) -> str:
    one = line.benchmark
    bar = ""
    if line.doubt:
        bar = f"<br><small>{html.escape(line.doubt)}</small>"
    elif line.score is not None:
        bar = f"<div class='bar'><i style='width:{100 * min(max(line.score, 0), 1):.0f}%'></i></div>"
    raw = "<br>".join(f"{html.escape(name)} {value:.4g}" for name, value in line.raw.items())
    notes = [*([f"not evaluated: {line.reason}"] if line.score is None else []), *line.notes]
    links = "".join(f" <a href='{html.escape(name, quote=True)}'>samples</a>" for name in line.samples)
    return (
        f"<tr><td>{html.escape(one.label)}<br><small>{html.escape(one.measures)}</small></td><td>{_two(line.score)}{bar}"
        f"</td><td>{raw}</td><td>{'<br>'.join(map(html.escape, notes))}{links}</td></tr>"
    )
