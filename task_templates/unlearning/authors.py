"""The logs that the TOFU authors publish.

Losses per row, from which every TOFU score without tokens follows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from custom_metrics.unlearning import by_row
from custom_metrics.unlearning.probability import probability_aggregate, probability_w_options
from custom_metrics.unlearning.truth_ratio import truth_ratio
from custom_metrics.unlearning.utility import hm_aggregate
from evalprep.packapi import open_file

from .names import aggregator_of, truth_ratio_of
from .results import Result

# Sections of the logs and configs of their tables, by the prefix of our metrics.
FILES = {
    "eval_log_forget.json": "forget",
    "eval_log.json": "retain",
    "eval_real_author_wo_options.json": "ra",
    "eval_real_world_wo_options.json": "wf",
}
_CONFIGS = {
    "retain_perturbed": "retain",
    "real_authors_perturbed": "ra",
    "world_facts_perturbed": "wf",
}
_TABLE_COLUMNS = (
    "config",
    "index",
    "answer_sum_loss",
    "answer_num_tokens",
    "wrong_sum_loss",
    "wrong_num_tokens",
)


def from_sections(content: Mapping[str, Any]) -> dict[str, Result]:
    """Results out of `eval_log_aggregated.json`: one section per data set."""
    results: dict[str, Result] = {}
    for file, prefix in FILES.items():
        log = content.get(file)
        if isinstance(log, dict):
            results |= _from_section(log, prefix)
    return _with_utility(results)


def from_file(content: Mapping[str, Any], name: str) -> dict[str, Result] | None:
    """Results out of the log of one data set, such as `eval_log_forget.json`.

    None for any other file.
    """
    known = name in FILES and isinstance(content.get("avg_gt_loss"), dict)
    return _from_section(content, FILES[name]) if known else None


def _from_section(log: Mapping[str, Any], prefix: str) -> dict[str, Result]:
    def column(key: str) -> dict[str, Any]:
        values = log.get(key)
        return values if isinstance(values, dict) else {}

    return _scores(
        prefix,
        answer=column("avg_gt_loss"),
        paraphrase=column("avg_paraphrased_loss"),
        wrong=column("average_perturb_loss"),
        recall=column("rougeL_recall"),
        texts=column("generated_text"),
    )


def from_table(path: Path) -> dict[str, Result] | None:
    """Results out of the same numbers as a parquet table; None for a table with other columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(open_file(path))
    except (OSError, pa.ArrowInvalid):
        return None
    if not set(_TABLE_COLUMNS) <= set(file.schema_arrow.names):
        return None
    parts: dict[str, list[Mapping[str, Any]]] = {}
    forget_split = ""
    for row in file.read().to_pylist():
        config = str(row["config"])
        prefix = _CONFIGS.get(config)
        if config.startswith("forget"):
            prefix = "forget"
            forget_split = config.removesuffix("_perturbed")
        if prefix:
            parts.setdefault(prefix, []).append(row)
    results: dict[str, Result] = {}
    for prefix, rows in parts.items():
        results |= _scores(
            prefix,
            answer={row["index"]: _average(row, "answer") for row in rows},
            paraphrase={row["index"]: _average(row, "base") for row in rows},
            wrong={row["index"]: list(_averages(row)) for row in rows},
            recall={row["index"]: row.get("rougeL_recall") for row in rows},
            texts={},
        )
    for name, result in results.items():
        if name.startswith("forget") and forget_split:
            result["split"] = forget_split
    return _with_utility(results)


def _average(row: Mapping[str, Any], name: str) -> float | None:
    total = row.get(f"{name}_sum_loss")
    count = row.get(f"{name}_num_tokens")
    return total / count if by_row.finite(total) and count else None


def _averages(row: Mapping[str, Any]) -> Iterator[float]:
    for total, count in zip(row["wrong_sum_loss"], row["wrong_num_tokens"], strict=True):
        if count:
            yield total / count


def _probability(losses: Mapping[Any, Any]) -> Result:
    def prob(loss: Any) -> float | None:
        # A loss is never negative; one that is comes from rounding.
        if by_row.finite(loss):
            return math.exp(min(-loss, 0.0))
        return None

    values = {
        index: {
            "prob": [prob(value) for value in loss] if isinstance(loss, list) else prob(loss),
            "avg_loss": loss,
        }
        for index, loss in by_row.by_string(losses).items()
    }
    return {**probability_aggregate(value_by_index=values), "value_by_index": values}


def _scores(
    prefix: str,
    *,
    answer: Mapping[Any, Any],
    paraphrase: Mapping[Any, Any],
    wrong: Mapping[Any, Any],
    recall: Mapping[Any, Any],
    texts: Mapping[Any, Any],
) -> dict[str, Result]:
    """All scores of one data set from its losses, recalls and generated texts.

    The logs measure the correct answer of the truth ratio in a pass of its own and call it
    paraphrase for all four data sets; for facts it is the original answer once more.
    """
    results = {
        f"{prefix}_Q_A_Prob": _probability(answer),
        f"{prefix}_Q_A_PERT_Prob": _probability(wrong),
        truth_ratio_of(prefix): truth_ratio(
            aggregator=aggregator_of(prefix), correct_avg_loss=paraphrase, wrong_avg_loss=wrong
        ),
    }
    if prefix in {"ra", "wf"}:  # facts: the answer beside its options
        correct = results[f"{prefix}_Q_A_Prob"]["value_by_index"]
        options = results[f"{prefix}_Q_A_PERT_Prob"]["value_by_index"]
        results[f"{prefix}_Q_A_Prob_normalised"] = probability_w_options(
            correct_prob={index: row["prob"] for index, row in correct.items()},
            wrong_prob={index: row["prob"] for index, row in options.items()},
        )
    else:
        results[f"{prefix}_Q_A_PARA_Prob"] = _probability(paraphrase)
    # ROUGE-L recall of each row, with the texts that were compared.
    texts_by_row = by_row.by_string(texts)
    recalls: dict[str, Result] = {}
    for index, value in by_row.by_string(recall).items():
        recalls[index] = {"rougeL_recall": value}
        # A question as it was sent, the generation and the answer, in this order.
        kept = texts_by_row.get(index)
        known = kept[:3] if isinstance(kept, list) else []
        if len(known) == 3 and all(isinstance(text, str) for text in known):
            names = ("input", "generation", "ground_truth")
            recalls[index] |= dict(zip(names, known, strict=True))
    mean = by_row.mean(by_row.usable(row["rougeL_recall"] for row in recalls.values()))
    results[f"{prefix}_Q_A_ROUGE"] = {"agg_value": mean, "value_by_index": recalls}
    return results


_UTILITY = (
    *("retain_Q_A_Prob", "retain_Q_A_ROUGE", "retain_Truth_Ratio"),
    *("ra_Q_A_Prob_normalised", "ra_Q_A_ROUGE", "ra_Truth_Ratio"),
    *("wf_Q_A_Prob_normalised", "wf_Q_A_ROUGE", "wf_Truth_Ratio"),
)


def _with_utility(results: dict[str, Result]) -> dict[str, Result]:
    parts = {name: results.get(name, {}).get("agg_value") for name in _UTILITY}
    return {**results, "model_utility": {**hm_aggregate(agg_values=parts), "parts": parts}}
