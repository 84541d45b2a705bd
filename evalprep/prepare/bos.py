"""The begin-of-text token (BOS) before prompts: `add_bos_token` of a command.

The user's word counts before a pack's, a pack's before the tokenizer's own habit. lm-eval's vLLM
and transformers back ends leave the habit to the tokenizer where the argument is absent; its server
back end takes an absent argument for false, so that there the habit is written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalprep.backends import BACKENDS, Backend
from evalprep.config import Core
from evalprep.model import Tokenizer
from evalprep.packs import Plan, TaskPlan

ARGUMENT = "add_bos_token"
#: What makes two values of `add_bos_token` equal: the token ids that they put before a prompt.
Effect = tuple[int, ...] | bool | None


def is_said(core: Core) -> bool:
    """Returns whether the user says something of it, null included."""
    return ARGUMENT in core.model_args or core.states(ARGUMENT)


def without_overruled_bos(plan: Plan, core: Core) -> None:
    """Takes the wish of a pack out of its tasks where the user says otherwise."""
    if not is_said(core):
        return
    for name, task in plan.tasks.items():
        arguments = {key: value for key, value in task.call.model_args.items() if key != ARGUMENT}
        plan.tasks[name] = replace(task, call=replace(task.call, model_args=arguments))


def bos_of(task: TaskPlan, core: Core) -> bool | None:
    """The value for a task.

    None for what the tokenizer does by itself, and where lm-eval has no tokenizer.
    """
    backend = BACKENDS[task.call.backend or core.backend]
    if not backend.loads_model and not backend.sends_token_ids:
        return None
    value = task.call.model_args.get(ARGUMENT, core.model_args.get(ARGUMENT, core.add_bos_token))
    return value if isinstance(value, bool) else None


def effects(value: bool | None, tokenizers: Sequence[Tokenizer | None]) -> tuple[Effect, ...]:
    """The tokens that a value puts before a prompt with each tokenizer.

    The value itself where a tokenizer is not here.
    """
    return tuple(
        value if tokenizer is None else tuple(tokenizer.prefix("x", value, None))
        for tokenizer in tokenizers
    )


def written_bos(
    value: bool | None, backend: Backend, tokenizer: Tokenizer | None, *, chat: bool
) -> bool | None:
    """The argument as the command has it; None where it is left out.

    Args:
        value: True, false, or None for what the tokenizer does by itself.
        backend: The back end.
        tokenizer: That of the model, None when it is not here.
        chat: The chat template is applied at run time.
    """
    if backend.adds_bos is not False:
        return value
    if chat:
        # The server back end puts a BOS before any text; a rendered template has written its own.
        return False
    if value is None and tokenizer is not None:
        return bool(tokenizer.own_prefix)
    return value
