r"""Scores from papers and model cards, matched to a run by the model's name.

The file that `published:` in pack.yaml names:

    unit: percent                 # or fraction; of every value without a unit of its own
    source: where they are from   # of every entry without a source of its own
    rule: original                # of every entry without one; shown beside scores of that rule
    scores:                       # the reference
      - {model: Llama-3.1-8B, score: mmlu_macro, value: 66.7, note: ..., source: ..., unit: ...}
    sanity:                       # results of users, to see whether a run is in the right region
      - {model: [Llama-3.2-1B, "Llama-3\.2-1B.*"], task: meta_gpqa, value: 27.01, source: ...}

An entry with `settings: {split: forget10}` stands beside runs whose tasks say so in their metadata
under the pack's name. Where a score has no rule, that of its tasks' metadata counts.

`model` is a name, a regular expression, or a list of them, compared without regard to case,
organisation and `Meta-`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalprep.files import as_mapping
from evalprep.numbers import finite_number
from evalprep.packs import Plan
from evalprep.places import last_part


@dataclass(frozen=True)
class Published:
    """One published score, on the scale of the suite score that it is held against."""

    score: str
    value: float
    source: str
    note: str = ""
    sanity: bool = False
    rule: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def withheld(self, rule: str, settings: Iterable[Mapping[str, Any]]) -> str:
        """Returns why it may not stand beside a score; empty where it may.

        Args:
            rule: The rule by which the score was computed.
            settings: The pack's settings in the metadata of each task behind the score.
        """
        if self.rule != rule:
            return f"published by another rule ({self.rule or 'unnamed'})"
        known = [task for task in settings if task]
        other = [
            f"{key} {value}"
            for key, value in self.settings.items()
            if {task.get(key) for task in known} != {value}
        ]
        return f"published for {', '.join(other)}" if other else ""


def plain_name(model: str) -> str:
    """A model's name without path, organisation and case.

    >>> plain_name("meta-llama/Meta-Llama-3.1-8B"), plain_name("/data/Llama-3.1-8B/")
    ('llama-3.1-8b', 'llama-3.1-8b')
    """
    return last_part(model).lower().replace("_", "-").removeprefix("meta-")


def matches(entry: Any, model: str) -> bool:
    """Returns whether a `model` entry means this model."""
    if isinstance(entry, list):
        return any(matches(item, model) for item in entry)
    name = plain_name(model)
    if plain_name(str(entry)) == name:
        return True
    try:
        return re.fullmatch(str(entry), name, re.IGNORECASE) is not None
    except re.error:
        return False


def published_for(model: str, content: Mapping[str, Any]) -> Iterator[Published]:
    """Yields the entries for one model; those without a number are passed over."""
    for part in ("scores", "sanity"):
        entries = content.get(part)
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, Mapping) and matches(entry.get("model"), model):
                published = _published(entry, content, sanity=part == "sanity")
                if published is not None:
                    yield published


def looked_up(plan: Plan, pack: str) -> Iterator[Published]:
    """Yields the published values that a pack looked up when a run was prepared."""
    for name, values in plan.published.items():
        owner, _, score = name.partition("/")
        if owner != pack:
            continue
        for entry in values:
            if math.isfinite(entry.value):
                yield Published(score, entry.value, entry.source, entry.note)


def _first(entry: Mapping[str, Any], content: Mapping[str, Any], key: str) -> str:
    """A text of an entry, else of its file."""
    return str(entry.get(key) or content.get(key) or "")


def _published(
    entry: Mapping[str, Any], content: Mapping[str, Any], *, sanity: bool
) -> Published | None:
    """One entry; keys of the file count where it has none of its own.

    None without a finite number.
    """
    value = finite_number(entry.get("value"))
    if value is None:
        return None
    if _first(entry, content, "unit") == "percent":
        value = value / 100
    return Published(
        score=str(entry.get("score") or entry.get("task") or ""),
        value=value,
        source=_first(entry, content, "source"),
        note=str(entry.get("note") or ""),
        sanity=sanity,
        rule=_first(entry, content, "rule"),
        settings=as_mapping(entry.get("settings")),
    )
