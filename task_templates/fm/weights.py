"""Folders of weights, known by a digest of their files.

Values computed with different weights can so be told apart.
"""

from __future__ import annotations

import functools
from hashlib import sha256
from pathlib import Path

from evalprep.packapi import file_sha256

_DECISIVE = (".safetensors", ".json", ".txt", ".model")


def weights_digest(folder: Path) -> str:
    """Digest of the files that decide what a model computes.

    Safetensors alone, as pickled weights are not loaded.
    """
    files = sorted(path for path in folder.iterdir() if path.suffix in _DECISIVE and path.is_file())
    state = tuple((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return _digest(str(folder), state)


@functools.lru_cache(maxsize=16)
def _digest(folder: str, state: tuple[tuple[str, int, int], ...]) -> str:
    named = [f"{name} {file_sha256(Path(folder) / name)}" for name, _, _ in state]
    return sha256("\n".join(named).encode()).hexdigest()


def checked(folder: str, digest: str) -> Path:
    """A folder whose files are those that preparation saw.

    Raises:
        ValueError: they are others, or gone.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ValueError(f"there is no folder {folder} with the weights any more")
    if weights_digest(path) != digest:
        raise ValueError(f"the weights in {folder} are others than at preparation; prepare again")
    return path
