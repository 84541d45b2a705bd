"""Normalisation of list entries and answer tokens, and the F1 that every task ends in."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from custom_metrics.science.mode import CORRECTED, is_compat

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")

Counts = dict[str, float]
#: Counts of a row's parts of the wrong type: left out, or read in the one way in which they can be.
FAULTY, MENDED = "faulty_parts", "mended_parts"


def precision_recall_f1(correct: float, preds: float, refs: float) -> dict[str, float]:
    """Precision, recall and their harmonic mean from counts; 0 where a denominator is 0.

    >>> precision_recall_f1(1, 2, 4)
    {'p': 0.5, 'r': 0.25, 'f1': 0.3333333333333333}
    """
    p = correct / preds if preds > 0 else 0
    r = correct / refs if refs > 0 else 0
    return {"p": p, "r": r, "f1": 2 * p * r / (p + r) if p + r else 0}


def fraction(part: float, whole: float) -> float:
    """`part / whole`, 0 for an empty whole."""
    return part / whole if whole else 0


def parse_shares(counts: Mapping[str, float], part: str) -> dict[str, float]:
    """The replies in which a part could be read: `yes`, `no`, and the share of `yes`."""
    yes = counts.get(f"{part}_yes", 0)
    no = counts.get(f"{part}_no", 0)
    return {"yes": yes, "no": no, "frac_success": fraction(yes, yes + no)}


def flatten(nested: Iterable[Any]) -> list[Any]:
    """All leaves of nested lists, left to right.

    Only lists are opened. The outermost level is iterated whatever it is, so a bare string gives
    its characters and an object its keys, as in the original; corrected callers check the type
    first.

    Raises:
        TypeError: `nested` cannot be iterated.
    """
    leaves: list[Any] = []
    # An explicit stack: replies nest deeper than the interpreter's recursion limit allows.
    stack = [iter(nested)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, list):
                stack.append(iter(item))
                break
            leaves.append(item)
        else:
            stack.pop()
    return leaves


def normalize_list_entry(entry: Any, mode: str = CORRECTED) -> str:
    """One entry of a predicted list as the string that is compared.

    None becomes "", a string is stripped and lower-cased, a whole number (also `True`) is written
    as Python writes it, another number rounded to two places, a list flattened and joined by blanks
    (without lower-casing).

    Raises:
        TypeError: the entry is an object, or a list that holds something other than strings.

    >>> normalize_list_entry(" IL-2 "), normalize_list_entry(3.005)
    ('il-2', '3.0')
    >>> normalize_list_entry(["a", ["B"]])
    'a B'
    """
    is_compat(mode)
    if entry is None:
        return ""
    if isinstance(entry, str):
        return entry.strip().lower()
    if isinstance(entry, int):
        return str(entry)
    if isinstance(entry, float):
        return str(round(entry, 2))
    if isinstance(entry, list):
        return " ".join(flatten(entry))
    raise TypeError(f"a list entry of type {type(entry).__name__} cannot be normalised")


def token_normalize(text: str, mode: str = CORRECTED) -> str:
    """SQuAD normalisation: lower-case, delete ASCII punctuation, then articles, then spare blanks.

    Source: evaluation script of SQuAD 1.1 (Rajpurkar et al. 2016). The order matters: "A-level"
        becomes "alevel".

    >>> token_normalize("The  A-level, an exam.")
    'alevel exam'
    """
    is_compat(mode)
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def tokens(text: str) -> list[str]:
    """Normalised tokens of a text."""
    return token_normalize(text).split()


def token_f1(pred: str, ref: str, mode: str = CORRECTED) -> float:
    """Multiset F1 of normalised tokens, in [0, 1], higher is better; 0 for two empty texts.

    Source: SQuAD 1.1 / Qasper evaluation scripts.

    >>> token_f1("the keratin keratin", "Keratin.")
    0.6666666666666666
    """
    is_compat(mode)
    predicted = tokens(pred)
    expected = tokens(ref)
    shared = sum((Counter(predicted) & Counter(expected)).values())
    return float(precision_recall_f1(shared, len(predicted), len(expected))["f1"])


def add(total: Counts, row: Counts) -> None:
    """Adds one row's counts to a running total."""
    for name, value in row.items():
        total[name] = total.get(name, 0) + value


METRICS: dict[str, Callable[..., Any]] = {
    "science.normalize_list_entry": normalize_list_entry,
    "science.token_f1": token_f1,
    "science.token_normalize": token_normalize,
}
