"""Back ends of lm-eval that the config does not offer.

What there is to know of them in other people's task folders and results.
"""

from __future__ import annotations

from evalprep.backends.record import (
    GENERATES,
    LIKELIHOODS,
    Arguments,
    Backend,
    EngineSettings,
    Request,
)


def _none(_core: EngineSettings, _request: Request) -> Arguments:
    return Arguments({})


def _chat(name: str, *, stops: int | None = None) -> Backend:
    abilities = frozenset({"generate", "chat", "system"})
    return Backend(name=name, model_type=name, abilities=abilities, arguments=_none, stops=stops)


FOREIGN = (
    Backend(
        name="openai-completions",
        model_type="openai-completions",
        abilities=frozenset({"generate", "plain"}) | LIKELIHOODS,
        arguments=_none,
    ),
    Backend(
        name="anthropic-completions",
        model_type="anthropic-completions",
        abilities=frozenset({"generate", "plain"}),
        arguments=_none,
        reply_tokens=2048,
    ),
    _chat("azure-openai-chat-completions", stops=4),
    _chat("anthropic-chat"),
    _chat("litellm"),
    _chat("litellm-chat"),
    _chat("litellm-chat-completions"),
    Backend(
        name="vllm-vlm", model_type="vllm-vlm", abilities=GENERATES, arguments=_none, samples=True
    ),
    Backend(
        name="sglang",
        model_type="sglang",
        abilities=GENERATES | LIKELIHOODS,
        arguments=_none,
        samples=True,
        adds_bos=False,
    ),
)
