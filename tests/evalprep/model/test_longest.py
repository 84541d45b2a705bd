"""The context that config.json states, as vLLM 0.32 derives it from the same files."""

import json

import pytest

from evalprep.model import context_of


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        pytest.param({"max_position_embeddings": 4096}, 4096, id="usual"),
        pytest.param({"n_positions": 1024, "max_seq_len": 512}, 512, id="the smallest of two"),
        pytest.param({"max_sequence_length": 1024}, 1024, id="rare name"),
        pytest.param(
            {"max_position_embeddings": 8192, "model_max_length": 131072}, 131072, id="stated apart"
        ),
        pytest.param({"max_position_embeddings": None}, None, id="null"),
        pytest.param({"max_position_embeddings": "4096"}, None, id="text"),
        pytest.param({"max_position_embeddings": True}, None, id="true"),
        pytest.param({"max_position_embeddings": 0}, None, id="zero"),
        pytest.param({"text_config": {"max_position_embeddings": 4096}}, 4096, id="of a text part"),
    ],
)
def test_context(config, tokens, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert context_of(tmp_path) == tokens


@pytest.mark.parametrize(
    ("scaling", "tokens"),
    [
        pytest.param({"rope_scaling": {"type": "linear", "factor": 4.0}}, 8192, id="linear"),
        pytest.param({"rope_scaling": {"rope_type": "dynamic", "factor": 2}}, 4096, id="dynamic"),
        pytest.param({"rope_parameters": {"rope_type": "linear", "factor": 2.0}}, 4096, id="new"),
        pytest.param(
            {
                "rope_scaling": {"rope_type": "linear", "factor": 4.0},
                "rope_parameters": {"rope_type": "linear", "factor": 2.0},
            },
            8192,
            id="the older key counts before the newer",
        ),
        pytest.param(
            {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0}}},
            16384,
            id="by kind of layer",
        ),
        pytest.param({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, 2048, id="yarn"),
        pytest.param({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 2048, id="llama3"),
        pytest.param({"rope_scaling": {"type": "su", "factor": 8.0}}, 2048, id="su"),
        pytest.param(
            {"model_type": "gemma3_text", "rope_scaling": {"type": "linear", "factor": 8.0}},
            2048,
            id="gemma3 states the stretched context",
        ),
        pytest.param({"rope_scaling": {"type": "linear"}}, 2048, id="no factor"),
        pytest.param({"rope_scaling": {"type": "linear", "factor": None}}, 2048, id="null"),
        pytest.param({"rope_scaling": {"type": "linear", "factor": "4"}}, 2048, id="text"),
        pytest.param({"rope_scaling": "linear"}, 2048, id="no mapping"),
        pytest.param({"rope_scaling": None}, 2048, id="none"),
    ],
)
def test_stretched_positions(scaling, tokens, tmp_path):
    config = {"max_position_embeddings": 2048, **scaling}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert context_of(tmp_path) == tokens
