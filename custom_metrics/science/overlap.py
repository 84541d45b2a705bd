"""BLEU of a whole task and mean ROUGE.

Both are kept as counts by row, so that intervals can be drawn from them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.normalize import Counts, add
from custom_metrics.text.rouge import rouge_scores

ROUGES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
MAX_ORDER = 4


@lru_cache(maxsize=1)
def _tokenizer() -> Callable[[str], str]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenizer: Callable[[str], str] = Tokenizer13a()
    return tokenizer


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def bleu_counts(prediction: str, reference: str) -> Counts:
    """Returns what one row adds to corpus BLEU.

    That is the clipped matches and totals of 1- to 4-grams, and both lengths.
    """
    tokenize = _tokenizer()
    ours = tokenize(prediction).split()
    theirs = tokenize(reference).split()
    counts: Counts = {"bleu_pred_length": len(ours), "bleu_ref_length": len(theirs)}
    for order in range(1, MAX_ORDER + 1):
        counts[f"bleu_match{order}"] = (_ngrams(ours, order) & _ngrams(theirs, order)).total()
        counts[f"bleu_total{order}"] = max(0, len(ours) - order + 1)
    return counts


def bleu_result(counts: Mapping[str, float], mode: str = CORRECTED) -> float:
    """Corpus BLEU from summed `bleu_counts`.

    Raises:
        ZeroDivisionError: in compat mode, when all predictions or all references are empty.
    """
    compat = is_compat(mode, "empty_corpus")
    pred_length = counts.get("bleu_pred_length", 0)
    ref_length = counts.get("bleu_ref_length", 0)
    if compat:
        ratio = pred_length / ref_length
        penalty = 1.0 if ratio > 1 else math.exp(1 - 1 / ratio)
    elif pred_length and ref_length:
        penalty = math.exp(min(0.0, 1 - ref_length / pred_length))
    else:
        return 0.0
    logs = 0.0
    for order in range(1, MAX_ORDER + 1):
        matches = counts.get(f"bleu_match{order}", 0)
        if not matches:
            return 0.0
        logs += math.log(matches / counts[f"bleu_total{order}"]) / MAX_ORDER
    return penalty * math.exp(logs)


def bleu(predictions: Sequence[str], references: Sequence[str], mode: str = CORRECTED) -> float:
    """Corpus BLEU in [0, 1], higher is better: 13a tokens, 1- to 4-grams, no smoothing.

    The geometric mean of the clipped precisions over the corpus times the brevity penalty exp(1 - r
    / c) for c <= r (Papineni et al. 2002; the numbers of the hub metric `bleu`). 0 when every
    prediction is empty, where the hub metric divides by zero.

    Args:
        predictions: Replies.
        references: One reference each.
        mode: "compat" raises the hub metric's ZeroDivisionError.

    Raises:
        ValueError: the two differ in length.
    """
    total: Counts = {}
    for prediction, reference in zip(predictions, references, strict=True):
        add(total, bleu_counts(prediction, reference))
    return bleu_result(total, mode)


def rouge_rows(predictions: Sequence[str], references: Sequence[str]) -> list[dict[str, float]]:
    """ROUGE F-measures of each row: rouge1, rouge2, rougeL, rougeLsum, without stemming.

    Raises:
        ValueError: the two differ in length.
    """
    pairs = list(zip(predictions, references, strict=True))
    scores = [
        rouge_scores(prediction=ours, reference=theirs, types=ROUGES) for ours, theirs in pairs
    ]
    return [{name: score[name]["fmeasure"] for name in ROUGES} for score in scores]


def rouge(
    predictions: Sequence[str], references: Sequence[str], mode: str = CORRECTED
) -> dict[str, float | None]:
    """Mean ROUGE F-measures in [0, 1], higher is better; None each without rows.

    The hub metric of the original gives the median of 1,000 unseeded bootstrap means instead, which
    no mode repeats.

    Raises:
        ValueError: the two differ in length.
    """
    is_compat(mode)
    rows = rouge_rows(predictions, references)
    return {name: sum(row[name] for row in rows) / len(rows) if rows else None for name in ROUGES}


def canonical_json(value: Any) -> str:
    r"""A JSON value as one text, whatever its escapes, blanks and key order were.

    >>> canonical_json(json.loads('{"b": "\\u03b2", "a": [1]}'))
    '{"a": [1], "b": "β"}'
    """
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        # Nesting that could be read but not written at the same depth.
        return ""


METRICS: dict[str, Callable[..., Any]] = {"science.bleu": bleu, "science.rouge": rouge}
