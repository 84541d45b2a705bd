"""EP207-EP228: metrics, aggregations, filters and the other keys of a task."""

from __future__ import annotations

import re
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.functions import Registered
from evalprep.check.generation import reply_length
from evalprep.check.patterns import slowness
from evalprep.check.tree import FunctionRef, Leaf
from evalprep.errors import near
from evalprep.files import as_mapping

CHARACTERS_PER_TOKEN = 5
MOST_STEPS = 1e9
"""The limit on steps of a pattern on one reply: about twenty seconds."""

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
    "multi_choice_regex": _PATTERN_ARGUMENTS
    | {"ignore_case", "ignore_punctuation", "regexes_to_ignore"},
    "regex": _PATTERN_ARGUMENTS,
    "regex_pos": _PATTERN_ARGUMENTS,
    "take_first": frozenset[str](),
    "uppercase": frozenset[str](),
}
"""The arguments of filters; those that are not here take anything."""
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
# CPU seconds that 100,000 resamples of 1,000 values take (lm-eval 0.4.13, one core, measured with
# 2,000 resamples).
BOOTSTRAP_SECONDS = {"perplexity": 13, "median": 25, "nanmean": 35, "f1": 800}


def check_keys(leaf: Leaf, findings: Findings) -> None:
    """Keys of the task itself: known, of a sensible type, with data and a split."""
    if leaf.file.kind == "class":
        return  # a class of one's own reads its config as it likes
    task, config = leaf.name, leaf.config
    known = TASK_KEYS | {"class", "repeated"} if leaf.file.is_repeated else TASK_KEYS
    for key in sorted(set(config) - known):
        findings.add_at("EP216", leaf, key, f"unknown key {key!r}", fix=near(key, known))
    for key in SPLIT_KEYS:
        split = config.get(key)
        if isinstance(split, str) and ("[" in split or "+" in split):
            what = f"lm-eval looks for a split called {split!r}, and raises KeyError"
            fix = "name a whole split; `--limit`, or process_docs, takes part of it"
            findings.add_at("EP412", leaf, key, what, fix=fix)
    fewshot = as_mapping(config.get("fewshot_config"))
    for key in sorted(set(fewshot) - FEWSHOT_KEYS, key=str):
        fix = near(str(key), FEWSHOT_KEYS)
        if key == "num_fewshot":
            fix = "write `num_fewshot` beside fewshot_config"
        what = f"fewshot_config has the key {key!r}"
        findings.add_at("EP216", leaf, "fewshot_config", what, fix=fix)
    has_data = config.get("dataset_path") or config.get("custom_dataset")
    has_split = config.get("test_split") or config.get("validation_split")
    has_shots = config.get("fewshot_split") or "samples" in fewshot or fewshot.get("split")
    is_known = leaf.output_type in OUTPUT_TYPES
    runs_code = f"{task} runs code that the model writes"
    lacks_shots = not (has_shots or config.get("num_fewshot"))
    neither = "names neither test_split nor validation_split"
    for code, key, is_found, what in (
        ("EP217", "output_type", not is_known, f"output_type {leaf.output_type!r}"),
        ("EP229", "", not has_data, f"{task} names no data"),
        ("EP230", "", not has_split, f"{task} {neither}"),
        ("EP211", "process_docs", config.get("process_docs"), f"{task} has process_docs"),
        ("EP213", "unsafe_code", config.get("unsafe_code"), runs_code),
        ("EP212", "fewshot_config", lacks_shots, f"{task} is zero-shot"),
    ):
        if is_found:
            findings.add_at(code, leaf, key, what)


