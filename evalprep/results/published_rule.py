"""The rule of published verdicts, and the reading of a task that is held against them.

The rule belongs to the pack: it is the filter of the pack's own template that its metadata name
(`published_filter`, else `strict-match`), with the template's scorer. Where the task that ran has
the same filter and scorer, its logged values are that reading. Where it has not, because the user
edited, renamed or removed it, the rule is applied to the saved replies when they are read. Code of
the run is never used: the functions are those of `custom_metrics` that the template names.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
from msgspec import structs

from evalprep.errors import BadInput
from evalprep.files import read_file
from evalprep.packs import Pack, find_packs, find_task, in_one_form, place_of, template_settings
from evalprep.readers import TaskSettings
from evalprep.results.facts import without_formatting
from evalprep.results.task import TaskRun
from evalprep.samples import NO_FILTER, ChangedSamples, Metric, Sample, SampleSource, as_written

#: The filter of a template that follows the published rule, where its metadata name none.
STRICT = "strict-match"
#: The reading of a pack's rule that none of the logged filters is.
PUBLISHED_RULE = "published rule"
_FORMULAS = "custom_metrics"
_TAKE_FIRST: tuple[Mapping[str, Any], ...] = ({"function": "take_first"},)
_OPEN = "${"  # begins a placeholder that no value fills


class PublishedReading(msgspec.Struct, frozen=True):
    """How the replies of a task are read to be held against published verdicts.

    Attributes:
        task: The task, whose lines hold the reading.
        metric: The metric and the filter of the reading.
        of_pack: Whether that is the rule of the task's pack, and no filter of the run decides it.
        applied: Whether the pack's rule was applied to the saved replies, as no logged filter is
            that rule.
        edited: Logged filters that the pack's template has under the same name with other steps,
            or not at all.
        unknown: Why the pack's rule could not be applied although the logged filter is another
            one; empty where it was not needed.
    """

    task: TaskRun
    metric: Metric
    of_pack: bool = False
    applied: bool = False
    edited: tuple[str, ...] = ()
    unknown: str = ""


class PublishedRule(msgspec.Struct, frozen=True):
    """The rule of the published verdicts of a pack's task.

    Attributes:
        pack: Name of the pack.
        metric, filter: The reading of the pack's template.
        filters: Every filter of the template -> its steps, with functions by their places.
        scorer: The place of the template's scorer.
        output_type: Kind of requests.
    """

    pack: str
    metric: str
    filter: str
    filters: Mapping[str, Sequence[Mapping[str, Any]]]
    scorer: str
    output_type: str

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """The steps of its filter."""
        return self.filters[self.filter]

    def edited_in(self, settings: TaskSettings) -> tuple[str, ...]:
        """Returns the logged filters that are not as the template has them."""
        logged = _logged_filters(settings)
        return tuple(
            name for name, steps in logged.items() if not _same(self.filters.get(name), steps)
        )

    def is_logged_in(self, settings: TaskSettings) -> bool:
        """Returns whether a run's own filter of that name, with its scorer, is this rule.

        A run that logged neither filters nor scorer is taken at its word.
        """
        if not {"filter_list", "process_results"} & settings.as_logged.keys():
            return True
        logged = _logged_filters(settings) or {NO_FILTER: _TAKE_FIRST}
        if not _same(self.filters[self.filter], logged.get(self.filter)):
            return False
        source = settings.as_logged.get("process_results")
        return source is None or _same_source(source, self.scorer)


def published_reading(task: TaskRun) -> PublishedReading:
    """Returns how the replies of a task are read to be held against published verdicts.

    That is by the filter that the user names, else by the pack's rule, else, of a task of no pack
    that is known here, by the filter that the task's metadata name.
    """
    if task.chosen is not None and task.chosen_filter:
        return PublishedReading(task, task.chosen)
    rule = _rule_of(task.name)
    if rule is None or not len(task.table()):
        return PublishedReading(task, _named_metric(task))
    settings = task.logged.settings
    name = _metric_of_rule(rule, task)
    edited = rule.edited_in(settings)
    is_logged = rule.is_logged_in(settings)
    if is_logged and _has(task, name, rule.filter):
        metric = structs.replace(task.metric(name, rule.filter), declared=True)
        return PublishedReading(task, metric, of_pack=True, edited=edited)
    is_prepared = task.planned is not None or task.metadata.get("pack") == rule.pack
    if is_logged or not is_prepared:
        # Lines of which nothing is known but the names, or another task of that name.
        return PublishedReading(task, _named_metric(task))
    return _reading_by_rule(rule, task, name, edited)


def _metric_of_rule(rule: PublishedRule, task: TaskRun) -> str:
    """The metric that the user names, else that of the run's plan, else the rule's own."""
    if task.chosen is not None:
        return task.chosen.metric
    if task.planned is not None and task.planned.primary is not None:
        return task.planned.primary[0]
    return rule.metric


def _reading_by_rule(
    rule: PublishedRule, task: TaskRun, metric: str, edited: tuple[str, ...]
) -> PublishedReading:
    """The reading of a task that a rule makes of its saved replies."""
    source = _applied(rule, task)
    if source is None:
        why = "the rule of the published verdicts cannot be applied to the saved replies"
        return PublishedReading(task, _named_metric(task), edited=edited, unknown=why)
    whole = replace(task, source=source, chosen=None, _tables={})
    chosen = structs.replace(whole.metric(metric, PUBLISHED_RULE), declared=True)
    return PublishedReading(whole, chosen, of_pack=True, applied=True, edited=edited)


def _named_metric(task: TaskRun) -> Metric:
    """The metric that a task's own metadata name for published verdicts, where the task has it."""
    primary = task.primary
    name = task.metadata.get("published_metric") or primary.metric
    filter_name = task.metadata.get("published_filter") or STRICT
    if not _has(task, name, filter_name):
        return primary
    return structs.replace(task.metric(name, filter_name), declared=primary.declared)


