"""Scores of factual knowledge: a reply contains the facts that were asked for."""

from __future__ import annotations

from typing import Literal

from custom_metrics.fm.normalize import OR_DELIMITER, normalize, targets

LOGICAL_OPERATORS = ("OR", "AND")


def factual_knowledge(
    *,
    target_output: str,
    model_output: str,
    target_output_delimiter: str | None = OR_DELIMITER,
    logical_operator: Literal["OR", "AND"] = "OR",
) -> dict[str, float]:
    """Tells whether a reply contains one of the right answers, or all of them.

    `factual_knowledge` compares lower-cased texts, `factual_knowledge_quasi_exact` texts normalised
    by `fm.normalize`. Both look for a part of a text, so `uk` is found in `Ukraine`, and an answer
    that is empty or has nothing but punctuation and articles is found everywhere: such rows are
    refused when data are prepared.

    Args:
        target_output: Right answers joined by the delimiter.
        model_output: Reply of the model.
        target_output_delimiter: What joins the answers; None for a single one.
        logical_operator: `OR` asks for any answer, `AND` for all.

    Returns:
        Two values, each 0.0 or 1.0; higher is better.

    Raises:
        ValueError: the delimiter is empty or the operator unknown.

    >>> factual_knowledge(target_output="St. Lucia", model_output="Saint Lucia (St Lucia)")
    {'factual_knowledge': 0.0, 'factual_knowledge_quasi_exact': 1.0}
    """
    if logical_operator not in LOGICAL_OPERATORS:
        raise ValueError(f"logical_operator is {logical_operator!r}, allowed are OR and AND")
    quantifier = any if logical_operator == "OR" else all
    answers = targets(target_output, target_output_delimiter)
    lowered = model_output.lower()
    normal = normalize(text=model_output.strip())
    return {
        "factual_knowledge": float(quantifier(answer.lower() in lowered for answer in answers)),
        "factual_knowledge_quasi_exact": float(
            quantifier(normalize(text=answer.strip()) in normal for answer in answers)
        ),
    }


METRICS = {"fm.factual_knowledge": factual_knowledge}
