"""The printed command with two copies of the model: real Ray workers, on a CPU with two pretended GPUs."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import yaml

from tests.evalprep.tiny_project import tiny_project
from tests.packs.meta.test_runs import SAYS, newest_results, prepare

__all__ = ["tiny_project"]

pytestmark = pytest.mark.slow
CPU_SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "HF_HUB_OFFLINE": "1",
    "RAY_AUTH_MODE": "disabled",  # whatever token an earlier run left in the home folder
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def ray_head():
    """A Ray node of our own on 127.0.0.1; its processes form one group, which is ended as a whole."""
    program = Path(sys.executable).with_name("ray")
    if not program.exists():
        pytest.skip("ray is not installed")
    port = free_port()
    # pytest's own folders are too deep for the socket names that Ray puts below this one.
    folder = tempfile.mkdtemp(prefix="ray-")
    # Workers inherit the environment of this command, not that of lm_eval.
    head = subprocess.Popen(
        [
            str(program),
            "start",
            "--head",
            "--block",
            "--node-ip-address=127.0.0.1",
            f"--port={port}",
            "--num-gpus=2",
            "--num-cpus=2",
            "--include-dashboard=false",
            "--disable-usage-stats",
            "--object-store-memory=100000000",
            f"--temp-dir={folder}",
        ],
        env={**os.environ, **CPU_SETTINGS},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and head.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.5)
    yield f"127.0.0.1:{port}"
    os.killpg(head.pid, signal.SIGTERM)
    try:
        head.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()
    shutil.rmtree(folder, ignore_errors=True)


def two_copies(tiny_project, tiny_model, ray_head, monkeypatch, tasks):
    """What prepares a run of two copies prints."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv(
        "RAY_ADDRESS", ray_head
    )  # without it there is no GPU to wait for, and nothing is prepared
    config = yaml.safe_load(tiny_project.read_text())
    config |= {
        "model_name": str(tiny_model(SAYS)),
        "backend": "vllm",
        "dtype": "float32",
        "max_model_len": 512,
        "data_parallel_size": 2,
        "tasks": tasks,
        "meta": {"max_gen_toks": {task: 32 + 8 * at for at, task in enumerate(tasks)}},
    }
    tiny_project.write_text(yaml.safe_dump(config))
    prepared = prepare(tiny_project)
    assert "data_parallel_size=2" in prepared.stdout, prepared.stderr
    return prepared.stdout


def holds_known_scores(home):
    results, folder = newest_results(home)
    assert results["results"]["meta_mmlu_pro_instruct"]["exact_match,flexible-extract"] == 0.25
    file = next(folder.glob("samples_meta_mmlu_pro_instruct*"))
    samples = [json.loads(line) for line in file.open()]
    return [
        sample["doc"]["target"] for sample in samples if sample["filter"] == "flexible-extract"
    ] == ["A", "B", "C", "D"] and all(sample["resps"] == [[SAYS]] for sample in samples)


def test_two_copies_give_the_known_score_in_order(tiny_project, tiny_model, ray_head, monkeypatch):
    tasks = ["meta_mmlu_pro_instruct"]
    command = two_copies(tiny_project, tiny_model, ray_head, monkeypatch, tasks)
    ran = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert holds_known_scores(tiny_project.parent / "results")


def test_copies_are_loaded_once_for_all_requests(tiny_project, tiny_model, ray_head, monkeypatch):
    """By the started command and by `evalprep run`: the first one has two kinds of generation."""
    tasks = ["meta_mmlu_pro_instruct", "meta_math"]
    two_copies(tiny_project, tiny_model, ray_head, monkeypatch, tasks)
    work_dir = tiny_project.parent / "work_dir"
    started = ["sh", str(work_dir / "command.sh")]
    program = [sys.executable, "-m", "evalprep", "run", str(work_dir), "--restart"]
    for words in (started, program):
        ran = subprocess.run(
            words, capture_output=True, text=True, timeout=400, check=False, cwd=work_dir.parent
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
        log = ran.stdout + ran.stderr
        for file in (tiny_project.parent / "results").glob(".evalprep/runs/*/log.txt"):
            log += file.read_text()
        assert len(re.findall("Initializing a V1 LLM engine", log)) == 2, log[-3000:]
        assert holds_known_scores(tiny_project.parent / "results")
