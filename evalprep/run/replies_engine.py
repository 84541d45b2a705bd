"""The replies of another engine in place of a model, for lm-eval to score."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance

from evalprep.run.engine import Engine
from evalprep.run.interface import Interface, interface_of
from evalprep.run.kinds import BEYOND_FILES, DIALOGUE, GENERATION, LIKELIHOOD, RepliesMissingError
from evalprep.run.replies import Reply, is_answer, likelihood_of, read_replies
from evalprep.run.request import Request, request_id, request_ids
from evalprep.run.standin import StandIn, play
from evalprep.status import Job
from evalprep.terminal import shortlist

_NAMED = 4  # rows that a message names


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


class _Answers(StandIn):
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

    def replies_to(self, kind: str, requests: Sequence[Instance]) -> list[Any]:
        """Reads the replies as lm-eval's back end reads them.

        Raises:
            RepliesMissingError: some are not there, or no file can hold them.
        """
        if kind in BEYOND_FILES:
            raise RepliesMissingError(f"a file of replies holds no {BEYOND_FILES[kind]}")
        if kind == DIALOGUE:
            return self._dialogues(requests)
        # The replies in the order of the requests.
        ids = list(request_ids(kind, requests, self._job.label))
        replies = [self._replies.get(number) for number in ids]
        present = [reply for reply in replies if reply is not None]
        missing = [
            _row_of(request)
            for request, reply in zip(requests, replies, strict=True)
            if not is_answer(kind, reply)
        ]
        if missing:
            failures = {reply.failure for reply in present}
            raise _missing(f"{len(missing)} of {len(ids)} replies are missing", missing, failures)
        pairs = zip(requests, present, strict=True)
        if kind == GENERATION:
            return [self._cut(request, reply) for request, reply in pairs]
        if kind == LIKELIHOOD:
            return [self._likelihood(request, reply) for request, reply in pairs]
        return [float(reply.loglikelihood or 0.0) for _, reply in pairs]

    def _cut(self, request: Instance, reply: Reply) -> str:
        """A text as lm-eval's back end hands it on: up to the first stop string."""
        return self._interface.cut(str(reply.text), request.args[1])

    def _dialogues(self, requests: Sequence[Instance]) -> list[Any]:
        """The responses to dialogues, whose turns have a reply each.

        Raises:
            RepliesMissingError: one is not there; the turns after it cannot be asked before.
        """
        failures: set[str] = set()

        def ask(turn: Instance, draw: int) -> str | None:
            number = request_id(GENERATION, turn, self._job.label, repeat=draw)
            reply = self._replies.get(number)
            if reply is None or not is_answer(GENERATION, reply):
                failures.add("" if reply is None else reply.failure)
                return None
            return self._cut(turn, reply)

        responses = play(self, requests, ask)
        pairs = zip(requests, responses, strict=True)
        waiting = [_row_of(request) for request, response in pairs if response is None]
        if waiting:
            what = f"{len(waiting)} of {len(requests)} dialogues wait for their next reply"
            raise _missing(what, waiting, failures)
        return responses

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


def _missing(what: str, rows: Sequence[str], failures: Collection[str]) -> RepliesMissingError:
    """The error that names some rows without a reply, and a reason of the engine's."""
    text = f"{what} (of {shortlist(list(dict.fromkeys(rows)), _NAMED)})"
    reasons = sorted(filter(None, failures))
    if reasons:
        text += f"; the engine's reason for some: {reasons[0]}"
    return RepliesMissingError(text)


def _row_of(request: Instance) -> str:
    """The name of a request's row: its sample id, else its position."""
    doc = request.doc if isinstance(request.doc, Mapping) else {}
    return str(doc.get("sample_id") or f"row {request.doc_id}")
