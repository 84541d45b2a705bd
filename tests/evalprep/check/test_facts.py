"""What the check knows of lm-eval and of tokenizers by heart is what the installed packages do."""

import json
from dataclasses import fields

import pytest

from evalprep.check import metrics
from evalprep.check.bound import TimeBoundError, cpu_bound
from evalprep.check.estimate import roofline_seconds
from evalprep.check.memory import find_gpu, model_memory
from evalprep.check.replies import FORMS
from evalprep.check.settings import RunSettings
from evalprep.model.files import model_folder
from evalprep.model.shape import model_shape
from evalprep.model.tokenizer import load_tokenizer


def test_registries_are_those_of_lm_eval():
    import lm_eval.api.metrics
    import lm_eval.filters  # noqa: F401
    from lm_eval.api import registry
    from lm_eval.config.task import TaskConfig

    assert set(registry.METRIC_REGISTRY) == metrics.METRICS
    assert set(registry.AGGREGATION_REGISTRY) == metrics.AGGREGATIONS
    # Tests of registrations may have added filters of their own to this process.
    assert set(registry.FILTER_REGISTRY) >= metrics.FILTERS
    assert {field.name for field in fields(TaskConfig)} == metrics.TASK_KEYS


TEXTS = [
    "Hello there",
    "<|begin|>Hello",
    " <|begin|>Hello",
    "\n<|begin|><|begin|>",
    "<|role|>user<|/role|>\nHi<|end|>",
    "é 漢字 🙂",
    "",
]


@pytest.mark.slow
@pytest.mark.parametrize("add_bos", [None, True, False])
def test_token_ids_are_those_of_lm_eval(add_bos, tiny_model):
    from lm_eval.models.vllm_causallms import VLLM
    from transformers import AutoTokenizer

    folder = tiny_model()
    engine = VLLM.__new__(VLLM)  # its tokenisation alone; no engine
    engine.tokenizer = AutoTokenizer.from_pretrained(
        folder, **({} if add_bos is None else {"add_bos_token": add_bos})
    )
    engine.custom_prefix_token_id = None
    engine.add_bos_token = add_bos
    ours = load_tokenizer(folder)
    for text in filter(None, TEXTS):
        assert ours.encode(text, add_bos_token=add_bos, backend="vllm") == engine.tok_encode(
            text
        ), text
    assert ours.lengths(TEXTS[:5], add_bos_token=add_bos) == [
        len(ours.encode(text, add_bos_token=add_bos)) for text in TEXTS[:5]
    ]


@pytest.mark.slow
def test_the_chat_template_renders_as_in_transformers(tiny_model):
    from transformers import AutoTokenizer

    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Hi\nthere"},
    ]
    folder = tiny_model()
    theirs = AutoTokenizer.from_pretrained(folder).apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    assert load_tokenizer(folder).render_chat(messages) == theirs


def test_a_snapshot_in_the_cache_is_found(tmp_path, monkeypatch, tiny_model):
    cache = tmp_path / "models--org--name"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("abc")
    (cache / "snapshots").mkdir()
    (cache / "snapshots" / "abc").symlink_to(tiny_model())
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert model_folder("org/name").name == "abc"
    assert model_folder("org/other") is None


def test_shape_and_memory_by_hand(tmp_path):
    # Llama 3.1 8B: 32 layers, 8 key and value heads of 128: 2 * 32 * 8 * 128 * 2 bytes = 131,072
    # bytes per token.
    (tmp_path / "config.json").write_text(
        json.dumps(
            {
                "num_hidden_layers": 32,
                "hidden_size": 4096,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "vocab_size": 128256,
                "intermediate_size": 14336,
                "max_position_embeddings": 131072,
                "torch_dtype": "bfloat16",
            }
        )
    )
    shape = model_shape(tmp_path)
    assert shape.kv_bytes_per_token() == 131_072
    assert shape.weight_bytes == 8_030_261_248 * 2  # the published number of parameters
    memory = model_memory(
        shape, RunSettings.without_config(max_model_len=8192), find_gpu("NVIDIA H100 80GB HBM3")
    )
    assert memory.longest == 2**30
    assert memory.available == (72 * 2**30)
    assert memory.fits is True
    assert (
        model_memory(
            shape, RunSettings.without_config(max_model_len=131072), find_gpu("NVIDIA L4")
        ).fits
        is False
    )
    h100, l4 = (
        roofline_seconds(
            shape,
            RunSettings.without_config(max_model_len=8192),
            find_gpu(name),
            memory,
            10**6,
            10**6,
            1000,
        )
        for name in ("H100", "L4")
    )
    assert 5 < h100 < 600
    assert l4 > 4 * h100


def test_a_mixed_alphabet_of_gold_answers_survives_the_forms():
    assert all("{gold}" in form for form in FORMS)
    assert [form.format(gold="{x}") for form in FORMS]


def test_the_bound_stops_loops_and_patterns_that_never_end():
    import re

    def loop():
        while True:
            pass

    with pytest.raises(TimeBoundError), cpu_bound(0.2):
        loop()
    with pytest.raises(TimeBoundError), cpu_bound(0.2):
        re.match(r"(a+)+$", "a" * 60 + "b")
    with cpu_bound(0.2):
        pass
