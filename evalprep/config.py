"""eval_config.yaml -> one validated object; every mistake is reported in one go, with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, ValidationError, create_model

from evalprep.errors import Problems, near
from evalprep.guards import check_paths, check_secrets
from evalprep.packs import ConfigKey, Pack
from evalprep.yamlfile import YamlFile

Backend = Literal["vllm", "hf", "local-completions", "dummy"]
Verbosity = Literal["CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"]
Size = Annotated[int, Field(strict=True, ge=1)]


class Core(BaseModel):
    """The keys that every evaluation has, whatever the pack.

    Paths are absolute here: in the file they are relative to the file's own folder, so that a config means the same
    from every working directory.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model_name: StrictStr = Field(min_length=1, description="a model id or a local folder")
    tasks: tuple[StrictStr | dict[str, Any], ...] = Field(
        min_length=1, description="task or group names, as a comma list or a YAML list; a mapping is a whole task"
    )
    backend: Backend = "vllm"
    device: Literal["auto", "cpu", "gpu"] = "auto"
    model_revision: StrictStr | None = Field(None, description="a branch, tag or commit of the model")
    tensor_parallel_size: Size = 1
    data_parallel_size: Size = 1
    gpu_memory_utilization: float = Field(0.9, strict=True, gt=0, le=1, description="a share of memory, 0 < x <= 1")
    max_model_len: Size = 8192
    dtype: Literal["auto", "float32", "float16", "bfloat16", "half", "float"] = "auto"
    batch_size: (
        Annotated[int, Field(strict=True, ge=1)] | Annotated[StrictStr, Field(pattern=r"^auto(:[1-9]\d*)?$")]
    ) = Field("auto", description="auto, auto:N or a number >= 1")
    add_bos_token: StrictBool | None = Field(True, description="true, false, or null for the tokenizer's own default")
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**32)] = 42
    model_args: dict[str, Any] = Field(default_factory=dict, description="further arguments of the back end")
    gen_kwargs: dict[str, Any] = Field(default_factory=dict, description="generation arguments that overrule all tasks")
    apply_chat_template: StrictBool = False
    system_instruction: StrictStr | None = None
    fewshot_as_multiturn: StrictBool | None = None
    num_fewshot: Annotated[int, Field(strict=True, ge=0)] | None = None
    limit: Annotated[int, Field(strict=True, ge=1)] | Annotated[float, Field(strict=True, gt=0, lt=1)] | None = Field(
        None, description="a number of samples >= 1, a share between 0 and 1, or null for all"
    )
    log_samples: StrictBool = True
    show_config: StrictBool = False
    verbosity: Verbosity = "INFO"
    output_path: Path = Path("eval_results")
    work_dir: Path = Path("work_dir")
    template_dir: Path | None = None


class Config:
    """A validated configuration.

    Attributes:
        core: The keys common to all packs.
        sections: Pack name -> validated keys of that pack (also those given at top level).
        path: The file, or None when made from a mapping.
    """

    def __init__(
        self, core: Core, sections: Mapping[str, BaseModel], path: Path | None, given: Mapping[str, Any]
    ) -> None:
        self.core = core
        self.sections = dict(sections)
        self.path = path
        self.given = given

    @property
    def folder(self) -> Path:
        """Folder that relative paths refer to."""
        return self.path.parent.resolve() if self.path else Path.cwd()

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready data, for the manifest."""
        data: dict[str, Any] = self.core.model_dump(mode="json")
        for name, section in self.sections.items():
            data[name] = section.model_dump(mode="json")
        return data


_PYTHON_TYPES: dict[str, Any] = {
    "str": StrictStr,
    "int": Annotated[int, Field(strict=True)],
    "float": Annotated[float, Field(strict=True)],
    "bool": StrictBool,
    "path": StrictStr,
    "list": list[Any],
    "map": dict[str, Any],
    "any": Any,
}


def _section_model(pack: Pack) -> type[BaseModel]:
    """The pydantic model of a pack's own keys, as its pack.yaml declares them."""
    fields: dict[str, Any] = {}
    for key in pack.config.values():
        kinds = [_PYTHON_TYPES[kind] for kind in key.types]
        annotation: Any = kinds[0]
        for kind in kinds[1:]:
            annotation = annotation | kind
        if key.choices:
            annotation = Literal[tuple(key.choices)]
        if not key.required and key.default is None:
            annotation = annotation | None
        default = ... if key.required else key.default
        fields[key.name] = (annotation, Field(default, description=key.doc, ge=key.minimum, le=key.maximum))
    return create_model(
        f"{pack.name}_section", __config__=ConfigDict(extra="forbid", frozen=True, protected_namespaces=()), **fields
    )


