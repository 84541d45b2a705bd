"""The primary metric of a task: the one number that stands for it, and which way is better. Its only owner."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalprep.files import as_mapping
from evalprep.results.sample import OVER_ALL_ROWS
from evalprep.terminal import shortlist

#: Which way is better, `up` or `down`, and the pack that says so.
Turned = tuple[str, str]
_NAMED = 4  # tasks that a note names

# Where a task does not name its primary metric: the first of these that it has, else its first other score.
# Graded before graded-by-parts, plain accuracy before its length-normalised form, as the harness' own tables do.
USUAL_METRICS = ("exact_match", "acc", "prompt_level_strict_acc", "pass@1", "f1", "acc_norm")
# What tasks log beside scores: how often nothing was said or read, was cut off.
COUNTS_OF_REPLIES = frozenset({"unparsed", "empty", "truncated"})
# The same, how often scoring failed, and lm-eval's mark of no scoring.
NOT_SCORES = COUNTS_OF_REPLIES | {"bypass", "timeout", "scorer_error"}


@dataclass(frozen=True)
class Primary:
    """The number that a comparison uses.

    Args:
        metric: Its name; empty when the task logs no score (`--predict_only`).
        filter: The filter whose lines it is read from.
        declared: Whether the task says so in its metadata; else it was guessed.
        higher_is_better: Its direction.
    """

    metric: str
    filter: str
    declared: bool
    higher_is_better: bool = True

    @property
    def key(self) -> str:
        """Its key in lm-eval's results; empty without a metric."""
        return f"{self.metric},{self.filter}" if self.metric else ""


def logged_scores(names: Iterable[str]) -> list[tuple[str, str]]:
    """Metric and filter of each score among the keys of a task's results, in their order.

    >>> logged_scores(["alias", "unparsed,none", "acc,none", "acc_stderr,none"])
    [('acc', 'none')]
    """
    parts = (name.partition(",") for name in names)
    return [
        (metric, filter_name)
        for metric, comma, filter_name in parts
        if comma and not metric.endswith("_stderr") and metric not in NOT_SCORES
    ]


def choose_primary(
    metadata: Mapping[str, Any],
    scores: Sequence[tuple[str, str]],
    directions: Mapping[str, Any],
    *,
    filters: Sequence[str] = (),
    fallback: str = "none",
) -> Primary:
    """Choose among the scores of a task.

    Args:
        metadata: The task's own metadata, which may name `primary_metric` and `primary_filter`.
        scores: Metric and filter of each score, in the order in which the task gives them.
        directions: Metric -> whether higher is better; true where nothing is said.
        filters: All filters of the task, where they are known: a declared one that is not among them does not count.
        fallback: The filter where neither the task nor a score tells.

    Returns:
        The declared metric where the task has it; else the first of `USUAL_METRICS` that it has, else its first score.
        The declared filter where the task has it; else that of the metric's first score.
    """
    metric, filter_name = metadata.get("primary_metric"), metadata.get("primary_filter")
    names = [name for name, _ in scores]
    declared = isinstance(metric, str) and metric in names
    if not declared:
        # Some of lm-eval's metrics exist for all rows together only, so that no row could be compared.
        choice = [name for name in names if name not in OVER_ALL_ROWS] or names
        metric = next((name for name in USUAL_METRICS if name in choice), choice[0] if choice else "")
    if not isinstance(filter_name, str) or (filters and filter_name not in filters):
        fallback = filters[0] if filters else fallback
        filter_name = next((one for name, one in scores if name == metric), fallback)
    return Primary(str(metric), filter_name, declared, directions.get(str(metric)) is not False)


def directions_of(logged: Mapping[str, Any], scores: Iterable[str], better: Turned | None) -> dict[str, Any]:
    """Metric -> whether higher is better: as lm-eval logged it, unless a pack says so of the whole task.

    Args:
        logged: The task's entry in `higher_is_better`.
        scores: The keys of its entry in `results`.
        better: What a pack says.

    >>> directions_of({"acc": True}, ["acc,none", "acc_norm,none"], ("down", "unlearning"))
    {'acc': False, 'acc_norm': False}
    """
    if better is None:
        return dict(logged)
    return dict.fromkeys([*logged, *(metric for metric, _ in logged_scores(scores))], better[0] == "up")


def turned_notes(turned: Mapping[str, Turned]) -> list[str]:
    """The sentences that go with directions which are not lm-eval's.

    >>> turned_notes({"wmdp_bio": ("down", "unlearning"), "wmdp_cyber": ("down", "unlearning")})
    ['lower is better for wmdp_bio, wmdp_cyber: so says the pack unlearning, not lm-eval']
    """
    found: dict[Turned, list[str]] = {}
    for name, said in turned.items():
        found.setdefault(said, []).append(name)
    return [
        f"{'higher' if better == 'up' else 'lower'} is better for {shortlist(names, _NAMED)}: "
        f"so says the pack {pack}, not lm-eval"
        for (better, pack), names in found.items()
    ]


def primary_score(values: Any, config: Any, directions: Any) -> tuple[float | None, str]:
    """A task's primary score as lm-eval computed it over all rows, for tables of a run that is under way.

    Args:
        values: The task's entry in `results`.
        config: Its entry in `configs`.
        directions: Its entry in `higher_is_better`.

    Returns:
        The score and `metric,filter`; None and "" without any number, which NaN is not.
    """
    scores = {
        key: float(value)
        for key, value in as_mapping(values).items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
    key = choose_primary(
        as_mapping(as_mapping(config).get("metadata")), logged_scores(scores), as_mapping(directions)
    ).key
    return (scores[key], key) if key in scores else (None, "")
