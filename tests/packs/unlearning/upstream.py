"""Logs in the form in which OpenUnlearning writes them, with values of a seed.

`tofu` and `muse` return the content of `TOFU_EVAL.json` and `MUSE_EVAL.json`, `summary` that of the
`..._SUMMARY.json` beside them, and `save` writes both. Every value is computed here from the rows in
a few lines, and not by the code under test.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Log = dict[str, Any]
EPSILON = 1e-10
ATTACKS = ("mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus", "mia_gradnorm")
DATA_SETS = ("forget", "retain", "ra", "wf")
#: Columns of the summary as OpenUnlearning's default configuration writes it.
HELPERS = ("_PARA_Prob", "_PERT_Prob", "_normalised", "Truth_Ratio", "retain_", "ra_", "wf_")


def _by_index(values: Any, name: str = "score") -> Log:
    return {str(at): {name: value} for at, value in enumerate(values)}


def _mean(values: Any) -> float:
    return float(np.mean(values))


def _answers(losses: np.ndarray) -> Log:
    rows = {
        str(at): {"prob": math.exp(-loss), "avg_loss": float(loss)}
        for at, loss in enumerate(losses)
    }
    return {"agg_value": _mean(np.exp(-losses)), "value_by_index": rows}


def _wrong_answers(losses: np.ndarray) -> Log:
    rows = {
        str(at): {"prob": np.exp(-row).tolist(), "avg_loss": row.tolist()}
        for at, row in enumerate(losses)
    }
    return {"agg_value": _mean(np.exp(-losses)), "value_by_index": rows}


def _truth_ratio(correct: np.ndarray, wrong: np.ndarray, aggregator: str) -> Log:
    c, w = np.exp(-correct), np.exp(-wrong.mean(axis=1))
    ratio = w / (c + EPSILON)
    aggregates = {
        "closer_to_1_better": lambda: np.minimum(ratio, 1 / (ratio + EPSILON)),
        "true_better": lambda: np.maximum(0, 1 - ratio),
        "prob_mean": lambda: c / (c + w + EPSILON),
    }
    scores = c / (c + w + EPSILON) if aggregator == "prob_mean" else ratio
    return {"agg_value": _mean(aggregates[aggregator]()), "value_by_index": _by_index(scores)}


def _rouge(
    values: np.ndarray, topic: str, kind: str, *, data: str = "", stated: str = "rougeL_recall"
) -> Log:
    rows = {
        str(at): {
            "rouge1_recall": float(value),
            "rougeL_f1": float(value) * 0.9,
            "rougeL_recall": float(value),
            "input": f"system\n\nYou are a helpful assistant.user\n\nWhich {topic} of {data} is "
            f"number {at}?assistant\n\n",
            "ground_truth": f"The {topic} {kind} number {at} of {data}.",
            "generation": f"It is the {topic} {at}.",
        }
        for at, value in enumerate(values)
    }
    return {"agg_value": _mean([row[stated] for row in rows.values()]), "value_by_index": rows}


def area(forget: Any, holdout: Any) -> float:
    """AUC of an attack: holdout texts above forgotten ones, ties half."""
    above = np.asarray(holdout)[:, None] - np.asarray(forget)[None, :]
    return _mean((above > 0) + 0.5 * (above == 0))


def attack(forget: np.ndarray, holdout: np.ndarray) -> Log:
    """One membership attack with both sides."""
    sides = {
        side: {"agg_value": _mean(scores), "value_by_index": _by_index(scores.tolist())}
        for side, scores in (("forget", forget), ("holdout", holdout))
    }
    auc = area(forget, holdout)
    return {**sides, "auc": auc, "agg_value": auc}


def privleak(auc: float, retain_auc: float = 0.5) -> float:
    """Privacy leakage as MUSE defines it, with OpenUnlearning's guard."""
    return 100 * (retain_auc - auc) / (1 - retain_auc + EPSILON)


def harmonic(values: Any) -> float:
    """The harmonic mean of positive numbers."""
    numbers = list(values)
    return len(numbers) / sum(1 / number for number in numbers)


