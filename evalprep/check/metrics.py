"""EP207-EP228: metrics, aggregations, filters and the other keys of a task."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.functions import Registered
from evalprep.check.generation import reply_length
from evalprep.check.patterns import slowness
from evalprep.check.tree import FunctionRef, Leaf
from evalprep.errors import near

CHARACTERS_PER_TOKEN = 5
MOST_STEPS = 1e9
"""Of a pattern on one reply: about twenty seconds."""

# The registries of lm-eval 0.4.13; a test holds them against the installed one.
METRICS = frozenset(
    {
        "acc",
        "acc_all",
        "acc_bytes",
        "acc_mutual_info",
        "acc_norm",
        "bits_per_byte",
        "bleu",
        "brier_score",
        "bypass",
        "byte_perplexity",
        "chrf",
        "chrf++",
        "exact_match",
        "f1",
        "likelihood",
        "mcc",
        "perplexity",
        "ter",
        "word_perplexity",
    }
)
AGGREGATIONS = frozenset(
    {
        "bits_per_byte",
        "bleu",
        "brier_score",
        "bypass",
        "chrf",
        "chrf++",
        "f1",
        "matthews_corrcoef",
        "mean",
        "median",
        "nanmean",
        "perplexity",
        "ter",
        "weighted_perplexity",
    }
)
FILTERS = frozenset(
    {
        "custom",
        "format_span",
        "lowercase",
        "majority_vote",
        "map",
        "multi_choice_regex",
        "regex",
        "regex_pos",
        "remove_whitespace",
        "take_first",
        "take_first_k",
        "uppercase",
    }
)
_PATTERN_ARGUMENTS = frozenset({"regex_pattern", "group_select", "fallback"})
FILTER_ARGUMENTS = {
    "format_span": frozenset[str](),
    "lowercase": frozenset[str](),
    "majority_vote": frozenset[str](),
    "map": frozenset({"mapping_dict", "default_value"}),
    "multi_choice_regex": _PATTERN_ARGUMENTS | {"ignore_case", "ignore_punctuation", "regexes_to_ignore"},
    "regex": _PATTERN_ARGUMENTS,
    "regex_pos": _PATTERN_ARGUMENTS,
    "take_first": frozenset[str](),
    "uppercase": frozenset[str](),
}
"""What the filters take; those that are not here take anything."""
OUTPUT_TYPES = ("generate_until", "multiple_choice", "loglikelihood", "loglikelihood_rolling")
SPLIT_KEYS = ("test_split", "validation_split", "training_split", "fewshot_split")
TASK_KEYS = frozenset(
    {
        "task",
        "task_alias",
        "tag",
        "custom_dataset",
        "dataset_path",
        "dataset_name",
        "dataset_kwargs",
        "training_split",
        "validation_split",
        "test_split",
        "fewshot_split",
        "process_docs",
        "doc_to_text",
        "doc_to_target",
        "doc_to_image",
        "doc_to_audio",
        "unsafe_code",
        "doc_to_choice",
        "process_results",
        "use_prompt",
        "description",
        "target_delimiter",
        "fewshot_delimiter",
        "fewshot_config",
        "num_fewshot",
        "metric_list",
        "output_type",
        "generation_kwargs",
        "repeats",
        "filter_list",
        "should_decontaminate",
        "doc_to_decontamination_query",
        "gen_prefix",
        "metadata",
    }
)
FEWSHOT_KEYS = frozenset(
    {
        "sampler",
        "split",
        "process_docs",
        "fewshot_indices",
        "samples",
        "doc_to_text",
        "doc_to_choice",
        "doc_to_target",
        "gen_prefix",
        "fewshot_delimiter",
        "target_delimiter",
    }
)
# CPU seconds that 100,000 resamples of 1,000 values take (lm-eval 0.4.13, one core, measured with 2,000 resamples).
BOOTSTRAP_SECONDS = {"perplexity": 13, "median": 25, "nanmean": 35, "f1": 800}


def check_keys(leaf: Leaf, findings: Findings) -> None:
    """Keys of the task itself: known, of a sensible type, with data and a split."""
    task = leaf.name
    if leaf.file.kind == "class":
        return  # a class of one's own reads its config as it likes
    for key in sorted(set(leaf.config) - TASK_KEYS):
        findings.add("EP216", leaf.where(key), f"unknown key {key!r}", task=task, fix=near(key, TASK_KEYS))
    if leaf.output_type not in OUTPUT_TYPES:
        findings.add("EP217", leaf.where("output_type"), f"output_type {leaf.output_type!r}", task=task)
    if not leaf.config.get("dataset_path") and not leaf.config.get("custom_dataset"):
        findings.add("EP229", leaf.where(), f"{task} names no data", task=task)
    if not any(leaf.config.get(key) for key in ("test_split", "validation_split")):
        findings.add("EP230", leaf.where(), f"{task} names neither test_split nor validation_split", task=task)
    for key in SPLIT_KEYS:
        if isinstance(split := leaf.config.get(key), str) and ("[" in split or "+" in split):
            findings.add("EP412", leaf.where(key), f"lm-eval looks for a split called {split!r}, and raises KeyError",
                         task=task, fix="name a whole split; `--limit`, or process_docs, takes part of it")  # fmt: skip
    if leaf.config.get("process_docs"):
        findings.add("EP211", leaf.where("process_docs"), f"{task} has process_docs", task=task)
    if leaf.config.get("unsafe_code"):
        findings.add("EP213", leaf.where("unsafe_code"), f"{task} runs code that the model writes", task=task)
    fewshot = leaf.config.get("fewshot_config")
    for key in sorted(set(fewshot) - FEWSHOT_KEYS, key=str) if isinstance(fewshot, dict) else ():
        fix = "write `num_fewshot` beside fewshot_config" if key == "num_fewshot" else near(str(key), FEWSHOT_KEYS)
        findings.add("EP216", leaf.where("fewshot_config"), f"fewshot_config has the key {key!r}", task=task, fix=fix)
    has_source = leaf.config.get("fewshot_split") or (
        isinstance(fewshot, dict) and ("samples" in fewshot or fewshot.get("split"))
    )
    if not has_source and not leaf.config.get("num_fewshot"):
        findings.add("EP212", leaf.where("fewshot_config"), f"{task} is zero-shot", task=task)


def check_metrics(leaf: Leaf, findings: Findings, registered: Registered) -> None:
    """metric_list, the filters, and what metadata says about both.

    Args:
        leaf: The task.
        findings: Gets what is wrong.
        registered: Names that the tasks' own modules register.
    """
    task, where = leaf.name, leaf.where("metric_list")
    entries = leaf.config.get("metric_list")
    if entries is not None and not isinstance(entries, list):
        findings.add("EP210", where, f"metric_list is {type(entries).__name__}, not a list", task=task)
        entries = None
    for entry in entries or []:
        name = entry.get("metric") if isinstance(entry, dict) else None
        if isinstance(name, FunctionRef):
            name = name.spec.rpartition(".")[2]
        if not isinstance(name, str):
            findings.add("EP210", where, f"{entry!r} has no `metric`", task=task)
            continue
        _check_metric(leaf, name, entry, registered, findings)
    filters = check_filters(leaf, findings, registered)
    names = metric_names(leaf)
    wanted, wanted_filter = leaf.metadata.get("primary_metric"), leaf.metadata.get("primary_filter")
    if isinstance(wanted, str) and names and wanted not in names:
        findings.add(
            "EP225", leaf.where("metadata"), f"primary_metric {wanted!r}", task=task, fix=f"one of {', '.join(names)}"
        )
    if isinstance(wanted_filter, str) and wanted_filter not in filters:
        findings.add(
            "EP225",
            leaf.where("metadata"),
            f"primary_filter {wanted_filter!r}",
            task=task,
            fix=f"one of {', '.join(filters)}",
        )


def metric_names(leaf: Leaf) -> list[str]:
    """Names in metric_list, in order."""
    names = []
    entries = leaf.config.get("metric_list")
    for entry in entries if isinstance(entries, list) else []:
        name = entry.get("metric") if isinstance(entry, dict) else None
        names.append(name.spec.rpartition(".")[2] if isinstance(name, FunctionRef) else str(name))
    return names


def _check_metric(leaf: Leaf, name: str, entry: dict[str, Any], registered: Registered, findings: Findings) -> None:
    task, where = leaf.name, leaf.where("metric_list")
    own = leaf.config.get("process_results") is not None or isinstance(entry.get("metric"), FunctionRef)
    metrics, aggregations = METRICS | registered.metrics, AGGREGATIONS | registered.aggregations
    if not own and entry.get("hf_evaluate") is True:
        findings.add("EP232", where, f"the metric {name!r}", task=task)
    elif name not in metrics:
        if not own:
            findings.add("EP208", where, f"the metric {name!r} would be fetched", task=task, fix=near(name, metrics))
        missing = [key for key in ("aggregation", "higher_is_better") if key not in entry]
        if missing and own:
            findings.add("EP207", where, f"the metric {name!r} has no {' and no '.join(missing)}", task=task)
    aggregation = entry.get("aggregation")
    if isinstance(aggregation, str):
        if aggregation not in aggregations:
            findings.add(
                "EP209", where, f"aggregation {aggregation!r} of {name}", task=task, fix=near(aggregation, aggregations)
            )
        elif aggregation in BOOTSTRAP_SECONDS:
            seconds = BOOTSTRAP_SECONDS[aggregation]
            findings.add("EP224", where, f"{aggregation} of {name}: about {seconds} s of CPU per 1,000 rows", task=task)


def filter_names(leaf: Leaf) -> list[str]:
    """Names of the filters, in order; lm-eval calls the only one of a task without filters `none`."""
    entries = leaf.config.get("filter_list")
    if not isinstance(entries, list):
        return ["none"]
    return [str(entry["name"]) for entry in entries if isinstance(entry, dict) and "name" in entry]


def check_filters(leaf: Leaf, findings: Findings, registered: Registered) -> list[str]:
    """Names of the filters; what is wrong with them goes to `findings`."""
    where, task = leaf.where("filter_list"), leaf.name
    entries = leaf.config.get("filter_list")
    if entries is None:
        return ["none"]
    names: list[str] = []
    generation = leaf.config.get("generation_kwargs")
    characters = CHARACTERS_PER_TOKEN * reply_length(generation if isinstance(generation, dict) else {})
    for entry in entries if isinstance(entries, list) else [entries]:
        steps = entry.get("filter") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or "name" not in entry or not isinstance(steps, list) or not steps:
            findings.add("EP210", where, f"the filter {entry!r} needs `name` and a list `filter`", task=task)
            continue
        if entry["name"] in names:
            findings.add("EP218", where, f"two filters {entry['name']!r}", task=task)
        names.append(str(entry["name"]))
        for step in steps:
            _check_step(step, where, task, FILTERS | registered.filters, findings, characters=characters)
    return names


def _check_speed(pattern: str, characters: int, where: str, task: str, findings: Findings) -> None:
    """Report a pattern that some reply of the task's own length would hold up."""
    slow = slowness(pattern)
    if slow is None:
        return
    if slow.growth == "exponential":
        findings.add("EP234", where, f"{pattern!r} takes {slow}", task=task)
    elif characters**2 / (2 * len(slow.text)) > MOST_STEPS:
        what = f"{pattern!r} takes {slow}, and a reply may have {characters:,} characters"
        findings.add("EP235", where, what, task=task)


