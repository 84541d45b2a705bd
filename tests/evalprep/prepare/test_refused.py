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


def test_a_laptop_prepares_for_the_cluster(tiny_project, capsys, monkeypatch):
    """No GPU and no model folder here: both are notes, and the command is the cluster's."""
    monkeypatch.setattr("evalprep.check.machine.gpu_names", tuple)
    monkeypatch.setattr("evalprep.prepare.commands.gpu_names", tuple)
    there = {"backend": "vllm", "device": "gpu", "model_name": "/cluster/models/llama", "data_parallel_size": 8}
    config = yaml.safe_load(tiny_project.read_text()) | there
    tiny_project.write_text(yaml.safe_dump(config))
    assert main(["prepare", "--config_path", str(tiny_project)]) == 0
    out, told = capsys.readouterr()
    assert "pretrained=/cluster/models/llama" in out
    assert "data_parallel_size=8" in out
    assert "enforce_eager" not in out
    assert "EP730" in told
