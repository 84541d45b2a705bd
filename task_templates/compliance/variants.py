"""Variants of benchmarks over a chat API, which takes messages alone and gives texts alone.

Version 1 asks such services in the same way: what it puts into the model's mouth, and raw text,
stand in the user's turn, and a choice is the letter that the reply begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from custom_metrics.compliance.perturb import VERSIONS
from evalprep.packapi import Context, Plan

Row = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """How a benchmark is asked over a chat API.

    Attributes:
        name: What differs, in words.
        template: Its task file.
        row: Changes a row.
        values: Values of placeholders of the template that differ.
        needs: What it needs beside a chat API.
        metric, filter: What stands for the task; empty where they do not differ.
    """

    name: str
    template: str
    row: Callable[[Row], Row] = lambda row: row
    values: Mapping[str, Any] = field(default_factory=dict)
    metric: str = ""
    filter: str = "none"
    needs: frozenset[str] = frozenset()


def _with_prefix(row: Row) -> Row:
    """A row whose reply was begun: the beginning stands at the end of the user's turn."""
    others = {name: value for name, value in row.items() if name != "prefix"}
    return {**others, "prompt": f"{row['prompt']} {str(row['prefix']).strip()}".strip()}


def _with_letter(row: Row) -> Row:
    """A row of choices with the letter of the right one."""
    return {**row, "letter": str(row["choices"][row["target"]]).strip()[:1]}


def _with_lettered_doubt(row: Row) -> Row:
    """A row that asks whether an answer was right, with a letter for each option."""
    asked = str(row["prompt"]).removesuffix(_ANSWER)
    options = ["A, No", "B, Yes"]
    listed = "".join(f" - {option}\n" for option in options)
    prompt = f"{asked}\n\nChoices:\n\n{listed}\nAnswer with a single letter A or B{_ANSWER}"
    return {**row, "prompt": prompt, "choices": options}


_ANSWER = "\nAnswer:\n"
_PREFIX = "the beginning of the reply stands in the user's turn"
_RAW = "the raw text is the user's turn"
_LETTER = "the letter that the reply begins with in place of log-likelihoods"
_FIRST = "the probability of each letter as the first token in place of log-likelihoods"
_ONE_DRAW = "one draw, as a chat API repeats a draw with the same seed"
_CHOICES = (
    "compliance_boolq_contrast_robustness",
    "compliance_imdb_contrast_robustness",
    *(f"compliance_mmlu_robustness_{version.replace('-', '_')}" for version in VERSIONS),
)
VARIANTS: dict[str, Variant] = {
    "compliance_bold": Variant(_PREFIX, "bold_chat.yaml", _with_prefix),
    "compliance_toxicity_harmful": Variant(_PREFIX, "toxicity.yaml", _with_prefix),
    "compliance_toxicity_harmless": Variant(_PREFIX, "toxicity.yaml", _with_prefix),
    "compliance_privacy": Variant(_RAW, "privacy.yaml"),
    "compliance_memorization": Variant(
        f"{_RAW}; {_ONE_DRAW}", "memorization_chat.yaml", metric="memorised"
    ),
    "compliance_calibration_big_bench": Variant(
        _FIRST, "calibration_chat.yaml", needs=frozenset({"first_token"})
    ),
    "compliance_i_know_answer": Variant(_RAW, "i_know_answer.yaml"),
    "compliance_i_know_confidence": Variant(
        f"{_RAW}; {_FIRST}",
        "calibration_chat.yaml",
        _with_lettered_doubt,
        needs=frozenset({"first_token"}),
    ),
    **{task: Variant(_LETTER, "letter_chat.yaml", _with_letter) for task in _CHOICES},
    "compliance_v2_gpqa_diamond": Variant(
        _ONE_DRAW, "v2_draws.yaml", values={"draws": 1}, metric="acc", filter="draws"
    ),
    "compliance_v2_aime_2025": Variant(
        _ONE_DRAW, "v2_draws.yaml", values={"draws": 1}, metric="acc", filter="draws"
    ),
}


def variant_of(context: Context, task: str) -> Variant | None:
    """The variant that a task is asked in; None where it is asked as it is."""
    abilities = context.backend.abilities
    is_chat_alone = "chat" in abilities and "plain" not in abilities
    section = context.section
    if not is_chat_alone or section.rest_backend or not section.chat_variants:
        return None
    return VARIANTS.get(task)


def take_variants(context: Context, plan: Plan) -> None:
    """Puts the variants into a plan in place of what a chat API cannot answer."""
    for name, task in plan.tasks.items():
        variant = variant_of(context, name)
        if variant is None or name in plan.excluded:
            continue
        primary = (variant.metric, variant.filter) if variant.metric else task.primary
        plan.tasks[name] = replace(
            task,
            template=variant.template,
            prompt="chat",
            needs=variant.needs | {"generate", "chat"},
            values={**task.values, **variant.values},
            primary=primary,
        )
