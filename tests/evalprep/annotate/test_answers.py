"""What an endpoint can say or do, and what becomes of it."""

import json
import socket
import threading

import pytest

from tests.evalprep.annotate.conftest import QA, SECRET, SUMMARY, lines
from tests.evalprep.annotate.services import Said
from tests.evalprep.annotate.services import serve as chat
from tests.loops import each

NOW = {"Retry-After": "0"}


@pytest.mark.parametrize(
    ("said", "status", "ratings"),
    [
        pytest.param("Explanation: close.\nRating: 4", "ok", {"judge_rating": 4}, id="rating"),
        pytest.param("Ünklar \u2028 \U0001f600\r\nRating: 5", "ok", {"judge_rating": 5}, id="any text"),
        pytest.param("<think>Rating: 1? No.</think>Rating: 4", "ok", {"judge_rating": 4}, id="after thinking"),
        pytest.param("It quotes <think> once.\nRating: 2", "ok", {"judge_rating": 2}, id="a tag that never closes"),
        pytest.param("Rating: 0", "invalid_score", None, id="below the scale"),
        pytest.param("Rating: 11", "invalid_score", None, id="above the scale"),
        pytest.param("Rating: four", "ok", {"judge_rating": 4}, id="in words"),
        pytest.param("**Rating:** [3]/5", "ok", {"judge_rating": 3}, id="decorated"),
        pytest.param("Rating: 3 or 4", "parse_error", None, id="two ratings"),
        pytest.param("Rating: 2\nRating: 5", "parse_error", None, id="two lines"),
        pytest.param("4", "ok", {"judge_rating": 4}, id="nothing but a number"),
        pytest.param("It has 4 flaws.", "parse_error", None, id="no mark"),
        pytest.param("I'm sorry, I cannot rate this.", "parse_error", None, id="refusal in words"),
        pytest.param(Said("Rating: 5", refusal="not this"), "refused", None, id="refusal beside a rating"),
        pytest.param(Said("Rating: 5", finish_reason="content_filter"), "refused", None, id="content filter"),
        pytest.param(Said("Explanation: it is\nRating: 5", finish_reason="length"), "truncated", None, id="cut"),
    ],
)  # fmt: skip
def test_status_of_a_reply(science_run, judge, said, status, ratings):
    with chat(lambda *_: said) as server:
        code, outcome, _ = judge(
            science_run,
            server.url,
            "--tasks",
            SUMMARY,
            "--limit",
            1,
            "--model_args",
            "max_retries=0",
        )
    (line,) = lines(science_run)
    assert (line.status in {"refused", "truncated"}) == (status in {"refused", "truncated"})
    assert (line.attempt, line.reply) == (1, said.text if isinstance(said, Said) else said)
    (task,) = outcome["tasks"]
    assert task["n_ok"] == (status == "ok")
    assert task["reasons"] == ({} if ratings else {status: 1})
    assert task["means"] == (ratings or {})
    assert code == (0 if ratings else 3)


@pytest.mark.parametrize(
    "failures",
    [
        pytest.param([Said(status=429, headers=NOW), Said(status=429, headers=NOW)], id="429"),
        pytest.param([Said(status=500, headers=NOW)], id="500"),
        pytest.param([Said(status=503, body=b"<html>", headers=NOW)], id="503 of a proxy"),
        pytest.param([Said(hang_up=True)], id="connection lost"),
        pytest.param([Said(body=b"{")], id="broken JSON"),
        pytest.param([Said(body=b'{"choices": []}')], id="no choice"),
        pytest.param([Said(body=b'{"choices": [{}]}')], id="choice without message"),
        pytest.param([Said(body=b"hello", headers={"Content-Type": "text/plain"})], id="text"),
        pytest.param(
            [Said("no number here"), Said("Rating: 7"), Said(refusal="no")], id="unreadable"
        ),
        pytest.param([Said("")], id="empty"),
        pytest.param([Said(None)], id="null"),
    ],
)
def test_asked_again_until_there_is_a_rating(science_run, judge, failures):
    replies = [*failures, Said("Rating: 2")]
    with chat(lambda _, number, __: replies[number - 1]) as server:
        code, outcome, _ = judge(science_run, server.url, "--tasks", SUMMARY, "--limit", 1)
    assert code == 0
    assert outcome["tasks"][0]["means"] == {"judge_rating": 2}
    assert [line.attempt for line in lines(science_run)] == [len(replies)]


def test_a_slow_endpoint_times_out(science_run, judge):
    release = threading.Event()

    def answer(*_):
        release.wait(20)
        return "Rating: 5"

    with chat(answer) as server:
        options = ["--tasks", SUMMARY, "--limit", 1, "--model_args", "timeout=0.3,max_retries=0"]
        code, outcome, _ = judge(science_run, server.url, *options)
        release.set()
    assert code == 3
    assert outcome["tasks"][0]["details"] == {"no whole answer within 0.3 s": 1}
    assert lines(science_run) == []


