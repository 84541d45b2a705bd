"""Names of metrics: what several draws of a row give together, and a metric with its filter.

Options are parsed with it, so it imports none of the large modules beside it.
"""

from __future__ import annotations

import re

_OF_DRAWS = re.compile(r"(pass|maj|mean|var)@[1-9]\d*")
_WITH_NUMBER = re.compile(r"([^@]+@\d+)(?:@(.*))?")


def is_of_draws(metric: str) -> bool:
    """Returns whether a metric is one of `custom_metrics.repeats`: pass@k, maj@k, mean@n, var@n.

    >>> is_of_draws("pass@8"), is_of_draws("exact_match")
    (True, False)
    """
    return _OF_DRAWS.fullmatch(metric) is not None


def is_mean_of_draws(metric: str) -> bool:
    """Returns whether a metric is the mean over draws, which the task's own metric is too."""
    return is_of_draws(metric) and metric.startswith("mean@")


def metric_and_filter(text: str) -> tuple[str, str]:
    """Splits `METRIC[@FILTER]`; a number behind the sign belongs to the metric.

    >>> metric_and_filter("exact_match@strict-match"), metric_and_filter("pass@8")
    (('exact_match', 'strict-match'), ('pass@8', ''))
    >>> metric_and_filter("pass@8@strict-match")
    ('pass@8', 'strict-match')
    """
    numbered = _WITH_NUMBER.fullmatch(text)
    if numbered is not None:
        return numbered[1], numbered[2] or ""
    metric, _, filter_name = text.partition("@")
    return metric, filter_name
