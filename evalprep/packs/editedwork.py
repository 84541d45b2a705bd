"""Edits of a work folder before it was run, as the record of the run keeps them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from evalprep.credentials import without_secrets
from evalprep.packs.asked import Answerer, asked_of_call
from evalprep.packs.datafiles import task_of
from evalprep.packs.manifest import Edit, Manifest, PreparedTask
from evalprep.packs.plan import Command
from evalprep.packs.prepared import CODE_SUFFIXES, Prepared
from evalprep.packs.tasksettings import is_reading, settings_of
from evalprep.terminal import shortlist

_DIGEST = frozenset({"row_digest"})
_SETTINGS_AND_DIGEST = _DIGEST | {"settings"}
_NAMED = 4  # files that a sentence names


class EditedWork(msgspec.Struct, frozen=True):
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


def records_of_work(prepared: Prepared, runs: Mapping[str, str]) -> dict[str, Manifest]:
    """Returns the record of each run of a work folder as it stands, by id.

    Args:
        prepared: The folder.
        runs: Id of each run as it was prepared -> its id as the files are now.
    """
    records = {
        run: _with_current_settings(record, prepared)
        for run, record in prepared.manifest.records().items()
    }
    kept = CODE_SUFFIXES | {".parquet"}
    edits = prepared.edits(code_only=False)
    edits = [edit for edit in edits if Path(edit.name).suffix in kept and "/" in edit.name]
    if not edits:  # or all were taken back
        return {now: records[run].with_parts(run=now) for run, now in runs.items()}
    return {now: _with_edits(records[run], now, edits) for run, now in runs.items()}


def _with_current_settings(record: Manifest, prepared: Prepared) -> Manifest:
    """A record with the settings of its task files as they are now, and the place of its folder."""
    changed: dict[str, Mapping[str, Any]] = {}
    dropped: dict[str, frozenset[str]] = {}
    for name, task in record.tasks.items():
        changed[name], dropped[name] = _current_settings(task, prepared)
    by_name = {command.name: command for command in prepared.commands}
    asked = {
        name: _current_command(by_name[name], prepared) for name in record.asked if name in by_name
    }
    record = record.with_tasks(changed, dropped).with_commands(asked)
    if prepared.output_path is None:
        return record
    return record.with_parts(work_dir=os.path.relpath(prepared.named_folder, prepared.output_path))


def _current_settings(
    task: PreparedTask, prepared: Prepared
) -> tuple[Mapping[str, Any], frozenset[str]]:
    """The settings in the file of a task as it is now, and the facts that no longer hold.

    Settings of how replies are read stay as they were prepared: such an edit makes no other run,
    and every verb names it. The digest of rows is left out where an edited setting decides it.
    """
    file = prepared.task_file(task.name)
    before = task.settings
    if before is None or file is None:
        return {}, frozenset()
    here = settings_of(file, prepared.config)
    if not here:  # the file cannot be read as a task
        return {}, _SETTINGS_AND_DIGEST
    settings = {
        **{key: value for key, value in here.items() if not is_reading(key)},
        **{key: value for key, value in before.items() if is_reading(key)},
    }
    digest = task.row_digest
    decisive = {"doc_to_text": digest.get("prompt"), "doc_to_target": digest.get("target")}
    keys = ["process_docs", *(key for key, is_part in decisive.items() if is_part)]
    is_digest_outdated = any(before.get(key) != settings.get(key) for key in keys)
    return {"settings": settings}, _DIGEST if is_digest_outdated else frozenset()


def _current_command(command: Command, prepared: Prepared) -> dict[str, Any]:
    """A command with the settings of its run configuration as it is now."""
    asked = without_secrets(asked_of_call(prepared.configuration(command), Answerer("")))
    argv = list(command.argv)
    if "--limit" in argv:
        place = argv.index("--limit")
        del argv[place : place + 2]
    if "limit" in asked:
        argv += ["--limit", str(asked["limit"])]
    engine = {**command.engine, "model_args": asked["model_args"]}
    return {"argv": argv, "engine": engine, "asked": asked}


def _with_edits(record: Manifest, run: str, edits: Iterable[Edit]) -> Manifest:
    """The record of a run of edited files; of edited data the number of rows is not known."""
    data = {task_of(edit.name) for edit in edits if edit.name.endswith(".parquet")}
    named = data & record.tasks.keys()
    unknown = {"rows": None, "expected": None}
    edited = {"prepared_as": record.run, "files": [asdict(edit) for edit in edits]}
    record = record.with_tasks(dict.fromkeys(named, unknown), dict.fromkeys(named, _DIGEST))
    return record.with_parts(run=run, edited=edited)


def edited_work_of(record: Manifest) -> EditedWork | None:
    """Returns the edits that a record keeps; None for a run of the files as they were prepared."""
    return None if record.edits is None else EditedWork(record.edited_from, record.edits)