def check_metrics(leaf: Leaf, findings: Findings, registered: Registered) -> None:
    """metric_list, the filters, and what metadata says about both.

    Args:
        leaf: The task.
        findings: Gets what is wrong.
        registered: Names that the tasks' own modules register.
    """
    entries = leaf.config.get("metric_list")
    if entries is not None and not isinstance(entries, list):
        what = f"metric_list is {type(entries).__name__}, not a list"
        findings.add_at("EP210", leaf, "metric_list", what)
        entries = None
    for entry in entries or []:
        name = _metric_name(entry)
        if name is None:
            findings.add_at("EP210", leaf, "metric_list", f"{entry!r} has no `metric`")
        else:
            _check_metric(leaf, name, entry, registered, findings)
    filters = check_filters(leaf, findings, registered)
    names = metric_names(leaf)
    if names:
        _check_primary(leaf, "primary_metric", names, findings)
    _check_primary(leaf, "primary_filter", filters, findings)


def _check_primary(leaf: Leaf, key: str, names: list[str], findings: Findings) -> None:
    """The metric or filter that metadata names is one of the task's."""
    name = leaf.metadata.get(key)
    if isinstance(name, str) and name not in names:
        fix = f"one of {', '.join(names)}"
        findings.add_at("EP225", leaf, "metadata", f"{key} {name!r}", fix=fix)


def _metric_name(entry: Any) -> str | None:
    """The name of an entry of metric_list; None where it has none."""
    name = entry.get("metric") if isinstance(entry, dict) else None
    if isinstance(name, FunctionRef):
        return name.spec.rpartition(".")[2]
    return name if isinstance(name, str) else None


def metric_names(leaf: Leaf) -> list[str]:
    """Names in metric_list, in order."""
    entries = leaf.config.get("metric_list")
    return [str(_metric_name(entry)) for entry in entries] if isinstance(entries, list) else []


def _check_metric(
    leaf: Leaf, name: str, entry: dict[str, Any], registered: Registered, findings: Findings
) -> None:
    """One entry of metric_list."""
    metrics = METRICS | registered.metrics
    own_scorer = leaf.config.get("process_results") is not None
    if own_scorer or isinstance(entry.get("metric"), FunctionRef):
        missing = [key for key in ("aggregation", "higher_is_better") if key not in entry]
        if name not in metrics and missing:
            what = f"the metric {name!r} has no {' and no '.join(missing)}"
            findings.add_at("EP207", leaf, "metric_list", what)
    elif entry.get("hf_evaluate") is True:
        findings.add_at("EP232", leaf, "metric_list", f"the metric {name!r}")
    elif name not in metrics:
        what = f"the metric {name!r} would be fetched"
        findings.add_at("EP208", leaf, "metric_list", what, fix=near(name, metrics))
    _check_unread_arguments(leaf, name, entry, findings)
    aggregation = entry.get("aggregation")
    if isinstance(aggregation, str):
        known = AGGREGATIONS | registered.aggregations
        if aggregation not in known:
            what = f"aggregation {aggregation!r} of {name}"
            findings.add_at("EP209", leaf, "metric_list", what, fix=near(aggregation, known))
        elif aggregation in BOOTSTRAP_SECONDS:
            seconds = BOOTSTRAP_SECONDS[aggregation]
            what = f"{aggregation} of {name}: about {seconds} s of CPU per 1,000 rows"
            findings.add_at("EP224", leaf, "metric_list", what)


def _check_unread_arguments(
    leaf: Leaf, name: str, entry: dict[str, Any], findings: Findings
) -> None:
    """Arguments of a metric that lm-eval hands to nobody."""
    arguments = sorted(set(map(str, entry)) - _ENTRY_KEYS)
    own_scorer = leaf.config.get("process_results") is not None
    if not arguments or (leaf.output_type == "generate_until" and not own_scorer):
        return
    reason = f"metrics of {leaf.output_type} tasks take no arguments"
    if own_scorer:
        reason = "process_results computes the metric"
    are = "is" if len(arguments) == 1 else "are"
    what = f"{', '.join(arguments)} of the metric {name!r} {are} not read: {reason}"
    findings.add_at("EP239", leaf, "metric_list", what)


