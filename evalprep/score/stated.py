"""The value that a results file states of a metric whose rows give another number."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from custom_metrics import statistics
from evalprep.numbers import number
from evalprep.results import Run, TaskRun, expected_rows
from evalprep.samples import Metric
from evalprep.score.builtin import Scored, collect

#: Digits after the point from which a stored value may be a rounded one.
_ROUNDED = 4
#: Names of the function that makes a mean of all rows; without a name it is taken for one.
_MEANS = frozenset({"", "mean", "nanmean"})


@dataclass(frozen=True)
class Stated:
    """What a results file states of a metric; the rows that are here give another value.

    Args:
        metric: The metric, as people read it.
        value: The value that is stored.
        stderr: Its standard error; None where none is stored.
        n: Rows that the run was to answer; None where that is not known.
        used: Rows with a number that are here.
        here: All rows that are here.
    """

    metric: str
    value: float
    stderr: float | None
    n: int | None
    used: int
    here: int

    @property
    def sentence(self) -> str:
        """The sentence that each verb and each export has for it."""
        reported = f"lm-eval itself reports {number(self.value)} for {self.metric}"
        if self.n is not None and self.here < self.n:
            return f"{reported} over {self.n} rows; the samples file has {self.here} of them"
        if self.used == 0:
            return f"{reported}, and no row has a score"
        if self.used < self.here:
            return f"{reported}, not the mean over the {self.used} rows with a score"
        return f"{reported}, not the mean over rows"

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data, the sentence included."""
        return {**asdict(self), "sentence": self.sentence}


def is_same_value(value: float, stored: float) -> bool:
    """Returns whether a stored value is another one, up to rounding.

    >>> is_same_value(2 / 3, 0.6667), is_same_value(0.4286, 0.4)
    (True, False)
    """
    if math.isclose(value, stored, rel_tol=1e-6, abs_tol=1e-9):
        return True
    if not math.isfinite(stored):
        return False
    exponent = Decimal(repr(stored)).as_tuple().exponent
    digits = -exponent if isinstance(exponent, int) else 0
    return digits >= _ROUNDED and round(value, digits) == stored


def is_mean(metric: Metric) -> bool:
    """Returns whether a metric's value over all rows is to be the mean of theirs."""
    return metric.kind == "rows" and metric.aggregation in _MEANS


def stated_beside(
    metric: str,
    value: float | None,
    stored: float | None,
    *,
    stderr: float | None = None,
    used: int,
    here: int,
    expected: int | None,
) -> Stated | None:
    """Returns the stored value of a metric where its rows give another; None where they do not.

    Args:
        metric: Its name.
        value: The mean of its rows.
        stored: The value in the results file.
        stderr: The standard error there.
        used: Rows with a number.
        here: Rows that are here.
        expected: Rows that the run was to answer.
    """
    if value is None or stored is None or not math.isfinite(stored):
        return None
    if is_same_value(value, stored):
        return None
    return Stated(metric, stored, stderr, expected, used, here)


def stated_of(run: Run, task: TaskRun, metric: Metric) -> Stated | None:
    """Returns the same for a metric of a task, whose rows are averaged for it.

    A value over all rows at once is stated of rows that are not here where there are any.
    """
    if metric.value is None or len(task.table(metric.filter)) == 0:
        return None
    here, expected = len(task.table(metric.filter)), expected_rows(run, task)
    if metric.kind != "rows":
        if expected is None or here >= expected:
            return None
        return Stated(metric.metric, metric.value, metric.stderr, expected, here, here)
    scored = collect({task.name: task}, {"metric": metric.metric, "filter": metric.filter})
    return stated_beside(
        metric.metric,
        _mean_of(scored),
        metric.value,
        stderr=metric.stderr,
        used=int(scored.values.size),
        here=here,
        expected=expected,
    )


def _mean_of(scored: Scored) -> float | None:
    """The mean over rows by itself, where its interval is not needed."""
    if scored.values.size == 0:
        return None
    total = float(scored.weights.sum())
    value = statistics.sum_of_products(scored.values, scored.weights) / total
    return value if math.isfinite(value) else None
