"""Find and read the config of a run.

The file, `key=value` settings on top, and the packs that it may speak of.

Apart from `evalprep.prepare.preparation` so that a mistake in the config is told before anything
else is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evalprep.config.reader import read_config
from evalprep.config.schema import Config
from evalprep.credentials import redacted
from evalprep.errors import BadInput, Problem, Problems
from evalprep.packs import Pack, find_packs, holds_packs
from evalprep.places import exists, place
from evalprep.yamlfile import YamlFile, load_yaml
from evalprep.yamltext import NotYaml, yaml_value


def load_config(
    path: Path | None,
    settings: Sequence[str] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Config, dict[str, Pack]]:
    """Reads and validates a config file, with settings on top.

    Args:
        path: The file; None for a config of settings and options alone.
        settings: `key=value` texts.
        options: Key -> value, of options that stand for keys.

    Raises:
        BadInput: every mistake in the file, the settings and the packs.
    """
    if path is None:
        source = YamlFile({}, "", name="command line", folder=Path.cwd(), path=None)
    else:
        source = _from_file(path)
    for key, value in options.items():
        source.overrule((key,), value)
    problems = Problems()
    for setting in settings:
        try:
            keys, value = read_setting(setting)
        except BadInput as error:
            problems.extend(error.problems)
            continue
        if blocked := source.overrule(keys, value):
            problems.add(
                f"{blocked} is not a section",
                where=f"--set {'.'.join(keys)}",
                fix=f"set {blocked} itself",
            )
    problems.raise_if_any()
    # The folders that `template_dir` names: one, or a list of them.
    template_dir = source.data.get("template_dir")
    names = template_dir if isinstance(template_dir, list) else [template_dir]
    texts = [name for name in names if isinstance(name, str)]
    folders = tuple(place(name, source.folder).resolve() for name in texts)
    # Told before anything else if it is wrong: without packs each of their keys would look
    # misspelt.
    packs = find_packs(folders, where=source.where("template_dir"))
    # A folder without packs is one of an original, which a pack of the project stands for.
    own = tuple(folder for folder in folders if holds_packs(folder))
    return read_config(source, packs, template_dir=own), packs


def read_setting(setting: str) -> tuple[tuple[str, ...], Any]:
    """Returns the keys and the value of a `--set`.

    Raises:
        BadInput: it is not `key=value`, or the value is not YAML.

    >>> read_setting("science.context=8192")
    (('science', 'context'), 8192)
    """
    key, equals, text = setting.partition("=")
    keys = tuple(part.strip() for part in key.split("."))
    if not equals or not all(keys):
        raise BadInput(
            Problem(
                what=f"the setting {_shown(setting)} is not key=value",
                where="--set",
                allowed="--set limit=10, --set science.context=8192",
            )
        )
    try:
        return keys, yaml_value(text)
    except NotYaml as error:
        what = f"the value {_shown(text)} is not YAML: {error}"
        raise BadInput(Problem(what=what, where=f"--set {key}", fix="quote it")) from None


def _from_file(path: Path) -> YamlFile:
    """The config in a file.

    Raises:
        BadInput: it does not exist, or is not valid YAML.
    """
    if not exists(path):
        raise BadInput(
            Problem(
                what="does not exist",
                where=str(path),
                fix="write a config: evalprep init; or name one: --config_path FILE",
            )
        )
    source = load_yaml(path)
    kind = next((key for key in ("group", "task") if key in source.data), "")
    if kind and not {"model_name", "models", "tasks"} & source.data.keys():
        raise BadInput(
            Problem(
                what=f"is an lm-eval file of a {kind}, not a config",
                where=str(path),
                fix=f"evalprep run --model NAME --tasks {path}",
            )
        )
    return source


def _shown(text: str) -> str:
    """A text of the command line in quotes.

    A long one is not repeated, as it may hold a credential.
    """
    return repr(redacted(text)) if len(text) <= _LONGEST_SHOWN else f"of {len(text)} characters"


_LONGEST_SHOWN = 12
