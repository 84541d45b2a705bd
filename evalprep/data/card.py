"""The declarations of a data set.

They stand in the front matter of README.md, and `.huggingface.yaml` overrides them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evalprep.data.layout import Card
from evalprep.errors import BadInput, Problem
from evalprep.files import read_text
from evalprep.yamltext import NotYaml, yaml_value

#: The files that `read_card` looks at.
CARD_FILES = ("README.md", ".huggingface.yaml")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", re.DOTALL)


def _declared_in(file: Path) -> dict[str, Any]:
    """The declarations of one file of a card."""
    text = read_text(file, own=True, encoding="utf-8-sig", errors="replace")
    fix = "correct the file"
    if file.name == "README.md":
        fix = "correct the lines between the two ---"
        front = _FRONT_MATTER.match(text)
        text = front[1] if front else ""
    try:
        content = yaml_value(text)
    except NotYaml as error:
        raise BadInput(Problem(what=f"is not YAML: {error}", where=str(file), fix=fix)) from None
    return content if isinstance(content, dict) else {}


def _mappings(items: Iterable[Any]) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)]


def read_card(folder: Path) -> Card:
    """The card of a data set in a folder; an empty one where there is none.

    Raises:
        BadInput: what it declares is not valid YAML, so that nobody can tell which files are meant.
    """
    data: dict[str, Any] = {}
    for name in CARD_FILES:
        if (folder / name).is_file():
            data |= _declared_in(folder / name)
    configs = data.get("configs")
    infos = data.get("dataset_info")
    entries = _mappings(configs if isinstance(configs, list) else [])
    named = _mappings(infos if isinstance(infos, list) else [infos])
    names = [str(info.get("config_name", "default")) for info in named]
    return Card(
        entries, names, {name: _texts(info) for name, info in zip(names, named, strict=True)}
    )


def _texts(info: dict[str, Any]) -> list[str]:
    """Columns whose type is declared as text."""
    features = info.get("features")
    if not isinstance(features, list):
        return []
    return [
        str(feature.get("name"))
        for feature in features
        if isinstance(feature, dict) and feature.get("dtype") in ("string", "large_string")
    ]
