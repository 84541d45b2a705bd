"""The records of all back ends, by name."""

from __future__ import annotations

from evalprep.backends import dummy, hf, server, stored, vllm
from evalprep.backends.foreign import FOREIGN
from evalprep.backends.record import Backend

BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        vllm.BACKEND,
        hf.BACKEND,
        server.VLLM_SERVER,
        server.COMPLETIONS,
        server.CHAT,
        server.OPENAI_CHAT,
        server.ANTHROPIC_CHAT,
        stored.BACKEND,
        dummy.BACKEND,
    )
}

#: Name of the back end that reads replies out of the rows and asks no model.
STORED = stored.BACKEND.name


def find_backend(name: str | None) -> Backend | None:
    """The record of a back end by our name or lm-eval's.

    None for one of lm-eval's that we know nothing of.
    """
    if name in BACKENDS:
        return BACKENDS[name]
    return next(
        (
            backend
            for backend in (*BACKENDS.values(), *FOREIGN)
            if name and name in (backend.model_type, *backend.aliases)
        ),
        None,
    )
