"""Damaged, doubled, empty, non-finite and foreign files, through every verb that reads runs: one message at most."""

import pytest

from evalprep.cli import main
from tests.evalprep.results.damage import KINDS
from tests.evalprep.results.writing import Row, write_run


def rows(shift=0):
    return [Row(f"r{at}", float((at + shift) % 3 > 0), previous=at % 2 == 0, subtask="s") for at in range(30)]


def calls(home, other, folder):
    policy = folder / "policy.yaml"
    policy.write_text("{overall: {max_drop: 0.1}}\n", encoding="utf-8")
    return {
        "score": ["score", home, "--no-write"],
        "score as data": ["score", home, "--no-write", "--json"],
        "compare": ["compare", home, "--no-flips"],
        "compare with a run": ["compare", home, other],
        "compare as baseline": ["compare", other, home, "--no-flips", "--json"],
        "gate": ["gate", home, other, "--policy", policy],
        "gate as baseline": ["gate", other, home, "--policy", policy, "--json"],
        "report": ["report", home, "--baseline", other, "--out", folder / "page", "--format", "html,csv,md,json,xlsx"],
        "status": ["status", home],
        "judge": ["judge", home, "--model", "m", "--dry_run"],
    }


@pytest.mark.parametrize("name", KINDS)
def test_no_damage_ends_in_a_traceback(tmp_path, capsys, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    home = write_run(tmp_path / "now", {"t": rows(), "u": rows(1)})
    other = write_run(tmp_path / "before", {"t": rows(2), "u": rows()})
    KINDS[name](home)
    for verb, arguments in calls(home, other, tmp_path).items():
        try:
            code = main([str(one) for one in arguments])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert code in {0, 1, 2, 3}, (verb, code, err)
        assert "Traceback" not in out + err, verb
        if code == 2:
            assert (out + err).strip(), verb
            assert len(out + err) < 3_000, verb


# Each call reads the index of lm-eval's own tasks, ten seconds of CPU: a sample of the kinds.
@pytest.mark.slow
@pytest.mark.parametrize("name", list(KINDS)[::20])
def test_no_damage_ends_a_rescore_in_a_traceback(tmp_path, capsys, name):
    home = write_run(tmp_path / "now", {"t": rows(), "u": rows(1)})
    KINDS[name](home)
    assert main(["rescore", str(home), "--out", str(tmp_path / "again")]) in {0, 1, 2, 3}
    assert "Traceback" not in "".join(capsys.readouterr())


def test_there_are_enough_kinds():
    assert len(KINDS) >= 60
