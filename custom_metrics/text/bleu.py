"""Corpus BLEU through sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence


def corpus_bleu(*, predictions: Sequence[str], references: Sequence[str]) -> float:
    """Computes BLEU of a whole corpus, one reference per prediction.

    Geometric mean of the clipped 1- to 4-gram precisions over all pairs, times `exp(1 - reference
    length / prediction length)` where the predictions are shorter; 13a tokenisation, no smoothing
    (Papineni et al., 2002; Post, 2018, "A Call for Clarity in Reporting BLEU Scores"). Reference
    implementation: sacrebleu, whose 0..100 is divided by 100.

    Args:
        predictions: Texts of the model.
        references: Reference texts, as many.

    Returns:
        A value in [0, 1]; higher is better; 0.0 for no pairs, for empty texts, and where no 4-gram
        is shared.

    Raises:
        ValueError: the lengths differ.

    >>> texts = ["the cat sat on the mat"]
    >>> round(corpus_bleu(predictions=texts, references=texts), 6)
    1.0
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions, {len(references)} references")
    if not predictions:
        return 0.0
    import sacrebleu

    score = sacrebleu.corpus_bleu(
        list(predictions), [list(references)], smooth_method="none", tokenize="13a", force=True
    ).score
    return min(float(score) / 100, 1.0)


METRICS = {"text.corpus_bleu": corpus_bleu}
