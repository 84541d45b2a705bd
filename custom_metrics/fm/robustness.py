"""Changes of scores and replies where the prompt is changed without changing what it asks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from custom_metrics.fm.word_errors import wer

Similarity = Callable[[str, str], float]
"""(target, output) -> BERTScore F1."""


def mean_delta(*, original: float, perturbed: Sequence[float]) -> dict[str, float]:
    """Mean distance of the scores on perturbed prompts from the score on the original one.

    `delta = mean(|original - perturbed_i|)`, so that gains count as much as losses.

    Args:
        original: Score of the reply to the original prompt.
        perturbed: Scores of the replies to its perturbed forms, at least one.

    Returns:
        `delta`, in [0, 1] for scores in [0, 1]; lower is better.

    Raises:
        ValueError: there is no perturbed score.

    >>> mean_delta(original=0.5, perturbed=[0.25, 0.75])
    {'delta': 0.25}
    """
    if not perturbed:
        raise ValueError("a delta needs the score of one perturbed prompt at least")
    return {"delta": sum(abs(original - score) for score in perturbed) / len(perturbed)}


def bertscore_dissimilarity(*, bertscores: Sequence[float]) -> dict[str, float]:
    """One minus the mean BERTScore between the original reply and the perturbed ones.

    Args:
        bertscores: BERTScore F1 per perturbed reply, at least one.

    Returns:
        `bertscore_dissimilarity`, in [0, 1] where BERTScores are; lower is better.

    Raises:
        ValueError: there is no BERTScore.
    """
    if not bertscores:
        raise ValueError("a dissimilarity needs one BERTScore at least")
    return {"bertscore_dissimilarity": 1 - sum(bertscores) / len(bertscores)}


def reply_pairs(original: str, further: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs of replies to one unchanged prompt.

    The further ones come first, as in the original.

    >>> reply_pairs("o", ["x", "y"])
    [('x', 'y'), ('x', 'o'), ('y', 'o')]
    """
    return list(itertools.combinations([*further, original], 2))


def above_baseline(score: float, baseline: float | None) -> float:
    """Returns by how much a score is larger than the model's difference from itself.

    This is `max(0, score - baseline)`.
    """
    return score if baseline is None else max(0.0, score - baseline)


def general_robustness(
    *,
    original: str,
    perturbed: Sequence[str],
    baseline: Sequence[str] = (),
    similarity: Similarity | None = None,
) -> dict[str, float]:
    """Compares the reply to a prompt with the replies to its perturbed forms; no target is needed.

    Word error rate and BERTScore dissimilarity with the original reply as reference. A model that
    samples differs from itself too: with further replies to the unchanged prompt, the same measure
    over all pairs of those is taken off, per record, and what is left is at least 0. (The original
    compares replies with themselves there, so that too little is taken off; this does not.)

    Args:
        original: Reply to the original prompt.
        perturbed: Replies to its perturbed forms, at least one.
        baseline: Further replies to the original prompt; none for a model that always says the
            same.
        similarity: BERTScore F1 of (target, output); without it the dissimilarity is left out.

    Returns:
        `word_error_rate` in [0, inf) and `bertscore_dissimilarity`; lower is better.

    Raises:
        ValueError: there is no perturbed reply.
    """
    if not perturbed:
        raise ValueError("robustness needs the reply to one perturbed prompt at least")
    pairs = reply_pairs(original, baseline) if baseline else []
    first = [pair[0] for pair in pairs]
    second = [pair[1] for pair in pairs]
    scores = {}
    if similarity is not None:
        of_perturbed = [similarity(original, reply) for reply in perturbed]
        own = [similarity(target, output) for target, output in zip(first, second, strict=True)]
        scores["bertscore_dissimilarity"] = above_baseline(
            bertscore_dissimilarity(bertscores=of_perturbed)["bertscore_dissimilarity"],
            bertscore_dissimilarity(bertscores=own)["bertscore_dissimilarity"] if own else None,
        )
    scores["word_error_rate"] = above_baseline(
        wer(predictions=perturbed, references=[original] * len(perturbed))["word_error_rate"],
        wer(predictions=first, references=second)["word_error_rate"] if pairs else None,
    )
    return scores


METRICS = {
    "fm.bertscore_dissimilarity": bertscore_dissimilarity,
    "fm.general_robustness": general_robustness,
    "fm.mean_delta": mean_delta,
}
