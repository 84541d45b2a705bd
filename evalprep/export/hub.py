"""Results for the model page of the hub: `.eval_results/*.yaml`, and `eval.yaml` of a benchmark.

Source: `EvalResultEntry` of huggingface_hub 2.4.0 and the hub's page on evaluation results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem, Problems
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import as_mapping, make_folder, write_atomically
from evalprep.numbers import number
from evalprep.results import TaskRun, part_of
from evalprep.score import IN_RESULTS_FILE, Quantity
from evalprep.yamlfile import load_yaml
from evalprep.yamltext import yaml_text

FOLDER = ".eval_results"
_UNITS = {"percent": 100.0, "fraction": 1.0}
_DIGITS = {"percent": 2, "fraction": 4}
_NOT_IN_A_FILE = re.compile(r"[^A-Za-z0-9._-]+")
#: Prefixes of tasks of lm-eval that ask a benchmark in another way than its authors.
_VARIANTS = {"leaderboard_": "a variant of the Open LLM Leaderboard"}


@dataclass(frozen=True)
class ResultEntry:
    """One entry of a file below `.eval_results`.

    Attributes:
        dataset: Id on the hub of the benchmark's data set.
        task: Id of its task, from the data set's `eval.yaml`.
        value: The value, in the unit that the benchmark's page uses.
        revision: Revision of the data set.
        date: Day of the run, `YYYY-MM-DD`.
        url: Address of a page about the run.
        source: Name of the source; it needs an address, as the next two do.
        user: Account on the hub that it is of.
        organization: Organisation on the hub that it is of.
        notes: What deviates from the plain setting.
    """

    dataset: str
    task: str
    value: float
    revision: str = ""
    date: str = ""
    url: str = ""
    source: str = ""
    user: str = ""
    organization: str = ""
    notes: str = ""

    def __post_init__(self) -> None:
        if (self.source or self.user or self.organization) and not self.url:
            fix = "--set url=URL names a page about the run"
            raise BadInput(Problem(what="a source needs an address", fix=fix))

    def as_yaml(self) -> dict[str, Any]:
        """The entry by the hub's keys; what is empty is left out."""
        dataset = {"id": self.dataset, "task_id": self.task, "revision": self.revision}
        source = {"url": self.url, "name": self.source, "user": self.user, "org": self.organization}
        entry = {
            "dataset": {key: value for key, value in dataset.items() if value},
            "value": self.value,
            "date": self.date,
            "source": {key: value for key, value in source.items() if value},
            "notes": self.notes,
        }
        return {key: value for key, value in entry.items() if value not in ("", {})}