def _check_step(
    step: Any, where: str, task: str, filters: Collection[str], findings: Findings, *, characters: int
) -> None:
    function = step.get("function") if isinstance(step, dict) else None
    if isinstance(function, FunctionRef):
        return
    if not isinstance(function, str):
        findings.add("EP210", where, f"the filter step {step!r} has no `function`", task=task)
        return
    if function not in filters:
        findings.add("EP219", where, f"the filter function {function!r}", task=task, fix=near(function, filters))
    allowed = FILTER_ARGUMENTS.get(function)
    for name in sorted(set(map(str, step)) - {"function"} - allowed) if allowed is not None else ():
        what = f"the filter {function} has no argument {name!r}"
        fix = near(name, allowed or ()) or (
            f"it takes {', '.join(sorted(allowed or ()))}" if allowed else f"remove {name}"
        )
        findings.add("EP236", where, what, task=task, fix=fix)
    if function == "custom" and not isinstance(step.get("filter_fn"), FunctionRef):
        findings.add("EP210", where, "`function: custom` needs `filter_fn: !function ...`", task=task)
    pattern = step.get("regex_pattern")
    if isinstance(pattern, str):
        try:
            re.compile(pattern)
        except (re.error, RecursionError) as error:
            findings.add("EP220", where, f"{pattern!r}: {error}", task=task)
        else:
            _check_speed(pattern, characters, where, task, findings)
    if function in {"regex", "multi_choice_regex"} and step.get("group_select", 0) not in (0, -1):
        findings.add("EP220", where, f"{function}: group_select: {step['group_select']}", task=task)
