r"""Scores from papers and model cards, matched to a run by the model's name.

The file that `published:` in pack.yaml names:

    unit: percent                 # or fraction; of every value without a unit of its own
    source: where they are from   # of every entry without a source of its own
    rule: original                # of every entry without a rule of its own; shown beside scores of that rule alone
    scores:                       # the reference
      - {model: Llama-3.1-8B, score: mmlu_macro, value: 66.7, note: ..., source: ..., unit: ...}
    sanity:                       # results of users, to see whether a run is in the right region
      - {model: [Llama-3.2-1B, "Llama-3\.2-1B.*"], task: meta_gpqa, value: 27.01, source: ...}

An entry with `settings: {split: forget10}` stands beside runs whose tasks say so in their metadata under the pack's
name. Where a score has no rule, that of its tasks' metadata counts.

`model` is a name, a regular expression, or a list of them, compared without regard to case, organisation and `Meta-`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


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

    def withheld(self, rule: str, told: Iterable[Mapping[str, Any]]) -> str:
        """Why it may not stand beside a score; empty where it may.

        Args:
            rule: By which rule the score was computed.
            told: What the pack wrote of its settings into the metadata of each task behind the score.
        """
        if self.rule != rule:
            return f"published by another rule ({self.rule or 'unnamed'})"
        known = [one for one in told if one]
        other = [f"{key} {value}" for key, value in self.settings.items() if {one.get(key) for one in known} != {value}]
        return f"published for {', '.join(other)}" if other else ""


def plain_name(model: str) -> str:
    """A model's name without path, organisation and case.

    >>> plain_name("meta-llama/Meta-Llama-3.1-8B-Instruct"), plain_name("/data/Llama-3.1-8B-Instruct/")
    ('llama-3.1-8b-instruct', 'llama-3.1-8b-instruct')
    """
    return model.rstrip("/").rpartition("/")[2].lower().replace("_", "-").removeprefix("meta-")


def matches(wanted: Any, model: str) -> bool:
    """Whether a `model` entry means this model."""
    if isinstance(wanted, list):
        return any(matches(one, model) for one in wanted)
    name = plain_name(model)
    if plain_name(str(wanted)) == name:
        return True
    try:
        return re.fullmatch(str(wanted), name, re.IGNORECASE) is not None
    except re.error:
        return False


def published_for(model: str, content: Mapping[str, Any]) -> Iterator[Published]:
    """The entries for one model; those without a number are passed over."""
    for part in ("scores", "sanity"):
        entries = content.get(part)
        for entry in entries if isinstance(entries, list) else []:
            if not isinstance(entry, Mapping) or not matches(entry.get("model"), model):
                continue
            value = entry.get("value")
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                continue
            percent = (entry.get("unit") or content.get("unit")) == "percent"
            yield Published(
                score=str(entry.get("score") or entry.get("task") or ""),
                value=float(value) / 100 if percent else float(value),
                source=str(entry.get("source") or content.get("source") or ""),
                note=str(entry.get("note") or ""),
                sanity=part == "sanity",
                rule=str(entry.get("rule") or content.get("rule") or ""),
                settings=found if isinstance(found := entry.get("settings"), Mapping) else {},
            )
