"""The preparation that a run came from, as far as its files lead to it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping, read_object, write_atomically
from evalprep.packs.manifest import read_manifest

if TYPE_CHECKING:
    from evalprep.results.run import Run

_LEVELS_UP = 4  # from a task's data file to work_dir
_RECORD_LEVELS_UP = 3  # from a model's results to the output folder


def prepared_folder(run: Run) -> Path | None:
    """The work_dir that a run's tasks were prepared in; None when it is gone or the tasks come from elsewhere.

    The results file names each task's data file, and the manifest lies above it.
    """
    for task in run.tasks.values():
        kwargs = task.config.get("dataset_kwargs")
        for file in strings(kwargs.get("data_files") if isinstance(kwargs, Mapping) else None):
            for folder in list(Path(file).parents)[:_LEVELS_UP]:
                if read_manifest(folder) is not None:
                    return folder
    return None


def read_record(folder: Path, run: str) -> dict[str, Any]:
    """What was meant to be run: `run_<id>.json` beside the results or up to three folders above; empty without one."""
    for place in [folder, *folder.parents][: _RECORD_LEVELS_UP + 1] if run else ():
        found = read_object(place / f"run_{run}.json")
        if found.get("run") == run:
            return found
    return {}


def packs_elsewhere(run: Run, given: Collection[str]) -> str:
    """What to say of packs that a run's tasks were prepared by and that nobody has named; empty where all are given.

    Code of a pack runs only where the user has named its folder, so the folder of the preparation is told, not taken.
    """
    named = {str(task.metadata["pack"]) for task in run.tasks.values() if task.metadata.get("pack")}
    missing = sorted(named - {*given})
    if not missing:
        return ""
    made = as_mapping(read_record(run.files.folder, run.files.run).get("packs"))
    folders = {
        Path(folder).parent for name in missing if isinstance(folder := as_mapping(made.get(name)).get("folder"), str)
    }
    here = sorted(one for one in folders if one.is_dir())  # a run may come from another machine
    where = " ".join(f"--template_dir {shlex.quote(str(one))}" for one in here) or "--template_dir FOLDER"
    packs = f"pack{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
    return f"what the {packs} {'add' if len(missing) > 1 else 'adds'} is left out; name the folder: {where}"


def note_failures(folder: Path, run: str, failed: Mapping[str, str], finished: Collection[str]) -> None:
    """Keep why tasks of a run failed, beside its results: `failed_<id>.json`, for whoever looks at them later.

    Args:
        folder: The output folder.
        run: Id of the run; nothing is kept for a run without one.
        failed: Task -> why it failed.
        finished: Tasks that failed no longer.
    """
    if not run:
        return
    path = folder / f"failed_{run}.json"
    known = as_mapping(read_object(path).get("tasks"))
    now = {name: why for name, why in {**known, **failed}.items() if name not in finished}
    if now != known:
        write_atomically(path, json.dumps({"run": run, "tasks": now}, indent=2, ensure_ascii=False) + "\n")


def read_failures(folder: Path, run: str) -> dict[str, str]:
    """Why tasks of a run failed, as `note_failures` kept it; what looks like a credential is hidden."""
    for place in [folder, *folder.parents][: _RECORD_LEVELS_UP + 1] if run else ():
        if found := as_mapping(read_object(place / f"failed_{run}.json").get("tasks")):
            return {str(name): str(why) for name, why in without_secrets(found).items()}
    return {}


def manifest_of(run: Run) -> dict[str, Any]:
    """The manifest of `prepared_folder`; empty without one."""
    folder = prepared_folder(run)
    return (read_manifest(folder) if folder is not None else None) or {}


def strings(value: Any) -> list[str]:
    """All texts in a value, however deep in lists and mappings."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []
