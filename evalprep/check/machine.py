"""EP7: the model's files, the machine, installed packages and the command's own arguments."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evalprep.check.data import listed
from evalprep.check.finding import Findings
from evalprep.check.functions import function_refs
from evalprep.check.memory import card_of, model_memory, report_memory
from evalprep.check.settings import RunSettings, whole_number
from evalprep.check.tree import Leaf
from evalprep.credentials import is_secret
from evalprep.model.destination import Destination
from evalprep.model.files import model_folder
from evalprep.model.shape import model_shape

# What docs/running.md says of Ray on a machine without GPUs.
_PRETENDED = (
    "data_parallel_size: 1; or `export RAY_ADDRESS=127.0.0.1:6391 RAY_AUTH_MODE=disabled` and `ray start --head "
    "--node-ip-address=127.0.0.1 --port=6391 --num-gpus={0} --num-cpus={0} --include-dashboard=false "
    "--disable-usage-stats`, and prepare again (`ray stop` ends it); or device: gpu, to prepare here "
    "what a machine with GPUs will run"
)
_ELSEWHERE = (
    "correct the path, or download the model; where it lies on another machine: device: gpu, or target: {gpus: N}"
)
_LIKELIHOOD = {"multiple_choice", "loglikelihood", "loglikelihood_rolling"}
# Names of modules whose functions parse LaTeX or need NLTK's data, as they occur in `!function` references.
_LATEX = re.compile(r"(^|[._])(math|minerva|latex)")
_NLTK_IFEVAL = re.compile(r"lm_eval\.tasks\.ifeval|^instructions")
MIN_DISK = 512 * 2**20
# lm-eval writes each prompt twice into the sample log, and datasets keeps an uncompressed copy.
DISK_FACTOR = 4


def check_machine(leaves: list[Leaf], settings: RunSettings, findings: Findings, *, data_bytes: int = 0) -> None:
    """Everything about the run that is no task's own; packages and disk where it is for this machine."""
    there = settings.destination
    check_model(settings, findings)
    _check_gpus(settings, there, findings)
    _check_arguments(leaves, settings, findings)
    if there.here:
        _check_variables(settings, findings)
        _check_packages(leaves, settings, findings)
        _check_disk(settings, findings, data_bytes)


def check_model(settings: RunSettings, findings: Findings) -> None:
    """The model's path and shape."""
    name = settings.model
    if not name or settings.backend is None or not settings.has_model:
        return
    there = settings.destination
    # The command that we print has the absolute path.
    if not settings.ours and (name.startswith("./") or (name.endswith("/") and name != "/")):
        findings.add("EP701", "model_name", f"the model is written {name!r}")
    folder = model_folder(name, settings.folder)
    looks_local = name.startswith((".", "/", "~")) or name.count("/") > 1
    if folder is None:
        if looks_local and not there.here:
            findings.add("EP730", "model_name", f"{name} is no folder here")
        elif looks_local:
            findings.add("EP702", "model_name", f"{name} is no folder", fix=_ELSEWHERE)
        return
    if not (folder / "config.json").is_file() and not any(folder.glob("*.gguf")):
        findings.add("EP702", "model_name", f"{folder} has no config.json")
        return
    shape = model_shape(folder)
    if shape is None:
        return
    gpus = settings.core.tensor_parallel_size
    if settings.splits_model and shape.heads % gpus:
        findings.add("EP710", "tensor_parallel_size", f"{shape.heads} attention heads over {gpus} GPUs")
    elif settings.splits_model and max(shape.kv_heads, gpus) % min(shape.kv_heads, gpus):
        # vLLM divides them, or gives several GPUs the same one.
        findings.add("EP710", "tensor_parallel_size", f"{shape.kv_heads} key and value heads over {gpus} GPUs")
    if settings.splits_model and not there.cpu and (card := card_of(there)) is not None:
        report_memory(model_memory(shape, settings, card), settings, findings)
    if settings.max_model_len and shape.context and settings.max_model_len > shape.context:
        findings.add(
            "EP711", "max_model_len", f"max_model_len {settings.max_model_len}, and the model has {shape.context}"
        )


def _check_gpus(settings: RunSettings, there: Destination, findings: Findings) -> None:
    if not settings.splits_model:
        return
    core = settings.core
    pipeline = whole_number(core.model_args.get("pipeline_parallel_size")) or 1
    wanted = core.tensor_parallel_size * pipeline * core.data_parallel_size
    if there.gpus is None:
        findings.add("EP730", "device", there.note or "device: gpu, and this machine shows none")
    elif not there.cpu and wanted > there.gpus:
        findings.add(
            "EP703",
            "tensor_parallel_size",
            f"{wanted} GPUs are asked for, there are {there.gpus}",
        )
    if core.data_parallel_size > 1 and there.cpu and "RAY_ADDRESS" not in os.environ:
        copies = f"data_parallel_size {core.data_parallel_size}, and this machine shows no GPU"
        findings.add("EP727", "data_parallel_size", copies, fix=_PRETENDED.format(core.data_parallel_size))
    token = Path.home() / ".ray" / "auth_token"
    if core.data_parallel_size > 1 and there.here and "RAY_AUTH_MODE" not in os.environ and token.is_file():
        findings.add("EP728", "data_parallel_size", f"{token} is there, and RAY_AUTH_MODE is not set")
    if (
        there.here
        and core.data_parallel_size > 1
        and importlib.util.find_spec("ray") is None
        and importlib.util.find_spec("vllm") is not None
    ):
        findings.add("EP718", "data_parallel_size", "ray is not installed")


