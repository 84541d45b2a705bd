"""Edits of a work folder before it was run, as the record of the run keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping
from evalprep.packs.datafiles import task_of
from evalprep.packs.manifest import records_of
from evalprep.packs.prepared import CODE_SUFFIXES, Edit, EditKind, Prepared
from evalprep.terminal import shortlist

_KEY = "edited"
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
    records = records_of(prepared.manifest)
    edits = _decisive_edits(prepared)
    if not edits:  # of edits that were taken back, too
        return {now: {**records[run], "run": now} for run, now in runs.items()}
    return {now: _as_edited(records[run], now, edits) for run, now in runs.items()}


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
            tasks[name] = {**as_mapping(tasks[name]), "rows": None, "expected": None}
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
