"""What the user is told of a command for a CPU."""

import pytest

from evalprep.backends import BACKENDS, Machine, Request
from evalprep.config.schema import Core


@pytest.mark.parametrize(
    ("device", "said"),
    [("auto", ["no GPU found: settings for the CPU build of vLLM"]), ("cpu", ["device: cpu"])],
)
def test_a_cpu_that_was_found_and_one_that_was_asked_for(device, said):
    core = Core(model_name="m", tasks=("a",), backend="vllm", device=device)
    assert (
        BACKENDS["vllm"].arguments(core, Request(model="m", machine=Machine(cpu=True))).notes
        == said
    )
    assert BACKENDS["vllm"].arguments(core, Request(model="m")).notes == []


@pytest.mark.parametrize(
    ("dtype", "expected"), [("auto", "float32"), ("bfloat16", "bfloat16"), ("float16", "float16")]
)
def test_a_cpu_computes_in_float32_unless_told(dtype, expected):
    core = Core(model_name="m", tasks=("a",), backend="vllm", device="cpu", dtype=dtype)
    request = Request(model="m", machine=Machine(cpu=True))
    assert BACKENDS["vllm"].arguments(core, request).model_args["dtype"] == expected


@pytest.mark.parametrize("backend", ["local-completions", "vllm-server", "openai-chat-completions"])
@pytest.mark.parametrize(("batch_size", "is_told"), [("auto", False), (1, False), (16, True)])
def test_a_batch_size_that_no_server_reads(backend, batch_size, is_told):
    core = Core(model_name="m", tasks=("a",), backend=backend, batch_size=batch_size)
    notes = BACKENDS[backend].arguments(core, Request(model="m")).notes
    told = [
        note for note in notes if note.startswith("batch_size: 16 has no effect: lm-eval sends")
    ]
    assert bool(told) is is_told
