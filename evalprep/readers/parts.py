"""Decoding of parts of a results file, of which damaged ones are left out and named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_origin

import msgspec

from evalprep.numbers import finite_number
from evalprep.readers.known_metrics import KnownMetric, direction_of, scored_metric
from evalprep.readers.logged import NONE, CallSettings, DamagedPart, Dataset, Rescored, TaskSettings
from evalprep.samples import Direction, Metric
from evalprep.structs import fields_of

_STDERR = "_stderr"
_WITHOUT_DEVICE = ("vllm", "dummy", "completions")  # ends of the names of lm-eval's models
_FUNCTION = re.compile(r"(?:def |<function )(\w+)")
_TEMPLATE_KEYS = (
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "description",
    "target_delimiter",
    "fewshot_delimiter",
    "gen_prefix",
    "output_type",
    "fewshot_config",
)
SCORER_KEYS = ("process_results", "filter_list", "metric_list")
_VERSION_KEYS = ("lm_eval_version", "transformers_version", "vllm_version", "git_hash")
_SEED_KEYS = {
    "random": "random_seed",
    "numpy": "numpy_seed",
    "torch": "torch_seed",
    "fewshot": "fewshot_seed",
}

#: Arguments of a back end that lm-eval takes the model's name from.
_KEYS_OF_MODEL = ("peft", "delta", "pretrained", "model", "path", "engine")
_DRAWN_NAME = re.compile("[a-z0-9]{8}")
#: The back end of a call over stored replies, whose model is named by whoever stored them.
STORED = "stored"
_WRONG_TYPE = re.compile(r"Expected `(?P<expected>[^`]+)`, got `(?P<got>\w+)`")
_WORDS = {
    "object": "an object",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
}

Wire = TypeVar("Wire", bound=msgspec.Struct)

#: How the decoder refuses a value: one of another type, or half a character, which JSON can spell.
_REFUSED = (msgspec.ValidationError, UnicodeEncodeError)


def decode_parts(
    content: Mapping[str, Any], wire: type[Wire], file: str, within: str = ""
) -> tuple[Wire, list[DamagedPart]]:
    """Decodes a mapping as a struct; of a damaged part the good entries, and the others are named.

    Args:
        content: Decoded JSON.
        wire: What it is decoded into; every field has a default.
        file: Name of the file, for notes.
        within: What the mapping is a part of.
    """
    values: dict[str, Any] = {}
    damage: list[DamagedPart] = []
    for field in fields_of(wire):
        value = content.get(field.encode_name)
        if value is None:
            continue
        path = f"{within}.{field.encode_name}" if within else field.encode_name
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except _REFUSED as error:
            if isinstance(value, dict) and get_origin(field.type) is dict:
                values[field.name], damaged_entries = _good_entries(value, field.type, file, path)
                damage += damaged_entries
            else:
                damage.append(DamagedPart(file, path, _reason(error)))
    return wire(**values), damage


def _good_entries(
    entries: Mapping[str, Any], kind: Any, file: str, path: str
) -> tuple[dict[str, Any], list[DamagedPart]]:
    """The entries of a mapping that are of its type, and the others as damage."""
    good: dict[str, Any] = {}
    damage = []
    for name, entry in entries.items():
        try:
            good |= msgspec.convert({name: entry}, kind)
        except _REFUSED as error:
            damage.append(DamagedPart(file, f"{path} of {name}", _reason(error)))
    return good, damage


def _reason(error: Exception) -> str:
    """Returns why a value is refused, in words of the field instead of the decoder's."""
    types = _WRONG_TYPE.match(str(error))
    if types is None:
        return "a value that is not possible"
    expected = types["expected"].partition(" ")[0]
    return f"{_WORDS.get(types['got'], 'a value')} in place of {_WORDS.get(expected, 'a value')}"


def number_or_none(value: Any) -> float | None:
    """Returns a finite number of a value that may be written as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return finite_number(value)


class DeclaredMetric(msgspec.Struct, frozen=True):
    """The entry of a metric in a task's settings."""

    direction: Direction | None = None
    aggregation: str = ""


def declared_metrics(entry: Mapping[str, Any]) -> dict[str, DeclaredMetric]:
    """Returns what the settings of a task say of its metrics, by name."""
    listed = entry.get("metric_list")
    if not isinstance(listed, list):
        return {}
    declared = {}
    for item in listed:
        if not isinstance(item, dict):
            continue
        higher = item.get("higher_is_better")
        direction = direction_of(higher) if isinstance(higher, bool) else None
        aggregation = _function_name(item.get("aggregation"))
        declared[_function_name(item.get("metric"))] = DeclaredMetric(direction, aggregation)
    return declared


def directions_of(
    stated: Mapping[str, bool | None], declared: Mapping[str, DeclaredMetric]
) -> dict[str, Direction]:
    """Returns the direction of each metric, as the file or the settings of the task state it."""
    own = {name: metric.direction for name, metric in declared.items() if metric.direction}
    return {**own, **{name: direction_of(higher) for name, higher in stated.items()}}


