"""Which metric stands for a task: a table of cases, and one tricky run folder that every verb reads the same way."""

import json

import pytest

from evalprep.cli import main
from evalprep.readers.results_file import decode_run
from evalprep.results import load_run
from evalprep.results.primary import choose_primary, metrics_of_filters, primary_score
from evalprep.samples.metric import Metric
from tests.evalprep.results.writing import STAMP, Row, write_run

ACC, EM, NORM, OWN = (
    ("acc", "none"),
    ("exact_match", "strict"),
    ("acc_norm", "none"),
    ("own", "none"),
)


def metrics(pairs):
    return [Metric(metric=name, filter=filter_name) for name, filter_name in pairs]


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
        (
            {},
            [("exact_match", "first"), ("exact_match", "second")],
            ("exact_match", "first", False),
        ),
        ({}, [], ("", "none", False)),
    ],
)
def test_cases(metadata, scores, expected):
    found = choose_primary(metadata, metrics(scores))
    assert (found.metric, found.filter, found.declared) == expected


def test_a_declared_filter_counts_where_the_task_has_it():
    scores = [("exact_match", "first"), ("exact_match", "second")]
    for wanted, expected in (("second", "second"), ("third", "first")):
        declared = {"primary_filter": wanted}
        found = choose_primary(declared, metrics(scores), filters=["first", "second"])
        assert found.filter == expected


def logged(entry, directions=None, config=None):
    """One task as a results file of today holds it."""
    content = {"results": {"t": entry}, "configs": {"t": config or {}}}
    content["higher_is_better"] = {"t": directions or {}}
    return decode_run(content, "results.json").tasks["t"]


@pytest.mark.parametrize(
    ("stated", "metric_list", "expected"),
    [
        ({}, [], "up"),  # as lm-eval's registry says of acc
        ({"acc": True}, [], "up"),
        ({"acc": False}, [], "down"),
        ({"acc": None}, [], "unknown"),
        ({}, [{"metric": "acc", "higher_is_better": False}], "down"),
        ({"acc": None}, [{"metric": "acc", "higher_is_better": True}], "unknown"),
    ],
)
def test_a_direction_is_unknown_where_lm_eval_writes_null(stated, metric_list, expected):
    (metric,) = logged({"acc,none": 0.5}, stated, {"metric_list": metric_list}).metrics
    assert metric.direction == expected


def test_a_metric_of_ones_own_has_no_direction():
    assert logged({"reward,none": 0.5}).metrics[0].direction == "unknown"


def test_what_is_no_score_never_stands_for_a_task():
    names = ["unparsed", "bypass", "truncated", "timeout", "scorer_error", "own"]
    assert [metric.metric for metric in metrics_of_filters(names, ["x"], {})] == ["own"]
    task = logged(dict.fromkeys(["alias", *(f"{name},x" for name in names), "own_stderr,x"], 1))
    assert [metric.key for metric in task.metrics if metric.is_score] == ["own,x"]
    task = logged({"unparsed,none": 1.0, "bypass,none": 9.0, "acc,none": 0.75})
    assert primary_score(task) == (0.75, "acc,none")
    assert primary_score(logged({"unparsed,none": 1.0, "acc,none": float("nan")})) == (None, "")
    broken = decode_run({"results": {"t": "no mapping"}, "configs": {"t": 3}}, "results.json")
    assert primary_score(broken.tasks["t"]) == (None, "")
    assert len(broken.damage) == 2


@pytest.fixture
def tricky(tmp_path):
    """A share of unreadable replies and lm-eval's mark of an unscored run stand before the score."""
    rows = [
        Row(f"{n}", metrics={"unparsed": 1.0, "bypass": 9.0, "own": float(n != 0)}) for n in range(4)
    ]  # fmt: skip
    home = write_run(tmp_path, {"t": rows})
    path = home / f"results_{STAMP}.json"
    data = json.loads(path.read_text())
    data["results"]["t"] = {
        "alias": "t",
        "unparsed,none": 1.0,
        "bypass,none": 9.0,
        "own,none": 0.75,
    }
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
