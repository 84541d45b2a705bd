"""Values of lm-eval 0.4 alone, as scripts of users keep them.

Such a script calls `simple_evaluate` and writes `results["results"]`, as it is or as `results`
beside keys of its own. Settings, versions and the model are not known. Members of a group stand
behind it with ` - ` before their alias.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalprep.numbers import finite_number
from evalprep.readers import lm_eval_0_4_3
from evalprep.readers.logged import RunResults

_VALUE = re.compile(r"[^,]+,[^,]+")  # metric and filter
_MEMBER = re.compile(r"(?P<blanks> *)- ")
_Entries = Mapping[str, Mapping[str, Any]]


def recognises(content: dict[str, Any]) -> bool:
    """Returns whether a results file has this layout."""
    return "configs" not in content and bool(_entries_of(content))


def decode(content: dict[str, Any], file: str) -> RunResults:
    """Decodes a results file of this layout."""
    entries = _entries_of(content)
    is_alone = entries is content
    described = {} if is_alone else content
    return lm_eval_0_4_3.decode(
        {**described, "results": entries, "group_subtasks": _members_of_groups(entries)}, file
    )


def _entries_of(content: dict[str, Any]) -> _Entries:
    """The values of each task: the part of this name, or the whole file; empty without any."""
    for entries in (content.get("results"), content):
        if isinstance(entries, dict) and entries and all(map(_has_values, entries.values())):
            return entries
    return {}


def _has_values(entry: Any) -> bool:
    """Returns whether an entry holds a number under the name of a metric and a filter."""
    return isinstance(entry, dict) and any(
        _VALUE.fullmatch(key) and finite_number(value) is not None for key, value in entry.items()
    )


def _members_of_groups(entries: _Entries) -> dict[str, list[str]]:
    """Group -> its members, as the aliases show them."""
    members: dict[str, list[str]] = {}
    above: list[tuple[int, str]] = []  # depth and name of the entries that may be groups
    for name, entry in entries.items():
        depth = _depth(entry.get("alias"))
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            members.setdefault(above[-1][1], []).append(name)
        above.append((depth, name))
    return members


def _depth(alias: Any) -> int:
    """The number of groups above an entry, by the blanks and the dash before its alias.

    >>> _depth("mmlu"), _depth(" - humanities"), _depth("  - law")
    (0, 1, 2)
    """
    match = _MEMBER.match(alias) if isinstance(alias, str) else None
    return max(1, len(match["blanks"])) if match else 0
