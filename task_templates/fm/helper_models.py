"""Helper models and data on this machine.

What is missing, and what to do about it. Nothing is fetched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from custom_metrics.fm.meteor import missing_data
from evalprep.packapi import model_folder

from .algorithms import DETECTORS, Algorithm
from .settings import DataSet
from .weights import weights_digest

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
Locate = Callable[[str], str]
"""A path as a user wrote it -> the place of the file; a hub id as it is."""
Options = Mapping[str, Any]
METEORS = ("wordnet", "no_synonyms")
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


def folder_of(locate: Locate, path: Any) -> Path | None:
    """Returns where weights lie.

    A folder, or the snapshot of a hub id in the cache of this machine.

    None where they do not.
    """
    name = os.fspath(path)
    folder = Path(locate(name))
    if folder.is_dir():
        return folder
    return model_folder(name) if _HUB_ID.fullmatch(name) else None


def missing_weights(locate: Locate, path: Any, key: str, what: str) -> str:
    """Returns why weights cannot be used, in one sentence; empty where they can."""
    if not path:
        place = "a folder in the format of transformers or a hub id"
        return f"{what} needs its weights: give {key}, {place}"
    name = os.fspath(path)
    folder = folder_of(locate, name)
    if folder is None:
        fetch = f"; `hf download {name}` brings them here" if _HUB_ID.fullmatch(name) else ""
        return f"{what}: there is no folder {name} ({key}){fetch}"
    if not (folder / "config.json").is_file() or not any(
        (folder / name).is_file() for name in WEIGHTS
    ):
        absent = f"{path} ({key}) lacks config.json or {WEIGHTS[0]}"
        return f"{what}: {absent}; pickled weights are not loaded"
    return ""


def missing_detector(locate: Locate, options: Options) -> str:
    """Returns why the detector of a data set cannot be used; empty where it can."""
    detector = f"the detector {options['detector']}"
    return missing_weights(locate, options["detector_path"], "detector_path", detector)


def missing_encoder(locate: Locate, options: Options) -> str:
    """Returns why BERTScore cannot be computed; empty where it can."""
    path = options["bertscore_path"]
    layer = options["bertscore_layer"]
    if reason := missing_weights(locate, path, "bertscore_path", "BERTScore"):
        return reason
    folder = folder_of(locate, path)
    assert folder is not None
    try:
        layers = json.loads((folder / "config.json").read_text(encoding="utf-8")).get(
            "num_hidden_layers"
        )
    except (ValueError, AttributeError):
        return f"BERTScore: config.json of {path} cannot be read"
    if isinstance(layers, int) and layer > layers:
        counts = f"has {layers} layers, and bertscore_layer is {layer}"
        return f"BERTScore: the encoder in {path} {counts}"
    return ""


def helpers_of(locate: Locate, data: DataSet, algorithm: Algorithm) -> dict[str, dict[str, Any]]:
    """The annotators of a task that can run here: name -> folder and digest of the weights."""
    options = data.options
    helpers = {}
    detector = options["detector"]
    if algorithm.detects and detector in DETECTORS and not missing_detector(locate, options):
        helpers[detector] = _weights(locate, options["detector_path"])
    if algorithm.compared and options["bertscore_path"] and not missing_encoder(locate, options):
        encoder = _weights(locate, options["bertscore_path"])
        helpers["bertscore"] = {**encoder, "layer": options["bertscore_layer"]}
    return helpers


def _weights(locate: Locate, path: Any) -> dict[str, Any]:
    folder = folder_of(locate, path)
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
