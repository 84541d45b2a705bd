"""The lm_eval commands of a plan, as they are written; which tasks share one is said in `shares`.

Facts about lm-eval behind the choices: the seed flag does not reach the vLLM engine, so it is given
twice; the default batch size is one prompt per call, so `auto` is always written; `k=v` model
arguments split on commas and turn digits into numbers, so anything else than a plain word goes as
JSON; `./model` would log into a hidden folder; what stands after `--metadata` is written into the
metadata of every task, lm-eval's own too, which ties results to the run.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.backends import BACKENDS, Machine, Request, shell_words
from evalprep.config import Core, adapters_in
from evalprep.model import destination, model_folder, model_shape
from evalprep.packs import Command, installed_version
from evalprep.places import is_folder, place
from evalprep.prepare.bos import ARGUMENT
from evalprep.prepare.shares import Share

#: lm-eval as a program that reads no task files but those that are asked for.
LAUNCHER = "evalprep.run.launcher"
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+=-]+")
_CAST = re.compile(
    r"(?i)true|false|none|[+-]?\d+|[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(inf|nan|infinity)"
)


def evalprep_words(*, here: bool = True) -> list[str]:
    """`evalprep` as this Python environment has it.

    So a script works without an activated environment.

    On another machine it is the one of the environment that is active there.
    """
    return [sys.executable, "-P", "-m", "evalprep"] if here else ["evalprep"]


@dataclass
class Invocation:
    """One lm_eval call, before it is written as words or as YAML.

    Attributes:
        model: lm-eval's name of the back end.
        model_args: Arguments of the back end.
        tasks: Names for `--tasks`.
        options: Further keys of lm-eval's own config (`batch_size`, `seed`, ...), None left out.
        env: Variables that the call needs.
        notes: Sentences for the user.
        program: The words that call lm_eval where the command runs.
        ours: How evalprep is.
    """

    model: str
    model_args: dict[str, Any]
    tasks: list[str]
    options: dict[str, Any]
    env: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    program: Sequence[str] = ("lm_eval",)
    ours: list[str] = field(default_factory=evalprep_words)

    def argv(self) -> list[str]:
        """The call as a list of words, program first.

        Without a back end of lm-eval it is one of ours.
        """
        if not self.model:
            return [*self.ours, "run", "--replies", "rows", str(self.options["include_path"])]
        words = [*self.program, "--model", self.model]
        if self.model_args:
            words += ["--model_args", _pairs(self.model_args)]
        words += ["--tasks", ",".join(self.tasks)]
        for key, value in self._written_options().items():
            words += _option_words(key, value)
        return words

    def _written_options(self) -> dict[str, Any]:
        """The options that are written; lm-eval's flags have no word for false."""
        return {
            key: value
            for key, value in self.options.items()
            if value is not None and value is not False
        }

    def text(self) -> str:
        """The call as one shell line; runs from any directory."""
        return shell_line(self.argv(), self.env)

    def quick_argv(self) -> list[str]:
        """The same words for our launcher of lm-eval, which reads no index of lm-eval's own tasks.

        The call as it is where another module calls lm-eval, and for another machine, of which it
        is not known whether its Python has this project.
        """
        words = self.argv()
        if not self._has_launcher or len(self.ours) == 1:
            return words
        return [self.ours[0], "-P", "-m", LAUNCHER, *words[1:]]

    @property
    def _has_launcher(self) -> bool:
        """Returns whether our launcher can stand in the place of the program."""
        return bool(self.model) and len(self.program) == 1

    def quick_text(self, configuration: str) -> str:
        """The same call without lm-eval's index of its own tasks.

        Empty where the call is one of another module.

        Args:
            configuration: The file for `lm_eval run --config`.
        """
        if not self._has_launcher:
            return ""
        python = self.ours[0] if len(self.ours) > 1 else "python3"
        words = [python, "-P", "-m", LAUNCHER, "run", "--config", configuration]
        return shell_line(words, self.env)

    def own_line(self, *words: str) -> str:
        """`evalprep` with these words as a line for a shell.

        The line finds the project where it is not installed.
        """
        path = {name: value for name, value in self.env.items() if name == "PYTHONPATH"}
        return shell_line([*self.ours, *words], path)

    def run_yaml(self) -> dict[str, Any]:
        """The same call for `lm_eval run --config`."""
        data: dict[str, Any] = {
            "model": self.model,
            "model_args": self.model_args,
            "tasks": self.tasks,
            **self._written_options(),
        }
        if "seed" in data:  # of Python, numpy, torch and the few-shot draws
            seed = data["seed"]
            data["seed"] = list(seed) if isinstance(seed, tuple) else [seed] * 4
        if "fewshot_as_multiturn" in data:  # on the command line the word `true` or `false`
            data["fewshot_as_multiturn"] = data["fewshot_as_multiturn"] == "true"
        return data


