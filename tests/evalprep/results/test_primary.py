"""Which metric stands for a task: a table of cases, and one tricky run folder that every verb reads the same way."""

import json

import pytest

from evalprep.cli import main
from evalprep.results import load_run
from evalprep.results.primary import choose_primary, logged_scores, primary_score
from tests.evalprep.results.writing import STAMP, Row, write_run

ACC, EM, NORM, OWN = ("acc", "none"), ("exact_match", "strict"), ("acc_norm", "none"), ("own", "none")


@pytest.mark.parametrize(
    ("metadata", "scores", "expected"),
    [
        ({}, [ACC, EM], ("exact_match", "strict", False)),
        ({}, [NORM, ACC], ("acc", "none", False)),
        ({}, [OWN, ("other", "none")], ("own", "none", False)),
        ({}, [("f1", "none"), OWN], ("own", "none", False)),
        ({}, [("perplexity", "none")], ("perplexity", "none", False)),
        ({"primary_metric": "own"}, [ACC, OWN], ("own", "none", True)),
        ({"primary_metric": "gone"}, [ACC, OWN], ("acc", "none", False)),
        ({"primary_metric": ["own"]}, [ACC, OWN], ("acc", "none", False)),
        ({"primary_filter": "late"}, [EM], ("exact_match", "late", False)),
        ({}, [("exact_match", "first"), ("exact_match", "second")], ("exact_match", "first", False)),
        ({}, [], ("", "none", False)),
    ],
)
def test_cases(metadata, scores, expected):
    found = choose_primary(metadata, scores, {})
    assert (found.metric, found.filter, found.declared) == expected


def test_a_declared_filter_counts_where_the_task_has_it():
    scores = [("exact_match", "first"), ("exact_match", "second")]
    for wanted, expected in (("second", "second"), ("third", "first")):
        found = choose_primary({"primary_filter": wanted}, scores, {}, filters=["first", "second"])
        assert found.filter == expected


def test_direction_is_up_where_nothing_is_said():
    assert choose_primary({}, [ACC], {}).higher_is_better
    assert choose_primary({}, [ACC], {"acc": None}).higher_is_better
    assert not choose_primary({}, [ACC], {"acc": False}).higher_is_better


def test_what_is_no_score_never_stands_for_a_task():
    names = [
        "alias",
        "unparsed,none",
        "bypass,none",
        "truncated,x",
        "timeout,x",
        "scorer_error,x",
        "own_stderr,x",
        "own,x",
    ]
    assert logged_scores(names) == [("own", "x")]
    assert primary_score({"unparsed,none": 1.0, "bypass,none": 9.0, "acc,none": 0.75}, {}, {}) == (0.75, "acc,none")
    assert primary_score({"unparsed,none": 1.0, "acc,none": float("nan")}, {}, {}) == (None, "")
    assert primary_score("no mapping", 3, None) == (None, "")


@pytest.fixture
def tricky(tmp_path):
    """A share of unreadable replies and lm-eval's mark of an unscored run stand before the score."""
    rows = [
        Row(f"{n}", metrics={"unparsed": 1.0, "bypass": 9.0, "own": float(n != 0)}) for n in range(4)
    ]  # fmt: skip
    home = write_run(tmp_path, {"t": rows})
    path = home / f"results_{STAMP}.json"
    data = json.loads(path.read_text())
    data["results"]["t"] = {"alias": "t", "unparsed,none": 1.0, "bypass,none": 9.0, "own,none": 0.75}
    data["configs"]["t"]["metadata"] = {"version": 1.0}
    path.write_text(json.dumps(data))
    return home


def test_every_verb_says_the_same(tricky, capsys):
    assert load_run(tricky).tasks["t"].primary.metric == "own"

    def said(*arguments):
        assert main([*arguments, "--json"]) in {0, 3}
        return json.loads(capsys.readouterr().out)

    (scored,) = said("score", str(tricky))["tasks"]
    (status,) = said("status", str(tricky))["tasks"]
    (compared,) = said("compare", str(tricky), str(tricky))["tasks"]
    assert (scored["metric"], compared["metric"], status["metric"]) == ("own", "own", "own,none")
    assert (scored["micro"]["agg_value"], status["score"], compared["now"]) == (0.75, 0.75, 0.75)