def _function_name(value: Any) -> str:
    """The name of a function.

    lm-eval logs it as its name, its source text or its place in memory.
    """
    if not isinstance(value, str):
        return ""
    match = _FUNCTION.search(value)
    return match[1] if match else value


def metric_of(
    name: str,
    filter_name: str,
    value: Any,
    stderr: Any,
    direction: Direction | None,
    declared: Mapping[str, DeclaredMetric],
    known: KnownMetric,
) -> Metric:
    """Returns one stored metric.

    Args:
        name: Its name.
        filter_name: Its filter.
        value: What is stored of it.
        stderr: What is stored as its standard error.
        direction: The direction that the file states; None where it states none.
        declared: What the settings of the task say of its metrics.
        known: What its name and the scorer of its task say of it.
    """
    own = declared.get(name, DeclaredMetric())
    number = finite_number(value)
    if not known.may_be(number):
        known = known.of_another_scale
    return Metric(
        metric=name,
        filter=filter_name,
        value=number,
        stderr=finite_number(stderr),
        direction=direction or own.direction or known.direction,
        aggregation=own.aggregation or known.aggregation,
        unit=known.unit,
        range=known.range,
        text="" if number is not None or value is None else str(value),
    )


def stored_metrics(
    entry: Mapping[str, Any],
    directions: Mapping[str, bool | None],
    declared: Mapping[str, DeclaredMetric],
    output_type: str = "",
) -> tuple[Metric, ...]:
    """Returns the metrics of an entry whose keys are `metric,filter`, in its order.

    Args:
        entry: The entry of a task or a group.
        directions: The directions that the file states.
        declared: What the settings of the task say of its metrics.
        output_type: Type of the task's requests; empty where it is not known, and for groups.
    """
    metrics = []
    names = {key.partition(",")[0] for key in entry}
    for key, value in entry.items():
        name, comma, filter_name = key.partition(",")
        if not comma or name.endswith(_STDERR):
            continue
        stderr = entry.get(f"{name}{_STDERR},{filter_name}")
        direction = direction_of(directions[name]) if name in directions else None
        known = scored_metric(name, names, output_type, declared or None)
        metrics.append(metric_of(name, filter_name, value, stderr, direction, declared, known))
    return tuple(metrics)