_ENTRY_KEYS = frozenset({"metric", "aggregation", "higher_is_better", "hf_evaluate"})


def filter_names(leaf: Leaf) -> list[str]:
    """Names of the filters, in order.

    lm-eval calls the only filter of a task without filters `none`.
    """
    entries = leaf.config.get("filter_list")
    if not isinstance(entries, list):
        return ["none"]
    return [str(entry["name"]) for entry in entries if isinstance(entry, dict) and "name" in entry]


def check_filters(leaf: Leaf, findings: Findings, registered: Registered) -> list[str]:
    """Names of the filters; what is wrong with them goes to `findings`."""
    entries = leaf.config.get("filter_list")
    if entries is None:
        return ["none"]
    names: list[str] = []
    characters = CHARACTERS_PER_TOKEN * reply_length(leaf.generation)
    for entry in entries if isinstance(entries, list) else [entries]:
        steps = entry.get("filter") if isinstance(entry, dict) and "name" in entry else None
        if not steps or not isinstance(steps, list):
            what = f"the filter {entry!r} needs `name` and a list `filter`"
            findings.add_at("EP210", leaf, "filter_list", what)
            continue
        if entry["name"] in names:
            findings.add_at("EP218", leaf, "filter_list", f"two filters {entry['name']!r}")
        names.append(str(entry["name"]))
        for step in steps:
            _check_step(leaf, step, registered, findings, characters=characters)
    return names


def _check_step(
    leaf: Leaf, step: Any, registered: Registered, findings: Findings, *, characters: int
) -> None:
    """One step of a filter; `characters` is the length of the longest reply."""
    function = step.get("function") if isinstance(step, dict) else None
    if isinstance(function, FunctionRef):
        return
    if not isinstance(function, str):
        what = f"the filter step {step!r} has no `function`"
        findings.add_at("EP210", leaf, "filter_list", what)
        return
    known = FILTERS | registered.filters
    if function not in known:
        what = f"the filter function {function!r}"
        findings.add_at("EP219", leaf, "filter_list", what, fix=near(function, known))
    allowed = FILTER_ARGUMENTS.get(function)
    if allowed is not None:
        arguments = set(map(str, step)) - {"function"}
        for name in sorted(arguments - allowed):
            what = f"the filter {function} has no argument {name!r}"
            takes = f"it takes {', '.join(sorted(allowed))}" if allowed else f"remove {name}"
            fix = near(name, allowed) or takes
            findings.add_at("EP236", leaf, "filter_list", what, fix=fix)
    # Values of arguments that the filters of lm-eval cannot use.
    if function == "custom" and not isinstance(step.get("filter_fn"), FunctionRef):
        what = "`function: custom` needs `filter_fn: !function ...`"
        findings.add_at("EP210", leaf, "filter_list", what)
    group = step.get("group_select", 0)
    if function in {"regex", "multi_choice_regex"} and group not in (0, -1):
        findings.add_at("EP220", leaf, "filter_list", f"{function}: group_select: {group}")
    pattern = step.get("regex_pattern")
    if isinstance(pattern, str):
        _check_pattern(leaf, pattern, characters, findings)


def _check_pattern(leaf: Leaf, pattern: str, characters: int, findings: Findings) -> None:
    """Reports a pattern that is none, or that some reply of the task's own length would hold up."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError) as error:
        findings.add_at("EP220", leaf, "filter_list", f"{pattern!r}: {error}")
        return
    slow = slowness(pattern)
    if slow is None:
        return
    if slow.growth == "exponential":
        findings.add_at("EP234", leaf, "filter_list", f"{pattern!r} takes {slow}")
    elif characters**2 / (2 * len(slow.text)) > MOST_STEPS:
        what = f"{pattern!r} takes {slow}, and a reply may have {characters:,} characters"
        findings.add_at("EP235", leaf, "filter_list", what)
