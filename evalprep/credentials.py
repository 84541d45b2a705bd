"""What looks like a credential: it must not reach a file or a command line."""

from __future__ import annotations

import re
from typing import Any

_SECRET_KEY = re.compile(r"(?i)(^|_)((hf|auth|access|bearer)_?token|token|api_?key|secret|password|authorization)$")
_SECRET_VALUE = re.compile(r"(?i)^(hf_[a-z0-9]{8,}|sk-[a-z0-9_-]{8,}|bearer .+)")


def is_secret(key: str, value: Any) -> bool:
    """Whether a setting looks like a credential, by its name or by its value.

    >>> is_secret("api_key", "x"), is_secret("tokenizer", "org/model"), is_secret("add_bos_token", True)
    (True, False, False)
    """
    return isinstance(value, str) and bool(value) and bool(_SECRET_KEY.search(key) or _SECRET_VALUE.match(value))


def without_secrets(data: Any) -> Any:
    """The same data with everything that looks like a credential replaced."""
    if isinstance(data, dict):
        return {key: "***" if is_secret(str(key), value) else without_secrets(value) for key, value in data.items()}
    if isinstance(data, list):
        return [without_secrets(item) for item in data]
    return data
