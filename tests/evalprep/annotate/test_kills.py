"""Killed at random points and resumed: the same table in the end, and only what was on its way is asked twice."""

import hashlib
import random
import time

import pytest

from evalprep.annotate.attachment import kept_judgements
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE
from evalprep.packs.finding import find_packs
from evalprep.results import load_run
from tests import PROJECT_ROOT, processes
from tests.evalprep.annotate.conftest import QA, SUMMARY
from tests.evalprep.annotate.services import Said, serve
from tests.packs.science.runs import write_run

PACKS = find_packs(PROJECT_ROOT / "task_templates")
IN_FLIGHT = 2


def rate(prompt, number, _):
    """A rating that depends on the prompt alone; every seventh request fails in one of three ways."""
    if number % 7 == 0:
        odd = [Said(status=500, headers={"Retry-After": "0"}), Said(hang_up=True), Said(body=b"{")]
        return odd[number // 7 % 3]
    return Said(f"Rating: {hashlib.sha256(prompt.encode()).digest()[0] % 5 + 1}", wait=0.03)


def table(folder):
    run = load_run(folder)
    return {
        task: {
            index: one.values
            for index, one in kept_judgements(PACKS["science"], run, task)[1].items()
        }
        for task in (QA, SUMMARY)
    }


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_the_table_is_the_same(tmp_path, judge, kills):
    whole, broken = (
        write_run(tmp_path / name, tasks={QA, SUMMARY}) for name in ("whole", "broken")
    )
    with serve(rate) as server:
        judge(whole, server.url)
    generator = random.Random(7)
    answered = 0
    with serve(rate) as server:
        command = ["judge", broken, "--model", "the-judge"]
        command += ["--base_url", server.url, "--model_args", f"num_concurrent={IN_FLIGHT}"]
        for _ in range(kills):
            process = processes.start(*command, env={"NO_PROXY": "127.0.0.1"})
            goal = len(server.requests) + generator.randint(0, 2)
            deadline = time.monotonic() + 60
            while len(server.requests) < goal and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            time.sleep(generator.random() * 0.06)
            process.kill()
            process.wait()
        code, outcome, _ = judge(broken, server.url, "--model_args", f"num_concurrent={IN_FLIGHT}")
        asked = [request["messages"][0]["content"] for request in server.requests]
        failed = len(server.requests) // 7
    assert code == 0
    assert [task["n_ok"] for task in outcome["tasks"]] == [12, 12]
    assert table(broken) == table(whole)
    # What failed was not answered; beyond that, a kill repeats at most what was in flight.
    assert len(asked) <= len(set(asked)) + failed + kills * IN_FLIGHT
    with Ledger(broken / FILE) as ledger:
        rows = [one for several in ledger.attempts().values() for one in several]
    answered = sum(row.status == "received" for row in rows)
    assert answered == len(set(asked)) == 24
    assert {row.status for row in rows} <= {"received", "failed"}
    assert len(rows) >= len(asked)
