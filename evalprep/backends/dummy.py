"""lm-eval's dummy: loads nothing, answers every request with the same words.

It stands in for any back end.
"""

from __future__ import annotations

from evalprep.backends.record import Arguments, Backend, EngineSettings, Request
from evalprep.packs import ABILITIES

#: Variable with the model whose chat template a rehearsal uses.
CHAT_MODEL = "EVALPREP_CHAT_MODEL"


def arguments(_core: EngineSettings, request: Request) -> Arguments:
    """None; it has no batches either. A chat is rendered with the template of the model."""
    env = {CHAT_MODEL: request.model} if request.chat else {}
    return Arguments({}, options={"batch_size": None}, env=env)


BACKEND = Backend(
    name="dummy",
    model_type="dummy",
    abilities=frozenset(ABILITIES),
    arguments=arguments,
    samples=True,
    stands_in=True,
    reply_tokens=None,
    chat_module="evalprep.run.rehearsal",
    forgets=None,  # whether it has a tokenizer depends on the command, and making it costs nothing
)
