"""Model responses that survive a crash.

Written as soon as they are made, found again by task and row.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from evalprep.files import read_file, text_sha256, write_atomically
from evalprep.run.kinds import REQUEST_TYPES
from evalprep.run.plain_data import plain, restored
from evalprep.run.standin import StandIn

FILE = "responses.msgpack"
_FORMAT = 3
# Kind of request, task, position of the row, number of the request, its repeat. Positions and not
# sample ids, which nothing makes unique in tasks of others; a change of the data is noticed by the
# requests.
Key = tuple[str, str, int, int, int]


def keys_of(kind: str, requests: Iterable[Instance], first: int = 0) -> list[Key]:
    """One key per request; a repeat of the same request gets the next number.

    Args:
        kind: generate_until, loglikelihood or another method of the model.
        requests: As lm-eval hands them to the model, repeats included.
        first: Position of the unit's first row in the whole data; lm-eval counts from 0 in each
            call.
    """
    counts: Counter[tuple[str, int, int]] = Counter()
    keys = []
    for request in requests:
        stem = (str(request.task_name), first + int(request.doc_id or 0), int(request.idx))
        keys.append((kind, *stem, counts[stem]))
        counts[stem] += 1
    return keys


def row_digest(request: Instance) -> str:
    """Stands for the row of a request, so that a response is never scored against another row."""
    text = json.dumps(request.doc, sort_keys=True, default=lambda value: type(value).__name__)
    return text_sha256(text)[:16]


@dataclass(frozen=True)
class Answer:
    """A response, and what it answers.

    Attributes:
        arguments: The request's as plain data, as they were sent.
        response: The model's, as plain data.
        row: `row_digest` of its row.
    """

    arguments: Any
    response: Any
    row: str


class ResponseFile:
    """The responses of one unit, as msgpack: whoever made the file, reading it runs nothing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.known: dict[Key, Answer] = {}
        # An absent file, a damaged one and one of another version: the unit is generated again.
        with contextlib.suppress(Exception):
            data = msgspec.msgpack.decode(read_file(self.path, own=True))
            if data["format"] == _FORMAT:
                self.known = {
                    _key(key): Answer(arguments, response, str(row))
                    for key, arguments, response, row in data["answers"]
                }

    def add(self, answers: Mapping[Key, Answer]) -> None:
        """Keeps answers on disk."""
        self.known.update(answers)
        kept = [
            [key, answer.arguments, answer.response, answer.row]
            for key, answer in self.known.items()
        ]
        write_atomically(self.path, msgspec.msgpack.encode({"format": _FORMAT, "answers": kept}))


def _key(value: Any) -> Key:
    kind, task, row, request, repeat = value
    return str(kind), str(task), int(row), int(request), int(repeat)


def request_types(lm: LM) -> list[str]:
    """The methods that may answer requests.

    They are lm-eval's three, and what a pack added to the class of the model.

    lm-eval calls the method that a request names, with the list of requests; nothing but that says
    which there are. Some back ends have steps of their own that look alike.
    """
    names = []
    for name in dir(type(lm)):
        method = getattr(type(lm), name)
        if not name.startswith("_") and inspect.isfunction(method):
            parameters = list(inspect.signature(method).parameters)
            if parameters[1:2] == ["requests"]:
                names.append(name)
    return names


def record(
    lm: LM, file: ResponseFile, first: int, unanswered: Callable[[Exception], None]
) -> Callable[[], None]:
    """Makes a model answer from the file what it answered before, and writes down the rest at once.

    Args:
        lm: The model.
        file: What it answered before.
        first: Position of the unit's first row.
        unanswered: Told of an error of the model itself, before it is raised.

    Returns:
        A function that undoes it.
    """
    recorder = _Recorder(lm, file, first, unanswered)
    for name in recorder.originals:
        setattr(lm, name, functools.partial(recorder.answer, name))

    def undo() -> None:
        for name in recorder.originals:
            delattr(lm, name)

    return undo


