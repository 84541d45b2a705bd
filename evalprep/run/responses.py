"""Model responses that survive a crash: written as soon as they are made, found again by task and row."""

from __future__ import annotations

import contextlib
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from evalprep.atomic import write_atomically

REQUEST_TYPES = ("generate_until", "loglikelihood", "loglikelihood_rolling")
FILE = "responses.pickle"
# Kind of request, task, position of the row, number of the request, its repeat. Positions and not sample ids, which
# nothing makes unique in tasks of others; a change of the data is noticed by the requests.
Key = tuple[str, str, int, int, int]


def keys_of(kind: str, requests: Iterable[Instance], first: int = 0) -> list[Key]:
    """One key per request; a repeat of the same request gets the next number.

    Args:
        kind: generate_until, loglikelihood or loglikelihood_rolling.
        requests: As lm-eval hands them to the model, repeats included.
        first: Position of the unit's first row in the whole data; lm-eval counts from 0 in each call.
    """
    counts: Counter[tuple[str, int, int]] = Counter()
    keys = []
    for request in requests:
        stem = (str(request.task_name), first + int(request.doc_id or 0), int(request.idx))
        keys.append((kind, *stem, counts[stem]))
        counts[stem] += 1
    return keys


class ResponseFile:
    """The responses of one unit. Pickled: back ends may return richer objects than JSON holds, e.g. token likelihoods.

    Only this program writes and reads it, in a folder of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.known: dict[Key, tuple[Any, Any]] = {}
        if self.path.exists():
            # A file of another version counts as absent: the unit is generated again.
            with contextlib.suppress(Exception):
                self.known = pickle.loads(self.path.read_bytes())  # noqa: S301 - written by ourselves, see above

    def add(self, keys: Iterable[Key], responses: Iterable[tuple[Any, Any]]) -> None:
        """Keep (arguments, response) pairs on disk."""
        self.known.update(zip(keys, responses, strict=True))
        write_atomically(self.path, pickle.dumps(self.known))


def record(lm: LM, file: ResponseFile, first: int) -> Callable[[], None]:
    """Make a model answer from the file what it answered before, and write down the rest at once.

    Returns:
        A function that undoes it.
    """
    originals = {name: getattr(lm, name) for name in REQUEST_TYPES}

    def wrap(name: str) -> Callable[..., list[Any]]:
        def answer(requests: list[Instance], *args: Any, **kwargs: Any) -> list[Any]:
            keys = keys_of(name, requests, first)
            # Only an answer to the very same request counts: a prompt function may have been edited in between.
            open_ones = [
                number
                for number, key in enumerate(keys)
                if key not in file.known or file.known[key][0] != requests[number].arguments
            ]
            if open_ones:
                made = originals[name]([requests[number] for number in open_ones], *args, **kwargs)
                file.add(
                    [keys[number] for number in open_ones],
                    [(requests[number].arguments, response) for number, response in zip(open_ones, made, strict=True)],
                )
            return [file.known[key][1] for key in keys]

        return answer

    for name in REQUEST_TYPES:
        setattr(lm, name, wrap(name))

    def undo() -> None:
        for name in REQUEST_TYPES:
            delattr(lm, name)

    return undo


class Replay(LM):  # type: ignore[misc]
    """A model that repeats saved responses and makes none."""

    tokenizer_name = ""

    def __init__(self, files: Iterable[ResponseFile]) -> None:
        super().__init__()
        self.known: dict[Any, tuple[Any, Any]] = {}
        for file in files:
            for key, value in file.known.items():
                if key in self.known:
                    raise ValueError(f"two units answered {key}")
                self.known[key] = value

    def _answer(self, name: str, requests: list[Instance]) -> list[Any]:
        found = []
        for request, key in zip(requests, keys_of(name, requests), strict=True):
            arguments, response = self.known[key]
            request.arguments = arguments  # as they were sent, chat template included
            found.append(response)
        return found

    def generate_until(self, requests: list[Instance]) -> list[Any]:
        """Saved texts."""
        return self._answer("generate_until", requests)

    def loglikelihood(self, requests: list[Instance]) -> list[Any]:
        """Saved log-likelihoods."""
        return self._answer("loglikelihood", requests)

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[Any]:
        """Saved log-likelihoods of whole texts."""
        return self._answer("loglikelihood_rolling", requests)

    def apply_chat_template(self, chat_history: list[dict[str, str]], **_: Any) -> str:
        """Plain text: the arguments that were sent replace it."""
        return "\n".join(str(message["content"]) for message in chat_history)

    def chat_template(self, chat_template: bool | str = False) -> str:  # noqa: ARG002 - lm-eval's signature
        """None of its own."""
        return ""
