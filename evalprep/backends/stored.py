"""No model at all.

Replies or log-probabilities stand in the rows, and the task's own scorer reads them.
"""

from __future__ import annotations

from evalprep.backends.record import Arguments, Backend, EngineSettings, Request

#: Columns of prepared rows that hold what a model said.
OUTPUT, LOGPROBS = "model_output", "model_log_probability"


def arguments(_core: EngineSettings, _request: Request) -> Arguments:
    """None: `evalprep run` reads the rows."""
    return Arguments({}, options={"batch_size": None})


BACKEND = Backend(
    name="stored",
    model_type="",
    abilities=frozenset({"generate", "plain", "chat", "system", "loglikelihood", "rolling"}),
    arguments=arguments,
    reply_tokens=None,
)
