"""The checker's process: runs the data set's test.

A stand-in for the programme sends each call of the test to the candidate's process.

It alone knows the expected values, and its end is the verdict.
"""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

from evalprep.coderunner.inside.pipe import (
    BROKEN,
    CALL,
    FAILED,
    LONGEST,
    PASSED,
    VALUE,
    Pipe,
    describe,
)
from evalprep.coderunner.inside.plain import Decoder, MalformedError, NotPlainError, encode, fill

MODULE = "check"


class CandidateError(BaseException):
    """The candidate's reply is malformed, or it raised what is no `Exception` (e.g. SystemExit)."""


class BrokenTestError(BaseException):
    """The test cannot be run, whatever the candidate is."""


class StandIn:
    """Stands under the candidate's name in the test, and has the candidate's process compute.

    Attributes:
        calls: How often the test has called it.
    """

    def __init__(self, pipe: Pipe, name: str) -> None:
        self._pipe = pipe
        self.__name__ = name
        self.calls = 0

    def __call__(self, *arguments: Any, **names: Any) -> Any:
        """Returns, or raises, what the candidate does."""
        try:
            call, passed = encode([arguments, names])
        except NotPlainError as error:
            raise BrokenTestError(f"an argument of the test is a {error}, not plain data") from None
        if len(call) > LONGEST:
            raise BrokenTestError("the arguments of the test are too large")
        self.calls += 1
        self._pipe.send(CALL, call)
        kind, reply = self._pipe.receive()
        try:
            return take_value(reply, passed) if kind == VALUE else raise_as(reply)
        except MalformedError as error:
            raise CandidateError(f"its reply is malformed: {error}") from None


def take_value(reply: bytes, passed: list[Any]) -> Any:
    """Returns what the candidate returned.

    Where that is None, what the candidate did to its arguments is done to them here.
    """
    decoder = Decoder(reply, passed if reply[:1] == b"N" else ())
    value = decoder.read()
    if value is None:
        contents = [decoder.read_content() for _ in passed]
        for container, content in zip(passed, contents, strict=True):
            fill(container, content)
    if not decoder.at_end():
        raise MalformedError("more than one value")
    return value


def raise_as(reply: bytes) -> Any:
    """Raises the nearest built-in exception with the candidate's text."""
    content = Decoder(reply).read()
    match content:
        case [list(names), str(text)]:
            raise nearest_exception(names, text)
    raise MalformedError("no exception")


def nearest_exception(names: list[Any], text: str) -> BaseException:
    """The first of some class names that is a built-in exception which takes a text."""
    for name in names:
        known = getattr(builtins, name, None) if isinstance(name, str) else None
        if isinstance(known, type) and issubclass(known, Exception):
            try:
                return known(text)
            except TypeError:  # such as UnicodeDecodeError; its base class takes a text
                continue
    return CandidateError(f"it raised {names[:1]}")


def run_test(settings: dict[str, Any], candidate: StandIn) -> None:
    """Runs the problem's prompt, whose helpers a test may call, then the test, then its `check`."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    names = module.__dict__
    exec(compile(settings["prompt"], "prompt", "exec"), names)  # noqa: S102 - the data set's own
    names[settings["entry_point"]] = candidate
    exec(compile(settings["test"], "test", "exec"), names)  # noqa: S102 - the data set's own
    names["check"](candidate)


def main(pipe: Pipe, settings: dict[str, Any]) -> None:
    """Runs the test and sends the verdict.

    A test that ends with an exception before it has called the candidate is broken itself.
    """
    sys.path += settings["packages"]
    candidate = StandIn(pipe, settings["entry_point"])
    try:
        run_test(settings, candidate)
    except BrokenTestError as error:
        pipe.send(BROKEN, str(error).encode("utf-8", "replace")[:200])
    except CandidateError as error:
        pipe.send(FAILED, str(error).encode("utf-8", "replace")[:200])
    except BaseException as error:  # noqa: BLE001 - whatever the test raises, it has not passed
        pipe.send(FAILED if candidate.calls else BROKEN, describe(error))
    else:
        pipe.send(PASSED)
