"""The longest text, prompt and reply together, that a model takes by its config.json.

As vLLM 0.32 derives it, which refuses to start with a longer `max_model_len`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

#: Keys of the context: of most models, GPT-2, MPT, ChatGLM, Whisper, and others.
_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
#: Counts before the others: some models give their trained length elsewhere.
_STATED = "model_max_length"
#: Kinds of stretched positions whose models state the stretched context, not the trained one.
_ALREADY_STRETCHED = (
    "default",
    "mrope",
    "su",
    "longrope",
    "llama3",
    "yarn",
    "deepseek_yarn",
    "deepseek_llama_scaling",
)


def longest_text(config: Mapping[str, Any]) -> int | None:
    """Returns the context of a model in tokens; None where its config.json lacks it.

    The smallest of the names under which architectures keep it. Positions that are stretched by a
    factor (`rope_scaling` of kind `linear` or `dynamic`) multiply it.

    >>> longest_text({"max_position_embeddings": 4096})
    4096
    >>> scaled = {"rope_type": "linear", "factor": 4.0}
    >>> longest_text({"max_position_embeddings": 4096, "rope_scaling": scaled})
    16384
    """
    stated = config.get(_STATED)
    lengths = [stated] if _is_length(stated) else [config.get(key) for key in _KEYS]
    trained = min(filter(_is_length, lengths), default=None)
    return None if trained is None else int(trained * _stretch(config))


def _is_length(value: Any) -> TypeGuard[int]:
    return type(value) is int and value > 0


def _stretch(config: Mapping[str, Any]) -> float:
    """The factor by which a model's positions are stretched beyond its stated context."""
    factor = 1.0
    if "gemma3" in str(config.get("model_type")):  # states the stretched context
        return factor
    for scaling in _scalings(config):
        kind = scaling.get("rope_type", scaling.get("type", "default"))
        stated = scaling.get("factor")
        if kind not in _ALREADY_STRETCHED and _is_factor(stated):
            factor = float(stated)
    return factor


def _scalings(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The scaling of positions: one, or one for each kind of layers."""
    parameters = config.get("rope_scaling") or config.get("rope_parameters")
    if not isinstance(parameters, Mapping):
        return
    for_kinds = [value for value in parameters.values() if isinstance(value, Mapping)]
    yield from for_kinds or [parameters]


def _is_factor(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and 1 <= value < float("inf")
