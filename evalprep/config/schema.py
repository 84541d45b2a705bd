"""The validated configuration.

The keys that every evaluation has, and one section of keys per pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from evalprep.backends import BACKENDS
from evalprep.errors import BadInput, Problems
from evalprep.packs import ConfigKey, Pack
from evalprep.places import WORK_DIR
from evalprep.structs import Mistake, Schema, any_of, document, plain_data, read_struct, schema_of
from evalprep.yamlfile import YamlFile

if TYPE_CHECKING:
    BackendName = str
else:
    BackendName = Literal[tuple(BACKENDS)]
Verbosity = Literal["CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"]
Count = Annotated[int, Meta(ge=0)]
Size = Annotated[int, Meta(ge=1)]
Arguments = dict[Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*\Z")], Any]
#: No longer than a path may be on Linux.
ModelName = Annotated[str, Meta(pattern=r"^\S(.*\S)?\Z", max_length=4096)]


class Target(Struct, frozen=True, forbid_unknown_fields=True):
    """The machine that will run the command, where it is another one than this."""

    gpus: Count
    gpu_memory: Annotated[float, Meta(gt=0)] | None = None
    gpu: str | None = None
    nodes: Size = 1


def _listed(value: object) -> object:
    if value is None:
        return ()
    return [value] if isinstance(value, str | Path) else value


def _listed_numbers(value: object) -> object:
    return [value] if isinstance(value, int) else _listed(value)


class Checkpoint(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `models`."""

    model_name: ModelName
    adapter: ModelName | None = None
    model_revision: str | None = None
    model_args: Arguments = field(default_factory=dict)


