"""The harness task that scores every draw of a row by itself."""

from __future__ import annotations

import copy
import functools
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

from custom_metrics.repeats.formulas import best_at_k, maj_at_k, mean_at_k, var_at_k

Values = dict[str, Any]


class EachDraw:
    """One of a task's filters, applied to every draw as if it were the only reply.

    A filter that selects or votes sees one reply at a time, so that none is dropped. What it leaves
    of a request is the list of what it left of each draw.
    """

    def __init__(self, ensemble: Any) -> None:
        self._ensemble = ensemble
        self.name: str = ensemble.name

    def apply(self, instances: Sequence[Any]) -> None:
        """Filters the replies of all requests, draw by draw."""
        most_draws = 0
        for instance in instances:
            instance.filtered_resps[self.name] = []
            most_draws = max(most_draws, len(instance.resps))
        for draw in range(most_draws):
            drawn = [instance for instance in instances if draw < len(instance.resps)]
            singles = []
            for instance in drawn:
                single = copy.copy(instance)
                single.resps = [instance.resps[draw]]
                single.filtered_resps = {}
                singles.append(single)
            self._ensemble.apply(singles)
            for instance, single in zip(drawn, singles, strict=True):
                filtered = single.filtered_resps[self.name]
                instance.filtered_resps[self.name].append(filtered)


def row_values(
    scored: Sequence[Values],
    answers: Sequence[Any],
    *,
    metric: str,
    ks: Sequence[int],
    lower_is_better: bool = False,
) -> Values:
    """Puts the draws of one row together.

    Args:
        scored: Metric -> value, of each draw, by the task's own scorer.
        answers: What the filter left of each draw.
        metric: The metric that pass@k and its kin are about.
        ks: The k of pass@k and maj@k.
        lower_is_better: The best of several draws is the lowest.

    Returns:
        Each metric of the task over the draws, then `pass@k`, `maj@k`, `mean@n` and `var@n`. What
        is not known, as with fewer than k draws, has no key.
    """
    together: Values = {}
    for name in scored[0]:
        together[name] = _together([values[name] for values in scored])
    values = [draw.get(metric) for draw in scored]
    if not all(isinstance(value, Real) for value in values):
        return together
    numbers = [float(value) for value in values]  # type: ignore[arg-type] # every one is a number
    votes = [json.dumps(answer, sort_keys=True, default=str) for answer in answers]
    # The best of several draws is the highest value; that of a lower-is-better metric is negated.
    sign = -1.0 if lower_is_better else 1.0
    signed = [sign * number for number in numbers]
    n = len(numbers)
    of_draws: dict[str, float | None] = {}
    for k in ks:
        best = best_at_k(values=signed, k=k)
        of_draws[f"pass@{k}"] = None if best is None else sign * best
        of_draws[f"maj@{k}"] = maj_at_k(answers=votes, values=numbers, k=k)
    of_draws[f"mean@{n}"] = mean_at_k(values=numbers)
    of_draws[f"var@{n}"] = var_at_k(values=numbers)
    known = {name: value for name, value in of_draws.items() if value is not None}
    return {**together, **known}


def _together(values: Sequence[Any]) -> Any:
    """A metric over the draws of a row.

    The mean of numbers. Verdicts of the parts of a reply stand in one list, which their aggregation
    counts one by one. What an aggregation takes apart in another way, such as pairs of gold answer
    and reply, is that of the first draw.
    """
    if all(isinstance(value, Real) for value in values):
        return sum(values) / len(values)
    if all(isinstance(value, list) for value in values):
        verdicts = list(itertools.chain.from_iterable(values))
        if all(type(verdict) is bool for verdict in verdicts):
            return verdicts
    return values[0]


class Repeated:
    """The methods in which a task differs from `ConfigurableTask`.

    Score each draw. See the package's docstring for the YAML.
    """

    # Of lm_eval's class.
    config: Any
    _filters: list[Any]
    _aggregation_list: dict[str, Any]

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        settings = dict(config or {})
        # The harness resolves `class` to this type but knows neither key as a field of the task.
        settings.pop("class", None)
        own = dict(settings.pop("repeated", None) or {})
        super().__init__(config=settings)  # type: ignore[call-arg] # the other base is lm_eval's
        first = next(iter(self._aggregation_list), "")
        self._metric = str(own.get("metric") or first)
        self._draws = int(self.config.repeats or 1)
        self._ks = [int(k) for k in own.get("k") or [self._draws]]
        self._filters = [EachDraw(ensemble) for ensemble in self._filters]

    def process_results(self, doc: Mapping[str, Any], results: Sequence[Sequence[Any]]) -> Values:
        """Scores every draw as the task scores a reply, and puts the draws together."""
        score: Callable[..., Values] = super().process_results  # type: ignore[misc] # lm_eval's
        draws = [list(draw) for draw in zip(*results, strict=True)]
        scored = [score(doc, draw) for draw in draws]
        direction = self.higher_is_better().get(self._metric)
        return row_values(
            scored, draws, metric=self._metric, ks=self._ks, lower_is_better=direction is False
        )

    def aggregation(self) -> dict[str, Any]:
        """The task's own aggregations, and the mean over rows for what the draws give together."""
        from lm_eval.api.metrics import mean

        own: dict[str, Any] = super().aggregation()  # type: ignore[misc] # lm_eval's
        return {**dict.fromkeys(self._names(), mean), **own}

    def higher_is_better(self) -> dict[str, Any]:
        """The task's own directions; pass@k, maj@k and the mean share that of their metric."""
        own: dict[str, Any] = super().higher_is_better()  # type: ignore[misc] # lm_eval's
        direction = own.get(self._metric)
        directions: dict[str, Any] = {}
        for name in self._names():
            has_direction = not name.startswith("var@")
            directions[name] = direction if has_direction else None
        return {**directions, **own}

    def _names(self) -> list[str]:
        names = []
        for k in self._ks:
            names += [f"pass@{k}", f"maj@{k}"]
        return [*names, f"mean@{self._draws}", f"var@{self._draws}"]


@functools.cache
def task_class() -> type:
    """`RepeatedTask`: `Repeated` on top of the harness' `ConfigurableTask`."""
    from lm_eval.api.task import ConfigurableTask

    return type("RepeatedTask", (Repeated, ConfigurableTask), {"__doc__": Repeated.__doc__})
