"""The harness task that talks, and the method of model classes that it calls."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.dialogue.turns import Dialogue, Message, Stop, without_system

#: Column with the messages of a row, unless the task's metadata names another.
MESSAGES = "messages"
REQUEST = "dialogue"


def _render(lm: Any, messages: list[Message]) -> Any:
    """The prompt of a turn: the model's own template, without a system role where it knows none."""
    try:
        return lm.apply_chat_template(messages)
    except NotImplementedError:  # lm-eval's dummy
        return "\n".join(f"{message['role']}: {message['content']}" for message in messages)
    except Exception:
        if not any(message["role"] == "system" for message in messages):
            raise
        return lm.apply_chat_template(without_system(messages))


def opened(request: Any) -> Dialogue:
    """The dialogue that a request asks for, up to its first message for the model."""
    messages, _, stop = request.args
    return Dialogue(json.loads(messages), request.doc, _stop(stop))


def turn_request(lm: Any, request: Any, talk: Dialogue) -> Any:
    """The request for the model's reply to the last message of a dialogue.

    It names the row and the turn, by which whoever keeps responses finds this one again.
    """
    from lm_eval.api.instance import Instance

    return Instance(
        request_type="generate_until",
        doc=request.doc,
        arguments=(_render(lm, talk.said), dict(request.args[1])),
        idx=len(talk.replies),
        metadata=(request.task_name, request.doc_id, 1),
    )


def talk(self: Any, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
    """Answers dialogues turn by turn, all rows of a turn in one batch.

    It becomes a method of lm-eval's model classes.
    """
    talks = [opened(request) for request in requests]
    while waiting := [place for place, talk in enumerate(talks) if not talk.over]:
        turns = [turn_request(self, requests[place], talks[place]) for place in waiting]
        replies = self.generate_until(turns, disable_tqdm=disable_tqdm)
        for place, reply in zip(waiting, replies, strict=True):
            talks[place].answer(reply)
    return [talk.dump() for talk in talks]


@functools.cache
def _stop(name: str) -> Stop | None:
    """The function behind a dotted name; None for an empty one."""
    if not name:
        return None
    module, _, function = name.rpartition(".")
    stop: Stop = getattr(importlib.import_module(module), function)
    return stop


class Talking:
    """The methods in which a task differs from `ConfigurableTask`.

    Emit dialogues. See the package's docstring for the YAML.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        # The evaluator builds the model before the tasks, so its base class is loaded by now.
        sys.modules["lm_eval.api.model"].LM.dialogue = talk
        settings = dict(config or {})
        # The harness resolves `class` to this type but does not know it as a field of the task.
        settings.pop("class", None)
        own = dict((settings.get("metadata") or {}).get("dialogue") or {})
        self._messages = str(own.get("messages", MESSAGES))
        self._stop = str(own.get("stop", ""))
        _stop(self._stop)  # a wrong name is told now and not after the model has spoken
        super().__init__(config=settings)  # type: ignore[call-arg] # the other base is lm_eval's

    def construct_requests(self, doc: Mapping[str, Any], ctx: Any, **kwargs: Any) -> list[Any]:
        """One request per row; `ctx`, the prompt as the harness built it, is not used."""
        from lm_eval.api.instance import Instance

        del ctx
        for name in ("apply_chat_template", "chat_template"):
            kwargs.pop(name, None)
        # `config` is an attribute of the other base, lm_eval's task.
        generation = dict(self.config.generation_kwargs or {})  # type: ignore[attr-defined]
        # The harness hashes and logs the first argument as the prompt, which has to be a text.
        messages = json.dumps(
            [dict(message) for message in doc[self._messages]], ensure_ascii=False
        )
        arguments = (messages, generation, self._stop)
        return [Instance(request_type=REQUEST, doc=doc, arguments=arguments, idx=0, **kwargs)]


@functools.cache
def task_class() -> type:
    """`DialogueTask`: `Talking` on top of the harness' `ConfigurableTask`."""
    import lm_eval.api.model  # noqa: F401 - its class gets the method
    from lm_eval.api.task import ConfigurableTask

    return type("DialogueTask", (Talking, ConfigurableTask), {"__doc__": Talking.__doc__})
