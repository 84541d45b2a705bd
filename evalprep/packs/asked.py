"""What a run asks, and whom: everything that its id covers.

Two runs of one id have the same requests, gold answers and answerer. How replies are read (filters,
metrics, scorers) is not in it: a mended scorer reads saved replies anew, and the run stays. Nor is
what speed, memory and this machine decide: batches, devices, copies, ports of a local server.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalprep.files import as_mapping, read_file, unchanged_sha256
from evalprep.hosts import without_own_port
from evalprep.packs.datafiles import task_of
from evalprep.packs.plan import Plan, TaskPlan, as_json
from evalprep.places import last_part
from evalprep.yamltext import Loader, NotYaml, compose, sorted_json

#: Keys of the config that are part of the question, beside the task files and the commands.
QUESTION_KEYS = (
    "model_revision",
    "max_model_len",
    "dtype",
    "seed",
    "limit",
    "num_fewshot",
    "apply_chat_template",
    "system_instruction",
    "fewshot_as_multiturn",
    "gen_kwargs",
)
#: Keys of a task or a group that decide how replies are read, shown and summed up.
READING_KEYS = frozenset(
    {
        "aggregate_metric_list",
        "doc_to_decontamination_query",
        "filter_list",
        "group_alias",
        "metadata",
        "metric_list",
        "process_results",
        "should_decontaminate",
        "tag",
        "task_alias",
        "weight_by_size",
    }
)
#: Fields of a planned task that decide its requests; its own YAML and data say the rest.
_FIELDS = ("name", "stock", "overrides", "after", "local_data")
#: Keys of a run configuration that change no request.
_MANNER = frozenset(
    {
        "batch_size",
        "confirm_run_unsafe_code",
        "device",
        "hf_hub_log_args",
        "include_path",
        "log_samples",
        "max_batch_size",
        "output_path",
        "show_config",
        "trust_remote_code",
        "verbosity",
        "wandb_args",
        "wandb_config_args",
    }
)
#: Arguments of a back end that change no request and no answerer.
_MANNER_OF_BACKEND = frozenset(
    {
        "auth_token",
        "batch_size",
        "cache_dir",
        "cpu_offload_gb",
        "data_parallel_size",
        "device",
        "device_map",
        "device_map_option",
        "disable_custom_all_reduce",
        "disable_log_stats",
        "distributed_executor_backend",
        "download_dir",
        "enable_chunked_prefill",
        "enable_prefix_caching",
        "enforce_eager",
        "gpu_memory_utilization",
        "header",
        "low_cpu_mem_usage",
        "max_batch_size",
        "max_cpu_memory",
        "max_memory_per_gpu",
        "max_num_batched_tokens",
        "max_num_seqs",
        "max_retries",
        "num_concurrent",
        "offload_folder",
        "parallelize",
        "pipeline_parallel_size",
        "swap_space",
        "tensor_parallel_size",
        "timeout",
        "trust_remote_code",
        "verify_certificate",
    }
)
#: Entries of the metadata that evalprep writes, which name a call and ask nothing.
OWN_METADATA = frozenset({"run", "command", "try"})
_FUNCTION = "!function"


class Answerer(msgspec.Struct, frozen=True):
    """Who answers the requests of a run.

    Attributes:
        model: Model id or folder, as the commands name it.
        model_args: Arguments of the back end that are this model's alone among several.
        fingerprints: Path as the commands name it -> the fingerprint of the model there. A model
            without one is known by its name alone.
        replies: Digest of the first files with replies of another engine; empty where the back end
            answers.
    """

    model: str
    model_args: Mapping[str, Any] = msgspec.field(default_factory=dict)
    fingerprints: Mapping[str, str] = msgspec.field(default_factory=dict)
    replies: str = ""

    def facts(self) -> list[Any]:
        """The facts that the id of a run covers."""
        return [self.named(self.model), self.decisive(self.model_args), self.replies]

    def named(self, value: Any) -> Any:
        """A value; of a path with a model, the last part of it and the fingerprint."""
        known = self.fingerprints.get(value) if isinstance(value, str) else None
        return [last_part(str(value)), known] if known else value

    def decisive(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a back end that decide requests or who answers them."""
        kept = {
            key: self.named(value)
            for key, value in arguments.items()
            if key not in _MANNER_OF_BACKEND
        }
        if isinstance(kept.get("base_url"), str):
            kept["base_url"] = without_own_port(kept["base_url"])
        return kept


