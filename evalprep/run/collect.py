"""The requests of a command, made by lm-eval itself and sent to no model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evalprep.errors import BadInput, Problem
from evalprep.run.harness import configuration, evaluate
from evalprep.run.interface import Interface
from evalprep.run.kinds import DIALOGUE, GENERATION, LIKELIHOOD
from evalprep.run.replies import Reply, is_answer
from evalprep.run.request import Request, request_id, request_ids
from evalprep.run.standin import StandIn, play
from evalprep.run.tasks import manager_of
from evalprep.status import Job

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

_ROWS = 256  # whose requests are in memory at once
_DIGEST = 12  # bytes of an id


class _AllTasksAskedError(Exception):
    """lm-eval has asked all tasks for their requests."""


class Collector(StandIn):
    """A model that answers no request, and holds back how lm-eval has the requests made.

    Attributes:
        makers: For each task what yields its requests, row after row.

    Args:
        interface: The form of the back end's requests.
        job: The command.
        replies: Id of a request -> its reply, where some are known.
    """

    def __init__(self, interface: Interface, job: Job, replies: Mapping[str, Reply]) -> None:
        super().__init__()
        self.makers: list[Callable[[], Iterator[list[Instance]]]] = []
        self._interface = interface
        self._job = job
        self._replies = replies

    def hold_back(self, tasks: Collection[Any]) -> None:
        """Keeps tasks from making the requests of all their rows before the first one goes out.

        lm-eval calls this method of each with the settings of the command.
        """
        for task in tasks:
            task.build_all_requests = partial(self._keep_maker, task, len(tasks))

    def _keep_maker(self, task: Any, tasks: int, **settings: Any) -> None:
        """Keeps what makes the requests of a task.

        Raises:
            _AllTasksAskedError: it is the last task.
        """
        del task.build_all_requests
        task._instances = []  # noqa: SLF001 - where lm-eval looks for them
        self.makers.append(partial(_built, task, settings))
        if len(self.makers) == tasks:
            raise _AllTasksAskedError

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> Any:
        """The prompt that the back end would send."""
        return self._interface.render(chat_history, add_generation_prompt=add_generation_prompt)

    def requests(self, instances: Sequence[Instance]) -> Iterator[Request]:
        """The requests of some rows, repeats included, with their ids."""
        for kind, alike in groupby(instances, key=lambda instance: str(instance.request_type)):
            repeats = ([instance] * instance.repeats for instance in alike)
            repeated = list(chain.from_iterable(repeats))
            if kind == DIALOGUE:
                yield from self._turns(repeated)
                continue
            ids = request_ids(kind, repeated, self._job.label)
            for number, request in zip(ids, repeated, strict=True):
                yield self._request(number, kind, request)

    def _turns(self, dialogues: Sequence[Instance]) -> Iterator[Request]:
        """The turns of dialogues that have a reply, and the next one of each."""
        turns: list[Request] = []

        def ask(turn: Instance, draw: int) -> str | None:
            number = request_id(GENERATION, turn, self._job.label, repeat=draw)
            turns.append(self._request(number, GENERATION, turn))
            reply = self._replies.get(number)
            if reply is None or not is_answer(GENERATION, reply):
                return None
            return self._interface.cut(str(reply.text), turn.args[1])

        play(self, dialogues, ask)
        yield from turns

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


def _built(task: Any, settings: Mapping[str, Any]) -> Iterator[list[Instance]]:
    """Yields the requests of each row, as lm-eval's `Task.build_all_requests` makes them.

    Args:
        task: lm-eval's object; one whose class has a method of its own makes all at once.
        settings: What lm-eval calls that method with.
    """
    from lm_eval.api.task import Task

    if type(task).build_all_requests is not Task.build_all_requests:
        task.build_all_requests(**settings)
        yield list(task.instances)
        return
    template = {name: settings[name] for name in ("apply_chat_template", "chat_template")}
    rows = task.doc_iterator(
        rank=0, world_size=1, limit=settings["limit"], samples=settings["samples"]
    )
    number = -1
    for number, doc in rows:
        context = task.fewshot_context(
            doc,
            num_fewshot=task.config.num_fewshot or 0,
            system_instruction=settings["system_instruction"],
            fewshot_as_multiturn=settings["fewshot_as_multiturn"],
            gen_prefix=task.doc_to_prefix(doc),
            **template,
        )
        about = (task.config["task"], number, task.config.repeats)
        built = task.construct_requests(doc=doc, ctx=context, metadata=about, **template)
        yield built if isinstance(built, list) else [built]
    if number < 0:
        raise ValueError("the task has no rows")


class Met:
    """The ids that occurred before, in a few bytes each: rows of a task may be millions."""

    def __init__(self) -> None:
        self._sorted: list[NDArray[np.bytes_]] = []

    def new(self, requests: Sequence[Request]) -> list[Request]:
        """Those of some requests whose id occurs for the first time."""
        digests = np.array([bytes.fromhex(request.id[1:]) for request in requests], f"S{_DIGEST}")
        unique, places = np.unique(digests, return_index=True)
        is_new = np.ones(len(unique), dtype=bool)
        for known in self._sorted:
            at = np.minimum(np.searchsorted(known, unique), len(known) - 1)
            is_new &= known[at] != unique
        self._keep(unique[is_new])
        return [requests[place] for place in np.sort(places[is_new])]

    def _keep(self, digests: NDArray[np.bytes_]) -> None:
        """Keeps new ids in sorted parts, each more than twice as long as the next one."""
        if not digests.size:
            return
        while self._sorted and len(self._sorted[-1]) <= 2 * len(digests):
            digests = np.sort(np.concatenate([self._sorted.pop(), digests]))
        self._sorted.append(digests)


def requests_of(
    job: Job, interface: Interface, replies: Mapping[str, Reply]
) -> Iterator[list[Request]]:
    """Yields the requests that lm-eval would send for a command, some at once, each content once.

    Of a dialogue these are the turns that have a reply, and the next one. Types of requests that no
    file of replies can answer are among them.

    Args:
        job: The command.
        interface: The form of its back end's requests.
        replies: Id of a request -> its reply, where some are known.

    Raises:
        BadInput: lm-eval cannot make them.
    """
    met = Met()
    try:
        collector = _asked(job, interface, replies)
        rows = chain.from_iterable(make() for make in collector.makers)
        while some := list(islice(rows, _ROWS)):
            requests = collector.requests(list(chain.from_iterable(some)))
            yield met.new(list(requests))
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


def _asked(job: Job, interface: Interface, replies: Mapping[str, Reply]) -> Collector:
    """What lm-eval has asked for its requests, with the settings of the command."""
    config = configuration(job)
    collector = Collector(interface, job, replies)
    manager = manager_of(config)
    load = manager.load

    def load_and_hold_back(names: Any) -> Any:
        loaded = load(names)
        collector.hold_back(loaded["tasks"].values())
        return loaded

    manager.load = load_and_hold_back
    with suppress(_AllTasksAskedError):
        evaluate(config, collector, list(config.tasks), manager, None, limit=config.limit)
    return collector
