"""What a service can say or do, in both wire formats: every answer that came is kept, nothing hangs, nothing swells."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalprep.annotate import asking
from evalprep.annotate.answers import Who
from evalprep.annotate.asking import Asker, Stopped
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE
from evalprep.annotate.prices import Budget, Price
from evalprep.annotate.providers.body import retry_after
from evalprep.annotate.providers.service import WIRES, Service
from tests import PROJECT_ROOT
from tests.evalprep.annotate.plain import Plain, questions
from tests.evalprep.annotate.services import Said, bomb, serve

SECRET = "sk-test-0123456789abcdef"
NOW = {"Retry-After": "0"}
BOTH = pytest.mark.parametrize("api", ["openai", "anthropic"])


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(asking, "FIRST_WAIT", 0.01)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / FILE, write=True) as opened:
        yield opened


def ask(ledger, url, asked, *, api="openai", size=4, retries=2, budget=None, deadline=5.0, **more):
    asker = Asker(ledger, run="run", size=size, retries=retries, budget=budget)

    async def go():
        async with Service(
            WIRES[api], url, SECRET, connections=size, deadline=deadline, **more
        ) as service:
            await asker.ask(service, asked)

    asyncio.run(go())
    return asker.sum


def statuses(ledger):
    return sorted(one.status for several in ledger.attempts().values() for one in several)


@BOTH
def test_an_answer_is_kept_with_what_it_took(ledger, api):
    asked = questions(ledger, 3)
    price = Price(input=1.0, output=10.0)
    with serve(lambda *_: "Rating: 4") as server:
        sum_ = ask(ledger, server.url, asked, api=api, budget=Budget(None, price))
    assert [one.judgement().values for one in asked] == [{"rating": 4}] * 3
    rows = [one for several in ledger.attempts().values() for one in several]
    assert {
        (row.status, row.reply, row.tokens_in, row.tokens_out, row.annotator) for row in rows
    } == {("received", "Rating: 4", 100, 10, "plain")}
    assert sum_.cost == pytest.approx(3 * 200 / 1e6)
    assert (sum_.requests, sum_.unpriced, sum_.tokens_in) == (3, 0, 300)
    assert {use.sample_id for uses in ledger.uses().values() for use in uses} == {"q0", "q1", "q2"}
    # The next call knows them all.
    assert all(question.settled for question in questions(ledger, 3))


@BOTH
@pytest.mark.parametrize(
    ("said", "status", "kept"),
    [
        pytest.param(Said("Rating: 5", refusal="not this"), "refused", "refused", id="refusal"),
        pytest.param(Said("Rating: 5", finish_reason="length"), "truncated", "truncated", id="cut at the limit"),
        pytest.param(Said("no idea"), "parse_error", "received", id="no rating"),
        pytest.param(Said(""), "missing", "received", id="empty"),
        pytest.param(Said(None), "missing", "received", id="null"),
        pytest.param(Said(body=b"{"), "missing", "failed", id="malformed"),
        pytest.param(Said(body=b"[" * 100_000), "missing", "failed", id="100,000 deep"),
        pytest.param(Said(body=b'{"a":' * 100_000), "missing", "failed", id="100,000 deep objects"),
        pytest.param(Said(body=b"[]"), "missing", "failed", id="another form"),
        pytest.param(Said(hang_up=True), "missing", "failed", id="connection dropped"),
        pytest.param(Said("Rating: 5", cut=True), "missing", "failed", id="truncated body"),
        pytest.param(Said(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), "missing", "failed", id="bad gzip"),
        pytest.param(Said(body=b"x", headers={"Content-Encoding": "br"}), "missing", "failed", id="another packing"),
        pytest.param(Said(status=500), "missing", "failed", id="500"),
        pytest.param(Said(status=503, body=b"<html>"), "missing", "failed", id="page of a proxy"),
        pytest.param(Said(status=429), "missing", "failed", id="429"),
        pytest.param(Said(status=400, text="too long"), "missing", "failed", id="400"),
        pytest.param(Said(status=500, endless=10**8), "missing", "failed", id="endless error"),
    ],
)  # fmt: skip
def test_every_row_ends_with_a_status(ledger, api, said, status, kept):
    asked = questions(ledger, 1)
    with serve(lambda *_: said) as server:
        ask(ledger, server.url, asked, api=api, retries=1)
    assert asked[0].judgement().status == status
    repeated = 1 if said.status == 400 else 2
    assert statuses(ledger) == [kept] * repeated
    assert asked[0].settled == (kept != "failed")


@BOTH
def test_asked_again_until_there_is_a_rating(ledger, api):
    replies = [
        Said(status=429, headers=NOW),
        Said(hang_up=True),
        Said(body=b"{"),
        Said("hm"),
        Said("Rating: 2"),
    ]
    asked = questions(ledger, 1)
    with serve(lambda _, number, __: replies[number - 1]) as server:
        ask(ledger, server.url, asked, api=api, retries=9)
    assert asked[0].judgement().values == {"rating": 2}
    assert [attempt.status for attempt in asked[0].attempts] == ["failed"] * 3 + ["received"] * 2
    keys = [header["Idempotency-Key"] for header in server.headers]
    # The same until the first answer; then it is another question.
    assert len(set(keys[:4])) == 1
    assert keys[4] != keys[0]


def test_a_reply_is_read_once_and_shared_terms_are_made_once(ledger, monkeypatch):
    """Both were done several times per request, beside hundreds of requests on their way."""
    read, made = [], []
    monkeypatch.setattr(Plain, "read", lambda *_: read.append(1) or ("ok", {"rating": 4.0}))
    terms = Who.terms
    monkeypatch.setattr(
        Who, "terms", lambda *words, **more: made.append(1) or terms(*words, **more)
    )
    asked = questions(ledger, 5)
    with serve(lambda *_: "Rating: 4") as server:
        ask(ledger, server.url, asked)
    assert len(read) == 5
    assert len(made) == 1
    assert len({id(one.request.sampling) for one in asked}) == 1


@BOTH
def test_the_key_goes_where_the_format_has_it_and_nowhere_else(ledger, api, tmp_path):
    asked = questions(ledger, 2)
    with serve(
        lambda _, number, key: Said(f"Rating: 3 {key}", status=500 if number == 1 else 200)
    ) as server:
        ask(ledger, server.url, asked, api=api)
    name = {"openai": "Authorization", "anthropic": "x-api-key"}[api]
    assert all(SECRET in header[name] for header in server.headers)
    assert all("***" in one.reply for one in (asked[0].attempts[-1], asked[1].attempts[-1]))
    ledger.close()
    assert all(SECRET.encode() not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_is_not_followed(ledger, status):
    with serve(lambda *_: "Rating: 1") as other:
        to = {"Location": f"{other.url}/chat/completions"}
        asked = questions(ledger, 1)
        with serve(lambda *_: Said(status=status, headers=to)) as server:
            ask(ledger, server.url, asked)
        assert other.requests == []
        assert len(server.requests) == 1
    assert "redirected to http://127.0.0.1" in asked[0].judgement().reason
    assert "--base_url" in asked[0].judgement().reason


def test_a_redirect_at_the_same_origin_is_followed(ledger):
    asked = questions(ledger, 1)
    here = {"Location": "/v1/chat/completions"}
    with serve(
        lambda _, number, __: Said(status=308, headers=here) if number == 1 else "Rating: 4"
    ) as server:
        ask(ledger, server.url, asked)
    assert asked[0].judgement().values == {"rating": 4}
    asked = questions(ledger, 2)[1:]
    with serve(lambda *_: Said(status=307, headers=here)) as server:
        ask(ledger, server.url, asked, retries=5)
    assert "circle" in asked[0].judgement().reason


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(Said("Rating: 4", drip=0.2), id="drip"),
        pytest.param(Said("Rating: 4", wait=3), id="silence"),
        pytest.param(Said(status=500, drip=0.2), id="dripping error"),
    ],
)
def test_no_request_lasts_beyond_its_deadline(ledger, said):
    asked = questions(ledger, 1)
    begun = time.monotonic()
    with serve(lambda *_: said) as server:
        ask(ledger, server.url, asked, retries=0, deadline=0.7)
        assert time.monotonic() - begun < 2.5
    assert "no whole answer within 0.7 s" in asked[0].judgement().reason


def test_a_service_that_asks_for_a_rest_gets_it_from_all(ledger):
    asked = questions(ledger, 8)
    times = []

    def answer(_, number, __):
        times.append(time.monotonic())
        return Said(status=429, headers={"Retry-After": "1"}) if number == 1 else "Rating: 3"

    with serve(answer) as server:
        ask(ledger, server.url, asked, size=1)
    assert times[1] - times[0] > 0.95
    assert all(one.judgement().status == "ok" for one in asked)


def test_a_service_that_asks_for_an_hour_is_left_alone(ledger):
    asked = questions(ledger, 8)
    with (
        serve(lambda *_: Said(status=429, headers={"Retry-After": "3600"})) as server,
        pytest.raises(Stopped, match="3600"),
    ):
        ask(ledger, server.url, asked, size=1)
    assert len(server.requests) == 1


@BOTH
@pytest.mark.parametrize(
    "said",
    [
        Said("bad key", status=401), Said("no access", status=403), Said("no such model", status=404),
        Said("Your credit balance is too low", status=400), Said("no credit", status=429, code="insufficient_quota"),
    ],
)  # fmt: skip
def test_a_service_that_refuses_us_stops_everything(ledger, api, said):
    if (said.code == "insufficient_quota") == (api == "anthropic") and said.status in {400, 429}:
        pytest.skip("words of the other service")
    with serve(lambda *_: said) as server, pytest.raises(Stopped, match=said.text) as stopped:
        ask(ledger, server.url, questions(ledger, 8), api=api, size=1)
    assert stopped.value.refused
    assert len(server.requests) == 1
    assert statuses(ledger) == ["failed"]


def test_a_dead_service_is_given_up(ledger):
    with serve(lambda *_: "") as server:
        pass
    with pytest.raises(Stopped, match="10 questions in a row") as stopped:
        ask(ledger, server.url, questions(ledger, 30), retries=0, size=1)
    assert not stopped.value.refused


def test_equal_questions_are_one_request(ledger):
    asked = [*questions(ledger, 2), *questions(ledger, 2)]
    with serve(lambda *_: "Rating: 4") as server:
        ask(ledger, server.url, asked)
    assert len(server.requests) == 2
    assert all(one.judgement().values for one in asked)


class TestBudget:
    def test_is_never_exceeded(self, ledger):
        asked = questions(ledger, 20)
        price = Price(input=1_000.0, output=10_000.0)  # 0.2 per answer as billed here
        budget = Budget(3.0, price)
        with serve(lambda *_: "Rating: 4") as server, pytest.raises(Stopped, match="max_cost 3"):
            ask(ledger, server.url, asked, budget=budget)
        # A request may take 64 tokens of reply and one per byte of the prompt: up to 0.7; it takes
        # 0.2.
        assert 10 <= len(server.requests) <= 15
        assert budget.spent == pytest.approx(0.2 * len(server.requests))
        assert budget.spent <= 3.0

    def test_what_a_service_does_not_say_counts_as_the_most(self, ledger):
        budget = Budget(3.0, Price(input=1_000.0, output=10_000.0))
        with serve(lambda *_: Said("Rating: 4", usage=False)) as server, pytest.raises(Stopped):
            ask(ledger, server.url, questions(ledger, 20), budget=budget)
        assert len(server.requests) <= 4
        assert {one.cost for several in ledger.attempts().values() for one in several} == {None}


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc"
)
@pytest.mark.parametrize(
    "made",
    [
        lambda: Said("Rating: 4", endless=1_500 * 2**20), lambda: bomb(1_500 * 2**20),
        lambda: Said("no", status=500, endless=1_500 * 2**20),
    ],
    ids=["1.5 GB", "gzip bomb", "1.5 GB of error"],
)  # fmt: skip
def test_memory_is_bounded(tmp_path, made):
    said = made()
    program = f"""
