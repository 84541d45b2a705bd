"""`models:`, several models for one work folder.

They may be checkpoints of a training run, methods, sizes or revisions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.config.adapters import CONFIG_FILE, with_base_model
from evalprep.errors import Problems
from evalprep.places import is_file, is_folder, last_part, place
from evalprep.yamlfile import YamlFile

if TYPE_CHECKING:
    from evalprep.config.schema import Checkpoint, Core

_PATTERN = re.compile(r"[*?\[]")
_MODEL_FILES = ("config.json", CONFIG_FILE)


def expand_models(raw: dict[str, Any], source: YamlFile, problems: Problems) -> dict[str, Any]:
    """The core keys with `models` as a list of mappings.

    Patterns of folders are replaced by what they match.

    `model_name` becomes the first of them. What is wrong with an entry beyond that is told where it
    is validated.
    """
    models = raw.get("models")
    if not models:
        keys = {key: value for key, value in raw.items() if key != "models"}
        return with_base_model(keys, (), source, problems)
    if raw.get("model_name") is not None:
        what = "model_name and models are both given"
        fix = "keep one of the two; `--set model_name=null` leaves the models of the file"
        problems.add(what, where=source.where("models"), fix=fix)
    if not isinstance(models, list):
        models = [models]
    entries: list[Any] = []
    for number, model in enumerate(models):
        entry = {"model_name": model} if isinstance(model, str) else model
        entries += [
            with_base_model(each, ("models", number), source, problems)
            if isinstance(each, dict)
            else each
            for each in _expanded(entry, number, source, problems)
        ]
    return {**raw, "models": entries, "model_name": _first_name(entries)}


def _first_name(entries: Sequence[Any]) -> Any:
    for entry in entries:
        if isinstance(entry, dict):
            return entry.get("model_name") or "-"
    return "-"


def _expanded(entry: Any, number: int, source: YamlFile, problems: Problems) -> list[Any]:
    """An entry of `models`, once for each folder that its pattern matches.

    Of an entry without a model the pattern may be that of its adapter.
    """
    key = "model_name"
    if isinstance(entry, dict) and entry.get("model_name") is None:
        key = "adapter"
    name = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(name, str) or not _PATTERN.search(name):
        return [entry]
    folders = matching(name, source.folder)
    if not folders:
        what = f"no model folder matches {name!r}"
        where = source.where("models", number)
        allowed = f"folders with {' or '.join(_MODEL_FILES)}"
        fix = "correct the pattern, or name the folders"
        problems.add(what, where=where, allowed=allowed, fix=fix)
    return [{**entry, key: str(folder)} for folder in folders]


def matching(pattern: str, folder: Path) -> list[Path]:
    """The model folders that a pattern matches: checkpoint-2 stands before checkpoint-10."""
    parts = place(pattern, folder).parts
    fixed = next(at for at, part in enumerate(parts) if _PATTERN.search(part))
    above = Path(*parts[:fixed])
    if not is_folder(above):
        return []
    below = "/".join(parts[fixed:])
    folders = [
        path.resolve()
        for path in above.glob(below)
        if any(is_file(path / name) for name in _MODEL_FILES)
    ]
    return sorted(dict.fromkeys(folders), key=_natural_order)


def _natural_order(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """A key for folders; names that differ only in the case of letters have an order, too."""
    text = str(path)
    return natural(text), text


def natural(text: str) -> list[tuple[int, int, str]]:
    """A key that sorts numbers in texts by their value.

    >>> sorted(["step-10", "step-2", "step"], key=natural)
    ['step', 'step-2', 'step-10']
    """
    key = []
    for part in re.findall(r"[0-9]+|[^0-9]+", text.casefold()):
        is_number = part.isdecimal()
        key.append((0, int(part), part) if is_number else (1, 0, part))
    return key


def core_of(core: Core, model: Checkpoint) -> Core:
    """The configuration as if this model were the only one."""
    return core.changed(
        model_name=model.model_name,
        adapter=model.adapter or core.adapter,
        model_revision=model.model_revision or core.model_revision,
        model_args={**core.model_args, **model.model_args},
        models=(),
    )


def short_names(models: Sequence[Checkpoint]) -> list[str]:
    """A name per model for commands and files.

    The shortest end of its path that tells it from the others.

    Revision and own arguments are added where paths do not suffice; at last a number.
    """
    names_or_places = [model.adapter or model.model_name for model in models]
    paths = [
        [part for part in re.split(r"[/\\]+", name) if part not in ("", ".", "..")]
        for name in names_or_places
    ]
    for names in _possible_names(models, paths):
        plain_names = [_plain(name) for name in names]
        # They name files, and some file systems ignore case.
        folded = [name.casefold() for name in plain_names]
        if len(set(folded)) == len(folded):
            return plain_names
    numbered = []
    for number, parts in enumerate(paths, start=1):
        last = _plain("_".join(parts[-1:]))
        numbered.append(f"{last}-{number}")
    return numbered


def _possible_names(
    models: Sequence[Checkpoint], paths: Sequence[Sequence[str]]
) -> Iterator[list[str]]:
    """Yields names of all models, the shortest first; those of one list need not be different."""
    longest = max(map(len, paths), default=1)
    for size in range(1, longest + 1):
        yield ["_".join(parts[-size:]) for parts in paths]
    revised = []
    for model, parts in zip(models, paths, strict=True):
        last = "".join(parts[-1:])
        revised.append(_joined(last, model.model_revision))
    yield revised
    with_args = []
    for name, model in zip(revised, models, strict=True):
        values = map(_last, model.model_args.values())
        with_args.append(_joined(name, *values))
    yield with_args


def _joined(*parts: str | None) -> str:
    """The parts of a name that are not empty."""
    return "-".join(filter(None, parts))


def _last(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return last_part(text)


def _plain(text: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", text)
    return safe.strip("_.-") or "model"
