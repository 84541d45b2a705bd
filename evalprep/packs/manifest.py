"""work_dir/manifest.json: what was prepared from what, with which versions. Never a secret."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evalprep.credentials import without_secrets
from evalprep.files import read_object

SCHEMA = 1
# What decides the numbers of a run: the harness, the engine, the scorers and what they parse with.
_PACKAGES = (
    "evalprep",
    "lm_eval",
    "vllm",
    "torch",
    "transformers",
    "datasets",
    "pyarrow",
    "math-verify",
    "sympy",
    "antlr4-python3-runtime",
    "rouge-score",
    "rouge-score-rs",
    "sacrebleu",
    "nltk",
    "langdetect",
)


def versions() -> dict[str, str]:
    """Installed versions of everything that decides numbers; absent packages are left out."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def manifest_data(
    *,
    config: dict[str, Any],
    sources: list[dict[str, Any]],
    tasks: dict[str, Any],
    groups: dict[str, list[str]],
    commands: list[dict[str, Any]],
    files: dict[str, str],
    packs: dict[str, Any],
    notes: list[str],
) -> dict[str, Any]:
    """Put the manifest together; only `created` differs between two equal preparations."""
    return {
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "config": without_secrets(config),
        "packs": packs,
        "sources": sources,
        "tasks": tasks,
        "groups": groups,
        "command": commands[0] if commands else None,
        "further_commands": commands[1:],
        "notes": notes,
        "files": files,
    }


def read_manifest(work_dir: Path) -> dict[str, Any] | None:
    """The manifest of a work folder, None where there is none that we can read."""
    data = read_object(work_dir / "manifest.json")
    return data if data.get("schema") == SCHEMA else None