def split_tasks(value: object) -> object:
    """A comma list becomes a list of names; surrounding blanks and empty entries go away."""
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    if isinstance(value, list):
        return [entry.strip() if isinstance(entry, str) else entry for entry in value]
    return value


class Reader:
    """Sorts the keys of one file into core and pack sections and validates each part."""

    def __init__(self, source: YamlFile, packs: Mapping[str, Pack]) -> None:
        self.source = source
        self.packs = packs
        self.problems = Problems()
        # Keys that packs also accept at top level, e.g. for configs written for an older tool.
        self.hoisted = {key.name: pack.name for pack in packs.values() for key in pack.config.values() if key.top_level}

    def _where(self, *keys: str | int) -> str:
        return self.source.where(*keys)

    def sort(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Split the file's top-level keys into core keys and one mapping per pack."""
        core: dict[str, Any] = {}
        sections: dict[str, dict[str, Any]] = {}
        for key, value in self.source.data.items():
            if key in Core.model_fields:
                core[key] = value
            elif key in self.packs:
                if not isinstance(value, dict | None):
                    self.problems.add(
                        f"the section {key!r} is not a mapping",
                        where=self._where(key),
                        allowed=f"keys of the pack {key}: {', '.join(self.packs[key].config) or 'none'}",
                    )
                    continue
                sections.setdefault(key, {}).update(value or {})
            elif key not in self.hoisted:
                known = [*Core.model_fields, *self.hoisted, *self.packs]
                self.problems.add(
                    f"unknown key {key!r}",
                    where=self._where(key),
                    allowed=", ".join(sorted(known)),
                    fix=near(str(key), known),
                )
        for key, pack in self.hoisted.items():
            if key not in self.source.data:
                continue
            if key in sections.get(pack, {}):
                self.problems.add(
                    f"{key!r} is given twice, at top level and under {pack!r}",
                    where=self._where(key),
                    fix="keep one of the two",
                )
            sections.setdefault(pack, {})[key] = self.source.data[key]
        return core, sections

    def validate(self, model: type[BaseModel], data: dict[str, Any], prefix: Sequence[str] = ()) -> BaseModel | None:
        """Validate one mapping; every mistake becomes a Problem with its line."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            seen: set[str] = set()
            for item in error.errors(include_url=False):
                key = str(item["loc"][0]) if item["loc"] else ""
                if key in seen:
                    continue  # one line per key: the branches of a union all complain about the same value
                seen.add(key)
                self._explain(model, key, item, prefix)
            return None

    def _explain(self, model: type[BaseModel], key: str, item: Mapping[str, Any], prefix: Sequence[str]) -> None:
        name = ".".join([*prefix, key])
        where = self._where(*prefix, key) if key in self.source.at(*prefix) else self._where(key)
        if item["type"] == "missing":
            self.problems.add(
                f"{name} is missing", where=self.source.name, fix=f"add `{key}: ...`", allowed=_allowed(model, key)
            )
        elif item["type"] == "extra_forbidden":
            self.problems.add(
                f"unknown key {name!r}",
                where=where,
                allowed=", ".join(sorted(model.model_fields)),
                fix=near(key, model.model_fields),
            )
        else:
            value = self.source.at(*prefix).get(key, self.source.data.get(key))
            self.problems.add(
                f"{name}: {value!r} is not accepted", where=where, allowed=_allowed(model, key) or item["msg"]
            )


def _allowed(model: type[BaseModel], key: str) -> str:
    """What a field accepts, in words, from its declaration."""
    field = model.model_fields.get(key)
    if field is None:
        return ""
    text = str(field.description or "")
    literal = [str(arg) for arg in getattr(field.annotation, "__args__", ()) if isinstance(arg, str | int)]
    if literal:
        return f"{', '.join(literal)}" + (f" ({text})" if text else "")
    if text:
        return text
    name = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
    kind = name.get(getattr(field.annotation, "__name__", ""), "")
    bounds = [f">= {item.ge}" for item in field.metadata if getattr(item, "ge", None) is not None]
    bounds += [f"<= {item.le}" for item in field.metadata if getattr(item, "le", None) is not None]
    return " ".join([kind, *bounds]).strip()


def read_config(source: YamlFile, packs: Mapping[str, Pack], *, project_root: Path) -> Config:
    """Validate a parsed file against the core keys and the keys that the packs declare.

    Args:
        source: The parsed file.
        packs: All packs that were found; only sections that occur in the file, or packs that are selected later, count.
        project_root: Folder that holds `task_templates` when the config names none.

    Returns:
        The configuration with absolute paths.

    Raises:
        BadInput: unknown or repeated keys, wrong types, impossible values, paths that would destroy each other.
    """
    reader = Reader(source, packs)
    raw_core, raw_sections = reader.sort()
    if "tasks" in raw_core:
        raw_core["tasks"] = split_tasks(raw_core["tasks"])
    elif len(raw_sections) == 1 and (only := packs[next(iter(raw_sections))]).default_tasks:
        raw_core["tasks"] = list(only.default_tasks)
    core = reader.validate(Core, raw_core)
    sections: dict[str, BaseModel] = {}
    for name, data in raw_sections.items():
        section = reader.validate(
            _section_model(packs[name]), data, prefix=() if _is_hoisted(source, name) else (name,)
        )
        if section is not None:
            sections[name] = section
    config: Config | None = None
    if isinstance(core, Core):
        core = _absolute(core, source.folder, project_root)
        check_paths(core, source, reader.problems)
        check_secrets(core, source, reader.problems)
        config = Config(core, sections, source.path, source.data)
    reader.problems.raise_if_any()
    assert config is not None
    return config


def section_for(config: Config, pack: Pack) -> BaseModel:
    """The pack's section, with defaults when the file has none.

    Raises:
        BadInput: a required key of a pack that is needed is missing.
    """
    found = config.sections.get(pack.name)
    if found is not None:
        return found
    problems = Problems()
    try:
        return _section_model(pack).model_validate({})
    except ValidationError as error:
        for item in error.errors(include_url=False):
            key = pack.config[str(item["loc"][0])]
            problems.add(
                f"{key.name} is missing, and the pack {pack.name} needs it",
                where=str(config.path or "config"),
                allowed=key.doc,
                fix=_example(pack, key),
            )
    problems.raise_if_any()
    raise AssertionError("unreachable: the section was refused without a reason")


def _example(pack: Pack, key: ConfigKey) -> str:
    return f"add `{key.name}: ...`" if key.top_level else f"add `{pack.name}: {{{key.name}: ...}}`"


def _is_hoisted(source: YamlFile, pack: str) -> bool:
    return pack not in source.data


def _absolute(core: Core, folder: Path, project_root: Path) -> Core:
    def resolve(path: Path) -> Path:
        return (folder / path.expanduser()).resolve()

    template_dir = resolve(core.template_dir) if core.template_dir else project_root / "task_templates"
    return core.model_copy(
        update={
            "work_dir": resolve(core.work_dir),
            "output_path": resolve(core.output_path),
            "template_dir": template_dir,
        }
    )
