"""eval_config.yaml -> `Config`; every mistake is reported in one go, with its line."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from evalprep.backends import BACKENDS
from evalprep.config.adapters import with_arguments
from evalprep.config.guards import check_paths, check_secrets
from evalprep.config.models import expand_models
from evalprep.config.schema import CORE_KEYS, Config, Core, read_core, section_model
from evalprep.credentials import without_secrets
from evalprep.errors import Problems, near
from evalprep.packs import Pack
from evalprep.places import place
from evalprep.structs import Key, Mistake, keys_of, read_struct
from evalprep.yamlfile import YamlFile

#: Arguments of lm-eval's back ends that people look for at the top of a config.
_OF_BACKENDS = frozenset(
    {
        "base_url",
        "max_retries",
        "num_concurrent",
        "peft",
        "timeout",
        "tokenized_requests",
        "tokenizer",
        "tokenizer_backend",
        "trust_remote_code",
    }
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
        self.hoisted: dict[str, str] = {}
        for pack in packs.values():
            self._check_pack(pack)

    def _check_pack(self, pack: Pack) -> None:
        """Checks that a pack's names are free and its back ends exist.

        Its name and top-level keys must not mean something else already.
        """
        where = str(pack.folder / "pack.yaml")
        if pack.name in CORE_KEYS:
            self.problems.add(
                f"the pack's name {pack.name!r} is a key of the config",
                where=where,
                fix="rename it",
            )
        for task in pack.tasks.values():
            if task.call.backend and task.call.backend not in BACKENDS:
                self.problems.add(
                    f"the back end {task.call.backend!r} of {task.name} is unknown",
                    where=where,
                    allowed=", ".join(BACKENDS),
                )
        for key in pack.config.values():
            if not key.top_level:
                continue
            if key.name in CORE_KEYS or key.name in self.packs or key.name in self.hoisted:
                owner = self.hoisted.get(key.name)
                self.problems.add(
                    f"the top-level key {key.name!r} is also one of "
                    f"{f'the pack {owner}' if owner else 'the config'}",
                    where=where,
                    fix="rename it, or leave out top_level",
                )
            self.hoisted[key.name] = pack.name

    def _where(self, *keys: str | int) -> str:
        return self.source.where(*keys)

    def sort(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Split the file's top-level keys into core keys and one mapping per pack."""
        core: dict[str, Any] = {}
        sections: dict[str, dict[str, Any]] = {}
        for key, value in self.source.data.items():
            if key in CORE_KEYS:
                core[key] = value
            elif key in self.packs and not isinstance(value, dict | None):
                self.problems.add(
                    f"the section {key!r} is not a mapping",
                    where=self._where(key),
                    allowed=f"keys of the pack {key}: "
                    f"{', '.join(self.packs[key].config) or 'none'}",
                )
            elif key in self.packs:
                sections.setdefault(key, {}).update(value or {})
            elif key not in self.hoisted:
                self._refuse_unknown(str(key), value)
        # Keys that packs take at top level go into their sections.
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

    def _refuse_unknown(self, key: str, value: Any) -> None:
        known = [*CORE_KEYS, *self.hoisted, *self.packs]
        if key in _OF_BACKENDS:
            fix = f"write it under model_args: model_args: {{{key}: {value}}}"
        else:
            fix = near(key, known)
        self.problems.add(
            f"unknown key {key!r}",
            where=self._where(key),
            allowed=", ".join(sorted(known)),
            fix=fix,
        )

    def explain(self, mistakes: Sequence[Mistake], prefix: Sequence[str] = ()) -> None:
        """Makes a problem with its line of every mistake in one mapping, one for each key."""
        seen: set[str | int] = set()
        for mistake in mistakes:
            key = mistake.keys[0]
            if key not in seen:
                seen.add(key)
                self._explain_mistake(mistake, str(key), prefix)

    def _explain_mistake(self, mistake: Mistake, key: str, prefix: Sequence[str]) -> None:
        name = ".".join([*prefix, key])
        where = self._where(*prefix, key) if key in self.source.at(*prefix) else self._where(key)
        allowed = _allowed(mistake.key)
        if len(mistake.keys) > 1 and mistake.kind in {"missing", "unknown"}:
            verdict = "is missing" if mistake.kind == "missing" else "is an unknown key"
            label = ".".join(map(str, [*prefix, *mistake.keys]))
            if mistake.kind == "unknown":
                allowed = ", ".join(sorted(mistake.known)) or allowed
            fix = near(str(mistake.keys[-1]), mistake.known)
            self.problems.add(f"{label} {verdict}", where=where, allowed=allowed, fix=fix)
        elif mistake.kind == "missing":
            self.problems.add(
                f"{name} is missing",
                where=self.source.name,
                fix=f"add `{key}: ...`",
                allowed=allowed,
            )
        elif mistake.kind == "unknown":
            self.problems.add(
                f"unknown key {name!r}",
                where=where,
                allowed=", ".join(sorted(mistake.known)),
                fix=near(key, mistake.known),
            )
        else:
            value = self.source.at(*prefix).get(key, self.source.data.get(key))
            shown = reprlib.repr(without_secrets({key: value})[key])
            self.problems.add(
                f"{name}: {shown} is not accepted",
                where=where,
                allowed=allowed,
                fix=_nearest_choice(value, mistake.key),
            )


