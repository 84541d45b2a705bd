"""Rows that were logged without scores (`--predict_only`).

The function that the pack's own task names scores them.

Tables, comparisons and reports read the samples with their scores as any others. The function is
the one of the pack's template and a formula of `custom_metrics`: nothing that a run names is
executed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from evalprep.errors import BadInput
from evalprep.files import read_file, read_text
from evalprep.packs import Pack, find_packs, find_task
from evalprep.readers import TaskResults, declared_metrics, directions_of
from evalprep.results.task import TaskRun
from evalprep.samples import NOT_SCORES, ChangedSamples, Direction, Sample

_FORMULAS = "custom_metrics"
Scorer = Callable[[Mapping[str, Any], list[Any]], Mapping[str, Any]]


class OwnScores(msgspec.Struct, frozen=True):
    """The scorer of a pack's task for one row.

    Attributes:
        function: Row and filtered replies -> metrics.
        version: A digest of the code behind it.
        metadata: The template's metadata, which names the metric that stands for the task.
        directions: Metric -> which way is better.
    """

    function: Scorer
    version: str
    metadata: Mapping[str, Any]
    directions: Mapping[str, Direction]


def with_own_scores(task: TaskRun) -> TaskRun:
    """A task whose lines hold no score, with those of its pack's function.

    Any other task as it is.
    """
    first = task.first_sample
    if first is None or set(first.metrics) - NOT_SCORES:
        return task
    own = _own_scores(task.name)
    if own is None or not _metrics(own.function, first):
        return task
    source = ChangedSamples(task.source, partial(_scored, own.function), own.version)
    settings = task.logged.settings
    metadata = {**own.metadata, **settings.metadata}
    as_logged = {**settings.as_logged, "metadata": metadata}
    settings = structs.replace(settings, metadata=metadata, as_logged=as_logged)
    logged = structs.replace(_with_directions(task, own), settings=settings)
    return replace(task, source=source, logged=logged, _tables={})


def with_metric(task: TaskRun, metric: str) -> TaskRun | None:
    """A task whose lines hold a metric, computed by its pack's function where they do not.

    None where it has none.
    """
    first = task.first_sample
    if first is None or metric in first.metrics:
        return task
    own = _own_scores(task.name)
    if own is None or metric not in _metrics(own.function, first):
        return None
    change = partial(_scored, own.function, only=metric)
    source = ChangedSamples(task.source, change, f"{own.version} {metric}")
    return replace(task, source=source, logged=_with_directions(task, own), _tables={})


def _with_directions(task: TaskRun, own: OwnScores) -> TaskResults:
    """The logged results of a task, with its pack's directions.

    The directions are those that its pack's own YAML declares, where the run states none.
    """
    return structs.replace(task.logged, directions={**own.directions, **task.logged.directions})


def _metrics(function: Scorer, sample: Sample) -> Mapping[str, Any]:
    """The metrics of one row.

    There are none where the function does not know such rows, those of another tool's task for
    example.
    """
    try:
        metrics = function(sample.doc, sample.filtered_resps)
        json.dumps(metrics)
    except Exception:  # noqa: BLE001 - a row that cannot be scored keeps its line
        return {}
    return metrics if isinstance(metrics, Mapping) else {}


def _scored(function: Scorer, sample: Sample, *, only: str = "") -> Sample:
    """A sample with the metrics of a function, or with one of them beside those that it has."""
    metrics = _metrics(function, sample)
    if metrics and only:
        metrics = {**sample.metrics, only: metrics.get(only)}
    return structs.replace(sample, metrics=dict(metrics)) if metrics else sample


def _template_of(pack: Pack, name: str) -> dict[str, Any] | None:
    """The template of a task of a pack; None where there is none that can be read."""
    if name not in pack.tasks or not pack.tasks[name].template:
        return None
    from evalprep.yamltext import Loader, NotYaml, compose

    try:
        text = read_text(pack.folder / pack.tasks[name].template, own=True)
        content, _ = compose(text, Loader, {"!function": lambda _, node: str(node.value)})
    except (OSError, UnicodeDecodeError, NotYaml):
        return None
    return content  # type: ignore[no-any-return]


@cache
def _own_scores(task: str) -> OwnScores | None:
    try:
        pack_and_name = find_task(find_packs(), task)
    except BadInput:  # a broken pack costs the scores, not the run
        return None
    if pack_and_name is None:
        return None
    content = _template_of(*pack_and_name)
    return None if content is None else _scores_by(content)


def _scores_by(content: Mapping[str, Any]) -> OwnScores | None:
    """Returns how a template scores; None where it is not by a formula of ours."""
    place, _, attribute = str(content.get("process_results") or "").rpartition(".")
    if place.partition(".")[0] != _FORMULAS or content.get("output_type") != "generate_until":
        return None
    try:
        module = importlib.import_module(place)
    except ImportError:
        return None
    function = getattr(module, attribute, None)
    if not callable(function):
        return None
    directions = directions_of({}, declared_metrics(content))
    return OwnScores(function, _digest(module.__file__), content.get("metadata") or {}, directions)


def _digest(file: str | None) -> str:
    """A digest of the modules beside a function, so that a mended formula makes new lines."""
    digest = hashlib.sha256()
    for path in sorted(Path(str(file)).parent.glob("*.py")):
        digest.update(read_file(path, own=True))
    return digest.hexdigest()
