"""Prompts and scored continuations of question-answer rows.

A model can be asked in three ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

#: A question with its answer.
Shot = tuple[str, str]

#: Plain prompts of OpenUnlearning's base models (Llama-2 base, phi-1.5).
PLAIN_TAGS = {
    "system": "",
    "user_start": "Question: ",
    "user_end": "\n",
    "assistant_start": "Answer: ",
    "assistant_end": "\n\n",
}
#: Stands for question and answer where a template is asked what it writes around them.
PROBE = "Probe 4711."


class Style(Protocol):
    """The form of prompts and of scored continuations."""

    name: str
    #: Options of the token log-probability requests that go with the style.
    options: dict[str, Any]
    #: Strings that end a generation, besides the task's own.
    until: list[str]

    def prompt(self, question: str, shots: Sequence[Shot] = ()) -> str:
        """The text that the model continues."""
        ...

    def continuation(self, question: str, answer: str) -> str:
        """The scored text, end of turn included where the style writes one."""
        ...


@dataclass
class Plain:
    """Tags around question and answer, no chat template; the end-of-sequence token is scored."""

    tags: Mapping[str, str]
    name: str = "plain"
    options: dict[str, Any] = field(default_factory=lambda: {"append_eos": True})
    until: list[str] = field(default_factory=list)

    def prompt(self, question: str, shots: Sequence[Shot] = ()) -> str:
        """System text, shots, then the question up to the place of the answer."""
        tags = self.tags
        turns = [self._open(shot) + answer + tags["assistant_end"] for shot, answer in shots]
        return tags["system"] + "".join(turns) + self._open(question)

    def _open(self, question: str) -> str:
        tags = self.tags
        return tags["user_start"] + question + tags["user_end"] + tags["assistant_start"]

    # The other styles need the question.
    def continuation(self, question: str, answer: str) -> str:  # noqa: ARG002
        """The answer as it is."""
        return answer


@dataclass
class Harness:
    """The bare question: lm-eval applies the chat template at run time.

    This needs `apply_chat_template: true`.
    """

    name: str = "harness"
    options: dict[str, Any] = field(default_factory=lambda: {"append_eos": True})
    until: list[str] = field(default_factory=list)

    # lm-eval adds the shots.
    def prompt(self, question: str, shots: Sequence[Shot] = ()) -> str:  # noqa: ARG002
        """The question."""
        return question

    # The other styles need the question.
    def continuation(self, question: str, answer: str) -> str:  # noqa: ARG002
        """The answer as it is."""
        return answer


class Template:
    """The model's own chat template, rendered now.

    Prompts are then in the data, and one command serves all tasks.

    The scored part is the assistant's turn up to the first end token after the answer. Templates in
    the ChatML manner close a turn with the end token and a newline; scoring that tail (and one more
    end token, as OpenUnlearning does) flatters averages, so it takes `whole_tail`.
    """

    name = "template"

    def __init__(
        self, tokenizer: Any, *, system: str | None, arguments: Mapping[str, Any], whole_tail: bool
    ) -> None:
        self._tokenizer = tokenizer
        self._system = system
        self._arguments = dict(arguments)
        self._whole_tail = whole_tail
        # Some tokenizers add runs of blanks to their vocabulary; those end nothing.
        special = {
            token
            for token in (*tokenizer.all_special_tokens, *tokenizer.get_added_vocab())
            if token.strip()
        }
        ordered = sorted(special, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self.options: dict[str, Any] = {"append_eos": True} if whole_tail else {}
        #: Whether the full text does not begin with the prompt.
        self.unaligned = False
        #: What the template writes between the prompt and an answer, such as an empty chain of
        # thought.
        self.lead = ""
        tail = self._tail(PROBE, PROBE)
        self.lead = tail[: max(0, tail.rfind(PROBE))]
        closing = self._closing(tail, PROBE)
        self.until: list[str] = [closing[0]] if closing else []

    def _render(self, messages: list[dict[str, str]], *, open_turn: bool) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=open_turn, **self._arguments
            )
        )

    def _messages(self, question: str, shots: Sequence[Shot] = ()) -> list[dict[str, str]]:
        messages = [{"role": "system", "content": self._system}] if self._system else []
        for shot, answer in shots:
            messages += [
                {"role": "user", "content": shot},
                {"role": "assistant", "content": answer},
            ]
        return [*messages, {"role": "user", "content": question}]

    def prompt(self, question: str, shots: Sequence[Shot] = ()) -> str:
        """The rendered conversation, the assistant's turn opened."""
        return self._render(self._messages(question, shots), open_turn=True)

    def _tail(self, question: str, answer: str) -> str:
        """Returns what the template writes after the prompt for this answer."""
        messages = self._messages(question)
        prompt = self._render(messages, open_turn=True)
        whole = self._render([*messages, {"role": "assistant", "content": answer}], open_turn=False)
        if whole.startswith(prompt):
            return whole[len(prompt) :]
        self.unaligned = True
        return answer + (self._tokenizer.eos_token or "")

    def continuation(self, question: str, answer: str) -> str:
        """The assistant's turn: to its first end token, or all of it with `whole_tail`."""
        tail = self._tail(question, answer)
        if self._whole_tail:
            return tail
        closing = self._closing(tail, answer)
        if closing:
            return tail[: closing.end()]
        return tail + (self._tokenizer.eos_token or "")

    def _closing(self, tail: str, answer: str) -> re.Match[str] | None:
        """The first end token after the answer.

        What stands before it may hold tokens of its own, such as `<think>`.
        """
        text = answer.strip()
        place = tail.rfind(text) if text else -1
        after = place + len(text) if place >= 0 else len(self.lead)
        if self._special:
            return self._special.search(tail, after)
        return None

    def adds_bos(self, prompt: str) -> bool:
        """Returns whether tokenising with special tokens adds one that the template has not."""
        without = self._tokenizer(prompt, add_special_tokens=False)["input_ids"]
        bos = self._tokenizer.bos_token_id
        if bos is None or (without and without[0] == bos):
            return False
        return bool(self._tokenizer(prompt)["input_ids"] != without)
