"""Whatever stands for a model answers every type of request, by every keyword of its callers."""

import json

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.dummy import DummyLM

from custom_metrics.dialogue.task import talk
from custom_metrics.first_token.task import first_token
from evalprep.run.collect import Collector
from evalprep.run.interface import interface_of
from evalprep.run.kinds import (
    BEYOND_FILES,
    DIALOGUE,
    FIRST_TOKEN,
    GENERATION,
    GRADIENTS,
    LIKELIHOOD,
    REQUEST_TYPES,
    ROLLING,
    TOKEN_LOGPROBS,
    RepliesMissingError,
)
from evalprep.run.rehearsal import give_template
from evalprep.run.replies import Reply
from evalprep.run.replies_engine import _Answers
from evalprep.run.request import request_id
from evalprep.run.responses import Answer, Replay, ResponseFile, keys_of, row_digest
from evalprep.status import Job

MESSAGES = json.dumps([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
ARGUMENTS = {
    GENERATION: ("a", {"until": ["\n"]}),
    LIKELIHOOD: ("a", " b"),
    ROLLING: ("a",),
    DIALOGUE: (MESSAGES, {"until": []}, ""),
    TOKEN_LOGPROBS: ("a", " b", {}),
    FIRST_TOKEN: ("a", {"until": []}),
    GRADIENTS: ("a", " b", {}),
}
KEYWORDS = ({}, {"disable_tqdm": True}, {"disable_tqdm": False})


def request(kind):
    return Instance(kind, {"sample_id": "s"}, ARGUMENTS[kind], 0, metadata=("task", 0, 1))


@pytest.fixture
def job():
    return Job(name="c1-plain", model="dummy", model_args={}, tasks=["task"], options={})


class AnyReply(dict):
    """A reply to every id, whatever a request looks like."""

    def get(self, _name, _default=None):
        return Reply("yes", -1.0)


def answers(job, _folder):
    return _Answers(job, AnyReply())


def replay(_job, folder):
    file = ResponseFile(folder)
    for kind in REQUEST_TYPES:
        one = request(kind)
        (key,) = keys_of(kind, [one])
        file.add({key: Answer(list(one.args), "yes", row_digest(one))})
    return Replay([file])


def dummy(_job, _folder):
    lm = DummyLM()
    give_template(lm)
    return lm


#: Each stand-in, and the types that it answers: lm-eval's dummy has those of lm-eval, and the
#: methods that task classes give to all models.
ENGINES = [
    (answers, [kind for kind in REQUEST_TYPES if kind not in BEYOND_FILES]),
    (replay, REQUEST_TYPES),
    (dummy, REQUEST_TYPES),
]


@pytest.mark.parametrize("keywords", KEYWORDS, ids=str)
@pytest.mark.parametrize(
    ("engine", "kinds"), ENGINES, ids=lambda value: getattr(value, "__name__", "")
)
def test_every_request_type_with_every_keyword(engine, kinds, keywords, job, tmp_path):
    from lm_eval.api.model import LM

    from custom_metrics.token_logprobs.attach import attach

    LM.dialogue = talk
    LM.first_token = first_token
    attach()
    lm = engine(job, tmp_path)
    assert kinds
    for kind in kinds:
        if engine is dummy and kind == LIKELIHOOD:
            keywords = {}  # the only one that lm-eval's dummy takes there
        replies = getattr(lm, kind)([request(kind)], **keywords)
        assert len(replies) == 1, kind


@pytest.mark.parametrize("kind", sorted(BEYOND_FILES))
def test_what_no_file_can_hold_is_said_in_words(kind, job, tmp_path):
    with pytest.raises(RepliesMissingError, match=f"holds no {BEYOND_FILES[kind]}"):
        getattr(answers(job, tmp_path), kind)([request(kind)], disable_tqdm=True)


def turns(job, replies, draws=1):
    """The turns that are asked of a dialogue, as far as the replies to earlier ones reach."""
    collector = Collector(interface_of(job), job, replies)
    return list(collector.requests([request(DIALOGUE)] * draws))


def test_a_dialogue_is_asked_as_far_as_replies_reach(job):
    (first,) = turns(job, {})
    assert first.messages[-1]["content"] == "a"
    known = {first.id: Reply("said")}
    _, second = turns(job, known)
    assert [message["content"] for message in second.messages] == ["a", "said", "b"]
    waiting = "1 of 1 dialogues wait for their next reply .of s."
    with pytest.raises(RepliesMissingError, match=waiting):
        _Answers(job, known).dialogue([request(DIALOGUE)])
    whole = {**known, second.id: Reply("done")}
    assert _Answers(job, whole).dialogue([request(DIALOGUE)]) == ['["said", "done"]']


def test_draws_of_one_row_keep_their_own_turns(job):
    """A draw that ends, or waits, before the others does not shift their ids."""
    first, second = (turn.id for turn in turns(job, {}, draws=2))
    assert first != second
    further = {turn.id: turn for turn in turns(job, {second: Reply("said")}, draws=2)}
    (new,) = set(further) - {first, second}
    turn = further[new]
    assert turn.messages[1]["content"] == "said"
    instance = Instance(
        GENERATION, {"sample_id": "s"}, (turn.prompt, {"until": []}), 1, metadata=("task", 0, 1)
    )
    assert new == request_id(GENERATION, instance, "", repeat=1)
