"""The preparation that a run came from, as far as its files lead to it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping, is_stray, read_object, write_atomically
from evalprep.packs import (
    Manifest,
    Prepared,
    load_prepared,
    prepared_above,
    read_record,
    record_path,
)
from evalprep.places import typed
from evalprep.results.identity import Failure

if TYPE_CHECKING:
    from evalprep.results.run import Run
    from evalprep.results.task import TaskRun

_LEVELS_UP = 4  # from a task's data file to work_dir
_RECORD_LEVELS_UP = 3  # from a model's results to the output folder


def prepared_work(run: Run) -> Prepared | None:
    """Returns the work folder that a run's tasks were prepared in.

    None where it is gone or they come from elsewhere.

    The results file names each task's data file and its YAML, and the manifest lies above them. Of
    a copied project it is the work folder of the copy.
    """
    files = list(map(Path, chain.from_iterable(map(_prepared_files, run.tasks.values()))))
    beside = _work_beside(run.files.folder, run.files.run)
    if beside is not None and any(beside.named_folder in file.parents for file in files):
        return beside
    for file in files:
        prepared = prepared_above(file, levels=_LEVELS_UP)
        if prepared is not None:
            return prepared
    return None


def _work_beside(folder: Path, run: str) -> Prepared | None:
    """The work folder that lies where the record of a run leads from its own place."""
    for place in _places_of_records(folder) if run else []:
        record = read_record(place, run)
        if record.work_dir:
            return load_prepared((place / record.work_dir).resolve())
    return None


def _prepared_files(task: TaskRun) -> list[str]:
    """The data files of a task and its YAML, as the results file names them."""
    settings = task.logged.settings
    files = list(settings.dataset.files)
    config_source = settings.metadata.get("config_source")
    if isinstance(config_source, str):
        files.append(config_source)
    return [file for file in files if "\0" not in file]


def record_of(folder: Path, run: str) -> Manifest:
    """The plan of a run: `run_<id>.json` beside the results or up to three folders above.

    Empty without one.
    """
    return _record_at(folder, run)[1]


def record_file(folder: Path, run: str) -> Path | None:
    """The file of a run's plan; None without one."""
    return _record_at(folder, run)[0]


def _record_at(folder: Path, run: str) -> tuple[Path | None, Manifest]:
    if not run:
        return None, Manifest()
    unread = Manifest()
    for place in _places_of_records(folder):
        record = read_record(place, run)
        if record:
            return record_path(place, run), record
        unread = unread if unread.unread else record
    return None, unread


def _places_of_records(folder: Path) -> list[Path]:
    """The folder of a model's results, and those above it up to the output folder."""
    return [folder, *folder.parents][: _RECORD_LEVELS_UP + 1]


def packs_elsewhere(run: Run, known_packs: Collection[str]) -> str:
    """Returns a sentence on packs that a run's tasks were prepared by and that nobody has named.

    Empty where all are given.

    Code of a pack runs only where the user has named its folder, so the folder of the preparation
    is told, not taken.
    """
    packs_of_tasks = (task.metadata.get("pack") for task in run.tasks.values())
    names = {str(pack) for pack in packs_of_tasks if pack}
    missing = sorted(names - {*known_packs})
    if not missing:
        return ""
    # The folders that held them then, as far as this machine has them.
    held_in = record_of(run.files.folder, run.files.run).pack_folders
    folders = {folder.parent for name, folder in held_in.items() if name in missing}
    options = [f"--template_dir {typed(each)}" for each in sorted(folders) if each.is_dir()]
    fix = f"add {' '.join(options) or '--template_dir FOLDER'}"
    noun = "packs" if len(missing) > 1 else "pack"
    unused = f"suite scores and rules of the {noun} {', '.join(missing)} are not used"
    return f"{unused}, because no option names their folder; {fix}"


def note_failures(
    folder: Path,
    run: str,
    failed: Mapping[str, str],
    finished: Collection[str],
    *,
    command: str = "",
    attempt: int = 1,
) -> None:
    """Keeps why tasks of a run failed in `failed_<id>.json`, beside its results.

    Args:
        folder: The output folder.
        run: Id of the run; nothing is kept for a run without one.
        failed: Task -> why it failed.
        finished: Tasks that failed no longer.
        command: The command of the tasks.
        attempt: Number of its try.
    """
    if not run:
        return
    known = _failures_in(folder, run)
    now = datetime.now().astimezone().isoformat()
    new = {name: Failure(reason, command, attempt, now) for name, reason in failed.items()}
    kept = {name: entry for name, entry in {**known, **new}.items() if name not in finished}
    if kept == known:
        return
    tasks = {name: _entry_of(failure) for name, failure in kept.items()}
    text = json.dumps({"run": run, "tasks": tasks}, indent=2, ensure_ascii=False)
    write_atomically(folder / f"failed_{run}.json", f"{text}\n")


def _entry_of(failure: Failure) -> dict[str, Any]:
    """A failure as its file has it."""
    return {
        "command": failure.command,
        "try": failure.attempt,
        "when": failure.when,
        "reason": failure.reason,
    }


class FailedTry(msgspec.Struct, frozen=True):
    """A try of a command in which tasks failed, or which has not reached them.

    Attributes:
        number: Its number.
        since: The earliest of their times, as the stamps of lm-eval's files are written.
    """

    number: int = 0
    since: str = ""


def failed_try(folder: Path, run: str, command: str) -> FailedTry:
    """Returns the newest try of a command that stands among the failures of an output folder."""
    own = [item for item in _failures_in(folder, run).values() if item.command == command]
    number = max((item.attempt or 0 for item in own), default=0)
    times = [item.when for item in own if number and item.attempt == number]
    return FailedTry(number, min(times, default="").replace(":", "-"))


def read_failures(folder: Path, run: str) -> dict[str, Failure]:
    """Returns why tasks of a run failed: task -> what `failed_<id>.json` holds of it.

    What looks like a credential is hidden.
    """
    if not run:
        return {}
    every = (_failures_in(place, run) for place in _places_of_records(folder))
    return next(filter(None, every), {})


def _failures_in(folder: Path, run: str) -> dict[str, Failure]:
    """What `failed_<id>.json` of one folder holds; empty where it cannot be read."""
    file = folder / f"failed_{run}.json"
    content = {} if is_stray(file, folder) else read_object(file)
    shown = as_mapping(without_secrets(as_mapping(content.get("tasks"))))
    return {str(name): _failure_of(entry) for name, entry in shown.items()}


def failed_runs(folder: Path) -> dict[str, dict[str, Failure]]:
    """Returns what failed in each run whose failures are kept beside some results: id -> tasks."""
    places = _places_of_records(folder)
    files = sorted(chain.from_iterable(place.glob("failed_r*.json") for place in places))
    runs = dict.fromkeys(file.stem.removeprefix("failed_") for file in files)
    return {run: read_failures(folder, run) for run in runs}


def _failure_of(entry: Any) -> Failure:
    """A failure as it was kept; of an entry that is a text alone, the text is the reason."""
    if not isinstance(entry, Mapping):
        return Failure(str(entry))
    number = entry.get("try")
    return Failure(
        reason=str(entry.get("reason") or "no reason was kept"),
        command=str(entry.get("command") or ""),
        attempt=number if type(number) is int and number > 0 else None,
        when=str(entry.get("when") or ""),
    )
