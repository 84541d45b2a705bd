"""Edits of how replies are read that a work folder got after results of its run were written."""

from __future__ import annotations

from collections.abc import Iterator

from evalprep.packs import READ_BY, content_digest, settings_of
from evalprep.results.meant import SettingEdit, edits_of
from evalprep.results.record import prepared_work
from evalprep.results.run import Run
from evalprep.terminal import shortlist

_NAMED = 4  # settings that a note names


def notes_on_readings(run: Run) -> list[str]:
    """Returns a note on each task whose filters or metrics were edited since its results.

    The numbers are by the reading that was logged; the one of the work folder has read no reply.
    """
    notes = []
    for name, edits in _readings(run):
        changes = [
            f"{edit.key} logged {edit.shown_logged}, now {edit.shown_meant}" for edit in edits
        ]
        notes.append(
            f"{name}: read as logged, and not by the work folder as it stands: "
            f"{shortlist(changes, _NAMED)}; `evalprep rescore` reads the saved replies by it"
        )
    return notes


def _readings(run: Run) -> Iterator[tuple[str, list[SettingEdit]]]:
    """Yields each task of the run of a work folder that reads replies in another way now."""
    work = prepared_work(run) if run.files.run and run.rescored_from is None else None
    if work is None or run.files.run not in {model.run for model in work.models}:
        return
    for name, task in run.tasks.items():
        file = work.task_file(name) if name in work.tasks else None
        if file is None or content_digest(file) == work.files.get(work.tasks[name].yaml):
            continue
        here = settings_of(file, work.config)
        named = run.meant[name].edits if name in run.meant else ()
        edits = [edit for edit in edits_of(here, task.logged) if edit.fact in READ_BY]
        edits = [edit for edit in edits if edit not in named]
        if edits:
            yield name, edits
