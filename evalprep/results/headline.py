"""The metric by which the field reports tasks of lm-eval's own.

All come from one data file, each with its source.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalprep.yamlfile import load_remembered_yaml

_FILE = Path(__file__).with_name("headline_metrics.yaml")


@lru_cache(maxsize=1)
def _metrics() -> dict[str, str]:
    """Task name or pattern -> metric."""
    metrics: dict[str, str] = {}
    for entry in load_remembered_yaml(_FILE).data["metrics"]:
        metrics |= dict.fromkeys(entry["tasks"], str(entry["metric"]))
    return metrics


def headline_metric(task: str) -> str:
    """Returns the metric that stands for a task of lm-eval's own; empty where the file has none.

    >>> headline_metric("hellaswag"), headline_metric("leaderboard_musr_team_allocation")
    ('acc_norm', 'acc_norm')
    """
    metrics = _metrics()
    if task in metrics:
        return metrics[task]
    return next((metric for name, metric in metrics.items() if fnmatch.fnmatchcase(task, name)), "")


def with_headline(task: str, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the metadata of a task with the metric that the field reports in place of its own."""
    metric = headline_metric(task)
    return {**metadata, "primary_metric": metric} if metric else metadata
