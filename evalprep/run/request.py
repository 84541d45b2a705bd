"""One request to a model, and the id by which its reply is found again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lm_eval.api.instance import Instance

from evalprep.files import text_sha256
from evalprep.run.kinds import GENERATION
from evalprep.run.plain_data import plain
from evalprep.run.responses import keys_of, row_digest

Message = dict[str, str]


@dataclass(frozen=True)
class Request:
    """One request of a task.

    Attributes:
        id: Stands for its content: task, row, arguments and repeat. A request of the same content
            has the same id in every preparation.
        command: Name of the command, such as `c1-plain`.
        task: Task name.
        row: Position of the row in the task's data.
        sample_id: Its id there; empty where rows have none.
        kind: lm-eval's request type.
        prompt: The text that the model reads; of a likelihood, the part before `continuation`.
            Where a server renders chats, the messages as JSON.
        messages: The chat that `prompt` was rendered from; empty for a plain prompt.
        continuation: The text whose log-likelihood is wanted.
        arguments: Generation arguments as the task has them; empty for a likelihood.
    """

    id: str
    command: str
    task: str
    row: int
    sample_id: str
    kind: str
    prompt: str
    messages: tuple[Message, ...] = ()
    continuation: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def generates(self) -> bool:
        """Returns whether a text is wanted."""
        return self.kind == GENERATION


def request_ids(kind: str, requests: Iterable[Instance], label: str) -> Iterator[str]:
    """Yields the id of each request.

    Args:
        kind: The request type.
        requests: As lm-eval hands them to a model, repeats included.
        label: Name of the model, where a preparation has several.
    """
    instances = list(requests)
    for key, request in zip(keys_of(kind, instances), instances, strict=True):
        yield request_id(kind, request, label, repeat=key[-1])


def request_id(kind: str, request: Instance, label: str, *, repeat: int) -> str:
    """The id of one request.

    Args:
        kind: Its type.
        request: As lm-eval hands it to a model.
        label: Name of the model, where a preparation has several.
        repeat: Number of its repeat, from 0.
    """
    about = [kind, str(request.task_name), int(request.idx), repeat, label]
    content = [*about, plain(request.args, whole=False), row_digest(request)]
    text = json.dumps(content, sort_keys=True, default=str)
    return "q" + text_sha256(text)[:24]
