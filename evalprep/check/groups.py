"""EP114, EP121, EP122: what a group adds up, against what its tasks measure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.metrics import filter_names, metric_names
from evalprep.check.selection import select_leaves
from evalprep.check.tree import FunctionRef, Leaf, TaskFile, Tree

_KEYS = {"metric", "filter_list", "aggregation", "weight_by_size"}
# lm_eval.api.registry.DEFAULT_METRIC_REGISTRY: what is measured without a metric_list.
_DEFAULTS = {
    "loglikelihood": ["perplexity", "acc"],
    "loglikelihood_rolling": ["word_perplexity", "byte_perplexity", "bits_per_byte"],
    "multiple_choice": ["acc", "acc_norm"],
    "generate_until": ["exact_match"],
}


def check_groups(tree: Tree, findings: Findings, stock: Collection[str]) -> None:
    """Every group of the tree; inline groups inside of others are not looked into."""
    for name, file in tree.index.items():
        given = file.data.get("aggregate_metric_list") if file.kind == "group" else None
        if given is None:
            continue
        # What is wrong with the members is said where they are selected.
        leaves = [leaf for leaf in select_leaves(tree, [name], Findings(), stock) if leaf.file.kind != "class"]
        for entry in given if isinstance(given, list) else [given]:
            _check_entry(name, file, entry, leaves, findings)


def _check_entry(name: str, file: TaskFile, entry: Any, leaves: list[Leaf], findings: Findings) -> None:
    where = file.where("aggregate_metric_list")
    metric = entry.get("metric") if isinstance(entry, dict) else None
    if isinstance(metric, FunctionRef):
        _lacking(f"the function {metric.spec}", name, where, [leaf.name for leaf in leaves], leaves, findings)
        return
    if not isinstance(metric, str) or set(entry) - _KEYS:
        findings.add("EP121", where, f"the group {name} has the entry {entry!r}", task=name)
        return
    aggregation = entry.get("aggregation", "mean")
    if isinstance(aggregation, FunctionRef):
        findings.add("EP114", where, f"aggregation of {metric!r} in the group {name}", task=name)
    elif aggregation != "mean":
        findings.add(
            "EP121",
            where,
            f"aggregation {aggregation!r} of {metric!r} in the group {name}",
            task=name,
            fix="write mean",
        )
    lacking = [leaf.name for leaf in leaves if metric not in _metrics(leaf)]
    if lacking:
        _lacking(f"the metric {metric!r}", name, where, lacking, leaves, findings)
        return
    wanted = entry.get("filter_list") or []
    for one in [wanted] if isinstance(wanted, str) else wanted:
        lacking = [leaf.name for leaf in leaves if one not in filter_names(leaf)]
        if lacking:
            _lacking(f"the filter {one!r} of {metric}", name, where, lacking, leaves, findings)


def _metrics(leaf: Leaf) -> list[str]:
    return metric_names(leaf) or _DEFAULTS.get(leaf.output_type, [])


def _lacking(what: str, group: str, where: str, lacking: list[str], leaves: list[Leaf], findings: Findings) -> None:
    shown = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
    findings.add(
        "EP122",
        where,
        f"{what} of the group {group} is in {len(leaves) - len(lacking)} of {len(leaves)} tasks; not in {shown}",
        task=group,
    )
