"""Numbers of lm-eval's own tasks (WMDP, MMLU) as OpenUnlearning writes them.

Its file is `LMEval_SUMMARY.json`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.packapi import ExportRun, open_atomically, open_file, read_file

HARNESS = "LMEval_SUMMARY.json"
#: The rows of the same tasks, as lm-eval logs them.
HARNESS_ROWS = "LMEval_EVAL.json"


def harness_summary(run: ExportRun) -> dict[str, Any]:
    """`task/metric` -> value, of a group its own line alone; empty for a run without such tasks.

    The filter's name is left out, as there. Where a task has a metric by several filters, it stays,
    so that none takes the place of another.
    """
    values: dict[str, Any] = {}
    for name, line in run.lines.items():
        task = run.tasks.get(name)
        if task is not None and task.metadata.get("pack"):
            continue
        filters = Counter(key.partition(",")[0] for key in line)
        for key, value in line.items():
            metric = key.partition(",")[0]
            # A metric of several filters is named with its filter.
            shown = metric if filters[metric] == 1 else key
            is_number = isinstance(value, (int, float))
            values[f"{name}/{shown}"] = float(value) if is_number else value
    return values


def write_rows(run: ExportRun, file: Path) -> bool:
    """Writes the rows of lm-eval's own tasks as OpenUnlearning has them: task -> task -> rows.

    Line by line, as a large benchmark has a hundred thousand rows.

    Returns:
        Whether the run has samples of such tasks.
    """
    paths = {
        name: Path(task.path)
        for name, task in run.tasks.items()
        if not (task.metadata.get("pack") or task.metadata.get("reader"))
    }
    if not paths:
        return False
    with open_atomically(file) as out:
        out.write("{")
        for at, (name, path) in enumerate(paths.items()):
            key = json.dumps(name)
            out.write(f"{',' if at else ''}\n{key}: {{{key}: [")
            with open_file(path, "r", encoding="utf-8") as lines:
                for number, line in enumerate(filter(str.strip, lines)):
                    out.write(f"{',' if number else ''}\n{line.rstrip()}")
            out.write("]}")
        out.write("\n}\n")
    return True


def harness_scores(content: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Task or group -> `metric,filter` -> value, out of such a file.

    A filter that it leaves out is `none`.
    """
    values: dict[str, dict[str, float]] = {}
    for key, value in content.items():
        task, slash, metric = key.rpartition("/")
        if (
            slash
            and task
            and metric
            and isinstance(value, (int, float))
            and not isinstance(value, bool)
        ):
            values.setdefault(task, {})[metric if "," in metric else f"{metric},none"] = float(
                value
            )
    return values


def read_object(file: Path) -> dict[str, Any] | None:
    """A JSON object from a file; empty where there is none, None for anything else."""
    try:
        content = json.loads(read_file(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
