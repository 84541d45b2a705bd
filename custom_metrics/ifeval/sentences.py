# ruff: noqa: RUF001 - sentence marks and quotes of other scripts are what the pattern is about
"""Sentences: whether NLTK's data for them is there, and a simpler count where it is not."""

from __future__ import annotations

import re

from custom_metrics.nltk_data import can_open

PUNKT_HINT = (
    "NLTK's punkt_tab is not installed or cannot be opened, so sentences are counted by a simpler "
    "rule; copy the folder tokenizers/punkt_tab, without hard links, into a folder that NLTK "
    "searches (NLTK_DATA, or nltk_data inside the environment)"
)
_PUNKT = "tokenizers/punkt_tab/english/"

# A full stop, question or exclamation mark with closing quotes, then a blank and something that can
# start a sentence.
_SENTENCE_END = re.compile(
    r"(?<=[.!?。！？])[\"'”’)\]*_]{0,4}\s+(?=[\"'“‘(\[*_#-]{0,4}[A-Z0-9\u00c0-\u00de])"
)
_ABBREVIATION = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|cf|al|No|Fig|Inc|Ltd|Co|[A-Z])\.$"
)


def punkt_available() -> bool:
    """Tells whether NLTK finds and opens its sentence data, without any network call."""
    return can_open(_PUNKT)


def count_sentences(text: str) -> int:
    """Counts sentences without NLTK data.

    A sentence ends with an end mark before a capital or a digit; abbreviations do not end one.

    >>> count_sentences("Dr. Lee paid 3.5 dollars. Was it much? No!")
    3
    """
    parts = _SENTENCE_END.split(text.strip())
    merged = sum(1 for part in parts[:-1] if _ABBREVIATION.search(part[-12:]))
    return max(len(parts) - merged, 1) if text.strip() else 0
