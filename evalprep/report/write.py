"""The report's files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from evalprep.errors import Problems, near
from evalprep.report.csvfile import write_csv
from evalprep.report.document import Report
from evalprep.report.markdown import render_markdown
from evalprep.report.page import render
from evalprep.report.sheet import write_xlsx

FORMATS = ("html", "xlsx", "csv", "md", "json")


def check_formats(formats: Sequence[str], known: Sequence[str], problems: Problems) -> None:
    """Note formats of `--format` that nobody writes, or that cannot be written here, before any work is done.

    Args:
        formats: What was asked for; nothing is a mistake as well.
        known: What can be asked for.
        problems: Gets the mistakes.
    """
    for name in formats or [""]:
        if name not in known:
            problems.add(f"unknown format {name!r}", where="--format", allowed=", ".join(known), fix=near(name, known))
    if "xlsx" in formats:
        try:
            import xlsxwriter  # noqa: F401
        except ImportError:
            problems.add("xlsx needs the package xlsxwriter", where="--format", fix="pip install 'evalprep[report]'")


def write_report(report: Report, folder: Path, formats: Sequence[str] = ("html",)) -> list[Path]:
    """Write the report and return the paths, in the order of `formats`.

    Args:
        report: What to write.
        folder: Where to; made if it does not exist. Files of the same names are replaced.
        formats: Some of `FORMATS`: `report.html`, `report.xlsx`, `scores.csv` with `samples.csv`, `report.md`,
            `report.json`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for kind in dict.fromkeys(formats):
        path = folder / f"report.{kind}"
        if kind == "csv":
            written += write_csv(report, folder)
            continue
        if kind == "html":
            # The old page stays until the new one is whole.
            unfinished = path.with_suffix(".part")
            with unfinished.open("w", encoding="utf-8") as file:
                file.writelines(render(report))
            unfinished.replace(path)
        elif kind == "xlsx":
            write_xlsx(report, path)
        elif kind == "md":
            path.write_text(render_markdown(report), encoding="utf-8")
        else:
            path.write_text(
                json.dumps(report.document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace"
            )
        written.append(path)
    return written
