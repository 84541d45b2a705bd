"""A run in Weights & Biases: a folder on this disk by default, sent where the user says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalprep.export.tracking import TrackedRun, need_tracker

_QUIET = {"WANDB_ERROR_REPORTING": "false", "WANDB_SILENT": "true"}
_TYPE = "evalprep"


def need_wandb() -> Any:
    """Returns the package.

    Raises:
        BadInput: it is not installed.
    """
    return need_tracker("wandb", _QUIET)


def log_runs(runs: Sequence[TrackedRun], folder: Path, *, online: bool) -> list[str]:
    """Logs runs; returns a sentence for each.

    Args:
        runs: The runs.
        folder: Gets `wandb/offline-run-*`.
        online: Send them, with the key of the environment; the user is never logged in here.
    """
    wandb = need_wandb()
    return [_log(wandb, run, folder, online=online) for run in runs]


def _log(wandb: Any, tracked: TrackedRun, folder: Path, *, online: bool) -> str:
    run = wandb.init(
        project=tracked.project,
        name=tracked.name,
        job_type=_TYPE,
        config={**tracked.params, **tracked.tags},
        mode="online" if online else "offline",
        dir=str(folder),
        reinit="finish_previous",
        settings=wandb.Settings(disable_git=True, disable_code=True, console="off", silent=True),
    )
    for name, value in tracked.metrics.items():
        run.summary[name] = value
    for name in ("comparison", "scores"):
        if rows := getattr(tracked, name):
            data = [[*row.values()] for row in rows]
            run.log({name: wandb.Table(columns=[*rows[0]], data=data)})
    artifact = wandb.Artifact(artifact_name(tracked.key), type=_TYPE)
    artifact.add_dir(str(tracked.folder))
    run.log_artifact(artifact)
    run.finish()
    where = f"project {tracked.project!r}" if online else str(folder / "wandb")
    return f"{'sent to' if online else 'logged offline in'} {where}"


def artifact_name(key: str) -> str:
    """Returns the name of a run's artifact: letters, digits, dots, dashes and underscores.

    >>> artifact_name("org/model r0123")
    'evalprep-org-model-r0123'
    """
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-"
        for letter in key
    )
    return f"evalprep-{plain}"[:128]
