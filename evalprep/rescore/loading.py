"""Loading a task of lm-eval for its scorer alone.

Its data set, its few-shot examples and its prompts are not loaded.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import logging
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping
from evalprep.rescore.place import FOLDER, PACK, RESULTS, STOCK, ScorerPlace
from evalprep.rescore.placeholders import PLACEHOLDER, filled
from evalprep.samples import Sample

TARGET, CHOICES = "logged target", "logged choices"  # columns that a row gets from its sample
_OF_SCORER = (
    "process_results",
    "filter_list",
    "metric_list",
    "output_type",
    "doc_to_target",
    "doc_to_choice",
)
_PLAIN = (str, int, float, bool, type(None))


class _Rows(list[Mapping[str, Any]]):
    """Rows in the place of a data set."""

    @property
    def features(self) -> Mapping[str, Any]:
        return dict.fromkeys(self[0]) if self else {}


class _Splits(dict[str, _Rows]):
    """The same rows as every split that a task may ask for."""

    def __init__(self, rows: _Rows) -> None:
        super().__init__(test=rows)
        self.rows = rows

    def __missing__(self, _: str) -> _Rows:
        return self.rows


def load_task(place: ScorerPlace) -> Any:
    """The task object of lm-eval, with the rows of a run in the place of its data set.

    Raises:
        BadInput: there is no such task, or it cannot be loaded.
    """
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    try:
        with _without_data(place):
            return _built(place)
    except Exception as error:
        text = " ".join(str(error).split())
        if not isinstance(error, NotDataError):
            text = f"{type(error).__name__}: {text[:300]}"
        problem = Problem(what=f"{place.title}: {text}", where=f"task {place.task}")
        raise BadInput(problem) from error


class NotDataError(ValueError):
    """A configuration that is more than data."""


@contextlib.contextmanager
def _without_data(place: ScorerPlace) -> Iterator[None]:
    """Lets tasks that are made meanwhile take the row of a run for their data set."""
    from lm_eval.api.task import ConfigurableTask

    row = row_of(place, place.first) if place.first is not None else {}

    def download(task: Any, *_: Any, **__: Any) -> None:
        # Logged rows are processed already, and examples of prompts are no part of a scorer.
        for holder in (task.config, task.fewshot_cfg):
            if getattr(holder, "process_docs", None) is not None:
                holder.process_docs = None
        task.dataset = _Splits(_Rows([row]))

    before = ConfigurableTask.download
    ConfigurableTask.download = download
    try:
        yield
    finally:
        ConfigurableTask.download = before


@cache
def _manager_of_stock() -> Any:
    """The tasks of lm-eval's own that are asked for."""
    from evalprep.packs import RequestedTasks

    return RequestedTasks()


def _built(place: ScorerPlace) -> Any:
    if place.kind in {FOLDER, STOCK}:
        from lm_eval.tasks import TaskManager

        if place.path is None:
            manager = _manager_of_stock()
        else:  # the tasks of a folder as it stands
            root = place.path.parent if place.kind == STOCK else place.path
            manager = TaskManager(include_path=[str(root)], include_defaults=False)
        if not manager.match_tasks([place.task]):
            raise NotDataError("there is no task of this name")
        return manager.load([place.task])["tasks"][place.task]
    if place.kind == PACK and place.path is not None:
        return _of_template(place, place.path)
    from lm_eval.api.task import ConfigurableTask

    return ConfigurableTask(config=_as_data(place))


def _of_template(place: ScorerPlace, path: Path) -> Any:
    """A task made from a template of a pack, its placeholders filled from the plan of the run."""
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.tasks._yaml_loader import load_yaml

    config = filled(load_yaml(path, resolve_func=True), place.values)
    open_keys = [key for key in _OF_SCORER if PLACEHOLDER.search(str(config.get(key)))]
    if open_keys:
        raise NotDataError(
            f"{', '.join(open_keys)} of its template depend on the preparation, which is not there"
        )
    config = {key: value for key, value in config.items() if not PLACEHOLDER.search(str(value))}
    config |= {"task": place.task, "test_split": "test"}
    task_class = config.pop("class", None)
    if task_class is None:
        return ConfigurableTask(config=config)
    takes_config = "config" in inspect.signature(task_class.__init__).parameters
    task = task_class(config=config) if takes_config else task_class()
    task.config.task = place.task
    return task


