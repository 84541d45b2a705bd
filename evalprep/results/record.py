"""The preparation that a run came from, as far as its files lead to it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping, read_object, read_object_within, write_atomically
from evalprep.packs import Prepared, commands_of, pack_folders_of, prepared_above
from evalprep.places import typed
from evalprep.results.identity import Failure
from evalprep.results.logged import CallSettings

if TYPE_CHECKING:
    from evalprep.results.run import Run
    from evalprep.results.task import TaskRun

_LEVELS_UP = 4  # from a task's data file to work_dir
_RECORD_LEVELS_UP = 3  # from a model's results to the output folder


def prepared_work(run: Run) -> Prepared | None:
    """Returns the work folder that a run's tasks were prepared in.

    None where it is gone or they come from elsewhere.

    The results file names each task's data file and its YAML, and the manifest lies above them.
    """
    for task in run.tasks.values():
        for file in _prepared_files(task):
            prepared = prepared_above(Path(file), levels=_LEVELS_UP)
            if prepared is not None:
                return prepared
    return None


def _prepared_files(task: TaskRun) -> list[str]:
    """The data files of a task and its YAML, as the results file names them."""
    settings = task.logged.settings
    files = list(settings.dataset.files)
    config_source = settings.metadata.get("config_source")
    if isinstance(config_source, str):
        files.append(config_source)
    return [file for file in files if "\0" not in file]


def read_record(folder: Path, run: str) -> dict[str, Any]:
    """The plan of a run: `run_<id>.json` beside the results or up to three folders above.

    Empty without one.
    """
    if not run:
        return {}
    for place in _places_of_records(folder):
        record = read_object_within(place / f"run_{run}.json", place)
        if record.get("run") == run:
            return record
    return {}


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
    folders = _folders_with(missing, run)
    options = [f"--template_dir {typed(folder)}" for folder in folders]
    fix = f"add {' '.join(options) or '--template_dir FOLDER'}"
    noun = "packs" if len(missing) > 1 else "pack"
    unused = f"suite scores and rules of the {noun} {', '.join(missing)} are not used"
    return f"{unused}, because no option names their folder; {fix}"


def _folders_with(packs: Collection[str], run: Run) -> list[Path]:
    """The folders that held some packs when a run was prepared, as far as this machine has them."""
    record = read_record(run.files.folder, run.files.run)
    pack_folders = pack_folders_of(record)
    parents = {folder.parent for name, folder in pack_folders.items() if name in packs}
    return sorted(folder for folder in parents if folder.is_dir())


def note_failures(
    folder: Path, run: str, failed: Mapping[str, str], finished: Collection[str]
) -> None:
    """Keeps why tasks of a run failed in `failed_<id>.json`, beside its results.

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
    every_reason = {**known, **failed}
    reasons = {name: why for name, why in every_reason.items() if name not in finished}
    if reasons == known:
        return
    content = {"run": run, "tasks": reasons}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_atomically(path, f"{text}\n")


def read_failures(folder: Path, run: str) -> dict[str, Failure]:
    """Returns why tasks of a run failed: task -> what `failed_<id>.json` holds of it.

    What looks like a credential is hidden.
    """
    if not run:
        return {}
    for place in _places_of_records(folder):
        content = read_object_within(place / f"failed_{run}.json", place)
        failures = as_mapping(content.get("tasks"))
        if failures:
            shown = as_mapping(without_secrets(failures))
            return {str(name): _failure_of(entry) for name, entry in shown.items()}
    return {}


def _failure_of(entry: Any) -> Failure:
    """A failure as it was kept; former releases kept the reason alone."""
    if not isinstance(entry, Mapping):
        return Failure(str(entry))
    number = entry.get("try")
    return Failure(
        reason=str(entry.get("reason") or "no reason was kept"),
        command=str(entry.get("command") or ""),
        attempt=number if type(number) is int and number > 0 else None,
        when=str(entry.get("when") or ""),
    )


@dataclass(frozen=True)
class TypedOption:
    """An option of a pasted command that is not as it was prepared.

    Attributes:
        name: The option.
        meant: Its prepared value as text; `none` without one.
        logged: Its value in the results file.
    """

    name: str
    meant: str
    logged: str

    @property
    def sentence(self) -> str:
        """What was typed: `limit 5 in place of none`."""
        return f"{self.name} {self.logged} in place of {self.meant}"


#: Arguments of a back end that make another question or another answerer.
_DECISIVE = ("dtype", "max_model_len", "max_length", "max_gen_toks", "quantization", "revision")


def typed_options(
    settings: CallSettings, command: str, record: Mapping[str, Any]
) -> tuple[TypedOption, ...]:
    """Returns the options of a call that are not those of the command that was prepared.

    A pasted command keeps its run id whatever was typed behind it. What the results file or the
    record does not state is not compared.

    Args:
        settings: The settings of the call as logged.
        command: Name of the command.
        record: The plan of the run; empty without one.
    """
    commands = {item.name: item for item in commands_of(record)}
    prepared = commands.get(command)
    if prepared is None or not settings.as_logged:
        return ()
    pairs: list[tuple[str, Any, Any]] = [
        ("limit", _after(prepared.argv, "--limit"), settings.limit)
    ]
    meant_args = as_mapping(prepared.engine.get("model_args"))
    if settings.arguments:
        pairs += [(name, meant_args.get(name), settings.arguments.get(name)) for name in _DECISIVE]
    texts = [(name, _as_text(meant), _as_text(logged)) for name, meant, logged in pairs]
    return tuple(TypedOption(*texts_of) for texts_of in texts if texts_of[1] != texts_of[2])


def _after(words: Sequence[str], option: str) -> str | None:
    """The word after an option; None without it."""
    return words[words.index(option) + 1] if option in words[:-1] else None


def _as_text(value: Any) -> str:
    """A value as it is compared: 5 and 5.0 are one."""
    if value in (None, ""):
        return "none"
    try:
        return f"{float(value):g}"
    except (TypeError, ValueError):
        return str(value)
