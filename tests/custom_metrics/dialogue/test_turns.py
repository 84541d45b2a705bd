"""Dialogues turn by turn, and the harness task that plays them."""

import json

import pytest

from custom_metrics.dialogue import Dialogue, replies
from custom_metrics.dialogue.task import talk
from custom_metrics.dialogue.turns import without_system


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def test_what_the_row_answers_is_history():
    talk = Dialogue([{"role": "system", "content": "S"}, user("1"), assistant("one"), user("2")])
    assert [one["content"] for one in talk.said] == ["S", "1", "one", "2"]
    assert not talk.over
    talk.answer(" two \n")
    assert talk.over
    assert json.loads(talk.dump()) == ["two"]


def test_replies_enter_the_next_turn():
    talk = Dialogue([{"role": "USER", "content": "a"}, {"role": "USER", "content": "b"}])
    talk.answer("x")
    assert [one["content"] for one in talk.said] == ["a", "x", "b"]
    talk.answer("y")
    assert (talk.over, talk.replies) == (True, ["x", "y"])


def test_a_stop_ends_it():
    talk = Dialogue(
        [user("a"), user("b")], {"bad": "x"}, lambda doc, _message, reply: reply == doc["bad"]
    )
    talk.answer("x")
    assert (talk.over, talk.replies) == (True, ["x"])


@pytest.mark.parametrize("messages", [[], [assistant("x")], [user("a"), assistant("b")]])
def test_nothing_to_answer(messages):
    assert Dialogue(messages).over


@pytest.mark.parametrize(
    ("response", "read"),
    [('["a", "b"]', ["a", "b"]), ("plain", ["plain"]), ("3", ["3"]), ("[1]", ["1"]), ("[", ["["])],
)
def test_responses_are_read(response, read):
    assert replies(response) == read


def test_templates_without_a_system_role():
    assert without_system([{"role": "system", "content": "S"}]) == []


class Model:
    """Answers with the number of messages; knows no system role unless told so."""

    def __init__(self, *, system):
        self.system, self.batches = system, []

    def apply_chat_template(self, messages):
        if not self.system and any(message["role"] == "system" for message in messages):
            raise ValueError("no system role")
        return json.dumps([message["content"] for message in messages])

    def generate_until(self, requests, **_):
        self.batches.append(len(requests))
        return [str(len(json.loads(request.args[0]))) for request in requests]


@pytest.mark.parametrize("system", [True, False])
def test_all_rows_of_a_turn_are_one_batch(system):
    from lm_eval.api.instance import Instance

    rows = [[{"role": "system", "content": "S"}, user("a"), user("b")], [user("a")]]
    requests = [
        Instance(
            request_type="dialogue",
            doc={},
            arguments=(json.dumps(row), {"until": []}, ""),
            idx=0,
            metadata=("t", n, 1),
        )
        for n, row in enumerate(rows)
    ]
    model = Model(system=system)
    answers = talk(model, requests)
    assert [json.loads(answer) for answer in answers] == (
        [["2", "4"], ["1"]] if system else [["1", "3"], ["1"]]
    )
    assert model.batches == [2, 1]
