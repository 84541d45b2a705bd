"""The few facts of a results file that say which call it is of, read without building the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from evalprep.readers.logged import CallSettings, RowCounts
from evalprep.readers.parts import call_settings
from evalprep.samples import JsonParts


class CallHead(msgspec.Struct, frozen=True, kw_only=True):
    """The call of lm-eval that wrote a results file.

    Attributes:
        run: Id of the run; empty without one.
        command: Name of the command; empty without one.
        attempt: Number of the try that the file states; None where it states none.
        tasks: Every task that the file lists.
        rows: Task -> rows that were scored, where the file says so.
        model: Name of the model without its owner or folder; empty where the file has none.
        settings: The settings of the call.
    """

    run: str = ""
    command: str = ""
    attempt: int | None = None
    tasks: tuple[str, ...] = ()
    rows: Mapping[str, int] = msgspec.field(default_factory=dict)
    model: str = ""
    settings: CallSettings = CallSettings()


class _Task(msgspec.Struct):
    metadata: Any = None


class _File(msgspec.Struct):
    configs: dict[str, _Task] = {}
    group_subtasks: dict[str, list[str] | None] = {}
    n_samples: dict[str, RowCounts] = msgspec.field(default_factory=dict, name="n-samples")


#: What the settings of the call are decoded from.
_OF_CALL = (
    *("config", "model_name", "model_name_sanitized", "date", "chat_template_sha"),
    *("chat_template", "system_instruction_sha", "system_instruction", "fewshot_as_multiturn"),
)
_OF_TASKS = ("configs", "group_subtasks", "n-samples")


def read_head(file: Path) -> CallHead:
    """Returns the head of a results file; empty for one that is damaged or not lm-eval's."""
    try:
        state = file.stat()
    except OSError:
        return CallHead()
    return _cached_head(str(file), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=1024)
def _cached_head(path: str, _size: int, _changed: int) -> CallHead:
    try:
        parts = JsonParts.of_file(Path(path))
        head = msgspec.convert(_known_parts(parts, _OF_TASKS), _File)
        settings = call_settings(_known_parts(parts, _OF_CALL))
    except (OSError, ValueError, RecursionError):
        return CallHead()
    metadata = [task.metadata for task in head.configs.values() if isinstance(task.metadata, dict)]
    counts = head.n_samples.items()
    return CallHead(
        run=_first_text(metadata, "run"),
        command=_first_text(metadata, "command"),
        attempt=_first_count(metadata, "try"),
        tasks=_tasks_of(head, Path(path)),
        rows={task: count.effective for task, count in counts if count.effective is not None},
        model=settings.model.rstrip("/").rpartition("/")[2],
        settings=settings,
    )


def _known_parts(parts: JsonParts, keys: Iterable[str]) -> dict[str, Any]:
    """Some parts of a file, as far as it has them: a whole dump holds all samples, too."""
    return {key: parts.get(key) for key in keys if key in parts.members}


def _tasks_of(head: _File, file: Path) -> tuple[str, ...]:
    """The tasks of a results file, in its order; the groups are left out."""
    if head.configs:
        return tuple(name for name in head.configs if not head.group_subtasks.get(name))
    from evalprep.readers.results_file import read_results  # of layouts without settings of tasks

    return tuple(read_results(file)[0].tasks)


def _first_text(metadata: list[dict[str, Any]], key: str) -> str:
    return next((entry[key] for entry in metadata if isinstance(entry.get(key), str)), "")


def _first_count(metadata: list[dict[str, Any]], key: str) -> int | None:
    """The first whole number from 1 on; `--metadata try=2` may be logged as a text."""
    for entry in metadata:
        text = str(entry.get(key, ""))
        if text.isdecimal() and int(text) > 0:
            return int(text)
    return None
