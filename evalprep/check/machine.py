"""EP7: the model's files, the machine, installed packages and the command's own arguments."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from evalprep.backends import DATA_PARALLEL, TENSOR_PARALLEL, is_here, sizes_of_settings
from evalprep.check.data import listed
from evalprep.check.finding import Findings
from evalprep.check.functions import function_refs
from evalprep.check.imports import is_importable
from evalprep.check.memory import card_of, model_memory, report_memory
from evalprep.check.remotecode import check_remote_code
from evalprep.check.settings import RunSettings
from evalprep.check.tree import FunctionRef, Leaf
from evalprep.credentials import is_secret
from evalprep.model import ModelShape, core_count, model_folder, model_shape
from evalprep.packs import installed_version
from evalprep.places import is_file, place
from evalprep.terminal import counted

# What docs/running.md says of Ray on a machine without GPUs.
_PRETENDED = (
    "device: gpu, to prepare here what a machine with GPUs will run; or data_parallel_size: 1; or "
    "`export RAY_ADDRESS=127.0.0.1:6391 RAY_AUTH_MODE=disabled` and `ray start --head "
    "--node-ip-address=127.0.0.1 --port=6391 --num-gpus={0} --num-cpus={0} "
    "--include-dashboard=false --disable-usage-stats`, and prepare again (`ray stop` ends it)"
)
_ELSEWHERE = (
    "correct the path, or download the model; where it lies on another machine: device: gpu, or "
    "target: {gpus: N}"
)
#: Argument of a back end -> the package that it needs beside the back end.
_NEEDED_BY_ARGUMENT = {
    "peft": "peft",
    "load_in_4bit": "bitsandbytes",
    "load_in_8bit": "bitsandbytes",
}
_LIKELIHOOD = {"multiple_choice", "loglikelihood", "loglikelihood_rolling"}
# Names of modules whose functions parse LaTeX or need NLTK's data, as they occur in `!function`
# references.
_LATEX = re.compile(r"(^|[._])(math|minerva|latex)")
_NLTK_IFEVAL = re.compile(r"lm_eval\.tasks\.ifeval|^instructions")
MIN_DISK = 512 * 2**20
# lm-eval writes each prompt twice into the sample log, and datasets keeps an uncompressed copy.
DISK_FACTOR = 4


def check_machine(
    leaves: list[Leaf], settings: RunSettings, findings: Findings, *, data_bytes: int = 0
) -> None:
    """Everything about the run that is no task's own.

    Packages and disk where it is for this machine.
    """
    check_model(settings, findings)
    _check_gpus(settings, findings)
    _check_served(settings, findings)
    _check_arguments(leaves, settings, findings)
    if settings.destination.here:
        # Variables of this shell with which the engine fails.
        for name in sorted(settings.record.fails_with if settings.record is not None else ()):
            if value := os.environ.get(name):
                what = f"{name}={value} is set"
                findings.add("EP732", "backend", what, fix=f"`unset {name}`")
        _check_packages(leaves, settings, findings)
        _check_disk(settings, findings, data_bytes)


def check_model(settings: RunSettings, findings: Findings) -> None:
    """The model's path and shape."""
    name = settings.model
    if not name or settings.backend is None or not settings.has_model:
        return
    # The command that we print has the absolute path. lm-eval would make a hidden folder of
    # other paths.
    if not settings.ours and (name.startswith("./") or (name.endswith("/") and name != "/")):
        what = f"the model is written {name!r}"
        findings.add("EP701", "model_name", what)
    folder = model_folder(name, settings.folder)
    if folder is None:
        _check_absent(name, settings, findings)
        return
    config_file = folder / "config.json"
    if not config_file.is_file():
        # It may hold GGUF files, of which one has to be named.
        weights = min(folder.glob("*.gguf"), default=None)
        fix = "" if weights is None else _weights_file(weights)
        if "gguf_file" not in settings.core.model_args:
            findings.add("EP702", "model_name", f"{folder} has no config.json", fix=fix)
        return
    check_remote_code(folder, settings, findings)
    shape = model_shape(folder)
    if shape is not None:
        _check_shape(shape, settings, findings)


