"""Small guards of a comparison, each with what happens on either side of it."""

import json
import math

import pytest

from evalprep.compare import Settings, compare_runs
from evalprep.errors import BadInput
from evalprep.results import load_run
from tests.evalprep.compare.small_runs import Task, two_small_runs, verdicts
from tests.evalprep.results.writing import STAMP, Row, write_run


@pytest.mark.parametrize(("documents", "told"), [(29, True), (30, False)])
def test_few_documents_are_told(tmp_path, documents, told):
    def rows(wrong):
        return [Row(f"{n}", float(n >= wrong), cluster=f"d{n % documents}") for n in range(60)]

    now, before = (
        load_run(write_run(tmp_path / name, {"t": rows(n)})) for name, n in (("a", 3), ("b", 5))
    )
    (task,) = compare_runs(now, before).tasks
    assert any("few documents" in note for note in task.notes) is told


@pytest.mark.parametrize("blank", ["candidate", "baseline"])
def test_an_unknown_prompt_on_one_side_is_not_another_prompt(tmp_path, blank):
    homes = {
        name: write_run(tmp_path / name, {"t": [Row("a"), Row("b")]})
        for name in ("candidate", "baseline")
    }
    path = homes[blank] / f"samples_t_{STAMP}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["prompt_hash"]  # an older harness writes none
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = compare_runs(load_run(homes["candidate"]), load_run(homes["baseline"]))
    assert result.tasks[0].difference.n == 2
    assert result.rows["t"].odd["changed_prompt"] == []


@pytest.mark.parametrize(
    ("others", "allow", "note"),
    [
        pytest.param(0, [], None, id="all alike"),
        pytest.param(1, [], "1 row with another gold answer is left out", id="differs"),
        pytest.param(1, ["gold"], None, id="may differ"),
    ],
)
def test_rows_left_out_for_their_gold_answer_are_named_where_there_are_any(
    tmp_path, others, allow, note
):
    tasks = [
        {"t": Task({"acc": [1.0, 0.0] * 100}, gold=lambda at, b=below: "B" if at < b else "A")}
        for below in (0, others)
    ]
    now, before = map(load_run, two_small_runs(tmp_path, *tasks))
    (task,) = compare_runs(now, before, allow=allow).tasks
    notes = [text for text in task.notes if "gold answer" in text]
    assert task.difference.n == 200 - (note is not None)
    assert [text.partition(":")[0] for text in notes] == ([] if note is None else [note])


@pytest.mark.parametrize(
    ("lost", "gained", "margin", "verdict"),
    [
        pytest.param(0, 0, 0.05, "equivalent", id="no change"),
        pytest.param(5, 2, 0.05, "equivalent", id="a small loss"),
        pytest.param(2, 5, 0.05, "equivalent", id="a small gain"),
        pytest.param(5, 2, 0.012, "no difference shown", id="a larger loss is possible"),
        pytest.param(2, 5, 0.012, "no difference shown", id="a larger gain is possible"),
        pytest.param(0, 0, None, "no difference shown", id="without a margin"),
    ],
)
def test_equivalent_is_an_interval_within_the_margin(tmp_path, lost, gained, margin, verdict):
    sides = [verdicts(400, lost=lost, gained=gained, right=right) for right in (False, True)]
    now, before = two_small_runs(tmp_path, *({"t": Task({"acc": values})} for values in sides))
    (task,) = compare_runs(load_run(now), load_run(before), margin=margin).tasks
    assert task.verdict == verdict


def test_a_margin_that_holds_every_difference_is_refused(tmp_path):
    sides = [verdicts(40, lost=3, gained=1, right=right) for right in (False, True)]
    now, before = two_small_runs(tmp_path, *({"t": Task({"acc": values})} for values in sides))
    with pytest.raises(BadInput) as caught:
        compare_runs(load_run(now), load_run(before), margin=2)
    (problem,) = caught.value.problems
    assert problem.what == ("margin 2 calls every difference equivalent: the scores of t span 1")
    assert problem.fix == "0.02 is 2 points"
    (task,) = compare_runs(load_run(now), load_run(before), margin=0.99).tasks
    assert task.verdict == "equivalent"


@pytest.mark.parametrize("margin", [0.0, -0.02, math.inf, math.nan])
def test_a_margin_is_a_number_above_0(margin):
    with pytest.raises(BadInput, match="is not a number above 0"):
        Settings(margin=margin).check()
