"""What a sample's reply says of itself: its text, whether an answer was found in it, whether it was cut off."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from evalprep.results.sample import INVALID, Sample

_LENGTH_KEYS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")  # as the harness ranks them
# A budget this small is spent on purpose (one letter, ten tokens); running into it means nothing by itself.
_SHORT_BUDGET = 64
_CHARACTERS_PER_TOKEN = 2.5  # low for any text: a reply below this is not at its limit
_SENTENCE_ENDS = tuple(".!?)]}$\"'`|>*")

CountTokens = Callable[[str], int]


@cache
def token_counter(model: str) -> CountTokens | None:
    """A token counter from the model's own tokenizer when it lies on this disk, else None."""
    file = Path(model) / "tokenizer.json"
    if not file.is_file():
        return None
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(file))
    except Exception:  # noqa: BLE001 - not installed, or a tokenizer of a newer format: estimate instead
        return None
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def text_of(sample: Sample) -> str:
    """The reply as one text."""
    response = sample.response
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def extraction_failed(sample: Sample) -> bool:
    """Whether nothing could be extracted from the reply."""
    return sample.filtered == INVALID or sample.metrics.get("unparsed") in (True, 1)


def truncated(sample: Sample, count: CountTokens | None = None) -> bool:
    """Whether a reply ended at its token limit.

    The harness logs no finish reason. A task's own metric `truncated` decides where there is one; else the token count,
    where the model's tokenizer is at hand; else a reply counts that has at least 2.5 characters per allowed token and
    stops inside a sentence.
    """
    own = sample.metrics.get("truncated")
    if own is not None:
        return own in (True, 1)
    generation = sample.generation
    limits = [generation[key] for key in _LENGTH_KEYS if isinstance(generation.get(key), int)]
    text = sample.response
    if not limits or not isinstance(text, str):
        return False
    if limits[0] < _SHORT_BUDGET and not extraction_failed(sample):
        return False
    if count is not None:
        # Decoding and encoding again may merge a few tokens.
        return bool(count(text) >= limits[0] * 0.98 - 1)
    return len(text) >= _CHARACTERS_PER_TOKEN * limits[0] and not text.rstrip().endswith(_SENTENCE_ENDS)
