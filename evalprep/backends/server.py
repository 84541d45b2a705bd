"""Models behind an OpenAI-compatible address.

They are asked for raw completions or chat completions; vLLM's own server is one of them.
"""

from __future__ import annotations

import shlex
from typing import Any
from urllib.parse import SplitResult, urlsplit

from evalprep.backends import vllm
from evalprep.backends.parallel import PIPELINE_PARALLEL
from evalprep.backends.record import (
    GENERATES,
    LIKELIHOODS,
    Arguments,
    Backend,
    EngineSettings,
    Request,
    with_optional,
    written,
)

VLLM_PORT = 8000
#: Port on which the nodes of one server find its first; vLLM's default.
_RPC_PORT = 29550
_HERE = frozenset({"127.0.0.1", "localhost", "::1"})
RAW_PATH, CHAT_PATH = "/v1/completions", "/v1/chat/completions"
VLLM_ADDRESS = f"http://127.0.0.1:{VLLM_PORT}{RAW_PATH}"
# Requests under way at once. A server of one model schedules far more; below this it waits for us.
CONCURRENT = 32
# lm-eval gives up a whole run at the first request that fails this often.
RETRIES = 5
# lm-eval sends prompts one by one to an address, whatever it is asked for; any other word is a
# warning.
ONE_BY_ONE = 1


def _common(core: EngineSettings, request: Request, url: str) -> dict[str, Any]:
    return {
        "model": str(core.model_args.get("model", request.model)),
        **({"base_url": url} if url else {}),
        "num_concurrent": CONCURRENT,
        "max_retries": RETRIES,
        "seed": core.seed,
        "max_length": core.max_model_len,
    }


def _one_by_one(core: EngineSettings, args: dict[str, Any]) -> Arguments:
    """The arguments, with a note where the config asks for batches that lm-eval does not send."""
    notes = []
    if core.batch_size not in ("auto", ONE_BY_ONE):
        at_once = core.model_args.get("num_concurrent", args["num_concurrent"])
        notes.append(
            f"batch_size: {core.batch_size} has no effect: lm-eval sends prompts to an address one "
            f"by one, {at_once} at a time (model_args: {{num_concurrent: {at_once}}})"
        )
    return Arguments(args, options={"batch_size": ONE_BY_ONE}, notes=notes)


def completions(core: EngineSettings, request: Request) -> Arguments:
    """Raw completions: lm-eval tokenizes, so that the tokenizer is named and token ids are sent."""
    args = _common(core, request, str(core.model_args.get("base_url", "")))
    args |= {
        "tokenizer_backend": "huggingface",
        "tokenizer": request.model,
        "tokenized_requests": True,
    }
    with_optional(args, core, request)
    return _one_by_one(core, args)


def vllm_server(core: EngineSettings, request: Request) -> Arguments:
    """Raw completions of `vllm serve`, at its usual address unless the config names another.

    Every copy of the model has as many requests under way as one server has.
    """
    engine_args = completions(core, request)
    engine_args.model_args["num_concurrent"] = CONCURRENT * core.data_parallel_size
    engine_args.model_args.setdefault("base_url", VLLM_ADDRESS)
    return engine_args


def is_here(core: EngineSettings) -> bool:
    """Returns whether the printed server listens on the loopback address of its machine."""
    return _address(core).hostname in _HERE


def _address(core: EngineSettings) -> SplitResult:
    return urlsplit(str(core.model_args.get("base_url", VLLM_ADDRESS)))


def serve(core: EngineSettings, request: Request) -> list[str]:
    """The commands that start the server, one for each node.

    The first listens at the address that lm-eval will ask, under the name that it will ask for. The
    others hold copies of the model alone and listen to the first.
    """
    env, shared = _shared_words(core, request)
    variables = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
    nodes = request.machine.nodes
    commands = []
    for node in range(nodes):
        own = _listening_words(core, request) if node == 0 else ["--headless"]
        words = ["vllm", "serve", request.model, *own, *shared, *_node_words(core, node, nodes)]
        commands.append(" ".join([*variables, shlex.join(words)]))
    return commands


def _listening_words(core: EngineSettings, request: Request) -> list[str]:
    """The arguments of the node that answers requests."""
    address = _address(core)
    words = ["--host", address.hostname or "127.0.0.1"]
    words += ["--port", str(address.port or VLLM_PORT)]
    name = str(core.model_args.get("model", request.model))
    if name != request.model:
        words += ["--served-model-name", name]
    return words


