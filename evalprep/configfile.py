"""Find and read the config of a run: the file, `key=value` settings on top, and the packs that it may speak of.

Apart from `evalprep.prepare` so that a mistake in the config is told before anything else is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalprep.config import Config, read_config
from evalprep.errors import Problems
from evalprep.packs import Pack, find_packs
from evalprep.yamlfile import YamlFile, load_yaml

PROJECT_ROOT = Path(__file__).resolve().parents[1]


def load_config(path: Path, settings: Sequence[str] = ()) -> tuple[Config, dict[str, Pack]]:
    """Read and validate a config file, with `key=value` settings on top.

    Raises:
        BadInput: every mistake in the file, the settings and the packs.
    """
    source = load_yaml(path)
    _apply_settings(source, settings)
    folder = source.data.get("template_dir")
    template_dir = (source.folder / folder).resolve() if isinstance(folder, str) else PROJECT_ROOT / "task_templates"
    packs = find_packs(template_dir)
    return read_config(source, packs, project_root=PROJECT_ROOT), packs


def _apply_settings(source: YamlFile, settings: Sequence[str]) -> None:
    import yaml

    problems = Problems()
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            problems.add(
                f"{setting!r} is not key=value", where="--set", allowed="--set limit=10, --set science.context=8192"
            )
            continue
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            problems.add(f"the value {text!r} is not YAML", where=f"--set {key}", fix="quote it")
            continue
        target: Any = source.data
        *parents, last = key.strip().split(".")
        for parent in parents:
            target = target.setdefault(parent, {})
            if not isinstance(target, dict):
                problems.add(f"{parent} is not a section", where=f"--set {key}")
                break
        else:
            target[last] = value
    problems.raise_if_any()