def decisive_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a back end that are part of what a run asks, and whom.

    >>> decisive_arguments({"dtype": "float32", "num_concurrent": 4})
    {'dtype': 'float32'}
    """
    return Answerer("").decisive(arguments)


def run_id(
    answerer: Answerer,
    config: Mapping[str, Any],
    calls: Sequence[Mapping[str, Any]],
    plan: Plan,
    content: Mapping[str, str],
) -> str:
    """Returns the name of a run: `r` and 11 hexadecimal digits.

    They are a digest of everything that decides its requests, its gold answers, and who answers:
    the answerer, what the config says of prompts and generation for all tasks, the commands, the
    plan, and task files and data of the first stage, without the folder that they lie in. Another
    preparation of the same has the same id.

    Args:
        answerer: Who answers.
        config: The core keys of the configuration.
        calls: The run configuration of each command of the run.
        plan: The plan.
        content: What `first_stage` or `content_of` gives of the task files and data.
    """
    question = [config.get(key) for key in QUESTION_KEYS]
    tasks = [_asked_of(task) for task in plan.tasks.values()]
    commands = [asked_of_call(call, answerer) for call in calls]
    facts = [answerer.facts(), question, tasks, commands, dict(content)]
    text = sorted_json(facts)
    return "r" + hashlib.sha256(text.encode()).hexdigest()[:11]


def _asked_of(task: TaskPlan) -> dict[str, Any]:
    """The fields of a planned task that decide its requests."""
    data = as_json(task)
    kept = {key: data[key] for key in _FIELDS if key in data}
    if "overrides" in kept:
        kept["overrides"] = _asking_keys(kept["overrides"])
    return kept


def asked_of_call(call: Mapping[str, Any], answerer: Answerer) -> dict[str, Any]:
    """Returns the keys of a run configuration that decide its requests or who answers them."""
    kept = {key: value for key, value in call.items() if key not in _MANNER and value is not None}
    kept["model_args"] = answerer.decisive(as_mapping(kept.get("model_args")))
    metadata = as_mapping(kept.pop("metadata", None))
    more = {key: value for key, value in metadata.items() if key not in OWN_METADATA}
    return {**kept, **({"metadata": more} if more else {})}


def first_stage(plan: Plan, folder: Path, work_dir: Path) -> dict[str, str]:
    """Returns path -> digest of what the task files and data of the first stage ask.

    Args:
        plan: The plan.
        folder: Where the task files lie now.
        work_dir: The folder that they name.
    """
    later = {name for name, task in plan.tasks.items() if task.after}
    return content_of(folder, work_dir, without=later)


def content_of(folder: Path, work_dir: Path, *, without: Collection[str] = ()) -> dict[str, str]:
    """Returns path -> digest of what task files and data ask, the edits of the user included.

    Args:
        folder: Where the task files lie now.
        work_dir: The folder that they name.
        without: Tasks whose files are left out.
    """
    content: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        # In the folder itself lie the run configurations and the manifest.
        if path.parent == folder or task_of(name) in without or not path.is_file():
            continue
        if path.suffix == ".parquet":
            content[name] = unchanged_sha256(path)
        elif path.suffix == ".yaml":
            content[name] = asked_digest(path, work_dir)
    return content


def asked_digest(path: Path, work_dir: Path) -> str:
    """Returns a digest of what a task YAML asks: of its values, without those that read replies.

    Args:
        path: The file.
        work_dir: The folder that its paths are in, which does not count.
    """
    text = read_file(path, own=True).replace(str(work_dir).encode(), b"")
    try:
        value = _stated(text, path)
    except (NotYaml, UnicodeDecodeError):
        return hashlib.sha256(text).hexdigest()
    return hashlib.sha256(sorted_json(_asking_keys(value)).encode()).hexdigest()


def _stated(text: bytes, path: Path, seen: tuple[Path, ...] = ()) -> Any:
    """What a task YAML states, with what it includes, and the source of each function.

    Raises:
        NotYaml, UnicodeDecodeError: the file, or one that it includes, cannot be read as YAML.
    """
    value, _ = compose(text.decode("utf-8"), Loader, {_FUNCTION: _named_function})
    if not isinstance(value, Mapping) or path in seen:
        return value
    own = dict(value)
    merged: dict[str, Any] = {}
    for name in _listed(own.pop("include", [])):
        file = path.parent / str(name)
        try:
            included = _stated(read_file(file, own=True), file, (*seen, path))
        except OSError:
            return _with_sources(value, path.parent)
        merged |= as_mapping(included)
    return merged | _with_sources(own, path.parent)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _named_function(_loader: Any, node: Any) -> dict[str, str]:
    return {_FUNCTION: str(node.value)}


def _asking_keys(value: Any) -> Any:
    """A task or group without the keys that read replies, members of a group included."""
    if not isinstance(value, Mapping):
        return value
    # The code of such a task may make its requests of what its metadata say.
    is_code = "class" in value or "custom_dataset" in value
    reading = READING_KEYS - {"metadata"} if is_code else READING_KEYS
    kept = {key: entry for key, entry in value.items() if key not in reading}
    if isinstance(kept.get("task"), list):
        kept["task"] = [_asking_keys(member) for member in kept["task"]]
    return kept


def _with_sources(value: Any, folder: Path) -> Any:
    """A value with the source of each function of a module beside the YAML in place of its name.

    The class of a whole task stays a name: it holds its scorer, too.
    """
    if isinstance(value, Mapping):
        if set(value) == {_FUNCTION}:
            return [value[_FUNCTION], _source_of(str(value[_FUNCTION]), folder)]
        return {
            key: entry if key == "class" else _with_sources(entry, folder)
            for key, entry in value.items()
        }
    if isinstance(value, list):
        return [_with_sources(entry, folder) for entry in value]
    return value


def _source_of(function: str, folder: Path) -> str:
    """The code of a function and of what it uses of its module; empty for an installed module."""
    module, _, name = function.rpartition(".")
    path = folder / f"{module}.py"
    try:
        body = ast.parse(read_file(path, own=True)).body
    except (OSError, SyntaxError, ValueError):
        return ""
    definitions: dict[str, ast.stmt] = {}
    for node in body:
        definitions |= dict.fromkeys(_defined_by(node), node)
    used: dict[str, str] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        definition = definitions.get(current)
        if definition is None or current in used:
            continue
        used[current] = ast.dump(definition)
        waiting += [part.id for part in ast.walk(definition) if isinstance(part, ast.Name)]
    return json.dumps(used, sort_keys=True)


def _defined_by(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines; those that it imports are not of it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return [part.id for part in targets if isinstance(part.ctx, ast.Store)]
