"""Ratings that evalprep 0.1.0 kept (tests/data/former_judge was written by it) still count, and are not asked again."""

import json
import shutil

import pytest

from evalprep.annotate.ledger import FILE, Ledger
from evalprep.packs.finding import find_packs
from evalprep.results import load_run
from evalprep.score import score_run
from tests import PROJECT_ROOT
from tests.evalprep.annotate.conftest import QA, STAMP, SUMMARY, change_reply, write_tofu_run
from tests.evalprep.annotate.services import serve

PACKS = find_packs(PROJECT_ROOT / "task_templates")
FORMER = PROJECT_ROOT / "tests" / "data" / "former_judge"
SAMPLING = ("--gen_kwargs", "temperature=0.5", "--max_retries", 0)


def values(folder):
    return {one.name: one.value for one in score_run(load_run(folder), PACKS).suite if one.name.endswith("_judge")}


@pytest.fixture
def science(science_run):
    shutil.copytree(FORMER / "science", science_run / f"judge_{STAMP}")
    return science_run


@pytest.fixture
def tofu(tmp_path):
    folder = write_tofu_run(tmp_path / "tofu")
    shutil.copytree(FORMER / "tofu", folder / f"judge_{STAMP}")
    return folder


def test_scores_take_them_without_writing(science, tofu):
    assert values(science) == {"science_mup_judge": 0.5, "science_qasper_judge": 0.5}
    assert values(tofu)["forget_Q_A_judge"] == pytest.approx(24.5 / 3)
    assert not (science / FILE).exists()
    assert not (tofu / FILE).exists()


def test_a_changed_prediction_has_none(science):
    change_reply(science, SUMMARY, 0, "another summary")
    scores = {one.name: one.result for one in score_run(load_run(science), PACKS).suite}
    assert scores["science_mup_judge"]["skipped"]["not asked"] == 1
    assert scores["science_qasper_judge"]["judge"]["prompt_version"] == "science-1"


def test_nothing_of_it_is_asked_again_and_the_ledger_takes_it_over(science, judge):
    with serve(lambda *_: "Rating: 1") as server:
        code, outcome, _ = judge(science, server.url, *SAMPLING)
    assert (code, server.requests) == (0, [])
    assert outcome["imported"] == 24
    assert [task["n_ok"] for task in outcome["tasks"]] == [10, 10]
    shutil.rmtree(science / f"judge_{STAMP}")
    assert values(science) == {"science_mup_judge": 0.5, "science_qasper_judge": 0.5}
    with Ledger(science / FILE) as ledger:
        rows = [one for several in ledger.attempts().values() for one in several]
        assert {one.status for one in rows} == {"imported"}
        assert {one.version for one in rows} == {"science-1"}
        assert {use.task for uses in ledger.uses().values() for use in uses} == {QA, SUMMARY}
    with serve(lambda *_: "Rating: 1") as server:
        judge(science, server.url, *SAMPLING)
    assert server.requests == []


def test_a_new_answer_goes_before_an_old_one(science, judge):
    with serve(lambda *_: "Rating: 5") as server:
        _, outcome, _ = judge(science, server.url, *SAMPLING, "--ask_again")
    assert len(server.requests) == 4  # those without a rating
    assert [task["n_ok"] for task in outcome["tasks"]] == [12, 12]
    with serve(lambda *_: "Rating: 5") as server:
        judge(science, server.url, *SAMPLING, model="another")
    assert len(server.requests) == 24
    assert values(science) == {"science_mup_judge": 1, "science_qasper_judge": 1}


def test_damaged_lines_are_passed_over(science):
    path = science / f"judge_{STAMP}" / "ratings.jsonl"
    lines = path.read_text().splitlines()
    odd = ['{"key": 1, "status": "ok"}', "[]", "{", "[" * 100_000, json.dumps({"key": "k", "status": "new"})]
    path.write_text("\n".join([*odd, *lines[:-1], lines[-1][:-9]]))
    assert values(science)["science_mup_judge"] == 0.5
    from evalprep.annotate.former import Former

    assert Former(science, STAMP).damaged == len(odd) + 1
