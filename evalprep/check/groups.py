"""EP114, EP121, EP122: what a group adds up, against what its tasks measure."""

from __future__ import annotations

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
        for entry in entries if isinstance(entries, list) else [entries]:
            _check_entry(file, leaves, entry, findings)


def _check_entry(group: TaskFile, leaves: list[Leaf], entry: Any, findings: Findings) -> None:
    """One entry of aggregate_metric_list of a group, against its tasks."""
    metric = entry.get("metric") if isinstance(entry, dict) else None
    if isinstance(metric, FunctionRef):
        words = f"the function {metric.spec}"
        _report_missing(words, group, leaves, leaves, findings)
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
        # The tasks have the metric that the entry names, and then its filters.
        lacking = [
            leaf
            for leaf in leaves
            if metric not in (metric_names(leaf) or _DEFAULTS.get(leaf.output_type, []))
        ]
        _report_missing(f"the metric {metric!r}", group, leaves, lacking, findings)
        filters = [] if lacking else entry.get("filter_list") or []
        for name in [filters] if isinstance(filters, str) else filters:
            words = f"the filter {name!r} of {metric}"
            lacking = [leaf for leaf in leaves if name not in filter_names(leaf)]
            _report_missing(words, group, leaves, lacking, findings)


def _report_missing(
    words: str, group: TaskFile, leaves: list[Leaf], lacking: list[Leaf], findings: Findings
) -> None:
    """Reports what some tasks of a group do not have, where there are such tasks."""
    if not lacking:
        return
    names = [leaf.name for leaf in lacking[:3]]
    if len(lacking) > 3:
        names.append("...")
    count = len(leaves)
    share = f"{count - len(lacking)} of {count} tasks"
    place = f"in {share}; not in {', '.join(names)}"
    what = f"{words} of the group {group.name} is {place}"
    findings.add_at("EP122", group, _LIST, what)
