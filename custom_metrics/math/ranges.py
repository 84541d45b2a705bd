r"""Ranges of numbers: `12-15`, `67\sim75`.

A range is never a number: neither its difference nor one of its ends.
"""

from __future__ import annotations

import re
from fractions import Fraction

from custom_metrics.math.tree import Node, number

_RANGE = re.compile(
    r"\$?\s*(?P<low>\d{1,40}(?:\.\d{1,40})?)\s*\$?\s*"
    r"(?P<sign>--?|[\u2013\u2014~\uff5e\u301c\u223c]|\\sim(?![A-Za-z])"
    r"|\\text\s*\{\s*(?:--?|[\u2013\u2014~])\s*\})"
    r"\s*\$?\s*(?P<high>\d{1,40}(?:\.\d{1,40})?)\s*\$?\s*\.?"
)


def read(answer: str) -> Node | None:
    r"""Reads an answer as a range, or returns None.

    With a plain hyphen the second number must be the larger one.

    >>> read("12-15").op, read("15-12")
    ('range', None)
    """
    if len(answer) > 120:
        return None
    span = _RANGE.fullmatch(answer.strip())
    if span is None:
        return None
    low = Fraction(span["low"])
    high = Fraction(span["high"])
    if low >= high and not {"~", "s"} & set(span["sign"]):
        return None  # a difference
    return Node("range", (number(low), number(high)))
