"""Accuracy of summaries by ROUGE, in the settings of fmeval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from custom_metrics.text.rouge import rouge_scores

RougeType = Literal["rouge1", "rouge2", "rougeL"]
RougeTokenizer = Literal["unicode", "fmeval"]
ROUGE_TYPES: tuple[RougeType, ...] = ("rouge1", "rouge2", "rougeL")
ROUGE_TOKENIZERS: tuple[RougeTokenizer, ...] = ("unicode", "fmeval")


def _f_measure(
    target_output: str,
    model_output: str,
    rouge_type: RougeType,
    use_stemmer: bool,
    tokenizer: RougeTokenizer,
) -> float:
    if rouge_type not in ROUGE_TYPES:
        raise ValueError(f"rouge_type is {rouge_type!r}, allowed are {', '.join(ROUGE_TYPES)}")
    if tokenizer not in ROUGE_TOKENIZERS:
        allowed = ", ".join(ROUGE_TOKENIZERS)
        raise ValueError(f"tokenizer is {tokenizer!r}, allowed are {allowed}")
    scores = rouge_scores(
        prediction=model_output,
        reference=target_output,
        types=[rouge_type],
        stemmer=use_stemmer,
        tokenizer="unicode" if tokenizer == "unicode" else "ascii",
    )
    return scores[rouge_type]["fmeasure"]


def rouge(
    *,
    target_output: str,
    model_output: str,
    rouge_type: RougeType = "rouge2",
    use_stemmer: bool = True,
    tokenizer: RougeTokenizer = "fmeval",
) -> dict[str, float]:
    """ROUGE F1 of one summary; see `text.rouge_scores` for tokens and bounds.

    Args:
        target_output: Reference summary.
        model_output: Summary of the model.
        rouge_type: `rouge1`, `rouge2` or `rougeL` (over the whole text, not by lines).
        use_stemmer: Whether words of more than three letters are stemmed (Porter).
        tokenizer: `fmeval` reads ASCII letters and digits alone; `unicode` reads every script.

    Returns:
        `rouge` in [0, 1]; higher is better.

    Raises:
        ValueError: the type or the tokenizer is another.

    >>> rouge(target_output="the end", model_output="THE END")
    {'rouge': 1.0}
    """
    value = _f_measure(target_output, model_output, rouge_type, use_stemmer, tokenizer)
    return {"rouge": value}


def rouge_multi_target(
    *,
    target_outputs: Sequence[str],
    model_output: str,
    rouge_type: RougeType = "rouge2",
    use_stemmer: bool = True,
    tokenizer: RougeTokenizer = "fmeval",
) -> dict[str, float]:
    """ROUGE F1 of a summary against the reference that it is nearest to.

    Args:
        target_outputs: Reference summaries, at least one.
        model_output: Summary of the model.
        rouge_type: As in `fm.rouge`.
        use_stemmer: As in `fm.rouge`.
        tokenizer: As in `fm.rouge`.

    Returns:
        `rouge` in [0, 1]; higher is better.

    Raises:
        ValueError: the type is none of the three, or there is no reference.
    """
    return {
        "rouge": max(
            _f_measure(target, model_output, rouge_type, use_stemmer, tokenizer)
            for target in target_outputs
        )
    }


METRICS: dict[str, Callable[..., dict[str, float]]] = {
    "fm.rouge": rouge,
    "fm.rouge_multi_target": rouge_multi_target,
}
