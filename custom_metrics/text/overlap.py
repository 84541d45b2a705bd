"""Token F1 and exact match as the SQuAD evaluation defines them."""

from __future__ import annotations

import re
import string
from collections import Counter

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Lower-case, delete ASCII punctuation, replace a/an/the by a blank, collapse blanks.

    The steps are taken in this order.

    The order matters: "A-level" becomes "alevel" before its article could go.

    >>> normalize_answer("The  A-level, a test.")
    'alevel test'
    """
    unpunctuated = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", unpunctuated).split())


def squad_f1(*, prediction: str, reference: str) -> float:
    """Compares two answers by the overlap of their normalised words.

    `F1 = 2 p r / (p + r)` over multisets of words (Rajpurkar et al., 2018, "Know What You Don't
    Know", official evaluation script); two answers without any word agree, one without words
    disagrees with one that has some.

    Args:
        prediction: Answer of the model.
        reference: Gold answer.

    Returns:
        A value in [0, 1]; higher is better.

    >>> squad_f1(prediction="in the year 1961", reference="1961")
    0.5
    """
    ours = normalize_answer(prediction).split()
    theirs = normalize_answer(reference).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    if not shared:
        return 0.0
    precision = shared / len(ours)
    recall = shared / len(theirs)
    return 2 * precision * recall / (precision + recall)


def squad_exact_match(*, prediction: str, reference: str) -> float:
    """Tells whether two answers are the same after SQuAD's normalisation.

    Args:
        prediction: Answer of the model.
        reference: Gold answer.

    Returns:
        0.0 or 1.0; higher is better.

    >>> squad_exact_match(prediction="The Beatles!", reference="beatles")
    1.0
    """
    return float(normalize_answer(prediction) == normalize_answer(reference))


METRICS = {"text.squad_exact_match": squad_exact_match, "text.squad_f1": squad_f1}
