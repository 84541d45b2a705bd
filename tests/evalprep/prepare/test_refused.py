"""What would spoil a whole run is refused before the command is printed."""

import pytest
import yaml

from evalprep.cli import main

CHAT = {"base_url": "http://127.0.0.1:9/v1/chat/completions"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"apply_chat_template": True}, "hold the chat turns already"),
        ({"system_instruction": "Be kind."}, "before the chat turns"),
        ({"backend": "local-completions"}, "needs the address of the server"),
        ({"backend": "local-chat-completions", "model_args": CHAT}, "gives no raw prompts"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_it_is_told_with_its_line(tiny_project, capsys, change, said):
    config = yaml.safe_load(tiny_project.read_text()) | change
    tiny_project.write_text(yaml.safe_dump(config))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "eval_config.yaml" in told
    assert not (tiny_project.parent / "work_dir").exists()


NODES = {
    "backend": "vllm-server",
    "target": {"gpus": 2, "nodes": 2},
    "data_parallel_size": 4,
    "model_args": {"base_url": "http://gpu7:8000/v1/completions"},
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (NODES | {"model_args": {}}, "needs the address of its first node"),
        (NODES | {"data_parallel_size": 3}, "fix: set data_parallel_size to a multiple of 2"),
        (NODES | {"backend": "vllm", "model_args": {}}, "vllm prints a command for one node"),
        (NODES | {"tensor_parallel_size": 2}, "4 GPUs are asked for on each node of the server"),
        (
            {"backend": "vllm-server", "device": "cpu", "data_parallel_size": 4096},
            "the server's copies ask for 4096 cores",
        ),
    ],
)
def test_a_server_that_its_nodes_cannot_hold(tiny_project, capsys, change, said):
    config = yaml.safe_load(tiny_project.read_text()) | change
    tiny_project.write_text(yaml.safe_dump(config))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


COPIES = {"backend": "vllm-server", "device": "cpu", "data_parallel_size": 2}


@pytest.mark.parametrize(("layout", "code"), [(None, 2), ("auto", 2), ("nobind", 0), ("0|0", 0)])
def test_copies_take_the_cores_of_this_process_unless_they_share_them(
    tiny_project, capsys, monkeypatch, layout, code
):
    if layout is None:
        monkeypatch.delenv("VLLM_CPU_OMP_THREADS_BIND", raising=False)
    else:
        monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", layout)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {5})
    config = yaml.safe_load(tiny_project.read_text()) | COPIES
    tiny_project.write_text(yaml.safe_dump(config))
    assert main(["prepare", "--config_path", str(tiny_project)]) == code
    refusal = "ask for 2 cores; this process may use 1 core and no GPU"
    assert (refusal in " ".join(capsys.readouterr().err.split())) == (code == 2)


def test_a_server_on_two_nodes_is_printed_node_by_node(tiny_project, capsys):
    config = yaml.safe_load(tiny_project.read_text()) | NODES
    tiny_project.write_text(yaml.safe_dump(config))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 0
    out, err = capsys.readouterr()
    told = " ".join(err.split())
    assert "num_concurrent=128" in out
    assert "on node 1 of 2: vllm serve org/tiny --host gpu7 --port 8000 " in told
    assert "on node 2 of 2: vllm serve org/tiny --headless " in told


def test_a_laptop_prepares_for_the_cluster(tiny_project, capsys, monkeypatch):
    """No GPU and no model folder here: both are notes, and the command is the cluster's."""
    monkeypatch.setattr("evalprep.model.destinations.gpu_names", tuple)
    there = {
        "backend": "vllm",
        "device": "gpu",
        "model_name": "/cluster/models/llama",
        "data_parallel_size": 8,
    }
    config = yaml.safe_load(tiny_project.read_text()) | there
    tiny_project.write_text(yaml.safe_dump(config))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 0
    out, told = capsys.readouterr()
    assert "pretrained=/cluster/models/llama" in out
    assert "data_parallel_size=8" in out
    assert "enforce_eager" not in out
    assert "EP730" in told


BIG = {"backend": "vllm", "model_name": "meta-llama/Llama-3.1-405B", "data_parallel_size": 1}


@pytest.mark.parametrize(
    ("change", "said", "absent"),
    [
        (BIG, ["dtype=auto", "gpu_memory_utilization=0.9"], "enforce_eager"),
        (BIG | {"device": "cpu"}, ["enforce_eager=True"], "=0.9,"),
        (BIG | {"model_name": "org/some-0.5B"}, ["enforce_eager=True"], "=0.9,"),
        (BIG | {"model_name": "org/some-0.5B", "target": {"gpus": 1}}, ["=0.9,"], "enforce_eager"),
        (BIG | {"target": {"gpus": 0}}, ["enforce_eager=True"], "HF_HUB_OFFLINE"),
        (
            BIG | {"model_name": "/there/m", "target": {"gpus": 8}, "tensor_parallel_size": 8},
            ["=/there/m"],
            "./",
        ),
    ],
)
def test_a_command_is_for_the_machine_that_can_run_it(
    tiny_project, capsys, monkeypatch, change, said, absent
):
    monkeypatch.setattr("evalprep.model.destinations.gpu_names", tuple)
    tiny_project.write_text(yaml.safe_dump(yaml.safe_load(tiny_project.read_text()) | change))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 0
    out, told = capsys.readouterr()
    assert all(part in out for part in said)
    assert absent not in out
    if change == BIG:
        assert "this machine has" in told