def _refuse_code_of_metric(metric: Mapping[str, Any]) -> None:
    """Raises `NotDataError` for a metric that is not one of lm-eval's by its name."""
    from lm_eval.api.registry import AGGREGATION_REGISTRY, METRIC_REGISTRY

    name = f"metric {str(metric.get('metric'))[:60]!r}"
    if metric.get("hf_evaluate"):
        raise NotDataError(
            f"{name} is one of Hugging Face's evaluate, whose code would be downloaded and run"
        )
    by_name = _named(metric.get("metric"), METRIC_REGISTRY) and _named(
        metric.get("aggregation", "mean"), AGGREGATION_REGISTRY
    )
    if not by_name or not _plain(metric):
        raise NotDataError(f"{name} is code of its own")


def _refuse_code_of_filter(entry: Mapping[str, Any]) -> None:
    """Raises `NotDataError` for a filter with a step that is not one of lm-eval's by its name."""
    from lm_eval.api.registry import FILTER_REGISTRY

    for step in _listed(entry.get("filter", [None])):
        by_name = _named(step.get("function"), FILTER_REGISTRY) and step["function"] != "custom"
        if not by_name or not _plain(step):
            raise NotDataError(f"filter {str(entry.get('name'))[:60]!r} is code of its own")


def _as_data(place: ScorerPlace) -> dict[str, Any]:
    """The scorer that a results file describes with names of lm-eval's own metrics and filters.

    Prompts, targets and choices are templates there, which could run anything; the logged ones take
    their place.

    Raises:
        NotDataError: it needs code that only the run's author has.
    """
    config, kind = place.config, place.config.get("output_type")
    if not config or kind not in {
        "generate_until",
        "multiple_choice",
        "loglikelihood",
        "loglikelihood_rolling",
    }:
        raise NotDataError("the results file does not hold the task's configuration")
    if config.get("process_results") is not None or config.get("class") is not None:
        raise NotDataError(
            "its results are made by code of its own, which is not run from a results file"
        )
    metrics = config.get("metric_list")
    filters = config.get("filter_list")
    for metric in _listed(metrics):
        _refuse_code_of_metric(metric)
    for filter_entry in _listed(filters):
        _refuse_code_of_filter(filter_entry)
    own: dict[str, Any] = {
        "task": place.task,
        "output_type": kind,
        "test_split": "test",
        "doc_to_text": "",
        "doc_to_target": TARGET,
    }
    if kind == "multiple_choice":
        own["doc_to_choice"] = CHOICES
    if metrics is not None:
        own["metric_list"] = metrics
    if filters is not None:
        own["filter_list"] = filters
    examples = {"sampler": "first_n", "samples": []}  # none are needed
    return own | {"metadata": as_mapping(config.get("metadata")), "fewshot_config": examples}


def _listed(value: Any) -> list[dict[str, Any]]:
    """A list of mappings; an item of another kind becomes a mapping without a name."""
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, dict) else {} for item in items]


def _named(name: Any, registry: Mapping[str, Any]) -> bool:
    return isinstance(name, str) and name in registry


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_plain(item) for item in value.values())
    if isinstance(value, list):
        return all(_plain(item) for item in value)
    return isinstance(value, _PLAIN)


def row_of(place: ScorerPlace, sample: Sample) -> dict[str, Any]:
    """The row that a scorer is given.

    The logged one, with what was logged beside it where the scorer needs that.
    """
    if place.kind != RESULTS:
        return dict(sample.doc)
    return dict(sample.doc) | {TARGET: _target(place, sample), CHOICES: _choices(place, sample)}


def _target(place: ScorerPlace, sample: Sample) -> Any:
    """The logged target as the task gave it: lm-eval writes an index, a text or a list as text."""
    column = place.config.get("doc_to_target")
    if isinstance(column, str) and column in sample.doc:
        return sample.doc[column]
    text = sample.target
    if place.config.get("output_type") == "multiple_choice" and text.lstrip("-").isdigit():
        return int(text)
    if text.startswith("[") and text.endswith("]"):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return ast.literal_eval(text)
    return text


def _choices(place: ScorerPlace, sample: Sample) -> list[str]:
    """The choices: what the requests go on with, without the mark that stands before an answer."""
    if place.config.get("output_type") != "multiple_choice":
        return []
    before = place.config.get("target_delimiter", " ")
    requests = [argument for argument in sample.arguments.values() if isinstance(argument, dict)]
    if len({str(request.get("arg_0")) for request in requests}) > 1:
        raise NotDataError(
            "its choices stand in the prompt, which the results file describes by a template alone"
        )
    ends = [request.get("arg_1") for request in requests]
    return [
        end.removeprefix(before if isinstance(before, str) else " ")
        for end in ends
        if isinstance(end, str)
    ]
