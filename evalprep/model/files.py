"""The files of a model on this machine, and the size of its weights.

Nothing is downloaded or imported.
"""

from __future__ import annotations

import os
from pathlib import Path

from evalprep.files import read_object, read_text
from evalprep.places import caches, is_folder, place


def model_folder(name: str | None, base: Path | None = None) -> Path | None:
    """The local folder of a model: a path, or the snapshot in the Hugging Face cache.

    None when it is not here.

    Args:
        name: A path or a hub id.
        base: Folder that a relative path refers to.
    """
    if not name:
        return None
    path = place(name, base or Path.cwd())
    if is_folder(path):
        return path.resolve()
    home = os.environ.get("HF_HOME") or caches() / "huggingface"
    cache = (
        Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
        / f"models--{name.replace('/', '--')}"
    )
    try:
        snapshot = cache / "snapshots" / read_text(cache / "refs" / "main", own=True).strip()
    except OSError:
        return None
    return snapshot if snapshot.is_dir() else None


def weight_file_bytes(folder: Path) -> int:
    """Size of the weights that the engine would load; 0 when they are not here.

    Many repositories hold the same weights twice: as safetensors and as pickle, and once more in
    the maker's own format (`consolidated.safetensors`, `original/`). The index says the size where
    there is one.
    """
    metadata = read_object(folder / "model.safetensors.index.json").get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    files = sorted(folder.glob("model*.safetensors")) or sorted(folder.glob("*.safetensors"))
    if isinstance(total, int) and files:
        return total
    return sum(path.stat().st_size for path in files or folder.glob("pytorch_model*.bin"))
