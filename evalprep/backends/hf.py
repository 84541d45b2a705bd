"""transformers inside the lm_eval process: slower than vLLM, runs anything."""

from __future__ import annotations

from typing import Any

from evalprep.backends.record import (
    GENERATES,
    LIKELIHOODS,
    Arguments,
    Backend,
    EngineSettings,
    Request,
    with_optional,
)

# The search for the largest batch that `auto` makes needs a GPU's out-of-memory signal.
CPU_BATCH = 8


def arguments(core: EngineSettings, request: Request) -> Arguments:
    """Its arguments; on a CPU in float32 and with a batch size of its own."""
    cpu = request.machine.cpu
    args: dict[str, Any] = {
        "pretrained": request.model,
        "dtype": "float32" if cpu and core.dtype == "auto" else core.dtype,
        "max_length": core.max_model_len,
    }
    with_optional(args, core, request)
    engine_args = Arguments(args, options={"device": "cpu" if cpu else None})
    if cpu and core.batch_size == "auto":
        engine_args.options["batch_size"] = CPU_BATCH
    if core.data_parallel_size > 1:
        engine_args.notes.append(
            "data_parallel_size applies to vllm; for hf start the command with `accelerate launch`"
        )
    return engine_args


BACKEND = Backend(
    name="hf",
    model_type="hf",
    abilities=GENERATES | LIKELIHOODS | {"prefill", "token_logprobs", "moments", "gradients"},
    arguments=arguments,
    aliases=("hf-auto", "huggingface"),
    package="transformers",
    loads_model=True,
    adapter="peft",
    others_write={
        "lora_local_path": "write `adapter: DIR`, or peft",
        "max_lora_rank": "take it out",
        "quantization": "write load_in_4bit: true or name a quantised checkpoint, or write "
        "`backend: vllm`",
    },
)