def stored_metrics_without_filters(entry: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Returns the metrics of an entry whose keys are plain names."""
    return tuple(
        metric_of(
            name,
            NONE,
            value,
            entry.get(f"{name}{_STDERR}"),
            None,
            {},
            scored_metric(name, entry, "", None),
        )
        for name, value in entry.items()
        if not name.endswith(_STDERR) and finite_number(value) is not None
    )


class WireTask(msgspec.Struct, kw_only=True):
    """The settings of a task that have a type of their own."""

    metadata: dict[str, Any] | list[dict[str, Any]] = {}  # a list in 0.4.0
    task_alias: str | None = None
    output_type: str | None = None
    dataset_path: str | None = None
    dataset_name: str | None = None
    test_split: str | None = None
    validation_split: str | None = None
    dataset_kwargs: dict[str, Any] = {}
    generation_kwargs: dict[str, Any] = {}
    repeats: int | None = None
    num_fewshot: int | None = None
    filter_list: list[dict[str, Any]] = []


def _filter_names(wire: WireTask) -> tuple[str, ...]:
    """The filters of a task; none where one of them has no name."""
    names = [item.get("name") for item in wire.filter_list]
    texts = tuple(name for name in names if isinstance(name, str))
    return texts if len(texts) == len(names) else ()


def task_settings(
    entry: Mapping[str, Any], file: str, task: str
) -> tuple[TaskSettings, list[DamagedPart]]:
    """Decodes the settings of a task."""
    wire, damage = decode_parts(entry, WireTask, file, f"settings of {task}")
    revision = wire.dataset_kwargs.get("revision")
    settings = TaskSettings(
        metadata=_joined(wire.metadata),
        title=wire.task_alias or "",
        output_type=wire.output_type or "",
        dataset=Dataset(
            path=wire.dataset_path or "",
            name=wire.dataset_name,
            split=wire.test_split or wire.validation_split,
            revision=revision if isinstance(revision, str) else None,
            files=tuple(texts_in(wire.dataset_kwargs.get("data_files"))),
        ),
        filters=_filter_names(wire),
        generation=wire.generation_kwargs,
        repeats=wire.repeats,
        num_fewshot=wire.num_fewshot,
        template={key: entry.get(key) for key in _TEMPLATE_KEYS},
        scorer={key: entry[key] for key in SCORER_KEYS if key in entry},
        as_logged=entry,
    )
    return settings, damage


def _joined(entries: Mapping[str, Any] | list[dict[str, Any]]) -> Mapping[str, Any]:
    """Metadata as one mapping."""
    if isinstance(entries, Mapping):
        return entries
    return dict(chain.from_iterable(entry.items() for entry in entries))


def texts_in(value: Any) -> Iterable[str]:
    """Yields all texts in a value, however deep in lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def arguments_of(value: Any) -> dict[str, Any]:
    """Arguments as a mapping: lm-eval logs a mapping, older versions the text of the command line.

    >>> arguments_of("pretrained=a/b,dtype=bfloat16")
    {'pretrained': 'a/b', 'dtype': 'bfloat16'}
    """
    if isinstance(value, Mapping):
        return {str(key): argument for key, argument in value.items()}
    if not isinstance(value, str):
        return {}
    pairs = (part.partition("=") for part in value.split(","))
    return {key.strip(): argument.strip() for key, mark, argument in pairs if mark}


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def call_settings(content: Mapping[str, Any]) -> CallSettings:
    """Returns the settings of a call from the top level of a results file and its settings."""
    config = content.get("config")
    config = config if isinstance(config, dict) else {}
    return CallSettings(
        backend=_text_or_none(config.get("model")),
        model_name=_model_name(content, config),
        folder=str(content.get("model_name_sanitized") or ""),
        arguments=arguments_of(config.get("model_args")),
        arguments_text=str(config.get("model_args") or ""),
        dtype=_text_or_none(config.get("model_dtype")),
        batch_size=config.get("batch_size"),
        limit=finite_number(config.get("limit")),
        generation=arguments_of(config.get("gen_kwargs")),
        seeds={name: config[key] for name, key in _SEED_KEYS.items() if key in config},
        chat_template=_known(content, "chat_template_sha", "chat_template"),
        system=_known(content, "system_instruction_sha", "system_instruction"),
        multiturn=content.get("fewshot_as_multiturn"),
        versions={key: str(content[key]) for key in _VERSION_KEYS if content.get(key)},
        lm_eval_version=str(content.get("lm_eval_version") or ""),
        engine_version=_engine_version(content, config),
        started=number_or_none(content.get("date")),
        seconds=number_or_none(content.get("total_evaluation_time_seconds")),
        stored_replies=bool(config.get("replies")),
        shown=tuple(_shown_settings(content, config)),
        as_logged=config,
    )


def _model_name(content: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The model's name as lm-eval wrote it.

    Where lm-eval drew eight letters by chance, that is the name of the back end. It draws them for
    a call whose arguments name no model, `lm_eval --model dummy` for one.
    """
    logged = str(content.get("model_name") or "")
    arguments = arguments_of(config.get("model_args"))
    backend = config.get("model")
    is_named = backend == STORED or any(arguments.get(key) for key in _KEYS_OF_MODEL)
    is_folder = content.get("model_name_sanitized") == logged
    if is_named or not is_folder or not _DRAWN_NAME.fullmatch(logged):
        return logged
    return backend if isinstance(backend, str) and backend else logged


def _engine_version(content: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Version of vLLM where it ran the model, else that of transformers."""
    key = "vllm_version" if config.get("model") == "vllm" else "transformers_version"
    return str(content.get(key) or content.get("transformers_version") or "")


def _shown_settings(
    content: Mapping[str, Any], config: Mapping[str, Any]
) -> Iterator[tuple[str, str, Any]]:
    """Group, name and value of the settings that pages list, as they were logged."""
    # lm-eval logs its default, cuda:0, also where the engine ignores the option.
    device = [] if str(config.get("model")).endswith(_WITHOUT_DEVICE) else ["device"]
    for key in ("batch_size", *device, "limit", "gen_kwargs", "use_cache", "bootstrap_iters"):
        yield "Run", key, config.get(key)
    arguments = config.get("model_args")
    if isinstance(arguments, dict):
        for name, value in sorted(arguments.items()):
            yield "Model arguments", name, value
    yield "Model arguments", "all", arguments if isinstance(arguments, str) else None
    for key in ("system_instruction", "fewshot_as_multiturn", "chat_template_sha", "max_length"):
        yield "Prompting", key, content.get(key)
    applied = "applied" if content.get("chat_template") else "not applied"
    yield "Prompting", "chat template", applied
    for use, key in _SEED_KEYS.items():
        yield "Seeds", use, config.get(key)
    yield "Versions", "lm-eval", content.get("lm_eval_version")
    yield "Versions", "transformers", content.get("transformers_version")
    yield "Versions", "git", content.get("git_hash")


def _known(content: Mapping[str, Any], *keys: str) -> str | None:
    """The first of some entries that has a value; `none` where they are empty.

    None where they are not there.
    """
    values = [content[key] for key in keys if key in content]
    return next((str(value) for value in values if value), NONE if values else None)


class WireRescored(msgspec.Struct, kw_only=True):
    """The run whose replies `evalprep rescore` scored, as it writes it."""

    from_: str = msgspec.field(default="", name="from")
    stamp: str = ""
    run: str | None = ""
    left_out: dict[str, str] = {}


def rescored_of(wire: WireRescored) -> Rescored | None:
    """Returns where the replies of a rescored run are from; None where it does not say."""
    if not wire.from_ or not wire.stamp or "\0" in wire.from_:
        return None
    return Rescored(Path(wire.from_), wire.stamp, wire.run or "", wire.left_out)
