"""Contexts in which a judge is asked (judge.yaml), and the scores of its ratings.

Prompts of the user's own are read here too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from evalprep.packapi import BadInput, Problem, is_own_file

from .results import Result, data_set, no_value, with_mean_interval
from .samples import Rows, position, single

_CONTRACT = yaml.safe_load(Path(__file__).with_name("judge.yaml").read_text(encoding="utf-8"))
SAMPLING: dict[str, Any] = _CONTRACT["sampling"]
RANGE: list[float] = _CONTRACT["range"]
#: Task -> its context and the metrics that the judge rates.
CONTEXTS: dict[str, tuple[str, list[str]]] = {}
for _suite in _CONTRACT["contexts"].values():
    CONTEXTS |= {spec["task"]: (name, spec["metrics"]) for name, spec in _suite.items()}

Prompt = Callable[..., str]


def broken_prompt(file: Any, what: str) -> Problem:
    """Returns what to tell of a prompt file that does not work."""
    return Problem(
        what=what,
        where=str(file),
        allowed="create_prompt(context_type, input_text, ground_truth, generation) -> str",
        fix="mend the file, or leave judge_prompt out of the config",
    )


def load_prompt(file: Path, *, prepared: bool = False) -> Prompt:
    """`create_prompt` of the user's file.

    Args:
        file: The file.
        prepared: A run names it, which anybody may have written: it must be as a preparation of
            this user named it.

    Raises:
        BadInput: there is no such file, it is not the user's, it cannot be imported, or it has no
            `create_prompt`.
    """
    if prepared and file.is_file() and not is_own_file(file):
        raise BadInput(
            Problem(
                what=(
                    "only the run names this file of code, and no preparation of yours on this "
                    "machine did"
                ),
                where=str(file),
                fix="look at it, then prepare once with `unlearning.judge_prompt` naming it",
            )
        )
    spec = importlib.util.spec_from_file_location("unlearning_judge_prompt", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise BadInput(broken_prompt(file, "there is no such Python file"))
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(
            broken_prompt(file, f"cannot be imported: {type(error).__name__}: {error}")
        ) from error
    function = getattr(module, "create_prompt", None)
    if not callable(function):
        raise BadInput(broken_prompt(file, "has no create_prompt"))
    return function  # type: ignore[no-any-return]


def judged(*, rows: Rows, **_: Any) -> Result:
    """Mean over generations of the mean of a generation's ratings; `parts` summarise each metric.

    Generations without readable ratings are counted by reason and enter no mean.
    """
    judgements = {position(row): row["judgement"] for row in single(rows) if "judgement" in row}
    values: dict[str, dict[str, float]] = {}
    skipped: Counter[str] = Counter()
    for index, judgement in judgements.items():
        if judgement["ratings"] is None:
            skipped[judgement["status"]] += 1
        else:
            values[index] = dict(judgement["ratings"])
    if not values:
        reason = "no judge has rated it: `evalprep judge RUN --model NAME`"
        return {**no_value(reason), "skipped": dict(skipped)}
    means = {index: statistics.fmean(ratings.values()) for index, ratings in values.items()}
    judge = next(iter(judgements.values()))["judge"]
    basis = json.dumps([judge, values], sort_keys=True)
    task = next(iter(rows))
    # The spread of each metric that the task is rated by.
    parts: dict[str, float] = {}
    for metric in CONTEXTS[task][1]:
        ratings = [ratings_of_row[metric] for ratings_of_row in values.values()]
        parts[f"{metric}_mean"] = statistics.fmean(ratings)
        parts[f"{metric}_median"] = statistics.median(ratings)
        if len(ratings) > 1:
            parts[f"{metric}_std"] = statistics.stdev(ratings)
        parts[f"{metric}_min"] = min(ratings)
        parts[f"{metric}_max"] = max(ratings)
    result: Result = {
        "agg_value": statistics.fmean(means.values()),
        "value_by_index": values,
        "parts": parts,
        "skipped": dict(skipped),
        "notes": [f"rated by {judge}: {len(values)} of {len(judgements)} generations"],
        "judgements_sha256": hashlib.sha256(basis.encode()).hexdigest(),
    }
    least, most = RANGE
    return with_mean_interval(result, means, data_set(rows), (least, most))
