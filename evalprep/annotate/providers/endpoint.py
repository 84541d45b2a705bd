"""The model under test behind an address that speaks OpenAI's protocol, asked prompt by prompt."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalprep.annotate.providers.openai import OpenAI
from evalprep.annotate.providers.route import travels_openly
from evalprep.annotate.providers.service import Service
from evalprep.annotate.providers.wire import UnansweredError
from evalprep.errors import BadInput, Problem

_CHAT, _PLAIN, _MODELS = "/chat/completions", "/completions", "/models"
_KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(frozen=True)
class Endpoint:
    """A model behind an address.

    Attributes:
        base_url: The address, with or without the path of the requests:
            `http://127.0.0.1:8000/v1`, `.../v1/completions`, `.../v1/chat/completions`.
        model: The model's name there; None for the first one that the server lists.
        chat: Whether prompts are sent as a user's turn; None for what the path of the address says,
            plain prompts without one.
        key_from: The environment variable of the key, which does not travel over plain http to
            another machine.
        timeout: Seconds for one request.
        generation: Parameters of each request for text: `max_tokens`, `temperature`, `stop`.
    """

    base_url: str
    model: str | None = None
    chat: bool | None = None
    key_from: str = _KEY_VARIABLE
    timeout: float = 120.0
    generation: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses an address without a scheme.

        Raises:
            BadInput: the address is not one of http or https.
        """
        if not self.base_url.startswith(("http://", "https://")):
            what = f"{self.base_url!r} is not an address"
            fix = "give the address of a server, e.g. http://127.0.0.1:8000/v1"
            raise BadInput(Problem(what=what, where="model", fix=fix))

    @property
    def is_chat(self) -> bool:
        """Returns whether prompts are sent as a user's turn."""
        if self.chat is not None:
            return self.chat
        return self.base_url.rstrip("/").endswith(_CHAT)

    def named(self) -> str:
        """The name of the model; the server is asked where none is given.

        Raises:
            BadInput: the server lists no model.
        """
        if self.model is not None:
            return self.model
        try:
            body = asyncio.run(self._ask(_MODELS))
            return str(body["data"][0]["id"])
        except UnansweredError as error:
            reason = str(error)
        except (KeyError, IndexError, TypeError):
            reason = "it lists no model"
        what = f"the name of the model at {self.base_url} is unknown: {reason}"
        fix = "give model={'base_url': ..., 'model': NAME}"
        raise BadInput(Problem(what=what, where="model", fix=fix))

    def predict(self, prompt: str) -> tuple[str | None, float | None]:
        """Returns the reply to a prompt; an endpoint gives no log-probability with it.

        Raises:
            UnansweredError: no reply.
            RefusedError: the server takes no request of ours.
        """
        body: dict[str, Any] = {"model": self.model, **self.generation}
        if self.is_chat:
            body["messages"] = [{"role": "user", "content": prompt}]
            data = asyncio.run(self._ask(_CHAT, body))
            answer = OpenAI().answer(data)
            return (None if answer is None else answer.text), None
        body["prompt"] = prompt
        choice = _first_choice(asyncio.run(self._ask(_PLAIN, body)))
        text = choice.get("text")
        return (text if isinstance(text, str) else None), None

    def log_probability(self, prompt: str) -> float | None:
        """Returns the log-probability of a text, in nats, without its first token.

        Servers give none for the first token, before which nothing stands.

        Raises:
            UnansweredError: the server gives no log-probabilities of a prompt.
            RefusedError: the server takes no request of ours.
        """
        if self.is_chat:
            reason = "a chat endpoint gives no log-probability of a text; name .../v1/completions"
            raise UnansweredError(reason, again=False)
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": 1,
            "temperature": 0,
            "echo": True,
            "logprobs": 1,
        }
        choice = _first_choice(asyncio.run(self._ask(_PLAIN, body)))
        logged = choice.get("logprobs")
        values = logged.get("token_logprobs") if isinstance(logged, Mapping) else None
        if not isinstance(values, list) or len(values) < 2:
            reason = "the server gives no log-probabilities of a prompt (echo with logprobs)"
            raise UnansweredError(reason, again=False)
        offsets = logged.get("text_offset") if isinstance(logged, Mapping) else None
        of_prompt = values[:-1]
        if isinstance(offsets, list) and len(offsets) == len(values):
            pairs = zip(values, offsets, strict=True)
            of_prompt = [value for value, offset in pairs if offset < len(prompt)]
        return float(sum(value for value in of_prompt if value is not None))

    async def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The server's answer to a body, or to a request without one."""
        base = self.base_url.rstrip("/").removesuffix(_CHAT).removesuffix(_PLAIN)
        key = os.environ.get(self.key_from, "").strip() or None
        if travels_openly(base):
            key = None
        async with Service(OpenAI(), base, key, connections=1, deadline=self.timeout) as service:
            if body is None:
                response = await service.http.request("GET", path)
            else:
                response = await service.http.post_json(path, body)
            if response.status != 200:
                raise service.failed(response)
            return service.data(response)


def _first_choice(body: Any) -> Mapping[str, Any]:
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    raise UnansweredError("the response does not have the format of this API", again=True)
