"""The functions that unlearning task YAMLs name: per-document scores inside the harness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.unlearning.generation import generation_postprocess, rouge


def rouge_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """ROUGE of one generation against the row's target, for `process_results`.

    Args:
        doc: Prepared row with `target`, and optionally `stopwords` and `rouge_stemmer`.
        results: The generation, as one filtered response.

    Returns:
        `rouge1_recall`, `rougeL_f1`, `rougeL_recall`.
    """
    raw = results[0] if results and isinstance(results[0], str) else ""
    text = generation_postprocess(raw_generation=raw, stopwords=list(doc.get("stopwords") or ()))[
        "generation"
    ]
    return rouge(
        ground_truth=str(doc["target"]),
        generation=text,
        stemmer=doc.get("rouge_stemmer") is not False,
    )
