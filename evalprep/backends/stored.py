"""No model at all: replies or log-probabilities stand in the rows, and the task's own scorer reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.backends.record import Arguments, Backend, Request

if TYPE_CHECKING:
    from evalprep.config.schema import Core

#: Columns of prepared rows that hold what a model said.
OUTPUT, LOGPROBS = "model_output", "model_log_probability"


def arguments(_core: Core, _request: Request) -> Arguments:
    """None: `evalprep run` reads the rows."""
    return Arguments({}, options={"batch_size": None})


BACKEND = Backend(
    name="stored",
    model_type="",
    abilities=frozenset({"generate", "plain", "chat", "system", "loglikelihood", "rolling"}),
    arguments=arguments,
)
