"""The kept files: one JSON file per folder, short members on one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "kept"
_WIDTH = 160


def path_of(name: str) -> Path:
    """Returns the kept file of a folder."""
    return KEPT / f"{name}.json"


def read(name: str) -> Any:
    """Returns what is kept of a folder, nothing where there is no file."""
    path = path_of(name)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def text_of(said: Any) -> str:
    """Returns the text of a kept file."""
    return f"{_written(said, 0)}\n"


def _written(value: Any, depth: int) -> str:
    short = json.dumps(value, ensure_ascii=False)
    if len(short) + depth <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return short
    inner, outer = " " * (depth + 1), " " * depth
    if isinstance(value, list):
        parts = _filled([_written(part, depth + 1) for part in value])
        return f"[\n{inner}" + f",\n{inner}".join(parts) + f"\n{outer}]"
    parts = [
        f"{json.dumps(key, ensure_ascii=False)}: {_written(part, depth + 1)}"
        for key, part in value.items()
    ]
    return f"{{\n{inner}" + f",\n{inner}".join(_filled(parts)) + f"\n{outer}}}"


def _filled(parts: list[str]) -> list[str]:
    """Short members share a line."""
    lines: list[str] = []
    for part in parts:
        if lines and "\n" not in lines[-1] + part and len(lines[-1]) + len(part) < _WIDTH - 60:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return lines