def _check_variables(settings: RunSettings, findings: Findings) -> None:
    for name in sorted(settings.record.fails_with if settings.record is not None else ()):
        if os.environ.get(name):
            findings.add("EP732", "backend", f"{name}={os.environ[name]} is set", fix=f"`unset {name}`")


def _check_packages(leaves: list[Leaf], settings: RunSettings, findings: Findings) -> None:
    try:
        found = tuple(int(part) for part in re.findall(r"\d+", version("lm_eval"))[:3])
        if not (0, 4, 12) <= found < (0, 5, 0):
            findings.add("EP707", "lm_eval", f"version {'.'.join(map(str, found))}")
    except PackageNotFoundError:
        findings.add("EP707", "lm_eval", "is not installed")
    module = settings.record.package if settings.record is not None else ""
    if module and importlib.util.find_spec(module) is None:
        findings.add("EP712", "backend", f"{module} is not installed here")
    latex = [leaf.name for leaf in leaves if any(_LATEX.search(ref.spec) for ref in function_refs(leaf.config))]
    if latex:
        try:
            runtime = version("antlr4-python3-runtime")
        except PackageNotFoundError:
            runtime = "absent"
        if not runtime.startswith("4.11"):
            findings.add(
                "EP706", "antlr4-python3-runtime", f"is {runtime}, and {', '.join(latex)} parse LaTeX", task=latex[0]
            )
    ifeval = [leaf for leaf in leaves if any(_needs_punkt(ref.spec, ref.folder) for ref in function_refs(leaf.config))]
    if ifeval and not punkt_tab():
        findings.add(
            "EP705",
            ifeval[0].where("process_results"),
            f"{ifeval[0].name} splits sentences with NLTK",
            task=ifeval[0].name,
        )


def _needs_punkt(spec: str, folder: Path) -> bool:
    """Whether a function is lm-eval's IFEval or a copy of it; ours has a sentence splitter of its own."""
    return bool(_NLTK_IFEVAL.search(spec)) or (
        not spec.startswith("custom_metrics.") and (folder / "instructions_util.py").exists()
    )


def punkt_tab() -> Path | None:
    """NLTK's sentence data, looked for where NLTK looks, without importing it."""
    places = [
        *os.environ.get("NLTK_DATA", "").split(os.pathsep),
        str(Path.home() / "nltk_data"),
        "/usr/share/nltk_data",
        "/usr/local/share/nltk_data",
        "/usr/lib/nltk_data",
        "/usr/local/lib/nltk_data",
    ]
    import sys

    places += [
        str(Path(sys.prefix, *parts)) for parts in (("nltk_data",), ("share", "nltk_data"), ("lib", "nltk_data"))
    ]
    for place in filter(None, places):
        for name in ("punkt_tab", "punkt_tab.zip"):
            if (path := Path(place, "tokenizers", name)).exists():
                return path
    return None


def _check_arguments(leaves: list[Leaf], settings: RunSettings, findings: Findings) -> None:
    args = settings.core.model_args
    for key, value in args.items():
        if is_secret(key, value):
            findings.add("EP708", f"model_args.{key}", "is written into the results of the run")
    if "max_length" in args and "max_model_len" in args:
        findings.add("EP721", "model_args", "max_length and max_model_len")
    likelihood = [leaf for leaf in leaves if leaf.output_type in _LIKELIHOOD]
    if args.get("enable_thinking") is True:
        if not args.get("think_end_token"):
            findings.add("EP719", "model_args.enable_thinking", "without think_end_token")
        for leaf in likelihood:
            findings.add(
                "EP719", leaf.where("output_type"), f"{leaf.name} is a {leaf.output_type} task", task=leaf.name
            )
    if settings.record is not None and "loglikelihood" not in settings.record.abilities:
        for leaf in likelihood:
            findings.add(
                "EP722", leaf.where("output_type"), f"{leaf.name} is a {leaf.output_type} task", task=leaf.name
            )
    if settings.core.num_fewshot and (zero := [leaf.name for leaf in leaves if leaf.config.get("num_fewshot") == 0]):
        findings.add(
            "EP723", "num_fewshot", f"{settings.core.num_fewshot}, and {listed(zero, len(zero), 'task')} say 0"
        )
    if "lora_local_path" in args:
        findings.add("EP726", "model_args.lora_local_path", f"{args['lora_local_path']}")
    if settings.core.gen_kwargs:
        findings.add(
            "EP714", "gen_kwargs", ", ".join(f"{key}={value}" for key, value in settings.core.gen_kwargs.items())
        )
    if not settings.core.log_samples:
        findings.add("EP716", "log_samples", "is false")
    if settings.splits_model and isinstance(settings.core.batch_size, int):
        findings.add("EP720", "batch_size", f"is {settings.core.batch_size}")


def _check_disk(settings: RunSettings, findings: Findings, data_bytes: int) -> None:
    if not settings.ours:
        return  # where the results will go is not known
    place = next(path for path in (settings.core.output_path, *settings.core.output_path.parents) if path.exists())
    free, needed = shutil.disk_usage(place).free, MIN_DISK + DISK_FACTOR * data_bytes
    if free < needed:
        findings.add(
            "EP704",
            str(settings.core.output_path),
            f"{free / 2**30:.1f} GiB free, about {needed / 2**30:.1f} GiB needed",
        )
