"""`evalprep run` as one path: what it prepares, what it shows after the run, and its exit code."""

import os
import re
from argparse import Namespace
from pathlib import Path

import pytest
import yaml

from evalprep.cli import main
from evalprep.status.job import read_jobs
from evalprep.verbs.running.conclusion import conclude
from tests import PROJECT_ROOT
from tests.evalprep.results.writing import STAMP, Row, write_run

PACKS = PROJECT_ROOT / "tests/data/packs"
#: A task of nobody's pack, run over a part of its rows.
PARTS = {"other": [Row(str(at), correct=0.0) for at in range(12)]}
OF_A_PART = {"extra": {"n-samples": {"other": {"original": 30, "effective": 12}}}}
LATER = "2026-03-01T11-00-00.000001"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder; the engine is a stand-in that is right in 20 of 30 rows."""

    def generate(commands):
        (job, *_) = read_jobs(commands.work_dir)
        rows = [Row(str(at), correct=float(at % 3 > 0), previous=1.0) for at in range(30)]
        home = write_run(job.output_path, {"rivers_mouth": rows})
        commands.outcomes.append({"results": str(home / f"results_{STAMP}.json")})
        return 0

    monkeypatch.setattr("evalprep.verbs.running.commands.Commands.all", generate)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *words, code=0):
    assert main(["run", *words]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def write_config(folder, **keys):
    usual = {"model_name": "a/b", "backend": "dummy", "tasks": "rivers"}
    config = {**usual, "template_dir": str(PACKS), **keys}
    (folder / "eval_config.yaml").write_text(yaml.safe_dump(config))


def test_options_alone_are_a_config(folder, capsys):
    options = ["--model", "a/b", "--backend", "dummy", "--tasks", "rivers", "--limit", "1"]
    text = run(capsys, *options, "--out", "results", "--set", f"template_dir={PACKS}")
    assert "prepare: work_dir is not prepared yet" in text
    assert "written: " in text
    assert (folder / "results/org__model" / f"report_{STAMP}/report.html").is_file()
    command = (folder / "work_dir/command.sh").read_text()
    assert "--limit 1" in command
    assert "next: evalprep samples results/org__model --lost" in text


def test_a_prepared_folder_keeps_the_packs_that_its_preparation_named(folder, capsys, monkeypatch):
    """Without a config nothing else names them; of somebody else's folder they are not taken."""
    options = ["--model", "a/b", "--backend", "dummy", "--tasks", "rivers"]
    run(capsys, *options, "--set", f"template_dir={PACKS}")
    assert f"--template_dir {PACKS}" in run(capsys).partition("next: ")[2]
    monkeypatch.setenv("EVALPREP_STATE", str(folder / "another user"))
    assert "--template_dir" not in run(capsys).partition("next: ")[2]


def test_the_next_step_names_results_elsewhere_without_a_way_up(folder, capsys, monkeypatch):
    home = folder.parent / "home"
    monkeypatch.setenv("HOME", str(home))
    for out, shown in ((home / "results", "~/results"), (folder.parent / "else", None)):
        write_config(folder, output_path=str(out))
        text = run(capsys)
        assert f"next: evalprep samples {shown or out}/org__model --lost" in text
        assert "../" not in text.partition("next:")[2]


def test_a_run_prepares_what_changed_and_nothing_else(folder, capsys):
    write_config(folder)
    assert "prepare: work_dir is not prepared yet" in run(capsys)
    assert "prepare: " not in run(capsys)
    assert "prepare: " not in run(capsys, "work_dir")
    write_config(folder, limit=1)
    os.utime(folder / "eval_config.yaml", (2**32, 2**32))
    assert "prepare: the config differs from the prepared one in limit" in run(capsys)


def test_a_run_follows_the_file_and_a_named_folder_is_run_as_prepared(folder, capsys):
    write_config(folder)
    assert main(["prepare", "--set", "limit=1"]) == 0
    assert "next: evalprep run work_dir\n" in capsys.readouterr().err
    assert "prepare: " not in run(capsys, "work_dir")
    assert "differs from the prepared one in limit" in run(capsys)
    assert "differs from the prepared one in limit" in run(capsys, "--limit", "2")
    text = run(capsys)
    assert "differs from the prepared one in limit" in text
    assert "with no results yet from command c1-plain" in text


