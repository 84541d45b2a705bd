"""Sizes from config.json against the published numbers of parameters, and memory against what can be had by hand."""

import json

import pytest

from evalprep.check import Findings, RunSettings
from evalprep.check.memory import find_gpu, model_memory, report_memory
from evalprep.model.files import weight_file_bytes
from evalprep.model.shape import model_shape

LLAMA_8B = {
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
LLAMA_70B = {
    **LLAMA_8B,
    "num_hidden_layers": 80,
    "hidden_size": 8192,
    "num_attention_heads": 64,
    "intermediate_size": 28672,
}
MIXTRAL = {
    **LLAMA_8B,
    "model_type": "mixtral",
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
QWEN3_30B_A3B = {
    "model_type": "qwen3_moe",
    "num_hidden_layers": 48,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 151936,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "tie_word_embeddings": False,
    "sliding_window": None,
}
QWEN15_MOE = {
    "model_type": "qwen2_moe",
    "num_hidden_layers": 24,
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "vocab_size": 151936,
    "intermediate_size": 5632,
    "moe_intermediate_size": 1408,
    "shared_expert_intermediate_size": 5632,
    "num_experts": 60,
    "num_experts_per_tok": 4,
    "decoder_sparse_step": 1,
    "tie_word_embeddings": False,
    "sliding_window": 32768,
    "use_sliding_window": False,
}
DEEPSEEK_V2_LITE = {
    "model_type": "deepseek_v2",
    "num_hidden_layers": 27,
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "vocab_size": 102400,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "tie_word_embeddings": False,
}
GEMMA2_9B = {
    "model_type": "gemma2",
    "num_hidden_layers": 42,
    "hidden_size": 3584,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "vocab_size": 256000,
    "intermediate_size": 14336,
    "max_position_embeddings": 8192,
    "sliding_window": 4096,
}
GEMMA3_27B = {
    "model_type": "gemma3",
    "vocab_size": 262208,
    "text_config": {
        "model_type": "gemma3_text",
        "num_hidden_layers": 62,
        "hidden_size": 5376,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 128,
        "intermediate_size": 21504,
        "sliding_window": 1024,
    },
}


@pytest.fixture
def shape(tmp_path):
    def read(config):
        (tmp_path / "config.json").write_text(json.dumps(config))
        return model_shape(tmp_path)

    return read


# Numbers of parameters of the safetensors on the models' pages; active ones as the makers round
# them, in 10^9.
@pytest.mark.parametrize(
    ("config", "parameters", "active"),
    [
        pytest.param(LLAMA_8B, 8_030_261_248, 8.03, id="Llama-3.1-8B"),
        pytest.param(LLAMA_70B, 70_553_706_496, 70.55, id="Llama-3.1-70B"),
        pytest.param(MIXTRAL, 46_702_792_704, 12.9, id="Mixtral-8x7B"),
        pytest.param(QWEN3_30B_A3B, 30_532_122_624, 3.3, id="Qwen3-30B-A3B"),
        pytest.param(QWEN15_MOE, 14_315_784_192, 2.7, id="Qwen1.5-MoE-A2.7B"),
        pytest.param(DEEPSEEK_V2_LITE, 15_706_484_224, 2.6, id="DeepSeek-V2-Lite"),
        pytest.param(GEMMA2_9B, 9_241_705_984, 9.24, id="gemma-2-9b"),
        pytest.param(GEMMA3_27B, 27_009_346_304, 27.0, id="gemma-3-27b, its text part"),
    ],
)
def test_parameters_are_the_published_ones(config, parameters, active, shape):
    found = shape(config)
    assert found.parameters == pytest.approx(parameters, rel=1e-3)
    assert found.active / 1e9 == pytest.approx(active, rel=0.05)


@pytest.mark.parametrize(
    ("config", "tokens", "gib"),
    [
        # 2 * 32 layers * 8 heads * 128 * 2 bytes = 128 KiB per token
        pytest.param(LLAMA_8B, 8192, 1.0, id="Llama-3.1-8B"),
        pytest.param(LLAMA_70B, 131072, 40.0, id="Llama-3.1-70B"),
        # 336 KiB per token, half of the layers keep 4,096 of 8,192 tokens
        pytest.param(GEMMA2_9B, 8192, 2 * 42 * 8 * 256 * 2 * 8192 * 0.75 / 2**30, id="gemma-2-9b"),
        # 10 full layers, 52 keep 1,024 tokens
        pytest.param(
            GEMMA3_27B,
            131072,
            2 * 16 * 128 * 2 * (10 * 131072 + 52 * 1024) / 2**30,
            id="gemma-3-27b",
        ),
        # the window is not in use
        pytest.param(QWEN15_MOE, 65536, 2 * 24 * 2048 * 2 * 65536 / 2**30, id="Qwen1.5-MoE-A2.7B"),
        # 576 numbers per layer
        pytest.param(DEEPSEEK_V2_LITE, 32768, 27 * 576 * 2 * 32768 / 2**30, id="DeepSeek-V2-Lite"),
    ],
)
def test_cache_of_one_request(config, tokens, gib, shape):
    assert shape(config).kv_bytes(tokens) / 2**30 == pytest.approx(gib)


def test_every_gpu_of_a_copy_has_its_own_overhead(shape):
    settings = RunSettings.without_config(
        backend="vllm", max_model_len=8192, tensor_parallel_size=4
    )
    memory = model_memory(shape(LLAMA_70B), settings, find_gpu("NVIDIA A100-SXM4-40GB"))
    assert memory.available == 144 * 2**30
    room = memory.available - memory.weights - 4 * 2 * 2**30
    assert memory.cache_tokens == room // (320 * 2**10)
    assert memory.fits is True


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 40GB"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA L4", "L4"),
        ("h200", "H200"),
        ("NVIDIA L40", None),
        ("NVIDIA RTX A1000", None),
        ("", None),
    ],
)
def test_a_gpu_is_found_by_whole_words(name, row):
    assert (find_gpu(name) or {}).get("name") == row


