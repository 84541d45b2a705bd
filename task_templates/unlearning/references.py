"""Reference logs of others: OpenUnlearning's result files and the logs that the TOFU authors publish."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from custom_metrics.unlearning import by_row
from custom_metrics.unlearning.probability import probability_aggregate, probability_w_options
from custom_metrics.unlearning.truth_ratio import truth_ratio
from custom_metrics.unlearning.utility import hm_aggregate
from evalprep.packapi import BadInput, Problem

from .names import own_name, suite_of_file

Result = dict[str, Any]

#: What a folder may hold; of two with the same scores the later one counts.
FILES = ("eval_log_aggregated.json", "TOFU_EVAL.json", "MUSE_EVAL.json")
# Sections of the TOFU authors' logs and configs of their tables, by the prefix of our metrics.
AUTHORS_FILES = {
    "eval_log_forget.json": "forget",
    "eval_log.json": "retain",
    "eval_real_author_wo_options.json": "ra",
    "eval_real_world_wo_options.json": "wf",
}
AUTHORS_CONFIGS = {"retain_perturbed": "retain", "real_authors_perturbed": "ra", "world_facts_perturbed": "wf"}
TABLE_COLUMNS = ("config", "index", "answer_sum_loss", "answer_num_tokens", "wrong_sum_loss", "wrong_num_tokens")


def load(path: Path | str) -> dict[str, Result] | None:
    """Results by score name, out of a file or folder that is not one of our runs; None for anything else.

    Accepted: `TOFU_EVAL.json` / `MUSE_EVAL.json` in OpenUnlearning's layout, the TOFU authors'
    `eval_log_aggregated.json` and the same numbers as a parquet table, or a folder with them; one with logs of both
    suites gives both.

    Raises:
        BadInput: a file of one of these names that is no JSON, such as a truncated copy.
    """
    path = Path(path)
    if path.is_dir():
        found: dict[str, Result] = {}
        for name in FILES:
            found |= _load_file(path / name) or {}
        return found or None
    return _load_file(path)


def _load_file(path: Path) -> dict[str, Result] | None:
    if not path.is_file():
        return None
    if path.suffix == ".parquet":
        return _from_table(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        if path.name not in FILES:
            return None
        raise BadInput(
            Problem(
                what=f"cannot be read: {error}",
                where=str(path),
                allowed="a log as its evaluation wrote it",
                fix="fetch or write it again; copies are often cut short",
            )
        ) from error
    if not isinstance(content, dict):
        return None
    if set(content) & set(AUTHORS_FILES):
        return _from_authors(content)
    return _from_open_unlearning(content, path.name)


def _from_open_unlearning(content: Mapping[str, Any], name: str) -> dict[str, Result] | None:
    results = {
        metric: _renamed(result)
        for metric, result in content.items()
        if isinstance(result, dict) and "agg_value" in result
    }
    suite = suite_of_file(name, results)
    return {own_name(metric, suite): result for metric, result in results.items()} or None


def _renamed(result: Mapping[str, Any]) -> Result:
    """OpenUnlearning's document once says `values_by_index`; its files say `value_by_index`."""
    found = dict(result)
    if "values_by_index" in found:
        found.setdefault("value_by_index", found.pop("values_by_index"))
    return found


# The TOFU authors' logs: losses per row, from which every TOFU score without token log-probabilities follows.


def _from_authors(content: Mapping[str, Any]) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for file, prefix in AUTHORS_FILES.items():
        log = content.get(file)
        if not isinstance(log, dict):
            continue
        results |= _scores(
            prefix,
            answer=log.get("avg_gt_loss", {}),
            paraphrase=log.get("avg_paraphrased_loss", {}),
            wrong=log.get("average_perturb_loss", {}),
            recall=log.get("rougeL_recall", {}),
        )
    return _with_utility(results)


def _from_table(path: Path) -> dict[str, Result] | None:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    if not set(TABLE_COLUMNS) <= set(file.schema_arrow.names):
        return None
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in file.read().to_pylist():
        prefix = "forget" if str(row["config"]).startswith("forget") else AUTHORS_CONFIGS.get(row["config"])
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
        )
    return _with_utility(results)


def _average(row: Mapping[str, Any], name: str) -> float | None:
    total, count = row.get(f"{name}_sum_loss"), row.get(f"{name}_num_tokens")
    return total / count if by_row.finite(total) and count else None


def _averages(row: Mapping[str, Any]) -> Iterator[float]:
    for total, count in zip(row["wrong_sum_loss"], row["wrong_num_tokens"], strict=True):
        if count:
            yield total / count


def _probability(losses: Mapping[Any, Any]) -> Result:
    def prob(loss: Any) -> float | None:
        # A loss is never negative; one that is comes from rounding.
        return math.exp(min(-loss, 0.0)) if by_row.finite(loss) else None

    values = {
        index: {"prob": [prob(one) for one in loss] if isinstance(loss, list) else prob(loss), "avg_loss": loss}
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
) -> dict[str, Result]:
    """All scores of one data set from its losses and recalls.

    The logs measure the correct answer of the truth ratio in a pass of its own and call it paraphrase for all four data
    sets; for facts it is the original answer once more.
    """
    results = {f"{prefix}_Q_A_Prob": _probability(answer), f"{prefix}_Q_A_PERT_Prob": _probability(wrong)}
    facts = prefix in {"ra", "wf"}
    aggregator = "closer_to_1_better" if prefix == "forget" else "true_better"
    ratio = truth_ratio(aggregator=aggregator, correct_avg_loss=paraphrase, wrong_avg_loss=wrong)
    results["forget_truth_ratio" if prefix == "forget" else f"{prefix}_Truth_Ratio"] = ratio
    if facts:
        correct, options = (results[f"{prefix}_Q_A_{kind}"]["value_by_index"] for kind in ("Prob", "PERT_Prob"))
        results[f"{prefix}_Q_A_Prob_normalised"] = probability_w_options(
            correct_prob={index: row["prob"] for index, row in correct.items()},
            wrong_prob={index: row["prob"] for index, row in options.items()},
        )
    else:
        results[f"{prefix}_Q_A_PARA_Prob"] = _probability(paraphrase)
    recalls = {index: {"rougeL_recall": value} for index, value in by_row.by_string(recall).items()}
    results[f"{prefix}_Q_A_ROUGE"] = {
        "agg_value": by_row.mean(by_row.usable(row["rougeL_recall"] for row in recalls.values())),
        "value_by_index": recalls,
    }
    return results


UTILITY = tuple(
    f"{prefix}_{part}"
    for prefix, probability in (("retain", "Q_A_Prob"), ("ra", "Q_A_Prob_normalised"), ("wf", "Q_A_Prob_normalised"))
    for part in (probability, "Q_A_ROUGE", "Truth_Ratio")
)


def _with_utility(results: dict[str, Result]) -> dict[str, Result]:
    parts = {name: results.get(name, {}).get("agg_value") for name in UTILITY}
    return {**results, "model_utility": {**hm_aggregate(agg_values=parts), "parts": parts}}
