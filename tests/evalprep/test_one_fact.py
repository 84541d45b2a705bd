"""One tricky run folder, and each fact of it: every verb that speaks of it says the same."""

import csv
import json
import shutil
from types import SimpleNamespace

import pytest

from evalprep.cli import main
from evalprep.results import load_run
from tests.evalprep.results.writing import STAMP, Row, write_run

FILTERS = ("strict-match", "flexible-extract")


def metrics(number):
    """A share of unreadable replies and lm-eval's mark of an unscored run stand before the score."""
    return {
        "unparsed": float(number == 0),
        "bypass": 9.0,
        "truncated": float(number == 1),
        "own": float(number > 1),
    }


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each verb says of a run that lacks two of six rows, under a metric of its own of which less is better."""
    folder = tmp_path_factory.mktemp("tricky")
    rows = [
        Row(
            str(number),
            metrics=metrics(number),
            answer="[invalid]" if number == 0 else "B",
            response="no idea" if number == 0 else "The answer is B",
            previous=number % 2 == 0,
        )
        for number in range(4)
    ]
    metadata = {"version": 1.0, "primary_metric": "own", "primary_filter": "flexible-extract"}
    sizes = {"n-samples": {"t": {"original": 6, "effective": 6}}}
    home = write_run(folder, {"t": rows}, filters=FILTERS, metadata=metadata, extra=sizes)
    path = home / f"results_{STAMP}.json"
    data = json.loads(path.read_text())
    data["higher_is_better"]["t"]["own"] = False
    path.write_text(json.dumps(data))
    (folder / "policy.yaml").write_text("{defaults: {max_drop: 0.01}}")
    return Verbs(folder, home)


class Verbs:
    """The verbs' own JSON, asked for once."""

    def __init__(self, folder, home):
        self.folder, self.home, self.cache = folder, home, {}

    def __call__(self, capsys, verb, *more):
        if (verb, *more) not in self.cache:
            capsys.readouterr()
            main([verb, str(self.home), *more, "--json"])
            self.cache[verb, *more] = json.loads(capsys.readouterr().out)
        return self.cache[verb, *more]


@pytest.fixture
def verbs(said, capsys):
    twin, page = str(said.folder.parent / "twin"), str(said.folder / "page")
    shutil.copytree(said.home, twin, dirs_exist_ok=True)
    return SimpleNamespace(
        run=load_run(said.home),
        score=said(capsys, "score"),
        status=said(capsys, "status"),
        published=said(capsys, "compare"),
        compare=said(capsys, "compare", twin),
        gate=said(capsys, "gate", twin, "--policy", str(said.folder / "policy.yaml")),
        report=said(capsys, "report", "--out", page, "--format", "json,csv,md"),
        page=said.folder / "page",
    )


def only(several):
    (one,) = several
    return one


def test_the_primary_metric(verbs):
    reported = only(only(verbs.report["tasks"])["runs"])
    names = [
        (one["metric"], one["filter"])
        for one in (only(verbs.score["tasks"]), only(verbs.compare["tasks"]))
    ]
    names += [
        (reported["metric"], reported["filter"]),
        tuple(only(verbs.status["tasks"])["metric"].split(",")),
    ]
    primary = verbs.run.tasks["t"].primary
    assert {*names, (primary.metric, primary.filter)} == {("own", "flexible-extract")}
    values = [only(verbs.score["tasks"])["micro"]["agg_value"], only(verbs.compare["tasks"])["now"]]
    values += [reported["score"]["value"], only(verbs.status["tasks"])["score"]]
    assert set(values) == {0.5}
    # Published verdicts have a rule of their own, and the comparison with them says so.
    assert only(verbs.published["tasks"])["filter"] == "strict-match"
    notes = only(verbs.published["tasks"])["notes"]
    assert "the task's own own (flexible-extract) is 50.0" in notes[0]


def test_its_direction(verbs):
    assert only(verbs.compare["tasks"])["higher_is_better"] is False
    assert only(verbs.report["tasks"])["direction"] == "down"
    assert verbs.run.tasks["t"].primary.direction == "down"


def test_the_label_of_the_run(verbs):
    labels = {verbs.score["run"], verbs.published["run"], only(verbs.report["runs"])["label"]}
    assert labels == {"model"}
    assert "Runs: model." in (verbs.page / "report.md").read_text()
    assert verbs.compare["run"] != verbs.compare["other"]
    assert verbs.compare["run"] == verbs.gate["run"]


def test_the_rows_that_were_expected(verbs):
    words = "2 of 6 expected rows are missing"
    assert f"t: {words}" in verbs.score["notes"]
    assert f"t: {words}" in only(verbs.report["runs"])["notes"]
    for one in (verbs.published, verbs.compare):
        assert (only(one["tasks"])["expected"], only(one["tasks"])["n"]) == (6, 4)
        assert (only(one["tasks"])["verdict"], only(one["tasks"])["words"]) == (
            "not enough evidence",
            words,
        )
    assert words in json.dumps(verbs.gate["checks"])
    assert verbs.gate["status"] != "passed"


def test_what_the_scorer_read(verbs):
    reported = only(only(verbs.report["tasks"])["runs"])
    assert only(verbs.score["tasks"])["unparsed"] == only(verbs.compare["tasks"])["unparsed"] == 1
    assert (reported["unparsed"], reported["truncated"]) == (1, 1)
    with (verbs.page / "samples.csv").open(newline="") as file:
        samples = list(csv.DictReader(file))
    assert [sample["answer"] for sample in samples] == ["", "B", "B", "B"]
    assert [sample["unparsed"] for sample in samples] == ["1", "0", "0", "0"]
    assert [sample["truncated"] for sample in samples] == ["0", "1", "0", "0"]
    assert [sample["output"] for sample in samples] == ["no idea", *["The answer is B"] * 3]
