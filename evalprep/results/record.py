"""The preparation that a run came from, as far as its files lead to it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping, read_object, read_object_within, write_atomically
from evalprep.packs import Prepared, pack_folders_of, prepared_above
from evalprep.places import typed

if TYPE_CHECKING:
    from evalprep.results.run import Run

_LEVELS_UP = 4  # from a task's data file to work_dir
_RECORD_LEVELS_UP = 3  # from a model's results to the output folder


def prepared_work(run: Run) -> Prepared | None:
    """Returns the work folder that a run's tasks were prepared in.

    None where it is gone or they come from elsewhere.

    The results file names each task's data file and its YAML, and the manifest lies above them.
    """
    for task in run.tasks.values():
        settings = task.logged.settings
        source = settings.metadata.get("config_source")
        files = [*settings.dataset.files, *([source] if isinstance(source, str) else ())]
        for file in files:
            prepared = prepared_above(Path(file), levels=_LEVELS_UP) if "\0" not in file else None
            if prepared is not None:
                return prepared
    return None


def read_record(folder: Path, run: str) -> dict[str, Any]:
    """The plan of a run: `run_<id>.json` beside the results or up to three folders above.

    Empty without one.
    """
    for place in [folder, *folder.parents][: _RECORD_LEVELS_UP + 1] if run else ():
        record = read_object_within(place / f"run_{run}.json", place)
        if record.get("run") == run:
            return record
    return {}


def packs_elsewhere(run: Run, known_packs: Collection[str]) -> str:
    """Returns a sentence on packs that a run's tasks were prepared by and that nobody has named.

    Empty where all are given.

    Code of a pack runs only where the user has named its folder, so the folder of the preparation
    is told, not taken.
    """
    packs_of_tasks = (task.metadata.get("pack") for task in run.tasks.values())
    missing = sorted({str(pack) for pack in packs_of_tasks if pack} - {*known_packs})
    if not missing:
        return ""
    options = [f"--template_dir {typed(folder)}" for folder in _folders_with(missing, run)]
    where = " ".join(options) or "--template_dir FOLDER"
    packs = "packs" if len(missing) > 1 else "pack"
    return (
        f"suite scores and rules of the {packs} {', '.join(missing)} are not used, because no "
        f"option names their folder; add {where}"
    )


def _folders_with(packs: Collection[str], run: Run) -> list[Path]:
    """The folders that held some packs when a run was prepared, as far as this machine has them."""
    pack_folders = pack_folders_of(read_record(run.files.folder, run.files.run))
    parents = {folder.parent for name, folder in pack_folders.items() if name in packs}
    return sorted(folder for folder in parents if folder.is_dir())


def note_failures(
    folder: Path, run: str, failed: Mapping[str, str], finished: Collection[str]
) -> None:
    """Keep why tasks of a run failed, beside its results.

    `failed_<id>.json`, for whoever looks at them later.

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
        write_atomically(
            path, json.dumps({"run": run, "tasks": now}, indent=2, ensure_ascii=False) + "\n"
        )


def read_failures(folder: Path, run: str) -> dict[str, str]:
    """Returns why tasks of a run failed, as `note_failures` kept it.

    What looks like a credential is hidden.
    """
    for place in [folder, *folder.parents][: _RECORD_LEVELS_UP + 1] if run else ():
        failures = read_object_within(place / f"failed_{run}.json", place)
        if reasons := as_mapping(failures.get("tasks")):
            return {str(name): str(why) for name, why in without_secrets(reasons).items()}
    return {}