class _Recorder:
    """Answers requests from a file where it can, and from the model where it must."""

    def __init__(
        self, lm: LM, file: ResponseFile, first: int, unanswered: Callable[[Exception], None]
    ) -> None:
        self.originals = {name: getattr(lm, name) for name in request_types(lm)}
        self._file = file
        self._first = first
        self._unanswered = unanswered
        self._inside = 0

    def answer(self, name: str, requests: list[Any], *args: Any, **kwargs: Any) -> Any:
        """The responses to the requests of one type, in their order."""
        original = self.originals[name]
        if not self._are_of_lm_eval(requests):
            return original(requests, *args, **kwargs)
        questions = [
            _Asked(key, plain(request.arguments, whole=False), row_digest(request))
            for key, request in zip(keys_of(name, requests, self._first), requests, strict=True)
        ]
        unknown = [number for number, question in enumerate(questions) if not self._knows(question)]
        if unknown:
            responses = self._ask(
                original, [requests[number] for number in unknown], *args, **kwargs
            )
            pairs = zip(unknown, responses, strict=True)
            self._file.add(
                {
                    questions[number].key: questions[number].with_response(response)
                    for number, response in pairs
                }
            )
        return [restored(self._file.known[question.key].response) for question in questions]

    def _are_of_lm_eval(self, requests: list[Any]) -> bool:
        """Returns whether these are requests whose replies may be kept.

        A step inside the model and the turns of a dialogue are not.

        A method that a pack gave to the model may ask another one; where it names no task, nobody
        can tell whose request it was, and the answer to the outer request is kept anyhow.
        """
        return all(
            isinstance(request, Instance) and (not self._inside or request.task_name is not None)
            for request in requests
        )

    def _knows(self, question: _Asked) -> bool:
        """Returns whether the file has an answer to the very same request.

        A prompt function may have been edited in between.
        """
        known = self._file.known.get(question.key)
        return known is not None and (known.arguments, known.row) == (
            question.arguments,
            question.row,
        )

    def _ask(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._inside += 1
        try:
            return original(*args, **kwargs)
        except Exception as error:
            self._unanswered(error)
            raise
        finally:
            self._inside -= 1


@dataclass(frozen=True)
class _Asked:
    """One request: its key in the file, its arguments as plain data, and the digest of its row."""

    key: Key
    arguments: Any
    row: str

    def with_response(self, response: Any) -> Answer:
        """The entry of the file."""
        return Answer(self.arguments, plain(response), self.row)


class Replay(StandIn):
    """A model that repeats saved responses and makes none."""

    def __init__(self, files: Iterable[ResponseFile]) -> None:
        super().__init__()
        self.known: dict[Key, Answer] = {}
        for file in files:
            for key, value in file.known.items():
                if key in self.known:
                    raise ValueError(f"two units answered {key}")
                self.known[key] = value
        for name in {key[0] for key in self.known} - set(REQUEST_TYPES):
            # Another pack may have given the base class a method of this name.
            setattr(self, name, functools.partial(self._answer, name))

    def _answer(self, name: str, requests: Sequence[Instance], **_: Any) -> list[Any]:
        return self.replies_to(name, requests)

    def replies_to(self, kind: str, requests: Sequence[Instance]) -> list[Any]:
        """Repeats the saved responses.

        Raises:
            KeyError: a request has none.
            ValueError: the row of a request has changed since.
        """
        answers = []
        for request, key in zip(requests, keys_of(kind, requests), strict=True):
            answer = self.known[key]
            if answer.row != row_digest(request):
                raise ValueError(
                    f"row {request.doc_id} of {request.task_name} has changed since its reply was "
                    "generated; generate it again: `evalprep run --restart`"
                )
            with contextlib.suppress(ValueError):  # an image or the like: the request's own stays
                # As they were sent, chat template included.
                request.arguments = restored(answer.arguments)
            answers.append(restored(answer.response))
        return answers

    def apply_chat_template(self, chat_history: list[dict[str, str]], **_: Any) -> str:
        """Plain text: the arguments that were sent replace it."""
        return "\n".join(str(message["content"]) for message in chat_history)
