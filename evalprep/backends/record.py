"""The facts of one way of running a model.

Whoever asks what a back end can do or wants asks its record.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

#: Every ability of a model that generates text from raw prompts on this machine.
GENERATES = frozenset({"generate", "plain", "chat", "system", "draws", "dialogue"})
LIKELIHOODS = frozenset({"loglikelihood", "rolling"})
#: Tokens of a reply to which most of lm-eval's models limit it where nothing names a limit.
_REPLY_TOKENS = 256


class EngineSettings(Protocol):
    """The settings of a run that back ends read; the core keys of a config are some."""

    @property
    def backend(self) -> str:
        """Name of the back end."""

    @property
    def device(self) -> str:
        """`auto`, `cpu` or `gpu`."""

    @property
    def model_revision(self) -> str | None:
        """Branch, tag or commit of the model."""

    @property
    def tensor_parallel_size(self) -> int:
        """GPUs per copy of the model."""

    @property
    def data_parallel_size(self) -> int:
        """Copies of the model."""

    @property
    def gpu_memory_utilization(self) -> float:
        """Share of a GPU's memory."""

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and reply together."""

    @property
    def dtype(self) -> str:
        """Data type of the weights."""

    @property
    def batch_size(self) -> int | str:
        """`auto`, `auto:N` or a number of requests."""

    @property
    def seed(self) -> int:
        """Seed of sampling and few-shot examples."""

    @property
    def model_args(self) -> Mapping[str, Any]:
        """Further arguments, by name."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that a command is for.

    Attributes:
        cpu: The model runs on the CPU.
        nodes: Machines that share one server.
        cache_gib: GiB of key-value cache of one sequence: tokens and data type -> whole number, at
            least 1.
    """

    cpu: bool = False
    nodes: int = 1
    cache_gib: Callable[[int, str], int] = lambda _tokens, _dtype: 1


@dataclass(frozen=True, kw_only=True)
class Request:
    """The parts that a command is made from, beside the configuration.

    Attributes:
        model: Model id or absolute folder.
        machine: Where it will run.
        chat: The chat template is applied at run time.
        add_bos_token: The argument as the command has it; None where it is left out.
    """

    model: str
    machine: Machine = field(default_factory=Machine)
    chat: bool = False
    add_bos_token: bool | None = None


@dataclass
class Arguments:
    """The command of a back end for a request.

    Attributes:
        model_args: For `--model_args`, in order.
        options: Options of lm-eval that this back end sets itself; None leaves one out.
        env: Variables.
        notes: Sentences for the user.
    """

    model_args: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One way of running a model.

    Attributes:
        name: Ours, as in the config.
        model_type: lm-eval's, as after `--model`; empty where lm-eval is not asked.
        abilities: What it can do, of `evalprep.packs.plan.ABILITIES`.
        arguments: What the command needs.
        prerequisite: The commands that must be running first, one for each node; empty where there
            is none.
        package: The module that must be importable here; empty where none.
        address: What its address looks like, where the config must name it (`model_args.base_url`).
        posts_to: The path on the server to which requests go; empty where lm-eval talks to none.
        environment: Names of variables that must be set.
        fails_with: Names of variables under which the engine fails, whatever they hold.
        loads_model: The weights are loaded by the lm_eval process itself.
        shrinks_float32: With `dtype: auto`, float32 weights run in 16 bits.
        stands_in: Answers by itself, without any model.
        chat_module: Module of ours that calls lm_eval in its place where tasks are chats; empty
            where lm_eval itself does.
        engine: The engine whose own generation arguments a task may set; empty where any are passed
            on.
        splits_model: Takes `tensor_parallel_size` and `data_parallel_size`.
        is_served: The printed server takes them, on one node or several.
        samples: Generates by sampling where a task sets no temperature.
        stops: How many stop strings it sends; None for all.
        adds_bos: Writes a BOS before raw prompts unless told otherwise; None for as the tokenizer
            does.
        adapter: The argument that names the folder of a LoRA adapter; empty where it loads none.
        others_write: Arguments of other back ends, which it does not take -> what to write instead.
        forgets: Drops what earlier requests left in lm-eval's model object beside its own
            attributes, so that the next command finds it as it was loaded; None where it is to be
            made anew.
        holds: Generation arguments that hold a reply of the model that lm-eval has loaded to a JSON
            schema; None where there are none.
        sends_token_ids: lm-eval tokenizes for a server, so that it needs the model's tokenizer.
        aliases: Further names under which lm-eval knows it.
        reply_tokens: Tokens of a reply where neither its request nor the model's arguments name a
            limit; None where there is no limit.
    """

    name: str
    model_type: str
    abilities: frozenset[str]
    arguments: Callable[[EngineSettings, Request], Arguments]
    prerequisite: Callable[[EngineSettings, Request], Sequence[str]] = lambda _core, _request: ()
    package: str = ""
    address: str = ""
    posts_to: str = ""
    environment: tuple[str, ...] = ()
    fails_with: frozenset[str] = frozenset()
    loads_model: bool = False
    shrinks_float32: bool = False
    stands_in: bool = False
    chat_module: str = ""
    engine: str = ""
    splits_model: bool = False
    is_served: bool = False
    samples: bool = False
    stops: int | None = None
    adds_bos: bool | None = None
    adapter: str = ""
    others_write: Mapping[str, str] = field(default_factory=dict)
    forgets: Callable[[Any], object] | None = lambda _lm: None
    holds: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    sends_token_ids: bool = False
    aliases: tuple[str, ...] = ()
    reply_tokens: int | None = _REPLY_TOKENS

    @property
    def chat_only(self) -> bool:
        """It takes chat messages and no raw prompts."""
        return "chat" in self.abilities and "plain" not in self.abilities

    def whole_address(self, url: str) -> str:
        """The full address for one that names a server alone.

        An address with the path for requests of the other kind is corrected, too.

        lm-eval posts to an address as it is. One with a path of its own is left alone.

        >>> server = Backend(name="x", model_type="x", abilities=frozenset(), arguments=...,
        ...     posts_to="/v1/completions")
        >>> server.whole_address("http://127.0.0.1:8000/v1/")
        'http://127.0.0.1:8000/v1/completions'
        """
        parts = urlsplit(url)
        ending = self.posts_to.removeprefix("/v1")
        base = re.sub(r"(/chat)?/completions/?$", "", parts.path).rstrip("/")
        names_requests = parts.path.rstrip("/").endswith("/completions")
        is_own_path = not names_requests and base not in ("", "/v1")
        if not ending or is_own_path or parts.path == base + ending:
            return url
        return urlunsplit(parts._replace(path=(base or "/v1") + ending))

    def asks_for(self, core: EngineSettings, request: Request) -> list[str]:
        """Sentences on what must be there before the command is started."""
        lines = self.prerequisite(core, request)
        unset = [name for name in self.environment if not os.environ.get(name)]
        sentences = [
            f"a server must be running first{_on_node(number, len(lines))}: {line}"
            for number, line in enumerate(lines, start=1)
        ]
        return sentences + [f"{name} must be set where the command runs" for name in unset]


def _on_node(number: int, nodes: int) -> str:
    return f", on node {number} of {nodes}" if nodes > 1 else ""


def with_optional(
    arguments: dict[str, Any], core: EngineSettings, request: Request
) -> dict[str, Any]:
    """Adds the arguments that are only written where something asks for them."""
    if request.add_bos_token is not None:
        arguments["add_bos_token"] = request.add_bos_token
    if core.model_revision is not None:
        arguments["revision"] = core.model_revision
    return arguments


def written(core: EngineSettings, name: str) -> dict[str, Any]:
    """An argument that the user wrote under `model_args`, as a mapping of one entry.

    Empty where she did not.
    """
    return {name: core.model_args[name]} if name in core.model_args else {}
