"""A prepared work folder held against the config: what has changed since it was prepared.

Packs and local data are known by their content. The time of a last change can only add to it, for
files that a preparation did not read: preparing the same again gives the same run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from evalprep.config import Config
from evalprep.credentials import without_secrets
from evalprep.errors import Problems
from evalprep.files import unchanged_sha256
from evalprep.packs import Pack, Prepared, PreparedSource, load_prepared
from evalprep.prepare.build import config_on_run_machine
from evalprep.prepare.contextlength import with_known_context
from evalprep.prepare.localdata import digest_of, local_files
from evalprep.prepare.ownfolders import OwnTasks, read_own_tasks
from evalprep.status import fingerprints_now
from evalprep.terminal import shortlist

#: Keys that change no file of the work folder.
_WITHOUT_EFFECT = frozenset({"config_file", "verbosity", "show_config", "template_dir"})
#: Seconds by which a manifest may state an earlier time than that of its preparation.
_MOMENT = 1.0


def changes_since(config: Config, packs: Mapping[str, Pack]) -> str:
    """Returns why the config's work folder must be prepared again; empty where it need not."""
    work_dir = config.core.work_dir
    prepared = load_prepared(work_dir)
    if prepared is None:
        return f"{work_dir.name} is not prepared yet"
    # The keys of the config whose values differ from those of the preparation.
    known, _ = with_known_context(config)
    now = json.loads(json.dumps(without_secrets(dict(config_on_run_machine(known)))))
    before = prepared.config
    names = dict.fromkeys([*before, *now])
    keys = [
        name for name in names if name not in _WITHOUT_EFFECT and before.get(name) != now.get(name)
    ]
    if keys:
        return f"the config differs from the prepared one in {shortlist(keys)}"
    created = datetime.fromisoformat(prepared.created).timestamp() if prepared.created else 0.0
    inputs = _inputs(prepared, config, packs)
    read = (path for path in inputs if "__pycache__" not in path.parts and path.is_file())
    newer = [path.name for path in read if path.stat().st_mtime > created + _MOMENT]
    others = newer or list(_with_other_content(prepared, config, packs))
    if others:
        return f"changed since the preparation: {shortlist(others)}"
    now = fingerprints_now(prepared)
    models = [name for name, before in prepared.fingerprints.items() if now[name] != before]
    if models:
        return f"other weights since the preparation: {shortlist(models)}"
    return ""


def _with_other_content(
    prepared: Prepared, config: Config, packs: Mapping[str, Pack]
) -> Iterator[str]:
    """Yields packs, sources and tasks whose files are not those that were prepared."""
    for name, before in prepared.pack_digests.items():
        if name in packs and packs[name].content_digest != before:
            yield f"pack {name}"
    for source in prepared.sources:
        place = config.folder / source.location
        if place.exists() and not _has_files(place, source):
            yield source.location
    own = read_own_tasks(config, Problems())
    for task in config.core.tasks:
        names = own.names_of(_name(task))
        if names is not None:
            yield from _own_with_other_content(prepared, own, names, config.folder)
            continue
        planned = prepared.plan.tasks.get(_name(task))
        if planned is None:
            continue
        if planned.file:  # a file of the user, who has it no more
            yield f"task file of {planned.name}"
        elif isinstance(task, dict):
            digest = digest_of(local_files(task, config.folder))
            if planned.local_data != digest:
                yield f"data of {planned.name}"


def _own_with_other_content(
    prepared: Prepared, own: OwnTasks, names: Collection[str], folder: Path
) -> Iterator[str]:
    """Yields tasks of the user's folders whose files, modules or data are others than prepared."""
    for name in names:
        planned = prepared.plan.tasks.get(name)
        if planned is None and name not in prepared.plan.excluded:
            yield name
        elif planned is not None and planned.file_digest != own.digest(name):
            yield f"task file of {name}"
        elif planned is not None:
            digest = own.data_digest(name, planned.overrides, folder)
            if planned.local_data != digest:
                yield f"data of {name}"


def _name(task: str | Mapping[str, Any]) -> str:
    """The name or the path in an entry of `tasks`."""
    return task if isinstance(task, str) else str(task.get("task"))


def _has_files(place: Path, source: PreparedSource) -> bool:
    """Returns whether a file, or a folder, still has the files of a source."""
    names = {file.name for file in source.files}
    files = [place] if place.is_file() else place.rglob("*")
    here = {unchanged_sha256(file) for file in files if file.name in names and file.is_file()}
    return here >= {file.sha256 for file in source.files}


def _inputs(prepared: Prepared, config: Config, packs: Mapping[str, Pack]) -> Iterator[Path]:
    """The files of the packs, and the local data files that the preparation or lm-eval reads."""
    for task in config.core.tasks:
        if isinstance(task, dict):
            yield from local_files(task, config.folder)
    for name in prepared.pack_folders:
        if name in packs:
            yield from packs[name].folder.rglob("*")
    for source in prepared.sources:
        path = config.folder / source.location
        yield path
        if path.is_dir():
            yield from path.rglob("*")
