"""What a data set declares of itself: the front matter of README.md, and `.huggingface.yaml` over it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from evalprep.data.layout import Card
from evalprep.errors import BadInput, Problem
from evalprep.yamlfile import NotYaml, yaml_value

#: The files that `read_card` looks at.
CARD_FILES = ("README.md", ".huggingface.yaml")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", re.DOTALL)


def read_card(folder: Path) -> Card:
    """The card of a data set in a folder; an empty one where there is none.

    Raises:
        BadInput: what it declares is no YAML, so that nobody can tell which files are meant.
    """
    data: dict[str, Any] = {}
    for name in CARD_FILES:
        file = folder / name
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        if name == "README.md":
            front = _FRONT_MATTER.match(text)
            text = front[1] if front else ""
        try:
            found = yaml_value(text)
        except NotYaml as error:
            fix = "mend the lines between the two ---" if name == "README.md" else "mend the file"
            raise BadInput(Problem(what=f"is not YAML: {error}", where=str(file), fix=fix)) from None
        data |= found if isinstance(found, dict) else {}
    configs, infos = data.get("configs"), data.get("dataset_info")
    entries = [one for one in configs if isinstance(one, dict)] if isinstance(configs, list) else []
    named = [one for one in (infos if isinstance(infos, list) else [infos]) if isinstance(one, dict)]
    names = [str(one.get("config_name", "default")) for one in named]
    return Card(entries, names, {name: _texts(one) for name, one in zip(names, named, strict=True)})


def _texts(info: dict[str, Any]) -> list[str]:
    """Columns whose type is declared as text."""
    features = info.get("features")
    listed = [one for one in features if isinstance(one, dict)] if isinstance(features, list) else []
    return [str(one.get("name")) for one in listed if one.get("dtype") in ("string", "large_string")]
