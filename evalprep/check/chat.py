"""EP615, EP724, EP725: the chat template as lm-eval applies it, and mistakes in applying it."""

from __future__ import annotations

from evalprep.check.finding import Findings
from evalprep.check.settings import RunSettings
from evalprep.files import as_mapping
from evalprep.model import ChatTemplate, Tokenizer, template_variables


def chat_template(tokenizer: Tokenizer | None, settings: RunSettings) -> ChatTemplate | None:
    """The function with which lm-eval renders messages; None without a template to apply."""
    if not settings.apply_chat_template:
        return None
    return ChatTemplate(tokenizer, template_variables(settings.core.model_args))


def check_template(
    tokenizer: Tokenizer | None, settings: RunSettings, generates: bool, findings: Findings
) -> None:
    """Reports a template that is missing, or that makes the model think unnoticed.

    Args:
        tokenizer: The model's tokenizer.
        settings: The run.
        generates: Whether some task generates.
        findings: Gets EP615, EP724 and EP725.
    """
    arguments = as_mapping(settings.core.model_args.get("chat_template_args"))
    if "enable_thinking" in arguments and settings.splits_model:
        what = f"enable_thinking: {arguments['enable_thinking']}"
        findings.add("EP725", "model_args.chat_template_args", what)
    if not settings.apply_chat_template or tokenizer is None:
        return
    if not tokenizer.chat_template:
        findings.add("EP615", "apply_chat_template", f"{tokenizer.folder} has no chat template")
    elif generates and _thinks_unnoticed(tokenizer, settings):
        findings.add("EP724", "model_args.think_end_token", "is not set")


def _thinks_unnoticed(tokenizer: Tokenizer, settings: RunSettings) -> bool:
    """Returns whether replies begin with a chain of thought whose end lm-eval is not told.

    The template opens it, or the model does by default.
    """
    if settings.core.model_args.get("think_end_token"):
        return False
    message = {"role": "user", "content": "x"}
    try:
        variables = template_variables(settings.core.model_args)
        turn = tokenizer.render_chat([message], variables=variables)
    except ValueError:
        return False  # reported for each task
    opened = turn.rfind("<think>") > turn.rfind("</think>")
    return opened or ("enable_thinking" in tokenizer.chat_template and "</think>" not in turn)
