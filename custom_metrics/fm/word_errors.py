"""Word error rate, as jiwer counts it."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_WORDS = 20_000
"""The first words of a longer text that are compared: time grows with the product of lengths."""

_WIDE_GAP = re.compile(r"\s{2,}")


def split_words(text: str) -> list[str]:
    r"""Splits at blanks as jiwer's default does.

    A gap of two or more white-space characters counts as one blank.

    A lone tab or line break separates nothing. Case and punctuation count.

    >>> split_words(" new\nline  here ")
    ['new\nline', 'here']
    """
    return [word for word in _WIDE_GAP.sub(" ", text).strip().split(" ") if word][:MAX_WORDS]


def wer(*, predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Word errors of all pairs, over the words of all references (a micro average).

    `sum(edits) / sum(words of references)`. A reference without words counts as one word, which a
    prediction without words gets right and any other gets wrong; the original raises an error
    there. No pairs give 0. Reference implementation: jiwer 3.1.

    Args:
        predictions: Texts; of each the first 20,000 words.
        references: As many texts that they are compared with.

    Returns:
        `word_error_rate` in [0, inf): it is above 1 where more is wrong than was there; lower is
        better.

    Raises:
        ValueError: there are not as many predictions as references.

    >>> wer(predictions=["a"], references=["a b c d"])
    {'word_error_rate': 0.75}
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions for {len(references)} references")
    from rapidfuzz.distance import Levenshtein

    edits = length = 0
    for prediction, reference in zip(predictions, references, strict=True):
        ours = split_words(prediction)
        theirs = split_words(reference)
        if theirs:
            edits += Levenshtein.distance(ours, theirs)
            length += len(theirs)
        else:
            edits += 1 if ours else 0
            length += 1
    return {"word_error_rate": edits / length if length else 0.0}


METRICS = {"fm.wer": wer}
