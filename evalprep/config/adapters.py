"""Adapters (LoRA): their base model, their folders, and the argument by which a back end takes one.

An adapter's folder holds `adapter_config.json`, which names the base model, and few weights: no
back end loads it in the place of a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evalprep.backends import BACKENDS, Backend
from evalprep.errors import Problems
from evalprep.files import read_object
from evalprep.places import is_file, is_folder, place
from evalprep.yamlfile import YamlFile

if TYPE_CHECKING:
    from evalprep.config.schema import Core

CONFIG_FILE = "adapter_config.json"
#: Arguments of lm-eval's back ends that name a folder of weights beside the model.
PATH_ARGUMENTS = ("peft", "lora_local_path", "delta")
_Keys = tuple[str | int, ...]
_LEAST_RANK = 16  # the rank of LoRA that lm-eval tells vLLM to have room for
_RANKS = (16, 32, 64, 128, 256, 320, 512)  # those that vLLM takes


def with_base_model(
    entry: dict[str, Any], where: _Keys, source: YamlFile, problems: Problems
) -> dict[str, Any]:
    """Returns the keys of a model with the base model of its adapter, where they name none.

    Refused are an adapter in the place of a model, and one whose base model is not known.

    Args:
        entry: The core keys, or an entry of `models`, as they are written.
        where: The place of the entry in the file; empty for the core keys.
        source: The file.
        problems: Takes what is wrong.
    """
    name, adapter = entry.get("model_name"), entry.get("adapter")
    if isinstance(name, str):
        _refuse_adapter(name, source.where(*where, "model_name"), source, problems)
    if name is not None or not isinstance(adapter, str):
        return entry
    base = base_model(place(adapter, source.folder))
    if not base:
        problems.add(
            f"the base model of adapter {adapter} is not known: its folder has no {CONFIG_FILE} "
            "with base_model_name_or_path",
            where=source.where(*where, "adapter"),
            fix="add model_name: the model that the adapter was trained on",
        )
    return {**entry, "model_name": base or "-"}


def _refuse_adapter(name: str, where: str, source: YamlFile, problems: Problems) -> None:
    """Refuses the folder of an adapter in the place of a model."""
    folder = place(name, source.folder)
    if not is_file(folder / CONFIG_FILE) or is_file(folder / "config.json"):
        return
    base = base_model(folder)
    known = f" (base model {base}, as {CONFIG_FILE} names it)" if base else ""
    problems.add(
        f"model_name {name} holds an adapter alone, which no back end loads as a model{known}",
        where=where,
        fix=f"write `adapter: {name}` and take model_name out, or name the base model in it",
    )


def base_model(folder: Path) -> str:
    """Returns the base model that the configuration of an adapter names; empty without one."""
    base = _config_of(folder).get("base_model_name_or_path")
    return base if isinstance(base, str) else ""


def _config_of(folder: Path) -> Mapping[str, Any]:
    return read_object(folder / CONFIG_FILE)


def with_arguments(core: Core, source: YamlFile, problems: Problems) -> Core:
    """Returns the configuration with adapters as arguments of its back end.

    Paths among the arguments become absolute. Refused are a back end that loads no adapters, and
    arguments of another back end.
    """
    record = BACKENDS[core.backend]
    entries = tuple(
        msgspec.structs.replace(
            entry, model_args=_arguments(entry, record, ("models", number), source, problems)
        )
        for number, entry in enumerate(core.models)
    )
    changed = {"model_args": _arguments(core, record, (), source, problems), "models": entries}
    before = {"model_args": core.model_args, "models": core.models}
    return core if changed == before else core.changed(**changed)


def adapters_in(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Returns the arguments of a back end that name a folder of weights beside the model."""
    return {
        name: value
        for name, value in arguments.items()
        if name in PATH_ARGUMENTS and isinstance(value, str) and value.startswith("/")
    }


def _arguments(
    entry: Any, record: Backend, where: _Keys, source: YamlFile, problems: Problems
) -> dict[str, Any]:
    """The arguments of the core keys or of an entry of `models`, with those of its adapter."""
    arguments = dict(entry.model_args)
    for name in arguments:
        if name in record.others_write:
            problems.add(
                f"model_args: the back end {record.name} has no argument {name}",
                where=source.where(*where, "model_args", name),
                fix=record.others_write[name],
            )
    if entry.adapter:
        arguments |= _of_adapter(entry.adapter, record, where, source, problems)
    for name in PATH_ARGUMENTS:
        if isinstance(arguments.get(name), str):
            arguments[name] = _absolute(arguments[name], source.folder)
    return arguments


def _of_adapter(
    adapter: str, record: Backend, where: _Keys, source: YamlFile, problems: Problems
) -> dict[str, Any]:
    """The arguments by which a back end loads an adapter."""
    if not record.adapter:
        able = [name for name, other in BACKENDS.items() if other.adapter]
        problems.add(
            f"the back end {record.name} loads no adapters",
            where=source.where(*where, "adapter"),
            allowed=f"adapter with backend {' or '.join(able)}",
            fix="merge the adapter into its base model, or serve it under a name of its own",
        )
        return {}
    folder = place(adapter, source.folder)
    is_local = adapter.startswith((".", "/", "~")) or is_folder(folder)
    if is_local and not is_file(folder / CONFIG_FILE):
        problems.add(
            f"adapter {adapter} has no {CONFIG_FILE}",
            where=source.where(*where, "adapter"),
            fix="name the folder that the training saved the adapter in",
        )
    rank = _config_of(folder).get("r")
    arguments: dict[str, Any] = {record.adapter: adapter}
    if record.adapter == "lora_local_path" and isinstance(rank, int) and rank > _LEAST_RANK:
        arguments["max_lora_rank"] = next((each for each in _RANKS if each >= rank), rank)
    return arguments


def _absolute(text: str, folder: Path) -> str:
    """A folder as an absolute path; a hub id as it is."""
    path = place(text, folder)
    is_local = is_folder(path) or text.startswith((".", "/", "~"))
    return str(path.resolve()) if is_local else text
