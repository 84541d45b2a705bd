"""Mistakes in the entries of a pack's files.

Each with a line, the values that are allowed, and the word that was meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalprep.errors import Problems, near
from evalprep.packs.entries import SourceSpec
from evalprep.structs import Keys, Mistake, keys_of, read_struct
from evalprep.yamlfile import YamlFile

Entry = TypeVar("Entry", bound=msgspec.Struct)


def read_entry(
    kind: type[Entry],
    content: Mapping[Any, Any],
    source: YamlFile,
    keys: Keys,
    problems: Problems,
    *,
    without: Iterable[str] = (),
) -> Entry | None:
    """Makes one object out of a mapping of a YAML file.

    Args:
        kind: A class of `evalprep.packs.entries`.
        content: The mapping; null counts as not given.
        source: The file, for lines.
        keys: Where in the file the mapping stands.
        problems: Gets every mistake.
        without: Fields that are not the file's to give.

    Returns:
        The object, made from what is right in the mapping; None where something is missing that it
        needs.
    """
    hidden = set(without)
    stated = {
        key: value for key, value in content.items() if value is not None and key not in hidden
    }
    entry, mistakes = read_struct(kind, stated)
    refused = [key for key in content if key in hidden]
    known = tuple(keys_of(kind))
    mistakes = [*(Mistake("unknown", (key,), None, None, known) for key in refused), *mistakes]
    reported: set[Keys] = set()
    for mistake in mistakes:
        # The keys up to the first list: of a list, the list as a whole is named.
        positions = [at for at, key in enumerate(mistake.keys) if isinstance(key, int)]
        path = mistake.keys[: positions[0]] if positions else mistake.keys
        if path != mistake.keys:
            mistake = mistake._replace(kind="value", value=_value_at(stated, path))  # noqa: PLW2901
        if path not in reported:
            reported.add(path)
            _report(mistake, path, source, keys, problems, hidden)
    return entry


def _value_at(content: Any, path: Keys) -> Any:
    for key in path:
        content = content[key]
    return content


def _report(
    mistake: Mistake, path: Keys, source: YamlFile, keys: Keys, problems: Problems, hidden: set[str]
) -> None:
    label = ".".join(str(key) for key in path)
    if mistake.kind == "missing":
        problems.add(f"{label} is missing", where=source.where(*keys), fix=f"add `{label}: ...`")
    elif mistake.kind == "unknown":
        known = [name for name in mistake.known if len(path) > 1 or name not in hidden]
        name = path[-1]
        problems.add(
            f"unknown key {name!r}",
            where=source.where(*keys, *path[:-1], str(name)),
            allowed=", ".join(known),
            fix=near(str(name), known),
        )
    else:
        where = source.where(*keys, *path)
        key = mistake.key
        words = key.words if key else ""
        is_choice = key is not None and bool(key.choices)
        problems.add(
            f"{label} is {mistake.value!r}",
            where=where,
            allowed=words,
            fix=near(str(mistake.value), words.replace(",", "").split()) if is_choice else "",
        )


def source_spec(entry: str | Mapping[str, Any] | SourceSpec, where: str) -> SourceSpec:
    """Returns a source as a config may write it.

    That is a path or hub id alone, or a mapping with the keys of `SourceSpec`.

    Args:
        entry: The value in the config.
        where: Which key of it, for messages.

    Raises:
        BadInput: other keys, or values of other types.
    """
    if isinstance(entry, SourceSpec):
        return entry
    if isinstance(entry, str):
        return SourceSpec(entry)
    problems = Problems()
    source = YamlFile(
        {str(key): value for key, value in entry.items()}, "", name=where, folder=Path(), path=None
    )
    spec = read_entry(SourceSpec, entry, source, (), problems)
    problems.raise_if_any()
    assert spec is not None
    return spec
