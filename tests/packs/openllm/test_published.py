"""Published samples as the baseline, and the published table, through the command line."""

import json
import re
import shutil
from dataclasses import replace

import pytest

from custom_metrics import openllm
from evalprep.cli import main
from evalprep.compare import ReproducedBenchmark
from task_templates.openllm.samples import read_line
from tests.evalprep.data.mirror import hub
from tests.packs.openllm.board import (
    FOLDER,
    LINES,
    MODEL,
    contents_row,
    write_contents,
    write_samples,
)

LATER = "2026-01-02T03-04-05.000001"


@pytest.fixture
def board(tmp_path, monkeypatch):
    """Published samples and table, and a run that has one more sample of each task right."""
    monkeypatch.chdir(tmp_path)
    write_board(tmp_path, ["musr", "mmlu_pro"])
    return tmp_path


def write_board(folder, benchmarks):
    write_samples(folder / "details" / FOLDER, benchmarks, suffix="json")
    write_contents(folder / "contents.csv", contents_row(), contents_row(fullname="acme/other"))
    write_samples(folder / "ours" / FOLDER, benchmarks, right=3, stamp=LATER)


def compare(*words):
    return main(["compare", "ours", *words, "--no_write", "--set", "openllm.contents=contents.csv"])


def reproduced(capsys, *words):
    assert compare("--json", *words) == 0
    shown = json.loads(capsys.readouterr().out)
    return shown, {item["title"]: item for item in shown["reproduction"]["benchmarks"]}


def test_every_benchmark_stands_beside_its_headline(board, capsys):
    write_board(board, LINES)
    words = ("--set", "openllm.details=details", "--no_rescore")
    shown, items = reproduced(capsys, "--published", f"openllm:{MODEL}", *words)
    assert list(items) == ["IFEval", "BBH", "MATH Lvl 5", "GPQA", "MUSR", "MMLU-PRO"]
    bbh = items["BBH"]
    assert (bbh["n"], bbh["gained"], bbh["lost"], bbh["prompts_differ"]) == (96, 24, 0, 0)
    assert (bbh["published_raw"], bbh["verdict_mean"], bbh["raw"]) == (0.55, 0.5, 0.75)
    assert bbh["agreement"] == 0.75
    assert bbh["difference"] == pytest.approx(0.2)
    assert bbh["low"] > 0
    assert any("partial: 96 of 5761 rows" in reason for reason in bbh["reasons"])
    assert bbh["reproduced"] is None, "a part of the data reproduces no headline"
    assert shown["reproduction"]["published_average"] == 20.0
    assert items["MATH Lvl 5"]["rescored_mean"] is None


def test_missing_tasks_are_named_by_families(board, capsys):
    write_samples(board / "details" / FOLDER, LINES, suffix="json")
    assert compare("--published", "openllm:details", "--no_rescore") == 3
    printed = " ".join(capsys.readouterr().out.split())
    assert "the candidate lacks 35 of the baseline's 39 tasks: leaderboard_ifeval" in printed
    assert "leaderboard_bbh_* (24), leaderboard_math_* (7), leaderboard_gpqa_* (3)" in printed
    assert "snarks" not in printed


@pytest.mark.parametrize("precision", ["bfloat16", "4bit", "8bit", "GPTQ"])
def test_another_precision_of_the_published_row_is_named(board, capsys, precision):
    write_contents("contents.csv", contents_row(Precision=precision))
    results = next((board / "ours").rglob("results_*.json"))
    data = json.loads(results.read_text())
    data["config"]["model_dtype"] = "torch.float16"
    results.write_text(json.dumps(data))
    words = ["--published", f"openllm:{MODEL}", "--set", "openllm.details=details", "--no_rescore"]
    assert compare(*words) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"different settings: dtype float16 / {precision}" in printed
    write_contents("contents.csv", contents_row(Precision="float16"))
    assert compare(*words) == 0
    assert "dtype" not in capsys.readouterr().out


def test_a_folder_is_enough_and_the_headline_is_then_unknown(board, capsys):
    _, items = reproduced(capsys, "--published", "openllm:details", "--no_rescore")
    assert items["MUSR"]["published_raw"] is None
    assert items["MUSR"]["difference"] == pytest.approx(0.25)
    assert compare("--published", "openllm:details", "--no_rescore") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "no published headlines: openllm.reference names the row" in printed


@pytest.mark.slow  # two processes
def test_a_data_set_of_the_hub_is_fetched_once_and_found_again_offline(board, monkeypatch, capsys):
    shutil.copytree("details", "served/tiny-details")
    with hub(board / "served", board) as (handler, env):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        words = ("--published", f"openllm:{MODEL}", "--no_rescore")
        place = ("--set", "openllm.details=org/tiny-details")
        code = _in_new_process(board, *words, *place)
        assert code == 0
        asked = len(handler.log)
        assert asked > 0
        assert _in_new_process(board, *words, *place, HF_HUB_OFFLINE="1") == 0
        assert len(handler.log) == asked


