"""The replies of another engine in place of a model, for lm-eval to score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from evalprep.run.engine import Engine
from evalprep.run.interface import Interface, interface_of
from evalprep.run.replies import Reply, likelihood_of, read_replies
from evalprep.run.request import GENERATION, LIKELIHOOD, ROLLING, Request, request_ids
from evalprep.status import Job
from evalprep.terminal import shortlist

_NAMED = 4  # rows that a message names


class RepliesMissingError(Exception):
    """Some requests of a unit have no reply."""


class GivenReplies(Engine):
    """Stands where the engine of a run stands, and loads no model.

    Args:
        places: Files with the replies, and folders of such files.
    """

    def __init__(self, places: Sequence[Path]) -> None:
        super().__init__()
        self.sources = tuple(str(place) for place in places)
        self._replies = read_replies(places)
        self._job: Job | None = None

    def model_class(self, _config: Any) -> Any:
        """None: no model answers."""
        return None

    def load(self, _model_class: Any, _config: Any) -> Any:
        """Makes the model that reads the replies."""
        assert self._job is not None
        self.lm = _Answers(self._job, self._replies)
        self.seconds = 0.0
        return self.lm

    def turn_to(self, _config: Any, job: Job | None = None) -> None:
        """Each command has its own interface."""
        self._job = job
        self.lm = None
        self.seconds = None

    def at_fault(self, _task: str, _error: Exception) -> str:
        """Never: replies that are missing for one task may be there for the next."""
        return ""


class _Answers(LM):  # type: ignore[misc]
    """A model that answers from replies."""

    def __init__(self, job: Job, replies: Mapping[str, Reply]) -> None:
        super().__init__()
        self._job = job
        self._replies = replies
        self._interface: Interface = interface_of(job)

    @property
    def tokenizer_name(self) -> str:
        """The tokenizer's name as lm-eval logs it."""
        return self._interface.model.replace("/", "__")

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> Any:
        """The prompt that the back end would send."""
        render = self._interface.render
        return render(chat_history, add_generation_prompt=add_generation_prompt)

    # The signature is lm-eval's.
    def chat_template(self, chat_template: bool | str = False) -> str:  # noqa: ARG002
        """The template, for the results file."""
        return self._interface.template

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """The texts, cut as lm-eval's back end cuts them."""
        texts = []
        replies = self._of(GENERATION, requests)
        for request, reply in zip(requests, replies, strict=True):
            arguments = request.args[1]
            texts.append(self._interface.cut(str(reply.text), arguments))
        return texts

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """The log-likelihoods of the continuations."""
        replies = self._of(LIKELIHOOD, requests)
        pairs = zip(requests, replies, strict=True)
        return [self._likelihood(request, reply) for request, reply in pairs]

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """The log-likelihoods of whole texts."""
        replies = self._of(ROLLING, requests)
        return [float(reply.loglikelihood or 0.0) for reply in replies]

    def _likelihood(self, request: Instance, reply: Reply) -> tuple[float, bool]:
        if reply.loglikelihood is not None:
            return reply.loglikelihood, reply.is_greedy
        context, continuation = request.args
        question = Request(
            id="",
            command="",
            task="",
            row=0,
            sample_id="",
            kind=LIKELIHOOD,
            prompt=context,
            continuation=continuation,
        )
        encoded = self._interface.tokens(question)
        if encoded is None:
            raise ValueError("the tokenizer that tells context and continuation apart is not here")
        ids, first_scored = encoded
        return likelihood_of(reply, ids, first_scored)

    def _of(self, kind: str, requests: list[Instance]) -> list[Reply]:
        """The replies in the order of the requests.

        Raises:
            RepliesMissingError: some have none.
        """
        ids = list(request_ids(kind, requests, self._job.label))
        replies = [self._replies.get(number) for number in ids]
        present = [reply for reply in replies if reply is not None]
        missing = [
            _row_of(request)
            for request, reply in zip(requests, replies, strict=True)
            if not is_answer(kind, reply)
        ]
        if missing:
            rows = shortlist(list(dict.fromkeys(missing)), _NAMED)
            what = f"{len(missing)} of {len(ids)} replies are missing (of {rows})"
            failures = {reply.failure for reply in present if reply.failure}
            if failures:
                what += f"; the engine's reason for some: {min(failures)}"
            raise RepliesMissingError(f"{what}; `--missing_to FILE` writes their requests")
        return present


def _row_of(request: Instance) -> str:
    """The name of a request's row: its sample id, else its position."""
    doc = request.doc if isinstance(request.doc, Mapping) else {}
    return str(doc.get("sample_id") or f"row {request.doc_id}")


def is_answer(kind: str, reply: Reply | None) -> bool:
    """Returns whether a reply answers a request of a kind."""
    if reply is None or reply.failure:
        return False
    if kind == GENERATION:
        return reply.text is not None
    if kind == LIKELIHOOD and reply.token_logprobs:
        return True
    return reply.loglikelihood is not None