def _weights_file(path: Path) -> str:
    """Returns how a model is named that is one file of weights."""
    if path.suffix.lower() != ".gguf":
        return "name the folder that holds its config.json"
    model_args = f"{{gguf_file: {path.name}}}"
    model_name = f"model_name: {path.parent}"
    with_hf = f"backend: hf, {model_name} and model_args: {model_args}"
    with_server = "serve it with llama.cpp and take backend: local-completions"
    return f"{with_hf}; or {with_server}"


def _check_absent(name: str, settings: RunSettings, findings: Findings) -> None:
    """A name of no folder here: a single file, or what looks like a folder."""
    path = place(name, settings.folder)
    starts_as_path = name.startswith((".", "/", "~"))
    looks_local = starts_as_path or name.count("/") > 1
    if is_file(path):
        what = f"{path} is a single file"
        findings.add("EP702", "model_name", what, fix=_weights_file(path))
    elif looks_local and not settings.destination.here:
        what = f"{name} is not a folder on this machine"
        findings.add("EP730", "model_name", what)
    elif looks_local:
        what = f"{name} is not a folder"
        findings.add("EP702", "model_name", what, fix=_ELSEWHERE)


def _check_shape(shape: ModelShape, settings: RunSettings, findings: Findings) -> None:
    """Checks that the model can be split as the config says.

    It must fit the memory and have the context length, too.
    """
    if settings.splits_model:
        # The parts of a model that GPUs share, and their memory.
        uneven = _uneven_heads(shape, settings.core.tensor_parallel_size)
        if uneven:
            findings.add("EP710", TENSOR_PARALLEL, uneven)
        machine = settings.destination
        card = None if machine.cpu else card_of(machine)
        if card is not None:
            memory = model_memory(shape, settings, card)
            report_memory(memory, settings, findings)
    length, context = settings.max_model_len, shape.context
    if length and context and length > context:
        what = f"max_model_len {length}, and the model has {context}"
        findings.add("EP711", "max_model_len", what)


def _uneven_heads(shape: ModelShape, gpus: int) -> str:
    """The heads that cannot be shared out evenly; empty where all can."""
    if shape.heads % gpus:
        return f"{shape.heads} attention heads over {gpus} GPUs"
    # vLLM divides them, or gives several GPUs the same one.
    fewer, more = sorted((shape.kv_heads, gpus))
    if more % fewer:
        return f"{shape.kv_heads} key and value heads over {gpus} GPUs"
    return ""


def _check_gpus(settings: RunSettings, findings: Findings) -> None:
    """Checks that the machine has the GPUs that the parts of the model need."""
    if not settings.splits_model:
        return
    machine = settings.destination
    sizes = sizes_of_settings(settings.core)
    if machine.gpus is None:
        what = machine.note or "device: gpu, and this machine shows none"
        findings.add("EP730", "device", what)
    elif not machine.cpu and sizes.gpus > machine.gpus:
        what = f"{sizes.gpus} GPUs are asked for, there are {machine.gpus}"
        findings.add("EP703", TENSOR_PARALLEL, what)
    if sizes.data > 1:
        if settings.core.model_args.get("enable_expert_parallel"):
            what = f"is {sizes.data}, and model_args sets enable_expert_parallel"
            findings.add("EP734", DATA_PARALLEL, what)
        # For several copies of a model, lm-eval needs Ray, with GPUs that it can see.
        if machine.cpu and "RAY_ADDRESS" not in os.environ:
            what = f"data_parallel_size {sizes.data}, and this machine shows no GPU"
            fix = _PRETENDED.format(sizes.data)
            findings.add("EP727", DATA_PARALLEL, what, fix=fix)
        if machine.here:
            token = Path.home() / ".ray" / "auth_token"
            if "RAY_AUTH_MODE" not in os.environ and token.is_file():
                what = f"{token} is there, and RAY_AUTH_MODE is not set"
                findings.add("EP728", DATA_PARALLEL, what)
            if not is_importable("ray") and is_importable("vllm"):
                findings.add("EP718", DATA_PARALLEL, "ray is not installed")


