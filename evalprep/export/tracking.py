"""A run as trackers of experiments take it: parameters, metrics, tags, a table, artifacts."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from evalprep import __version__
from evalprep.compare import CONCLUSION_VALUES
from evalprep.credentials import redacted, without_secrets
from evalprep.errors import BadInput, Problem
from evalprep.export.metricname import different_names
from evalprep.export.reportfiles import report_of
from evalprep.export.samplestable import write_samples
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import make_folder, write_atomically
from evalprep.numbers import finite_number
from evalprep.places import without_home
from evalprep.report import write_report
from evalprep.results import prepared_work
from evalprep.score import QUANTITY_VALUES
from evalprep.tables import Column, Table, Value, table_of, write_csv

_SEEDS = ("random", "numpy", "torch", "fewshot")
ARTIFACTS = "artifacts"
LONGEST_PARAM = 6_000  # characters, of MLflow; longer values go into an artifact


def need_tracker(package: str, quiet: Mapping[str, str]) -> Any:
    """Returns the package of a tracker.

    Args:
        package: Its name, which is that of the format and of the extra as well.
        quiet: Variables that keep it from reporting to its makers, unless the user set them.

    Raises:
        BadInput: it is not installed.
    """
    for name, value in quiet.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise BadInput(
            Problem(
                what=f"the package {package} is not installed",
                where=f"--to {package}",
                fix=f"pip install 'evalprep[{package}]'",
            )
        ) from error


@dataclass(frozen=True)
class TrackedRun:
    """One run, ready for a tracker.

    Attributes:
        name: Its label.
        project: The experiment or project.
        key: What tells the run from others, in the tag `evalprep.run`.
        started, ended: Seconds since the epoch.
        params: Settings as texts, without credentials.
        metrics: Name that trackers accept -> value.
        tags: Further texts.
        comparison: The conclusions, as rows of the report's table of them.
        scores: Each value with the interval, the rows and the notes that belong to it.
        folder: Its artifacts.
    """

    name: str
    project: str
    key: str
    started: float
    ended: float
    params: dict[str, str]
    metrics: dict[str, float]
    tags: dict[str, str]
    folder: Path
    comparison: list[dict[str, Value]] = field(default_factory=list)
    scores: list[dict[str, Value]] = field(default_factory=list)

    def as_json(self) -> str:
        """The run as a file, without where its artifacts lie."""
        shown = {name: value for name, value in vars(self).items() if name != "folder"}
        return json.dumps(shown, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_tracked(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes what a tracker is to be given: `run.json` and artifacts, in a folder for each run."""
    files: list[Path] = []
    for number, subject in enumerate(subjects, start=1):
        tracked = tracked_run(subject, folder / str(number), settings)
        make_folder(tracked.folder, within=folder)
        write_atomically(folder / str(number) / "run.json", tracked.as_json(), within=folder)
        files += [folder / str(number) / "run.json", *_artifacts(subject, tracked.folder, settings)]
    return Written(tuple(files))


def tracked_run(subject: Subject, folder: Path, settings: Settings) -> TrackedRun:
    """Returns a run as trackers take it.

    Args:
        subject: The run.
        folder: Where its files go.
        settings: `project`.
    """
    packs = ",".join(pack.name for pack in subject.packs)
    tags = {"evalprep.run": subject.key, "evalprep.task": ",".join(subject.run.tasks)}
    if notes := subject.notes_on_values:
        tags["evalprep.notes"] = "\n".join(notes)
    conclusions = [] if subject.comparison is None else subject.comparison.conclusions
    return TrackedRun(
        name=subject.run.label,
        project=settings.project or packs or "evalprep",
        key=subject.key,
        started=subject.seconds,
        ended=subject.seconds + (subject.run.settings.seconds or 0.0),
        params=_params(subject),
        metrics=_metrics(subject),
        tags=tags,
        folder=folder / ARTIFACTS,
        comparison=_values_of(table_of("Comparison", CONCLUSION_VALUES, conclusions)),
        scores=_values_of(_score_table(subject)),
    )


def _params(subject: Subject) -> dict[str, str]:
    """The settings that are known, without credentials and without the user's home folder."""
    run, call = subject.run, subject.run.settings
    prepared = prepared_work(run)
    known = {
        "model": without_home(redacted(run.model)),
        "model_id": subject.model_id,
        "backend": call.backend,
        "dtype": run.arguments.get("dtype") or call.dtype,
        "revision": run.arguments.get("revision"),
        "lm_eval": call.lm_eval_version,
        "evalprep_version": __version__,
        "seed": ",".join(str(call.seeds.get(use)) for use in _SEEDS) if call.seeds else None,
        "chat_template": call.chat_template,
        "limit": call.limit,
        "batch_size": call.batch_size,
        "manifest": None if prepared is None else prepared.manifest.without_secrets().digest(),
        **{f"model_args.{name}": value for name, value in run.arguments.items()},
    }
    texts = {name: str(value) for name, value in known.items() if value not in (None, "")}
    shown: dict[str, str] = without_secrets(texts)
    return shown


def _metrics(subject: Subject) -> dict[str, float]:
    """Every score with a finite value, by a name that trackers accept."""
    values = {}
    for item in subject.quantities:
        value = finite_number(item.value)
        if value is not None and item.kind != "group":
            values[item.id] = value
    names = different_names([*values])
    return {names[name]: value for name, value in values.items()}


def _score_table(subject: Subject) -> Table:
    """Each value with the interval, the rows and the notes that belong to it."""
    columns = [Column("name", cell=attrgetter("id")), *QUANTITY_VALUES]
    return table_of("Scores", columns, subject.quantities)


def _values_of(table: Table) -> list[dict[str, Value]]:
    """The rows of a table of raw values, by the names of its columns."""
    return [
        dict(zip(table.names, (cell.value for cell in row.cells), strict=True))
        for row in table.lines()
    ]


def _artifacts(subject: Subject, folder: Path, settings: Settings) -> Iterator[Path]:
    """Writes scores, settings and tasks, the report, and the samples where they are asked for."""
    run = subject.run
    logged = {
        "settings": run.settings.as_logged,
        "tasks": {name: task.settings.as_logged for name, task in run.logged.tasks.items()},
    }
    write_csv(_score_table(subject), folder / "quantities.csv")
    yield folder / "quantities.csv"
    for name, content in (("scores.json", subject.scores.to_dict()), ("settings.json", logged)):
        text = json.dumps(without_secrets(content), indent=2, ensure_ascii=False, default=str)
        write_atomically(folder / name, text + "\n", errors="replace")
        yield folder / name
    if settings.samples:
        yield from write_report(report_of([subject]), folder, ("html",))
        yield from write_samples([subject], folder, settings).files
    else:
        yield from write_report(report_of([subject]), folder, ("md",))
