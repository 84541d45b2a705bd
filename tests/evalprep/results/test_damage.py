"""Damaged, doubled, empty, non-finite and foreign files, through every verb that reads runs: one message at most."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.results.damage import KINDS
from tests.evalprep.results.writing import Row, write_run
from tests.loops import each


def rows(shift=0):
    return [
        Row(f"r{at}", float((at + shift) % 3 > 0), previous=at % 2 == 0, subtask="s")
        for at in range(30)
    ]


def calls(home, other, folder):
    policy = folder / "policy.yaml"
    policy.write_text("{overall: {max_drop: 0.1}}\n", encoding="utf-8")
    return {
        "score": ["score", home, "--no-write"],
        "score as data": ["score", home, "--no-write", "--json"],
        "compare": ["compare", home, "--no_write"],
        "compare with a run": ["compare", home, other],
        "compare as baseline": ["compare", other, home, "--no_write", "--json"],
        "gate": ["gate", home, other, "--policy", policy],
        "gate as baseline": ["gate", other, home, "--policy", policy, "--json"],
        "report": [
            "report",
            home,
            "--baseline",
            other,
            "--out",
            folder / "page",
            "--format",
            "html,csv,md,json,xlsx",
        ],
        "status": ["status", home],
        "judge": ["judge", home, "--model", "m", "--dry_run"],
    }


@pytest.fixture
def one_small_pack(tmp_path, monkeypatch):
    """One pack of two scores in the place of those that ship, whose reading would take most of the time."""
    folder = tmp_path / "packs" / "toy"
    folder.mkdir(parents=True)
    scores = "{all: {function: macro, tasks: [t, u]}, own: {function: score.own, tasks: [t]}}"
    (folder / "pack.yaml").write_text(f"name: toy\nsuite_scores: {scores}\n")
    (folder / "score.py").write_text(
        "def own(*, rows, **_):\n    return {'agg_value': len(rows['t'])}\n"
    )
    monkeypatch.setattr("evalprep.packs.finding.TEMPLATES", tmp_path / "packs")


@pytest.mark.usefixtures("one_small_pack")
@pytest.mark.parametrize(
    "name",
    # Every third kind in a quick run.
    [
        name if at % 3 == 0 else pytest.param(name, marks=pytest.mark.slow)
        for at, name in enumerate(KINDS)
    ],
)
def test_no_damage_ends_in_a_traceback(tmp_path, capsys, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    home = write_run(tmp_path / "now", {"t": rows(), "u": rows(1)})
    other = write_run(tmp_path / "before", {"t": rows(2), "u": rows()})
    KINDS[name](home)
    for verb, arguments in each(calls(home, other, tmp_path).items()):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert code in {0, 1, 2, 3}, (verb, code, err)
        assert "Traceback" not in out + err, verb
        if code == 2:
            assert (out + err).strip(), verb
            assert len(out + err) < 3_000, verb


def named_by_hand(home):
    """Let the results file name a scorer that needs no index of lm-eval's own tasks."""
    for path in home.glob("results_*"):
        results = json.loads(path.read_bytes())
        for config in results["configs"].values():
            config |= {"output_type": "generate_until", "metric_list": [{"metric": "exact_match"}]}
            config["metadata"] |= {"config_source": "/home/somebody/tasks/t.yaml"}
        path.write_text(json.dumps(results), encoding="utf-8")


# The index of lm-eval's own tasks, which damaged configurations make it ask, takes ten seconds:
# once for all kinds.
@pytest.mark.slow
@pytest.mark.usefixtures("one_small_pack")
def test_no_damage_ends_a_rescore_in_a_traceback(tmp_path, capsys):
    for at, (name, damage) in each(enumerate(KINDS.items())):
        home = write_run(tmp_path / f"{at}", {"t": rows(), "u": rows(1)})
        named_by_hand(home)
        damage(home)
        code = main(["rescore", str(home), "--out", str(tmp_path / f"again{at}")])
        out, err = capsys.readouterr()
        assert code in {0, 2, 3}, (name, code, err)
        assert "Traceback" not in out + err, name
        assert len(err) < 3_000, name
        if (tmp_path / f"again{at}").exists():  # what was written is a run that every verb reads
            assert main(["score", str(tmp_path / f"again{at}"), "--no-write"]) in {0, 3}, name
            assert "Traceback" not in "".join(capsys.readouterr()), name


def test_there_are_enough_kinds():
    assert len(KINDS) >= 60
