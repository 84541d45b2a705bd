"""EP20x: generation arguments, and how they meet the context length and the engine."""

from __future__ import annotations

from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.settings import RunSettings
from evalprep.check.tree import Leaf

LENGTH_KEYS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
DEFAULT_LENGTH = 256  # lm_eval.defaults.DEFAULT_MAX_GEN_TOKS
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


def reply_length(generation: dict[str, Any]) -> int:
    """The number of new tokens, by lm-eval's order of names; 256 when none is given."""
    for key in LENGTH_KEYS:
        value = generation.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return DEFAULT_LENGTH


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
    if given is None and not settings.gen_kwargs:
        findings.add("EP203", leaf.where(), f"{task} has no generation_kwargs", task=task)
        given = {}
    elif given is not None and not isinstance(given, dict):
        findings.add("EP216", where, f"generation_kwargs is {given!r}, not a mapping", task=task)
        return
    else:
        _complete({**(given or {}), **settings.gen_kwargs}, where, task, findings)
    merged = {**(given or {}), **settings.gen_kwargs}
    length, context = reply_length(merged), settings.max_model_len
    if context is not None and length >= context:
        findings.add("EP605", where, f"max_gen_toks {length} against max_model_len {context}", task=task)
    if settings.backend == "vllm" or settings.backend is None:
        unknown = sorted(set(merged) - _SAMPLING - _LM_EVAL)
        if unknown:
            findings.add(
                "EP204",
                where,
                f"{', '.join(unknown)} {'is' if len(unknown) == 1 else 'are'} unknown to vLLM",
                task=task,
            )
    until = merged.get("until")
    for one in [until] if isinstance(until, str) else until if isinstance(until, list) else []:
        if not isinstance(one, str) or not one:
            findings.add("EP226", where, f"the stop string {one!r}", task=task)
    if until is not None and not isinstance(until, str | list):
        findings.add("EP226", where, f"until is {until!r}", task=task)
    _consistent(merged, leaf, findings)


def _complete(kwargs: dict[str, Any], where: str, task: str, findings: Findings) -> None:
    missing = [key for key in ("do_sample", "temperature") if key not in kwargs]
    samples_at_one = len(missing) == 2 or (missing == ["temperature"] and kwargs["do_sample"] is True)
    if missing:
        code = "EP201" if samples_at_one else "EP231"
        findings.add(code, where, f"{' and '.join(missing)} not given", task=task)
    if "until" not in kwargs:
        findings.add("EP202", where, "until not given", task=task)
    if not set(LENGTH_KEYS) & set(kwargs):
        findings.add("EP206", where, "max_gen_toks not given", task=task)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _consistent(kwargs: dict[str, Any], leaf: Leaf, findings: Findings) -> None:
    where, task = leaf.where("generation_kwargs"), leaf.name
    sample, temperature = kwargs.get("do_sample"), _number(kwargs.get("temperature"))
    if sample is False and temperature:
        findings.add("EP205", where, f"do_sample: false with temperature {temperature:g}; lm-eval takes 0", task=task)
    elif sample is True and temperature == 0:
        findings.add("EP205", where, "do_sample: true with temperature 0 is greedy", task=task)
    elif sample is True and temperature and "top_p" not in kwargs:
        findings.add(
            "EP205",
            where,
            "do_sample: true without top_p leaves it to the engine's default",
            task=task,
            fix="write top_p, e.g. 1.0",
        )
    repeats = leaf.config.get("repeats", 1)
    if isinstance(repeats, int) and repeats > 1:
        names = [
            step.get("function")
            for entry in leaf.config.get("filter_list") or []
            if isinstance(entry, dict)
            for step in entry.get("filter") or []
            if isinstance(step, dict)
        ]
        if not temperature or sample is False:
            findings.add(
                "EP228", leaf.where("repeats"), f"{repeats} greedy replies per row are the same reply", task=task
            )
        elif "seed" in kwargs:
            findings.add("EP228", leaf.where("repeats"), "a fixed seed makes all replies of a row the same", task=task)
        elif not names or ("take_first" in names and not {"take_first_k", "majority_vote"} & set(map(str, names))):
            findings.add("EP228", leaf.where("repeats"), "take_first scores the first reply alone", task=task)
