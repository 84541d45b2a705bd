"""The folders that verbs write beside the files of a run, with its rows and values once more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalprep.files import as_mapping, read_json

SCORES_FOLDER = "scores_"
REPORT_FOLDER = "report_"
EXPORT_FOLDER = "export_"
#: Formats of `export` that are also read.
_READABLE = re.compile(rf"{EXPORT_FOLDER}(?:every-eval-ever|inspect|csv|parquet)_.+")
#: What the files of results and logs end with.
SUFFIXES = (".eval", ".json", ".jsonl", ".parquet", ".json.gz", ".jsonl.gz")
_OF_PACKAGES = {"node_modules", "__pycache__"}
_FILES_OF_REPORT = ("report.html", "report.json", "report.md", "report.xlsx", "samples.csv")


#: The scores in such a folder, and what they are called in the file.
SCORES = "scores.json"
KIND_OF_SCORES = "evalprep scores"


class KeptScores(msgspec.Struct, frozen=True):
    """The part of a file of scores that is read again.

    Attributes:
        folder: The folder of the run, as `score` wrote it; empty in files of `export`.
        model: The model as it was named.
        results: Pack and score -> its result.
    """

    folder: str = ""
    model: str = ""
    results: Mapping[str, Mapping[str, Any]] = {}


def read_scores(file: Path) -> KeptScores | None:
    """Returns the scores that `score` wrote into a file; None for a file of anybody else.

    Raises:
        NotRead: it is not a regular file, or a link out of the place that the user named.
        OSError: it cannot be opened.
    """
    try:
        content = as_mapping(read_json(file))
    except ValueError:
        return None
    results = content.get("results")
    if content.get("kind") != KIND_OF_SCORES or not isinstance(results, dict):
        return None
    return KeptScores(
        folder=str(content.get("folder") or ""),
        model=str(content.get("model") or ""),
        results={name: values for name, values in results.items() if isinstance(values, dict)},
    )


def is_written_beside(folder: Path) -> bool:
    """Returns whether a verb wrote a folder, by its name and the files in it."""
    if _READABLE.fullmatch(folder.name):
        return True
    if folder.name.startswith(SCORES_FOLDER):
        return (folder / SCORES).is_file()
    is_named = folder.name.startswith(REPORT_FOLDER)
    return is_named and any((folder / name).is_file() for name in _FILES_OF_REPORT)


def is_passed_over(folder: Path) -> bool:
    """Returns whether a folder is hidden, of a package or written by a verb."""
    is_hidden = folder.name in _OF_PACKAGES or folder.name.startswith(".")
    return is_hidden or is_written_beside(folder)
