"""The harness task that asks for the first token, and the method of model classes that it calls."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from custom_metrics.first_token.answer import top_tokens

REQUEST = "first_token"
#: The most that OpenAI's services name; COMPL-AI v1 asks for as many.
TOP = 20


def first_token(self: Any, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:  # noqa: ARG001 - harness'
    """Asks a service for the likeliest first tokens of replies.

    It becomes a method of lm-eval's model classes; one that posts nothing knows no token.
    """
    if not hasattr(self, "model_call"):
        return ["{}" for _ in requests]
    from tenacity import retry, stop_after_attempt, wait_exponential

    post = retry(
        stop=stop_after_attempt(self.max_retries),
        wait=wait_exponential(multiplier=0.5, min=1, max=10),
        reraise=True,
    )(self.model_call)

    def ask(request: Any) -> str:
        prompt, generation = request.args
        arguments = {**generation, "logprobs": True, "top_logprobs": TOP}
        return json.dumps(top_tokens(post([prompt], generate=True, gen_kwargs=arguments)))

    with ThreadPoolExecutor(max(int(self._concurrent), 1)) as pool:
        return list(pool.map(ask, requests))


class AskingFirstTokens:
    """The methods in which a task differs from `ConfigurableTask`.

    See the package's docstring for the YAML.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        # The evaluator builds the model before the tasks, so its base class is loaded by now.
        sys.modules["lm_eval.api.model"].LM.first_token = first_token
        settings = dict(config or {})
        # The harness resolves `class` to this type but does not know it as a field of the task.
        settings.pop("class", None)
        super().__init__(config=settings)  # type: ignore[call-arg] # the other base is lm_eval's

    def construct_requests(self, doc: Mapping[str, Any], ctx: Any, **kwargs: Any) -> list[Any]:
        """One request per row, with the prompt as the harness built it, chat template included."""
        from lm_eval.api.instance import Instance

        for name in ("apply_chat_template", "chat_template"):
            kwargs.pop(name, None)
        # `config` is an attribute of the other base, lm_eval's task.
        generation = dict(self.config.generation_kwargs or {})  # type: ignore[attr-defined]
        arguments = (ctx, generation)
        return [Instance(request_type=REQUEST, doc=doc, arguments=arguments, idx=0, **kwargs)]


@functools.cache
def task_class() -> type:
    """`FirstTokenTask`: `AskingFirstTokens` on top of the harness' `ConfigurableTask`."""
    import lm_eval.api.model  # noqa: F401 - its class gets the method
    from lm_eval.api.task import ConfigurableTask

    bases = (AskingFirstTokens, ConfigurableTask)
    return type("FirstTokenTask", bases, {"__doc__": AskingFirstTokens.__doc__})
