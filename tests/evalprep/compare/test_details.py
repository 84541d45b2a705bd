"""Details of what a comparison says: units of published verdicts, prompts of another template, scores over all rows."""

import io

import numpy as np
import pytest

from evalprep.compare import compare_runs
from evalprep.compare.comparable import prompt_reasons
from evalprep.compare.difference import difference
from evalprep.compare.screen import show
from evalprep.results import load_run
from evalprep.results.facts import FactDifference
from tests.evalprep.results.writing import Row, write_run

TEMPLATE = FactDifference("chat_template", "subject", "a", "b")
SHOTS = FactDifference("num_fewshot", "question", 5, 0)
SYSTEM = FactDifference("system", "subject", "x", "y")


@pytest.mark.parametrize(
    ("changed", "found", "allow", "comparable"),
    [
        pytest.param(0, [], [], True, id="none"),
        pytest.param(50, [], [], False, id="for no known reason"),
        pytest.param(50, [TEMPLATE], [], True, id="the template is the model's"),
        pytest.param(50, [SYSTEM], [], False, id="another fact of the subject"),
        pytest.param(50, [SHOTS], [], False, id="another question"),
        pytest.param(50, [SHOTS], ["num_fewshot"], True, id="which is allowed"),
        pytest.param(50, [SHOTS], ["prompt"], True, id="prompts are allowed to differ"),
        pytest.param(50, [SHOTS], ["limit"], False, id="something else is allowed"),
    ],
)
def test_prompts_that_differ(changed, found, allow, comparable):
    sentence = f"the prompt differs on {changed} of 100 rows; `--allow prompt` compares anyway"
    reasons = [str(reason) for reason in prompt_reasons(changed, 100, found, allow)]
    assert reasons == ([] if comparable else [sentence])


def test_a_graded_score_beside_published_verdicts(tmp_path):
    rows = [Row(str(n), metrics={"f": 2.5 + n % 3}, previous=n % 4 > 0) for n in range(40)]
    out = io.StringIO()
    show(compare_runs(load_run(write_run(tmp_path, {"graded": rows}))), out, width=120)
    (line,) = [
        line
        for line in out.getvalue().splitlines()
        if line.strip().startswith("graded") and "75.0" in line
    ]
    assert "3.475" in line, "its own score is none in percent"


@pytest.mark.parametrize("rating", [5.0, 500.0, -3.0])
def test_equal_ratings_are_as_sure_as_equal_verdicts(rating):
    """Their own range shows no width; one unit stands for it, as the one between wrong and right does."""
    ratings, verdicts = np.full(40, rating), np.ones(40)
    item, other = (
        difference(ratings, ratings, None),
        difference(verdicts, verdicts + 0.0, None, bounds=(0.0, 1.0)),
    )
    assert (item.delta, item.p) == (0.0, 1.0)
    assert (item.low, item.high) == pytest.approx((other.low, other.high))
