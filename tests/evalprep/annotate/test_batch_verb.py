"""`evalprep judge --batch`: the same command from the first call to the scores."""

import json

import pytest

from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE
from evalprep.cli import main
from tests.evalprep.annotate.conftest import SUMMARY, change_reply
from tests.evalprep.annotate.services import serve

BOTH = pytest.mark.parametrize("api", ["openai", "anthropic"])


def four(*_):
    return "Rating: 4"


@BOTH
def test_submit_wait_collect(science_run, judge, api):
    options = ("--api", api, "--tasks", SUMMARY, "--batch")
    with serve(four) as server:
        said = [judge(science_run, server.url, *options)[1]["done"] for _ in range(3)]
        assert said == ["submitted 12 questions in 1 batches", *["1 batches at work"] * 2]
        _, status, _ = judge(science_run, server.url, *options, "status")
        assert [batch["state"] for batch in status["batches"]] == ["in_progress"]
        server.state = "completed"
        _, done, _ = judge(science_run, server.url, *options)
        assert (done["done"], done["without_answer"]) == ("collected 1 batches", 0)
        _, done, _ = judge(science_run, server.url, *options)
        assert done["done"] == "nothing to submit"
        # Asked directly, everything is known.
        code, outcome, _ = judge(science_run, server.url, "--api", api, "--tasks", SUMMARY)
    assert (code, outcome["requests"], outcome["tasks"][0]["n_ok"]) == (0, 0, 12)
    assert len(server.batches) == 1
    assert server.requests == []


def test_a_batch_at_work_is_no_failure_and_the_next_step_is_printed(science_run, capsys):
    words = ["judge", str(science_run), "--model", "the-judge", "--tasks", SUMMARY, "--batch"]
    with serve(four) as server:
        assert main([*words, "--base_url", server.url]) == 0
    assert "next: type the same command later" in capsys.readouterr().out


def test_what_is_on_its_way_is_not_asked_directly(science_run, judge):
    with serve(four) as server:
        judge(science_run, server.url, "--tasks", SUMMARY, "--batch")
        _, outcome, _ = judge(science_run, server.url, "--tasks", SUMMARY)
    assert server.requests == []
    assert outcome["tasks"][0]["details"] == {"waiting in a submitted batch": 12}


def test_other_inputs_are_refused_until_asked_for(science_run, judge):
    with serve(four) as server:
        judge(science_run, server.url, "--tasks", SUMMARY, "--batch")
        change_reply(science_run, SUMMARY, 0, "another summary")
        code, outcome, _ = judge(science_run, server.url, "--tasks", SUMMARY, "--batch")
        assert code == 2
        assert "questions changed" in outcome["problems"][0]["what"]
        code, outcome, _ = judge(
            science_run, server.url, "--tasks", SUMMARY, "--batch", model="another"
        )
        assert "model" in outcome["problems"][0]["what"]
        _, outcome, _ = judge(science_run, server.url, "--tasks", SUMMARY, "--batch", "--force")
        assert outcome["done"] == "submitted 1 questions in 1 batches"
    assert [len(batch["requests"]) for batch in server.batches.values()] == [12, 1]


def test_only_what_has_no_answer_is_submitted_again(science_run, judge):
    with serve(four) as server:
        judge(science_run, server.url, "--tasks", SUMMARY, "--batch")
        (batch,) = server.batches
        requests = server.batches[batch]["requests"]
        server.batches[batch]["requests"] = requests[:5]  # the rest got lost
        server.state = "expired"
        _, outcome, _ = judge(science_run, server.url, "--tasks", SUMMARY, "--batch")
        assert (outcome["done"], outcome["without_answer"]) == ("collected 1 batches", 7)
        server.state = "in_progress"
        _, outcome, _ = judge(science_run, server.url, "--tasks", SUMMARY, "--batch")
        assert outcome["done"] == "submitted 7 questions in 1 batches"
    with Ledger(science_run / FILE) as ledger:
        counts = [len(several) for several in ledger.attempts().values()]
    assert sorted(counts) == [1] * 5 + [2] * 7


def test_a_batch_that_may_cost_too_much_is_not_submitted(science_run, judge, tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("the-judge: {input: 100, output: 100, batch: 0.5, currency: EUR}\n")
    options = ["--tasks", SUMMARY, "--batch", "--prices", prices, "--gen_kwargs", "max_tokens=100"]
    with serve(four) as server:
        code, outcome, _ = judge(science_run, server.url, *options, "--max_cost", 0.5)
        assert code == 2
        assert "may cost up to" in outcome["problems"][0]["what"]
        assert server.batches == {}
        assert judge(science_run, server.url, *options, "--max_cost", 50)[0] == 0
        server.state = "completed"
        judge(science_run, server.url, *options, "--max_cost", 50)
    with Ledger(science_run / FILE) as ledger:
        costs = {one.cost for several in ledger.attempts().values() for one in several}
    assert [*costs] == [pytest.approx(110 * 100 / 1e6 / 2)]


def test_export(science_run, judge, tmp_path, capsys):
    with serve(four) as server:
        judge(science_run, server.url, "--tasks", SUMMARY)
    out = tmp_path / "answers.jsonl"
    capsys.readouterr()
    assert main(["judge", str(science_run), "--out", str(out)]) == 0
    assert "12 lines" in capsys.readouterr().out
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert {line["reply"] for line in lines} == {"Rating: 4"}
    assert {line["samples"][0]["task"] for line in lines} == {SUMMARY}
    assert len({line["samples"][0]["sample_id"] for line in lines}) == 12
