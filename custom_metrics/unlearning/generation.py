"""The part of a generated answer that is compared.

This is cutting, reference text, ROUGE and classifier probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.text.rouge import rouge_scores
from custom_metrics.unlearning import by_row


def rouge(
    *, ground_truth: str, generation: str, stemmer: bool = True, compat: bool = False
) -> dict[str, float]:
    """ROUGE-1 recall, ROUGE-L F1 and ROUGE-L recall of one generation, each in [0, 1].

    Settings of OpenUnlearning: tokens are `[a-z0-9]+` of the lower-cased text, words longer than
    three letters are stemmed. Text without such tokens (empty, or not in Latin script) scores 0
    even against itself.

    Args:
        ground_truth: Reference text.
        generation: Text of the model.
        stemmer: False for the settings of MUSE's own scorer.
        compat: Stems whatever `stemmer` says, as OpenUnlearning always does.

    >>> rouge(ground_truth="born in 1961", generation="Born in 1961.")["rougeL_recall"]
    1.0
    """
    stems = stemmer or compat
    scores = rouge_scores(
        prediction=generation, reference=ground_truth, types=("rouge1", "rougeL"), stemmer=stems
    )
    return {
        "rouge1_recall": scores["rouge1"]["recall"],
        "rougeL_f1": scores["rougeL"]["fmeasure"],
        "rougeL_recall": scores["rougeL"]["recall"],
    }


def rouge_no_stemmer(
    *, ground_truth: str, generation: str, compat: bool = False
) -> dict[str, float]:
    """`rouge` with the settings of MUSE's own scorer.

    No stemming, and nothing else to be compatible with.
    """
    del compat
    return rouge(ground_truth=ground_truth, generation=generation, stemmer=False)


def generation_postprocess(
    *,
    raw_generation: str,
    stopwords: Sequence[str] | None = (),
    eos_text: str = "",
    compat: bool = False,
) -> dict[str, str]:
    r"""Cuts a generation at the end-of-sequence text, then each stop string in turn, and strips it.

    Args:
        raw_generation: Decoded text.
        stopwords: Stop strings; the order does not matter for the result. None, OpenUnlearning's
            default, means none.
        eos_text: Literal end-of-sequence token; empty if the text cannot contain one.
        compat: Changes nothing: OpenUnlearning cuts in the same way.

    >>> generation_postprocess(raw_generation=" Paris\n\nQuestion: next?", stopwords=["\n\n"])
    {'generation': 'Paris'}
    """
    del compat
    text = raw_generation
    for stop in [eos_text, *(stopwords or ())]:
        if stop:
            text = text.partition(stop)[0]
    return {"generation": text.strip()}


def ground_truth_extract(
    *, input_text: str, full_text: str, compat: bool = False
) -> dict[str, str]:
    """Reference text of a conversation: the full text without its prompt, stripped.

    Prepared rows carry the answer in a column, so nothing here needs this; it documents how
    OpenUnlearning gets it.

    Args:
        input_text: Decoded prompt.
        full_text: Decoded prompt and answer.
        compat: Delete every occurrence of the prompt, as OpenUnlearning does, and not only the one
            in front.
    """
    rest = full_text.removeprefix(input_text)
    if compat and input_text:
        rest = full_text.replace(input_text, "")
    return {"ground_truth": rest.strip()}


def classifier_prob(
    *, logits_by_index: Mapping[str, Sequence[float]], class_id: int = 0, compat: bool = False
) -> dict[str, Any]:
    """Mean softmax probability of one class of a text classifier over generations.

    With the gibberish detector of OpenUnlearning class 0 is the clean class, so that higher is
    better; read the classifier's own `id2label` before relying on it.

    Args:
        logits_by_index: Row -> logits.
        class_id: Position of the class.
        compat: NaN of no generations, and where a logit is no number, as in OpenUnlearning.

    Returns:
        `agg_value` in [0, 1], `score_by_index` and `skipped` (rows without that logit).
    """
    scores: dict[str, float | None] = {}
    for index, logits in by_row.by_string(logits_by_index).items():
        if not 0 <= class_id < len(logits) or not all(by_row.finite(value) for value in logits):
            scores[index] = math.nan if compat else None
            continue
        # Softmax; without the largest logit the exponentials cannot overflow.
        top = max(logits)
        weights = [math.exp(value - top) for value in logits]
        scores[index] = weights[class_id] / math.fsum(weights)
    kept = [score for score in scores.values() if score is not None]
    mean = by_row.mean_or_nan if compat else by_row.mean
    result = {"agg_value": mean(kept), "score_by_index": scores}
    return by_row.counted(result, no_logits=len(scores) - len(kept))


METRICS = {
    "unlearning.classifier_prob": classifier_prob,
    "unlearning.generation_postprocess": generation_postprocess,
    "unlearning.ground_truth_extract": ground_truth_extract,
    "unlearning.rouge": rouge,
    "unlearning.rouge_no_stemmer": rouge_no_stemmer,
}
