"""Local data that lm-eval reads itself: of tasks that the config writes, or gives other data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalprep.config import Config
from evalprep.files import as_mapping, unchanged_sha256
from evalprep.places import exists


def local_files(task: Mapping[str, Any], folder: Path) -> list[Path]:
    """Returns the local files of a task's data, in the order in which it names them.

    Args:
        task: The task as the config has it.
        folder: The folder from which its paths count.
    """
    named = [as_mapping(task.get("dataset_kwargs")).get("data_files"), task.get("dataset_path")]
    files: list[Path] = []
    for place in (folder / text for text in _texts(named)):
        if place.is_dir():
            files += sorted(path for path in place.rglob("*") if _is_data(path, place))
        elif place.is_file():
            files.append(place)
    return files


def _is_data(path: Path, folder: Path) -> bool:
    """Returns whether a path below a folder is a file that the loader would read."""
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.is_file() and not is_hidden


def digest_of(files: list[Path]) -> str:
    """Returns one digest over the content of files; empty without any."""
    if not files:
        return ""
    digests = json.dumps([unchanged_sha256(file) for file in files])
    return hashlib.sha256(digests.encode()).hexdigest()


def absolute_data(entry: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """Returns a task with absolute paths in place of those that exist beside the config.

    lm-eval looks from wherever it is started.
    """
    changed = dict(entry)
    kwargs = entry.get("dataset_kwargs")
    if isinstance(kwargs, dict) and "data_files" in kwargs:
        files = _absolute(kwargs["data_files"], config)
        changed["dataset_kwargs"] = {**kwargs, "data_files": files}
    if "dataset_path" in entry:
        changed["dataset_path"] = _absolute(entry["dataset_path"], config)
    return changed


def _absolute(files: Any, config: Config) -> Any:
    if isinstance(files, dict):
        return {split: _absolute(value, config) for split, value in files.items()}
    if isinstance(files, list):
        return [_absolute(value, config) for value in files]
    if isinstance(files, str) and files and exists(config.folder / files):
        return config.core.on_run_machine((config.folder / files).resolve())
    return files


def _texts(value: Any) -> Iterator[str]:
    """Yields the texts in nested lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
