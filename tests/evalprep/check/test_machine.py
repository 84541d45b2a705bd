"""Findings about the model, the machine and the command, on machines that the tests make up."""

import json

import pytest

from evalprep.check import Findings, RunSettings, machine
from evalprep.check.tree import FunctionRef, Leaf, TaskFile
from evalprep.model import destinations as destination

VLLM = {"backend": "vllm"}


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """A function from facts to a machine that has them, and an empty home folder."""
    monkeypatch.setattr(machine.Path, "home", lambda: tmp_path / "home")

    def make(gpus=(), missing=(), versions=None, free=2**40):
        given = {"lm_eval": "0.4.13", "antlr4-python3-runtime": "4.11.0", **(versions or {})}
        monkeypatch.setattr(destination, "gpu_names", lambda: tuple(gpus))
        monkeypatch.setattr(machine, "installed_version", lambda name: given.get(name) or "")
        monkeypatch.setattr(machine, "is_importable", lambda name: name not in missing)
        monkeypatch.setattr(
            machine.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free})
        )

    return make


def test_a_token_that_ray_left_is_told(made_up, monkeypatch, tmp_path):
    made_up(gpus=[H100, H100])
    monkeypatch.setattr(machine.Path, "home", lambda: tmp_path)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    settings = RunSettings.without_config(backend="vllm", data_parallel_size=2)
    (tmp_path / ".ray").mkdir()
    for content, mode, codes in (
        ("", None, []),
        ("token", None, ["EP728"]),
        ("token", "disabled", []),
    ):
        if content:
            (tmp_path / ".ray/auth_token").write_text(content)
        if mode:
            monkeypatch.setenv("RAY_AUTH_MODE", mode)
        findings = Findings()
        machine.check_machine([], settings, findings)
        assert [one.code for one in findings.sorted() if one.code == "EP728"] == codes


def leaf(path, **config):
    return Leaf(
        "own",
        TaskFile(path / "task.yaml", {"task": "own"}),
        {"output_type": "generate_until", **config},
    )


H100 = "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    ("settings", "facts", "code"),
    [
        pytest.param({**VLLM, "device": "gpu"}, {}, "EP730", id="no GPU"),
        pytest.param(
            {**VLLM, "tensor_parallel_size": 2}, {"gpus": [H100]}, "EP703", id="one of two"
        ),
        pytest.param(
            {**VLLM, "tensor_parallel_size": 2, "model_args": {"pipeline_parallel_size": 2}},
            {"gpus": [H100] * 2},
            "EP703",
            id="two of four, by pipeline",
        ),
        pytest.param(
            {**VLLM, "tensor_parallel_size": 2}, {"gpus": [H100] * 2}, "", id="two of two"
        ),
        pytest.param(
            {**VLLM, "data_parallel_size": 2},
            {"gpus": [H100] * 2, "missing": ["ray"]},
            "EP718",
            id="no ray",
        ),
        pytest.param(
            {**VLLM, "data_parallel_size": 2, "device": "auto"},
            {},
            "EP730",
            id="copies without GPUs: for another machine",
        ),
        pytest.param(
            {**VLLM, "data_parallel_size": 2, "device": "cpu"}, {}, "EP727", id="copies on a CPU"
        ),
        pytest.param(
            {**VLLM, "data_parallel_size": 2, "device": "auto"},
            {"gpus": [H100] * 2},
            "",
            id="copies with GPUs",
        ),
        pytest.param(
            {**VLLM, "data_parallel_size": 2, "model_args": {"enable_expert_parallel": True}},
            {"gpus": [H100] * 2},
            "EP734",
            id="experts of copies",
        ),
        pytest.param(
            {**VLLM, "tensor_parallel_size": 2, "model_args": {"enable_expert_parallel": True}},
            {"gpus": [H100] * 2},
            "",
            id="experts of one copy",
        ),
        pytest.param(
            {**VLLM, "output_path": ".", "ours": True}, {"free": 2**20}, "EP704", id="full disk"
        ),
        pytest.param(VLLM, {"missing": ["vllm"]}, "EP712", id="no vllm"),
        pytest.param(
            {"backend": "hf"}, {"missing": ["transformers"]}, "EP712", id="no transformers"
        ),
        pytest.param(VLLM, {"versions": {"lm_eval": "0.4.9"}}, "EP707", id="old lm-eval"),
        pytest.param(VLLM, {"versions": {"lm_eval": None}}, "EP707", id="no lm-eval"),
        pytest.param(
            VLLM, {"versions": {"antlr4-python3-runtime": "4.9.3"}}, "EP706", id="another antlr"
        ),
        pytest.param({**VLLM, "gen_kwargs": {"temperature": 0.6}}, {}, "EP714", id="overruled"),
        pytest.param({**VLLM, "num_fewshot": 5}, {}, "EP723", id="shots without effect"),
        pytest.param({"backend": "litellm-chat"}, {}, "EP722", id="a chat interface"),
        pytest.param({"backend": "anthropic-chat"}, {}, "EP722", id="another"),
        pytest.param(VLLM, {}, "", id="nothing"),
    ],
)
def test_machine_and_command(settings, facts, code, made_up, tmp_path):
    made_up(**facts)
    given = dict(settings)
    if "output_path" in given:
        given["output_path"] = tmp_path
    findings = Findings()
    leaves = [
        leaf(
            tmp_path,
            num_fewshot=0,
            process_results=FunctionRef("custom_metrics.math.score.results", tmp_path),
        ),
        leaf(tmp_path, output_type="multiple_choice"),
    ]
    machine.check_machine(leaves, RunSettings.without_config(**given), findings)
    assert {one.code for one in findings.sorted()} == ({code} if code else set())


