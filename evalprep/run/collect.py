"""The requests of a command, made by lm-eval itself and sent to no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from lm_eval.api.instance import Instance

from evalprep.errors import BadInput, Problem
from evalprep.run.harness import configuration, evaluate
from evalprep.run.interface import Interface, interface_of
from evalprep.run.kinds import BEYOND_FILES, DIALOGUE, GENERATION, LIKELIHOOD
from evalprep.run.replies import Reply, is_answer
from evalprep.run.request import Request, request_id, request_ids
from evalprep.run.standin import StandIn, play
from evalprep.run.tasks import manager_of
from evalprep.status import Job


class _AllRequestsMadeError(Exception):
    """lm-eval has made all requests and begins to score."""


@dataclass(frozen=True)
class Collected:
    """The requests of a command.

    Attributes:
        requests: Those that can be made, each content once. Of a dialogue the turns that have a
            reply, and the next one.
        left_out: Task -> what it asks for that no file of replies can hold.
    """

    requests: list[Request] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


class _Collector(StandIn):
    """A model that keeps the requests and answers none.

    Args:
        interface: The form of the back end's requests.
        job: The command.
        replies: Id of a request -> its reply, where some are known.
    """

    def __init__(self, interface: Interface, job: Job, replies: Mapping[str, Reply]) -> None:
        super().__init__()
        self.requests: dict[str, Request] = {}
        self.left_out: dict[str, str] = {}
        self._interface = interface
        self._job = job
        self._replies = replies
        self._has_all = False

    @property
    def rank(self) -> int:
        """lm-eval reads it while it makes requests, and once more before it scores the replies.

        Raises:
            _AllRequestsMadeError: on that last occasion.
        """
        if self._has_all:
            raise _AllRequestsMadeError
        return 0

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> Any:
        """The prompt that the back end would send."""
        return self._interface.render(chat_history, add_generation_prompt=add_generation_prompt)

    def replies_to(self, kind: str, requests: Sequence[Instance]) -> list[Any]:
        """Keeps the requests."""
        self._has_all = True
        if kind in BEYOND_FILES:
            self.left_out |= {str(request.task_name): BEYOND_FILES[kind] for request in requests}
        elif kind == DIALOGUE:
            play(self, requests, self._keep_turn)
        else:
            ids = request_ids(kind, requests, self._job.label)
            for number, request in zip(ids, requests, strict=True):
                self.requests.setdefault(number, self._request(number, kind, request))
        return [""] * len(requests)

    def _keep_turn(self, turn: Instance, draw: int) -> str | None:
        """Keeps a turn of a dialogue; its reply, where there is one."""
        number = request_id(GENERATION, turn, self._job.label, repeat=draw)
        self.requests.setdefault(number, self._request(number, GENERATION, turn))
        reply = self._replies.get(number)
        if reply is None or not is_answer(GENERATION, reply):
            return None
        return self._interface.cut(str(reply.text), turn.args[1])

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


def requests_of(job: Job, replies: Mapping[str, Reply]) -> Collected:
    """The requests that lm-eval would send for a command.

    Args:
        job: The command.
        replies: Id of a request -> its reply, where some are known.

    Raises:
        BadInput: lm-eval cannot make them.
    """
    config = configuration(job)
    collector = _Collector(interface_of(job), job, replies)
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
    return Collected(list(collector.requests.values()), collector.left_out)
