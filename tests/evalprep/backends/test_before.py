"""What must be there before a command is started is said when it is prepared."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from evalprep.backends import BACKENDS, Machine, Request, find_backend
from evalprep.config.schema import Core, Target
from tests import PROJECT_ROOT


def asked(backend, **changes):
    core = Core(model_name="org/model", tasks=("a",), backend=backend, **changes)
    return BACKENDS[backend].asks_for(core, Request(model="org/model"))


def test_one_server_on_two_nodes():
    target = Target(gpus=8, nodes=2)
    core = Core(
        model_name="org/model",
        tasks=("a",),
        target=target,
        data_parallel_size=4,
        tensor_parallel_size=4,
        model_args={"base_url": "http://gpu7:8123/v1/completions"},
    )
    request = Request(model="org/model", machine=Machine(nodes=2))
    first, second = BACKENDS["vllm-server"].asks_for(core, request)
    assert first.startswith("a server must be running first, on node 1 of 2: vllm serve org/model ")
    assert second.startswith(
        "a server must be running first, on node 2 of 2: vllm serve org/model "
    )
    first, second = (shlex.split(note)[2:] for note in (first, second))
    shared = ["--tensor-parallel-size", "4", "--data-parallel-size", "4"]
    shared += ["--data-parallel-size-local", "2"]
    meeting = ["--data-parallel-address", "gpu7", "--data-parallel-rpc-port", "29550"]
    assert first[-10:] == [*shared, *meeting]
    assert second[-12:] == [*shared, "--data-parallel-start-rank", "2", *meeting]
    assert "--headless" not in first
    assert "--headless" in second
    assert "--port" in first
    assert "--port" not in second


def words(notes):
    (note,) = notes
    said, command = note.split(": ", 1)
    assert said == "a server must be running first"
    return shlex.split(command)


def test_the_server_has_the_settings_of_the_run():
    argv = words(
        asked(
            "vllm-server",
            model_revision="abc",
            tensor_parallel_size=2,
            max_model_len=512,
            dtype="float32",
            model_args={"pipeline_parallel_size": 3},
        )
    )
    assert argv[:3] == ["vllm", "serve", "org/model"]
    assert dict(zip(argv[3::2], argv[4::2], strict=True)) == {
        "--host": "127.0.0.1",
        "--port": "8000",
        "--revision": "abc",
        "--max-model-len": "512",
        "--dtype": "float32",
        "--generation-config": "vllm",
        "--tensor-parallel-size": "2",
        "--pipeline-parallel-size": "3",
    }


def test_it_listens_where_the_run_will_ask():
    argv = words(
        asked(
            "vllm-server",
            model_args={"base_url": "http://gpu7:8123/v1/completions", "model": "our name"},
        )
    )
    assert argv[3:9] == ["--host", "gpu7", "--port", "8123", "--served-model-name", "our name"]


@pytest.mark.parametrize(
    ("host", "set_for_cpu"), [("127.0.0.1", True), ("localhost", True), ("gpu7", False)]
)
def test_a_server_on_this_cpu_gets_what_it_needs_to_start_there(monkeypatch, host, set_for_cpu):
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    core = Core(
        model_name="org/model",
        tasks=("a",),
        model_args={"base_url": f"http://{host}:8000/v1/completions"},
    )
    machine = Machine(cpu=True, cache_gib=lambda _tokens, _dtype: 3)
    argv = words(
        BACKENDS["vllm-server"].asks_for(core, Request(model="org/model", machine=machine))
    )
    assert (argv[0] == "VLLM_CPU_KVCACHE_SPACE=3") == set_for_cpu
    assert ("--enforce-eager" in argv) == set_for_cpu
    assert argv[argv.index("--dtype") + 1] == ("float32" if set_for_cpu else "auto")
    assert ("0.2" in argv) == set_for_cpu


def test_a_missing_key_is_named_and_a_key_never_shown(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert asked("openai-chat-completions") == ["OPENAI_API_KEY must be set where the command runs"]
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    assert asked("openai-chat-completions") == []


@pytest.mark.parametrize(
    "backend", ["vllm", "hf", "dummy", "stored", "local-completions", "local-chat-completions"]
)
def test_others_need_nothing(backend):
    assert asked(backend) == []


def test_a_back_end_is_found_by_our_name_and_by_that_of_lm_eval():
    assert find_backend("vllm-server").name == "vllm-server"
    assert find_backend("sglang").adds_bos is False
    assert find_backend("nothing of the kind") is None
    assert find_backend(None) is None
    assert find_backend("") is None


def test_the_user_reads_it_when_she_prepares(tiny_project):
    done = subprocess.run(
        [sys.executable, "-m", "evalprep", "prepare", "--set", "backend=vllm-server", "--json"],
        cwd=tiny_project.parent,
        env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    (note,) = [note for note in json.loads(done.stdout)["notes"] if "server" in note]
    assert " vllm serve org/tiny --host 127.0.0.1 --port 8000 " in note
