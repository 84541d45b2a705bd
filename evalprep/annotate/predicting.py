"""A model in memory or behind an address, asked from Python: prompts in, predictions out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, Protocol, runtime_checkable

from evalprep.annotate.asking import backoff
from evalprep.annotate.providers.endpoint import Endpoint
from evalprep.annotate.providers.wire import RefusedError, UnansweredError
from evalprep.errors import BadInput, Problem, near

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_ENDPOINT_KEYS = ("base_url", "model", "chat", "key_from", "timeout", "generation")
OF_ENDPOINTS = 8
"""Requests at a time to an endpoint, where the user does not say."""


@runtime_checkable
class Predictor(Protocol):
    """A model as fmeval's model runners are."""

    def predict(self, prompt: str) -> tuple[str | None, float | None]:
        """Returns the reply to a prompt, and the log-probability of the prompt, where it has one.

        Either may be None.
        """


Model = Predictor | Callable[[str], Any] | str | Mapping[str, Any]
"""An object with `predict`, a function of a prompt, or an address (docs/packs/fm.md)."""


@dataclass(frozen=True)
class Prediction:
    """What a model gave for one prompt.

    Attributes:
        text: Its reply; None where it gave none.
        log_probability: The log-probability of the prompt, in nats; None where it gave none.
        error: Why there is nothing, empty where there is something.
    """

    text: str | None = None
    log_probability: float | None = None
    error: str = ""


class _Function:
    """A function of a prompt as a model: it returns a reply, or (reply, log-probability)."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.function = function

    def predict(self, prompt: str) -> tuple[str | None, float | None]:
        return _pair(self.function(prompt))


def _pair(given: Any) -> tuple[Any, Any]:
    """A reply and a log-probability, of which one may stand alone."""
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return given[0], given[1]
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return (None, given) if is_number else (given, None)


def predictor_of(model: Model, generation: Mapping[str, Any], chat: bool | None) -> Predictor:
    """Returns what is asked.

    Args:
        model: What the user gave.
        generation: `max_tokens`, `temperature` and `stop` of replies, for an endpoint.
        chat: Whether an endpoint gets prompts as a user's turn; None for what its address says.

    Raises:
        BadInput: it is no model, or an address with unknown keys.
    """
    endpoint: Endpoint | None = None
    if isinstance(model, Endpoint):
        endpoint = model
    elif isinstance(model, str):
        endpoint = Endpoint(model)
    elif isinstance(model, Mapping):
        endpoint = _endpoint_of(model)
    if endpoint is not None:
        chosen = endpoint.chat if chat is None else chat
        parameters = {**generation, **endpoint.generation}
        endpoint = replace(endpoint, chat=chosen, generation=parameters)
        with ThreadPoolExecutor(1) as pool:  # a notebook's own loop runs in this thread
            return replace(endpoint, model=pool.submit(endpoint.named).result())
    if isinstance(model, Predictor):
        return model
    if callable(model):
        return _Function(model)
    what = f"model is {type(model).__name__}"
    allowed = "an object with predict(prompt), a function of a prompt, or an address"
    raise BadInput(Problem(what=what, where="model", allowed=allowed))


def _endpoint_of(keys: Mapping[str, Any]) -> Endpoint:
    for key in keys:
        if key not in _ENDPOINT_KEYS:
            what = f"unknown key {key!r}"
            allowed, fix = ", ".join(_ENDPOINT_KEYS), near(str(key), _ENDPOINT_KEYS)
            raise BadInput(Problem(what=what, where="model", allowed=allowed, fix=fix))
    if not isinstance(keys.get("base_url"), str):
        fix = "give {'base_url': 'http://127.0.0.1:8000/v1', 'model': NAME}"
        raise BadInput(Problem(what="model has no base_url", where="model", fix=fix))
    return Endpoint(**keys)


def predictions(
    predictor: Predictor,
    prompts: Sequence[str],
    *,
    log_probability: bool = False,
    threads: int = 1,
    retries: int = 2,
) -> list[Prediction]:
    """Asks a model, in the order of the prompts.

    Args:
        predictor: The model.
        prompts: What it is asked; equal prompts are asked each.
        log_probability: Ask for the log-probability of each prompt and not for a reply.
        threads: Prompts at a time; a model that several threads may not enter takes 1.
        retries: Further attempts at a prompt whose attempt failed.
    """
    ask = partial(_ask, predictor, log_probability=log_probability, retries=retries)
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        return list(pool.map(ask, prompts))


def _ask(predictor: Predictor, prompt: str, *, log_probability: bool, retries: int) -> Prediction:
    for attempt in count(1):
        try:
            return _attempt(predictor, prompt, log_probability=log_probability)
        except UnansweredError as error:
            reason, again, stated_wait = str(error), error.again, error.wait
        except RefusedError as error:
            reason, again, stated_wait = str(error), False, None
        except Exception as error:  # noqa: BLE001 - the user's model may fail in any way
            reason, again, stated_wait = f"{type(error).__name__}: {error}", True, None
        if not again or attempt > retries:
            break
        wait = backoff(attempt, _FIRST_WAIT, _LONGEST_WAIT) if stated_wait is None else stated_wait
        time.sleep(min(wait, _LONGEST_WAIT))
    return Prediction(error=reason)


def _attempt(predictor: Predictor, prompt: str, *, log_probability: bool) -> Prediction:
    if log_probability:
        if isinstance(predictor, Endpoint):
            return Prediction(log_probability=predictor.log_probability(prompt))
        value = _pair(predictor.predict(prompt))[1]
        if value is None:
            return Prediction(error="the model gives no log-probability")
        return Prediction(log_probability=float(value))
    text = _pair(predictor.predict(prompt))[0]
    if text is None:
        return Prediction(error="the model gives no text")
    if not isinstance(text, str):
        return Prediction(error=f"the model gives {type(text).__name__}, expected a text")
    return Prediction(text=text)
