"""Logs of others, as references and as runs.

OpenUnlearning's result files and what the TOFU authors publish.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from custom_metrics.unlearning import by_row
from evalprep.packapi import BadInput, Log, Problem, read_file

from . import authors
from .datasets import SPLIT_OF_ROWS, SPLITS
from .harness import HARNESS, harness_scores, read_object
from .logs import completed, model_at, tasks_of, with_answers, with_numbers, with_own_references
from .names import own_name, suite_of_file
from .recipe import RULE
from .results import Result, by_index
from .truthratios import with_known_ratios

#: What a folder may hold; of two with the same scores the later one counts.
FILES = (*authors.FILES, "eval_log_aggregated.json", "TOFU_EVAL.json", "MUSE_EVAL.json")
#: Read where a folder has none of these: the scores without their rows.
SHORT = ("TOFU_SUMMARY.json", "MUSE_SUMMARY.json")
_SPLIT_OF_RETAIN = {parts["retain"]: split for split, parts in SPLITS.items()}
#: How a model was trained -> what its name has.
_TRAINING = {
    "retain": re.compile(r"retain\d*(?![a-z])|retrain(?![a-z])", re.IGNORECASE),
    "finetuned": re.compile(r"(?<![a-z])(full|target|fine-?tuned)(?![a-z])", re.IGNORECASE),
}
_TELLING = 0.9  # AUC of an attack above which a reference is doubted
_ATTACKS = (
    *("mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus"),
    *("muse_mia_loss", "muse_mia_zlib", "muse_mia_min_k", "muse_mia_min_k_plus_plus"),
)
_SPLIT_IN_NAME = re.compile("|".join([*SPLITS, *_SPLIT_OF_RETAIN, "News", "Books"]))


def load(path: Path | str) -> Log | None:
    """Scores and rows out of a file or folder that is not one of our runs; None for anything else.

    Accepted: `TOFU_EVAL.json` / `MUSE_EVAL.json` in OpenUnlearning's layout, or the
    `..._SUMMARY.json` of such a run, `LMEval_SUMMARY.json`,
    the TOFU authors' `eval_log_aggregated.json`, the logs that it is made of, and the same numbers
    as a parquet table; or a folder with them. One with logs of both suites gives both.

    Raises:
        BadInput: a file of one of these names that is not JSON, such as a truncated copy.
    """
    path = Path(path)
    results, metadata = _load_files(path)
    file = path / HARNESS if path.is_dir() else path
    stored = {} if file.name != HARNESS else harness_scores(read_object(file) or {})
    if not results and not stored:
        return None
    # The folder of a log, or of its model, names the split.
    folder = path if path.is_dir() else path.parent
    split = split_in([*reversed(folder.absolute().parts[-3:])])
    if metadata.get("layout") == RULE and not any(map(by_index, results.values())):
        # OpenUnlearning's summary has no rows that would tell the split.
        origin = {"scored_by": RULE, **({"scored_with": {"split": split}} if split else {})}
        results = {name: {**result, **origin} for name, result in results.items()}
    results = with_answers(results)
    tasks = {}
    for name, task in tasks_of(results).items():
        stated = _metadata(name, metadata, results)
        data = _data_of(name, stated, split)
        tasks[name] = replace(task, metadata=stated, data=data)
    model = str(metadata.get("model") or "") or model_at(path)
    arguments = metadata.get("model_args")
    settings = {"model_args": arguments} if isinstance(arguments, dict) else {}
    return Log(results, model, tasks, settings, stored=stored)


def _load_files(path: Path) -> tuple[dict[str, Result], dict[str, Any]]:
    results: dict[str, Result] = {}
    metadata: dict[str, Any] = {}
    files = [path]
    if path.is_dir():
        names = [name for name in FILES if (path / name).is_file()]
        files = [path / name for name in names or SHORT]
    for file in files:
        results_of_file, metadata_of_file = _load_file(file)
        if results_of_file:
            results |= results_of_file
            metadata |= metadata_of_file
    return results, metadata


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
    whole = {name: completed(name, result) for name, result in results.items()}
    return with_own_references(whole)


def training_of(names: Sequence[str]) -> str:
    """Returns how a model was trained, by the first of some names that tells.

    `retain` for one that never saw the forget set, `finetuned` for the one before unlearning; empty
    where no name tells.

    >>> training_of(["tofu_Llama-3.2-1B-Instruct_retain90"]), training_of(["muse_News_target"])
    ('retain', 'finetuned')
    """
    for name in names:
        for training, pattern in _TRAINING.items():
            if pattern.search(name):
                return training
    return ""


def split_in(names: Sequence[str]) -> str:
    """Returns the forget split or corpus that the first of some names tells; empty without one."""
    for name in names:
        split = _SPLIT_IN_NAME.search(name)
        if split:
            return _SPLIT_OF_RETAIN.get(split[0], split[0])
    return ""


def doubt_of(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns why a reference looks like a model that saw the forget set; empty where it does not.

    An attack cannot tell forgotten from unseen texts where a model saw neither.
    """
    areas = {name: results[name].get("agg_value") for name in (*_ATTACKS,) if name in results}
    telling = {
        name: area for name, area in areas.items() if by_row.finite(area) and area > _TELLING
    }
    if not telling:
        return ""
    named = ", ".join(f"{name} {area:.3f}" for name, area in telling.items())
    return (
        "the reference looks like a model that saw the forget set: its attacks have an AUC above "
        f"{_TELLING} ({named})"
    )


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


def _data_of(task: str, stated: Mapping[str, Any], split: str) -> str:
    """Data set and split of a task whose rows are another for each split; empty for the others.

    Args:
        task: Its name.
        stated: Its metadata.
        split: The split that the log's place names, where the metadata name none.
    """
    suite, _, name = task.partition("_")
    if suite == "tofu" and not name.startswith(("forget", "holdout")):
        return ""
    settings = stated.get("unlearning")
    named = settings.get("split") if isinstance(settings, Mapping) else None
    return f"{suite.upper()} {named or split}" if named or split else ""


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
            metric: {"agg_value": value}
            for metric, value in content.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
    suite = suite_of_file(name, results)
    named = {own_name(metric, suite): result for metric, result in results.items()}
    # Other tools write `agg_value`, too.
    if _scores().isdisjoint(named):
        return None
    return with_numbers(with_known_ratios(named))


@functools.cache
def _scores() -> frozenset[str]:
    """The names of the pack's scores."""
    text = Path(__file__).with_name("pack.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return frozenset(yaml.load(text, Loader=loader)["suite_scores"])  # noqa: S506 - a safe loader


def _renamed(result: Mapping[str, Any]) -> Result:
    """A result with its rows under OpenUnlearning's key, by their positions as whole numbers.

    Its document once says `values_by_index`; its files say `value_by_index`. Where pandas made the
    index, the positions are `0.0`, `1.0` and so on.
    """
    entry = dict(result)
    if "values_by_index" in entry:
        entry.setdefault("value_by_index", entry.pop("values_by_index"))
    for key, part in entry.items():
        if key == "value_by_index" and isinstance(part, Mapping):
            entry[key] = {_FRACTION.sub("", str(position)): row for position, row in part.items()}
        elif isinstance(part, Mapping) and "value_by_index" in part:
            entry[key] = _renamed(part)
    return entry


_FRACTION = re.compile(r"(?<=\d)\.0+$")
