"""Where a model's files lie on this machine, and what its config.json says; nothing is downloaded or imported."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def model_folder(name: str | None, base: Path | None = None) -> Path | None:
    """The local folder of a model: a path, or the snapshot in the Hugging Face cache; None when it is not here.

    Args:
        name: A path or a hub id.
        base: Folder that a relative path refers to.
    """
    if not name:
        return None
    path = Path(name).expanduser()
    path = path if path.is_absolute() else (base or Path.cwd()) / path
    if path.is_dir():
        return path.resolve()
    base_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = os.environ.get("HF_HOME") or base_cache / "huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub") / f"models--{name.replace('/', '--')}"
    try:
        snapshot = cache / "snapshots" / (cache / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return snapshot if snapshot.is_dir() else None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON mapping, empty when the file is absent or holds something else."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


@dataclass(frozen=True)
class ModelShape:
    """What a model's config.json says about size and limits.

    Attributes:
        layers: Number of layers.
        hidden: Width.
        heads: Attention heads.
        kv_heads: Key and value heads.
        head_size: Width of one head.
        vocabulary: Number of tokens.
        context: max_position_embeddings, None when not given.
        dtype: The type that the weights were saved in.
        weight_bytes: Size of the weight files that are here, else the estimate from the shape.
        exact: Whether `weight_bytes` was measured.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    context: int | None
    dtype: str
    weight_bytes: int
    exact: bool

    def kv_bytes_per_token(self, bytes_per_value: int = 2) -> int:
        """Bytes of cache that one token takes: `2 (key, value) * layers * kv_heads * head_size * bytes`."""
        return 2 * self.layers * self.kv_heads * self.head_size * bytes_per_value


BYTES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2, "float8": 1, "int8": 1}


def model_shape(folder: Path) -> ModelShape | None:
    """Read config.json; None when it is absent or not a decoder's."""
    config = read_json(folder / "config.json")
    config = config.get("text_config") if isinstance(config.get("text_config"), dict) else config  # type: ignore[assignment]
    try:
        layers, hidden, heads = (
            int(config[key]) for key in ("num_hidden_layers", "hidden_size", "num_attention_heads")
        )
        vocabulary = int(config["vocab_size"])
    except (KeyError, TypeError, ValueError):
        return None
    kv_heads = int(config.get("num_key_value_heads") or heads)
    head_size = int(config.get("head_dim") or hidden // heads)
    dtype = str(config.get("dtype") or config.get("torch_dtype") or "bfloat16")
    context = config.get("max_position_embeddings")
    measured = sum(
        path.stat().st_size
        for pattern in ("*.safetensors", "*.bin")
        for path in folder.glob(pattern)
        if not path.name.startswith(("training_args", "optimizer"))
    )
    inner = int(config.get("intermediate_size") or 4 * hidden)
    attention = hidden * head_size * (2 * heads + 2 * kv_heads)
    embeddings = vocabulary * hidden * (1 if config.get("tie_word_embeddings") else 2)
    parameters = layers * (attention + 3 * hidden * inner + 2 * hidden) + embeddings + hidden
    return ModelShape(
        layers,
        hidden,
        heads,
        kv_heads,
        head_size,
        vocabulary,
        context if isinstance(context, int) else None,
        dtype,
        measured or parameters * BYTES.get(dtype, 2),
        exact=bool(measured),
    )
