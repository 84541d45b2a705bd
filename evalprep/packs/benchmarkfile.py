"""`eval.yaml`, which makes a data set on the hub a benchmark that inspect_ai runs.

Source: the hub's page on evaluation results. Its fields name one column each, and its scorers are
those of inspect_ai, so that not every pack has such a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evalprep.packs.numbered import ONLY_LETTERS
from evalprep.yamltext import yaml_text

if TYPE_CHECKING:
    from evalprep.packs.skeletons import Questions

FILE = "eval.yaml"
_HEAD = "# For the data set's repository on the hub, which checks it when it is pushed.\n"
#: Kind of a pack -> scorer of inspect_ai that decides alike.
_SCORERS: dict[str, dict[str, Any]] = {
    "exact": {"name": "exact"},
    "number": {"name": "match", "args": {"numeric": True}},
    "choice": {"name": "choice"},
    "judge": {"name": "model_graded_qa"},
}
#: A column with its options below, which inspect_ai lists itself.
_WITH_OPTIONS = re.compile(r"\{\{\s*(\w+)\s*\}\}\n\{\{\s*listed\s*\}\}")
_SPLIT = "train"  # as the hub reads a single file


def has_benchmark_file(kind: str, rows: Questions) -> bool:
    """Returns whether the file can say what a pack asks and how it scores.

    Args:
        kind: How replies are scored.
        rows: The rows of the pack.
    """
    if kind not in _SCORERS or not _input_of(rows):
        return False
    return kind != "choice" or (len(rows.options) == 1 and rows.answers == ONLY_LETTERS)


def _input_of(rows: Questions) -> str:
    """The column that is the input; empty where the prompt is more than a column and options."""
    if rows.prompt_is_column:
        return rows.prompt
    match = _WITH_OPTIONS.match(rows.prompt)
    return match[1] if match else ""


def benchmark_file(name: str, title: str, kind: str, rows: Questions) -> str:
    """Returns the text of `eval.yaml`, with one task.

    Args:
        name: Id of the task.
        title: Name of the benchmark for people.
        kind: How replies are scored; one with a scorer of inspect_ai.
        rows: The rows, whose prompt is a column.
    """
    columns = [_input_of(rows), rows.target, *rows.options]
    named = [rows.renamed.get(column, column) for column in columns]
    source = rows.source if isinstance(rows.source, Mapping) else {}
    task = {
        "id": name,
        "config": source.get("config") or "default",
        "split": str(source.get("split") or _SPLIT).partition("[")[0],
        "field_spec": dict(zip(("input", "target", "choices"), named, strict=False)),
        "solvers": [{"name": "multiple_choice" if kind == "choice" else "generate"}],
        "scorers": [_SCORERS[kind]],
    }
    content = {
        "name": title,
        "description": "What this benchmark measures, in one sentence.",
        "evaluation_framework": "inspect-ai",
        "tasks": [task],
    }
    return _HEAD + yaml_text(content)
