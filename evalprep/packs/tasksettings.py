"""The settings of a task in one form, whether its YAML states them or lm-eval logged them.

A YAML names a function by its place (`!function custom_metrics.harness.filters.boxed`); lm-eval
logs its source text, or its place in memory where it stands inside a list. Here all three are
`<function boxed>`. Every record of a preparation has the settings in this form, and what lm-eval
logged is brought into it before the two are compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.files import NotRead, as_mapping, read_file
from evalprep.yamltext import Loader, NotYaml, compose

#: Key of a task's YAML -> the fact of a question that it decides.
FACT_OF_SETTING: Mapping[str, str] = {
    "output_type": "form",
    "doc_to_text": "prompt",
    "doc_to_choice": "prompt",
    "description": "prompt",
    "target_delimiter": "prompt",
    "fewshot_delimiter": "prompt",
    "gen_prefix": "prompt",
    "process_docs": "data",
    "dataset_path": "data",
    "dataset_name": "data",
    "test_split": "data",
    "doc_to_target": "gold",
    "num_fewshot": "num_fewshot",
    "generation_kwargs": "generation",
    "repeats": "draws",
    "filter_list": "filter",
    "process_results": "metric",
    "metric_list": "metric",
}
#: Keys of `metadata` that choose a reading -> the fact that they decide.
FACT_OF_CHOICE: Mapping[str, str] = {"primary_metric": "metric", "primary_filter": "filter"}
#: A function of lm-eval's own tasks, of which the name does not count.
ANY_FUNCTION = "<function>"
#: Key of a task whose code may add to its settings.
CLASS = "class"
#: Facts of how replies are read, not of what was asked.
READ_BY = frozenset({"filter", "metric"})
_BEGINS = ("def ", "async def ", "@")  # the source text of a function
_SOURCE = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
_PLACE = re.compile(r"<function (?:[\w.<>]+\.)?(\w+)")


def in_one_form(value: Any) -> Any:
    r"""Returns a setting with each function as `<function NAME>`.

    >>> in_one_form({"filter_fn": "<function boxed at 0x7f3a>"})
    {'filter_fn': '<function boxed>'}
    >>> in_one_form("@averaged\ndef choice(doc, results):\n    return {}\n")
    '<function choice>'
    """
    if isinstance(value, Mapping):
        return {str(key): in_one_form(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_one_form(item) for item in value]
    if not isinstance(value, str):
        return value
    is_source = value.lstrip().startswith(_BEGINS)
    function = _SOURCE.search(value) if is_source else _PLACE.match(value)
    return f"<function {function[1]}>" if function else value


def is_reading(key: str) -> bool:
    """Returns whether a key of a task's settings decides how replies are read."""
    return key == "metadata" or FACT_OF_SETTING.get(key) in READ_BY


def template_settings(path: Path) -> dict[str, Any]:
    """Returns what a task's YAML states, each function as `<function PLACE>`.

    Empty where it cannot be read.
    """
    functions = {"!function": lambda _, node: f"<function {node.value}>"}
    try:
        content, _ = compose(read_file(path).decode("utf-8-sig"), Loader, functions)
    except (NotRead, OSError, UnicodeDecodeError, NotYaml):
        return {}
    return content if isinstance(content, dict) else {}


def settings_of(file: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a task file as lm-eval will log them, in one form.

    A record keeps them, to hold what was logged against what was meant. A task with a class of its
    own may add to its settings and read replies in a way of its own: what its file states of the
    question is kept, and the class.

    Args:
        file: The task's YAML.
        config: The core keys of the configuration, whose generation settings and shots are part of
            what is logged.

    Returns:
        Empty for a file that cannot be read, or that is of no task.
    """
    return settings_of_task(_with_included(file), config)


def settings_of_task(stated: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a task as lm-eval will log them, in one form.

    Args:
        stated: The keys of its YAML, with those that it includes.
        config: The core keys of the configuration.
    """
    settings = {key: in_one_form(stated[key]) for key in FACT_OF_SETTING if key in stated}
    if not settings:
        return {}
    if CLASS in stated:
        asking = {key: value for key, value in settings.items() if not is_reading(key)}
        settings = {CLASS: in_one_form(stated[CLASS]), **asking}
    else:
        metadata = as_mapping(stated.get("metadata"))
        settings["metadata"] = {key: metadata[key] for key in FACT_OF_CHOICE if key in metadata}
    generation = as_mapping(config.get("gen_kwargs"))
    if generation and settings.get("output_type") == "generate_until":
        own = settings.get("generation_kwargs") or {}
        settings["generation_kwargs"] = {**own, **generation}
    shots = config.get("num_fewshot")
    if shots is not None and settings.get("num_fewshot") != 0:
        settings["num_fewshot"] = shots
    return settings


def _with_included(file: Path, seen: frozenset[Path] = frozenset()) -> dict[str, Any]:
    """What a task's YAML states, with what it includes; its own keys win, as in lm-eval.

    Empty where one of the files cannot be read.
    """
    stated = template_settings(file)
    included = stated.pop("include", None)
    if included is None or file in seen:
        return stated if file not in seen else {}
    merged: dict[str, Any] = {}
    for name in included if isinstance(included, list) else [included]:
        base = _with_included(file.parent / str(name), seen | {file})
        if not base:
            return {}
        merged |= base
    return merged | stated


def asking_modules(file: Path) -> set[str]:
    """Returns the modules whose functions decide what a task asks, as its YAML names them."""
    stated = _with_included(file)
    asking = [key for key in FACT_OF_SETTING if not is_reading(key)]
    places = (place_of(stated.get(key)) for key in asking)
    return {place.rpartition(".")[0] for place in places if "." in place}


def place_of(setting: Any) -> str:
    """Returns the place of a function that a YAML names; empty for any other setting.

    >>> place_of("<function custom_metrics.harness.filters.boxed>")
    'custom_metrics.harness.filters.boxed'
    """
    if not isinstance(setting, str) or not setting.startswith("<function "):
        return ""
    return setting.removeprefix("<function ").removesuffix(">")
