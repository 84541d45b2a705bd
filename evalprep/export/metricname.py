"""Names of metrics that MLflow and Weights & Biases accept."""

from __future__ import annotations

import posixpath
import re

from evalprep.readers import NONE

LONGEST = 250
_REFUSED = re.compile(r"[^\w\-./: ]", re.ASCII)


def tracked_name(name: str) -> str:
    """Returns `task/metric,filter` as a name that trackers accept.

    The filter follows a dot, `none` is left out, and every other character that MLflow 3.17
    refuses is an underscore; so is a part of a path that would lead elsewhere.

    >>> tracked_name("math/exact_match,flexible-extract"), tracked_name("arc:challenge|25/acc,none")
    ('math/exact_match.flexible-extract', 'arc:challenge_25/acc')
    """
    head, comma, filter_name = name.rpartition(",")
    if not comma or "/" in filter_name:  # the comma is one of the task's name
        head, filter_name = name, NONE
    plain = _REFUSED.sub("_", head if filter_name == NONE else f"{head}.{filter_name}")
    if posixpath.normpath(plain) != plain or plain.startswith(("/", "..")):
        parts = ["_" if part in {"", ".", ".."} else part for part in plain.split("/")]
        plain = "/".join(parts)
    return plain[:LONGEST]


def different_names(names: list[str]) -> dict[str, str]:
    """Returns name -> its tracked name, numbered where two would have the same.

    >>> different_names(["a|b", "a,b,c", "a?b"])
    {'a|b': 'a_b', 'a,b,c': 'a_b.c', 'a?b': 'a_b_2'}
    """
    taken: dict[str, str] = {}
    for name in names:
        plain, number = tracked_name(name), 2
        candidate = plain
        while candidate in taken.values():
            candidate = f"{plain[: LONGEST - 8]}_{number}"
            number += 1
        taken[name] = candidate
    return taken
