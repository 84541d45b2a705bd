"""The requests of a command, made by lm-eval itself and sent to no model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from evalprep.errors import BadInput, Problem
from evalprep.run.harness import configuration, evaluate
from evalprep.run.interface import Interface, interface_of
from evalprep.run.request import GENERATION, LIKELIHOOD, ROLLING, Request, request_ids
from evalprep.run.tasks import manager_of
from evalprep.status import Job


class _AllRequestsMadeError(Exception):
    """lm-eval has made all requests and begins to score."""


class _Collector(LM):  # type: ignore[misc]
    """A model that keeps the requests and answers none."""

    def __init__(self, interface: Interface, job: Job) -> None:
        super().__init__()
        self.requests: dict[str, Request] = {}
        self._interface = interface
        self._job = job

    @property
    def rank(self) -> int:
        """lm-eval reads it while it makes requests, and once more before it scores the replies.

        Raises:
            _AllRequestsMadeError: on that last occasion.
        """
        if self.requests:
            raise _AllRequestsMadeError
        return 0

    @property
    def tokenizer_name(self) -> str:
        """Names a cache of requests, which nothing here uses."""
        return ""

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> Any:
        """The prompt that the back end would send."""
        return self._interface.render(chat_history, add_generation_prompt=add_generation_prompt)

    # The signature is lm-eval's.
    def chat_template(self, chat_template: bool | str = False) -> str:  # noqa: ARG002
        """Not logged anywhere."""
        return ""

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Keeps them."""
        self._keep(GENERATION, requests)
        return [""] * len(requests)

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Keeps them."""
        self._keep(LIKELIHOOD, requests)
        return [(0.0, False)] * len(requests)

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """Keeps them."""
        self._keep(ROLLING, requests)
        return [0.0] * len(requests)

    def _keep(self, kind: str, requests: list[Instance]) -> None:
        ids = request_ids(kind, requests, self._job.label)
        for number, request in zip(ids, requests, strict=True):
            self.requests.setdefault(number, self._request(number, kind, request))

    def _request(self, number: str, kind: str, request: Instance) -> Request:
        prompt, *others = request.args
        doc = request.doc if isinstance(request.doc, Mapping) else {}
        return Request(
            id=number,
            command=self._job.name,
            task=str(request.task_name),
            row=int(request.doc_id or 0),
            sample_id=str(doc.get("sample_id", "")),
            kind=kind,
            prompt=str(getattr(prompt, "prompt", prompt)),
            messages=self._interface.messages_of(prompt),
            continuation=str(others[0]) if kind == LIKELIHOOD else "",
            arguments=dict(others[0]) if kind == GENERATION and others else {},
        )


def requests_of(job: Job) -> list[Request]:
    """The requests that lm-eval would send for a command, each content once.

    Raises:
        BadInput: lm-eval cannot make them, or a task asks for more than texts and likelihoods.
    """
    config = configuration(job)
    collector = _Collector(interface_of(job), job)
    names = list(config.tasks)
    try:
        with suppress(_AllRequestsMadeError):
            evaluate(config, collector, names, manager_of(config), None, limit=config.limit)
    except BadInput:
        raise
    except Exception as error:  # a task's own code may raise anything
        raise BadInput(
            Problem(
                what=f"lm-eval cannot make its requests: {type(error).__name__}: {error}"[:500],
                where=f"command {job.name}",
                fix="`evalprep check` names the cause",
            )
        ) from error
    return list(collector.requests.values())