def test_a_request_that_is_wrong_is_not_repeated(science_run, judge):
    with chat(lambda *_: Said("too many tokens", status=400)) as server:
        code, outcome, _ = judge(science_run, server.url, "--tasks", SUMMARY, "--limit", 3)
    assert (code, len(server.requests)) == (3, 3)
    (task,) = outcome["tasks"]
    assert task["reasons"] == {"missing": 3}
    (detail,) = task["details"]
    assert detail.startswith("HTTP 400:")
    assert "too many tokens" in detail


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(Said("bad key", status=401), id="key"),
        pytest.param(Said("no access", status=403), id="access"),
        pytest.param(Said("no such model", status=404), id="model"),
        pytest.param(Said("no credit", status=429, code="insufficient_quota"), id="credit"),
    ],
)
def test_a_service_that_refuses_us_stops_everything(science_run, judge, said):
    with chat(lambda *_: said) as server:
        code, outcome, error = judge(
            science_run, server.url, "--tasks", SUMMARY, "--model_args", "num_concurrent=1"
        )
    assert (code, len(server.requests)) == (2, 1)
    assert said.text in outcome["stopped"]
    assert said.text in error
    assert lines(science_run) == []


def test_what_was_rated_before_a_refusal_is_kept(science_run, judge):
    with chat(
        lambda _, number, __: "Rating: 3" if number <= 4 else Said("revoked", status=401)
    ) as server:
        code, outcome, _ = judge(
            science_run, server.url, "--tasks", SUMMARY, "--model_args", "num_concurrent=1"
        )
    assert code == 2
    assert (outcome["tasks"][0]["n_ok"], outcome["tasks"][0]["reasons"]) == (
        4,
        {"missing": 1, "not asked": 7},
    )
    assert len(lines(science_run)) == 4


def test_an_unreachable_service_is_given_up(science_run, judge):
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        code, outcome, error = judge(
            science_run, url, "--tasks", SUMMARY, "--model_args", "max_retries=0,num_concurrent=2"
        )
    assert code == 3
    assert "10 questions in a row without an answer" in outcome["stopped"]
    assert "goes on from here" in error
    assert lines(science_run) == []


def test_requests_run_side_by_side_and_no_more_than_asked_for(science_run, judge):
    meeting = threading.Barrier(3)
    lock, now, most = threading.Lock(), [0], [0]

    def answer(*_):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        meeting.wait(20)  # fails unless three requests are here at once
        with lock:
            now[0] -= 1
        return "Rating: 3"

    with chat(answer) as server:
        code, outcome, _ = judge(
            science_run, server.url, "--tasks", SUMMARY, "--model_args", "num_concurrent=3"
        )
    assert (code, outcome["tasks"][0]["n_ok"], most[0]) == (0, 12, 3)


@pytest.mark.parametrize(
    "given",
    [
        "temperature=0,max_tokens=64,reasoning_effort=low,top_p=null",
        '{"temperature": 0, "max_tokens": 64, "reasoning_effort": "low", "top_p": null}',
    ],
    ids=["pairs", "JSON"],
)
def test_parameters_of_the_request(science_run, judge, given):
    with chat(lambda *_: "Rating: 3") as server:
        judge(science_run, server.url, "--limit", 1, "--gen_kwargs", given, "--structured", "off")
    for request in each(server.requests):
        (message,) = request.pop("messages")
        assert message["role"] == "user"
        assert request == {
            "model": "the-judge",
            "temperature": 0,
            "max_tokens": 64,
            "reasoning_effort": "low",
        }


class TestSecrets:
    """The key goes into one header and nowhere else, also where a server sends it back."""

    @pytest.mark.parametrize(
        ("variable", "options"),
        [("OPENAI_API_KEY", []), ("JUDGE_KEY", ["--key_from", "JUDGE_KEY"])],
        ids=["usual variable", "named variable"],
    )
    def test_in_no_file_and_no_output(self, science_run, judge, monkeypatch, variable, options):
        monkeypatch.setenv(variable, SECRET)

        def answer(_, number, authorization):
            kinds = [
                f"{authorization}\nRating: 3",
                Said(authorization, status=400),
                Said("x", refusal=f"not with {authorization}"),
                Said(f"bad key {authorization}", status=401),
            ]
            return kinds[min(number - 1, 3)]

        with chat(answer) as server:
            options = [
                *options,
                "--tasks",
                SUMMARY,
                "--model_args",
                "num_concurrent=1,max_retries=0",
            ]
            code, outcome, error = judge(science_run, server.url, *options)
        assert code == 2
        assert server.authorizations == [f"Bearer {SECRET}"] * 4
        assert len(lines(science_run)) == 2
        written = [
            path.read_bytes().decode("utf-8", "replace")
            for path in science_run.rglob("*")
            if path.is_file()
        ]
        assert not any(SECRET in text for text in [*written, json.dumps(outcome), error])
        assert "***" in error

    def test_never_an_argument(self, science_run, judge):
        with pytest.raises(SystemExit) as ended:
            judge(science_run, "http://127.0.0.1:9/v1", "--api_key", SECRET)
        assert ended.value.code == 2

    def test_no_key_is_needed_on_ones_own_machine(self, science_run, judge):
        with chat(lambda *_: "Rating: 3") as server:
            code, _, _ = judge(science_run, server.url, "--limit", 1, "--tasks", QA)
        assert (code, server.authorizations) == (0, ["Bearer EMPTY"])
