"""The code on this machine that is the user's own.

It is that of prepared folders, of packs that a prepared config names, and of files that a
preparation of hers named.

A results file says which task files, packs and modules it was made with, and whoever wrote it may
say anything. So code that files name is run only where a preparation of this user on this machine
has noted the place and its manifest, the config with its folders of packs, or the digest of the
file, in `$EVALPREP_STATE`, else
`$XDG_STATE_HOME/evalprep`, else `~/.local/state/evalprep`; anything else has to be named by the
user herself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

from evalprep.files import (
    NotRead,
    file_sha256,
    open_file,
    read_object,
    text_sha256,
    write_atomically,
)
from evalprep.packs.manifest import MANIFEST
from evalprep.packs.prepared import load_prepared
from evalprep.places import user_folder

_COMING = "coming"
_KEPT = 500
_CACHE = "__pycache__"
_HEADER = 16  # bytes of a compiled file that tell which source it was made of


def state_folder() -> Path:
    """Returns where digests are noted."""
    if chosen := os.environ.get("EVALPREP_STATE"):
        return Path(chosen)
    return user_folder("XDG_STATE_HOME", ".local/state") / "evalprep"


def _note(kind: str, key: str) -> Path:
    return state_folder() / kind / f"{text_sha256(key)[:40]}.json"


def _keep(path: Path, content: dict[str, Any]) -> None:
    """Notes something; a home folder that cannot be written costs a question later, no more."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, json.dumps(content) + "\n")
        notes = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for old in notes[:-_KEPT]:
            old.unlink(missing_ok=True)


def remember_folder(work_dir: Path, *, coming: str = "") -> None:
    """Notes that this user prepared a folder, with the digest of its manifest.

    Which holds those of the files.

    Args:
        work_dir: The folder.
        coming: Text that the manifest is about to be replaced by: whoever is cut off in between
            owns either.
    """
    place = str(work_dir.resolve())
    digests = {MANIFEST: file_sha256(work_dir / MANIFEST)}
    if coming:
        digests[_COMING] = hashlib.sha256(coming.encode()).hexdigest()
    _keep(_note("prepared", place), {"work_dir": place, **digests})


def remember_config(config: Path, folders: Iterable[Path], work_dir: Path) -> None:
    """Notes that this user prepared a config, with the folders of packs that it named then.

    Args:
        config: The file.
        folders: Its folders of packs.
        work_dir: The folder that it was prepared into.
    """
    place = str(config.resolve())
    content = {
        "config": place,
        "sha256": file_sha256(config),
        "packs": [str(folder.resolve()) for folder in folders],
        "work_dir": str(work_dir.resolve()),
    }
    _keep(_note("config", place), content)


def own_packs(config: Path, folders: Iterable[Path]) -> list[Path]:
    """Returns the folders of packs that a preparation of this user from a config named.

    A config that was edited since is still hers while the folder that she prepared from it is; so a
    config that somebody puts in its place, with packs under the same name, is not.

    Args:
        config: The file, as it is now.
        folders: The folders that it names now.
    """
    place = str(config.resolve())
    noted = read_object(_note("config", place))
    packs, work_dir = noted.get("packs"), noted.get("work_dir")
    if noted.get("config") != place or not isinstance(packs, list) or not isinstance(work_dir, str):
        return []
    if noted.get("sha256") != file_sha256(config) and why_foreign(Path(work_dir)):
        return []
    return [folder for folder in folders if str(folder.resolve()) in packs]


def remember_file(path: Path) -> None:
    """Notes that a preparation of this user named a file of code."""
    _keep(_note("code", file_sha256(path)), {"path": str(path)})


def is_own_file(path: Path) -> bool:
    """Returns whether a file has the content of one that a preparation of this user named."""
    try:
        return _note("code", file_sha256(path)).is_file()
    except OSError:
        return False


def why_foreign(work_dir: Path) -> str:
    """Returns why code in a prepared folder is not run unless the user names it.

    Empty where it is her own.

    It is her own where she prepared it in this place and its manifest is that of her last
    preparation. Files that she edited or added since count as hers too. So is a copy of such a
    folder whose code is byte by byte as it was prepared, without compiled code that Python would
    run in its place.
    """
    place = str(work_dir.resolve())
    noted = read_object(_note("prepared", place))
    try:
        digest = file_sha256(work_dir / MANIFEST)
    except OSError:
        return "it has no manifest"
    if noted.get("work_dir") != place and not _is_unedited_copy(work_dir, digest):
        return "it was not prepared by you on this machine"
    if noted.get("work_dir") != place:
        return ""
    if digest not in (noted.get(MANIFEST), noted.get(_COMING)):
        return "its manifest is not the one of your last preparation"
    return ""


def _is_unedited_copy(work_dir: Path, digest: str) -> bool:
    """Returns whether a folder has the manifest of the user's own, and the code that it lists."""
    prepared = load_prepared(work_dir)
    if prepared is None:
        return False
    noted = read_object(_note("prepared", str(prepared.named_folder.resolve())))
    if digest != noted.get(MANIFEST) or prepared.edits():
        return False
    # Python runs compiled code in place of the source that was compared.
    compiled = (*BYTECODE_SUFFIXES, *EXTENSION_SUFFIXES)
    paths = (path for path in work_dir.rglob("*") if path.name.endswith(compiled))
    return not any(map(_would_run, paths))


def _would_run(compiled: Path) -> bool:
    """Returns whether Python would run compiled code in place of its source.

    In a `__pycache__` it runs what names the time and the size of the source, or a hash of it, and
    makes anew what names others: after a plain copy of a folder that is each file.
    """
    if compiled.parent.name != _CACHE:
        return True
    try:
        source = Path(source_from_cache(str(compiled))).stat()
        with open_file(compiled, own=True) as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        return False  # without its source it is never looked for
    except (OSError, ValueError, NotRead):
        return True
    flags, time, size = (int.from_bytes(header[at : at + 4], "little") for at in (4, 8, 12))
    return bool(flags) or (time, size) == (int(source.st_mtime) % 2**32, source.st_size % 2**32)