@pytest.mark.parametrize(("backend", "codes"), [("vllm", ["EP732"]), ("hf", [])])
def test_a_variable_that_vllm_dies_of(backend, codes, made_up, monkeypatch):
    """tqdm takes `0` for a yes."""
    made_up()
    monkeypatch.setenv("TQDM_DISABLE", "0")
    findings = Findings()
    machine.check_machine([], RunSettings.without_config(backend=backend), findings)
    assert [one.code for one in findings.sorted()] == codes


SHAPE = {"num_hidden_layers": 2, "hidden_size": 96, "num_attention_heads": 12, "vocab_size": 100}


@pytest.mark.parametrize(
    ("kv_heads", "gpus", "fits"),
    [(12, 5, False), (12, 4, True), (6, 4, False), (2, 4, True), (3, 6, True), (1, 12, True)],
)
def test_heads_are_divided_among_the_gpus(kv_heads, gpus, fits, made_up, tmp_path):
    made_up()
    (tmp_path / "config.json").write_text(json.dumps({**SHAPE, "num_key_value_heads": kv_heads}))
    findings = Findings()
    machine.check_model(
        RunSettings.without_config(model=str(tmp_path), backend="vllm", tensor_parallel_size=gpus),
        findings,
    )
    assert [one.code for one in findings.sorted()] == ([] if fits else ["EP710"])


def test_memory_is_part_of_every_check(made_up, tmp_path):
    large = {
        **SHAPE,
        "num_hidden_layers": 80,
        "hidden_size": 8192,
        "num_attention_heads": 64,
        "intermediate_size": 28672,
    }
    (tmp_path / "config.json").write_text(json.dumps(large))
    for gpus, codes in (((H100,), ["EP713"]), ((), []), (("some other GPU",), [])):
        made_up(gpus=gpus)
        findings = Findings()
        machine.check_model(
            RunSettings.without_config(model=str(tmp_path), backend="vllm", max_model_len=4096),
            findings,
        )
        assert [one.code for one in findings.sorted()] == codes


def model_findings(model, **settings):
    findings = Findings()
    machine.check_model(RunSettings.without_config(model=str(model), **settings), findings)
    return [(finding.code, finding.fix) for finding in findings.sorted()]


def test_a_gguf_file_is_named_as_the_back_ends_take_it(made_up, tmp_path):
    made_up()
    weights = tmp_path / "m.gguf"
    weights.touch()
    for model in (weights, tmp_path):
        ((code, fix),) = model_findings(model, backend="vllm")
        assert code == "EP702"
        assert f"model_name: {tmp_path} and model_args: {{gguf_file: m.gguf}}" in fix
    named = {"gguf_file": "m.gguf"}
    assert model_findings(tmp_path, backend="hf", model_args=named) == []


def test_a_file_is_no_model(made_up, tmp_path):
    made_up()
    config = tmp_path / "config.json"
    config.write_text("{}")
    ((code, fix),) = model_findings(config, backend="hf")
    assert (code, fix) == ("EP702", "name the folder that holds its config.json")


@pytest.mark.parametrize(
    ("nltk", "linked", "codes"),
    [
        pytest.param("3.10.4", False, [], id="files of their own"),
        pytest.param("3.10.4", True, ["EP705"], id="hard links"),
        pytest.param("3.9.1", True, [], id="hard links and an NLTK that opens them"),
        pytest.param(None, True, [], id="no NLTK"),
    ],
)
def test_sentence_data_that_nltk_refuses_to_open(
    nltk, linked, codes, made_up, tmp_path, monkeypatch
):
    made_up(versions={"nltk": nltk})
    data = tmp_path / "nltk_data" / "tokenizers" / "punkt_tab"
    (data / "english").mkdir(parents=True)
    file = data / "english" / "collocations.tab"
    file.write_text("a\tb\n")
    if linked:
        (tmp_path / "another name").hardlink_to(file)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk_data"))
    (tmp_path / "instructions_util.py").touch()
    splitting = leaf(tmp_path, process_results=FunctionRef("utils.process_results", tmp_path))
    findings = Findings()
    machine.check_machine([splitting], RunSettings.without_config(), findings)
    of_data = [finding for finding in findings.sorted() if finding.code == "EP705"]
    assert [finding.code for finding in of_data] == codes
    assert all("hard links" in finding.what for finding in of_data)
