"""A model that is loaded by code beside its weights is refused before the run is."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.test_outputs import CONFIG

SHAPE = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 16}
OWN = {"model_type": "ours_7", "auto_map": {"AutoModelForCausalLM": "modeling_ours.OursForLM"}}


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """A function from a model's config.json and model_args to the findings of `check`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALPREP_QUICK_CHECK", "1")
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1 + 1 =", "target": "2", "sample_id": "a"}\n')
    (tmp_path / "model").mkdir()

    def check(config, args="", backend="hf"):
        (tmp_path / "model" / "config.json").write_text(json.dumps(SHAPE | config))
        text = CONFIG.replace("model_name: none", "model_name: model")
        (tmp_path / "eval_config.yaml").write_text(text.replace("dummy", backend) + args)
        code = main(["check", "--json", "--depth", "static"])
        findings = json.loads(capsys.readouterr().out)["findings"]
        return code, [entry for entry in findings if entry["code"] == "EP735"]

    return check


@pytest.mark.parametrize("backend", ["hf", "vllm"])
def test_code_of_the_model_is_named_with_the_key_that_allows_it(checked, backend):
    code, findings = checked(OWN, backend=backend)
    assert code == 2
    assert "modeling_ours.py" in findings[0]["what"]
    assert "trust_remote_code: true" in findings[0]["fix"]


@pytest.mark.parametrize(
    ("config", "args"),
    [
        pytest.param(OWN, "model_args: {trust_remote_code: true}\n", id="allowed"),
        pytest.param({**OWN, "model_type": "llama"}, "", id="known to transformers"),
        pytest.param({"model_type": "llama"}, "", id="no code"),
        pytest.param({**OWN, "auto_map": ["x"]}, "", id="a damaged entry"),
    ],
)
def test_other_models_pass(checked, config, args):
    assert checked(config, args)[1] == []


def test_a_server_loads_its_model_itself(checked):
    args = "model_args: {base_url: 'http://127.0.0.1:9/v1/completions'}\n"
    assert checked(OWN, args, backend="local-completions")[1] == []