def test_an_edited_pack_is_prepared_again(folder, capsys):
    write_config(folder, template_dir="packs")
    pack = folder / "packs/rivers"
    pack.mkdir(parents=True)
    for path in (PACKS / "rivers").iterdir():
        if path.is_file():
            (pack / path.name).write_bytes(path.read_bytes())
    run(capsys)
    os.utime(pack / "pack.yaml", (2**32, 2**32))
    assert "prepare: changed since the preparation: pack.yaml" in run(capsys)
    # What was copied over it with its old time is known by its content.
    (pack / "pack.yaml").write_text((pack / "pack.yaml").read_text() + "# edited\n")
    os.utime(pack / "pack.yaml", (1, 1))
    assert "prepare: changed since the preparation: pack rivers" in run(capsys)
    assert "prepare: " not in run(capsys)


def test_the_conclusion_comes_last_and_losses_do_not_fail_a_run(folder, capsys):
    write_config(folder)
    text = run(capsys)
    places = [
        text.index(words) for words in ("Tasks:", "report.html", "worse by 33.3 points", "next:")
    ]
    assert places == sorted(places)


def test_a_policy_decides_the_exit_code(folder, capsys):
    write_config(folder)
    (folder / "policy.yaml").write_text("defaults: {max_drop: 1%}\n")
    assert "against baseline published verdicts: fail" in run(
        capsys, "--gate", "policy.yaml", code=1
    )
    (folder / "policy.yaml").write_text("nonsense: 1\n")
    assert "Tasks:" not in run(capsys, "--gate", "policy.yaml", code=2)


def test_a_baseline_is_compared_with(folder, capsys):
    rows = [Row(str(at), correct=1.0) for at in range(30)]
    baseline = write_run(folder / "before", {"rivers_mouth": rows}, model="org__before")
    write_config(folder)
    text = run(capsys, "--baseline", str(baseline))
    assert "baseline before" in re.sub(r"org__|model", "", text) or "baseline" in text
    assert f"next: evalprep samples eval_results/org__model --lost --baseline {baseline}" in text
    assert "no such" in run(capsys, "--baseline", "nowhere", code=2)


def test_each_fact_is_printed_once(folder, capsys, monkeypatch):
    def generate(commands):
        (job, *_) = read_jobs(commands.work_dir)
        home = write_run(job.output_path, PARTS, **OF_A_PART)
        commands.outcomes.append({"results": str(home / f"results_{STAMP}.json")})
        return 0

    monkeypatch.setattr("evalprep.verbs.running.commands.Commands.all", generate)
    baseline = write_run(folder / "before", PARTS, model="org__before", **OF_A_PART)
    write_config(folder)
    (folder / "policy.yaml").write_text("defaults: {max_drop: 2 points}\n")
    text = run(capsys, "--baseline", str(baseline), "--gate", "policy.yaml", code=3)
    assert text.count("12 of 30 rows") == 1
    assert text.count("names no primary metric") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is neither a config nor a prepared folder"),
        (["work_dir", "--limit", "3"], "cannot change a prepared folder"),
        (["--json", "--baseline", "run"], "--json stops after the run"),
        (["--shard", "-1"], "a whole number >= 0"),
    ],
)
def test_arguments_that_cannot_be_used(folder, words, message, capsys):
    if words[:1] == ["work_dir"]:
        (folder / "work_dir").mkdir()
    assert message in run(capsys, *words, code=2)


def test_two_commands_without_a_run_id_are_one_run(tmp_path, capsys):
    home = write_run(tmp_path, {"t": [Row("a")]})
    write_run(tmp_path, {"u": [Row("a", previous=1.0)]}, stamp=LATER)
    results = [home / f"results_{stamp}.json" for stamp in (STAMP, LATER)]
    assert conclude(results, None, (), Namespace(baseline=None, gate=None)) == 0
    assert "--lost --timestamp each" in capsys.readouterr().out


def test_a_run_without_samples_is_scored_by_its_results(tmp_path, capsys):
    home = write_run(tmp_path, {"t": [Row("a")]})
    (home / f"samples_t_{STAMP}.jsonl").unlink()
    results = [home / f"results_{STAMP}.json"]
    assert conclude(results, None, (), Namespace(baseline=None, gate=None)) == 0
    assert "next: evalprep samples" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_with_its_engine(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path)
    text = run(capsys)
    assert Path(re.search(r"written: (.*report\.html)", text)[1]).is_file()