class Core(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys that every evaluation has, whatever the pack.

    Paths are absolute here: in the file they are relative to the file's own folder, so that a
    config means the same from every working directory.

    Attributes:
        model_name: Hub id or local folder of the model; `lm_eval` gets it as `pretrained=`.
        tasks: Names of tasks and groups of packs, names of lm-eval's own tasks, task files or
            folders of them (`mytasks/a.yaml`), or mappings; a comma list or a YAML list. `{task:
            hellaswag, dataset_path: ...}` changes keys of one of lm-eval's own tasks; with
            `doc_to_text` and a new name it is a whole task. The default is that of the pack.
        backend: What runs the model: `vllm`, `hf`, `vllm-server`, `local-completions`,
            `local-chat-completions`, `openai-chat-completions`, `anthropic-chat-completions`,
            `stored` (the replies are in the data) or `dummy` (an empty reply to everything, to
            test a pack).
        device: `auto` looks for a GPU here, unless `target` describes another machine or the
            model does not fit the memory of this one; `cpu` and `gpu` overrule that.
        target: The machine that will run the command, where it is another one: `{gpus: 8,
            gpu_memory: 80, gpu: H100}`, `gpu_memory` in GiB of each GPU; `nodes` is the number of
            such machines behind one `vllm-server`. Findings about this machine are then notes.
        model_revision: Branch, tag or commit of the model.
        adapter: Folder or hub id of a LoRA adapter: `hf` gets it as `peft=`, `vllm` as
            `lora_local_path=`. Without `model_name` its `adapter_config.json` names the base model.
        models: Several models that share the work folder, in place of `model_name`: ids, folders,
            patterns of folders, or mappings with `model_name`, `adapter`, `model_revision`,
            `model_args`.
        tensor_parallel_size: GPUs of one copy of the model.
        data_parallel_size: Copies of the model; the run uses the product of the two in GPUs.
        gpu_memory_utilization: Share of the GPU's memory, above 0, at most 1; on a CPU at most
            0.2 of main memory.
        max_model_len: Longest prompt plus reply, in tokens. Without the key it is at most the
            shortest context of the models.
        dtype: `auto`, `float32`, `float16` or `bfloat16`. `auto` is the checkpoint's own type on
            a GPU and float32 on a CPU, where replies then do not depend on the batch.
        batch_size: `auto`, `auto:N` or a number. `auto` gives all prompts to vLLM at once; it is
            8 for `hf` on a CPU and 1 for servers.
        add_bos_token: true or false for all tasks. null: as the task asks (`meta` true; `science`
            false on vllm and hf), else as the tokenizer does by itself.
        seed: Seed of lm-eval and of the engine, except for tasks that ask for another one.
        model_args: Further arguments of the back end, such as `base_url`. Credentials are
            refused.
        gen_kwargs: Generation settings that overrule those of all tasks.
        apply_chat_template: true or false for all tasks; null leaves it to each task. Prompts
            that already hold chat turns refuse true.
        system_instruction: System message.
        fewshot_as_multiturn: Shots as turns of a chat.
        num_fewshot: Number of shots; overrules tasks, except those that state 0.
        repeats: Replies to each prompt, for all tasks (`8`) or by task and group (`{gsm8k: 8}`).
        pass_at: The k of pass@k and maj@k, such as `[1, 4, 8]`; by default the number of repeats.
        limit: Samples of each task: a number from 1, a share below 1, or null for all.
        lock: true keeps the commits of hub data sets in `eval_config.lock` beside the config.
            Later preparations read the same commits and print which branches have moved.
        log_samples: Files with every sample, which all comparisons need.
        show_config: lm_eval prints the configuration of each task.
        verbosity: CRITICAL, ERROR, WARNING, INFO or DEBUG: what the preparation prints, and the
            level of lm-eval.
        rows_per_file: Most rows of one parquet file. A task's data are then the files of a
            folder, `data/TASK/00000-of-00003.parquet`, in the order of the rows; null for one
            file.
        output_path: Folder for the results of lm_eval. It must be writable and may not lie in
            `work_dir`.
        work_dir: Folder of the generated tasks and data. Each preparation replaces it and keeps
            your edits.
        path_prefix: How paths of this machine begin on the machine that runs: `{/home/me/project:
            /scratch/me/project}`. Task files, commands and the manifest have the paths of that
            machine.
        template_dir: Folder of further packs, or a list of such folders; they add to the packs of
            the project.
        include_path: Folder of your own lm-eval task files, or a list of such folders; their
            tasks, groups and tags may stand in `tasks`, and go before lm-eval's own.
    """

    model_name: Annotated[
        ModelName,
        Meta(
            description="a model id or a local folder, on one line, of at most 4,096 characters, "
            "without spaces around it",
            extra={"also": (type(None),)},  # the base model of an adapter
        ),
    ]
    tasks: Annotated[
        tuple[str | dict[str, Any], ...],
        Meta(
            min_length=1,
            description="task or group names, as a comma list or a YAML list; a mapping is a "
            "whole task",
            extra={"also": (str,)},
        ),
    ]
    backend: BackendName = "vllm"
    device: Literal["auto", "cpu", "gpu"] = "auto"
    target: Annotated[
        Target | None,
        Meta(
            description="the machine that will run: {gpus: 8, gpu_memory: 80 (GiB each), "
            "gpu: H100}; nodes: 4 for a server on 4 such machines"
        ),
    ] = None
    model_revision: Annotated[
        str | None, Meta(description="a branch, tag or commit of the model")
    ] = None
    adapter: Annotated[
        ModelName | None,
        Meta(
            description="folder or hub id of a LoRA adapter; without model_name its "
            "adapter_config.json names the base model"
        ),
    ] = None
    models: Annotated[
        tuple[Checkpoint, ...],
        Meta(
            description="in place of model_name a list of models that share the work folder: ids, "
            "folders, patterns of folders (runs/*/checkpoint-*), or mappings {model_name, "
            "adapter, model_revision, model_args}"
        ),
    ] = ()
    tensor_parallel_size: Size = 1
    data_parallel_size: Size = 1
    gpu_memory_utilization: Annotated[
        float, Meta(gt=0, le=1, description="a share of memory, 0 < x <= 1")
    ] = 0.9
    max_model_len: Size = 8192
    dtype: Literal["auto", "float32", "float16", "bfloat16", "half", "float"] = "auto"
    batch_size: Annotated[
        Size | Annotated[str, Meta(pattern=r"^auto(:[1-9]\d*)?\Z")],
        Meta(description="auto, auto:N or a number >= 1"),
    ] = "auto"
    add_bos_token: Annotated[
        bool | None,
        Meta(
            description="true or false for all tasks, or null for what each task asks for, else "
            "the tokenizer's own way"
        ),
    ] = None
    seed: Annotated[int, Meta(ge=0, lt=2**32)] = 42
    model_args: Annotated[
        Arguments, Meta(description="further arguments of the back end, {name: value}")
    ] = field(default_factory=dict)
    gen_kwargs: Annotated[
        Arguments,
        Meta(description="generation arguments that overrule all tasks, e.g. {max_gen_toks: 256}"),
    ] = field(default_factory=dict)
    apply_chat_template: Annotated[
        bool | None,
        Meta(description="true or false for all tasks, or null for what each task asks for"),
    ] = None
    system_instruction: str | None = None
    fewshot_as_multiturn: bool | None = None
    num_fewshot: Count | None = None
    repeats: Annotated[
        Size | dict[str, Size] | None,
        Meta(
            description="replies to each prompt, for all tasks or {task: number}; each is scored "
            "by itself, and pass@k, maj@k, their mean and their variance stand beside the task's "
            "own metrics"
        ),
    ] = None
    pass_at: Annotated[
        tuple[Size, ...],
        Meta(
            description="the k of pass@k and maj@k, e.g. [1, 4, 8]; the number of repeats where "
            "none is given",
            extra={"before": _listed_numbers, "also": (int, type(None))},
        ),
    ] = ()
    limit: Annotated[
        Size | Annotated[float, Meta(gt=0, lt=1)] | None,
        Meta(description="a number of samples >= 1, a share between 0 and 1, or null for all"),
    ] = None
    lock: bool = False
    log_samples: bool = True
    show_config: bool = False
    verbosity: Verbosity = "INFO"
    rows_per_file: Annotated[
        Size | None,
        Meta(
            description="a number >= 1, the most rows of one file of prepared data, or null for "
            "one file per task"
        ),
    ] = None
    output_path: Annotated[Path, Meta(description="a path")] = Path("eval_results")
    work_dir: Annotated[Path, Meta(description="a path")] = WORK_DIR
    path_prefix: Annotated[
        dict[str, str], Meta(description="{beginning of a path here: absolute path there}")
    ] = field(default_factory=dict)
    template_dir: Annotated[
        tuple[Path, ...],
        Meta(
            description="a folder with one sub-folder per pack, or a list of such folders",
            extra={"before": _listed, "also": (str, type(None))},
        ),
    ] = ()
    include_path: Annotated[
        tuple[Path, ...],
        Meta(
            description="a folder of lm-eval task files (YAML), or a list of such folders",
            extra={"before": _listed, "also": (str, type(None))},
        ),
    ] = ()
    _stated: frozenset[str] = frozenset()

    def states(self, key: str) -> bool:
        """Returns whether the user gave a key, be it its default."""
        return key in self._stated

    def changed(self, **keys: Any) -> Core:
        """Returns the same with other values, which are not validated.

        These keys count as given.
        """
        return msgspec.structs.replace(self, **keys, _stated=self._stated | keys.keys())

    def as_dict(self) -> dict[str, Any]:
        """Returns the keys as JSON-ready data."""
        return {name: plain_data(getattr(self, name)) for name in CORE_KEYS}

    def on_run_machine(self, path: Path | str) -> str:
        """A path of this machine as the machine that runs the command has it.

        The longest `path_prefix` counts.
        """
        text = str(path)
        for here in sorted(self.path_prefix, key=len, reverse=True):
            if text == here or text.startswith(f"{here.rstrip('/')}/"):
                return self.path_prefix[here].rstrip("/") + text[len(here.rstrip("/")) :] or "/"
        return text


#: The names of the core keys, in order.
CORE_KEYS = tuple(name for name in Core.__struct_fields__ if not name.startswith("_"))


def read_core(keys: Mapping[str, Any]) -> tuple[Core | None, list[Mistake]]:
    """Returns the core keys of a mapping, None where some are missing, and the mistakes in it."""
    core, mistakes = read_struct(Core, keys)
    if core is not None:
        core = msgspec.structs.replace(core, _stated=frozenset(keys))
    return core, mistakes


def config_schema(packs: Mapping[str, Pack], file: str) -> Schema:
    """Returns the JSON schema of eval_config.yaml.

    Args:
        packs: The packs whose sections it may have.
        file: Name of the schema's own file.
    """
    schema = schema_of(Core)
    del schema["required"]  # `--set`, `models` or an adapter may stand for each
    properties = schema["properties"]
    checkpoint = {**schema_of(Checkpoint), "required": []}
    model = any_of([{"type": "string"}, checkpoint])
    models = [model, {"type": "array", "items": model}, {"type": "null"}]
    properties["models"] = {"anyOf": models, "description": properties["models"]["description"]}
    for pack in packs.values():
        section = schema_of(section_model(pack))
        section.pop("required", None)  # a key may stand at top level
        for key in pack.config.values():
            if key.top_level:
                properties[key.name] = section["properties"][key.name]
        properties[pack.name] = {"description": pack.title, **any_of([section, {"type": "null"}])}
    return document("A configuration of evalprep", file, schema)


class Config:
    """A validated configuration.

    Attributes:
        core: The keys common to all packs.
        sections: Pack name -> validated keys of that pack (also those given at top level).
        source: The file as it was read, which knows the line of each key.
    """

    def __init__(self, core: Core, sections: Mapping[str, Struct], source: YamlFile) -> None:
        self.core = core
        self.sections = dict(sections)
        self.source = source

    @property
    def path(self) -> Path | None:
        """The file, None when made from text."""
        return self.source.path

    @property
    def folder(self) -> Path:
        """Folder that relative paths refer to."""
        return self.source.folder

    @property
    def lock_file(self) -> Path | None:
        """Returns where the commits of hub data sets are kept; None where they are not."""
        return self.path.with_suffix(".lock") if self.core.lock and self.path is not None else None

    def where(self, *keys: str | int) -> str:
        """Returns how a message names a key: `file:line (key)`."""
        return self.source.where(*keys)

    def replaced(self, **keys: Any) -> Config:
        """The same configuration with other values of core keys, which are not validated again."""
        return Config(self.core.changed(**keys), self.sections, self.source)

    def with_defaults(self, **keys: Any) -> Config:
        """The same configuration with other defaults of core keys, which do not count as given."""
        core = msgspec.structs.replace(self.core, **keys)
        return Config(core, self.sections, self.source)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready data, for the manifest."""
        data: dict[str, Any] = self.core.as_dict()
        for name, section in self.sections.items():
            data[name] = plain_data(section)
        return data


_PYTHON_TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "path": str,
    "source": str | dict[str, Any],  # its keys are read where it is opened
    "list": list[Any],
    "map": dict[str, Any],
    "any": Any,
}


