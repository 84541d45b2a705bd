"""Annotators that cost nothing: `score` runs them once, and everybody else reads."""

import json

import pytest

from evalprep.annotate.place import FILE
from evalprep.cli import main

PACK = """\
name: odd
tasks:
  odd_quiz: {template: odd_quiz.yaml, source: rows.jsonl}
suite_scores:
  odd_length: {function: score.mean_length, tasks: [odd_quiz], range: [0, 100]}
"""
SCORE = """\
def mean_length(*, rows, **_):
    (several,) = rows.values()
    known = [row["metrics"]["length"] for row in several if "length" in row["metrics"]]
    return {"agg_value": sum(known) / len(known)} if known else {"agg_value": None, "reason": "not computed"}
"""
ANNOTATORS = """\
from pathlib import Path
from evalprep.packapi import Item, SampleRef, Value

LOG = Path(__file__).with_name("log")


class Length:
    name, version, values, paid = "length", "1", {"length": Value(0, 100)}, False
    needs, tasks, sampling, schema = (), ("odd_quiz",), {}, None

    def items(self, rows, metadata):
        for row in rows["odd_quiz"]:
            yield Item((SampleRef("odd_quiz", row["sample_id"], row["index"]),), row["response"])

    def run(self, inputs):
        with LOG.open("a") as file:
            file.write("x" * len(inputs))
        return [str(len(text)) for text in inputs]

    def read(self, item, reply):
        return "ok", {"length": float(reply)}


ANNOTATORS = (Length(),)
"""


@pytest.fixture
def place(tmp_path):
    """A pack with a free annotator, and a run of its task."""
    pack, run = tmp_path / "packs" / "odd", tmp_path / "run"
    pack.mkdir(parents=True)
    run.mkdir()
    (pack / "pack.yaml").write_text(PACK)
    (pack / "odd_quiz.yaml").write_text("task: odd_quiz\n")
    (pack / "score.py").write_text(SCORE)
    (pack / "annotators.py").write_text(ANNOTATORS)
    stamp = "2026-02-01T08-00-00.000000"
    samples = [
        {"doc_id": at, "doc": {"sample_id": f"q{at}"}, "target": "", "arguments": {}, "resps": [["x" * at]],
         "filtered_resps": ["x" * at], "filter": "none", "metrics": ["acc"], "acc": 1}
        for at in range(4)
    ]  # fmt: skip
    (run / f"samples_odd_quiz_{stamp}.jsonl").write_text(
        "".join(json.dumps(sample) + "\n" for sample in samples)
    )
    metadata = {"pack": "odd", "primary_metric": "acc"}
    results = {
        "results": {"odd_quiz": {"acc,none": 1}},
        "configs": {"odd_quiz": {"metadata": metadata}},
    }
    (run / f"results_{stamp}.json").write_text(json.dumps(results))
    return run, pack


def scores(capsys, run, pack, *more):
    capsys.readouterr()
    main(["score", str(run), "--template_dir", str(pack.parent), "--json", *more])
    found = json.loads(capsys.readouterr().out)
    return {score["name"]: score["value"] for score in found["suite"]}, found["notes"]


def test_computed_once_and_read_by_all(place, capsys):
    run, pack = place
    assert scores(capsys, run, pack, "--no-write") == ({"odd_length": None}, [])
    assert not (run / FILE).exists()
    for _ in range(2):
        assert scores(capsys, run, pack)[0] == {"odd_length": 1.5}
    assert (pack / "log").read_text() == "x" * 4
    assert scores(capsys, run, pack, "--no-write")[0] == {"odd_length": 1.5}


def test_a_broken_one_takes_no_other_score_with_it(place, capsys):
    run, pack = place
    text = ANNOTATORS.replace(
        "return [str(len(text)) for text in inputs]", "raise ImportError('no module named x')"
    )
    (pack / "annotators.py").write_text(text)
    found, notes = scores(capsys, run, pack)
    assert found == {"odd_length": None}
    assert any("ImportError: no module named x" in note for note in notes)


def test_a_terminal_shows_how_far_a_detector_is(place, capsys, monkeypatch):
    run, pack = place
    monkeypatch.setattr("evalprep.annotate.free._CHUNK", 3)
    main(["score", str(run), "--template_dir", str(pack.parent), "--no-write"])
    assert "length on" not in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    main(["score", str(run), "--template_dir", str(pack.parent)])
    assert (
        "\rlength on odd_quiz: 0/4\rlength on odd_quiz: 3/4\rlength on odd_quiz: 4/4\n"
        in capsys.readouterr().err
    )