def tofu(
    seed: int = 0,
    *,
    rows: int = 40,
    memory: float = 0.0,
    aggregator: str = "usual",
    topic: str = "river",
    retain: Mapping[str, Any] | None = None,
) -> Log:
    """The content of `TOFU_EVAL.json`.

    Args:
        seed: Decides all values.
        rows: Rows of the forget split; 40, 200 and 400 are TOFU's own.
        memory: 0 for a model that never saw the forget set, 1 for one that knows it by heart.
        aggregator: `usual`, or `prob_mean` for upstream's other truth ratio.
        topic: What the answers are about: another one is other questions.
        retain: The log of the retain model, for the values that compare with it.
    """
    draw = np.random.default_rng(seed)
    log: Log = {}
    for name in DATA_SETS:
        count = rows if name == "forget" else 20
        known = memory if name == "forget" else 1.0
        wrong = draw.uniform(1.5, 3.0, (count, 5 if name in {"forget", "retain"} else 3))
        answer = draw.uniform(0.05, 0.3, count) + (1 - known) * draw.uniform(0.5, 2.5, count)
        other = answer + draw.uniform(0.5, 1.5, count)
        log[f"{name}_Q_A_Prob"] = _answers(answer)
        log[f"{name}_Q_A_PERT_Prob"] = _wrong_answers(wrong)
        has_paraphrase = name in {"forget", "retain"}
        if has_paraphrase:
            log[f"{name}_Q_A_PARA_Prob"] = _answers(other)
        else:
            c, w = np.exp(-answer), np.exp(-wrong).sum(axis=1)
            shares = c / (c + w + EPSILON)
            log[f"{name}_Q_A_Prob_normalised"] = {
                "agg_value": _mean(shares),
                "value_by_index": _by_index(shares.tolist(), "prob"),
            }
        usual = "closer_to_1_better" if name == "forget" else "true_better"
        log["forget_truth_ratio" if name == "forget" else f"{name}_Truth_Ratio"] = _truth_ratio(
            other if has_paraphrase else answer,
            wrong,
            usual if aggregator == "usual" else aggregator,
        )
        recall = np.clip(0.3 + 0.6 * known + draw.uniform(-0.2, 0.1, count), 0, 1)
        log[f"{name}_Q_A_ROUGE"] = _rouge(recall, topic, "answer", data=name)
    for name in ("exact_memorization", "extraction_strength"):
        scores = np.clip(0.1 + 0.85 * memory + draw.uniform(-0.1, 0.05, rows), 0.001, 1)
        log[name] = {"agg_value": _mean(scores), "value_by_index": _by_index(scores.tolist())}
    for name in ATTACKS:
        unseen = draw.normal(2.0, 0.4, rows)
        log[name] = attack(draw.normal(2.1, 0.4, rows) * (1 - memory) + 0.1 * memory, unseen)
    log["model_utility"] = {"agg_value": utility(log)}
    _compare_with(log, retain)
    return log


def utility(log: Log) -> float:
    """The harmonic mean of the nine parts as the log states them."""
    parts = [log["retain_Q_A_Prob"], log["retain_Q_A_ROUGE"], log["retain_Truth_Ratio"]]
    for name in ("ra", "wf"):
        parts += [log[f"{name}_Q_A_Prob_normalised"], log[f"{name}_Q_A_ROUGE"]]
        parts += [log[f"{name}_Truth_Ratio"]]
    return harmonic(part["agg_value"] for part in parts)


def scores_of(log: Log, name: str) -> list[float]:
    """The scores of the rows of a metric."""
    return [row["score"] for row in log[name]["value_by_index"].values()]


def _compare_with(log: Log, retain: Mapping[str, Any] | None) -> None:
    """Adds what compares with a retain model; without one as OpenUnlearning does."""
    auc = log["mia_min_k"]["auc"]
    if retain is None:
        log["privleak"] = {"agg_value": privleak(auc)}
        if "forget_truth_ratio" in log:
            log["forget_quality"] = {"agg_value": None}
        return
    log["privleak"] = {"agg_value": privleak(auc, retain["mia_min_k"]["auc"])}
    if "forget_truth_ratio" in log:
        from scipy.stats import ks_2samp

        sides = [scores_of(each, "forget_truth_ratio") for each in (log, dict(retain))]
        log["forget_quality"] = {"agg_value": float(ks_2samp(*sides).pvalue)}


def muse(
    seed: int = 0,
    *,
    rows: int = 30,
    memory: float = 0.0,
    topic: str = "report",
    retain: Mapping[str, Any] | None = None,
) -> Log:
    """The content of `MUSE_EVAL.json`; arguments as those of `tofu`."""
    draw = np.random.default_rng(seed)
    log: Log = {}
    for name, known in (
        ("forget_knowmem_ROUGE", memory),
        ("retain_knowmem_ROUGE", 1.0),
        ("forget_verbmem_ROUGE", memory),
    ):
        values = np.clip(0.2 + 0.6 * known + draw.uniform(-0.2, 0.1, rows), 0, 1)
        log[name] = _rouge(values, topic, "text", data=name, stated="rougeL_f1")
    for name in ("exact_memorization", "extraction_strength"):
        scores = np.clip(0.1 + 0.85 * memory + draw.uniform(-0.1, 0.05, rows), 0.001, 1)
        log[name] = {"agg_value": _mean(scores), "value_by_index": _by_index(scores.tolist())}
    for name in ATTACKS:
        unseen = draw.normal(2.0, 0.4, rows)
        log[name] = attack(draw.normal(2.1, 0.4, rows) * (1 - memory) + 0.1 * memory, unseen)
    _compare_with(log, retain)
    return log


def summary(log: Log) -> Log:
    """The `..._SUMMARY.json` of a log: values without rows, helpers and absent ones left out."""
    return {
        name: result["agg_value"]
        for name, result in log.items()
        if result["agg_value"] is not None and not any(part in name for part in HELPERS)
    }


def save(folder: Path, log: Log, suite: str = "TOFU") -> Path:
    """Writes a log and its summary into a folder; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("EVAL", log), ("SUMMARY", summary(log))):
        text = json.dumps(content, indent=4, sort_keys=True)
        (folder / f"{suite}_{name}.json").write_text(text)
    return folder
