"""The files of a model on this machine, and the size of its weights.

Nothing is downloaded or imported.
"""

from __future__ import annotations

import os
from pathlib import Path

from evalprep.files import as_mapping, read_object, read_text
from evalprep.places import caches, is_folder, place

#: Entries of config.json that name code to be run, by the class of transformers that runs it.
_CLASSES = ("AutoConfig", "AutoModelForCausalLM")


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


def own_code(folder: Path) -> tuple[str, str]:
    """Returns the type of a model by its config.json, and the file of code that loads it.

    Empty without: a model of that type needs no code of its own. An entry is such as
    `owner/model--modeling_own.OwnModel`.
    """
    config = read_object(folder / "config.json")
    classes = as_mapping(config.get("auto_map"))
    code = next((str(classes[name]) for name in _CLASSES if name in classes), "")
    module = code.rpartition("--")[2].rpartition(".")[0]
    return str(config.get("model_type") or ""), f"{module or code}.py" if code else ""
