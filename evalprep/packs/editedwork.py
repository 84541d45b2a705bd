"""Edits of a work folder before it was run, as the record of the run keeps them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping
from evalprep.packs.asked import Answerer, asked_of_call
from evalprep.packs.datafiles import task_of
from evalprep.packs.manifest import records_of
from evalprep.packs.plan import Command
from evalprep.packs.prepared import CODE_SUFFIXES, Edit, EditKind, Prepared
from evalprep.packs.tasksettings import is_reading, settings_of
from evalprep.terminal import shortlist

_KEY = "edited"
_MEANT = frozenset({"settings", "row_digest"})
_NAMED = 4  # files that a sentence names


@dataclass(frozen=True)
class EditedWork:
    """The edits behind a run whose files are not as they were prepared.

    Attributes:
        prepared_as: Id of the run that was prepared.
        edits: The files that differ from it.
    """

    prepared_as: str
    edits: tuple[Edit, ...]

    def sentence(self, run: str) -> str:
        """Returns which files of a run were edited.

        >>> edits = (Edit("t/t.yaml", "edited"), Edit("t/extra.yaml", "added"))
        >>> EditedWork("r1", edits).sentence("r2")
        'run r2: files differ from those that were prepared: t/t.yaml edited, t/extra.yaml added'
        """
        names = shortlist([f"{edit.name} {edit.kind}" for edit in self.edits], _NAMED)
        return f"run {run}: files differ from those that were prepared: {names}"


def records_of_work(prepared: Prepared, runs: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Returns the record of each run of a work folder as it stands, by id.

    Args:
        prepared: The folder.
        runs: Id of each run as it was prepared -> its id as the files are now.
    """
    records = {
        run: _with_meant(record, prepared) for run, record in records_of(prepared.manifest).items()
    }
    edits = _decisive_edits(prepared)
    if not edits:  # of edits that were taken back, too
        return {now: {**records[run], "run": now} for run, now in runs.items()}
    return {now: _as_edited(records[run], now, edits) for run, now in runs.items()}


def _with_meant(record: Mapping[str, Any], prepared: Prepared) -> dict[str, Any]:
    """A record with what was meant of its tasks and commands, and where its work folder lies."""
    tasks = {
        name: _task_as_it_stands(as_mapping(entry), name, prepared)
        for name, entry in as_mapping(record.get("tasks")).items()
    }
    by_name = {command.name: command for command in prepared.commands}
    commands = [
        {**entry, **_as_it_stands(by_name[entry["name"]], prepared)}
        for entry in record.get("commands") or []
    ]
    placed = {"work_dir": _from_output(prepared)} if prepared.output_path is not None else {}
    return {**record, "tasks": tasks, "commands": commands, **placed}


def _task_as_it_stands(entry: Mapping[str, Any], task: str, prepared: Prepared) -> dict[str, Any]:
    """An entry of a task with what its file asks as it stands, edits included.

    How its replies are read stays as prepared: such an edit does not make another run, and every
    verb names it. The digest of rows is left out where it depends on a setting that was edited.
    """
    kept = dict(entry)
    file = prepared.task_file(task)
    if "settings" not in kept or file is None:
        return kept
    before = as_mapping(kept["settings"])
    here = settings_of(file, prepared.config)
    if not here:  # nothing is known of what it asks now
        return {key: value for key, value in kept.items() if key not in _MEANT}
    settings = kept["settings"] = {
        **{key: value for key, value in here.items() if not is_reading(key)},
        **{key: value for key, value in before.items() if is_reading(key)},
    }
    digest = as_mapping(kept.get("row_digest"))
    decisive = {"doc_to_text": digest.get("prompt"), "doc_to_target": digest.get("target")}
    keys = ["process_docs", *(key for key, is_part in decisive.items() if is_part)]
    if any(before.get(key) != settings.get(key) for key in keys):
        kept.pop("row_digest", None)
    return kept


def _as_it_stands(command: Command, prepared: Prepared) -> dict[str, Any]:
    """A command with what its run configuration asks as it stands, edits included."""
    asked = without_secrets(asked_of_call(prepared.configuration(command), Answerer("")))
    argv = list(command.argv)
    if "--limit" in argv:
        place = argv.index("--limit")
        del argv[place : place + 2]
    if "limit" in asked:
        argv += ["--limit", str(asked["limit"])]
    engine = {**command.engine, "model_args": asked["model_args"]}
    return {"argv": argv, "engine": engine, "asked": asked}


def _from_output(prepared: Prepared) -> str:
    """The way from the output folder to the work folder, which a copy of both keeps."""
    return os.path.relpath(prepared.named_folder, prepared.output_path)


def _decisive_edits(prepared: Prepared) -> list[Edit]:
    """The edits of task files, code and data; those of run configurations are in the results."""
    kept = CODE_SUFFIXES | {".parquet"}
    edits = prepared.edits(code_only=False)
    return [edit for edit in edits if Path(edit.name).suffix in kept and "/" in edit.name]


def _as_edited(record: Mapping[str, Any], run: str, edits: Iterable[Edit]) -> dict[str, Any]:
    """The record of a run of edited files; of edited data the number of rows is not known."""
    tasks = dict(as_mapping(record.get("tasks")))
    for edit in edits:
        name = task_of(edit.name)
        if name in tasks and edit.name.endswith(".parquet"):
            entry = {**as_mapping(tasks[name]), "rows": None, "expected": None}
            entry.pop("row_digest", None)
            tasks[name] = entry
    files = [asdict(edit) for edit in edits]
    edited = {"prepared_as": record.get("run"), "files": files}
    return {**record, "run": run, "tasks": tasks, _KEY: edited}


def edited_work_of(record: Mapping[str, Any]) -> EditedWork | None:
    """Returns the edits that a record keeps; None for a run of the files as they were prepared."""
    kept = as_mapping(record.get(_KEY))
    files = kept.get("files")
    if not isinstance(files, list):
        return None
    entries = [as_mapping(entry) for entry in files]
    edits = tuple(Edit(str(entry.get("name")), _kind(entry.get("kind"))) for entry in entries)
    return EditedWork(str(kept.get("prepared_as") or ""), edits)


def _kind(text: Any) -> EditKind:
    """The kind of an edit; of a later version's kind the plainest."""
    return text if text in {"added", "removed"} else "edited"
