"""The words that a person wrote in a prompt, without those of a chat template.

A judge of the same family would take headers of turns for its own, and rates the system text and
the names of roles with the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalprep.packs.chats import messages_of

#: How templates open a turn; the next one, or the end of the prompt, ends it.
_OPENINGS = (
    "<|start_header_id|>{role}<|end_header_id|>",
    "<|im_start|>{role}\n",
    "<start_of_turn>{role}\n",
    "<|{role}|>\n",
)
_ROLES = {"user": "user", "assistant": "assistant", "model": "assistant", "system": "system"}
_CONTROL = re.compile(
    r"<\|[^<>|\s]{1,40}\|>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|<bos>|<eos>|</?s>"
)
_SYSTEM, _END_OF_SYSTEM = "<<SYS>>", "<</SYS>>"
_Turn = tuple[str, str]


def asked_in(prompt: str) -> str:
    r"""Returns what a prompt asks, without the words of its chat template and its system text.

    That is the user's turn; of several turns, each of user and assistant as a paragraph. A prompt
    without a template stays as it is.

    >>> asked_in("[INST] <<SYS>>Be kind.<</SYS>> Who? [/INST]"), asked_in("Question: Who?")
    ('Who?', 'Question: Who?')
    >>> asked_in("<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n")
    'Who?'
    >>> asked_in('[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Who?"}]')
    'Who?'
    """
    messages = [(message.role, message.text.strip()) for message in messages_of(prompt)]
    turns = messages or list(_turns_in(prompt))
    texts = [text for role, text in turns if role != "system" and text]
    if texts:
        return "\n\n".join(texts)
    before, _, rest = prompt.partition(_SYSTEM)
    _, end, after = rest.partition(_END_OF_SYSTEM)
    return without_control(before + after if end else prompt)


def without_control(text: str) -> str:
    """Returns a text without the tokens that chat templates are made of; one without any as it is.

    >>> without_control("<|im_start|>Taipei<|im_end|>")
    'Taipei'
    """
    if _CONTROL.search(text):
        return _CONTROL.sub("", text).strip()
    return text


def _turns_in(prompt: str) -> Iterator[_Turn]:
    """Yields the turns of a rendered prompt, by the first template whose marks it has."""
    for opening in _OPENINGS:
        marks = {opening.format(role=role): name for role, name in _ROLES.items()}
        headers = list(re.finditer("|".join(map(re.escape, marks)), prompt))
        limits = [*(header.start() for header in headers[1:]), len(prompt)]
        for header, limit in zip(headers, limits, strict=False):
            text = prompt[header.end() : limit]
            yield marks[header.group()], without_control(text).strip()
        if headers:
            return
