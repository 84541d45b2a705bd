"""Which commands share a loaded model, what of it is brought back between them, and when the fault is the engine's."""

import os
import socket
from dataclasses import replace
from types import SimpleNamespace

import pytest

from evalprep.run.channel import Channel
from evalprep.run.engine import Engine, engine_key
from evalprep.status.job import Job

JOB = Job(
    "hf",
    {"pretrained": "/m"},
    ["one"],
    {"output_path": "out", "batch_size": 8, "seed": [1] * 4},
    {"A": "1"},
)


@pytest.mark.parametrize(
    ("changes", "shared"),
    [
        ({"tasks": ["two"]}, True),
        ({"name": "c2-chat", "depth": 1}, True),
        (
            {"options": {**JOB.options, "seed": [2] * 4, "limit": 3, "apply_chat_template": True}},
            True,
        ),
        ({"options": {**JOB.options, "num_fewshot": 5, "gen_kwargs": {"max_gen_toks": 1}}}, True),
        (
            {
                "options": {
                    **JOB.options,
                    "system_instruction": "Be brief.",
                    "metadata": {"command": "c2"},
                }
            },
            True,
        ),
        ({"options": {**JOB.options, "batch_size": 4}}, False),
        ({"options": {**JOB.options, "device": "cpu"}}, False),
        ({"options": {**JOB.options, "a_key_of_a_later_lm_eval": 1}}, False),
        ({"model_args": {"pretrained": "/m", "dtype": "float32"}}, False),
        ({"model": "vllm"}, False),
        ({"env": {"A": "2"}}, False),
    ],
)
def test_commands_that_differ_in_what_goes_along_with_a_call_share_a_model(changes, shared):
    assert (engine_key(replace(JOB, **changes)) == engine_key(JOB)) == shared


class Model:
    """Stands where lm-eval's object would: it takes a key out of its arguments, and keeps things from requests."""

    def __init__(self, arguments):
        arguments["chat_template_args"].pop("enable_thinking", None)
        self.batch_sizes, self.sides = {}, ["left"]

    @classmethod
    def create_from_arg_obj(cls, arguments, _):
        return cls(arguments)


def config(model="hf"):
    arguments = {
        "pretrained": "/m",
        "chat_template_args": {"enable_thinking": False, "date": "today"},
    }
    more = {"batch_size": 8, "max_batch_size": None, "device": "cpu", "apply_chat_template": True}
    metadata = {**arguments, "command": "c2-chat"}
    return SimpleNamespace(model=model, model_args=arguments, metadata=metadata, **more)


def test_the_next_command_finds_the_model_as_it_was_loaded():
    engine, first, second = Engine(), config(), config()
    engine.turn_to(first)
    lm = engine.load(Model, first)
    lm.batch_sizes[0], lm.kept = 64, "of a request"
    lm.sides.append("right")
    engine.turn_to(second)
    assert engine.lm is lm
    assert vars(lm) == {"batch_sizes": {}, "sides": ["left"]}
    # As a process of its own would write it into its results.
    assert (
        second.model_args
        == first.model_args
        == {"pretrained": "/m", "chat_template_args": {"date": "today"}}
    )
    assert second.metadata == {**second.model_args, "command": "c2-chat"}
    assert engine.seconds is None


@pytest.mark.parametrize("model", ["dummy", "a-back-end-of-somebody"])
def test_a_model_that_cannot_be_brought_back_is_made_anew(model):
    engine = Engine()
    engine.load(Model, config(model))
    engine.turn_to(config(model))
    assert not engine.loaded


class EngineDeadError(Exception):
    """As vLLM names it."""


def failing(*errors, served=0, of_engine=True):
    engine = Engine()
    engine.served = served
    for task, error in errors:
        if of_engine:
            engine.unanswered(error)
        broken = engine.at_fault(task, error)
    return bool(broken), engine.dead


@pytest.mark.parametrize(
    ("errors", "options", "found"),
    [
        ([("a", ValueError("of 5 tokens")), ("b", ValueError("of 71 tokens"))], {}, (True, False)),
        ([("a", ValueError("x")), ("a", ValueError("x"))], {}, (False, False)),
        ([("a", ValueError("x")), ("b", KeyError("y"))], {}, (False, False)),
        ([("a", ValueError("x")), ("b", ValueError("x"))], {"served": 1}, (False, False)),
        ([("a", ValueError("x")), ("b", ValueError("x"))], {"of_engine": False}, (False, False)),
        ([("a", EngineDeadError())], {"served": 9}, (True, True)),
    ],
)
def test_what_ends_every_task_is_not_repeated_for_each(errors, options, found):
    assert failing(*errors, **options) == found


def test_a_lock_goes_along_with_a_message(tmp_path):
    ours, theirs = (Channel(end) for end in socket.socketpair())
    with (tmp_path / "lock").open("w") as handle:
        ours.send({"folder": "x" * 60_000}, [handle.fileno()])
        ours.send({"folder": "next"})
        message, (descriptor,) = theirs.receive()
        assert message == {"folder": "x" * 60_000}
        assert os.fstat(descriptor).st_ino == os.fstat(handle.fileno()).st_ino
        os.close(descriptor)
    assert theirs.receive() == ({"folder": "next"}, [])
    ours.socket.close()
    assert theirs.receive() is None
    theirs.socket.close()
