"""Many models side by side in the original's columns.

all_results.csv, with the leaderboard's page beside it; of two models also a table of benchmarks
with the paired differences that the leaderboard concludes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from custom_metrics.compliance.reporting import round_3_significant
from evalprep.packapi import (
    Column,
    ExportBoard,
    ExportCell,
    ExportRow,
    Kind,
    Table,
    escape_markdown,
    make_folder,
    markdown_lines,
    write_atomically,
    write_rows,
)

from .outcome import DEBUG, STANDS_IN
from .registry import SUITE, scored, second_version
from .wording import OWN_WORDING, V1_WORDING

CSV = "all_results.csv"
PAGE = "all_results.html"
PAIR = "two_models.md"
MEAN = "compliance_mean"
TRIAL = "a trial over a part of the rows"
_NOTHING = ExportCell()


def write_tables(board: ExportBoard, folder: Path) -> list[Path]:
    """Writes both; nothing without rows."""
    if not board.rows:
        return []
    make_folder(folder, within=folder.parent)
    write_rows(lines(board.rows), folder / CSV)
    write_atomically(folder / PAGE, board.page())
    written = [folder / CSV, folder / PAGE]
    if board.differences:
        write_atomically(folder / PAIR, two_models(board))
        written.append(folder / PAIR)
    return written


def two_models(board: ExportBoard) -> str:
    """Two models in one table as Markdown: a row per benchmark with its paired difference."""
    first, second = board.rows
    columns = [
        Column("benchmark", Kind.NAME),
        Column("requirement"),
        *(Column(name, Kind.MEASURE) for name in (first.label, second.label, "difference")),
        Column("verdict"),
    ]
    table = Table("", columns)
    for benchmark in (*scored().values(), *second_version().values()):
        difference = board.differences.get(benchmark.score)
        if difference is None:
            continue
        points, interval = "unknown", ""
        if difference.delta is not None:
            points, interval = f"{100 * difference.delta:+.1f}", " (no interval)"
            if difference.low is not None and difference.high is not None:
                interval = f" ({100 * difference.low:+.1f} to {100 * difference.high:+.1f})"
        table.add(
            benchmark.label,
            benchmark.requirement,
            _share(first, benchmark.score),
            _share(second, benchmark.score),
            f"{points}{interval}",
            difference.words,
        )
    title = escape_markdown(f"COMPL-AI: {second.label} against {first.label}")
    lead = f"{SUITE}. Differences in points, with the 95 % interval of paired rows."
    return "\n".join([f"# {title}", "", lead, "", *markdown_lines(table)])


def _share(row: ExportRow, score: str) -> str:
    cell = row.cells.get(score, _NOTHING)
    return f"none: {cell.reason}" if cell.value is None else f"{cell.value:.3f}"


def lines(rows: Sequence[ExportRow]) -> Iterator[list[str | float | int]]:
    """The table, names first; the best mean comes first, as the original sorts.

    The last column says which values follow another rule or another question than the other rows',
    since neither order nor mean knows of that.
    """
    known = scored()
    yield [
        "model_name",
        "aggregate_score",
        "benchmarks_completed",
        *known,
        "suite",
        "wording",
        "may not be compared",
    ]
    for row in sorted(
        rows, key=lambda export_row: (-(_value(export_row, MEAN) or -1.0), export_row.label)
    ):
        values = [_value(row, benchmark.score) for benchmark in known.values()]
        completed = f"{sum(value is not None for value in values)} of {len(known)}"
        numbers = [round_3_significant(value=value) for value in (_value(row, MEAN), *values)]
        # Which benchmarks asked in whose words.
        keys: dict[str, list[str]] = {}
        for key, benchmark in scored().items():
            notes = row.cells.get(benchmark.score, _NOTHING).notes
            for wording in (V1_WORDING, OWN_WORDING):
                if wording in notes:
                    keys.setdefault(wording, []).append(key)
        yield [
            row.label,
            numbers[0],
            completed,
            *numbers[1:],
            SUITE,
            "; ".join(f"{wording}: {', '.join(names)}" for wording, names in keys.items()),
            _apart(row),
        ]


def _value(row: ExportRow, score: str) -> float | None:
    return row.cells.get(score, _NOTHING).value


def _apart(row: ExportRow) -> str:
    """Each reason once, with the benchmarks that it is about."""
    about: dict[str, list[str]] = {}
    if row.trial:
        about[TRIAL] = ["all or some benchmarks"]
    if any(STANDS_IN in cell.notes for cell in row.cells.values()):
        about[STANDS_IN] = ["all or some benchmarks"]
    columns = {key: benchmark.score for key, benchmark in scored().items()}
    for key, score in {"aggregate_score": MEAN, **columns}.items():
        cell = row.cells.get(score, _NOTHING)
        of_debug_runs = [note for note in cell.notes if note.startswith(DEBUG)]
        for reason in (*cell.apart, *of_debug_runs):
            about.setdefault(reason, []).append(key)
    return "; ".join(f"{', '.join(keys)}: {reason}" for reason, keys in about.items())
