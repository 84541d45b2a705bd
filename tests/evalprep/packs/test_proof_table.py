"""A pack that is a pack.yaml with a CSV, outside of the project: prepared, run from elsewhere, scored, reported."""

import json
import os
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import yaml

from tests import PROJECT_ROOT, processes


@pytest.fixture
def rivers(tmp_path):
    """The pack in a folder of its own, and a config beside it."""
    shutil.copytree(PROJECT_ROOT / "tests/data/packs/rivers", tmp_path / "my packs/rivers")
    config = {
        "model_name": "a/b",
        "backend": "dummy",
        "tasks": "rivers_all",
        "template_dir": "my packs",
    }
    (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


def evalprep(*arguments, cwd):
    return processes.run(*arguments, cwd=cwd, check=True).stdout


def test_a_table_becomes_a_task(rivers):
    command = evalprep(
        "prepare", "--config_path", rivers / "eval_config.yaml", "--quiet", cwd=rivers / "elsewhere"
    )
    assert "--tasks rivers_all" in command
    rows = pq.read_table(rivers / "work_dir/rivers/data/rivers_mouth.parquet").to_pylist()
    assert [row["sample_id"] for row in rows] == ["r1", "r2", "r3", "r4"]
    assert rows[0]["prompt"] == "Name the sea, in one word.\nThe Nile flows into the"
    assert rows[2]["prompt"].startswith('He said "the sea".')


@pytest.mark.slow
@pytest.mark.usefixtures("quick_starts")
def test_the_printed_command_runs_from_elsewhere_and_is_scored_and_reported(rivers):
    elsewhere = rivers / "elsewhere"
    command = evalprep(
        "prepare", "--config_path", rivers / "eval_config.yaml", "--quiet", cwd=elsewhere
    )
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"  # noqa: PTH120
    done = subprocess.run(
        command,
        shell=True,
        cwd=elsewhere,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    shutil.rmtree(rivers / "work_dir")  # the run alone is enough from here on
    runs = rivers / "eval_results"
    scores = json.loads(
        evalprep("score", runs, "--template_dir", rivers / "my packs", "--json", cwd=elsewhere)
    )
    values = {score["name"]: score["value"] for score in scores["suite"]}
    assert values["total"] == 0.25  # the model that answers "lol" knows one river
    assert values["by_continent"] == pytest.approx((0 + 1 / 3) / 2)
    evalprep(
        "report",
        runs,
        "--template_dir",
        rivers / "my packs",
        "--out",
        rivers / "report",
        cwd=elsewhere,
    )
    page = "".join(file.read_text() for file in (rivers / "report").rglob("*.html"))
    assert "Mean over continents" in page
