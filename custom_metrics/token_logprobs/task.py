"""The harness task that asks for token log-probabilities."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.token_logprobs.encode import Options
from custom_metrics.token_logprobs.response import parse

#: Column with the continuations of a row, unless the task's metadata names another.
CONTINUATIONS = "continuations"


def token_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """Row numbers for the harness' own table, the default `process_results`.

    Suite scores read the responses.

    Returns:
        `prob` and `avg_loss` of the first continuation, `n_tokens` over all of them, `unscored`
        (continuations without a scored token) and `refused` (those that did not fit).
    """
    del doc
    responses = [parse(result) for result in results]
    first = responses[0] if responses else parse(None)
    return {
        "prob": first.prob,
        "avg_loss": first.avg_loss,
        "n_tokens": sum(len(response.logprobs) for response in responses),
        "unscored": sum(response.avg_loss is None for response in responses),
        "refused": sum(bool(response.refused) for response in responses),
    }


def gradient_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """The values of a row with `request: grad_norm`.

    They are `grad_norm` of the first continuation, `unscored` and `refused`.
    """
    del doc
    responses = [parse(result) for result in results]
    return {
        "grad_norm": responses[0].grad_norm if responses else None,
        "unscored": sum(response.grad_norm is None for response in responses),
        "refused": sum(bool(response.refused) for response in responses),
    }


class TokenLogprobs:
    """The method in which a task differs from `ConfigurableTask`: it emits our requests.

    The task's `metadata.token_logprobs` holds `continuations` (a column with a string or a list of
    strings) and the fields of `Options`. Answers are read by `token_results` or `gradient_results`
    unless the YAML names a `process_results` of its own.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        from custom_metrics.token_logprobs.attach import attach

        # The evaluator builds the model before the tasks, so its class is loaded by now.
        attach()
        settings = dict(config or {})
        # The harness resolves `class` to this type but does not know it as a field of the task.
        settings.pop("class", None)
        own = dict((settings.get("metadata") or {}).get("token_logprobs") or {})
        self._continuations = str(own.pop("continuations", CONTINUATIONS))
        self._options = own
        self._request = Options.parse(own).request
        # Set here and not by overriding the method: without it the harness looks each metric name
        # up in its registry and then on the hub.
        settings.setdefault(
            "process_results", gradient_results if self._request == "grad_norm" else token_results
        )
        super().__init__(config=settings)  # type: ignore[call-arg] # the other base is lm_eval's

    def construct_requests(self, doc: Mapping[str, Any], ctx: str, **kwargs: Any) -> list[Any]:
        """One request per continuation.

        `ctx` is the prompt as the harness built it, chat template included.
        """
        from lm_eval.api.instance import Instance

        for name in ("apply_chat_template", "chat_template"):
            kwargs.pop(name, None)
        texts = doc[self._continuations]
        return [
            Instance(
                request_type=self._request,
                doc=doc,
                arguments=(ctx, text, self._options),
                idx=position,
                **kwargs,
            )
            for position, text in enumerate([texts] if isinstance(texts, str) else texts)
        ]


@functools.cache
def task_class() -> type:
    """`TokenLogprobTask`: `TokenLogprobs` on top of the harness' `ConfigurableTask`."""
    from lm_eval.api.task import ConfigurableTask

    return type(
        "TokenLogprobTask", (TokenLogprobs, ConfigurableTask), {"__doc__": TokenLogprobs.__doc__}
    )
