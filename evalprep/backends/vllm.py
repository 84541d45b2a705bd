"""vLLM inside the lm_eval process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from evalprep.backends.copies import forget_prefixes
from evalprep.backends.parallel import DATA_PARALLEL, TENSOR_PARALLEL
from evalprep.backends.record import (
    GENERATES,
    LIKELIHOODS,
    Arguments,
    Backend,
    EngineSettings,
    Request,
    with_optional,
)

# The share of main memory that vLLM asks for on a CPU at start, whatever its cache size; its
# default of 0.92 is refused on any machine that runs something else.
CPU_MEMORY_SHARE = 0.2


def arguments(core: EngineSettings, request: Request) -> Arguments:
    """Its arguments; on a CPU those with which it starts there and is fastest."""
    args: dict[str, Any] = {
        "pretrained": request.model,
        "dtype": core.dtype,
        TENSOR_PARALLEL: core.tensor_parallel_size,
        DATA_PARALLEL: core.data_parallel_size,
        "gpu_memory_utilization": core.gpu_memory_utilization,
        "max_model_len": core.max_model_len,
    }
    with_optional(args, core, request)
    args["seed"] = core.seed  # the seed flag of lm_eval does not reach the engine
    engine_args = Arguments(args)
    if request.machine.cpu:
        args, env = on_cpu(core, request)
        engine_args.model_args |= args
        if core.tensor_parallel_size == 1:
            # One process instead of three: no second and third import of everything.
            engine_args.model_args["distributed_executor_backend"] = "uni"
            engine_args.env["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        engine_args.env |= env
        is_chosen = core.device != "auto"
        note = "device: cpu" if is_chosen else "no GPU found: settings for the CPU build of vLLM"
        engine_args.notes.append(note)
    return engine_args


def on_cpu(core: EngineSettings, request: Request) -> tuple[dict[str, Any], dict[str, str]]:
    """Arguments and variables with which an engine starts on a CPU.

    They are the same for an engine in this process and for a server.
    """
    # In bfloat16 a reply on a CPU depends on which prompts share its batch.
    dtype = "float32" if core.dtype == "auto" else core.dtype
    share = min(core.gpu_memory_utilization, CPU_MEMORY_SHARE)
    chosen_space = os.environ.get("VLLM_CPU_KVCACHE_SPACE")
    space = chosen_space or str(request.machine.cache_gib(core.max_model_len, dtype))
    args = {"dtype": dtype, "gpu_memory_utilization": share, "enforce_eager": True}
    return args, {"VLLM_CPU_KVCACHE_SPACE": space}


# Arguments of lm-eval's back end that its engine does not know.
_OF_LM_EVAL = frozenset(
    {
        *("pretrained", "model", "add_bos_token", "prefix_token_id", "truncation_side", "device"),
        *("max_gen_toks", "batch_size", "max_batch_size", "max_length", "max_model_len"),
        *("think_end_token", "enable_thinking", "chat_template_args", "swap_space"),
        *("base_url", "num_concurrent", "max_retries", "tokenizer_backend", "tokenized_requests"),
        *("lora_local_path", "timeout"),
    }
)


def engine_words(model_args: Mapping[str, Any]) -> list[str]:
    """Arguments of the back end as words for `vllm serve` or `vllm run-batch`.

    >>> engine_words({"pretrained": "org/m", "max_model_len": 512, "enforce_eager": True})
    ['--model', 'org/m', '--max-model-len', '512', '--enforce-eager']
    """
    words = ["--model", str(model_args.get("pretrained") or model_args.get("model"))]
    length = model_args.get("max_model_len") or model_args.get("max_length")
    if length:
        words += ["--max-model-len", str(length)]
    for name, value in model_args.items():
        copies = name.endswith("_parallel_size") and value == 1
        if name not in _OF_LM_EVAL and value is not None and not copies:
            words += _option(name.replace("_", "-"), value)
    return words


def _option(name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", json.dumps(value) if isinstance(value, dict | list) else str(value)]


def forget(lm: Any) -> None:
    """Empty the cache of prefixes.

    A prompt whose start was computed in another batch differs in the last bits.
    """
    forget_prefixes(lm)  # of several copies
    if (engine := getattr(lm, "model", None)) is not None:
        engine.reset_prefix_cache()


def sampling_for_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the sampling parameters with which vLLM writes nothing but JSON of a schema.

    Raises:
        ImportError: vLLM is not installed, or older than 0.11.
    """
    from vllm.sampling_params import StructuredOutputsParams

    return {"structured_outputs": StructuredOutputsParams(json=dict(schema))}


BACKEND = Backend(
    name="vllm",
    model_type="vllm",
    abilities=GENERATES | LIKELIHOODS | {"prefill", "token_logprobs"},
    arguments=arguments,
    package="vllm",
    # vLLM divides by the time that its progress bar has run, which stays 0
    # (vllm-project/vllm#28097). tqdm takes any text for a yes, `0` too.
    fails_with=frozenset({"TQDM_DISABLE"}),
    loads_model=True,
    engine="vllm",
    splits_model=True,
    shrinks_float32=True,
    samples=True,
    adapter="lora_local_path",
    others_write={
        "peft": "write `adapter: DIR`, or lora_local_path",
        "load_in_4bit": "write quantization: bitsandbytes, or `backend: hf`",
        "load_in_8bit": "name a quantised checkpoint, or write `backend: hf`",
    },
    forgets=forget,
    holds=sampling_for_schema,
)
