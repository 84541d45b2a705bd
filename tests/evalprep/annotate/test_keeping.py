"""Answers are kept as they come, asked for once, and asked for anew when what they are about changes."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from evalprep.annotate import run_folders
from evalprep.results import load_run
from tests import PROJECT_ROOT
from tests.evalprep.annotate.conftest import QA, STAMP, SUMMARY, change_reply, lines
from tests.evalprep.annotate.services import Said
from tests.evalprep.annotate.services import serve as chat
from tests.evalprep.results.writing import Row, write_run


def three(*_):
    return "Rating: 3"


def count(folder, judge, *more, answer=three, **kwargs):
    """Requests that one more call of the command makes."""
    with chat(answer) as server:
        judge(folder, server.url, *more, **kwargs)
    return len(server.requests)


def test_nothing_is_asked_twice(science_run, judge):
    assert [count(science_run, judge) for _ in range(2)] == [24, 0]
    assert len(lines(science_run)) == 24


def test_a_ledger_beside_the_original_counts_for_a_rescored_run(tmp_path):
    original = tmp_path / "original"
    for stated, more in (({}, []), ({"from": str(original), "stamp": STAMP}, [original])):
        extra = {"rescored": stated}
        folder = write_run(tmp_path / f"run{len(more)}", {"t": [Row("a", 1.0)]}, extra=extra)
        assert run_folders(load_run(folder)) == [folder, *more]


def test_a_limit_is_a_beginning(science_run, judge):
    assert [count(science_run, judge, "--limit", limit) for limit in (5, 5, 8)] == [10, 0, 6]
    assert len(lines(science_run)) == 16


def test_a_changed_prediction_is_asked_about_anew(science_run, judge):
    count(science_run, judge)
    change_reply(science_run, SUMMARY, 4, "another summary")
    with chat(three) as server:
        judge(science_run, server.url)
    (prompt,) = server.prompts
    assert "another summary" in prompt


@pytest.mark.parametrize(
    ("changed", "kwargs"),
    [(["--gen_kwargs", "temperature=0"], {}), ([], {"model": "another"})],
    ids=["sampling", "model"],
)
def test_another_judge_is_asked_everything_and_the_first_keeps_its_ratings(
    science_run, judge, changed, kwargs
):
    assert count(science_run, judge) == 24
    assert count(science_run, judge, *changed, **kwargs) == 24
    assert count(science_run, judge) == 0


def test_equal_prompts_are_one_question(science_run, judge):
    samples = science_run / f"samples_{QA}_{STAMP}.jsonl"
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows.append({**rows[0], "doc_id": len(rows)})
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with chat(three) as server:
        _, outcome, _ = judge(science_run, server.url, "--tasks", QA)
    assert (len(server.requests), outcome["tasks"][0]["n_ok"]) == (12, 13)


def test_no_answer_needs_no_call(science_run, judge):
    change_reply(science_run, QA, 2, "null")
    with chat(three) as server:
        _, outcome, _ = judge(science_run, server.url, "--tasks", "qasper")
    assert len(server.requests) == 11
    (task,) = outcome["tasks"]
    assert (task["n_ok"], task["n_fixed"]) == (12, 1)
    assert task["means"]["judge_rating"] == pytest.approx((11 * 3 + 1) / 12)


def test_unreadable_replies_are_asked_again_on_request_only(science_run, judge):
    options = ["--tasks", SUMMARY, "--model_args", "max_retries=0"]
    assert count(science_run, judge, *options, answer=lambda *_: "hm") == 12
    assert count(science_run, judge, *options) == 0
    assert count(science_run, judge, *options, "--ask_again") == 12
    with chat(three) as server:
        _, outcome, _ = judge(science_run, server.url, *options)
    assert outcome["tasks"][0]["n_ok"] == 12


def test_unanswered_questions_are_asked_again(science_run, judge):
    def answer(_, number, __):
        return "Rating: 3" if number % 2 else Said(status=500)

    options = ["--tasks", SUMMARY, "--model_args", "max_retries=0,num_concurrent=1"]
    assert [count(science_run, judge, *options, answer=answer) for _ in range(2)] == [12, 6]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_stopped_call_goes_on_where_it_was(science_run, judge, number):
    def answer(_, count, __):
        if count > 6:
            time.sleep(30)  # far beyond the signal; the last answers are on their way for ever
        return "Rating: 4"

    with chat(answer) as server:
        command = [
            sys.executable,
            "-m",
            "evalprep",
            "judge",
            str(science_run),
            "--model",
            "the-judge",
        ]
        command += ["--base_url", server.url, "--model_args", "num_concurrent=2"]
        environment = os.environ | {"NO_PROXY": "127.0.0.1"}
        process = subprocess.Popen(
            command, cwd=PROJECT_ROOT, env=environment, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 60
        while len(server.requests) < 8 or len(lines(science_run)) < 6:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in error
    assert len(lines(science_run)) == 6
    assert count(science_run, judge) == 18
    assert len({line.key for line in lines(science_run)}) == 24


@contextmanager
def folder_locked(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def test_two_calls_at_once_are_refused(science_run, judge):
    count(science_run, judge, "--limit", 1)
    with folder_locked(science_run), chat(three) as server:
        code, outcome, _ = judge(science_run, server.url)
    assert (code, server.requests) == (2, [])
    assert "another `evalprep judge`" in outcome["problems"][0]["what"]


class TestDryRun:
    def test_counts_and_shows_and_connects_to_nothing(self, science_run, judge):
        change_reply(science_run, QA, 0, "null")
        before = sorted(science_run.rglob("*"))
        with chat(three) as server:
            code, plan, _ = judge(science_run, server.url, "--dry_run")
            assert server.requests == []
            judge(science_run, server.url)
        assert code == 0
        assert plan["calls"] == len(server.requests) == 23
        assert plan["characters"] == sum(map(len, server.prompts))
        assert plan["first_prompt"] in server.prompts
        assert plan["tasks"][QA]["without_call"] == 1
        after = [
            path for path in sorted(science_run.rglob("*")) if path.name != "annotations.sqlite"
        ]
        assert before == after

    def test_needs_no_key_and_no_client(self, science_run, judge, monkeypatch):
        monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a connection"))
        code, plan, _ = judge(science_run, "https://api.openai.com/v1", "--dry_run", "--limit", 2)
        assert (code, plan["calls"]) == (0, 4)

    def test_as_text(self, science_run, capsys):
        from evalprep.cli import main

        assert main(["judge", str(science_run), "--model", "m", "--dry_run", "--limit", "2"]) == 0
        text = capsys.readouterr().out
        assert f"{QA}: 2 questions; 2 calls" in text
        assert "first prompt:\nYou compare what a model wrote" in text


class TestBadInput:
    def test_every_mistake_at_once(self, science_run, judge):
        options = [
            "--limit",
            0,
            "--model_args",
            "num_concurrent=0,max_retries=-1",
            "--model_args",
            "timeout=0",
            "--timestamp",
            "each",
        ]
        options += ["--gen_kwargs", "stream=true,top_p", "--key_from", "NOT_SET_ANYWHERE"]
        code, outcome, _ = judge(science_run, "http://me:pass@host/v1", *options)
        assert code == 2
        assert len(outcome["problems"]) == 9
        assert "pass" not in json.dumps(outcome)

    @pytest.mark.parametrize(
        "url", ["localhost:8000", "http://", "http://[::1", "http://host:port/v1", "ftp://host"]
    )
    def test_no_address(self, science_run, judge, url):
        code, outcome, _ = judge(science_run, url)
        assert code == 2
        assert [problem["what"] for problem in outcome["problems"]] == [
            "--base_url is not an address"
        ]

    @pytest.mark.parametrize(
        ("options", "what"),
        [
            (["--tasks", "no_such_task"], "no samples of task 'no_such_task'"),
            (["--tasks", "bioasq"], "no rubric applies to bioasq_list_qa"),
            (["--template_dir", "/nowhere"], "is not a folder"),
        ],
        ids=["unknown task", "task without questions", "no packs"],
    )
    def test_what_cannot_be_judged(self, tmp_path, judge, options, what):
        from tests.packs.science.runs import write_run

        run = write_run(tmp_path / "run", tasks={SUMMARY, "bioasq_list_qa"})
        code, outcome, _ = judge(run, "http://127.0.0.1:9/v1", *options)
        assert code == 2
        assert what in outcome["problems"][0]["what"]

    @pytest.mark.parametrize(
        ("content", "what"),
        [
            ("TASKS = ('a',)\n", "lists no annotators"),
            ("ANNOTATORS = [1]\n", "does not follow the contract"),
        ],
    )
    def test_a_pack_that_keeps_to_no_protocol(self, tmp_path, science_run, judge, content, what):
        (tmp_path / "packs" / "odd").mkdir(parents=True)
        (tmp_path / "packs" / "odd" / "pack.yaml").write_text("name: odd\n")
        (tmp_path / "packs" / "odd" / "annotators.py").write_text(content)
        code, outcome, _ = judge(
            science_run, "http://127.0.0.1:9/v1", "--template_dir", tmp_path / "packs"
        )
        assert code == 2
        assert what in outcome["problems"][0]["what"]