def write_results(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes `.eval_results/<benchmark>.yaml`, of several runs below a folder for each model.

    Args:
        subjects: The runs.
        folder: Where to.
        settings: How the result names itself.

    Raises:
        BadInput: no data set or task id, several tasks, no value, or a variant of the benchmark.
    """
    problems = Problems()
    if not settings.dataset:
        problems.add(
            "the hub needs the data set of the benchmark",
            where="--set dataset",
            allowed="a data set that the hub lists as a benchmark, e.g. TIGER-Lab/MMLU-Pro",
        )
    if not settings.task:
        problems.add(
            "the hub needs the id of the benchmark's task, which is not guessed",
            where="--set task",
            fix="copy it from eval.yaml of the data set, or name that file: --set eval_yaml=FILE",
        )
    chosen = [(subject, _task_of(subject, problems)) for subject in subjects]
    for subject, task in chosen:
        if task is not None:
            _check_task(subject, task, settings, problems)
    problems.raise_if_any()
    files = []
    for subject, task in chosen:
        if task is not None:
            own = folder if len(subjects) == 1 else folder / _file_part(subject.model_id)
            files.append(_write(subject, task, own, settings))
    unit = settings.unit
    note = (
        f"values are written as {unit}; the hub declares no unit: --set unit=fraction writes shares"
    )
    return Written(tuple(files), (note,), next_step="copy .eval_results into the model repository")


def _task_of(subject: Subject, problems: Problems) -> TaskRun | None:
    """The only task of a run, as a file holds one value."""
    tasks = list(subject.run.known_tasks.values())
    if len(tasks) == 1:
        return tasks[0]
    names = ", ".join(task.name for task in tasks)
    problems.add(
        f"one entry holds the value of one task, and the run has {len(tasks)}",
        where=subject.run.label,
        allowed=names,
        fix="--tasks NAME",
    )
    return None


def _check_task(subject: Subject, task: TaskRun, settings: Settings, problems: Problems) -> None:
    items = _headline(subject, task.name)
    if not items:
        problems.add(f"task {task.name} has no value", where=subject.run.label)
    if len(items) > 1 and settings.value is None:
        sentence = items[-1].notes[0]
        problems.add(
            f"{task.name}: {sentence}; one entry holds one value",
            where=subject.run.label,
            fix="--set value=rows writes the mean over rows, --set value=stored that of lm-eval",
        )
    reason = variant_of(task.name)
    if reason and not settings.force:
        problems.add(
            f"{task.name} is {reason}, not the benchmark's own protocol",
            where=subject.run.label,
            fix="--force writes it, with the reason in its notes",
        )


def _headline(subject: Subject, task: str) -> list[Quantity]:
    """The number that stands for a task, and what the results file has where that is another."""
    return [
        item
        for item in subject.headlines
        if item.owner == task and item.primary and item.value is not None
    ]


def variant_of(task: str) -> str:
    """Returns in which way a task of lm-eval is not a benchmark's own; empty where it may be.

    >>> variant_of("leaderboard_gpqa_diamond")
    'a variant of the Open LLM Leaderboard'
    """
    reasons = (reason for prefix, reason in _VARIANTS.items() if task.startswith(prefix))
    return next(reasons, "")


def _write(subject: Subject, task: TaskRun, folder: Path, settings: Settings) -> Path:
    items = _headline(subject, task.name)
    item = items[-1] if settings.value == "stored" else items[0]
    value = (item.value or 0.0) * (_UNITS[settings.unit] if item.is_share else 1.0)
    reasons = [variant_of(task.name), part_of(task), *_remarks(items, item), settings.notes]
    data = task.logged.settings.dataset
    entry = ResultEntry(
        dataset=settings.dataset,
        task=settings.task,
        value=round(value, _DIGITS[settings.unit]),
        revision=data.revision or "" if data.path == settings.dataset else "",
        date=subject.moment.strftime("%Y-%m-%d"),
        url=settings.url,
        source="evalprep, own run" if settings.url else "",
        notes="; ".join(filter(None, reasons)),
    )
    path = folder / FOLDER / f"{_file_part(settings.task)}.yaml"
    make_folder(path.parent, within=folder)
    write_atomically(path, yaml_text([entry.as_yaml()]), within=folder)
    return path


def _remarks(items: Sequence[Quantity], item: Quantity) -> Iterator[str]:
    """Yields the rows of a value where some are missing, and the other value where there is one."""
    if " of " in item.rows:
        yield f"{item.rows} rows"
    if item.beside:
        yield IN_RESULTS_FILE
    own, *stated = items
    if item.beside and not own.beside:
        yield f"the mean over rows is {number(own.value)}, n={own.rows}"
    else:
        for other in stated or items:
            if other.beside:
                yield from other.notes


def _file_part(text: str) -> str:
    return _NOT_IN_A_FILE.sub("_", text).strip("._") or "result"


def task_id_in(path: Path) -> str:
    """Returns the id of the only task of a benchmark's `eval.yaml`.

    Raises:
        BadInput: the file cannot be read, or names no task or several.
    """
    tasks = as_mapping(load_yaml(path).data).get("tasks")
    entries = tasks if isinstance(tasks, list) else []
    ids = [str(as_mapping(entry)["id"]) for entry in entries if as_mapping(entry).get("id")]
    if len(ids) == 1:
        return ids[0]
    what = "names no task" if not ids else f"names {len(ids)} tasks"
    raise BadInput(
        Problem(what=what, where=str(path), allowed=", ".join(ids), fix="choose one: --set task=ID")
    )