def _nearest_choice(value: Any, key: Key | None) -> str:
    if key is None or not key.choices or not isinstance(value, str):
        return ""
    return near(value, [str(choice) for choice in key.choices])


def _without_empty_lists(data: Mapping[str, Any], declared: Mapping[str, Key]) -> dict[str, Any]:
    """The mapping with each null taken out where a list or a mapping is expected.

    `ground_truth:` with every line below it commented out is null, and means the default.
    """
    many = {name for name, key in declared.items() if key.holds_many}
    return {key: value for key, value in data.items() if value is not None or key not in many}


def _allowed(key: Key | None) -> str:
    """The values that a key accepts, in words, from its declaration."""
    if key is None:
        return ""
    text = key.description
    if key.choices:
        choices = ", ".join(map(str, key.choices))
        return f"{choices} ({text})" if text else choices
    bounds = ", ".join(key.bounds)
    if not text:
        return f"{key.words} {bounds}".strip()
    return f"{text} ({bounds})" if bounds and key.bounds[0] not in text else text


def read_config(
    source: YamlFile, packs: Mapping[str, Pack], *, template_dir: tuple[Path, ...]
) -> Config:
    """Validate a parsed file against the core keys and the keys that the packs declare.

    Args:
        source: The parsed file.
        packs: All packs that were found; only sections that occur in the file, or packs that are
            selected later, count.
        template_dir: Where packs were found beside those of the project.

    Returns:
        The configuration with absolute paths.

    Raises:
        BadInput: unknown or repeated keys, wrong types, impossible values, paths that would destroy
            each other.
    """
    reader = Reader(source, packs)
    check_secrets(source, reader.problems)
    raw_core, raw_sections = reader.sort()
    if "tasks" in raw_core:
        raw_core["tasks"] = split_tasks(raw_core["tasks"])
    elif len(raw_sections) == 1:
        (name,) = raw_sections
        if packs[name].default_tasks:
            raw_core["tasks"] = list(packs[name].default_tasks)
    expanded = expand_models(raw_core, source, reader.problems)
    core, mistakes = read_core(_without_empty_lists(expanded, keys_of(Core)))
    reader.explain(mistakes)
    # Pack -> its keys, of the sections without a mistake; the others are explained.
    sections: dict[str, Struct] = {}
    for name, data in raw_sections.items():
        model = section_model(reader.packs[name])
        section, mistakes = read_struct(model, _without_empty_lists(data, keys_of(model)))
        reader.explain(mistakes, (name,) if name in reader.source.data else ())
        if section is not None:
            sections[name] = section
    if core is not None:
        core = _absolute(core, source.folder, template_dir)
        core = with_arguments(core, source, reader.problems)
        check_paths(core, source, reader.problems)
    reader.problems.raise_if_any()
    assert core is not None  # else there is a problem
    return Config(core, sections, source)


def _absolute(core: Core, folder: Path, template_dir: tuple[Path, ...]) -> Core:
    def resolve(path: Path) -> Path:
        return place(path, folder).resolve()

    prefixes = {
        str(resolve(Path(local_prefix))): remote_prefix
        for local_prefix, remote_prefix in core.path_prefix.items()
    }
    return core.changed(
        work_dir=resolve(core.work_dir),
        output_path=resolve(core.output_path),
        template_dir=template_dir,
        include_path=tuple(map(resolve, core.include_path)),
        path_prefix=prefixes,
    )
