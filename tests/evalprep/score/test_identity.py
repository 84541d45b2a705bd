"""Two packs may give one name to two scores: every verb keeps both apart."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.results.writing import STAMP, Row, write_run


@pytest.fixture
def two_packs(tmp_path):
    for pack, task in (("left", "t"), ("right", "u")):
        folder = tmp_path / "packs" / pack
        folder.mkdir(parents=True)
        scores = {"total": {"function": "micro", "task": task, "note": f"the {pack} one"}}
        content = {"name": pack, "tasks": {task: {"template": "t.yaml"}}, "suite_scores": scores}
        (folder / "pack.yaml").write_text(json.dumps(content))
        (folder / "t.yaml").write_text("task: t\n")
    return ["--template_dir", str(tmp_path / "packs")]


@pytest.fixture
def runs(tmp_path):
    def run(name, right):
        rows = {
            "t": [Row(f"{n}", 1.0) for n in range(30)],
            "u": [Row(f"{n}", float(n < right)) for n in range(30)],
        }
        return write_run(tmp_path / name, rows)

    return run("candidate", 20), run("baseline", 19)


def test_scores_and_report_show_both(runs, two_packs, tmp_path, capsys):
    assert main(["score", str(runs[0]), *two_packs]) == 0
    shown = capsys.readouterr().out
    assert "left/total" in shown
    assert "right/total" in shown
    results = json.loads((runs[0] / f"scores_{STAMP}/scores.json").read_text())["results"]
    assert (results["left/total"]["agg_value"], results["right/total"]["agg_value"]) == (
        1.0,
        pytest.approx(2 / 3),
    )
    assert (
        main(["report", str(runs[0]), *two_packs, "--out", str(tmp_path / "page"), "--json"]) == 0
    )
    scores = json.loads(capsys.readouterr().out)["scores"]
    found = {
        f"{score['pack']}/{score['name']}": (score["runs"][0]["agg_value"], score["explain"])
        for score in scores
    }
    assert found == {
        "left/total": (1.0, "the left one"),
        "right/total": (pytest.approx(2 / 3), "the right one"),
    }


def test_a_gate_wants_the_pack_where_the_name_alone_means_two(runs, two_packs, tmp_path, capsys):
    policy = tmp_path / "policy.yaml"
    call = ["gate", *map(str, runs), "--policy", str(policy), *two_packs]
    policy.write_text("suite: {total: {max_drop: 0.5}}\n")
    assert main(call) == 2
    assert "left/total, right/total" in capsys.readouterr().err
    policy.write_text("suite: {right/total: {max_drop: 0.5}}\n")
    assert main(call) == 3  # thirty rows are few for the tasks themselves
    assert "  pass     right/total" in capsys.readouterr().out
