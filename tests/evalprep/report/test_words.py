"""What a report says of a run, of reply lengths, and of scores without samples."""

import pytest

from evalprep.report import build_scores_report
from evalprep.report.facts import facts_of
from evalprep.report.task import _lengths
from evalprep.results import load_run
from evalprep.score import Scores
from tests.evalprep.results.writing import Row, write_run


@pytest.mark.parametrize(
    ("time", "said"), [("83.456", "83.5 s"), (7, "7.0 s"), (None, None), ("long", None)]
)
def test_how_long_a_run_took(tmp_path, time, said):
    extra = {"total_evaluation_time_seconds": time, "date": 0.0}
    run = load_run(write_run(tmp_path, {"t": [Row("1")]}, extra=extra))
    facts = {one["name"]: one["value"] for one in facts_of(run)}
    assert facts.get("whole call: t") == said
    assert facts["started"] == "1970-01-01 00:00:00+00:00"


def test_lengths_of_replies():
    assert _lengths([-1, -1]) == {"n": 0, "median": None, "max": None, "edges": [], "counts": []}
    found = _lengths([10, -1, 20, 60])
    assert (found["n"], found["median"], found["max"], sum(found["counts"])) == (3, 20.0, 60, 3)


def test_a_report_of_scores_alone_is_named_by_its_sides():
    sides = [Scores(name, "org/m", [], [], []) for name in ("mine", "theirs")]
    document = build_scores_report(sides, notes={}).document
    assert document["title"] == "mine and theirs"
    assert [
        (comparison["now"], comparison["before"]) for comparison in document["comparisons"]
    ] == [(0, 1)]
