"""The facts of a run: versions, arguments, command, seeds, hashes.

Side by side where there are several.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from evalprep.packs import Prepared
from evalprep.places import shareable_folder, shareable_text
from evalprep.report.content import Fact
from evalprep.results import Run, prepared_work
from evalprep.score import labelled, written

#: Group, name and value of a fact, as it is found.
RawFact = tuple[str, str, Any]
_TIME = "Time (of a task without loading the model)"


def facts_of(run: Run) -> list[Fact]:
    """Returns every fact that the run's files state, as group, name and value; secrets are masked.

    Facts of the preparation (sources and their revisions, the printed command) come from the
    manifest of work_dir, as long as it lies where the run read its data.
    """
    facts = [*_facts_of_call(run), *_facts_of_preparation(run)]
    facts += [(_TIME, label, written(effort)) for label, effort in labelled(run.efforts)]
    known: list[Fact] = []
    for group, name, value in facts:
        if value not in (None, "", {}, []):
            is_text = isinstance(value, str)
            text = value if is_text else json.dumps(value, ensure_ascii=False, default=str)
            known.append({"group": group, "name": name, "value": shareable_text(text)})
    return known


def _facts_of_call(run: Run) -> Iterator[RawFact]:
    settings = run.settings
    yield "Run", "model", run.model
    yield "Run", "folder", shareable_folder(run.files.folder)
    yield "Run", "time stamp", run.files.stamp
    if settings.started is not None:
        started = datetime.fromtimestamp(settings.started, UTC)
        yield "Run", "started", started.isoformat(sep=" ", timespec="seconds")
    yield "Run", "back end", settings.backend
    yield from settings.shown
    for name, task in run.logged.tasks.items():
        yield "Task versions", name, task.version
    for name, task in run.logged.tasks.items():
        yield "Task hashes", name, task.hash


def _facts_of_preparation(run: Run) -> Iterator[RawFact]:
    work = prepared_work(run)
    if work is None:
        return
    prepared = Prepared(work.folder, work.manifest.without_secrets())
    commands = [shlex.join(command.argv) for command in prepared.commands]
    yield "Preparation", "prepared", prepared.created
    yield "Preparation", "changed since", _later(prepared.created, run.settings.started)
    yield "Preparation", "command", "\n".join(commands)
    for name, version in prepared.versions.items():
        yield "Versions", f"{name} at preparation", version
    for source in prepared.sources:
        # The revision, else the digests of the files.
        pinned = source.revision or ", ".join(file.sha256[:16] for file in source.files)
        name = " ".join(filter(None, (source.location, source.config, source.split)))
        yield "Sources", name, f"{source.rows} rows, {pinned}"


def _later(created: Any, started: Any) -> str | None:
    """A warning where work_dir was prepared anew after the run started.

    The manifest may speak of other data.
    """
    try:
        anew = datetime.fromisoformat(created).timestamp() > float(started)
    except (TypeError, ValueError):
        return None
    if not anew:
        return None
    return "work_dir was prepared anew after this run started; sources and command may be others"
