"""Texts and values made fit for a page: shortened, previewed, packed."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from isal import isal_zlib

#: Of ISA-L, which takes a quarter of zlib's time for fewer bytes than zlib's level 1 leaves.
_LEVEL = 2
_GZIP = 31  # window bits for the gzip container, which browsers can open
_encoder = msgspec.json.Encoder(enc_hook=str)
_PREVIEW = 110
_COLUMN = 300  # characters above which a further column of a row is left out
_SHOWN_ELSEWHERE = frozenset(
    (
        *("sample_id", "prompt", "target", "subtask_name", "cluster_id"),
        *("previously_is_correct", "previous_output_prediction_text", "original_prompt"),
    )
)
_MARKUP = re.compile(
    r"<\|[^|>]{1,40}\|>(?:(?:system|user|assistant)(?=<\||\s))?|\[/?INST\]|<</?SYS>>"
)


def columns_of(doc: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    """Further columns of a row that are short and that the prompt does not already show."""
    columns = {}
    for name, value in doc.items():
        if (
            name in _SHOWN_ELSEWHERE
            or value in (None, "", [], {})
            or (isinstance(value, str) and value in prompt)
        ):
            continue
        if len(json.dumps(value, ensure_ascii=False, default=str)) <= _COLUMN:
            columns[name] = value
    return columns


def changed_prompt(doc: Mapping[str, Any]) -> tuple[str, ...]:
    """The original prompt of a row that was made by changing one, and its own.

    Empty for any other row.

    Both as they were prepared: what a model gets may hold chat markup besides, which nobody
    changed.
    """
    original = doc.get("original_prompt")
    prompt = doc.get("prompt")
    both = isinstance(original, str) and isinstance(prompt, str) and original != prompt
    return (str(original), str(prompt)) if both else ()


def preview(prompt: str, common: str = "") -> str:
    """The beginning of what is particular to a prompt, on one line, without chat markup.

    >>> preview("<|user|> Question: What is 2+2? Answer:", "<|user|> Question:")
    'What is 2+2? Answer:'
    """
    start = prompt.removeprefix(common)[: 6 * _PREVIEW]
    if "<" in start or "[" in start:
        start = _MARKUP.sub(" ", start)
    # Few prompts hold so many blanks that more of their beginning is needed.
    line = " ".join(start[: 2 * _PREVIEW].split())
    if len(line) < _PREVIEW:
        line = " ".join(start.split())
    return line[:_PREVIEW]


def common_start(prompts: Sequence[str]) -> str:
    r"""Returns what all prompts begin with, back to the end of a line or a colon.

    Nothing where one of them has no more.

    >>> common_start(["Choose.\nQ: a cat", "Choose.\nQ: a dog"])
    'Choose.\nQ:'
    """
    # Two texts tell what all share: the first and the last in order.
    first, last = min(prompts), max(prompts)
    size = next(
        (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    shared = first[:size] if len(prompts) > 1 else ""
    cut = max(shared.rfind(mark) for mark in ("\n", ":", "|>")) + 1
    return shared[:cut] if all(prompt[cut:].strip() for prompt in prompts) else ""


def shorten(text: str, limit: int) -> str:
    r"""A text of about `limit` characters at most.

    It has the beginning and the end, and a count of what lies between.

    >>> shorten("abcdefghij", 4)
    'ab\n[... 6 characters left out ...]\nij'
    """
    if len(text) <= limit:
        return text
    tail = limit // 2
    start, end = text[: limit - tail], text[len(text) - tail :]
    return f"{start}\n[... {len(text) - limit} characters left out ...]\n{end}"


def plain(value: Any) -> Any:
    r"""A value as strict JSON in UTF-8 has it.

    Keys are texts, NaN and infinities are null, and half a character is `?`.

    >>> plain({1: [float("nan"), "\ud83d"]})
    {'1': [None, '?']}
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def as_json(value: Any, room: bytearray | None = None) -> bytes | bytearray:
    """Strict JSON in UTF-8, without blanks.

    Args:
        value: What is encoded.
        room: Where it is put, so that many values need new memory once; its content is replaced.
    """
    encoded = bytearray() if room is None else room
    try:
        _encoder.encode_into(value, encoded)
    except (ValueError, OverflowError):  # half a character, an integer of more than 64 bits
        text = json.dumps(
            plain(value), ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False
        )
        return text.encode("utf-8", "replace")
    return encoded


def pack(value: Any, room: bytearray | None = None) -> str:
    """JSON, compressed and in base64: no character of a hostile text ever meets the HTML parser.

    Args:
        value: What is packed.
        room: As for `as_json`.
    """
    compressor = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP)
    data = compressor.compress(as_json(value, room)) + compressor.flush()
    return base64.b64encode(data).decode("ascii")
