"""Retain logs that lie on the hub, as OpenUnlearning publishes them: fetched once, found again offline."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from evalprep.cli import main
from evalprep.score import reference
from tests import PROJECT_ROOT
from tests.evalprep.data.mirror import hub

ROWS = 12
PLACE = "hub:org/eval/tofu_model_retain90"


def log(shift):
    rows = {str(at): {"score": (at + 1 + shift) / (ROWS + 4)} for at in range(ROWS)}
    mean = sum(row["score"] for row in rows.values()) / ROWS
    return json.dumps({"forget_truth_ratio": {"agg_value": mean, "value_by_index": rows}})


@pytest.fixture
def score(tmp_path):
    for folder, shift in (
        ("served/eval/tofu_model_retain90", 0),
        ("saves/tofu_model_npo/evals", 3),
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "TOFU_EVAL.json").write_text(log(shift))
    (tmp_path / "served" / "eval" / "README.md").write_text("logs\n")

    def call(reference, **env):
        command = [
            sys.executable,
            "-m",
            "evalprep",
            "score",
            "saves/tofu_model_npo/evals",
            "--json",
        ]
        return subprocess.run(
            [*command, "--reference", reference],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)} | env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


def quality(done):
    assert done.returncode == 0, done.stderr
    (found,) = [
        score for score in json.loads(done.stdout)["suite"] if score["name"] == "forget_quality"
    ]
    return found["value"]


@pytest.mark.slow  # imports the harness
def test_a_log_of_the_hub_is_a_reference(score, tmp_path):
    here = quality(score("served/eval/tofu_model_retain90"))
    assert 0 < here < 1
    with hub(tmp_path / "served", tmp_path) as (handler, env):
        assert quality(score(PLACE, **env)) == here
        assert any("TOFU_EVAL.json" in path for path in handler.log)
        asked = len(handler.log)
        assert quality(score(PLACE, **env | {"HF_HUB_OFFLINE": "1"})) == here
        absent = score(f"{PLACE}x", **env | {"HF_HUB_OFFLINE": "1"})
        assert (absent.returncode, len(handler.log)) == (2, asked), "offline asks nobody"
        assert (
            "org/eval has no tofu_model_retain90x in the hub cache, and HF_HUB_OFFLINE is set"
            in absent.stdout
        )
        for wrong in (
            f"{PLACE}x",
            "hub:org/nothing/retain",
            "hub:org/eval",
            "hub:org/eval/../x",
            "hub:org/eval/*",
        ):
            done = score(wrong, **env)
            assert done.returncode == 2
            assert "Traceback" not in done.stderr + done.stdout
            assert f"--reference {wrong}" in done.stdout


def test_a_misspelt_path_is_not_asked_for_on_the_hub(score, tmp_path):
    with hub(tmp_path / "served", tmp_path) as (handler, env):
        assert score("org/eval/tofu_model_retain90", **env).returncode == 2
        assert handler.log == []


def test_a_reference_on_the_hub_that_tasks_name_is_a_row_of_the_leaderboard(tmp_path, monkeypatch):
    absent = str(tmp_path / "absent")
    own = frozenset({PLACE, str(tmp_path), absent})
    monkeypatch.setattr(reference, "_own_references", lambda _run: own)

    def runs(place):
        return [
            SimpleNamespace(
                tasks={"tofu_forget_lp": SimpleNamespace(metadata={"reference": place})}
            )
        ]

    def is_opened(place):
        (named,) = reference.references_named(runs(place))
        return reference.may_be_opened(named, runs(place))

    assert is_opened(PLACE)
    assert is_opened(str(tmp_path))
    assert not is_opened(absent)
    monkeypatch.setattr(reference, "_own_references", lambda _run: frozenset())
    assert not is_opened(PLACE)


def test_what_score_wrote_beside_a_log_is_no_second_log(tmp_path, capsys):
    place = tmp_path / "saves" / "npo" / "evals"
    place.mkdir(parents=True)
    (place / "TOFU_EVAL.json").write_text(log(3))
    for _ in range(2):
        assert main(["score", str(place.parent), "--json"]) == 0
        assert isinstance(json.loads(capsys.readouterr().out), dict)
