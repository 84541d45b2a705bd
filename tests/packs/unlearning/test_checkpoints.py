"""Six checkpoints of a tiny model that is trained here: prepared in one config, run by lm_eval, one leaderboard."""

import csv
import os
import subprocess
import sys

import pytest

from evalprep.cli import main
from evalprep.packs.manifest import read_manifest
from evalprep.status.done import is_done
from tests import processes

from .conftest import DATA, ROOT, start, write_config
from .training import STEPS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}

    def call(*words):
        with (folder / "log.txt").open("w") as log:
            done = subprocess.run(
                [sys.executable, *words], env=environment, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT,
                timeout=1200, check=False,
            )  # fmt: skip
        assert done.returncode == 0, (folder / "log.txt").read_text()[-3000:]

    call("-m", "tests.packs.unlearning.training", str(folder / "models"), str(DATA / "tofu"))
    path = write_config(
        folder,
        None,
        models=["models/retain90", "models/full", "models/*/checkpoint-*"],
        backend="hf",
        limit=4,
        gen_kwargs={"max_gen_toks": 4},
        batch_size=64,
    )
    processes.run("prepare", "--config_path", path, "--quiet", check=True)
    for command in read_manifest(folder / "work_dir").commands:
        start(command, folder / "log.txt")
    return folder


def test_one_command_after_the_runs_gives_one_table(home, capsys):
    commands = read_manifest(home / "work_dir").commands
    assert len(commands) == 2 + STEPS
    assert all(is_done(home / "work_dir", command.name) for command in commands)
    (retain,) = (home / "eval_results").glob("*retain90")
    out = home / "leaderboard"
    assert (
        main(
            [
                "leaderboard",
                str(home / "eval_results"),
                "--reference",
                str(retain),
                "--out",
                str(out),
            ]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if not line.startswith("written: ")) <= 80
    assert f"graddiff, steps 1 to {STEPS}" in shown
    rows = list(csv.DictReader((out / "leaderboard.csv").open()))
    labels = [row["label"] for row in rows]
    assert [label.rpartition("/")[2] for label in labels] == [
        "retain90", "full", *(f"checkpoint-{step}" for step in range(1, STEPS + 1)),
    ]  # fmt: skip
    assert [row["step"] for row in rows] == ["", "", *map(str, range(1, STEPS + 1))]
    values = {
        name: [float(row[f"unlearning/{name}"]) for row in rows]
        for name in ("forget_quality", "forget_Q_A_Prob")
    }
    assert values["forget_quality"][0] == 1  # the retain model against itself
    recited = values["forget_Q_A_Prob"]
    assert recited[0] < recited[1]  # who learned the questions knows more of them than who did not
    assert recited[-1] < recited[1]  # and after the steps less than before
    assert all(row["unlearning/model_utility"] for row in rows)
    assert not any(row["may not be compared"] for row in rows)
    page = (out / "leaderboard.html").read_text()
    assert "Forget quality" in page
    assert page.count("<svg") > 3


def test_scores_of_several_runs_do_not_meet(home, capsys):
    places = sorted(str(path) for path in (home / "eval_results").iterdir() if path.is_dir())[:3]
    assert main(["score", *places, "--out", str(home / "scores")]) == 0
    capsys.readouterr()
    assert len(list((home / "scores").glob("*/TOFU_EVAL.json"))) == 3
    assert not list((home / "scores").glob("*.json"))
