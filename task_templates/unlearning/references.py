"""Logs of others, as references and as runs.

OpenUnlearning's result files and what the TOFU authors publish.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from evalprep.packapi import BadInput, Log, Problem, read_file

from . import authors
from .datasets import SPLIT_OF_ROWS, SPLITS
from .harness import HARNESS, harness_scores, read_object
from .logs import completed, model_at, tasks_of, with_answers
from .names import own_name, suite_of_file
from .recipe import RULE
from .results import Result, by_index

#: What a folder may hold; of two with the same scores the later one counts.
FILES = (*authors.FILES, "eval_log_aggregated.json", "TOFU_EVAL.json", "MUSE_EVAL.json")
#: Read where a folder has none of these: the scores without their rows.
SHORT = ("TOFU_SUMMARY.json", "MUSE_SUMMARY.json")
_SPLIT_OF_RETAIN = {parts["retain"]: split for split, parts in SPLITS.items()}
_SPLIT_IN_NAME = re.compile("|".join([*SPLITS, *_SPLIT_OF_RETAIN, "News", "Books"]))


def load(path: Path | str) -> Log | None:
    """Scores and rows out of a file or folder that is not one of our runs; None for anything else.

    Accepted: `TOFU_EVAL.json` / `MUSE_EVAL.json` in OpenUnlearning's layout, or the
    `..._SUMMARY.json` of such a run, `LMEval_SUMMARY.json`,
    the TOFU authors' `eval_log_aggregated.json`, the logs that it is made of, and the same numbers
    as a parquet table; or a folder with them. One with logs of both suites gives both.

    Raises:
        BadInput: a file of one of these names that is no JSON, such as a truncated copy.
    """
    path = Path(path)
    results, metadata = _load_files(path)
    stored = _harness_scores_at(path)
    if not results and not stored:
        return None
    results = with_answers(_with_summary(path, results, metadata))
    tasks = {
        name: replace(task, metadata=_metadata(name, metadata, results))
        for name, task in tasks_of(results).items()
    }
    model = str(metadata.get("model") or "") or model_at(path)
    arguments = metadata.get("model_args")
    settings = {"model_args": arguments} if isinstance(arguments, dict) else {}
    return Log(results, model, tasks, settings, stored=stored)


def _load_files(path: Path) -> tuple[dict[str, Result], dict[str, Any]]:
    results: dict[str, Result] = {}
    metadata: dict[str, Any] = {}
    for file in _files(path):
        results_of_file, metadata_of_file = _load_file(file)
        if results_of_file:
            results |= results_of_file
            metadata |= metadata_of_file
    return results, metadata


def _harness_scores_at(path: Path) -> dict[str, dict[str, float]]:
    file = path / HARNESS if path.is_dir() else path
    if file.name != HARNESS:
        return {}
    return harness_scores(read_object(file) or {})


def _with_summary(
    path: Path, results: dict[str, Result], metadata: Mapping[str, Any]
) -> dict[str, Result]:
    """Returns the results with rule and split, where OpenUnlearning's log has no rows."""
    has_rows = any(by_index(result) for result in results.values())
    if metadata.get("layout") != RULE or has_rows:
        return results
    return {name: {**result, **_of_summary(path)} for name, result in results.items()}


def logs(path: Path) -> list[Path]:
    """Every folder below one that holds a log, in the order of their names.

    OpenUnlearning writes `saves/eval/NAME/evals/TOFU_EVAL.json` and the like.
    """
    known = {*FILES, *SHORT, HARNESS}
    folders = []
    for folder, below, files in os.walk(path):
        below.sort()
        if known & {*files}:
            folders.append(Path(folder))
    return folders


def complete(results: Mapping[str, Result]) -> dict[str, Result]:
    """The same with intervals, and with what each row adds."""
    return {name: completed(name, result) for name, result in results.items()}


def _of_summary(path: Path) -> Result:
    """Returns what the place of an OpenUnlearning summary tells of its scores.

    They follow OpenUnlearning's rule; the folder of the log or of the model names the split.
    """
    folder = path if path.is_dir() else path.parent
    for part in reversed(folder.absolute().parts[-3:]):
        split = _SPLIT_IN_NAME.search(part)
        if split:
            name = _SPLIT_OF_RETAIN.get(split[0], split[0])
            return {"scored_by": RULE, "scored_with": {"split": name}}
    return {"scored_by": RULE}


def _metadata(
    task: str, stated: Mapping[str, Any], results: Mapping[str, Result]
) -> dict[str, Any]:
    """Returns the metadata that tasks of a run would have on rule and split.

    Our own files state them; OpenUnlearning's rule is always the same.
    """
    if stated.get("layout") == RULE:
        rows = len(by_index(results.get("forget_Q_A_Prob", {})))
        split = SPLIT_OF_ROWS.get(rows) if task.startswith("tofu_") else None
        return {"rule": RULE, "unlearning": {"split": split} if split else {}}
    tasks = stated.get("tasks")
    facts = tasks.get(task) if isinstance(tasks, dict) else None
    if not isinstance(facts, dict):
        return {}
    settings = facts.get("settings")
    if not isinstance(settings, dict):
        settings = {}
    return {"rule": facts.get("rule"), "unlearning": settings}


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return [path / name for name in FILES if (path / name).is_file()] or [
        path / name for name in SHORT
    ]


def _load_file(  # noqa: PLR0911 - one return for each kind of value
    path: Path,
) -> tuple[dict[str, Result] | None, Mapping[str, Any]]:
    """Results by the names of our scores, and what the file says of how they came about."""
    if not path.is_file():
        return None, {}
    if path.suffix == ".parquet":
        return authors.from_table(path), {}
    if path.suffix != ".json":
        return None, {}
    try:
        content = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError) as error:
        if path.name not in (*FILES, *SHORT):
            return None, {}
        raise BadInput(
            Problem(
                what=f"cannot be read: {error}",
                where=str(path),
                allowed="a log as its evaluation wrote it",
                fix="fetch or write it again; copies are often cut short",
            )
        ) from error
    if not isinstance(content, dict):
        return None, {}
    if set(content) & set(authors.FILES):
        return authors.from_sections(content), {}
    if (converted := authors.from_file(content, path.name)) is not None:
        return converted, {}
    meta = content.get("meta")
    metadata = meta if isinstance(meta, dict) else {"layout": RULE}
    return _from_open_unlearning(content, path.name), metadata


def _from_open_unlearning(content: Mapping[str, Any], name: str) -> dict[str, Result] | None:
    results: dict[str, Result] = {}
    for metric, result in content.items():
        if isinstance(result, dict) and "agg_value" in result:
            results[metric] = _renamed(result)
    if not results and name in SHORT:
        results = {
            metric: {"agg_value": value} for metric, value in content.items() if _is_number(value)
        }
    suite = suite_of_file(name, results)
    named = {own_name(metric, suite): result for metric, result in results.items()}
    # Other tools write `agg_value`, too.
    if _scores().isdisjoint(named):
        return None
    return named


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@functools.cache
def _scores() -> frozenset[str]:
    """The names of the pack's scores."""
    return frozenset(
        yaml.safe_load(Path(__file__).with_name("pack.yaml").read_text(encoding="utf-8"))[
            "suite_scores"
        ]
    )


def _renamed(result: Mapping[str, Any]) -> Result:
    """OpenUnlearning's document once says `values_by_index`; its files say `value_by_index`."""
    entry = dict(result)
    if "values_by_index" in entry:
        entry.setdefault("value_by_index", entry.pop("values_by_index"))
    return entry
