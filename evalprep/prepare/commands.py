"""The lm_eval command: quoted for the shell, absolute paths, the same settings as a run.yaml.

Facts about lm-eval behind the choices: the seed flag does not reach the vLLM engine, so it is given twice; the default
batch size is one prompt per call, so `auto` is always written; `k=v` model arguments split on commas and turn digits
into numbers, so anything else than a plain word goes as JSON; `./model` would log into a hidden folder.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.config.schema import Core
from evalprep.model.hardware import cpu_has_bfloat16, gpu_names
from evalprep.places import is_folder, place

# The share of main memory that vLLM asks for on a CPU at start, whatever its cache size; its default of 0.92 is
# refused on any machine that runs something else.
CPU_MEMORY_SHARE = 0.2
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+=-]+")
_CAST = re.compile(r"(?i)true|false|none|[+-]?\d+|[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|nan|infinity)")


@dataclass
class Command:
    """One lm_eval call.

    Attributes:
        model: Back end.
        model_args: Arguments of the back end.
        tasks: Names for `--tasks`.
        options: Further keys of lm_eval's own config (`batch_size`, `seed`, ...), None left out.
        env: Variables that the call needs.
    """

    model: str
    model_args: dict[str, Any]
    tasks: list[str]
    options: dict[str, Any]
    env: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def argv(self) -> list[str]:
        """The call as a list of words, program first."""
        words = [lm_eval_program(), "--model", self.model]
        if self.model_args:
            words += ["--model_args", _pairs(self.model_args)]
        words += ["--tasks", ",".join(self.tasks)]
        for key, value in self.options.items():
            if value is None or value is False:
                continue
            text = _pairs(value) if isinstance(value, dict) else str(value)
            if value is True:
                words.append(f"--{key}")
            elif text.startswith("-"):
                words.append(f"--{key}={text}")  # a word of its own would be taken for an option
            else:
                words += [f"--{key}", text]
        return words

    def text(self) -> str:
        """The call as one shell line; runs from any directory."""
        env = [f"{name}={shlex.quote(value)}" for name, value in self.env.items()]
        return " ".join([*env, *(shlex.quote(word) for word in self.argv())])

    def run_yaml(self) -> dict[str, Any]:
        """The same call for `lm_eval run --config`."""
        data: dict[str, Any] = {"model": self.model, "model_args": self.model_args, "tasks": self.tasks}
        for key, value in self.options.items():
            if value is None or value is False:
                continue
            data[key] = value
        if "seed" in data:
            data["seed"] = [data["seed"]] * 4  # python, numpy, torch, few-shot
        if "fewshot_as_multiturn" in data:  # a word on the command line, where every word is true in YAML
            data["fewshot_as_multiturn"] = data["fewshot_as_multiturn"] == "true"
        return data


def lm_eval_program() -> str:
    """`lm_eval` when that word means the one of this Python environment, else its absolute path."""
    own = Path(sys.executable).parent / "lm_eval"
    found = shutil.which("lm_eval")
    if not own.exists() or (found and Path(found).resolve() == own.resolve()):
        return "lm_eval"
    return str(own)


def _pairs(values: Mapping[str, Any]) -> str:
    """`k=v,k=v`, or JSON where a value would not survive that form."""
    plain = all(
        value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and _PLAIN.fullmatch(value) and not _CAST.fullmatch(value))
        for value in values.values()
    )
    if not plain:
        return json.dumps(values, ensure_ascii=False)
    return ",".join(f"{key}={value}" for key, value in values.items())


def on_cpu(core: Core) -> bool:
    """Whether the run will use the CPU."""
    return core.device == "cpu" or (core.device == "auto" and not gpu_names())


def build_command(
    core: Core, *, tasks: Sequence[str], model: str, backend: str | None = None, local_only: bool = False
) -> Command:
    """Make the call for a configuration.

    Args:
        core: The configuration.
        tasks: Names for `--tasks`.
        model: Model id or absolute folder.
        backend: Another back end than the configured one.
        local_only: Everything that the run reads lies on this machine, so it may run without any network call.
    """
    backend = backend or core.backend
    cpu = on_cpu(core)
    env: dict[str, str] = {}
    notes: list[str] = []
    if backend == "vllm":
        args = _vllm_args(core, model, cpu=cpu, env=env, notes=notes)
    elif backend == "hf":
        args = {
            "pretrained": model,
            "dtype": "float32" if cpu and core.dtype == "auto" else core.dtype,
            "max_length": core.max_model_len,
        }
        _optional(args, core)
    elif backend == "local-completions":
        args = {
            "model": model,
            "max_length": core.max_model_len,
            "tokenizer_backend": "huggingface",
            "tokenizer": model,
            "tokenized_requests": True,
        }
        _optional(args, core)
    else:
        args = {}
    args.update(core.model_args)
    if backend == "hf" and core.data_parallel_size > 1:
        notes.append("data_parallel_size applies to vllm; for hf start the command with `accelerate launch`")
    batch: Any = core.batch_size
    if backend == "hf" and cpu and batch == "auto":
        batch = 8  # the search for the largest batch that `auto` makes needs a GPU's out-of-memory signal
    options: dict[str, Any] = {
        "batch_size": batch if backend != "dummy" else None,
        "device": ("cpu" if cpu else None) if backend == "hf" else None,
        "include_path": str(core.work_dir),
        "output_path": str(core.output_path),
        "seed": core.seed,
        "limit": core.limit,
        "log_samples": core.log_samples,
        "show_config": core.show_config,
        "num_fewshot": core.num_fewshot,
        "system_instruction": core.system_instruction,
        "gen_kwargs": core.gen_kwargs or None,
        "apply_chat_template": core.apply_chat_template,
    }
    if core.fewshot_as_multiturn is not None:
        options["fewshot_as_multiturn"] = str(core.fewshot_as_multiturn).lower()
    if core.verbosity != "INFO":
        env["LMEVAL_LOG_LEVEL"] = core.verbosity
    if local_only:
        env["HF_HUB_OFFLINE"] = "1"
    if not _installed():
        env["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    return Command(model=backend, model_args=args, tasks=list(tasks), options=options, env=env, notes=notes)


def _vllm_args(core: Core, model: str, *, cpu: bool, env: dict[str, str], notes: list[str]) -> dict[str, Any]:
    args: dict[str, Any] = {
        "pretrained": model,
        "dtype": core.dtype,
        "tensor_parallel_size": core.tensor_parallel_size,
        "data_parallel_size": core.data_parallel_size,
        "gpu_memory_utilization": core.gpu_memory_utilization,
        "max_model_len": core.max_model_len,
    }
    _optional(args, core)
    args["seed"] = core.seed
    if cpu:
        if core.dtype == "auto" and not cpu_has_bfloat16():
            args["dtype"] = "float32"
        args["gpu_memory_utilization"] = min(core.gpu_memory_utilization, CPU_MEMORY_SHARE)
        args["enforce_eager"] = True
        if core.tensor_parallel_size == 1:
            # One process instead of three: no second and third import of everything.
            args["distributed_executor_backend"] = "uni"
            env["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        given = os.environ.get("VLLM_CPU_KVCACHE_SPACE")
        env.setdefault("VLLM_CPU_KVCACHE_SPACE", given or _cache_gib(model, core.max_model_len, args["dtype"]))
        notes.append("no GPU found: settings for the CPU build of vLLM" if core.device == "auto" else "device: cpu")
    return args


def _cache_gib(model: str, tokens: int, dtype: str) -> str:
    """GiB of key-value cache that one sequence of full length fills, at least 1: vLLM does not start with less."""
    from evalprep.model.shape import model_shape

    shape = model_shape(Path(model)) if is_folder(Path(model)) else None
    need = shape.kv_bytes(tokens, 4 if dtype in {"float32", "float"} else 2) if shape else 0
    return str(max(1, math.ceil(need / 2**30)))


def _optional(args: dict[str, Any], core: Core) -> None:
    if core.add_bos_token is not None:
        args["add_bos_token"] = core.add_bos_token
    if core.model_revision is not None:
        args["revision"] = core.model_revision


def _installed() -> bool:
    """Whether a process started elsewhere can import custom_metrics."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution("evalprep")
    except PackageNotFoundError:
        return False
    return True


def model_location(core: Core, folder: Path) -> tuple[str, bool, list[str]]:
    """The model as it goes into the command, whether it is local, and notes for the user.

    A local folder becomes an absolute path without a trailing slash; everything else is taken for a hub id.
    """
    path = place(core.model_name, folder)
    if is_folder(path):
        return str(path.resolve()), True, []
    looks_local = core.model_name.startswith((".", "/", "~")) or core.model_name.count("/") > 1
    if looks_local:
        return str(path.resolve()), True, [f"the model folder {path.resolve()} does not exist yet"]
    return core.model_name, False, []
