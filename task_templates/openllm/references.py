"""Results files of leaderboard v1: the published headlines, without samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalprep.packapi import Log, read_file

from .archived import LABEL, headlines


def load(path: Path | str) -> Log | None:
    """Returns the headlines of a v1 results file, or of the newest in a folder; None for others."""
    place = Path(path)
    files = sorted(place.glob("results_*.json")) if place.is_dir() else [place]
    if not files or not files[-1].name.startswith("results_"):
        return None
    content = _object(files[-1])
    results = content.get("results")
    is_v1 = isinstance(results, dict) and any(str(name).startswith("harness|") for name in results)
    if not is_v1:
        return None
    settings = content.get("config_general")
    model = str(settings.get("model_name") or "") if isinstance(settings, dict) else ""
    note = f"leaderboard v1, in percent and not normalised; against a run of today: {LABEL}"
    return Log(headlines(results), model=model, notes=(note,))


def _object(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_file(file))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