import json, re, sys
from pathlib import Path
from evalprep.annotate.ledger import Ledger
from tests.evalprep.annotate.plain import questions
from tests.evalprep.annotate.test_asking import ask
ledger = Ledger(Path({str(tmp_path / FILE)!r}), write=True)
asked = questions(ledger, 4)
ask(ledger, sys.argv[1], asked, retries=1, deadline=60)
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps([peak, asked[0].judgement().reason]))
"""
    with serve(lambda *_: said) as server:
        done = subprocess.run(
            [sys.executable, "-c", program, server.url], capture_output=True, text=True, check=True, cwd=PROJECT_ROOT,
            env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)},
        )  # fmt: skip
    peak, reason = json.loads(done.stdout)
    assert peak < 300
    assert "larger than" in reason or "HTTP 500" in reason


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0), ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None), ({"retry-after": "nan"}, None), ({}, None), ({"retry-after": "soon"}, None),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0.0), ({"retry-after": "Mon, 99 Jan 2001 00:00:00"}, None),
    ],
)  # fmt: skip
def test_what_a_service_asks_to_wait(headers, seconds):
    assert retry_after(headers) == seconds


def test_messages_in_the_form_of_each_service():
    from evalprep.annotate.providers.wire import Request

    messages = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": "Rate."}]
    request = Request("m", messages, {"temperature": 0}, {"type": "object"})
    openai, anthropic = (WIRES[name].body(request) for name in ("openai", "anthropic"))
    assert openai["messages"] == messages
    assert openai["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert (anthropic["system"], anthropic["messages"]) == ("Be fair.", messages[1:])
    assert anthropic["max_tokens"] == 1024
    assert anthropic["output_config"]["format"]["schema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("tokens", "count"),
    [(0, 0), (100, 100), (-1, None), (10**400, None), (2**63, None), (1.5, None), (True, None)],
)
def test_tokens_that_no_service_can_have_counted_are_unknown(tokens, count):
    response = {"choices": [{"message": {"content": "Rating: 4"}}]}
    for usage in ({"prompt_tokens": tokens, "completion_tokens": 3}, {"prompt_tokens": tokens}):
        answer = WIRES["openai"].answer({**response, "usage": usage})
        assert answer.tokens_in == count
