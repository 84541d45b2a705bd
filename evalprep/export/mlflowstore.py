"""A run in a store of MLflow: on this disk by default, on a server where the user says so."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.credentials import redacted
from evalprep.errors import BadInput, Problem
from evalprep.export.settings import Settings
from evalprep.export.tracking import LONGEST_PARAM, TrackedRun, need_tracker

VARIABLE = "MLFLOW_TRACKING_URI"
_FILE_STORE = "MLFLOW_ALLOW_FILE_STORE"
_LOCAL = ("file:", "sqlite:", "/", ".")
_MOST_PARAMS, _MOST_METRICS, _LONGEST_TAG = 100, 1_000, 8_000
_RUN_TAG = "evalprep.run"
_FOLDER = "evalprep"
# MLflow tells its makers how it is used unless one of these is set.
_QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}


def store_of(settings: Settings, folder: Path) -> str:
    """Returns the address of the store: the user's, that of the environment, or one on this disk.

    MLflow's default is a database, which mlflow-skinny cannot open; then it is a folder.
    """
    chosen = settings.tracking_uri or os.environ.get(VARIABLE, "")
    if chosen:
        return chosen
    has_database = importlib.util.find_spec("alembic") is not None
    if has_database:
        return f"sqlite:///{folder / 'mlflow.db'}"
    return (folder / "mlruns").as_uri()


def is_remote(store: str) -> bool:
    """Returns whether a store is asked over a network.

    >>> is_remote("sqlite:///mlflow.db"), is_remote("https://mlflow.example.org")
    (False, True)
    """
    return not store.startswith(_LOCAL) and ":" in store


def need_mlflow() -> Any:
    """Returns the package.

    Raises:
        BadInput: it is not installed.
    """
    return need_tracker("mlflow", _QUIET)


def log_runs(runs: Sequence[TrackedRun], store: str, *, resume: bool) -> list[str]:
    """Logs runs, each as a new run of MLflow, or with `resume` into the one of an earlier export.

    Args:
        runs: The runs.
        store: Address of the store.
        resume: Go on with the run that has the same tag `evalprep.run`.

    Returns:
        A sentence for each run.
    """
    mlflow = need_mlflow()
    if store.startswith("file:"):
        os.environ.setdefault(_FILE_STORE, "true")
    try:
        client = mlflow.MlflowClient(tracking_uri=store)
        return [_log(client, run, resume=resume) for run in runs]
    except mlflow.exceptions.MlflowException as error:
        answer = str(error)[:300]
        problem = Problem(what=f"MLflow refuses: {answer}", where=redacted(store))
        raise BadInput(problem) from error


def _log(client: Any, run: TrackedRun, *, resume: bool) -> str:
    from mlflow.entities import Metric

    experiment = client.get_experiment_by_name(run.project)
    if experiment:
        experiment_id = experiment.experiment_id
    else:
        experiment_id = client.create_experiment(run.project)
    logged = None
    if resume:
        runs = client.search_runs([experiment_id], max_results=_MOST_METRICS)
        former = (each for each in runs if each.data.tags.get(_RUN_TAG) == run.key)
        logged = next(former, None)
    if logged is None:
        tags = {name: value[:_LONGEST_TAG] for name, value in run.tags.items()}
        start = _milliseconds(run.started)
        logged = client.create_run(experiment_id, start_time=start, tags=tags, run_name=run.name)
    run_id = logged.info.run_id
    _log_params(client, run_id, run.params, logged.data.params)
    moment = _milliseconds(run.ended)
    metrics = [Metric(name, value, moment, 0) for name, value in run.metrics.items()]
    for part in _parts(metrics, _MOST_METRICS):
        client.log_batch(run_id, metrics=part)
    client.log_artifacts(run_id, str(run.folder), _FOLDER)
    client.set_terminated(run_id, end_time=moment)
    return f"logged as run {run_id} of experiment {run.project!r}"


def _milliseconds(seconds: float) -> int:
    return round(1_000 * seconds)


def _log_params(
    client: Any, run_id: str, params: Mapping[str, str], logged: Mapping[str, str]
) -> None:
    """Logs the parameters that are not there yet: MLflow refuses to change one.

    Values that are too long are a text beside the other artifacts.
    """
    from mlflow.entities import Param

    new = []
    for name, value in params.items():
        if len(value) > LONGEST_PARAM:
            client.log_text(run_id, value, f"{_FOLDER}/params/{name}.txt")
        elif name not in logged:
            new.append(Param(name, value))
    for part in _parts(new, _MOST_PARAMS):
        client.log_batch(run_id, params=part)


def _parts(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
