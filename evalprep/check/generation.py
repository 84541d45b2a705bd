"""EP20x: generation arguments, and how they meet the context length and the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.settings import DEFAULT_LENGTH, RunSettings, whole_number
from evalprep.check.tree import Leaf

LENGTH_KEYS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
# Fields of vllm.SamplingParams 0.32, and what lm-eval itself takes out before it passes the rest on.
_SAMPLING = frozenset(
    {
        "n",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "stop",
        "stop_token_ids",
        "ignore_eos",
        "min_tokens",
        "logprobs",
        "prompt_logprobs",
        "detokenize",
        "skip_special_tokens",
        "spaces_between_special_tokens",
        "include_stop_str_in_output",
        "truncate_prompt_tokens",
        "output_kind",
        "structured_outputs",
        "logit_bias",
        "allowed_token_ids",
        "bad_words",
        "extra_args",
    }
)
_LM_EVAL = frozenset({"until", "do_sample", *LENGTH_KEYS})


def reply_length(generation: Mapping[str, Any], default: int = DEFAULT_LENGTH) -> int:
    """The number of new tokens, by lm-eval's order of names; the back end's default when none is given."""
    lengths = (whole_number(generation[key]) for key in LENGTH_KEYS if generation.get(key) is not None)
    return next((length for length in lengths if length is not None), default)


def stop_strings(generation: dict[str, Any]) -> list[str]:
    """`until` as a list of non-empty texts."""
    until = generation.get("until")
    return [one for one in ([until] if isinstance(until, str) else until or []) if isinstance(one, str) and one]


def check_generation(leaf: Leaf, settings: RunSettings, findings: Findings) -> None:
    """Everything about generation_kwargs that needs neither data nor model."""
    where, task = leaf.where("generation_kwargs"), leaf.name
    given = leaf.config.get("generation_kwargs")
    if leaf.output_type != "generate_until":
        if given and leaf.file.kind != "class":
            findings.add("EP227", where, f"{task} is a {leaf.output_type} task", task=task)
        return
    if leaf.file.kind == "class" and given is None:
        return  # such a task may make its own arguments
    if given is None and not settings.core.gen_kwargs:
        findings.add("EP203", leaf.where(), f"{task} has no generation_kwargs", task=task)
        given = {}
    elif given is not None and not isinstance(given, dict):
        findings.add("EP216", where, f"generation_kwargs is {given!r}, not a mapping", task=task)
        return
    else:
        _complete({**(given or {}), **settings.core.gen_kwargs}, leaf, settings, findings)
    merged = {**(given or {}), **settings.core.gen_kwargs}
    length, context = reply_length(merged, settings.reply_length), settings.max_model_len
    if context is not None and length >= context:
        findings.add("EP605", where, f"max_gen_toks {length} against max_model_len {context}", task=task)
    if settings.backend is None or (settings.record is not None and settings.record.engine == "vllm"):
        unknown = sorted(set(merged) - _SAMPLING - _LM_EVAL)
        if unknown:
            findings.add(
                "EP204",
                where,
                f"{', '.join(unknown)} {'is' if len(unknown) == 1 else 'are'} unknown to vLLM",
                task=task,
            )
    _stops(merged, leaf, settings, findings)
    _ranges(merged, where, task, findings)
    _consistent(merged, leaf, findings)
    _repeated(merged, leaf, findings)


def _complete(kwargs: dict[str, Any], leaf: Leaf, settings: RunSettings, findings: Findings) -> None:
    where, task = leaf.where("generation_kwargs"), leaf.name
    missing = [key for key in ("do_sample", "temperature") if key not in kwargs]
    samples_at_one = len(missing) == 2 or (missing == ["temperature"] and kwargs["do_sample"] is True)
    if missing:
        code = (
            "EP201"
            if samples_at_one
            and (settings.backend is None or (settings.record is not None and settings.record.samples))
            else "EP231"
        )
        findings.add(code, where, f"{' and '.join(missing)} not given", task=task)
    elif kwargs["do_sample"] is True and _number(kwargs["temperature"]) and "top_p" not in kwargs:
        findings.add("EP231", where, "top_p not given", task=task)
    if "until" not in kwargs:
        findings.add("EP202", where, "until not given", task=task)
    if not set(LENGTH_KEYS) & set(kwargs) and "max_gen_toks" not in settings.core.model_args:
        findings.add("EP206", where, "max_gen_toks not given", task=task)


def _stops(kwargs: dict[str, Any], leaf: Leaf, settings: RunSettings, findings: Findings) -> None:
    where, task = leaf.where("generation_kwargs"), leaf.name
    until = kwargs.get("until", [])
    if not isinstance(until, str | list):
        findings.add("EP226", where, f"until is {until!r}", task=task)
        return
    stops = [until] if isinstance(until, str) else until
    for one in stops:
        if not isinstance(one, str) or not one:
            findings.add("EP226", where, f"the stop string {one!r}", task=task)
    if settings.record is not None and settings.record.stops and len(stops) > settings.record.stops:
        findings.add("EP616", where, f"{', '.join(map(repr, stops[4:]))} will not act", task=task)


def _number(value: Any) -> float | None:
    """What `float` makes of a setting, as lm-eval takes a temperature; None for anything else."""
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


# What vllm.SamplingParams verifies, where a mistake is likely; `stop` comes from `until`.
_RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "temperature": ("at least 0", lambda value: value >= 0),
    "top_p": ("above 0 and at most 1", lambda value: 0 < value <= 1),
    "top_k": ("-1, 0 or more", lambda value: value >= -1),
    "min_p": ("from 0 to 1", lambda value: 0 <= value <= 1),
    "repetition_penalty": ("above 0", lambda value: value > 0),
    "n": ("at least 1", lambda value: value >= 1),
    **dict.fromkeys(LENGTH_KEYS, ("a whole number from 1", lambda value: value >= 1)),
}


def _ranges(kwargs: dict[str, Any], where: str, task: str, findings: Findings) -> None:
    for key, (allowed, fits) in _RANGES.items():
        if (value := kwargs.get(key)) is None:
            continue
        number = whole_number(value) if key in LENGTH_KEYS else _number(value)
        if number is None or not fits(number):
            findings.add("EP233", where, f"{key} is {value!r}; allowed: {allowed}", task=task)
    if "stop" in kwargs:
        findings.add("EP233", where, "stop is given; lm-eval makes it from until", task=task, fix="write until alone")


def _consistent(kwargs: dict[str, Any], leaf: Leaf, findings: Findings) -> None:
    where, task = leaf.where("generation_kwargs"), leaf.name
    sample, temperature = kwargs.get("do_sample"), _number(kwargs.get("temperature"))
    if sample is False and temperature:
        findings.add("EP205", where, f"do_sample: false with temperature {temperature:g}; lm-eval takes 0", task=task)
    elif sample is True and temperature == 0:
        findings.add("EP205", where, "do_sample: true with temperature 0 is greedy", task=task)
    elif sample is None and temperature:
        findings.add(
            "EP205",
            where,
            f"temperature {temperature:g} without do_sample: the replies are sampled, and cached as if greedy",
            task=task,
            fix="write do_sample: true",
        )
    lengths = {key: kwargs[key] for key in LENGTH_KEYS if kwargs.get(key) is not None}
    if len(set(map(str, lengths.values()))) > 1:
        findings.add(
            "EP205",
            where,
            f"{', '.join(f'{key}: {value}' for key, value in lengths.items())}; lm-eval takes the first",
            task=task,
            fix="write max_gen_toks alone",
        )


def _repeated(kwargs: dict[str, Any], leaf: Leaf, findings: Findings) -> None:
    """Several replies per row: whether they differ, and whether they are scored."""
    where, task = leaf.where("repeats"), leaf.name
    count = whole_number(kwargs.get("n"))
    if count is not None and count > 1:
        findings.add(
            "EP228",
            leaf.where("generation_kwargs"),
            f"n: {count} makes {count} replies, and lm-eval keeps the first",
            task=task,
            fix=f"write repeats: {count} beside generation_kwargs",
        )
    repeats = leaf.config.get("repeats", 1)
    if not isinstance(repeats, int) or repeats <= 1:
        return
    names = [
        step.get("function")
        for entry in leaf.config.get("filter_list") or []
        if isinstance(entry, dict)
        for step in entry.get("filter") or []
        if isinstance(step, dict)
    ]
    if not _number(kwargs.get("temperature")) or kwargs.get("do_sample") is False:
        findings.add("EP228", where, f"{repeats} greedy replies per row are the same reply", task=task)
    elif "seed" in kwargs:
        findings.add("EP228", where, "a fixed seed makes all replies of a row the same", task=task)
    elif not names or ("take_first" in names and not {"take_first_k", "majority_vote"} & set(map(str, names))):
        findings.add("EP228", where, "take_first scores the first reply alone", task=task)
