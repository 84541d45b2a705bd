"""Packs of a folder that somebody else made start no code until the user names them."""

import json
import shutil

import pytest

from evalprep.cli import main
from tests import processes
from tests.evalprep.results.writing import Row, write_run

ROWS = "country,capital\nFrance,Paris\nPeru,Lima\nKenya,Nairobi\n"
MODULES = ("score", "annotators", "references", "export", "publication", "direct")
SCORE = (
    "  kept: {function: score.kept, tasks: [capitals_qa], title: Kept, range: [0, 1], better: up}\n"
)
POLICY = "defaults: {max_drop: 0.5}\nscores: {capitals/kept: {max_drop: 0.5}}\n"
JUDGE = ("--model", "m", "--base_url", "http://127.0.0.1:9/v1", "--dry_run")
VERBS = {
    "score": ["results", "--no_write"],
    "compare": ["results", "other", "--no_write"],
    "gate": ["results", "other", "--policy", "policy.yaml"],
    "report": ["results", "--out", "page"],
    "report of two": ["results", "other", "--out", "page"],
    "leaderboard": ["results", "other"],
    "samples": ["results", "--wrong"],
    "samples beside others": ["results", "--baseline", "other", "--lost"],
    "rescore": ["results", "--no_write"],
    "export": ["results", "--to", "model-card", "--out", "card.md"],
    "judge": ["results", *JUDGE],
    "list": [],
    "list scores": ["scores"],
    "list published": ["--published", "a"],
    "status": ["results"],
}
NAMED = "look at their code, then add --template_dir packs"


def plant(folder, marker):
    """Puts a pack whose modules leave a mark into a folder, with a config that names it."""
    (folder / "capitals.csv").write_text(ROWS)
    words = ("--data", "capitals.csv", "--prompt", "Capital of {country}?", "--target", "capital")
    assert main(["new-pack", "capitals", "--template_dir", "packs", *words]) == 0
    code = f"open({str(marker)!r}, 'a').write(__name__)\ndef kept(*_, **__): return 1.0\n"
    for name in MODULES:
        (folder / "packs/capitals" / f"{name}.py").write_text(code)
    pack = folder / "packs/capitals/pack.yaml"
    pack.write_text(pack.read_text() + SCORE)
    config = {"model_name": "org/model", "backend": "dummy", "tasks": "capitals"}
    (folder / "eval_config.yaml").write_text(json.dumps(config | {"template_dir": "packs"}))
    (folder / "policy.yaml").write_text(POLICY)
    rows = [Row(f"{at}", correct=at % 2) for at in range(4)]
    for name in ("results", "other"):
        metadata = {"version": 1.0, "pack": "capitals"}
        write_run(folder / name, {"capitals_qa": rows}, metadata=metadata)


@pytest.fixture
def received(tmp_path, monkeypatch):
    """A received folder, in which the user stands."""
    monkeypatch.setenv("EVALPREP_STATE", str(tmp_path / "state"))
    folder = tmp_path / "received"
    folder.mkdir()
    monkeypatch.chdir(folder)
    plant(folder, tmp_path / "it_ran")
    assert not (tmp_path / "it_ran").exists()
    return folder


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.slow) if case == "rescore" else case for case in VERBS],
)
def test_no_verb_starts_a_strangers_pack(received, case):
    done = processes.run(case.partition(" ")[0], *VERBS[case], cwd=received)
    assert not (received.parent / "it_ran").exists(), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if not case.startswith("status"):
        assert done.stderr.count(NAMED) == 1
        assert "packs in packs are not used, because you did not prepare" in done.stderr


@pytest.mark.parametrize("case", ["score", "compare", "report", "leaderboard", "export", "judge"])
def test_a_verb_starts_packs_that_an_option_names(received, case):
    processes.run(case, *VERBS[case], "--template_dir", "packs", cwd=received)
    assert (received.parent / "it_ran").exists()


def test_packs_that_an_option_names_are_used(received, capsys):
    assert main(["score", "results", "--no_write", "--template_dir", "packs"]) == 0
    shown = capsys.readouterr()
    assert (received.parent / "it_ran").exists()
    assert NAMED not in shown.err
    assert "kept" in shown.out


def test_packs_of_a_config_that_the_user_prepared_are_used(received, capsys):
    assert main(["prepare", "--quiet"]) == 0
    (received.parent / "it_ran").unlink(missing_ok=True)
    capsys.readouterr()
    assert main(["score", "results", "--no_write"]) == 0
    shown = capsys.readouterr()
    assert (received.parent / "it_ran").exists()
    assert "not used" not in shown.err
    assert "kept" in shown.out


def test_an_edit_of_a_prepared_config_keeps_its_packs_but_adds_none(received, capsys):
    assert main(["prepare", "--quiet"]) == 0
    shutil.copytree("packs", "more", ignore=shutil.ignore_patterns("capitals"))
    shutil.copytree("packs/capitals", "more/capitals")
    config = json.loads((received / "eval_config.yaml").read_text())
    edited = config | {"limit": 2, "template_dir": ["packs", "more"]}
    (received / "eval_config.yaml").write_text(json.dumps(edited))
    capsys.readouterr()
    assert main(["score", "results", "--no_write"]) == 0
    shown = capsys.readouterr()
    assert "packs in more are not used" in shown.err
    assert "kept" in shown.out


def test_a_config_put_in_the_place_of_a_prepared_one_is_not_the_users(received, capsys):
    assert main(["prepare", "--quiet"]) == 0
    (received.parent / "it_ran").unlink(missing_ok=True)
    shutil.rmtree("work_dir")
    with (received / "eval_config.yaml").open("a") as config:
        config.write("\n# another one\n")
    capsys.readouterr()
    assert main(["score", "results", "--no_write"]) == 0
    assert NAMED in capsys.readouterr().err
    assert not (received.parent / "it_ran").exists()


def test_a_copy_of_a_prepared_folder_is_not_the_users(received, capsys, monkeypatch):
    assert main(["prepare", "--quiet"]) == 0
    (received.parent / "it_ran").unlink(missing_ok=True)
    shutil.copytree(received, received.parent / "copy")
    monkeypatch.chdir(received.parent / "copy")
    capsys.readouterr()
    for words in (["score", "results", "--no_write"], ["compare", "results", "--no_write"]):
        main(words)
        assert NAMED in capsys.readouterr().err
    assert not (received.parent / "it_ran").exists()
