"""IFEval's two headline numbers, over the samples of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from custom_metrics.statistics import influence_of_counts

STRICT = ("prompt_level_strict_acc", "inst_level_strict_acc")
FOUR = (*STRICT, "prompt_level_loose_acc", "inst_level_loose_acc")


def ifeval_mean_of_strict(
    *, rows: Mapping[str, Sequence[Mapping[str, Any]]], **_: Any
) -> dict[str, Any]:
    """Mean of prompt-level and instruction-level strict accuracy, 0 to 1.

    The recipe and the leaderboards show this number.
    """
    return _mean_of(rows, STRICT)


def ifeval_mean_of_four(
    *, rows: Mapping[str, Sequence[Mapping[str, Any]]], **_: Any
) -> dict[str, Any]:
    """Mean of prompt- and instruction-level accuracy, strict and loose, 0 to 1.

    Meta's model cards show this number.
    """
    return _mean_of(rows, FOUR)


def _mean_of(
    rows: Mapping[str, Sequence[Mapping[str, Any]]], names: Sequence[str]
) -> dict[str, Any]:
    """Mean of several accuracies, with a bootstrap interval over prompts.

    An instruction-level accuracy is the flat mean over all instructions of all prompts, so prompts
    with more instructions weigh more in it.
    """
    import numpy as np

    all_metrics = set(names)
    scored = [row for row in chain(*rows.values()) if all_metrics <= row["metrics"].keys()]
    if not scored:
        return {"agg_value": None, "reason": "no sample has the four IFEval metrics"}
    # Per prompt: how many checks passed and how many there were, per accuracy.
    verdicts = [[row["metrics"][name] for name in names] for row in scored]
    passed = np.array(
        [
            [
                float(sum(map(bool, value))) if isinstance(value, list) else float(bool(value))
                for value in of_prompt
            ]
            for of_prompt in verdicts
        ],
        dtype=float,
    )
    checks = np.array(
        [
            [len(value) if isinstance(value, list) else 1 for value in of_prompt]
            for of_prompt in verdicts
        ],
        dtype=float,
    )
    accuracies = passed.sum(0) / checks.sum(0)
    first_task = next(iter(rows))
    keys = [f"{first_task}#{row['sample_id']}" for row in scored]
    counts = np.hstack([passed, checks])

    def mean_of_shares(sums: Any) -> float:
        half = len(names)
        return float((sums[:half] / sums[half:]).mean())

    # The 95 % interval of the mean accuracy over 2,000 draws of the prompts.
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(2_000):
        chosen = rng.integers(0, len(passed), len(passed))
        draws.append(float((passed[chosen].sum(0) / checks[chosen].sum(0)).mean()))
    low, high = np.quantile(draws, [0.025, 0.975])
    return {
        "agg_value": float(accuracies.mean()),
        "n": len(scored),
        "interval": [float(low), float(high)],
        "parts": dict(zip(names, accuracies.tolist(), strict=True)),
        "influence": partial(influence_of_counts, keys, counts, mean_of_shares),
    }
