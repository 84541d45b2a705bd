"""The prompt style of a run, and the tokenizer that a style may need."""

from __future__ import annotations

from typing import Any

from evalprep.packapi import BadInput, Context, Problem

from .prompts import PLAIN_TAGS, Harness, Plain, Style, Template


def style_of(context: Context) -> Style:
    """The prompt style of this run, chosen once.

    Raises:
        BadInput: a chat template is wanted, and the tokenizer cannot be loaded, has none or has one that fails.
    """
    if "style" not in context.cache:
        context.cache["style"] = _choose(context)
    style: Style = context.cache["style"]
    return style


def _choose(context: Context) -> Style:
    section, wanted = context.section, context.section.prompts
    if wanted == "harness" or (wanted == "auto" and context.config.core.apply_chat_template):
        return Harness()
    if wanted == "template" or (wanted == "auto" and tokenizer_of(context).chat_template):
        return _template(context)
    return Plain({**PLAIN_TAGS, **section.plain_tags})


def _template(context: Context) -> Template:
    section, tokenizer = context.section, tokenizer_of(context)
    if not tokenizer.chat_template:
        raise BadInput(
            Problem(
                what=f"{context.config.core.model_name} has no chat template",
                where=f"{context.config.path} (unlearning.prompts)",
                allowed="auto, plain, harness",
                fix="choose prompts: plain",
            )
        )
    try:
        return Template(
            tokenizer,
            system=section.system_prompt or None,
            arguments=section.template_arguments,
            whole_tail="tail" in section.openunlearning,
        )
    except Exception as error:
        # Templates are programs: what they raise (no system role, a missing argument) is about the settings.
        raise BadInput(
            Problem(
                what=f"the chat template of {context.config.core.model_name} fails: {str(error).splitlines()[0]}",
                where=f"{context.config.path} (unlearning)",
                allowed="what the template takes as system_prompt and template_arguments",
                fix='if it takes no system message (Gemma), set system_prompt: ""; or choose prompts: plain',
            )
        ) from error


def tokenizer_of(context: Context) -> Any:
    """The model's tokenizer, from the folder or hub id that the run will use.

    Raises:
        BadInput: it cannot be loaded.
    """
    if "tokenizer" not in context.cache:
        from transformers import AutoTokenizer

        core = context.config.core
        name = str(core.model_args.get("tokenizer") or core.model_name)
        try:
            context.cache["tokenizer"] = AutoTokenizer.from_pretrained(
                context.locate(name),
                revision=core.model_revision or "main",
                trust_remote_code=bool(core.model_args.get("trust_remote_code", False)),
            )
        except Exception as error:
            # transformers raises OSError, ValueError, ImportError and others, all meaning the same here.
            raise BadInput(
                Problem(
                    what=f"the tokenizer of {name} cannot be loaded: {str(error).splitlines()[0]}",
                    where=f"{context.config.path} (model_name)",
                    allowed="prompts: plain or prompts: harness need no tokenizer now",
                    fix="fetch the model first, or choose unlearning.prompts",
                )
            ) from error
    return context.cache["tokenizer"]
