"""Results files of lighteval, which hold values without samples.

Tasks are `<suite>|<task>|<shots>` or, from 0.11, `<task>|<shots>`; `all` and `<task>:_average|...`
are means over tasks. The start time is that of a clock without a date, and is not read.
"""

from __future__ import annotations

from typing import Any

import msgspec

from evalprep.readers.logged import RunResults, TaskResults
from evalprep.readers.parts import call_settings, decode_parts, stored_metrics_without_filters

_MEAN_OF_ALL = "all"
_MEAN_OF_SUBTASKS = ":_average"


class _Config(msgspec.Struct):
    model_name: str = ""


class _General(msgspec.Struct):
    model_name: str = ""
    model_config: _Config = msgspec.field(default_factory=_Config)


class _File(msgspec.Struct):
    results: dict[str, dict[str, Any]] = {}
    versions: dict[str, Any] = {}
    config_general: _General = msgspec.field(default_factory=_General)


def recognises(content: dict[str, Any]) -> bool:
    """Returns whether a results file has this layout."""
    return "config_general" in content and isinstance(content.get("results"), dict)


def decode(content: dict[str, Any], file: str) -> RunResults:
    """Decodes a results file of lighteval."""
    wire, damage = decode_parts(content, _File, file)
    model = wire.config_general.model_name or wire.config_general.model_config.model_name
    tasks = {
        name: TaskResults(
            name=name,
            metrics=stored_metrics_without_filters(entry),
            version=wire.versions.get(name),
            num_fewshot=_shots(name),
        )
        for name, entry in wire.results.items()
        if not _is_mean(name)
    }
    settings = call_settings({"model_name": model})
    return RunResults(
        settings=settings, tasks=tasks, damage=tuple(damage), read=True, tool="lighteval"
    )


def _is_mean(name: str) -> bool:
    return name == _MEAN_OF_ALL or _MEAN_OF_SUBTASKS in name


def _shots(name: str) -> int | None:
    """The examples in the prompt that a task's name ends in.

    >>> _shots("gpqa:diamond|0"), _shots("leaderboard|arc:challenge|25"), _shots("aime25")
    (0, 25, None)
    """
    _, bar, last = name.rpartition("|")
    return int(last) if bar and last.isdecimal() else None
