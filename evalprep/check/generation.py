"""EP20x: generation arguments, and how they meet the context length and the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.settings import DEFAULT_LENGTH, RunSettings
from evalprep.check.tree import Leaf, keeps_first
from evalprep.errors import near
from evalprep.files import as_mapping
from evalprep.numbers import whole_number

LENGTH_KEYS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
# Fields of vllm.SamplingParams 0.32, and what lm-eval itself takes out before it passes the rest
# on.
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
    """The number of new tokens, by lm-eval's order of names.

    The back end's default when none is given.
    """
    for key in LENGTH_KEYS:
        value = generation.get(key)
        length = None if value is None else whole_number(value)
        if length is not None:
            return length
    return default


def arguments_of(request: Any) -> dict[str, Any]:
    """The generation arguments of a request of lm-eval; empty where it has none."""
    if request.request_type != "generate_until" or len(request.args) < 2:
        return {}
    return as_mapping(request.args[1])


def reply_limit(request: Any, settings: RunSettings) -> int:
    """The tokens that the reply to a request of lm-eval may have."""
    return reply_length(arguments_of(request), settings.reply_length)


def stop_strings(generation: Mapping[str, Any]) -> list[str]:
    """`until` as a list of non-empty texts."""
    until = generation.get("until")
    stops = [until] if isinstance(until, str) else until or []
    return [stop for stop in stops if isinstance(stop, str) and stop]


def check_generation(leaf: Leaf, settings: RunSettings, findings: Findings) -> None:
    """Everything about generation_kwargs that needs neither data nor model."""
    of_task = leaf.config.get("generation_kwargs")
    of_run = settings.core.gen_kwargs
    own_class = leaf.file.kind == "class"
    if leaf.output_type != "generate_until":
        if not own_class and of_task:
            what = f"{leaf.name} is a {leaf.output_type} task"
            findings.add_at("EP227", leaf, "generation_kwargs", what)
        return
    if own_class and of_task is None:
        return  # such a task may make its own arguments
    if of_task is not None and not isinstance(of_task, dict):
        what = f"generation_kwargs is {of_task!r}, not a mapping"
        findings.add_at("EP216", leaf, "generation_kwargs", what)
        return
    merged = {**(of_task or {}), **of_run}
    if of_task is None and not of_run:
        what = f"{leaf.name} has no generation_kwargs"
        findings.add_at("EP203", leaf, "", what)
    else:
        # Arguments that are written out, so that no default of lm-eval or the engine decides.
        key = "generation_kwargs"
        _complete_sampling(merged, leaf, settings, findings)
        if "until" not in merged:
            findings.add_at("EP202", leaf, key, "until not given")
        has_length = any(name in merged for name in LENGTH_KEYS)
        if not has_length and "max_gen_toks" not in settings.core.model_args:
            findings.add_at("EP206", leaf, key, "max_gen_toks not given")
    # The arguments of the task and of the run together.
    length = reply_length(merged, settings.reply_length)
    context = settings.max_model_len
    if context is not None and length >= context:
        what = f"max_gen_toks {length} against max_model_len {context}"
        findings.add_at("EP605", leaf, "generation_kwargs", what)
    _check_names(merged, leaf, settings, findings)
    _stops(merged, leaf, settings, findings)
    _ranges(merged, leaf, findings)
    _check_sampling(merged, leaf, findings)
    names = [name for name in LENGTH_KEYS if merged.get(name) is not None]
    values = {str(merged[name]) for name in names}
    if len(values) > 1:
        lengths = ", ".join(f"{name}: {merged[name]}" for name in names)
        what = f"{lengths}; lm-eval takes the first"
        fix = "write max_gen_toks alone"
        findings.add_at("EP205", leaf, "generation_kwargs", what, fix=fix)
    _repeated(merged, leaf, findings)


def _check_names(
    kwargs: dict[str, Any], leaf: Leaf, settings: RunSettings, findings: Findings
) -> None:
    """Arguments that vLLM does not have; other engines take what they are given."""
    record = settings.record
    is_vllm = record is not None and record.engine == "vllm"
    if settings.backend is not None and not is_vllm:
        return
    unknown = sorted(set(kwargs) - _SAMPLING - _LM_EVAL)
    if unknown:
        names = ", ".join(unknown)
        verb = "is" if len(unknown) == 1 else "are"
        what = f"{names} {verb} unknown to vLLM"
        fix = near(unknown[0], sorted(_SAMPLING | _LM_EVAL))
        findings.add_at("EP204", leaf, "generation_kwargs", what, fix=fix)


def _complete_sampling(
    kwargs: dict[str, Any], leaf: Leaf, settings: RunSettings, findings: Findings
) -> None:
    """Arguments of sampling that are written out; `top_p` where the task samples."""
    key = "generation_kwargs"
    missing = [name for name in ("do_sample", "temperature") if name not in kwargs]
    if missing:
        # An engine's default is temperature 1, which counts where lm-eval sets no temperature.
        record = settings.record
        engine_samples = settings.backend is None or (record is not None and record.samples)
        is_sampled = kwargs.get("do_sample", True) is True
        code = "EP201" if engine_samples and "temperature" in missing and is_sampled else "EP231"
        names = " and ".join(missing)
        findings.add_at(code, leaf, key, f"{names} not given")
        return
    samples = kwargs["do_sample"] is True and bool(_number(kwargs["temperature"]))
    if samples and "top_p" not in kwargs:
        findings.add_at("EP231", leaf, key, "top_p not given")


def _stops(kwargs: dict[str, Any], leaf: Leaf, settings: RunSettings, findings: Findings) -> None:
    """Stop strings that are none, and those that the back end leaves out."""
    key = "generation_kwargs"
    until = kwargs.get("until", [])
    if not isinstance(until, str | list):
        findings.add_at("EP226", leaf, key, f"until is {until!r}")
        return
    stops = [until] if isinstance(until, str) else until
    for stop in stops:
        if not isinstance(stop, str) or not stop:
            findings.add_at("EP226", leaf, key, f"the stop string {stop!r}")
    most = settings.record.stops if settings.record is not None else None
    if most and len(stops) > most:
        surplus = ", ".join(map(repr, stops[most:]))
        findings.add_at("EP616", leaf, key, f"{surplus} will not act")


def _number(value: Any) -> float | None:
    """The number that `float` makes of a setting, as lm-eval takes a temperature.

    None for anything else.
    """
    if isinstance(value, bool):
        return None
    try:
        return float(value)
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


def _ranges(kwargs: dict[str, Any], leaf: Leaf, findings: Findings) -> None:
    """Values that vLLM refuses."""
    for name, (allowed, fits) in _RANGES.items():
        value = kwargs.get(name)
        if value is None:
            continue
        is_whole = name in LENGTH_KEYS
        number = whole_number(value) if is_whole else _number(value)
        if number is None or not fits(number):
            what = f"{name} is {value!r}; allowed: {allowed}"
            findings.add_at("EP233", leaf, "generation_kwargs", what)
    if "stop" in kwargs:
        what = "stop is given; lm-eval makes it from until"
        findings.add_at("EP233", leaf, "generation_kwargs", what, fix="write until alone")


def _check_sampling(kwargs: dict[str, Any], leaf: Leaf, findings: Findings) -> None:
    """A temperature and `do_sample` that contradict each other."""
    sample = kwargs.get("do_sample")
    temperature = _number(kwargs.get("temperature"))
    what, fix = "", ""
    if sample is False and temperature:
        what = f"do_sample: false with temperature {temperature:g}; lm-eval takes 0"
    elif sample is True and temperature == 0:
        what = "do_sample: true with temperature 0 is greedy"
    elif sample is None and temperature:
        setting = f"temperature {temperature:g} without do_sample"
        what = f"{setting}: the replies are sampled, and cached as if greedy"
        fix = "write do_sample: true"
    if what:
        findings.add_at("EP205", leaf, "generation_kwargs", what, fix=fix)


def is_sampling(kwargs: Mapping[str, Any]) -> bool:
    """Returns whether generation settings sample, so that two replies to a prompt can differ.

    >>> is_sampling({"temperature": 0.7}), is_sampling({"do_sample": True}), is_sampling({})
    (True, True, False)
    """
    sample = kwargs.get("do_sample")
    if sample is False:
        return False
    temperature = kwargs.get("temperature")
    if temperature is None:
        return bool(sample)
    return bool(_number(temperature))


def _repeated(kwargs: dict[str, Any], leaf: Leaf, findings: Findings) -> None:
    """Several replies per row: whether they differ, and whether they are scored."""
    count = whole_number(kwargs.get("n"))
    if count is not None and count > 1:
        what = f"n: {count} makes {count} replies, and lm-eval keeps the first"
        fix = f"write repeats: {count} beside generation_kwargs"
        findings.add_at("EP228", leaf, "generation_kwargs", what, fix=fix)
    repeats = leaf.config.get("repeats", 1)
    if not isinstance(repeats, int) or repeats <= 1:
        return
    if not is_sampling(kwargs):
        what = f"{repeats} greedy replies per row are the same reply"
        findings.add_at("EP228", leaf, "repeats", what)
    elif "seed" in kwargs:
        what = "a fixed seed makes all replies of a row the same"
        findings.add_at("EP228", leaf, "repeats", what)
    elif keeps_first(leaf.config) and not leaf.file.is_repeated:
        what = "take_first scores the first reply alone"
        findings.add_at("EP228", leaf, "repeats", what)
