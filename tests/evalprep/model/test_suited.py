"""Which back end works here: asked as the set-up asks, in a Python with and without vLLM."""

import json
import os
import subprocess
import sys

import pytest

from evalprep import __version__
from evalprep.cli import main
from evalprep.model.hardware import gpu_names
from tests import PROJECT_ROOT


def suited(*options, **more):
    """What the module prints; `-S` hides every installed package, vLLM among them."""
    env = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT), **more}
    command = [sys.executable, *options, "-m", "evalprep.model.suited"]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def test_a_machine_with_a_gpu_and_one_without(tmp_path, monkeypatch):
    assert suited("-S", CUDA_VISIBLE_DEVICES="-1") == "hf"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho NVIDIA H100\n")
    tool.chmod(0o755)
    assert suited("-S", PATH=f"{tmp_path}:/usr/bin:/bin") == "vllm"


@pytest.mark.parametrize("backend", ["hf", "vllm"])
def test_init_says_what_to_install_without_a_gpu(tmp_path, capsys, backend):
    """Whatever is written agrees: config, requirements, words on what pip would fetch."""
    assert main(["init", str(tmp_path / "p"), "--backend", backend, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["backend"] == backend
    config, requirements = (
        (tmp_path / "p" / name).read_text() for name in ("eval_config.yaml", "requirements.txt")
    )
    assert f"\nbackend: {backend} " in config
    assert f"[{backend}]" in requirements.splitlines()[-1]
    if backend == "vllm" and not gpu_names():
        assert "This is the CUDA build of vLLM" in requirements


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, "evalprep[hf]=={version}"),
        ({"url": "file:///w/evalprep-0.1.0.whl", "archive_info": {}}, "evalprep[hf] @ {url}"),
        ({"url": "file:///a%20b", "dir_info": {"editable": True}}, "-e {url}[hf]"),
        (
            {"url": "https://example.org/e.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "evalprep[hf] @ git+{url}@abc",
        ),
    ],
    ids=["an index", "a wheel", "a clone", "a repository"],
)
def test_requirements_name_where_evalprep_came_from(tmp_path, monkeypatch, origin, line):
    """pip then installs the same evalprep, which may be in no index."""
    installed = tmp_path / "site/evalprep-0.1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: evalprep\nVersion: 0.1.0\n")
    if origin:
        (installed / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert main(["init", str(tmp_path / "p"), "--backend", "hf"]) == 0
    last = (tmp_path / "p/requirements.txt").read_text().splitlines()[-1]
    assert last == line.format(version=__version__, url=(origin or {}).get("url"))


def test_init_takes_the_back_end_that_works_here(tmp_path, capsys):
    assert main(["init", str(tmp_path / "p")]) == 0
    found = suited()
    assert f"\nbackend: {found}, " in capsys.readouterr().out
    assert f"\nbackend: {found} " in (tmp_path / "p/eval_config.yaml").read_text()


def test_the_first_config_has_five_keys_and_those_of_the_demo(tmp_path):
    assert main(["init", str(tmp_path / "p"), "--model", "org/model", "--backend", "hf"]) == 0
    text = (tmp_path / "p/eval_config.yaml").read_text(encoding="utf-8")
    first, demo = text.split("# The data of the demo.")
    keys = [line.partition(":")[0] for line in first.splitlines() if line[:1].isalpha()]
    assert keys == ["model_name", "tasks", "backend", "limit", "output_path"]
    assert "docs/config.md" in first
    assert all("#" in line for line in first.splitlines() if line)
    assert 'model_name: "org/model"' in first
    assert "max_model_len" in demo
