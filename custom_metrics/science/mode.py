"""The two ways to score, and the rules between them.

The one scores as the original programme does, the other with its defects mended.

A mode is `corrected` or `compat`; `compat+null_comparator` is the original with one rule mended,
and `corrected-null_comparator` all rules but one, which tells what each rule is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

CORRECTED = "corrected"
COMPAT = "compat"
MODES = (CORRECTED, COMPAT)

RULES: Mapping[str, str] = {
    "end_token": (
        "end tokens are taken off at the end, not the characters `<`, `/`, `s`, `>` at both ends"
    ),
    "thinking": "a thinking trace is no part of the reply",
    "json_search": (
        "JSON is found behind closing brackets, brackets in strings and inside larger text"
    ),
    "json_choice": (
        "the first value that looks like an answer is taken, not the first of the right bracket"
    ),
    "fenced_null": "`null` in a fence is null",
    "container": (
        "a value of another type than the task's has no entries, instead of characters or keys"
    ),
    "faulty_part": (
        "a part of the wrong type counts as missing by itself; a number given as answer is its text"
    ),
    "lone_text": "one string where a list is asked is a list of one, not its characters",
    "not_an_object": (
        "a reply that is no object is NEI without evidence, instead of left out with its reference"
    ),
    "null_comparator": "a null matches a null and nothing else",
    "empty_item": "identical items match even without a single token",
    "reference": "a reference that is not JSON stands as the default",
    "empty_corpus": "BLEU of empty replies is 0, a mean over no rows is null",
}
"""Every rule in which the two modes differ, with what the corrected one does."""


@lru_cache(maxsize=128)
def _read(mode: str) -> tuple[bool, frozenset[str]]:
    """Returns whether the mode starts from the original, and its rules that differ from there."""
    for base, mark in ((COMPAT, "+"), (CORRECTED, "-")):
        first, *rules = mode.split(mark)
        if first == base and set(rules) <= RULES.keys():
            return base == COMPAT, frozenset(rules)
    raise ValueError(f"mode is {mode!r}; allowed: {', '.join(MODES)}, compat+RULE, corrected-RULE")


def is_compat(mode: str, rule: str = "") -> bool:
    """Returns whether a mode follows the original in a rule.

    Without a rule, whether the mode starts from the original.

    Raises:
        ValueError: no such mode or rule.

    >>> is_compat("compat", "lone_text"), is_compat("compat+lone_text", "lone_text")
    (True, False)
    >>> is_compat("corrected-lone_text")
    False
    """
    original, others = _read(mode)
    if rule and rule not in RULES:
        raise ValueError(f"rule is {rule!r}; allowed: {', '.join(RULES)}")
    return original != (rule in others)
