"""What a judge is asked about generations (judge.yaml has the contexts), and the scores of its ratings."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from custom_metrics.unlearning.judge import judge_scores
from evalprep.packapi import BadInput, Problem

from .generations import generated
from .judge_prompt import create_prompt
from .results import Result, data_set, no_value, with_mean_interval
from .samples import Row, Rows, position, single

_CONTRACT = yaml.safe_load(Path(__file__).with_name("judge.yaml").read_text(encoding="utf-8"))
SAMPLING: dict[str, Any] = _CONTRACT["sampling"]
RANGE: list[float] = _CONTRACT["range"]
#: Task -> its context and the metrics that the judge rates.
CONTEXTS: dict[str, tuple[str, list[str]]] = {
    spec["task"]: (name, spec["metrics"]) for suite in _CONTRACT["contexts"].values() for name, spec in suite.items()
}
TASKS = tuple(CONTEXTS)

Prompt = Callable[..., str]


@dataclass(frozen=True)
class Question:
    """One generation to be rated.

    Attributes:
        task: The task.
        sample_id: The sample.
        index: Its position in the split.
        prompt: The message to the judge.
        metrics: What the judge rates.
        fixed: Ratings that need no judge; there are none.
    """

    task: str
    sample_id: str
    index: int
    prompt: str
    metrics: Sequence[str]
    fixed: None = None

    def key(self, judge: str) -> str:
        """Under what the ratings by this judge are kept."""
        return hashlib.sha256(f"{judge}\n{self.prompt}".encode("utf-8", "surrogatepass")).hexdigest()

    def read(self, reply: str) -> tuple[str, dict[str, float] | None]:
        """Status of a reply, and its ratings where the status is `ok`."""
        found = judge_scores(metrics=self.metrics, response=reply, range=RANGE)
        return found["status"], found["scores"]


def questions(
    *, rows: Mapping[str, Sequence[Row]], metadata: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[Question]:
    """One question per generation, in order.

    Args:
        rows: Task -> row mappings, as score functions get them.
        metadata: Task -> the metadata of its YAML, which names a prompt file of the user's own.

    Raises:
        BadInput: that prompt file is missing or fails.
    """
    for task, samples in rows.items():
        context, metrics = CONTEXTS[task]
        settings = (metadata or {}).get(task, {}).get("unlearning") or {}
        file = settings.get("judge_prompt")
        make = load_prompt(Path(file)) if file else create_prompt
        for row in samples:
            doc = row["doc"]
            texts = (doc.get("prompt", row.get("prompt")) or "", doc.get("target", row.get("target")) or "")
            try:
                prompt = make(context, *texts, generated(row))
            except Exception as error:
                raise BadInput(_broken(file, f"create_prompt fails: {type(error).__name__}: {error}")) from error
            if not isinstance(prompt, str):
                raise BadInput(_broken(file, f"create_prompt returns {type(prompt).__name__}"))
            yield Question(task, row["sample_id"], row["index"], prompt, metrics)


def _broken(file: Any, what: str) -> Problem:
    return Problem(
        what=what,
        where=str(file),
        allowed="create_prompt(context_type, input_text, ground_truth, generation) -> str",
        fix="mend the file, or leave judge_prompt out of the config",
    )


def load_prompt(file: Path) -> Prompt:
    """`create_prompt` of the user's file.

    Raises:
        BadInput: there is no such file, it cannot be imported, or it has no `create_prompt`.
    """
    spec = importlib.util.spec_from_file_location("unlearning_judge_prompt", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise BadInput(_broken(file, "there is no such Python file"))
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(_broken(file, f"cannot be imported: {type(error).__name__}: {error}")) from error
    found = getattr(module, "create_prompt", None)
    if not callable(found):
        raise BadInput(_broken(file, "has no create_prompt"))
    return found  # type: ignore[no-any-return]


def judged(*, rows: Rows, **_: Any) -> Result:
    """Mean over generations of the mean of a generation's ratings; `parts` summarise each metric.

    Generations without readable ratings are counted by reason and enter no mean.
    """
    (task, *_others), samples = list(rows), single(rows)
    asked = [row for row in samples if "judgement" in row]
    skipped = Counter(row["judgement"]["status"] for row in asked if row["judgement"]["ratings"] is None)
    values = {
        position(row): dict(row["judgement"]["ratings"]) for row in asked if row["judgement"]["ratings"] is not None
    }
    if not values:
        return {**no_value("no judge has rated it: `evalprep judge RUN --model NAME`"), "skipped": dict(skipped)}
    means = {index: statistics.fmean(ratings.values()) for index, ratings in values.items()}
    columns = {name: [ratings[name] for ratings in values.values()] for name in CONTEXTS[task][1]}
    judge = asked[0]["judgement"]["judge"]
    result: Result = {
        "agg_value": statistics.fmean(means.values()),
        "value_by_index": values,
        "parts": {f"{name}_{part}": value for name, column in columns.items() for part, value in _spread(column)},
        "skipped": dict(skipped),
        "notes": [f"rated by {judge}: {len(values)} of {len(asked)} generations"],
        "judgements_sha256": hashlib.sha256(json.dumps([judge, values], sort_keys=True).encode()).hexdigest(),
    }
    return with_mean_interval(result, means, data_set(rows))


def _spread(column: Sequence[float]) -> Iterator[tuple[str, float]]:
    yield "mean", statistics.fmean(column)
    yield "median", statistics.median(column)
    if len(column) > 1:
        yield "std", statistics.stdev(column)
    yield "min", min(column)
    yield "max", max(column)