def _shared_words(core: EngineSettings, request: Request) -> tuple[dict[str, str], list[str]]:
    """The variables and the arguments that every node has."""
    words: list[str] = []
    if core.model_revision is not None:
        words += ["--revision", core.model_revision]
    # A server elsewhere has a machine of its own, of which nothing is known here.
    cpu = request.machine.cpu and is_here(core)
    args, env = vllm.on_cpu(core, request) if cpu else ({"dtype": core.dtype}, {})
    words += ["--max-model-len", str(core.max_model_len), "--dtype", str(args["dtype"])]
    if cpu:
        words += [
            "--gpu-memory-utilization",
            str(args["gpu_memory_utilization"]),
            "--enforce-eager",
        ]
    # Else the model's own top_p and penalties join every request; inside lm-eval they never do.
    words += ["--generation-config", "vllm"]
    return env, words + _parallel_words(core)


def _parallel_words(core: EngineSettings) -> list[str]:
    """The arguments that spread the model over several GPUs."""
    sizes = {
        "tensor": core.tensor_parallel_size,
        "pipeline": core.model_args.get(PIPELINE_PARALLEL, 1),
        "data": core.data_parallel_size,
    }
    words: list[str] = []
    for kind, size in sizes.items():
        if str(size) != "1":
            words += [f"--{kind}-parallel-size", str(size)]
    return words


def _node_words(core: EngineSettings, node: int, nodes: int) -> list[str]:
    """The arguments that give a node its share of the copies; none for a server of one node."""
    if nodes == 1:
        return []
    copies = core.data_parallel_size // nodes
    words = ["--data-parallel-size-local", str(copies)]
    if node:
        words += ["--data-parallel-start-rank", str(node * copies)]
    first = _address(core).hostname or ""
    return [*words, "--data-parallel-address", first, "--data-parallel-rpc-port", str(_RPC_PORT)]


def chat(core: EngineSettings, request: Request) -> Arguments:
    """Chat completions: messages go as they are, the server renders them.

    No tokenizer is needed here.
    """
    args = _common(core, request, str(core.model_args.get("base_url", "")))
    args["tokenized_requests"] = False
    return _one_by_one(core, args)


def provider(core: EngineSettings, request: Request) -> Arguments:
    """A provider's chat completions, at lm-eval's own address for it.

    A gentler pace, their limits are by minute.
    """
    args = _common(core, request, "") | {"num_concurrent": 8} | written(core, "base_url")
    return _one_by_one(core, args)


# All draws behind an address carry the one seed that lm-eval sends, so that repeats would be equal:
# no `draws`.
_RAW = (GENERATES - {"draws"}) | LIKELIHOODS | {"prefill"}
_CHAT = frozenset({"generate", "chat", "system", "dialogue"})
#: OpenAI's protocol names the likeliest tokens of a reply.
_CHAT_OF_OPENAI = _CHAT | {"first_token"}
COMPLETIONS = Backend(
    name="local-completions",
    model_type="local-completions",
    abilities=_RAW,
    arguments=completions,
    adds_bos=False,
    sends_token_ids=True,
    address=VLLM_ADDRESS,
    posts_to=RAW_PATH,
)
VLLM_SERVER = Backend(
    name="vllm-server",
    model_type="local-completions",
    abilities=_RAW,
    arguments=vllm_server,
    prerequisite=serve,
    is_served=True,
    adds_bos=False,
    sends_token_ids=True,
    posts_to=RAW_PATH,
)
CHAT = Backend(
    name="local-chat-completions",
    model_type="local-chat-completions",
    abilities=_CHAT_OF_OPENAI,
    arguments=chat,
    stops=4,
    address=f"http://127.0.0.1:{VLLM_PORT}{CHAT_PATH}",
    posts_to=CHAT_PATH,
)
OPENAI_CHAT = Backend(
    name="openai-chat-completions",
    model_type="openai-chat-completions",
    abilities=_CHAT_OF_OPENAI,
    arguments=provider,
    environment=("OPENAI_API_KEY",),
    stops=4,
    posts_to=CHAT_PATH,
)
ANTHROPIC_CHAT = Backend(
    name="anthropic-chat-completions",
    model_type="anthropic-chat-completions",
    abilities=_CHAT,
    arguments=provider,
    environment=("ANTHROPIC_API_KEY",),
)