def _in_new_process(folder, *words, **env):
    """The hub's client reads its settings once, at import."""
    import os
    import subprocess
    import sys

    from tests import PROJECT_ROOT

    command = [sys.executable, "-m", "evalprep", "compare", "ours", "--no_write", *words]
    command += ["--set", "openllm.contents=contents.csv"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT), **env},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "commit " + "c" * 40 in " ".join(done.stdout.split()).replace("c c", "cc"), done.stdout
    return done.returncode


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--published", "opnllm:a/b"], "did you mean openllm?"),
        (["--published", "openllm:"], "openllm:ORG/MODEL"),
        (["details", "--published", "openllm:details"], "two baselines"),
        (["--published", "openllm:details", "--set", "openllm.detail=x"], "did you mean details?"),
        (
            ["--published", "openllm:details", "--set", "openllm.version=3"],
            "wrong value of version",
        ),
        (["--published", "openllm:a/b", "--set", "openllm.version=v1"], "details_a__b"),
        (["--published", "openllm:empty"], "no published samples of the leaderboard's tasks"),
    ],
)
def test_mistakes_say_what_to_do(words, said, board, capsys):
    (board / "empty").mkdir()
    (board / "empty" / "readme.md").write_text("nothing")
    assert compare(*words) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_several_published_rows_are_listed_and_none_is_taken(board, capsys):
    rows = [contents_row(), contents_row(**{"Precision": "float16", "Chat Template": True})]
    write_contents("contents.csv", *rows)
    words = ["--published", f"openllm:{MODEL}", "--set", "openllm.details=details"]
    assert compare(*words, "--no_rescore") == 2
    printed = capsys.readouterr().err
    assert "precision bfloat16, revision a1b2c3d4, chat template no" in printed
    assert "precision float16, revision a1b2c3d4, chat template yes" in printed
    assert compare(*words, "--no_rescore", "--set", "openllm.precision=float16") == 0


def test_a_published_verdict_altered_by_hand_is_reported(board, capsys):
    (samples,) = board.glob("details/*/samples_leaderboard_mmlu_pro_*")
    lines = samples.read_text().splitlines()
    samples.write_text("\n".join([*lines[:3], lines[3].replace('"acc": 0.0', '"acc": 1.0'), ""]))
    shown, _ = reproduced(capsys, "--published", "openllm:details", "--no_rescore")
    said = "leaderboard_mmlu_pro: 1 of 4 published verdicts do not follow"
    assert any(said in note for note in shown["reproduction"]["notes"])


def test_a_flip_near_a_tie_is_told_from_others(board, capsys):
    (samples,) = board.glob("ours/*/samples_leaderboard_mmlu_pro_*")
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    lines[2]["resps"][1] = [["-1.005", "False"]]  # the third row is the one that is gained
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown, _ = reproduced(capsys, "--published", "openllm:details", "--no_rescore")
    causes = {task["name"]: task["causes"] for task in shown["tasks"]}
    assert causes["leaderboard_mmlu_pro"] == {"near tie": 1}
    assert causes["leaderboard_musr_team_allocation"] == {"answer differs": 1}


def test_list_finds_published_models(board, capsys):
    listed = ["list", "--set", "openllm.contents=contents.csv", "--published"]
    assert main([*listed, "TINY"]) == 0
    printed = capsys.readouterr().out
    assert "1 published rows match 'TINY'" in printed
    assert re.search(r"acme/tiny-1b: precision bfloat16.*average 20\.00", printed)
    assert main([*listed, "nobody"]) == 3


@pytest.mark.parametrize(
    ("target", "gold"),
    [
        pytest.param("red", 1, id="the text of a choice"),
        pytest.param("2", 2, id="its position"),
        pytest.param("3", None, id="a position behind the last choice"),
        pytest.param("purple", None, id="another text"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_the_gold_answer_of_a_published_sample_is_one_of_its_choices(target, gold):
    choices = ("blue", "red", "green")
    arguments = [["Which colour?", f" {choice}"] for choice in choices]
    sample = read_line({"arguments": arguments, "target": target}, openllm.BENCHMARKS[0])
    assert sample.choices == list(choices)
    assert sample.gold == gold


def test_reproduced_is_near_or_an_interval_with_zero():
    item = ReproducedBenchmark("BBH", 100, 0.5, 20.0, 0.5, None, 0.504, 20.4, 3, 2, 0)
    assert (item.is_near, item.contains_zero, item.reproduced) == (True, None, True)
    item = replace(item, raw=0.52, low=-0.01, high=0.05)
    assert (item.is_near, item.contains_zero, item.reproduced) == (False, True, True)
    item = replace(item, low=0.01)
    assert item.reproduced is False
    assert replace(item, reasons=["partial"]).reproduced is None
    assert ReproducedBenchmark(*["x", 0, *[None] * 6, 0, 0, 0]).reproduced is None


@pytest.mark.slow  # scores through lm-eval
def test_math_has_three_numbers(board, capsys):
    write_board(board, ["math", "musr"])
    words = ("--published", f"openllm:{MODEL}", "--set", "openllm.details=details")
    _, items = reproduced(capsys, *words)
    math = items["MATH Lvl 5"]
    three = (math["published_raw"], math["verdict_mean"], math["rescored_mean"])
    assert three == (0.5, 0.5, 1.0)
    assert math["lost"] == 7, "samples are compared by today's scorer"
    assert items["MUSR"]["rescored_mean"] is None
