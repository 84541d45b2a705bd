"""What scores say of one task and on the screen."""

import io

import pytest

from evalprep.results import load_run
from evalprep.score import Estimate, score_run
from evalprep.score.screen import show
from evalprep.score.suite import Scores, SuiteScore
from evalprep.score.tables import bounds, two_decimals
from evalprep.score.task import TaskScore
from tests.evalprep.results.writing import Row, write_run


def test_an_interval_is_shown_where_both_ends_are_known():
    assert bounds(Estimate(0.5, interval=(0.125, 0.75))) == "[0.1250, 0.7500]"
    assert bounds(Estimate(0.5)) == bounds(Estimate()) == ""
    score = SuiteScore("a", "p", "a", "up", (0, 1), 0.5, low=0.125, high=0.75)
    out = io.StringIO()
    show(Scores("run", "model", [], [], [score]), out, width=80)
    assert "[12.5, 75.0]" in out.getvalue()


@pytest.mark.parametrize(
    ("value", "harness", "differs"),
    [
        (0.0, 0.0, False),
        (0.0, None, False),
        (None, 0.5, False),
        (0.0, 0.5, True),
        (0.5, 0.0, True),
        (0.5, 0.5, False),
    ],
)
def test_a_score_of_zero_is_a_score(value, harness, differs):
    task = TaskScore("t", "acc", "none", True, 10, None, Estimate(value), None, harness=harness)
    assert (task.stated is not None) is differs


@pytest.mark.parametrize(("subtasks", "macro"), [("x", None), ("xy", 0.75)])
def test_a_task_of_two_subtasks_has_a_macro_average(tmp_path, subtasks, macro):
    rows = [Row(f"x{at}", 1.0, subtask="x") for at in range(6)]
    rows += [Row(f"y{at}", float(at % 2), subtask="y") for at in range(2) if "y" in subtasks]
    (task,) = score_run(load_run(write_run(tmp_path, {"t": rows}))).tasks
    assert (task.macro and task.macro.value) == macro


def test_ratings_have_two_decimals():
    assert [two_decimals(value) for value in (3.256, 4.0, None)] == ["3.26", "4.00", "-"]
