"""Batches: submitted once, collected whole or in part, found again after a crash at any step."""

import asyncio
import json

import pytest

from evalprep.annotate.batch import Desk, batches_of, changed_inputs
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE
from evalprep.annotate.providers.service import WIRES, Service
from evalprep.annotate.providers.wire import RefusedError, UnansweredError
from tests.evalprep.annotate.plain import questions
from tests.evalprep.annotate.services import Said, serve

pytestmark = pytest.mark.parametrize("api", ["openai", "anthropic"])
INPUTS = {"model": "m", "samples": "abc"}
CREATE = {"openai": "/v1/batches", "anthropic": "/v1/messages/batches"}


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / FILE, write=True) as opened:
        yield opened


def at_desk(ledger, server, api, work):
    """The outcome of `work(desk)`, as one call of the command would have it."""

    async def go():
        async with Service(WIRES[api], server.url, "sk-test-0123456789", deadline=5) as service:
            return await work(Desk(ledger, service, run="run"))

    return asyncio.run(go())


def submit(ledger, server, api, asked):
    return at_desk(ledger, server, api, lambda desk: desk.submit(asked, INPUTS))


def follow(ledger, server, api, batch):
    return at_desk(ledger, server, api, lambda desk: desk.follow(batch))


def collect(ledger, server, api, batch):
    return at_desk(ledger, server, api, lambda desk: desk.collect(batch))


def statuses(ledger, count=5):
    return [[row.status for row in question.attempts] for question in questions(ledger, count)]


def three(*_):
    return "Rating: 3"


def test_from_submission_to_collection(ledger, api):
    with serve(three) as server:
        (batch,) = submit(ledger, server, api, questions(ledger, 5))
        assert batch.state == "submitted"
        assert statuses(ledger) == [["sent"]] * 5
        assert questions(ledger, 5)[0].judgement().status == "not asked"
        assert ledger.close_interrupted() == 0
        (batch,) = batches_of(ledger, "run")  # all that a later call has
        assert follow(ledger, server, api, batch).state == "in_progress"
        server.state = "completed"
        batch = follow(ledger, server, api, batches_of(ledger, "run")[0])
        assert batch.state == "completed"
        batch = collect(ledger, server, api, batch)
    assert (batch.state, batch.reason) == ("collected", "")
    assert [question.judgement().values for question in questions(ledger, 5)] == [{"rating": 3}] * 5
    assert {use.sample_id for uses in ledger.uses().values() for use in uses} == {
        f"q{at}" for at in range(5)
    }
    assert changed_inputs(batch, INPUTS) == []
    assert changed_inputs(batch, {**INPUTS, "model": "n"}) == ["model"]


def test_what_fails_in_a_batch_is_named_and_the_rest_counts(ledger, api):
    def answer(prompt, *_):
        place = int(prompt.split()[-1])
        odd = [
            Said(status=400, text="too long"),
            Said("Rating: 5", finish_reason="length"),
            Said("Rating: 5", refusal="no"),
        ]
        return odd[place] if place < 3 else "Rating: 4"

    with serve(answer) as server:
        (batch,) = submit(ledger, server, api, questions(ledger, 5))
        server.state = "completed"
        collect(ledger, server, api, batch)
    assert statuses(ledger) == [["failed"], ["truncated"], ["refused"], ["received"], ["received"]]
    assert "too long" in questions(ledger, 1)[0].judgement().reason


def test_an_expired_batch_leaves_its_part_and_the_missing_are_asked_anew(ledger, api):
    asked = questions(ledger, 5)
    with serve(three) as server:
        (batch,) = submit(ledger, server, api, asked)
        server.state = "completed"
        whole = part_of(server, api, batch)
        server.results[batch.batch_id] = b"\n".join(whole.splitlines()[:2]) + b"\n"
        server.state = "expired"
        batch = collect(ledger, server, api, batch)
        assert "3 without a result" in batch.reason
        assert statuses(ledger) == [["received"]] * 2 + [["expired"]] * 3
        rest = [question for question in questions(ledger, 5) if not question.settled]
        (second,) = submit(ledger, server, api, rest)
        server.state = "completed"
        collect(ledger, server, api, second)
    assert statuses(ledger) == [["received"]] * 2 + [["expired", "received"]] * 3
    sent = server.batches[second.batch_id]["requests"]
    assert {key for key, _ in sent} == {one.key for one in asked[2:]}


def part_of(server, api, batch):
    """The whole results of a batch as the service has them."""
    import urllib.request

    path = {
        "openai": f"/files/{batch.batch_id}/content",
        "anthropic": f"/messages/batches/{batch.batch_id}/results",
    }[api]
    with urllib.request.urlopen(server.url + path) as response:
        return response.read()


