"""The few facts of a results file that say which call it is of, read without building the rest."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from evalprep.results.logged import RowCounts
from evalprep.results.readers.jsonparts import JsonParts
from evalprep.results.readers.parts import call_settings


class CallHead(msgspec.Struct, frozen=True, kw_only=True):
    """The call of lm-eval that wrote a results file.

    Attributes:
        run: Id of the run; empty without one.
        command: Name of the command; empty without one.
        rows: Task -> rows that were scored, where the file says so.
        arguments: Arguments of the back end as texts; None where the file does not list them.
        model: Name of the model without its owner or folder; empty where the file has none.
    """

    run: str = ""
    command: str = ""
    rows: Mapping[str, int] = msgspec.field(default_factory=dict)
    arguments: Mapping[str, str] | None = None
    model: str = ""


class _Task(msgspec.Struct):
    metadata: Any = None


class _Call(msgspec.Struct, frozen=True):
    model: Any = None
    model_args: Any = None


class _File(msgspec.Struct):
    config: _Call | None = None
    configs: dict[str, _Task] = {}
    n_samples: dict[str, RowCounts] = msgspec.field(default_factory=dict, name="n-samples")
    model_name: Any = None
    model_name_sanitized: Any = None


_KEYS = {"config", "configs", "n-samples", "model_name", "model_name_sanitized"}


def read_head(file: Path) -> CallHead:
    """Returns the head of a results file; empty for one that is damaged or not lm-eval's."""
    try:
        state = file.stat()
    except OSError:
        return CallHead()
    return _cached_head(str(file), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=256)
def _cached_head(path: str, _size: int, _changed: int) -> CallHead:
    try:
        head = _decode(JsonParts.of_file(Path(path)))
    except (OSError, ValueError, RecursionError):
        return CallHead()
    metadata = [task.metadata for task in head.configs.values() if isinstance(task.metadata, dict)]
    arguments = head.config.model_args if head.config is not None else None
    counts = head.n_samples.items()
    return CallHead(
        run=_first_text(metadata, "run"),
        command=_first_text(metadata, "command"),
        rows={task: count.effective for task, count in counts if count.effective is not None},
        arguments=as_texts(arguments) if isinstance(arguments, dict) else None,
        model=_model_of(head),
    )


def _model_of(head: _File) -> str:
    config = {} if head.config is None else msgspec.structs.asdict(head.config)
    names = {"model_name": head.model_name, "model_name_sanitized": head.model_name_sanitized}
    model = call_settings({"config": config, **names}).model
    return model.rstrip("/").rpartition("/")[2]


def _decode(parts: JsonParts) -> _File:
    """The head alone: a whole dump holds all samples, too."""
    return msgspec.convert({key: parts.get(key) for key in _KEYS & parts.members.keys()}, _File)


def _first_text(metadata: list[dict[str, Any]], key: str) -> str:
    return next((entry[key] for entry in metadata if isinstance(entry.get(key), str)), "")


def as_texts(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Returns arguments of a back end in one form, however a command line or a file wrote them."""
    return {str(name): str(value) for name, value in arguments.items()}
