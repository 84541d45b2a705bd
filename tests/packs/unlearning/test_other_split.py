"""A retain log of another split size as reference: refused in every file that is written, with the reason."""

import csv
import json
import zipfile

import pytest

from custom_metrics.token_logprobs import Response
from evalprep.cli import main
from tests.evalprep.results.writing import Row, write_run

ROLES = ["answer", "paraphrase", "wrong", "wrong"]
WHY = "this run has 30 forget rows and the reference"


@pytest.fixture
def run(tmp_path):
    """A run of 30 forgotten questions with the likelihoods of four answers to each."""
    rows = [Row(f"r{at}", doc={"index": at, "roles": ROLES, "target": "text"}) for at in range(30)]
    home = write_run(tmp_path / "out", {"tofu_forget_lp": rows}, metadata={"pack": "unlearning"})
    (samples,) = home.glob("samples_*")
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for at, line in enumerate(lines):
        answers = [
            Response(logprobs=[-1.0 - (at + step) % 7, -2.0], greedy=[False, False])
            for step in range(4)
        ]
        line["resps"] = [[answer.dump()] for answer in answers]
        line["filtered_resps"] = [answer.dump() for answer in answers]
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return home


def log(folder, rows):
    folder.mkdir()
    ratios = {str(at): {"score": 0.5 + at % 5 / 10} for at in range(rows)}
    content = {"forget_truth_ratio": {"agg_value": 0.7, "value_by_index": ratios}}
    (folder / "TOFU_EVAL.json").write_text(json.dumps(content))
    return folder / "TOFU_EVAL.json"


def test_w21_a_reference_of_another_size_is_refused_everywhere(run, tmp_path, capsys):
    out = tmp_path / "scores"
    options = ["--reference", str(log(tmp_path / "retain", 60))]
    assert main(["score", str(run), "--out", str(out), *options]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"not comparable: {WHY} 60" in said
    kept = json.loads((out / "scores.json").read_text())
    (headline,) = [score for score in kept["suite"] if score["name"] == "forget_quality"]
    assert (headline["value"], headline["low"], WHY in headline["reason"]) == (None, None, True)
    exported = json.loads((out / "TOFU_EVAL.json").read_text())["forget_quality"]
    assert (exported["agg_value"], WHY in exported["reason"], "interval" in exported) == (
        None,
        True,
        False,
    )
    assert json.loads((out / "TOFU_SUMMARY.json").read_text()).get("forget_quality") is None

    where = tmp_path / "page"
    assert (
        main(
            ["report", str(run), "--out", str(where), "--format", "html,csv,md,json,xlsx", *options]
        )
        == 0
    )
    capsys.readouterr()
    for name in ("report.html", "report.md", "report.json"):
        assert WHY in (where / name).read_text(), name
    with (where / "scores.csv").open(newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if row["name"] == "forget_quality"]
    assert (row["value"], row["low"], WHY in row["notes"]) == ("", "", True)
    with zipfile.ZipFile(where / "report.xlsx") as book:
        assert any(
            WHY in book.read(name).decode() for name in book.namelist() if name.endswith(".xml")
        )


def test_a_reference_of_the_same_size_has_a_p_value_without_interval(run, tmp_path, capsys):
    options = ["--reference", str(log(tmp_path / "retain", 30))]
    assert main(["score", str(run), "--no-write", "--json", *options]) == 0
    kept = json.loads(capsys.readouterr().out)
    (headline,) = [score for score in kept["suite"] if score["name"] == "forget_quality"]
    assert 0 < headline["value"] <= 1
    assert (headline["low"], headline["high"]) == (None, None)
