"""All attacks, as the table that docs/reference/measured.md quotes.

    python -m benchmarks.faults [--share 0.1] [--seed 0] [--only NAME ...] [--jobs 2] [--rows FILE]

Exit code 1 where a case fell; the time of the whole is printed below the table. With `--rows` the
rows are kept in a file, and sections that are there already are not run again.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import pkgutil
import sys
import time
from pathlib import Path

import benchmarks.faults
from benchmarks.faults import Row, run_module

#: Modules that make no faults of their own.
SUPPORT = {"commands", "more_forgeries", "mutating", "project", "targets"}


def modules() -> list[str]:
    """The modules that make faults: those that have `rows`."""
    names = (module.name for module in pkgutil.iter_modules(benchmarks.faults.__path__))
    return sorted(name for name in names if not name.startswith("_") and name not in SUPPORT)


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| Faults | Cases | Held | CPU s | Note |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.name} | {row.cases} | {row.held} | {row.cpu_seconds:.0f} | {row.note} |"
        for row in rows
    ]
    return "\n".join(lines)


class Kept:
    """The rows of the sections that have ended, in a file where one is named."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        text = path.read_text() if path is not None and path.exists() else "{}"
        self.rows = {
            name: [Row(**fields) for fields in rows] for name, rows in json.loads(text).items()
        }

    def add(self, name: str, rows: list[Row]) -> None:
        """Keeps the rows of a section."""
        self.rows[name] = rows
        if self._path is not None:
            fields = {
                each: [dataclasses.asdict(row) for row in rows] for each, rows in self.rows.items()
            }
            self._path.write_text(json.dumps(fields, indent=1))


def main() -> int:
    """Runs the modules and prints the table, then each case that fell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=1.0, help="part of the cases, 0 to 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=modules(), default=modules())
    parser.add_argument("--jobs", type=int, default=2, help="sections at the same time")
    parser.add_argument("--rows", type=Path, help="file of the rows of sections that have ended")
    arguments = parser.parse_args()
    started = time.monotonic()
    kept = Kept(arguments.rows)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        arguments.jobs, context, max_tasks_per_child=1
    ) as pool:
        sections = {
            pool.submit(run_module, name, arguments.share, arguments.seed): name
            for name in arguments.only
            if name not in kept.rows
        }
        for section in concurrent.futures.as_completed(sections):
            kept.add(sections[section], section.result())
            passed = time.monotonic() - started
            print(f"{sections[section]}: done after {passed:.0f} s", file=sys.stderr)
    rows = [row for name in arguments.only for row in kept.rows[name]]
    print(table(rows))
    cpu_minutes = sum(row.cpu_seconds for row in rows) / 60
    clock = f"{(time.monotonic() - started) / 60:.0f} minutes by the clock"
    kept_note = f"sections kept in {arguments.rows.name}" if arguments.rows else clock
    print(f"\n{cpu_minutes:.0f} minutes of CPU time, {clock if sections else kept_note}")
    for row in rows:
        for problem in row.fallen:
            print(f"fell: {row.name}: {problem}")
    return int(any(row.fallen for row in rows))


if __name__ == "__main__":
    sys.exit(main())
