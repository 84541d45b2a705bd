"""Calibration: whether a model's confidence is the share of answers that are right."""

from __future__ import annotations

import math
import re
import string
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence

#: A certain prediction is pulled below 1, as in the original.
_ALMOST_ONE = 1.0 - 1e-6
_BLANKED = str.maketrans(dict.fromkeys(string.punctuation + "\u2018\u2019\u00b4`", " "))
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def ece(
    *, confidence: Sequence[float], is_correct: Sequence[bool], n_bins: int = 10
) -> float | None:
    """Expected calibration error: the weighted mean over bins of |accuracy - mean confidence|.

    Equal-width bins (lo, hi]; a confidence of 0 belongs to the first (Guo et al. 2017,
    https://arxiv.org/abs/1706.04599; the rule of COMPL-AI v2). COMPL-AI v1 used a metric from the
    hub whose bins may stand for their upper edge, so its numbers can differ. Range [0, 1], lower is
    better.

    Args:
        confidence: Confidences in [0, 1].
        is_correct: As many verdicts.
        n_bins: Number of bins.

    Returns:
        The error; None without rows.

    Raises:
        ValueError: lengths differ, `n_bins` is below 1, or a confidence lies outside [0, 1].

    >>> ece(confidence=[0.75, 0.75], is_correct=[True, False])
    0.25
    """
    if len(confidence) != len(is_correct):
        raise ValueError(f"{len(confidence)} confidences, {len(is_correct)} verdicts")
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}, at least 1 is needed")
    if not all(0.0 <= value <= 1.0 for value in confidence):
        raise ValueError("a confidence lies outside [0, 1]")
    if not confidence:
        return None
    # The edges are floats on purpose: 0.3 lies below the third edge, 3 * 0.1, as in the reference
    # implementation.
    step = 1.0 / n_bins
    edges = [bin_number * step for bin_number in range(n_bins)]
    edges.append(1.0)
    confidences: defaultdict[int, float] = defaultdict(float)
    rights: Counter[int] = Counter()
    for value, correct in zip(confidence, is_correct, strict=True):
        bin_number = max(bisect_left(edges, value) - 1, 0)
        confidences[bin_number] += value
        rights[bin_number] += bool(correct)
    gaps = [abs(rights[number] - confidences[number]) for number in confidences]
    return math.fsum(gaps) / len(confidence)


def choice_probabilities(
    *, loglikelihoods: Sequence[float], continuations: Sequence[str], length_normalised: bool = True
) -> list[float]:
    """Probabilities of choices: the softmax of log-likelihood per character of the continuation.

    As in COMPL-AI v1, what is no number becomes 0, and a probability of 1 becomes 1 - 1e-6. what is
    no number becomes 0, and a probability of 1 becomes 1 - 1e-6. Range [0, 1).

    Args:
        loglikelihoods: One natural logarithm per choice.
        continuations: The texts that they belong to, leading blanks and letters included.
        length_normalised: Divide by the number of characters; the original does not for APIs.

    Raises:
        ValueError: lengths differ.

    >>> choice_probabilities(loglikelihoods=[-2.0, -2.0], continuations=[" A", " B"])
    [0.5, 0.5]
    """
    count, texts = len(loglikelihoods), len(continuations)
    if count != texts:
        raise ValueError(f"{count} log-likelihoods, {texts} continuations")
    scores = list(loglikelihoods)
    if length_normalised:
        lengths = [max(len(text), 1) for text in continuations]
        scores = [value / length for value, length in zip(scores, lengths, strict=True)]
    top = max(scores, default=math.nan)
    has_softmax = top > -math.inf and all(score < math.inf for score in scores)
    if not has_softmax:  # one is NaN, or all are -inf
        return [0.0] * len(scores)
    weights = [math.exp(score - top) for score in scores]
    total = math.fsum(weights)
    return [min(weight / total, _ALMOST_ONE) for weight in weights]


def triviaqa_normalize(*, text: str) -> str:
    """Normalises an answer as TriviaQA: lower case, no punctuation, no articles, single blanks.

    Joshi et al. 2017 (https://arxiv.org/abs/1705.03551). Punctuation and underscores become blanks.

    >>> triviaqa_normalize(text="The Lord of the Rings!")
    'lord of rings'
    """
    without_marks = text.lower().translate(_BLANKED)
    words = _ARTICLES.sub(" ", without_marks).split()
    return " ".join(words)


def triviaqa_contains_alias(*, normalized_aliases: Sequence[str], prediction: str) -> bool:
    """Tells whether a normalised alias is a part of the normalised reply, as COMPL-AI v1.

    A part of a word counts too: "uk" is found in "duke". `triviaqa_contains_alias_word` is the
    corrected rule.

    >>> triviaqa_contains_alias(normalized_aliases=["oslo"], prediction="I think it is Oslo.")
    True
    """
    answer = triviaqa_normalize(text=prediction)
    return any(alias in answer for alias in normalized_aliases)


def triviaqa_contains_alias_word(*, normalized_aliases: Sequence[str], prediction: str) -> bool:
    """Tells whether a normalised alias stands in the normalised reply as whole words.

    An empty alias never does.

    >>> triviaqa_contains_alias_word(normalized_aliases=["uk"], prediction="The Duke of York")
    False
    """
    answer = f" {triviaqa_normalize(text=prediction)} "
    return any(f" {alias} " in answer for alias in normalized_aliases if alias.strip())


METRICS = {
    "compliance.choice_probabilities": choice_probabilities,
    "compliance.ece": ece,
    "compliance.triviaqa_contains_alias": triviaqa_contains_alias,
    "compliance.triviaqa_contains_alias_word": triviaqa_contains_alias_word,
    "compliance.triviaqa_normalize": triviaqa_normalize,
}