@pytest.mark.parametrize(
    ("changes", "config", "weights"),
    [
        pytest.param({}, {}, 2, id="bfloat16"),
        pytest.param({"dtype": "float32"}, {}, 4, id="float32 on request"),
        pytest.param(
            {"backend": "vllm"}, {"torch_dtype": "float32"}, 2, id="vllm runs float32 in 16 bits"
        ),
        pytest.param({"backend": "hf"}, {"torch_dtype": "float32"}, 4, id="hf does not"),
        pytest.param(
            {}, {"quantization_config": {"quant_method": "awq", "bits": 4}}, 0.5, id="four bits"
        ),
        pytest.param({}, {"quantization_config": {"quant_method": "fp8"}}, 1, id="eight bits"),
    ],
)
def test_bytes_per_parameter(changes, config, weights, shape):
    found = shape({**LLAMA_8B, **config})
    assert (
        model_memory(found, RunSettings.without_config(**changes), None).weights
        == found.parameters * weights
    )


def test_a_model_that_does_not_fit_is_told(shape):
    found, findings = shape(LLAMA_70B), Findings()
    settings = RunSettings.without_config(backend="vllm", max_model_len=8192)
    report_memory(
        model_memory(found, settings, find_gpu("NVIDIA H100 80GB HBM3")), settings, findings
    )
    assert [one.code for one in findings.sorted()] == ["EP713"]
    fine = Findings()
    report_memory(model_memory(found, settings, find_gpu("some other GPU")), settings, fine)
    quantised = RunSettings.without_config(
        backend="vllm", max_model_len=8192, model_args={"quantization": "fp8"}
    )
    report_memory(
        model_memory(found, quantised, find_gpu("NVIDIA H100 80GB HBM3")), quantised, fine
    )
    assert len(fine) == 0


@pytest.mark.parametrize(
    ("files", "size"),
    [
        ({"model.safetensors": 8, "consolidated.safetensors": 8, "pytorch_model.bin": 8}, 8),
        ({"model-00001-of-00002.safetensors": 5, "model-00002-of-00002.safetensors": 3}, 8),
        ({"pytorch_model-00001-of-00001.bin": 8, "training_args.bin": 1, "optimizer.bin": 9}, 8),
        (
            {
                "model.safetensors.index.json": '{"metadata": {"total_size": 16}}',
                "model-1.safetensors": 5,
            },
            16,
        ),
        ({"README.md": 8}, 0),
    ],
)
def test_weights_that_lie_there_twice_count_once(files, size, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(content if isinstance(content, str) else "x" * content)
    assert weight_file_bytes(tmp_path) == size


@pytest.mark.parametrize(
    "config", [{}, {"num_hidden_layers": 2}, {**LLAMA_8B, "hidden_size": "wide"}, {"vocab_size": 0}]
)
def test_what_is_no_decoder_has_no_shape(config, shape):
    assert shape(config) is None