def _check_served(settings: RunSettings, findings: Findings) -> None:
    """Checks the copies of a printed server against the GPUs or the cores of its nodes."""
    core, record = settings.core, settings.record
    if record is None or not record.is_served:
        return
    if core.target is None and not is_here(core):
        return  # nothing is known of the server's machine
    machine = settings.destination
    sizes = sizes_of_settings(core)
    copies_per_node = sizes.data // machine.nodes
    needed = sizes.gpus_per_copy * copies_per_node
    if machine.cpu:
        # Each part of the server gets a core of its own, unless the user has a layout in which
        # copies may share cores.
        layout = os.environ.get("VLLM_CPU_OMP_THREADS_BIND", "auto")
        available = core_count()
        if machine.here and layout == "auto" and needed > available:
            cores = counted(available, "core")
            demand = f"the server's copies ask for {needed} cores"
            what = f"{demand}; this process may use {cores} and no GPU"
            findings.add("EP733", DATA_PARALLEL, what)
    elif machine.gpus is not None and needed > machine.gpus:
        demand = f"{needed} GPUs are asked for on each node of the server"
        what = f"{demand}, there are {machine.gpus}"
        findings.add("EP703", DATA_PARALLEL, what)


def _check_packages(leaves: list[Leaf], settings: RunSettings, findings: Findings) -> None:
    """Packages of the harness, the back end and the scorers."""
    harness = installed_version("lm_eval")
    if not harness:
        findings.add("EP707", "lm_eval", "is not installed")
    else:
        parts = re.findall(r"\d+", harness)[:3]
        numbers = tuple(map(int, parts))
        if not (0, 4, 12) <= numbers < (0, 5, 0):
            shown = ".".join(map(str, numbers))
            findings.add("EP707", "lm_eval", f"version {shown}")
    record = settings.record
    module = record.package if record is not None else ""
    if module and not is_importable(module):
        findings.add("EP712", "backend", f"{module} is not installed here")
    for argument, needed in _NEEDED_BY_ARGUMENT.items():
        if settings.core.model_args.get(argument) and not is_importable(needed):
            where = f"model_args.{argument}"
            findings.add(
                "EP712", where, f"{needed} is not installed here", fix=f"pip install {needed}"
            )
    _check_latex(leaves, findings)
    splitting = _leaves_with(leaves, _needs_punkt)
    if splitting:
        leaf = splitting[0]
        # The data with which NLTK splits sentences.
        what = f"{leaf.name} splits sentences with NLTK"
        data = punkt_tab()
        if data is None:
            findings.add_at("EP705", leaf, "process_results", what)
        elif _is_refused(data):
            what = f"{what}, which refuses to open {data}: its files are hard links"
            root = data.parent.parent
            fix = f"cp -r {root} NEW_FOLDER, then set NLTK_DATA to the new folder"
            findings.add_at("EP705", leaf, "process_results", what, fix=fix)


def _check_latex(leaves: list[Leaf], findings: Findings) -> None:
    """Checks the version of ANTLR, by which scorers parse LaTeX."""

    def parses_latex(ref: FunctionRef) -> bool:
        return _LATEX.search(ref.spec) is not None

    parsing = _leaves_with(leaves, parses_latex)
    runtime = installed_version("antlr4-python3-runtime") or "absent"
    if not parsing or runtime.startswith("4.11"):
        return
    names = [leaf.name for leaf in parsing]
    what = f"is {runtime}, and {', '.join(names)} parse LaTeX"
    findings.add("EP706", "antlr4-python3-runtime", what, task=names[0])


def _leaves_with(leaves: list[Leaf], holds: Callable[[FunctionRef], bool]) -> list[Leaf]:
    """The tasks that name a function for which something holds."""
    naming = []
    for leaf in leaves:
        refs = function_refs(leaf.config)
        if any(map(holds, refs)):
            naming.append(leaf)
    return naming


def _needs_punkt(ref: FunctionRef) -> bool:
    """Returns whether a function is lm-eval's IFEval or a copy of it.

    Ours has a sentence splitter of its own.
    """
    if _NLTK_IFEVAL.search(ref.spec):
        return True
    if ref.spec.startswith("custom_metrics."):
        return False
    return (ref.folder / "instructions_util.py").exists()


