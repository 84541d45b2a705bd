"""Verdicts on a reply, instruction by instruction, strictly and loosely.

The headline numbers are made of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.ifeval.checkers import WITHOUT_PUNKT, Rule, build
from custom_metrics.ifeval.sentences import punkt_available

MAX_CHARS = 60_000
"""A longer reply fails every instruction and is reported: NLTK needs seconds to split it, and
no answer is so long."""

# Several of the checkers' expressions start with \s*, which takes quadratic time on long runs of
# blank lines.
_LONG_BLANK = re.compile(r"(\s{500})\s+")


def loose_variants(response: str) -> list[str]:
    """Returns the eight readings of a reply that the loose score allows, the reply itself first.

    The reply is read whole, and without its first line, its last line, or both; each also without
    asterisks.
    """
    lines = response.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    variants: list[str] = []
    for variant in (response, *cut):
        variants += (variant, variant.replace("*", ""))
    return variants


def _check(
    rule: Rule,
    prompt: str,
    instruction_id_list: Sequence[str],
    kwargs: Sequence[Mapping[str, Any] | None],
    response: str,
) -> dict[str, Any]:
    ids = list(instruction_id_list)
    arguments = list(kwargs) + [None] * (len(ids) - len(kwargs))
    strict = [False] * len(ids)
    loose = [False] * len(ids)
    errors: list[str] = []
    approximated = [] if punkt_available() else [name for name in ids if name in WITHOUT_PUNKT]
    if len(response) > MAX_CHARS:
        errors.append(f"the reply has {len(response)} characters, more than {MAX_CHARS}")
    if not response.strip() or errors:
        return {"strict": strict, "loose": loose, "errors": errors, "approximated": approximated}

    readings = [text for text in loose_variants(response) if text.strip()]
    variants = list(dict.fromkeys(_LONG_BLANK.sub(r"\1", text) for text in readings))
    for position, name in enumerate(ids):
        try:
            follows = build(name, arguments[position], prompt, rule)
            strict[position] = bool(follows(variants[0]))
            loose[position] = strict[position] or any(map(follows, variants[1:]))
        except Exception as error:  # noqa: BLE001
            # Any failure of a checker is this instruction's and is reported.
            errors.append(f"{name}: {error or type(error).__name__}")
    return {"strict": strict, "loose": loose, "errors": errors, "approximated": approximated}


def check_instructions(
    *,
    prompt: str,
    instruction_id_list: Sequence[str],
    kwargs: Sequence[Mapping[str, Any] | None],
    response: str,
) -> dict[str, Any]:
    """Checks one reply against the instructions of its prompt, strictly and loosely.

    Args:
        prompt: The prompt, which `combination:repeat_prompt` compares with.
        instruction_id_list: Names in lm-eval's instruction registry.
        kwargs: Arguments of each instruction; nulls are dropped.
        response: The reply; an empty one follows no instruction.

    Returns:
        `strict` and `loose`: one bool per instruction; `errors`: a line for each instruction that
        could not be checked, which counts as not followed; `approximated`: names of instructions
        that were checked without NLTK's sentence data.

    >>> check_instructions(prompt="No commas, please.", kwargs=[{}],
    ...                    instruction_id_list=["punctuation:no_comma"],
    ...                    response="Gladly")["strict"]
    [True]
    """
    return _check("ours", prompt, instruction_id_list, kwargs, response)


def check_official(
    *,
    prompt: str,
    instruction_id_list: Sequence[str],
    kwargs: Sequence[Mapping[str, Any] | None],
    response: str,
) -> dict[str, Any]:
    """Checks one reply as lm-eval's IFEval does.

    Zeros are dropped and keywords run as expressions, as there.

    Where lm-eval draws an argument by lot (a letter outside a to z, a zero, an empty text), there
    is no official
    verdict: the instruction counts as not followed and is named in `errors`.

    Args:
        prompt: The prompt, which `combination:repeat_prompt` compares with.
        instruction_id_list: Names in lm-eval's instruction registry.
        kwargs: Arguments of each instruction.
        response: The reply; an empty one follows no instruction.

    Returns:
        As `check_instructions`.
    """
    return _check("official", prompt, instruction_id_list, kwargs, response)


def headline(
    prompt_strict: float, inst_strict: float, prompt_loose: float, inst_loose: float
) -> dict[str, float]:
    """Combines the four accuracies into the two numbers that circulate under the name IFEval.

    The two do not compare.

    Args:
        prompt_strict: Share of prompts with every instruction followed, strictly.
        inst_strict: Share of instructions followed, strictly.
        prompt_loose: The same for prompts, loosely.
        inst_loose: The same for instructions, loosely.

    Returns:
        `recipe_mean` = (inst_strict + prompt_strict) / 2, the number of the Llama recipe and of
        leaderboards; `published_mean` = mean of all four, the number in Meta's model cards.

    >>> headline(0.5, 0.6, 0.7, 0.8)
    {'recipe_mean': 0.55, 'published_mean': 0.65}
    """
    return {
        "recipe_mean": (inst_strict + prompt_strict) / 2,
        "published_mean": (prompt_strict + inst_strict + prompt_loose + inst_loose) / 4,
    }


METRICS = {
    "ifeval.check": check_instructions,
    "ifeval.official": check_official,
    "ifeval.headline": headline,
}
