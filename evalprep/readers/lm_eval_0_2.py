"""Results of lm-eval 0.2 and 0.3.

`task: {acc: ..., acc_stderr: ...}`, without filters, settings of tasks or samples.

The evaluations that were published beside the Pythia models in 2023 have this layout.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import msgspec

from evalprep.numbers import finite_number
from evalprep.readers.logged import RunResults, TaskResults
from evalprep.readers.parts import call_settings, decode_parts, stored_metrics_without_filters


class _Config(msgspec.Struct, frozen=True):
    num_fewshot: int | None = None


class _File(msgspec.Struct):
    results: dict[str, dict[str, Any]] = {}
    versions: dict[str, Any] = {}
    config: _Config = _Config()


#: Arguments of a call that these versions kept.
_ARGUMENTS = {"model_args", "num_fewshot", "no_cache", "bootstrap_iters", "description_dict"}


def _has_values(entry: Any) -> bool:
    return isinstance(entry, dict) and any(
        finite_number(value) is not None for value in entry.values()
    )


def recognises(content: dict[str, Any]) -> bool:
    """Returns whether a results file has this layout.

    Tasks with a score of their own over all rows, such as SQuAD, have no standard error. They are
    told by the versions of the tasks or by the arguments of the call.
    """
    entries = content.get("results")
    if "configs" in content or not isinstance(entries, dict) or not entries:
        return False
    scored = list(filter(_has_values, entries.values()))
    keys = list(chain.from_iterable(scored))
    if any("," in key for key in keys):
        return False
    if any(key.endswith("_stderr") for key in keys):
        return True
    versions, config = content.get("versions"), content.get("config")
    has_versions = isinstance(versions, dict) and entries.keys() <= versions.keys()
    has_arguments = isinstance(config, dict) and not _ARGUMENTS.isdisjoint(config)
    return bool(scored) and (has_versions or has_arguments)


def decode(content: dict[str, Any], file: str) -> RunResults:
    """Decodes a results file of this layout."""
    wire, damage = decode_parts(content, _File, file)
    tasks = {
        name: TaskResults(
            name=name,
            metrics=stored_metrics_without_filters(entry),
            version=wire.versions.get(name),
            num_fewshot=wire.config.num_fewshot,
        )
        for name, entry in wire.results.items()
    }
    return RunResults(settings=call_settings(content), tasks=tasks, damage=tuple(damage), read=True)
