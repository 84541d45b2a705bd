"""Facts about the metrics that lm-eval brings itself (lm_eval/api/metrics.py).

They are direction, aggregation, unit and range.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from evalprep.samples import BITS, NATS, PERCENT, PERPLEXITY, SHARE, Direction


class KnownMetric(NamedTuple):
    """The entry of a metric in lm-eval's registry."""

    direction: Direction
    aggregation: str
    unit: str = ""
    range: tuple[float, float] | None = None

    def may_be(self, value: float | None) -> bool:
        """Returns whether a value lies within the range, as far as both are known."""
        if self.range is None or value is None:
            return True
        low, high = self.range
        return low - _ROUNDING <= value <= high + _ROUNDING

    @property
    def of_another_scale(self) -> KnownMetric:
        """Returns what holds of a metric of this name that a task computes itself.

        Its scale is unknown: f1 of squadv2 is in percent.
        """
        return self._replace(aggregation="", unit="", range=None)


_ROUNDING = 1e-6
_SHARE_OF_ROWS = KnownMetric("up", "mean", SHARE, (0.0, 1.0))
_PERPLEXITY = KnownMetric("down", "weighted_perplexity", PERPLEXITY)

KNOWN_METRICS: dict[str, KnownMetric] = {
    "acc": _SHARE_OF_ROWS,
    "acc_norm": _SHARE_OF_ROWS,
    "acc_bytes": _SHARE_OF_ROWS,
    "acc_mutual_info": _SHARE_OF_ROWS,
    "exact_match": _SHARE_OF_ROWS,
    "em": _SHARE_OF_ROWS,
    "acc_all": KnownMetric("up", "acc_all", SHARE, (0.0, 1.0)),
    "f1": KnownMetric("up", "f1", SHARE, (0.0, 1.0)),
    "mcc": KnownMetric("up", "matthews_corrcoef", "", (-1.0, 1.0)),
    "brier_score": KnownMetric("down", "brier_score", "", (0.0, 2.0)),
    "bleu": KnownMetric("up", "bleu", PERCENT, (0.0, 100.0)),
    "chrf": KnownMetric("up", "chrf", PERCENT, (0.0, 100.0)),
    "chrf++": KnownMetric("up", "chrf++", PERCENT, (0.0, 100.0)),
    "ter": KnownMetric("down", "ter", PERCENT),
    "perplexity": KnownMetric("down", "perplexity", PERPLEXITY),
    "ppl": KnownMetric("down", "perplexity", PERPLEXITY),
    "word_perplexity": _PERPLEXITY,
    "byte_perplexity": _PERPLEXITY,
    "bits_per_byte": KnownMetric("down", "bits_per_byte", BITS),
    # Those of tasks of lm-eval 0.2 and 0.3, whose files state no direction, as its code has them.
    "mc1": _SHARE_OF_ROWS,
    "mc2": _SHARE_OF_ROWS,
    "multiple_choice_grade": _SHARE_OF_ROWS,
    "exact_str_match": _SHARE_OF_ROWS,
    "pct_stereotype": KnownMetric("down", "mean", SHARE, (0.0, 1.0)),
    "likelihood_difference": KnownMetric("down", "mean"),
}
_UNKNOWN = KnownMetric("unknown", "")
_SHARE = KnownMetric("up", "", SHARE, (0.0, 1.0))
_PERCENT = KnownMetric("up", "", PERCENT, (0.0, 100.0))
_SHARES = re.compile(r".+_acc|pass(?:@|_at_)\d+|math_verify")
#: The scores of SQuAD 2's own script, all in percent; a task with the first two is scored by it.
_SQUAD = frozenset(
    (
        *("exact", "HasAns_exact", "NoAns_exact", "best_exact"),
        *("f1", "HasAns_f1", "NoAns_f1", "best_f1"),
    )
)
#: Metrics of lm-eval for a task whose settings name none, by the type of its requests.
_DEFAULTS = {
    "loglikelihood": ("perplexity", "acc"),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
    "multiple_choice": ("acc", "acc_norm"),
    "generate_until": ("exact_match",),
}
_LOSS = KnownMetric("down", "", NATS)
_LOSSES = re.compile(r"(?:.*_)?(?:loss|nll|cross_entropy)", re.IGNORECASE)
#: Aggregations whose value is a sum of counts over rows, put into a formula.
COUNTED = frozenset(
    (
        *("f1", "matthews_corrcoef", "bleu", "chrf", "chrf++", "ter"),
        *("perplexity", "weighted_perplexity", "bits_per_byte", "brier_score"),
    )
)


def known_metric(name: str) -> KnownMetric:
    """Returns what lm-eval's registry says of a metric; of others what their names say.

    >>> [known_metric(name).unit for name in ("eval_loss", "inst_level_loose_acc", "my_score")]
    ['nats', 'share', '']
    """
    if name in KNOWN_METRICS:
        return KNOWN_METRICS[name]
    if _SHARES.fullmatch(name):
        return _SHARE
    return _LOSS if _LOSSES.fullmatch(name) else _UNKNOWN


def scored_metric(
    name: str, names: Collection[str], output_type: str, listed: Collection[str] | None
) -> KnownMetric:
    """Returns what the name of a metric and the scorer of its task say of it.

    A task that lists no metrics and logs others than lm-eval's usual ones has code of its own for
    them: their unit is not known, but for SQuAD 2's.

    Args:
        name: The metric.
        names: All metrics of the task.
        output_type: Type of its requests; empty where it is not known.
        listed: The metrics that its settings list; None where they list none.

    >>> scored_metric("f1", ["exact", "f1"], "generate_until", None).unit
    'percent'
    >>> scored_metric("f1", ["f1"], "generate_until", None).unit
    ''
    >>> scored_metric("f1", ["f1"], "multiple_choice", ["f1"]).unit
    'share'
    """
    if name in _SQUAD and {"exact", "f1"} <= set(names):
        return _PERCENT
    known = known_metric(name)
    is_listed = listed is not None or not output_type
    if is_listed or name in _DEFAULTS.get(output_type, ()):
        return known
    return known.of_another_scale


def direction_of(higher_is_better: Any) -> Direction:
    """Returns a direction as lm-eval writes it: true, false, or null for unknown.

    >>> [direction_of(True), direction_of(False), direction_of(None)]
    ['up', 'down', 'unknown']
    """
    if isinstance(higher_is_better, bool):
        return "up" if higher_is_better else "down"
    return "unknown"
