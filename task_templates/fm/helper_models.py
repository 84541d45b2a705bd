"""Helper models and data on this machine.

What is missing, and what to do about it. Nothing is fetched.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from custom_metrics.fm.meteor import missing_data
from evalprep.packapi import Context

from .algorithms import DETECTORS, Algorithm
from .settings import DataSet
from .weights import weights_digest

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
METEORS = ("wordnet", "no_synonyms")
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


def folder_of(context: Context, path: str) -> Path | None:
    """Returns where weights lie.

    A folder, or the snapshot of a hub id in the cache of this machine.

    None where they do not.
    """
    folder = Path(context.locate(path))
    if folder.is_dir():
        return folder
    if not _HUB_ID.fullmatch(path):
        return None
    from huggingface_hub import try_to_load_from_cache

    kept = try_to_load_from_cache(path, "config.json")
    return Path(kept).parent if isinstance(kept, str) else None


def missing_weights(context: Context, path: str | None, key: str, what: str) -> str:
    """Returns why weights cannot be used, in one sentence; empty where they can."""
    if not path:
        place = "a folder in the format of transformers or a hub id"
        return f"{what} needs its weights: give fm.{key}, {place}"
    folder = folder_of(context, path)
    if folder is None:
        fetch = f"; `hf download {path}` brings them here" if _HUB_ID.fullmatch(path) else ""
        return f"{what}: there is no folder {path} (fm.{key}){fetch}"
    if not (folder / "config.json").is_file() or not any(
        (folder / name).is_file() for name in WEIGHTS
    ):
        absent = f"{path} (fm.{key}) lacks config.json or {WEIGHTS[0]}"
        return f"{what}: {absent}; pickled weights are not loaded"
    return ""


def missing_detector(context: Context, name: str) -> str:
    """Returns why a detector cannot be used."""
    return missing_weights(
        context, context.section.detector_path, "detector_path", f"the detector {name}"
    )


def missing_encoder(context: Context) -> str:
    """Returns why BERTScore cannot be computed."""
    path = context.section.bertscore_path
    layer = context.section.bertscore_layer
    if reason := missing_weights(context, path, "bertscore_path", "BERTScore"):
        return reason
    folder = folder_of(context, path)
    assert folder is not None
    try:
        layers = json.loads((folder / "config.json").read_text(encoding="utf-8")).get(
            "num_hidden_layers"
        )
    except (ValueError, AttributeError):
        return f"BERTScore: config.json of {path} cannot be read"
    if isinstance(layers, int) and layer > layers:
        counts = f"has {layers} layers, and fm.bertscore_layer is {layer}"
        return f"BERTScore: the encoder in {path} {counts}"
    return ""


def helpers_of(context: Context, data: DataSet, algorithm: Algorithm) -> dict[str, dict[str, Any]]:
    """The annotators of a task that can run here: name -> folder and digest of the weights."""
    section, helpers = context.section, {}
    detector = data.options["detector"]
    if algorithm.detects and detector in DETECTORS and not missing_detector(context, detector):
        helpers[detector] = _weights(context, section.detector_path)
    if algorithm.compared and section.bertscore_path and not missing_encoder(context):
        helpers["bertscore"] = {
            **_weights(context, section.bertscore_path),
            "layer": section.bertscore_layer,
        }
    return helpers


def _weights(context: Context, path: str) -> dict[str, Any]:
    folder = folder_of(context, path)
    assert folder is not None
    return {"path": str(folder), "sha256": weights_digest(folder)}


def missing_meteor(kind: str) -> str:
    """Returns why METEOR cannot be computed: data of NLTK that are not on this machine."""
    if kind not in METEORS:
        return ""
    absent = missing_data(synonyms=kind == "wordnet")
    if not absent:
        return ""
    fetch = f"python -m nltk.downloader {' '.join(absent)}"
    other = "no_synonyms" if "punkt_tab" not in absent else "off"
    return (
        f"METEOR needs {' and '.join(absent)} of NLTK: run `{fetch}` where there is a network and "
        f"prepare again, or set fm.meteor: {other}"
    )


def usable_meteor(kind: str) -> str:
    """The kind of METEOR that is computed here: `off` where its data are missing."""
    return "off" if missing_meteor(kind) else kind
