"""The folders that verbs write beside the files of a run, with its rows and values once more."""

from __future__ import annotations

import re
from pathlib import Path

SCORES_FOLDER = "scores_"
REPORT_FOLDER = "report_"
EXPORT_FOLDER = "export_"
#: Formats of `export` that are also read.
_READABLE = re.compile(rf"{EXPORT_FOLDER}(?:every-eval-ever|inspect|csv|parquet)_.+")
#: What the files of results and logs end with.
SUFFIXES = (".eval", ".json", ".jsonl", ".parquet", ".json.gz", ".jsonl.gz")
_OF_PACKAGES = {"node_modules", "__pycache__"}
_FILES_OF_REPORT = ("report.html", "report.json", "report.md", "report.xlsx", "samples.csv")


def is_written_beside(folder: Path) -> bool:
    """Returns whether a verb wrote a folder, by its name and the files in it."""
    if _READABLE.fullmatch(folder.name):
        return True
    if folder.name.startswith(SCORES_FOLDER):
        return (folder / "scores.json").is_file()
    is_named = folder.name.startswith(REPORT_FOLDER)
    return is_named and any((folder / name).is_file() for name in _FILES_OF_REPORT)


def is_passed_over(folder: Path) -> bool:
    """Returns whether a folder is hidden, of a package or written by a verb."""
    is_hidden = folder.name in _OF_PACKAGES or folder.name.startswith(".")
    return is_hidden or is_written_beside(folder)
