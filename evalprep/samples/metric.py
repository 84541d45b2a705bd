"""One metric of a task: what lm-eval stored of it, which way is better, and what its rows hold."""

from __future__ import annotations

from typing import Literal

import msgspec

#: Which way is better; `unknown` where lm-eval writes null and nothing else says it.
Direction = Literal["up", "down", "unknown"]
#: What a value stands on: a number for each row (`rows`), counts of rows that add up (`counts`),
#: any other function of all rows (`function`), or the results file alone (`stored`).
Kind = Literal["rows", "counts", "function", "stored"]

#: The filter of a task that names none: the first reply as it is.
NO_FILTER = "none"
SHARE, PERCENT, BITS, PERPLEXITY = "share", "percent", "bits", "perplexity"
NATS = "nats"  # losses: no share, even where all values lie between 0 and 1
#: What tasks log beside scores: how often nothing was said or read, or the reply was cut off.
COUNTS_OF_REPLIES = frozenset({"unparsed", "empty", "truncated"})
#: Metrics that are 1 where nothing could be read from a reply.
PARSE_RATES = ("unparsed", "not_parsed")
#: What tasks log where the scorer itself failed on a reply.
SCORER_ERROR = "scorer_error"
#: What a MATH task logs where the reply states its answer without a box.
STATED_WITHOUT_BOX = "stated_without_box"
#: The same, how often the answer was not in the form that was asked for, how often scoring failed,
# and lm-eval's mark of no scoring.
NOT_SCORES = COUNTS_OF_REPLIES | {STATED_WITHOUT_BOX, "bypass", "timeout", SCORER_ERROR}


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of a task or group under one filter.

    Attributes:
        metric: Its name; empty for the primary metric of a task that logs no score.
        filter: Name of the filter.
        value: The value over all rows as lm-eval stored it; None where it stored no number.
        stderr: The standard error that lm-eval stored; None without one.
        direction: Which way is better.
        aggregation: Name of the function that makes one value of all rows (`mean`); empty where
            it is not known.
        kind: What the value stands on.
        unit: `share`, `percent`, `bits`, `nats`, `perplexity`, or empty where it is not known.
        range: Least and greatest possible value; None where it is not known or has no bound.
        text: What is stored in place of a number, e.g. the error of an aggregation.
        declared: Whether the task itself or its plan names this metric as the primary one.
    """

    metric: str
    filter: str = NO_FILTER
    value: float | None = None
    stderr: float | None = None
    direction: Direction = "unknown"
    aggregation: str = ""
    kind: Kind = "stored"
    unit: str = ""
    range: tuple[float, float] | None = None
    text: str = ""
    declared: bool = False

    @property
    def name(self) -> str:
        """The metric, with its filter where that is a choice, for people."""
        return self.metric if self.filter == NO_FILTER else f"{self.metric} ({self.filter})"

    @property
    def key(self) -> str:
        """Metric and filter as one text, `metric,filter`; empty without a metric."""
        return f"{self.metric},{self.filter}" if self.metric else ""

    @property
    def may_be_share(self) -> bool:
        """Returns whether rows between 0 and 1 make it a share: not of a loss or a percentage."""
        return self.unit in {"", SHARE}

    @property
    def bounds(self) -> tuple[float | None, float | None] | None:
        """Least and greatest value, None for an open end; None where nothing is known of them."""
        if self.range is not None:
            return self.range
        return None if self.may_be_share else (None, None)

    @property
    def is_score(self) -> bool:
        """Returns whether it scores replies.

        Other metrics count how many could not be read or scored.
        """
        return bool(self.metric) and self.metric not in NOT_SCORES


#: The primary metric of a task that logs no score.
NO_METRIC = Metric(metric="")
