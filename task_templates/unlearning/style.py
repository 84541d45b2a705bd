"""The prompt style of a run, and the tokenizer that a style may need."""

from __future__ import annotations

from functools import partial
from typing import Any

from evalprep.packapi import BadInput, Context, Problem

from .prompts import PLAIN_TAGS, Harness, Plain, Style, Template
from .recipe import choices_of


def style_of(context: Context) -> Style:
    """The prompt style of this run, chosen once.

    Raises:
        BadInput: a chat template is wanted, and the tokenizer cannot be loaded, has none or has one
            that fails.
    """
    return context.once("style", partial(_choose, context))


def _choose(context: Context) -> Style:
    choices = choices_of(context)
    style = choices.prompts
    if style == "harness" or (style == "auto" and context.config.core.apply_chat_template):
        return Harness()
    if style == "template" or (style == "auto" and tokenizer_of(context).chat_template):
        return _template(context)
    return Plain({**PLAIN_TAGS, **choices.plain_tags})


def _template(context: Context) -> Template:
    choices = choices_of(context)
    tokenizer = tokenizer_of(context)
    if not tokenizer.chat_template:
        raise BadInput(
            Problem(
                what=f"{context.config.core.model_name} has no chat template",
                where=context.where("prompts"),
                allowed="auto, plain, harness",
                fix="choose prompts: plain",
            )
        )
    try:
        return Template(
            tokenizer,
            system=choices.system_prompt or None,
            arguments=choices.template_arguments,
            whole_tail="tail" in choices.openunlearning,
        )
    except Exception as error:
        # Templates are programs: what they raise (no system role, a missing argument) is about the
        # settings.
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise BadInput(
            Problem(
                what=f"the chat template of {context.config.core.model_name} fails: {reason}",
                where=context.where(
                    "template_arguments" if choices.template_arguments else "system_prompt"
                ),
                allowed="what the template takes as system_prompt and template_arguments",
                fix=(
                    'if it takes no system message (Gemma), set system_prompt: ""; or choose '
                    "prompts: plain"
                ),
            )
        ) from error


def tokenizer_of(context: Context) -> Any:
    """The model's tokenizer, from the folder or hub id that the run will use.

    Raises:
        BadInput: it cannot be loaded.
    """
    return context.tokenizer(
        fix=(
            "fetch the model first, or choose prompts: plain or prompts: harness, which "
            "need none now"
        )
    )