def _has(task: TaskRun, metric: str, filter_name: str) -> bool:
    """Returns whether the rows of a task have a metric under a filter."""
    return filter_name in task.table().filters and metric in task.table(filter_name).metrics


@cache
def _rule_of(task: str) -> PublishedRule | None:
    try:
        pack_and_name = find_task(find_packs(), task)
    except BadInput:  # a broken pack costs its rule, not the comparison
        return None
    return None if pack_and_name is None else rule_of_template(*pack_and_name)


def rule_of_template(pack: Pack, task: str) -> PublishedRule | None:
    """Returns the rule that the template of a task declares; None where it has no template."""
    spec = pack.tasks.get(task)
    if spec is None or not spec.template:
        return None
    content = _filled(template_settings(pack.folder / spec.template), spec.values)
    metadata = content.get("metadata")
    declared = metadata if isinstance(metadata, Mapping) else {}
    filters: dict[str, Sequence[Mapping[str, Any]]] = {}
    for entry in content.get("filter_list") or ():
        filters[str(entry.get("name"))] = entry.get("filter") or ()
    if not filters:
        filters = {NO_FILTER: _TAKE_FIRST}
    name = declared.get("published_filter") or STRICT
    if name not in filters:
        name = declared.get("primary_filter") or next(iter(filters))
    if name not in filters:
        return None
    return PublishedRule(
        pack=pack.name,
        metric=str(declared.get("published_metric") or declared.get("primary_metric") or ""),
        filter=name,
        filters=filters,
        scorer=place_of(content.get("process_results")),
        output_type=str(content.get("output_type") or ""),
    )


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """A template with those placeholders filled that pack.yaml has values for."""
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, str) and value.startswith(_OPEN) and value.endswith("}"):
        return values.get(value[len(_OPEN) : -1], value)
    return value


def _logged_filters(settings: TaskSettings) -> dict[str, Any]:
    """Filter -> its steps, of a run."""
    listed = settings.as_logged.get("filter_list")
    entries = listed if isinstance(listed, list) else []
    return {
        str(entry.get("name")): entry.get("filter") for entry in entries if isinstance(entry, dict)
    }