def punkt_tab() -> Path | None:
    """NLTK's sentence data, looked for where NLTK looks, without importing it."""
    variable = os.environ.get("NLTK_DATA", "")
    named = [Path(name) for name in variable.split(os.pathsep) if name]
    system = [Path("/usr", part) for part in _SYSTEM_FOLDERS]
    python = [Path(sys.prefix, part) for part in ("", "share", "lib")]
    usual = [Path.home(), *system, *python]
    folders = named + [place / "nltk_data" for place in usual]
    for folder in folders:
        for name in ("punkt_tab", "punkt_tab.zip"):
            path = folder / "tokenizers" / name
            if path.exists():
                return path
    return None


def _is_refused(data: Path) -> bool:
    """Returns whether the installed NLTK refuses to open its data, as 3.10 does with hard links."""
    numbers = re.findall(r"\d+", installed_version("nltk"))[:2]
    if tuple(map(int, numbers)) < (3, 10):
        return False
    files = data.rglob("*") if data.is_dir() else [data]
    return any(file.is_file() and file.stat().st_nlink > 1 for file in files)


_SYSTEM_FOLDERS = ("share", "local/share", "lib", "local/lib")


def _check_arguments(leaves: list[Leaf], settings: RunSettings, findings: Findings) -> None:
    """Keys of the command that contradict each other, the tasks, or good practice."""
    core, arguments = settings.core, settings.core.model_args
    for key, value in arguments.items():
        if is_secret(key, value):
            what = "is written into the results of the run"
            findings.add("EP708", f"model_args.{key}", what)
    has_both = {"max_length", "max_model_len"} <= arguments.keys()
    gen_kwargs = ", ".join(f"{key}={value}" for key, value in core.gen_kwargs.items())
    is_sized = settings.splits_model and isinstance(core.batch_size, int)
    thinks = arguments.get("enable_thinking") is True and not arguments.get("think_end_token")
    adapter = arguments.get("lora_local_path", "")
    for code, where, is_found, what in (
        ("EP721", "model_args", has_both, "max_length and max_model_len"),
        ("EP726", "model_args.lora_local_path", "lora_local_path" in arguments, str(adapter)),
        ("EP719", "model_args.enable_thinking", thinks, "without think_end_token"),
        ("EP714", "gen_kwargs", gen_kwargs, gen_kwargs),
        ("EP716", "log_samples", not core.log_samples, "is false"),
        ("EP720", "batch_size", is_sized, f"is {core.batch_size}"),
    ):
        if is_found:
            findings.add(code, where, what)
    _check_likelihoods(leaves, settings, findings)
    # No task without few-shot examples may be asked for some.
    without_shots = [leaf.name for leaf in leaves if leaf.config.get("num_fewshot") == 0]
    if core.num_fewshot and without_shots:
        tasks = listed(without_shots, "task")
        what = f"{core.num_fewshot}, and 0 in the file of {tasks}"
        findings.add("EP723", "num_fewshot", what)
    if settings.other_prompt_tasks:
        # How the chat template is set, and how it was where the published values were made.
        if settings.apply_chat_template:
            value, published = "true", "without"
        else:
            value, published = "false", "with"
        tasks = listed(settings.other_prompt_tasks, "task")
        published_prompt = f"the published values were made {published} a chat template"
        findings.add(
            "EP617", "apply_chat_template", f"is {value}, and {published_prompt} ({tasks})"
        )


def _check_likelihoods(leaves: list[Leaf], settings: RunSettings, findings: Findings) -> None:
    """Likelihood tasks on a model that thinks aloud, or on a back end that gives no likelihoods."""
    codes = ["EP719"] if settings.core.model_args.get("enable_thinking") is True else []
    record = settings.record
    if record is not None and "loglikelihood" not in record.abilities:
        codes.append("EP722")
    comparing = [leaf for leaf in leaves if leaf.output_type in _LIKELIHOOD]
    for code in codes:
        for leaf in comparing:
            what = f"{leaf.name} is a {leaf.output_type} task"
            findings.add_at(code, leaf, "output_type", what)


def _check_disk(settings: RunSettings, findings: Findings, data_bytes: int) -> None:
    if not settings.ours:
        return  # where the results will go is not known
    output = settings.core.output_path
    existing = next(path for path in (output, *output.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    needed = MIN_DISK + DISK_FACTOR * data_bytes
    if free < needed:
        free_gib, needed_gib = free / 2**30, needed / 2**30
        what = f"{free_gib:.1f} GiB free, about {needed_gib:.1f} GiB needed"
        findings.add("EP704", str(output), what)
