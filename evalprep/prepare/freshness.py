"""A prepared work folder held against the config: what has changed since it was prepared.

Packs and local data are known by their content. The time of a last change can only add to it, for
files that a preparation did not read: preparing the same again gives the same run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from evalprep.config import Config
from evalprep.credentials import without_secrets
from evalprep.files import unchanged_sha256
from evalprep.packs import Pack, Prepared, PreparedSource, load_prepared
from evalprep.prepare.build import config_on_run_machine
from evalprep.prepare.contextlength import with_known_context
from evalprep.prepare.localdata import digest_of, local_files
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
    keys = _changed_keys(config, prepared)
    if keys:
        return f"the config differs from the prepared one in {shortlist(keys)}"
    created = datetime.fromisoformat(prepared.created).timestamp() if prepared.created else 0.0
    inputs = _inputs(prepared, config, packs)
    newer = [path.name for path in inputs if _changed_after(path, created + _MOMENT)]
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
    for task in config.core.tasks:
        if isinstance(task, dict):
            planned = prepared.plan.tasks.get(str(task.get("task")))
            if planned and planned.local_data != digest_of(local_files(task, config.folder)):
                yield f"data of {planned.name}"


def _has_files(place: Path, source: PreparedSource) -> bool:
    """Returns whether a file, or a folder, still has the files of a source."""
    names = {file.name for file in source.files}
    files = [place] if place.is_file() else place.rglob("*")
    here = {unchanged_sha256(file) for file in files if file.name in names and file.is_file()}
    return here >= {file.sha256 for file in source.files}


def _changed_keys(config: Config, prepared: Prepared) -> list[str]:
    """Returns the keys of the config whose values differ from those of the preparation."""
    known, _ = with_known_context(config)
    now = json.loads(json.dumps(without_secrets(dict(config_on_run_machine(known)))))
    before = prepared.config
    names = dict.fromkeys([*before, *now])
    return [
        name for name in names if name not in _WITHOUT_EFFECT and before.get(name) != now.get(name)
    ]


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


def _changed_after(path: Path, time: float) -> bool:
    if "__pycache__" in path.parts or not path.is_file():
        return False
    return path.stat().st_mtime > time
