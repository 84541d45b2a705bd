"""EP114, EP121, EP122: what a group adds up, against what its tasks measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.metrics import filter_names, metric_names
from evalprep.check.selection import select_leaves
from evalprep.check.tree import FunctionRef, Leaf, TaskFile, Tree

_LIST = "aggregate_metric_list"
_KEYS = {"metric", "filter_list", "aggregation", "weight_by_size"}
# lm_eval.api.registry.DEFAULT_METRIC_REGISTRY: what is measured without a metric_list.
_DEFAULTS = {
    "loglikelihood": ["perplexity", "acc"],
    "loglikelihood_rolling": ["word_perplexity", "byte_perplexity", "bits_per_byte"],
    "multiple_choice": ["acc", "acc_norm"],
    "generate_until": ["exact_match"],
}


def check_groups(tree: Tree, findings: Findings) -> None:
    """Every group of the tree; inline groups inside of others are not looked into."""
    for name, file in tree.index.items():
        if file.kind != "group":
            continue
        entries = file.data.get(_LIST)
        if entries is None:
            continue
        # Mistakes of the members are reported where they are selected.
        members = select_leaves(tree, [name], Findings())
        leaves = [leaf for leaf in members if leaf.file.kind != "class"]
        group = _Group(name, file, leaves)
        for entry in entries if isinstance(entries, list) else [entries]:
            _check_entry(group, entry, findings)


@dataclass(frozen=True)
class _Group:
    """A group that adds up metrics of its tasks."""

    name: str
    file: TaskFile
    leaves: list[Leaf]

    def where(self, key: str = "") -> str:
        """File, line and key."""
        return self.file.where(key)


def _check_entry(group: _Group, entry: Any, findings: Findings) -> None:
    """One entry of aggregate_metric_list."""
    metric = entry.get("metric") if isinstance(entry, dict) else None
    if isinstance(metric, FunctionRef):
        words = f"the function {metric.spec}"
        _report_missing(words, group, group.leaves, findings)
    elif not isinstance(metric, str) or set(entry) - _KEYS:
        what = f"the group {group.name} has the entry {entry!r}"
        findings.add_at("EP121", group, _LIST, what)
    else:
        aggregation = entry.get("aggregation", "mean")
        place = f"of {metric!r} in the group {group.name}"
        if isinstance(aggregation, FunctionRef):
            what = f"aggregation {place}"
            findings.add_at("EP114", group, _LIST, what)
        elif aggregation != "mean":
            what = f"aggregation {aggregation!r} {place}"
            findings.add_at("EP121", group, _LIST, what, fix="write mean")
        _check_metric(group, metric, entry, findings)


def _check_metric(group: _Group, metric: str, entry: Mapping[str, Any], findings: Findings) -> None:
    """The tasks of a group have the metric that an entry names, and then its filters."""
    lacking = [
        leaf
        for leaf in group.leaves
        if metric not in (metric_names(leaf) or _DEFAULTS.get(leaf.output_type, []))
    ]
    if lacking:
        words = f"the metric {metric!r}"
        _report_missing(words, group, lacking, findings)
        return
    filters = entry.get("filter_list") or []
    for name in [filters] if isinstance(filters, str) else filters:
        words = f"the filter {name!r} of {metric}"
        lacking = [leaf for leaf in group.leaves if name not in filter_names(leaf)]
        _report_missing(words, group, lacking, findings)


def _report_missing(words: str, group: _Group, lacking: list[Leaf], findings: Findings) -> None:
    """Reports what some tasks of a group do not have, where there are such tasks."""
    if not lacking:
        return
    names = [leaf.name for leaf in lacking[:3]]
    if len(lacking) > 3:
        names.append("...")
    count = len(group.leaves)
    share = f"{count - len(lacking)} of {count} tasks"
    place = f"in {share}; not in {', '.join(names)}"
    what = f"{words} of the group {group.name} is {place}"
    findings.add_at("EP122", group, _LIST, what)
