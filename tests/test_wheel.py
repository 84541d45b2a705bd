"""The wheel alone is enough: packs, demo data and templates come along, and an empty folder becomes a project."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import PROJECT_ROOT

pytestmark = pytest.mark.slow


def call(*arguments, cwd, **env):
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**kept, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder that holds what the wheel holds, built from the files of the project alone."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("evalprep", "custom_metrics", "task_templates"):
        shutil.copytree(
            PROJECT_ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in (
        "pyproject.toml",
        "setup.py",
        "MANIFEST.in",
        "requirements.txt",
        "README.md",
        "LICENSE",
    ):
        shutil.copyfile(PROJECT_ROOT / name, source / name)
    shutil.copyfile(PROJECT_ROOT / "eval_config.yaml", source / "eval_config.yaml")
    call(
        "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", folder, source, cwd=folder
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_an_empty_folder_becomes_a_project(installed, tmp_path):
    env = {"PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1"}
    where = call("-c", "import evalprep; print(evalprep.__file__)", cwd=tmp_path, **env)
    assert where.startswith(str(installed))
    assert "evalprep run" in call("-m", "evalprep", "init", cwd=tmp_path, **env)
    assert {path.name for path in tmp_path.iterdir()} == {
        "eval_config.yaml",
        "requirements.txt",
        "QUICKSTART.md",
        "schemas",
    }
    assert "evalprep[" in (tmp_path / "requirements.txt").read_text()
    listed = call("-m", "evalprep", "list", cwd=tmp_path, **env)
    for pack in ("meta", "science", "unlearning"):
        assert f"{pack}: " in listed
    command = call(
        "-m", "evalprep", "prepare", "--quiet", "--set", "backend=dummy", cwd=tmp_path, **env
    )
    assert "--tasks meta_instruct" in command
    assert str(tmp_path / "work_dir") in command
    assert (tmp_path / "work_dir/meta/meta_math.yaml").is_file()


def test_the_quick_start_ends_with_a_report(installed, tmp_path):
    """Its commands in their order; lm-eval's dummy answers in place of the model."""
    programs = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1", "PATH": programs}
    evalprep = tmp_path / "bin/evalprep"
    evalprep.parent.mkdir()
    evalprep.write_text(f'#!/bin/sh\nexec {sys.executable} -m evalprep "$@"\n')
    evalprep.chmod(0o755)
    project = tmp_path / "project"
    call("-m", "evalprep", "init", project, cwd=tmp_path, **env)
    config = project / "eval_config.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(re.sub(r"(?m)^backend: \w+", "backend: dummy", text), encoding="utf-8")
    quick = (
        (project / "QUICKSTART.md")
        .read_text(encoding="utf-8")
        .split("```sh\n")[2]
        .partition("```")[0]
    )
    steps = [line.partition("#")[0].strip() for line in quick.splitlines()]
    assert steps[0] == "evalprep prepare"
    for step in steps:
        kept = {**os.environ, **env}
        done = subprocess.run(
            step,
            shell=True,
            cwd=project,
            env=kept,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode in {0, 1, 3}, (
            step,
            done.stdout[-1500:],
            done.stderr[-3000:],
        )  # the dummy is worse
        assert "Traceback" not in done.stderr
    assert list(project.glob("eval_results/**/report.html"))


def test_a_new_pack_goes_beside_the_config(installed, tmp_path):
    env = {"PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1"}
    (tmp_path / "my.csv").write_text("country,capital\nFrance,Paris\n")
    call("-m", "evalprep", "init", cwd=tmp_path, **env)
    arguments = ["--data", "my.csv", "--prompt", "Capital of {country}?", "--target", "capital"]
    said = call("-m", "evalprep", "new-pack", "mine", *arguments, cwd=tmp_path, **env)
    assert "wrote packs/mine\n" in said
    assert (tmp_path / "packs/mine/pack.yaml").is_file()
    settings = ["--set", "tasks=mine_all", "--set", "template_dir=packs", "--set", "backend=dummy"]
    assert "--tasks mine_all" in call(
        "-m", "evalprep", "prepare", "--quiet", *settings, cwd=tmp_path, **env
    )


def test_init_writes_nothing_over_what_is_there(tmp_path):
    (tmp_path / "requirements.txt").write_text("mine\n")
    done = subprocess.run(
        [sys.executable, "-m", "evalprep", "init", str(tmp_path)],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["requirements.txt"]
