"""Which results files are one run: those of all commands, stages and folders that carry one run id.

lm-eval writes what stands after `--metadata` into the metadata of every task, so that a results file says which run and
which command it is of. Files without an id are one run per time stamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from evalprep.files import as_mapping


@dataclass(frozen=True)
class Invocation:
    """One call of lm-eval as its files show it.

    Attributes:
        stamp: Time stamp in the names of its files.
        results: Its results file.
        run: Id of its run, empty without one.
        command: Name of the command, empty without one.
        samples: Task -> samples file.
        rows: Task -> rows that were scored, where the results file says so.
        model_args: Arguments of the back end as texts; None where the results file does not list them.
    """

    stamp: str
    results: Path
    run: str = ""
    command: str = ""
    samples: Mapping[str, Path] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    model_args: Mapping[str, str] | None = None


class _Config(msgspec.Struct):
    metadata: Any = None


class _Head(msgspec.Struct):
    config: Any = None
    configs: dict[str, _Config] = {}
    n_samples: dict[str, Any] = msgspec.field(default_factory=dict, name="n-samples")


@lru_cache(maxsize=256)
def _head(path: str, _size: int, _changed: int) -> tuple[str, str, dict[str, int], dict[str, str] | None]:
    try:
        head = msgspec.json.decode(Path(path).read_bytes(), type=_Head)
    except (OSError, ValueError, RecursionError):  # damaged, or not of lm-eval
        return "", "", {}, None
    given = [one.metadata for one in head.configs.values() if isinstance(one.metadata, dict)]
    run = next((one["run"] for one in given if isinstance(one.get("run"), str)), "")
    command = next((one["command"] for one in given if isinstance(one.get("command"), str)), "")
    rows = {
        task: counts["effective"]
        for task, counts in head.n_samples.items()
        if isinstance(counts, dict) and type(counts.get("effective")) is int
    }
    arguments = as_mapping(head.config).get("model_args")
    return run, command, rows, as_texts(arguments) if isinstance(arguments, dict) else None


def model_arguments(value: Any) -> dict[str, Any]:
    """`model_args` as a mapping: lm-eval logs a mapping, older versions the text of the command line.

    >>> model_arguments("pretrained=a/b,dtype=bfloat16")
    {'pretrained': 'a/b', 'dtype': 'bfloat16'}
    """
    if isinstance(value, Mapping):
        return {str(key): one for key, one in value.items()}
    if not isinstance(value, str):
        return {}
    pairs = (part.partition("=") for part in value.split(","))
    return {key.strip(): one.strip() for key, mark, one in pairs if mark}


def as_texts(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Arguments of a back end in one form, however a command line or a file wrote their values."""
    return {str(name): str(value) for name, value in arguments.items()}


def invocation_of(stamp: str, results: Path, samples: Mapping[str, Path]) -> Invocation:
    """Read from a results file which run and command it is of; a damaged one is of none."""
    try:
        state = results.stat()
    except OSError:
        return Invocation(stamp, results, samples=samples)
    run, command, rows, arguments = _head(str(results), state.st_size, state.st_mtime_ns)
    return Invocation(stamp, results, run, command, samples, rows, arguments)


def chosen(invocations: Iterable[Invocation]) -> dict[str, Invocation]:
    """Task -> the call whose samples count: of the files that have a task the one with most rows, then the newest."""
    found: dict[str, Invocation] = {}
    for one in sorted(invocations, key=lambda one: one.stamp):
        for task in one.samples:
            if task not in found or one.rows.get(task, 0) >= found[task].rows.get(task, 0):
                found[task] = one
    return found