def shell_line(argv: Iterable[str], env: Mapping[str, str]) -> str:
    """Words and variables as one line for a shell."""
    return " ".join([*shell_words(env), *(shlex.quote(word) for word in argv)])


def own_line(core: Core, *words: object, here: bool) -> str:
    """`evalprep` with these words as a line for a shell of the machine that runs the commands.

    Args:
        core: The configuration.
        words: The words.
        here: That machine has the Python environment of this one.
    """
    variables = _path_of_clone(core) if here else {}
    return shell_line([*evalprep_words(here=here), *map(str, words)], variables)


def _path_of_clone(core: Core) -> dict[str, str]:
    """The variable by which the Python of a command finds this project; none if it is installed."""
    if installed_version("evalprep"):
        return {}
    return {"PYTHONPATH": core.on_run_machine(Path(__file__).resolve().parents[2])}


def lm_eval_program() -> str:
    """The program `lm_eval` of this Python environment.

    The word alone, where a shell finds the same program by it or the environment has none; else its
    path.
    """
    own = Path(sys.executable).parent / "lm_eval"
    on_path = shutil.which("lm_eval")
    if not own.exists() or (on_path and Path(on_path).resolve() == own.resolve()):
        return "lm_eval"
    return str(own)


def _option_words(key: str, value: Any) -> list[str]:
    """One option as words of a command line."""
    if value is True:
        return [f"--{key}"]
    if isinstance(value, dict):
        text = _pairs(value)
    else:  # several seeds, or a value by itself
        text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    if text.startswith("-"):
        return [f"--{key}={text}"]  # a word of its own would be taken for an option
    return [f"--{key}", text]


def _pairs(values: Mapping[str, Any]) -> str:
    """`k=v,k=v`, or JSON where a value would not survive that form."""
    if all(_survives(value) for value in values.values()):
        return ",".join(f"{key}={value}" for key, value in values.items())
    return json.dumps(values, ensure_ascii=False)


def _survives(value: Any) -> bool:
    """Returns whether lm-eval reads a value back from `k=v` as it is."""
    if not isinstance(value, str):
        return value is None or isinstance(value, bool | int | float)
    return bool(_PLAIN.fullmatch(value)) and not _CAST.fullmatch(value)