LOGIN = {"backend": "vllm", "data_parallel_size": 1}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (LOGIN | {"data_parallel_size": 4}, "each of 4 copies of the model (data_parallel_size)"),
        (LOGIN | {"model_name": "meta-llama/Llama-3.1-8B-Instruct"}, "has 8 billion parameters"),
    ],
)
def test_a_login_node_prepares_for_gpus_with_one_note(
    tiny_project, capsys, monkeypatch, change, reason
):
    monkeypatch.setattr("evalprep.model.destinations.gpu_names", tuple)
    monkeypatch.setattr("evalprep.model.destinations.main_memory", lambda: 2**40)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    tiny_project.write_text(yaml.safe_dump(yaml.safe_load(tiny_project.read_text()) | change))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 0
    command, shown = capsys.readouterr()
    assert "gpu_memory_utilization=0.9" in command
    assert "enforce_eager" not in command
    assert shown.count("GPU") == shown.split("note: the command is for")[1].count("GPU")
    assert reason in shown
    assert "EP727" not in shown
    assert "EP730" not in shown


def test_a_small_model_and_ray_stay_on_this_machine(tiny_project, capsys, monkeypatch):
    monkeypatch.setattr("evalprep.model.destinations.gpu_names", tuple)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6391")
    change = LOGIN | {"data_parallel_size": 2, "model_name": "org/some-3B"}
    tiny_project.write_text(yaml.safe_dump(yaml.safe_load(tiny_project.read_text()) | change))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 0
    assert "enforce_eager=True" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"target": {"gpus": 2}, "tensor_parallel_size": 4}, "4 GPUs are asked for, there are 2"),
        ({"target": {"gpu_memory": 80}}, "target"),
        ({"path_prefix": {"data": "relative"}}, "is not an absolute path"),
    ],
)
def test_impossible_targets(tiny_project, capsys, change, said):
    tiny_project.write_text(
        yaml.safe_dump(yaml.safe_load(tiny_project.read_text()) | {"backend": "vllm"} | change)
    )
    assert main(["prepare", "--config_path", str(tiny_project)]) == 2
    assert said in capsys.readouterr().err


def test_a_folder_that_is_prepared_for_other_paths(tiny_project, capsys, monkeypatch, tmp_path):
    """Nothing of this machine's folder is left in it; moved there, lm-eval loads it."""
    here, there = tiny_project.parent, tmp_path / "cluster" / "me"
    change = {
        "path_prefix": {str(here): str(there)},
        "model_name": "models/m",
        "tasks": "meta_math",
    }
    tiny_project.write_text(yaml.safe_dump(yaml.safe_load(tiny_project.read_text()) | change))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 0
    out = capsys.readouterr().out
    assert "lm_eval --model dummy" in out.splitlines()[0]
    assert f"--include_path {there}/work_dir --output_path {there}/results" in out
    there.parent.mkdir()
    (here / "work_dir").rename(there.parent / "work_dir")
    there.mkdir()
    (there.parent / "work_dir").rename(there / "work_dir")
    for path in (there / "work_dir").rglob("*"):
        if path.suffix in {".yaml", ".sh"}:
            assert f"{here}/work_dir" not in path.read_text().replace(str(there), "")
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=str(there / "work_dir"), include_defaults=False)
    assert len(manager.load(["meta_math"])["tasks"]["meta_math"].eval_docs) == 3
    assert main(["status", "--left", "c1-plain", str(there / "work_dir")]) == 1


def test_what_check_calls_an_error_stops_the_paste(tiny_project, capsys, monkeypatch):
    """An edit that loses every answer: told before the command is printed, unless the user insists."""
    arguments = [
        "prepare",
        "--config_path",
        str(tiny_project),
        "--set",
        "tasks=meta_mmlu_pro_instruct",
    ]
    assert main(arguments) == 0
    task = tiny_project.parent / "work_dir/meta/meta_mmlu_pro_instruct.yaml"
    text = task.read_text()
    assert "function_extract" in text or "custom_metrics" in text
    edited = text.replace("doc_to_target: target", "doc_to_target: sample_id")
    assert edited != text
    task.write_text(edited)
    capsys.readouterr()
    monkeypatch.delenv("EVALPREP_QUICK_CHECK")
    assert main(arguments) == 2
    out, told = capsys.readouterr()
    assert out == ""
    assert "EP502" in told
    assert f"{task.parent.parent}" in told
    assert "--check off prepares it all the same" in told
    assert main([*arguments, "--check=off"]) == 0
    assert "lm_eval" in capsys.readouterr().out
