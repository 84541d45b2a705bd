"""What a service answers about the first token of a reply."""

from __future__ import annotations

import json
from typing import Any

from custom_metrics.finite import finite_number


def top_tokens(answer: Any) -> dict[str, float]:
    """Token -> log-probability of a body of OpenAI's chat completions; empty where it has none.

    >>> top = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.5}]
    >>> top_tokens({"choices": [{"logprobs": {"content": [{"top_logprobs": top}]}}]})
    {'A': -0.1, 'B': -2.5}
    >>> top_tokens({"choices": [{"logprobs": None}]})
    {}
    """
    try:
        listed = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        stated = {entry["token"]: finite_number(entry["logprob"]) for entry in listed}
    except (IndexError, KeyError, TypeError):
        return {}
    return {
        token: value
        for token, value in stated.items()
        if isinstance(token, str) and value is not None
    }


def tokens(response: Any) -> dict[str, float]:
    """Reads a response of `FirstTokenTask`; empty for anything else.

    >>> tokens('{"A": -0.1}'), tokens("A"), tokens(None)
    ({'A': -0.1}, {}, {})
    """
    try:
        stated = json.loads(response)
    except (TypeError, ValueError):
        return {}
    numbers = {} if not isinstance(stated, dict) else stated
    known = {token: finite_number(value) for token, value in numbers.items()}
    return {token: value for token, value in known.items() if value is not None}