def section_model(pack: Pack) -> type[Struct]:
    """Returns the struct of a pack's own keys, as its pack.yaml declares them."""
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for key in pack.config.values():
        annotation = _annotation(key)
        if key.doc:
            annotation = Annotated[annotation, Meta(description=key.doc)]
        default = field(default_factory=partial(deepcopy, key.default))
        fields.append((key.name, annotation) if key.required else (key.name, annotation, default))
    return msgspec.defstruct(
        f"{pack.name}_section", fields, frozen=True, kw_only=True, forbid_unknown_fields=True
    )


def _annotation(key: ConfigKey) -> Any:
    """The type that a key of a pack declares, without its description."""
    is_optional = not key.required and key.default is None
    if key.choices:
        choices = (*key.choices, None) if is_optional else key.choices
        if all(type(choice) in {str, int, type(None)} for choice in choices):
            return Literal[tuple(choices)]
        return Annotated[Any, Meta(extra={"choices": choices})]
    kinds = [_bounded(_PYTHON_TYPES[kind], key) for kind in key.types]
    annotation = kinds[0]
    for kind in kinds[1:]:
        annotation = annotation | kind
    return annotation | None if is_optional else annotation


def _bounded(kind: Any, key: ConfigKey) -> Any:
    """A type within the bounds of a key, where it is one of numbers."""
    if kind not in {int, float} or (key.minimum is None and key.maximum is None):
        return kind
    return Annotated[kind, Meta(ge=key.minimum, le=key.maximum)]


def read_section(pack: Pack, keys: Mapping[str, Any]) -> tuple[Struct | None, list[Mistake]]:
    """Returns a pack's own keys out of a mapping, and the mistakes in it.

    The keys are None where some are missing.
    """
    return read_struct(section_model(pack), keys)


def section_for(config: Config, pack: Pack) -> Struct:
    """The pack's section, with defaults when the file has none.

    Raises:
        BadInput: a required key of a pack that is needed is missing.
    """
    section = config.sections.get(pack.name)
    if section is not None:
        return section
    section, mistakes = read_section(pack, {})
    if section is not None:
        return section
    problems = Problems()
    for mistake in mistakes:
        key = pack.config[str(mistake.keys[0])]
        problems.add(
            f"{key.name} is missing, and the pack {pack.name} needs it",
            where=config.source.name,
            allowed=key.doc,
            fix=_example(pack, key),
        )
    raise BadInput(problems.found)


def _example(pack: Pack, key: ConfigKey) -> str:
    return f"add `{key.name}: ...`" if key.top_level else f"add `{pack.name}: {{{key.name}: ...}}`"
