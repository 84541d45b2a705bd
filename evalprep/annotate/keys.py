"""The key of an answer: a hash of everything that decided it, and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalprep.files import text_sha256
from evalprep.packs import Message

# Made once: `json.dumps` makes an encoder per call where its options are not the default.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def canonical(value: Any) -> str:
    """One text per JSON value, whatever the order of its keys."""
    return _CANONICAL.encode(value)


def input_sha256(messages: Sequence[Message]) -> str:
    """Digest of the messages that are sent."""
    return text_sha256(canonical([dict(message) for message in messages]))


def answer_key(
    annotator: str,
    version: str,
    model: str,
    sampling: Mapping[str, Any],
    input_digest: str,
    draw: int,
) -> str:
    """The key of an answer: neither reading it, nor a release, nor another run changes it.

    >>> key = answer_key("judge", "1", "m", {"temperature": 0}, "00", 0)
    >>> key == answer_key("judge", "1", "m", {}, "00", 0)
    False
    """
    return text_sha256(canonical([annotator, version, model, dict(sampling), input_digest, draw]))


def schema_digest(schema: Mapping[str, Any]) -> str:
    """The digest that stands for a JSON schema in a key.

    The order of its properties is the order of the reply, and counts.
    """
    return text_sha256(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))[:16]
