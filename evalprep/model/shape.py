"""The size of a model by its config.json.

Parameters, weights, and the cache that a request takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evalprep.files import read_object
from evalprep.model.files import weight_file_bytes
from evalprep.model.longest import longest_text

BYTES = {
    "float32": 4,
    "float": 4,
    "float16": 2,
    "half": 2,
    "bfloat16": 2,
    "float8": 1,
    "int8": 1,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
}
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
_EXPERTS_PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "moe_topk")


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """Size and limits of a decoder.

    Attributes:
        layers: Number of layers.
        heads, kv_heads: Attention heads; key and value heads.
        context: Tokens of prompt and reply (`context_of`), None when not given.
        dtype: The type that the weights were saved in.
        parameters: Number of parameters by the shape, without biases (0.1 % at most).
        active: Parameters that one token passes through: of a mixture, those of the chosen experts
            only.
        weight_bytes: Size of the weight files that are here, else from the number of parameters.
        exact: Whether `weight_bytes` was measured.
        quantised: Whether the weights are stored in fewer bits than `dtype` says.
        values_per_token: Numbers that one token adds to the cache of one layer.
        window: Tokens that a sliding layer keeps, None without such layers.
        sliding_layers: Number of sliding layers.
    """

    layers: int
    heads: int
    kv_heads: int
    context: int | None
    dtype: str
    parameters: int
    active: int
    weight_bytes: int
    exact: bool
    quantised: bool
    values_per_token: int
    window: int | None
    sliding_layers: int

    def kv_bytes_per_token(self, bytes_per_value: int = 2) -> int:
        """Bytes of cache that one token takes.

        `2 (key, value) * layers * kv_heads * head_size * bytes`.

        Latent attention (DeepSeek V2 and V3) keeps `kv_lora_rank + qk_rope_head_dim` numbers per
        layer instead.
        """
        return self.layers * self.values_per_token * bytes_per_value

    def kv_bytes(self, tokens: int, bytes_per_value: int = 2) -> int:
        """Bytes of cache of one request; sliding layers keep no more than their window."""
        kept = min(tokens, self.window) if self.window else tokens
        full = self.layers - self.sliding_layers
        return (
            (full * tokens + self.sliding_layers * kept) * self.values_per_token * bytes_per_value
        )


def context_of(folder: Path) -> int | None:
    """Returns the context of a model in tokens by its config.json; None where that lacks it."""
    return longest_text(_decoder_config(folder))


def _decoder_config(folder: Path) -> dict[str, Any]:
    """The config.json of a model; of one with several parts that of the text."""
    outer = read_object(folder / "config.json")
    inner = outer.get("text_config")
    return {**outer, **inner} if isinstance(inner, dict) else outer


def model_shape(folder: Path) -> ModelShape | None:
    """Read config.json; None when it is absent or not a decoder's."""
    config = _decoder_config(folder)
    try:
        size = _dimensions(config)
        if size is None:
            return None
        layers, hidden = size.layers, size.hidden
        dense, mixture, chosen = _feed_forward(config, layers, hidden)
    except (KeyError, TypeError, ValueError):
        return None
    # Parameters of one layer's attention, and the numbers that it caches per token.
    if rank := config.get("kv_lora_rank"):
        attention = _latent_attention(config, size.hidden, size.heads)
        values = int(rank) + int(config.get("qk_rope_head_dim") or 0)
    else:
        queries_and_output = 2 * size.heads
        keys_and_values = 2 * size.kv_heads
        attention = size.hidden * size.head_size * (queries_and_output + keys_and_values)
        values = keys_and_values * size.head_size
    embeddings = size.vocabulary * hidden * (1 if _tied(config) else 2)
    shared = layers * (attention + 2 * hidden) + embeddings + hidden + dense
    dtype = str(config.get("dtype") or config.get("torch_dtype") or "bfloat16")
    quantised, bits = _quantisation(config)
    parameters = shared + mixture
    measured = weight_file_bytes(folder)
    window, sliding = _sliding(config, layers)
    return ModelShape(
        layers=layers,
        heads=size.heads,
        kv_heads=size.kv_heads,
        context=longest_text(config),
        dtype=dtype,
        parameters=parameters,
        active=shared + chosen,
        weight_bytes=measured
        or (parameters * bits // 8 if quantised else parameters * BYTES.get(dtype, 2)),
        exact=bool(measured),
        quantised=quantised,
        values_per_token=values,
        window=window,
        sliding_layers=sliding,
    )


def _first(config: Mapping[str, Any], keys: tuple[str, ...]) -> int:
    return next((int(config[key]) for key in keys if config.get(key)), 0)


class _Dimensions(NamedTuple):
    """The numbers of config.json from which the parameters are counted."""

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    kv_heads: int
    head_size: int


def _dimensions(config: Mapping[str, Any]) -> _Dimensions | None:
    """The dimensions of a decoder; None where one of them is no positive number."""
    layers, hidden, heads, vocabulary = (
        int(config[key])
        for key in ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
    )
    if min(layers, hidden, heads, vocabulary) < 1:
        return None
    kv_heads = int(config.get("num_key_value_heads") or heads)
    head_size = int(config.get("head_dim") or hidden // heads)
    return _Dimensions(
        layers=layers,
        hidden=hidden,
        heads=heads,
        vocabulary=vocabulary,
        kv_heads=kv_heads,
        head_size=head_size,
    )


#: Models whose feed-forward layers have no gate.
_TWO_MATRICES = frozenset({"gpt2", "gpt_neox", "opt", "phi", "falcon"})


def _feed_forward(config: Mapping[str, Any], layers: int, hidden: int) -> tuple[int, int, int]:
    """Parameters of the feed-forward parts.

    The values are those of dense and shared parts, of all experts, and of the experts that a token
    visits.

    An expert and a dense layer are three matrices (gate, up, down) of `hidden * width`.
    """
    width = int(config.get("intermediate_size") or 4 * hidden)
    experts = _first(config, _EXPERTS)
    visited = _first(config, _EXPERTS_PER_TOKEN)
    if experts < 2:
        matrices = 2 if config.get("model_type") in _TWO_MATRICES else 3
        return matrices * layers * hidden * width, 0, 0
    expert_width = int(config.get("moe_intermediate_size") or width)
    shared_width = int(
        config.get("shared_expert_intermediate_size")
        or expert_width * int(config.get("n_shared_experts") or 0)
    )
    # The number of layers that have experts.
    every = int(config.get("decoder_sparse_step") or config.get("interleave_moe_layer_step") or 1)
    first = int(config.get("first_k_dense_replace") or 0)
    dense_only = config.get("mlp_only_layers") or []
    sparse = sum(
        (number + 1) % every == 0 and number not in dense_only for number in range(first, layers)
    )
    dense = 3 * hidden * width * (layers - sparse)
    shared = 3 * hidden * shared_width * sparse
    routers = hidden * experts * sparse
    one_expert = 3 * hidden * expert_width * sparse
    return (dense + shared + routers, one_expert * experts, one_expert * min(visited, experts))


def _latent_attention(config: Mapping[str, Any], hidden: int, heads: int) -> int:
    """Parameters of one layer of latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1)."""
    rank, rope, plain, value = (
        int(config.get(key) or 0)
        for key in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    )
    query = int(config.get("q_lora_rank") or 0)
    queries = heads * (plain + rope)
    down = hidden * query + query * queries if query else hidden * queries
    return down + hidden * (rank + rope) + rank * heads * (plain + value) + heads * value * hidden


def _tied(config: Mapping[str, Any]) -> bool:
    """Returns whether the output layer is the embedding.

    The Gemma families leave the key out and tie.
    """
    tied = config.get("tie_word_embeddings")
    return bool(tied) if tied is not None else str(config.get("model_type", "")).startswith("gemma")


def _quantisation(config: Mapping[str, Any]) -> tuple[bool, int]:
    """Returns whether weights are quantised, and to how many bits."""
    quantisation = config.get("quantization_config")
    if not isinstance(quantisation, Mapping):
        return False, 16
    if isinstance(quantisation.get("bits"), int):
        return True, quantisation["bits"]
    method = str(quantisation.get("quant_method", ""))
    return True, 4 if quantisation.get("load_in_4bit") or method in {"awq", "gptq", "mxfp4"} else 8


def _sliding(config: Mapping[str, Any], layers: int) -> tuple[int | None, int]:
    """The window and the number of layers that have it."""
    window = config.get("sliding_window")
    if not isinstance(window, int) or window < 1 or config.get("use_sliding_window") is False:
        return None, 0
    kinds = config.get("layer_types")
    if isinstance(kinds, list):
        return window, sum("sliding" in str(kind) for kind in kinds)
    family = str(config.get("model_type", ""))
    # Gemma 2 alternates; Gemma 3 has one full layer in six (config.json may say so with
    # sliding_window_pattern).
    pattern = (
        config.get("sliding_window_pattern")
        or {"gemma2": 2}.get(family)
        or (6 if family.startswith("gemma3") else 0)
    )
    return window, layers - layers // int(pattern) if pattern else layers
