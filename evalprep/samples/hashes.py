"""The three digests that lm-eval logs with a row, by its own recipes.

Sources: `evaluator.py` of lm-eval 0.4.13, and published samples of the Open LLM Leaderboard.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def document_hash(doc: Mapping[str, Any]) -> str:
    """Returns the digest of a row of a data set; the order of its keys counts.

    >>> document_hash({"b": 1, "a": "é"})[:16]
    '9cd28c12d2a3cdcd'
    """
    return text_hash(json.dumps(doc, indent=2, ensure_ascii=False))


def text_hash(value: Any) -> str:
    """Returns the digest of a prompt exactly as sent, or of a gold answer, whatever its type."""
    # Half a surrogate pair counts as a question mark.
    return hashlib.sha256(str(value).encode("utf-8", "replace")).hexdigest()
