"""lm-eval's dummy with a chat template that is on this machine.

    python -m evalprep.run.rehearsal --model dummy --tasks ... --apply_chat_template

takes the words of an `lm_eval` command. lm-eval's own dummy asks the model hub for a tokenizer as
soon as a task is a chat; a rehearsal has to work without a network.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from evalprep.backends import CHAT_MODEL
from evalprep.model import ChatTemplate, load_tokenizer, model_folder

Message = dict[str, str]


def give_template(lm: Any) -> None:
    """Gives a dummy, or the class of all dummies, the chat template of the rehearsed model."""
    render = chat_template(os.environ.get(CHAT_MODEL, ""))
    # lm-eval reads the tokenizer after the run only to note its name.
    lm.tokenizer = None
    lm.apply_chat_template = staticmethod(render) if isinstance(lm, type) else render


def chat_template(model: str) -> Callable[..., str]:
    """The function that renders messages for a model.

    The model's own template where its tokenizer is on this machine, else ChatML.

    Args:
        model: Hub id or folder; "" for none.
    """
    tokenizer = load_tokenizer(model_folder(model)) if model else None
    if tokenizer is None or not tokenizer.chat_template:
        return render_chatml
    return ChatTemplate(tokenizer, {})


def render_chatml(messages: list[Message], add_generation_prompt: bool = True) -> str:
    r"""Renders messages as ChatML; without a generation prompt the last one stays open.

    >>> render_chatml([{"role": "user", "content": "Hi"}])
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'
    """
    turns = [f"<|im_start|>{message['role']}\n{message['content']}" for message in messages]
    text = "<|im_end|>\n".join(turns)
    return f"{text}<|im_end|>\n<|im_start|>assistant\n" if add_generation_prompt else text


def main() -> None:
    """Runs lm-eval on the words of the command line."""
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.models.dummy import DummyLM

    from evalprep.run.replaced import stop_replaced

    stop_replaced()
    give_template(DummyLM)
    sys.argv[0] = "lm_eval"
    cli_evaluate()


if __name__ == "__main__":
    main()
