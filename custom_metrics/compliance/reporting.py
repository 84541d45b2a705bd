"""Numbers and times as the original's tables show them.

Its estimates of run time are here, too, and energy read from a model card.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from custom_metrics.compliance.aggregate import ALIASES

_FIRST_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_COMMA_NUMBER = re.compile(
    r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|(?<![\d,.])\d+(?:\.\d+)?"
)

#: Minutes that gemma-2-2b-it took on one RTX 6000 Ada, as COMPL-AI v1 publishes them.
REFERENCE_MINUTES = {
    "ai2_reasoning": 29,
    "bbq": 1,
    "bold": 28,
    "boolq_contrast_robustness": 1,
    "calibration_big_bench": 1,
    "calibration_big_bench_i_know": 109,
    "decoding_trust": 1,
    "fairllm": 137,
    "forecasting_consistency": 10,
    "hellaswag": 216,
    "human_deception": 1,
    "human_eval": 55,
    "imdb_contrast_robustness": 2,
    "instruction_goal_hijacking": 8,
    "memorization": 7,
    "mmlu": 145,
    "mmlu_robustness": 79,
    "multiturn_goal_hijacking": 20,
    "privacy": 3,
    "reddit_bias": 3,
    "self_check_consistency": 36,
    "toxicity": 94,
    "toxicity_advbench": 1,
    "truthful_qa_mc2": 7,
}


def human_time_duration(*, seconds: float) -> str:
    """Writes a duration as COMPL-AI v1.

    It is in whole minutes, always rounded up, so that an exact minute gains one.

    `duration_text` is the corrected rule.

    >>> human_time_duration(seconds=3599)
    '  1 hr,  0 min'
    """
    if not math.isfinite(seconds):
        return "unknown"
    minutes = int(seconds) // 60 + 1
    hours, rest = divmod(minutes, 60)
    return f"{hours:3d} hr, {rest:2d} min" if minutes >= 60 else f"{rest:2d} min"


def duration_text(*, seconds: float) -> str:
    """Writes a duration in minutes, rounded up; an exact minute stays what it is.

    >>> duration_text(seconds=3600), duration_text(seconds=61)
    ('1 hr, 0 min', '2 min')
    """
    if not math.isfinite(seconds):
        return "unknown"
    hours, rest = divmod(math.ceil(max(seconds, 0.0) / 60), 60)
    return f"{hours} hr, {rest} min" if hours else f"{rest} min"


def round_3_significant(*, value: float | None) -> float | str:
    """Rounds to three significant digits; "n.a." for what is no finite number.

    >>> round_3_significant(value=-0.04567)
    -0.0457
    """
    if value is None or not math.isfinite(value):
        return "n.a."
    return 0 if value == 0 else round(value, 2 - math.floor(math.log10(abs(value))))


def _number(pattern: re.Pattern[str], text: Any) -> float | None:
    """The first number of a text that a pattern finds; None without one."""
    match = pattern.search(str(text)) if text is not None else None
    return float(match.group().replace(",", "")) if match else None


def _product(*factors: float | None) -> float | None:
    known = [factor for factor in factors if factor is not None]
    return math.prod(known) if len(known) == len(factors) else None


def environment(*, environment: Mapping[str, Any]) -> dict[str, float | None]:
    """Energy and CO2 of a training, out of a model card, as COMPL-AI v1 reads it.

    energy = GPUs x power draw x hours; co2 = energy x carbon intensity. The first number of a text
    counts, so that "1,720" is 1, and CO2 is not computed from an energy that is given.
    `environment_amounts` is the corrected rule.

    Args:
        environment: Texts under `num_gpus`, `gpu_power_draw` (kW), `time_to_train` (h) and
            `datacenter_carbon_intensity` (per kWh), or `energy` and `co2`.

    Returns:
        `energy` and `co2`; None where a number is missing.
    """
    read = {name: _number(_FIRST_NUMBER, environment.get(name)) for name in environment}
    computed_energy = None
    if "energy" not in environment:
        computed_energy = _product(
            read.get("num_gpus"), read.get("gpu_power_draw"), read.get("time_to_train")
        )
    computed_co2 = _product(computed_energy, read.get("datacenter_carbon_intensity"))
    return {"energy": read.get("energy", computed_energy), "co2": read.get("co2", computed_co2)}


def environment_amounts(*, environment: Mapping[str, Any]) -> dict[str, float | str | None]:
    """Energy and CO2 of a training, out of a model card, with units.

    It reads as `environment` does, but with thousands commas, and computes CO2 from a given energy.
    Carbon intensity is in g CO2 per kWh, as the template of the card says.

    Returns:
        `energy` in `energy_unit` (kWh) and `co2` in `co2_unit` (g); None where a number is missing.

    >>> card = {"energy": "1,720 kWh", "datacenter_carbon_intensity": "300"}
    >>> environment_amounts(environment=card)["co2"]
    516000.0
    """
    read = {name: _number(_COMMA_NUMBER, text) for name, text in environment.items()}
    energy = read.get("energy")
    if energy is None:
        energy = _product(
            read.get("num_gpus"), read.get("gpu_power_draw"), read.get("time_to_train")
        )
    co2 = read.get("co2")
    if co2 is None:
        co2 = _product(energy, read.get("datacenter_carbon_intensity"))
    return {"energy": energy, "energy_unit": "kWh", "co2": co2, "co2_unit": "g"}


def runtime_estimate(
    *, finished_seconds: Mapping[str, float], benchmark: str
) -> dict[str, float | str]:
    """Estimates how long a benchmark takes.

    The estimate is its reference time x the mean of measured / reference over finished ones.

    Args:
        finished_seconds: Seconds of the benchmarks that ran; names without a reference time are
            left out.
        benchmark: The benchmark asked about.

    Returns:
        `scale` (1.0 before any has finished), `seconds` and `text`.

    Raises:
        ValueError: the benchmark has no reference time.

    >>> runtime_estimate(finished_seconds={"bbq": 120}, benchmark="privacy")["seconds"]
    360.0
    """
    reference = {old: REFERENCE_MINUTES[new] for old, new in ALIASES.items()} | REFERENCE_MINUTES
    if benchmark not in reference:
        raise ValueError(
            f"no reference time for {benchmark!r}; one of {', '.join(REFERENCE_MINUTES)}"
        )
    scales = [
        seconds / (60 * reference[name])
        for name, seconds in finished_seconds.items()
        if name in reference
    ]
    scale = math.fsum(scales) / len(scales) if scales else 1.0
    seconds = scale * 60 * reference[benchmark]
    return {"scale": scale, "seconds": seconds, "text": human_time_duration(seconds=seconds)}


METRICS = {
    "compliance.duration_text": duration_text,
    "compliance.environment": environment,
    "compliance.environment_amounts": environment_amounts,
    "compliance.human_time_duration": human_time_duration,
    "compliance.round_3_significant": round_3_significant,
    "compliance.runtime_estimate": runtime_estimate,
}
