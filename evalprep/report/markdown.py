"""Markdown: the numbers of the report for a pull request, an issue or a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evalprep.numbers import number, percent, probability
from evalprep.report.document import Report
from evalprep.report.rows import comparison_names, conclusions_of, rating_tables
from evalprep.score.unsampled import WITHOUT_SAMPLES

# An underscore inside a word is no markup, and task names are full of them.
_SPECIAL = re.compile(r"([\\`*{}\[\]<>#|~]|(?<!\w)_|_(?!\w))")


def escape(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> escape("a|b <i>")
    'a\\|b \\<i\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def table_lines(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table: the first column to the left, the others to the right; cells as Markdown."""
    yield f"| {' | '.join(names)} |"
    yield f"|{'|'.join([' --- '] + [' ---: '] * (len(names) - 1))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _range(low: float | None, high: float | None, *, binary: bool, sign: bool = False) -> str:
    if low is None or high is None:
        return ""
    return f" [{percent(low, binary=binary, sign=sign)}, {percent(high, binary=binary, sign=sign)}]"


def _scores(document: dict[str, Any]) -> Iterator[list[str]]:
    for task in document["tasks"]:
        cells, published = [], "-"
        for run in task["runs"]:
            if run is None:
                cells.append("-")
                continue
            score = run["score"]
            bounds = _range(score["low"], score["high"], binary=task["percent"])
            cells.append(f"{percent(score['value'], binary=task['percent'])}{bounds}")
            if published == "-" and run["published"]:
                published = percent(run["published"]["value"])
        rows = "/".join(dict.fromkeys(str(run["rows"]) for run in task["runs"] if run))
        yield [escape(task["name"]), rows, *cells, published]


def _stored(document: dict[str, Any]) -> Iterator[list[str]]:
    for one in document["stored"]:
        cells = []
        for run in one["runs"]:
            error = (
                "" if run is None or run["stderr"] is None else f" ± {percent(run['stderr'], binary=one['percent'])}"
            )
            cells.append("-" if run is None else f"{percent(run['value'], binary=one['percent'])}{error}")
        rows = "/".join(dict.fromkeys(_known(run["n"]) for run in one["runs"] if run))
        metric = one["metric"] if one["filter"] == "none" else f"{one['metric']} ({one['filter']})"
        yield [escape(one["task"]), escape(metric), rows, *cells]


def _suite(document: dict[str, Any]) -> Iterator[list[str]]:
    for score in document["scores"]:
        cells = []
        for run in score["runs"]:
            if run is None:
                cells.append("-")
            elif run["agg_value"] is None:
                cells.append(escape(run.get("reason", "-")))
            else:
                bounds = run.get("interval")
                doubt = f"; {run['few_read']}" if run["few_read"] else ""
                cells.append(
                    number(run["agg_value"])
                    + (f" [{number(bounds[0])}, {number(bounds[1])}]" if bounds else "")
                    + doubt
                )
        published = [f"{number(one['value'])} ({escape(one['source'])})" for one in score["published"][:1]]
        yield [escape(score["title"] or score["name"]), *cells, "".join(published) or "-"]


def _compared(comparison: dict[str, Any]) -> Iterator[list[str]]:
    for one in conclusions_of(comparison):
        points = one["binary"] or one["unit"] == "points"
        scaled = points and one["kind"] in {"task", "overall", "stored"}
        before = percent(one["previous"], binary=scaled or (comparison["before"] is None and one["kind"] == "task"))
        delta = percent(one["delta"], binary=points, sign=True) + _range(
            one["low"], one["high"], binary=points, sign=True
        )
        p = one["p_holm"] if one["p_holm"] is not None else one["p"]
        yield [
            escape(one["name"]),
            str(one["n"]),
            f"{percent(one['now'], binary=scaled)} / {before}",
            f"log ratio {delta}" if one["unit"] == "ratio" else delta,
            f"+{one['gained']} / -{one['lost']}" if one["kind"] in {"task", "overall"} else "",
            probability(p),
            one["verdict"],
            escape(one["words"]),
        ]


def _known(count: int | None) -> str:
    return "not known" if count is None else str(count)


def _cut(run: dict[str, Any]) -> str:
    text = _known(run["truncated"])
    if run["truncated"] is not None and run["truncated_unknown"]:
        text += f" ({run['truncated_unknown']} not known)"
    return f"{text}, {run['truncated_suspected']} end at one length" if run["truncated_suspected"] else text


def render_markdown(report: Report) -> str:
    """The report's numbers as Markdown tables; samples are left to the page and the spreadsheet."""
    document = report.document
    labels = [escape(run["label"]) for run in document["runs"]]
    lines = [f"# {escape(document['title'])}", ""]
    lines += [f"Runs: {', '.join(labels)}. Percent, 95 % intervals in brackets.", ""]
    if document["tasks"]:
        lines += [*table_lines(["Task", "n", *labels, "published, same rows"], _scores(document))]
    if document["stored"]:
        lines += [f"## Tasks {WITHOUT_SAMPLES}", "", *table_lines(["Task", "metric", "n", *labels], _stored(document))]
    if document["scores"]:
        lines += ["## Suite scores", "", *table_lines(["Score", *labels, "published"], _suite(document))]
    for name, comparison in zip(comparison_names(report), document["comparisons"], strict=True):
        lines += [f"## {escape(name[0].upper() + name[1:])}", ""]
        lines += [f"> {escape(warning)}\n" for warning in comparison["warnings"]]
        names = [
            "Task",
            "n",
            "candidate / baseline",
            "difference in points",
            "gained / lost",
            "p (Holm)",
            "verdict",
            "in words",
        ]
        lines += table_lines(names, _compared(comparison))
    for title, columns, found in rating_tables(document):
        cells = [[escape("" if one is None else f"{one:g}" if isinstance(one, float) else str(one)) for one in row]
                 for row in found]  # fmt: skip
        lines += [f"## {title}", "", *table_lines(columns, cells)]
    names = ["Task", "run", "rows", "no answer found", "cut off", "empty", "damaged lines"]
    audit = [
        [
            escape(task["name"]),
            label,
            *(_known(run[kind]) for kind in ("rows", "unparsed")),
            _cut(run),
            *(_known(run[kind]) for kind in ("empty", "damaged")),
        ]
        for task in document["tasks"]
        for label, run in zip(labels, task["runs"], strict=True)
        if run
    ]
    lines += ["## Replies", "", *table_lines(names, audit)] if audit else []
    lines.append(f"Written {document['created']} by evalprep {document['evalprep']}.")
    return "\n".join(lines) + "\n"
