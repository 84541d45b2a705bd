"""What looks like a credential: it must not reach a file or a command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_SECRET_KEY = re.compile(r"(?i)(^|_)((hf|auth|access|bearer)_?token|token|api_?key|secret|password|authorization)$")
_SECRET_VALUE = re.compile(r"(?i)^(hf_[a-z0-9]{8,}|sk-[a-z0-9_-]{8,}|bearer \S{8,}$)")


def is_secret(key: str, value: Any) -> bool:
    """Whether a setting looks like a credential, by its name or by its value.

    >>> is_secret("api_key", "x"), is_secret("tokenizer", "org/model"), is_secret("add_bos_token", True)
    (True, False, False)
    """
    return isinstance(value, str) and bool(value) and bool(_SECRET_KEY.search(key) or _SECRET_VALUE.match(value))


def secret_paths(data: Any, key: str = "") -> Iterator[tuple[str | int, ...]]:
    """Where in nested data something looks like a credential, as paths of keys and positions.

    >>> list(secret_paths({"headers": [{"Authorization": "Bearer 0123456789"}]}))
    [('headers', 0, 'Authorization')]
    """
    if isinstance(data, dict):
        items: Iterator[tuple[str | int, Any]] = iter(data.items())
    elif isinstance(data, list | tuple):
        items = iter(enumerate(data))
    else:
        if is_secret(key, data):
            yield ()
        return
    for name, value in items:
        for path in secret_paths(value, name if isinstance(name, str) else key):
            yield (name, *path)


def without_secrets(data: Any) -> Any:
    """The same data with everything that looks like a credential replaced."""
    if isinstance(data, dict):
        return {key: "***" if is_secret(str(key), value) else without_secrets(value) for key, value in data.items()}
    if isinstance(data, list):
        return [without_secrets(item) for item in data]
    return data