def _same(steps: Any, logged: Any) -> bool:
    """Returns whether two filters have the same steps; a placeholder stands for any value."""
    if isinstance(steps, str) and steps.startswith(_OPEN):
        return isinstance(logged, str)
    if isinstance(steps, Mapping) and isinstance(logged, Mapping):
        return steps.keys() == logged.keys() and all(
            _same(value, logged[key]) for key, value in steps.items()
        )
    if isinstance(steps, (list, tuple)) and isinstance(logged, (list, tuple)):
        return len(steps) == len(logged) and all(map(_same, steps, logged))
    return bool(in_one_form(steps) == in_one_form(logged))


def _same_source(logged: Any, place: str) -> bool:
    """Returns whether a logged scorer is the function at a place, as it is today."""
    import inspect

    function = _function_at(place)
    if function is None:
        return bool(in_one_form(logged) == in_one_form(f"<function {place}>"))
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return False
    return bool(without_formatting(logged) == without_formatting(source))


def _function_at(place: str) -> Callable[..., Any] | None:
    """The function of `custom_metrics` at a place; None where there is none."""
    module, _, name = place.rpartition(".")
    if module.partition(".")[0] != _FORMULAS:
        return None
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    return function if callable(function) else None


def _applied(rule: PublishedRule, task: TaskRun) -> SampleSource | None:
    """The samples of a task under its pack's rule; None where the rule cannot be applied."""
    scorer = _function_at(rule.scorer)
    ensemble = _ensemble(rule.steps)
    if scorer is None or ensemble is None:
        return None
    steps = json.dumps(rule.steps, sort_keys=True)
    first = task.first_sample
    filter_name = "" if first is None else first.filter

    def under_rule(sample: Sample) -> Sample | None:
        """A row under the rule, once: by its sample under the first filter."""
        if sample.filter != filter_name:
            return None
        return _scored(sample, ensemble, scorer, rule.output_type)

    key = f"published {_version()} {rule.scorer} {steps}"
    return ChangedSamples(task.source, under_rule, key)


def _ensemble(steps: Sequence[Mapping[str, Any]]) -> Any:
    """The filter of lm-eval with these steps; None where one is not known here."""
    from lm_eval.filters import build_filter_ensemble

    components = []
    for step in steps:
        arguments = {key: value for key, value in step.items() if key != "function"}
        for key, value in arguments.items():
            place = place_of(value)
            if place:
                arguments[key] = _function_at(place)
            if arguments[key] is None or _OPEN in str(value):
                return None
        components.append((str(step.get("function")), arguments))
    return build_filter_ensemble(PUBLISHED_RULE, components)


def _scored(sample: Sample, ensemble: Any, scorer: Callable[..., Any], output_type: str) -> Sample:
    """A row with the replies as the rule filters them and the values of the scorer."""
    doc = dict(sample.doc)
    requests = [
        SimpleNamespace(resps=_as_answered(request, output_type), doc=doc, filtered_resps={})
        for request in sample.resps
    ]
    filtered: list[Any] = []
    values: dict[str, Any] = {}
    try:
        ensemble.apply(requests)
        filtered = [request.filtered_resps[PUBLISHED_RULE] for request in requests]
        values = dict(scorer(doc, filtered))
    except Exception:  # noqa: BLE001 - a row that cannot be scored has no score
        filtered = []
    return structs.replace(
        sample, filter=PUBLISHED_RULE, filtered_resps=as_written(filtered), metrics=values
    )


def _as_answered(request: Any, output_type: str) -> list[Any]:
    """The replies to one request as lm-eval had them: it logs likelihoods as texts."""
    replies = request if isinstance(request, list) else [request]
    if output_type != "multiple_choice":
        return replies
    return [
        (float(reply[0]), str(reply[1]) == "True") if isinstance(reply, list) else reply
        for reply in replies
    ]


@cache
def _version() -> str:
    """A digest of the formulas, so that a mended one makes new lines."""
    folder = Path(str(importlib.import_module(_FORMULAS).__file__)).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(read_file(path, own=True))
    return digest.hexdigest()
