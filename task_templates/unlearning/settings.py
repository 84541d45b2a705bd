"""Mistakes and contradictions in the pack's section of the config.

They are found before anything is read or written.
"""

from __future__ import annotations

from pathlib import Path

from evalprep.packapi import BadInput, Context, Plan, near, on_hub, place, remember_file

from .datasets import TEXT_TOKENS, data_of
from .judge import load_prompt
from .prompts import PLAIN_TAGS
from .recipe import Choices, choices_of

COMPATIBILITY = ("boundary", "tail", "length", "missing")


def check_settings(context: Context, planned: Plan) -> None:
    """Adds every mistake to the context's problems."""
    _check_names(context)
    _check_values(context)
    try:
        choices = choices_of(context)
    except BadInput as error:
        context.problems.extend(error.problems)
        return
    # Who applies the chat template, and whether every task can live with it.
    if context.config.core.apply_chat_template:
        _check_applied_template(context, choices, planned)
    elif choices.prompts == "harness":
        context.problems.add(
            "prompts: harness needs lm-eval to apply the template",
            where=context.where("prompts"),
            fix="add `apply_chat_template: true`",
        )


def retain_results(context: Context) -> Path | None:
    """The results that scores compare with.

    An absolute path, or a place on the hub as it is given.
    """
    results = context.section.retain_results
    if results and on_hub(results):
        return Path(results)
    if results:
        return place(results, context.folder).resolve()
    return None


def _check_names(context: Context) -> None:
    """Names inside lists and mappings, and the values of these."""
    section = context.section
    problems = context.problems
    where = context.where
    metrics = dict.fromkeys(name.removeprefix("muse_") for name in context.pack.suite_scores)
    for name in section.metrics:
        if name not in metrics:
            problems.add(
                f"unknown metric {name!r}",
                where=where("metrics"),
                allowed=", ".join(metrics),
                fix=near(str(name), metrics),
            )
    for name in section.openunlearning:
        if name not in COMPATIBILITY:
            problems.add(
                f"unknown choice {name!r} in openunlearning",
                where=where("openunlearning"),
                allowed=", ".join(COMPATIBILITY),
            )
    for name, value in section.plain_tags.items():
        if name not in PLAIN_TAGS or not isinstance(value, str):
            problems.add(
                f"plain_tags: {name}: {value!r} is not accepted",
                where=where("plain_tags", name),
                allowed=f"texts for {', '.join(PLAIN_TAGS)}",
            )
    for name in section.revision:
        if name not in {"tofu", "muse"}:
            problems.add(
                f"unknown key {name!r} in revision",
                where=where("revision", name),
                allowed="tofu, muse",
            )


def _check_values(context: Context) -> None:
    section = context.section
    problems = context.problems
    where = context.where
    if str(section.gradient_norm) not in {"1", "2", "inf"}:
        problems.add(
            f"gradient_norm is {section.gradient_norm!r}",
            where=where("gradient_norm"),
            allowed="1, 2 or inf",
        )
    if section.judge_prompt:
        judge_prompt = Path(context.locate(section.judge_prompt))
        try:
            load_prompt(judge_prompt)
            remember_file(judge_prompt)  # as code of this user, which other verbs may run
        except BadInput as error:
            problems.extend(error.problems)
    reference = retain_results(context)
    if reference is not None and not on_hub(reference) and not reference.exists():
        problems.add(
            f"retain_results: there is no {reference}",
            where=where("retain_results"),
            allowed=(
                "a run of the retain model, a log of its scores, or hub:owner/name/folder "
                "with such a log"
            ),
            fix="evaluate the retain model first, or leave it out and score with --reference later",
        )


def _check_applied_template(context: Context, choices: Choices, planned: Plan) -> None:
    problems, where = context.problems, context.where
    if choices.prompts in {"template", "plain"}:
        problems.add(
            f"apply_chat_template is true, and prompts: {choices.prompts} writes complete prompts",
            where=where("apply_chat_template"),
            fix="remove apply_chat_template, or choose prompts: harness",
        )
    completions = _completions(context, planned)
    if completions:
        problems.add(
            f"apply_chat_template is true, and {', '.join(completions)} continue plain texts",
            where=where("apply_chat_template"),
            fix="prepare those tasks by themselves without apply_chat_template",
        )
    if context.config.core.system_instruction is None and choices.system_prompt:
        problems.add(
            "prompts: harness takes the system message from system_instruction, and none is given",
            where=where("system_prompt"),
            fix=(
                f'add `system_instruction: "{choices.system_prompt}"`, or set '
                'unlearning.system_prompt to ""'
            ),
        )


def _completions(context: Context, planned: Plan) -> list[str]:
    return [
        name
        for name, task in planned.tasks.items()
        if context.pack.maker_of(name) is context.pack
        and not task.stock
        and data_of(name, context.section).kind != "qa"
    ]


def length_note(context: Context, planned: Plan) -> str | None:
    """A warning where scored texts may be longer than the model takes."""
    scored = [
        task
        for task in _completions(context, planned)
        if task.endswith(("_lp", "_moments", "_gradient"))
    ]
    limit = context.config.core.max_model_len
    if not scored or limit >= TEXT_TOKENS + 2:
        return None
    return f"max_model_len is {limit}: texts over that are refused and counted, not cut"