def test_odd_results_lose_no_answer(ledger, api):
    with serve(three) as server:
        (batch,) = submit(ledger, server, api, questions(ledger, 5))
        server.state = "completed"
        lines = part_of(server, api, batch).splitlines()
        other = lines[1].replace(b"Rating: 3", b"Rating: 5")
        stranger = lines[0].replace(json.loads(lines[0])["custom_id"].encode(), b"0" * 64)
        odd = [
            lines[0],
            b"{",
            b"[" * 200_000,
            b"[]",
            lines[1],
            lines[1],
            other,
            stranger,
            lines[2],
            lines[3][:-9],
        ]
        server.results[batch.batch_id] = b"\n".join(odd)
        batch = collect(ledger, server, api, batch)
    assert statuses(ledger) == [
        ["received"],
        ["received"] * 2,
        ["received"],
        ["failed"],
        ["failed"],
    ]
    for part in (
        "2 without a result",
        "4 damaged lines",
        "1 repeated ids",
        "1 results that were not asked for",
    ):
        assert part in batch.reason


def test_a_broken_download_is_fetched_again(ledger, api):
    with serve(three) as server:
        (batch,) = submit(ledger, server, api, questions(ledger, 5))
        server.state = "completed"
        path = (
            f"/v1/files/{batch.batch_id}/content"
            if api == "openai"
            else f"/v1/messages/batches/{batch.batch_id}/results"
        )
        server.fails[path] = [Said(body=b'{"custom_id"', cut=True)]
        with pytest.raises(UnansweredError, match="connection lost"):
            collect(ledger, server, api, batch)
        assert batches_of(ledger, "run")[0].state != "collected"
        collect(ledger, server, api, batches_of(ledger, "run")[0])
    assert statuses(ledger) == [["received"]] * 5


def test_a_refused_submission_leaves_the_questions_open(ledger, api):
    with serve(three) as server:
        server.fails[CREATE[api]] = [Said("bad key", status=401)]
        with pytest.raises(RefusedError, match="bad key"):
            submit(ledger, server, api, questions(ledger, 5))
        assert [batch.state for batch in batches_of(ledger, "run")] == ["failed"]
        assert statuses(ledger) == [["failed"]] * 5
        submit(ledger, server, api, questions(ledger, 5))
    assert [batch.state for batch in batches_of(ledger, "run")] == ["failed", "submitted"]


@pytest.mark.parametrize("taken", [True, False])
def test_a_submission_whose_answer_was_lost_is_looked_for(ledger, api, taken):
    """The connection drops after, or before, the provider has taken the batch."""
    with serve(three) as server:
        server.fails[CREATE[api]] = [Said(hang_up=True)]
        with pytest.raises(UnansweredError):
            submit(ledger, server, api, questions(ledger, 5))
        (batch,) = batches_of(ledger, "run")
        assert batch.state == "submitting"
        if taken:
            body = {"path": "/v1" + WIRES[api].path, "model": "m", "messages": [{"content": "x"}]}
            requests = [(question.key, body) for question in questions(ledger, 5)]
            server.batches["batch_lost"] = {
                "requests": requests,
                "metadata": {"evalprep": batch.tag},
            }
            server.state = "completed"
        batch = follow(ledger, server, api, batch)
        if not taken:
            assert batch.state == "failed"
            assert statuses(ledger) == [["failed"]] * 5
            return
        assert batch.batch_id == "batch_lost"
        collect(ledger, server, api, batch)
    assert statuses(ledger) == [["received"]] * 5
    assert sum(call.startswith(f"POST {CREATE[api]}") for call in server.calls) == 1


def test_cancelling_keeps_what_is_finished(ledger, api):
    with serve(three) as server:
        (batch,) = submit(ledger, server, api, questions(ledger, 3))
        at_desk(ledger, server, api, lambda desk: desk.cancel(batch))
        batch = follow(ledger, server, api, batch)
        batch = collect(ledger, server, api, batch)
    assert batch.state == "collected"
    assert statuses(ledger, 3) == [["received"]] * 3


def test_a_batch_that_the_provider_rejects(ledger, api):
    if api == "anthropic":
        pytest.skip("its batches do not fail as a whole")
    with serve(three) as server:
        (batch,) = submit(ledger, server, api, questions(ledger, 3))
        server.state = "failed"
        batch = follow(ledger, server, api, batch)
    assert (batch.state, batch.reason) == ("failed", "too many tokens queued")
    assert [question.settled for question in questions(ledger, 3)] == [False] * 3


def test_a_large_set_is_several_batches(ledger, api, monkeypatch):
    from evalprep.annotate.providers.batches import BATCHES

    monkeypatch.setattr(type(BATCHES[api]), "most", 2)
    with serve(three) as server:
        sent = submit(ledger, server, api, questions(ledger, 5))
        server.state = "completed"
        for batch in sent:
            collect(ledger, server, api, batch)
    assert len(sent) == 3
    assert statuses(ledger) == [["received"]] * 5


@pytest.mark.parametrize("identity", ["../../keys", "a/b", "", "x" * 300])
def test_an_id_leads_nowhere_else(ledger, api, identity):
    with serve(three) as server:
        body = json.dumps({"id": identity}).encode()
        server.fails["/v1/files" if api == "openai" else CREATE[api]] = [Said(body=body)]
        with pytest.raises(UnansweredError, match="id"):
            submit(ledger, server, api, questions(ledger, 2))