def invocation(
    core: Core,
    share: Share,
    *,
    names: Sequence[str],
    model: str,
    local_only: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> Invocation:
    """Makes the call of one share.

    Args:
        core: The configuration.
        share: The tasks that run in it; its `add_bos_token` is written as it is.
        names: Names for `--tasks`.
        model: Model id or absolute folder.
        local_only: Everything that the run reads lies on this machine, so it may run without any
            network call.
        metadata: Entries that lm-eval writes into the metadata of every task.
    """
    record = BACKENDS[share.backend]
    machine_there = destination(
        core.device,
        core.target,
        model=model,
        folder=model_folder(model),
        moved=bool(core.path_prefix),
        copies=core.data_parallel_size if record.splits_model else None,
    )
    request = Request(
        model=core.on_run_machine(model),
        machine=Machine(
            cpu=machine_there.cpu, nodes=machine_there.nodes, cache_gib=_cache_gib(model)
        ),
        chat=share.chat,
        add_bos_token=share.add_bos_token,
    )
    arguments = record.arguments(core, request)
    notes = arguments.notes + record.asks_for(core, request)
    if machine_there.note and record.loads_model:
        notes.append(
            f"the command is for a machine with GPUs: {machine_there.note}; "
            "`target: {gpus: N}` describes that machine, `device: cpu` keeps the run on this one"
        )
    # Variables that the call needs whatever its back end.
    offline = local_only and record.loads_model
    variables: dict[str, str] = {}
    if core.verbosity != "INFO":
        variables["LMEVAL_LOG_LEVEL"] = core.verbosity
    if offline:
        variables["HF_HUB_OFFLINE"] = "1"
    # The words that call lm_eval, or what stands in its place for chats of a back end.
    here = machine_there.here
    program = [lm_eval_program() if here else "lm_eval"]
    if share.chat and record.chat_module:
        program = [sys.executable if here else "python3", "-P", "-m", record.chat_module]
    return Invocation(
        model=record.model_type,
        model_args=_model_args(arguments.model_args, core, share),
        tasks=list(names),
        options=_options(core, share, metadata) | arguments.options,
        env=arguments.env | variables | _path_of_clone(core),
        notes=notes,
        program=program,
        ours=evalprep_words(here=here),
    )


def _model_args(written: Mapping[str, Any], core: Core, share: Share) -> dict[str, Any]:
    """The arguments of the back end, then those that the tasks ask for, then the user's own.

    The value of `add_bos_token` is decided before; it stays as the back end wrote it.
    """
    decided = {key: value for key, value in written.items() if key == ARGUMENT}
    of_tasks = {key: value for key, value in share.call.model_args.items() if key != ARGUMENT}
    # Arguments for a server mean nothing to an engine that a task has chosen in its place.
    elsewhere = share.backend != core.backend and BACKENDS[core.backend].address
    of_user = {} if elsewhere else dict(core.model_args)
    adapters = {name: core.on_run_machine(path) for name, path in adapters_in(of_user).items()}
    of_user |= adapters
    if isinstance(of_user.get("base_url"), str):  # lm-eval posts to an address as it is
        of_user["base_url"] = BACKENDS[share.backend].whole_address(of_user["base_url"])
    return {**written, **of_tasks, **of_user, **decided}


def _options(core: Core, share: Share, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    """Further keys of lm-eval's own configuration, in the order of the command line."""
    asked_seed = share.call.seed
    pack_decides = asked_seed is not None and not core.states("seed")
    options: dict[str, Any] = {
        "batch_size": core.batch_size,
        "device": None,
        "include_path": core.on_run_machine(core.work_dir),
        "output_path": core.on_run_machine(core.output_path),
        "seed": asked_seed if pack_decides else core.seed,
        "limit": share.limit,
        "log_samples": core.log_samples,
        "show_config": core.show_config,
        "num_fewshot": core.num_fewshot,
        "system_instruction": core.system_instruction,
        "gen_kwargs": core.gen_kwargs or None,
        "apply_chat_template": share.chat,
    }
    if core.fewshot_as_multiturn is not None:
        options["fewshot_as_multiturn"] = str(core.fewshot_as_multiturn).lower()
    options["metadata"] = dict(metadata) if metadata else None
    return options


def command(name: str, call: Invocation, share: Share, *, sole: bool) -> Command:
    """The call as the manifest has it."""
    return Command(
        name=name,
        tasks=share.tasks,
        argv=tuple(call.argv()),
        env=call.env,
        engine={"backend": share.backend, "model_args": call.model_args},
        depth=share.depth,
        file="run.yaml" if sole else f"run-{name}.yaml",
    )


def _cache_gib(model: str) -> Any:
    """GiB of key-value cache that one sequence of full length fills, at least 1.

    VLLM does not start with less.
    """

    def gib(tokens: int, dtype: str) -> int:
        shape = model_shape(Path(model)) if is_folder(Path(model)) else None
        if not shape:
            return 1
        bytes_of_value = 4 if dtype in {"float32", "float"} else 2
        return max(1, math.ceil(shape.kv_bytes(tokens, bytes_of_value) / 2**30))

    return gib


def model_location(core: Core, folder: Path) -> tuple[str, bool, list[str]]:
    """The model as it goes into the command, whether it is local, and notes for the user.

    A local folder becomes an absolute path without a trailing slash; everything else is taken for a
    hub id.
    """
    path = place(core.model_name, folder)
    if is_folder(path):
        return str(path.resolve()), True, []
    looks_local = core.model_name.startswith((".", "/", "~")) or core.model_name.count("/") > 1
    if looks_local:
        return str(path.resolve()), True, [f"the model folder {path.resolve()} does not exist yet"]
    return core.model_name, False, []
