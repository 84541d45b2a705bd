"""LoRA adapters in a config: the base model, the argument of the back end, what is refused."""

import json

import pytest
import yaml

from evalprep.cli import main
from evalprep.config import core_of, load_config
from evalprep.config.models import short_names
from evalprep.errors import BadInput

BASE = "org/base-model"


def adapter(folder, *, base=BASE, rank=8):
    folder.mkdir(parents=True)
    content = {"peft_type": "LORA", "r": rank}
    if base:
        content["base_model_name_or_path"] = base
    (folder / "adapter_config.json").write_text(json.dumps(content))
    (folder / "adapter_model.safetensors").write_bytes(b"")
    return folder


def write(home, **keys):
    path = home / "eval_config.yaml"
    path.write_text(yaml.safe_dump({"tasks": "arc_easy", **keys}))
    return path


def core(home, **keys):
    return load_config(write(home, **keys))[0].core


@pytest.mark.parametrize(
    ("backend", "rank", "arguments"),
    [
        ("hf", 64, {"peft": "lora"}),
        ("vllm", 16, {"lora_local_path": "lora"}),
        ("vllm", 40, {"lora_local_path": "lora", "max_lora_rank": 64}),
    ],
)
def test_the_back_end_gets_the_adapter_and_its_base_model(tmp_path, backend, rank, arguments):
    folder = adapter(tmp_path / "lora", rank=rank)
    known = core(tmp_path, adapter="lora", backend=backend)
    assert known.model_name == BASE
    expected = {
        name: str(folder) if value == "lora" else value for name, value in arguments.items()
    }
    assert known.model_args == expected


def test_a_stated_base_model_counts(tmp_path):
    adapter(tmp_path / "lora", base="")
    assert core(tmp_path, adapter="lora", model_name="org/other").model_name == "org/other"


def test_paths_of_adapters_among_the_arguments_are_absolute(tmp_path):
    adapter(tmp_path / "lora")
    known = core(tmp_path, model_name=BASE, backend="hf", model_args={"peft": "lora"})
    assert known.model_args == {"peft": str(tmp_path / "lora")}
    hub = core(tmp_path, model_name=BASE, backend="hf", model_args={"peft": "org/lora"})
    assert hub.model_args == {"peft": "org/lora"}


def test_a_pattern_gives_every_adapter_with_a_name_of_its_own(tmp_path):
    for step in (10, 9):
        adapter(tmp_path / "runs" / f"checkpoint-{step}")
    known = core(tmp_path, models=[{"adapter": "runs/checkpoint-*"}], backend="hf")
    assert short_names(known.models) == ["checkpoint-9", "checkpoint-10"]
    assert [each.model_name for each in known.models] == [BASE, BASE]
    first = core_of(known, known.models[0])
    assert first.model_args == {"peft": str(tmp_path / "runs" / "checkpoint-9")}


@pytest.mark.parametrize(
    ("keys", "what", "fix"),
    [
        ({"model_name": "lora"}, f"holds an adapter alone.*base model {BASE}", "`adapter: lora`"),
        ({"models": ["lora", "org/m"]}, "holds an adapter alone", "adapter: "),
        ({"adapter": "unnamed"}, "base model of adapter unnamed is not known", "model_name"),
        ({"adapter": "./absent", "model_name": BASE}, "has no adapter_config.json", "training"),
        (
            {"adapter": "lora", "backend": "openai-chat-completions"},
            "openai-chat-completions loads no adapters",
            "merge",
        ),
        (
            {"model_name": BASE, "backend": "vllm", "model_args": {"load_in_4bit": True}},
            "the back end vllm has no argument load_in_4bit",
            "quantization: bitsandbytes",
        ),
        (
            {"model_name": BASE, "backend": "hf", "model_args": {"quantization": "awq"}},
            "the back end hf has no argument quantization",
            "load_in_4bit: true",
        ),
        (
            {"model_name": BASE, "backend": "vllm", "model_args": {"peft": "lora"}},
            "the back end vllm has no argument peft",
            "adapter: DIR",
        ),
    ],
)
def test_what_cannot_load_is_refused_with_what_to_write(tmp_path, keys, what, fix):
    adapter(tmp_path / "lora")
    adapter(tmp_path / "unnamed", base="")
    with pytest.raises(BadInput, match=what) as refused:
        core(tmp_path, **keys)
    assert any(fix in problem.fix for problem in refused.value.problems)


def test_the_command_names_the_adapter(tmp_path, capsys):
    folder = adapter(tmp_path / "lora")
    path = write(tmp_path, adapter="lora", backend="hf", device="cpu")
    assert main(["prepare", "--config_path", str(path)]) == 0
    command = capsys.readouterr().out
    assert f"pretrained={BASE}" in command
    assert f"peft={folder}" in command
