"""Planted credentials: refused in a config, and seen again in no output and no file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from benchmarks.faults import Row, chosen, main, timed
from benchmarks.faults.project import CONFIG, evalprep, write_project
from tests.evalprep.test_credentials import PLANTED


def rows(share: float, seed: int) -> list[Row]:
    """One row: credentials that were refused and never repeated."""
    with (
        timed("credentials in a config") as row,
        tempfile.TemporaryDirectory(prefix="secrets-") as place,
    ):
        for number, (name, (setting, secret)) in enumerate(
            chosen(list(PLANTED.items()), share, seed)
        ):
            row.add(name, _plant(Path(place, str(number)), setting, secret))
    return [row]


def _plant(folder: Path, setting: dict[str, object], secret: str) -> str | None:
    project = write_project(folder)
    config = {**yaml.safe_load(CONFIG), "model_args": setting}
    (project / "eval_config.yaml").write_text(yaml.safe_dump(config))
    outcome = evalprep(["prepare", "--check=off"], project)
    if secret in outcome.text:
        return "the message repeats it"
    kept = [path for path in project.rglob("*") if path.is_file() and path.suffix != ".yaml"]
    if any(secret.encode() in path.read_bytes() for path in kept):
        return "a file holds it"
    return None if outcome.code == 2 else f"exit code {outcome.code}"


if __name__ == "__main__":
    raise SystemExit(main(rows))
