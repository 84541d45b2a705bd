"""The fingerprint of a model folder: which model answers under its name.

Two checkpoints of one training have the same names, shapes and sizes, so that the head of a
safetensors file says nothing of them; and reading 140 GB would take minutes.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from evalprep.files import open_file, unchanged_sha256
from evalprep.places import is_file, is_folder

_PIECES = 64  # that are read of a file
_PIECE = 64 * 1024  # bytes of each
_WEIGHTS = frozenset({".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".npz"})
#: Beginnings of files that a training leaves beside the weights.
_OF_TRAINING = ("training_args", "optimizer", "scheduler", "scaler", "rng_state", "random_states")
_CONFIGS = frozenset({"config.json", "generation_config.json", "adapter_config.json"})
#: Files that decide the tokens of a prompt.
_TOKENIZER = frozenset(
    {
        "tokenizer.json",
        "tokenizer_config.json",
        "tokenizer.model",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.json",
        "vocab.txt",
        "merges.txt",
        "chat_template.jinja",
        "chat_template.json",
    }
)


def fingerprint_of(path: Path) -> str:
    """Returns a digest of the model at a path; empty where none lies there.

    It covers the configuration, the tokenizer, and of each weight file its size and 64 pieces of
    64 KiB, spread evenly. The name of the folder is not in it.

    Args:
        path: The folder of a model or an adapter, or a file with weights.
    """
    if is_file(path):
        return _digest_of({path.name: _weights_digest(path)}) if _holds_weights(path) else ""
    if not is_folder(path):
        return ""
    digests: dict[str, str] = {}
    for file in sorted(path.iterdir()):
        if not is_file(file):
            continue
        if file.name in _CONFIGS or file.name in _TOKENIZER:
            digests[file.name] = unchanged_sha256(file)
        elif _holds_weights(file):
            digests[file.name] = _weights_digest(file)
    return _digest_of(digests) if digests else ""


def _digest_of(digests: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _holds_weights(file: Path) -> bool:
    return file.suffix in _WEIGHTS and not file.name.startswith(_OF_TRAINING)


def _weights_digest(file: Path) -> str:
    """The size of a file and the digest of its pieces, read once as long as the file stays."""
    state = file.stat()
    return _digest_of_pieces(file, state.st_size, state.st_mtime_ns, state.st_ino)


@lru_cache(maxsize=4096)
def _digest_of_pieces(file: Path, size: int, _changed: int, _inode: int) -> str:
    digest = hashlib.sha256()
    last = max(0, size - _PIECE)
    starts = sorted({last * number // (_PIECES - 1) for number in range(_PIECES)})
    with open_file(file, own=True) as handle:
        for start in starts:
            handle.seek(start)
            digest.update(handle.read(_PIECE))
    return f"{size}:{digest.hexdigest()}"
